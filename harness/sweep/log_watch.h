// LogWatch: the log of a running trial, read as it grows. What it is told at the end is what the
// file holds, also when somebody cuts the file meanwhile.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "parsers/core/run_log.h"
#include "parsers/log_reader.h"

namespace bertbench {

class LogWatch {
 public:
  /// `fd` must be readable and stay open for the life of this object, which does not close it.
  LogWatch(int fd, LogReader reader) : fd_(fd), reader_(std::move(reader)) {}

  /// While the trial runs. True when the log has grown since the last call. Reads what is new only
  /// as far as all reading so far has cost less than 0.06 % of one core (and 10 ms): the
  /// trainer needs the cores, and what a dense log leaves over is read when the trial has ended.
  /// live() lags by as much.
  bool follow();
  /// Reads what is new, at most `at_most` bytes. True when there was something.
  bool read(std::int64_t at_most);
  [[nodiscard]] std::int64_t bytes_read() const { return read_; }
  /// Of the file now; what has not been read yet included.
  [[nodiscard]] std::int64_t size() const;
  /// Times the file became shorter: each time it is read again from its beginning.
  [[nodiscard]] int cuts() const { return cuts_; }
  [[nodiscard]] LiveView live() const { return reader_.live(); }
  [[nodiscard]] std::vector<RunLog> finish() { return reader_.finish(); }

 private:
  /// Size of the file now; begins again when it is shorter than it was.
  std::int64_t look();

  int fd_;
  LogReader reader_;
  std::int64_t read_ = 0;
  std::int64_t seen_ = 0;  // size at the last look
  int cuts_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double spent_s_ = 0;  // CPU time of follow()
};

}  // namespace bertbench
