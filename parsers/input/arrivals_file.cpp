#include "parsers/input/arrivals_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

namespace bertbench {

std::vector<Arrival> read_arrivals(const std::string& path) {
  // Bytes: more than ArrivalRecorder::kMostArrivals lines take.
  constexpr std::size_t kLargestFile = std::size_t{1} << 20;
  const std::string file = path + std::string(kArrivalsSuffix);
  // A trainer can put anything in its place.
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return {};
  std::string text(kLargestFile, '\0');
  std::size_t size = 0;
  struct stat info {};
  for (bool more = fstat(fd, &info) == 0 && S_ISREG(info.st_mode); more && size < kLargestFile;) {
    const ssize_t got = read(fd, text.data() + size, kLargestFile - size);
    more = got > 0 || (got < 0 && errno == EINTR);
    if (got > 0) size += static_cast<std::size_t>(got);
  }
  close(fd);
  return parse_arrivals(std::string_view(text).substr(0, size));
}

void give_arrivals(std::vector<RunLog>& runs, std::vector<Arrival> arrivals) {
  if (arrivals.empty()) return;
  const auto shared = std::make_shared<const std::vector<Arrival>>(std::move(arrivals));
  for (RunLog& run : runs) run.arrivals = shared;
}

}  // namespace bertbench
