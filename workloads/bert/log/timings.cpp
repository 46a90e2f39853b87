#include "workloads/bert/log/timings.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace bert {

Stamp SystemClock::now() {
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - start_;
  const std::chrono::duration<double> wall = std::chrono::system_clock::now().time_since_epoch();
  return {since.count(), wall.count()};
}

Result<TimingsFile> TimingsFile::open(const std::string& path) {
  TimingsFile timings;
  timings.file_.reset(std::fopen(path.c_str(), "we"));
  if (timings.file_ == nullptr) {
    return usage_error(
        fmt::format("--timings {}: {}; give a path in a folder that exists and can "
                    "be written",
                    path, std::strerror(errno)));
  }
  return timings;
}

bool TimingsFile::write(std::int64_t step, double seconds, std::int64_t sequences, double end,
                        double device_seconds) {
  std::string line =
      fmt::format("{{\"step\": {}, \"seconds\": {:.9f}, \"sequences\": {}, \"end\": {:.9f}", step,
                  seconds, sequences, end);
  line +=
      device_seconds < 0 ? "}\n" : fmt::format(", \"device_seconds\": {:.9f}}}\n", device_seconds);
  return std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size() &&
         std::fflush(file_.get()) == 0;
}

}  // namespace bert
