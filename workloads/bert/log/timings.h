// Timings: the ground truth of a run, one JSON line per optimizer step.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "workloads/bert/core/failure.h"

namespace bert {

/// A point in time on both clocks. `seconds` is monotonic, counted from the start of the program.
struct Stamp {
  double seconds = 0;
  double unix_seconds = 0;  ///< wall clock, seconds since 1970 UTC
};

/// Where time comes from; tests script it.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Stamp now() = 0;
};

class SystemClock : public Clock {
 public:
  [[nodiscard]] Stamp now() override;

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Writes {"step": 1, "seconds": 0.0123, "sequences": 8, "end": 12.345} and flushes each line.
/// seconds: from the end of the previous step (of the start of training for the first) to the end
/// of this one, its logging included; sequences: of the whole job; end: seconds since the start
/// of the program. Monotonic clock. On a device also "device_seconds": of the step's work by the
/// device's own clock (CUDA events); what `seconds` has beyond it is the host's: data, log.
class TimingsFile {
 public:
  [[nodiscard]] static Result<TimingsFile> open(const std::string& path);
  /// False when the line could not be written (full disk).
  [[nodiscard]] bool write(std::int64_t step, double seconds, std::int64_t sequences, double end,
                           double device_seconds = -1);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace bert
