// LogWatch: the log of a running trial, read as it grows. What it is given at the end is what the
// file holds, also when somebody cuts the file meanwhile.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/sweep/plan/own_logs.h"
#include "harness/sweep/process/folder.h"
#include "parsers/core/arrivals.h"
#include "parsers/core/error.h"
#include "parsers/core/run_log.h"
#include "parsers/reader/log_reader.h"

namespace bertbench {

/// When a trial's log grew, on disk next to the log.
class ArrivalFile {
 public:
  /// Of the log of this name in the attempt's folder.
  explicit ArrivalFile(std::string_view log)
      : name_(std::string(log) + std::string(kArrivalsSuffix)) {}

  /// Appends what is new; written anew when arrivals were thinned, and with the newest and synced
  /// at the end. A log that never grew while it was watched has no such file.
  Result<void> save(const Folder& folder, const ArrivalRecorder& recorder, bool at_end);

 private:
  std::string name_;
  Descriptor fd_;
  std::int64_t version_ = 0;
  std::size_t written_ = 0;  ///< arrivals
};

/// Stamps what comes into a log without reading it: on a job's first node, for a harness that does
/// not watch the job's logs grow.
class StampedLog {
 public:
  /// The log must be there; its arrivals are written next to it.
  static Result<StampedLog> open(const std::string& path);

  void look();
  Result<void> save(bool at_end) { return file_.save(folder_, arrivals_, at_end); }

 private:
  StampedLog(Folder folder, const std::string& name, Descriptor fd)
      : folder_(std::move(folder)), file_(name), fd_(std::move(fd)) {}
  Folder folder_;
  ArrivalFile file_;
  ArrivalRecorder arrivals_;
  std::int64_t size_ = 0;
  Descriptor fd_;
};

class LogWatch {
 public:
  /// `fd` must be readable and stay open for the life of this object, which does not close it.
  LogWatch(int fd, LogReader reader) : fd_(fd), reader_(std::move(reader)) {}

  /// While the trial runs. True when the log has grown since the last call. Reads what is new only
  /// as far as all reading so far has cost less than 0.06 % of one core (and 10 ms): the
  /// trainer needs the cores, and what a dense log leaves over is read when the trial has ended.
  /// live() lags by as much. The first one begins the recording of when the log grows.
  bool follow();
  /// follow() records no growth.
  void leave_out_arrivals() { records_ = false; }
  /// Reads what is new, at most `at_most` bytes. True when there was something.
  bool read(std::int64_t at_most);
  [[nodiscard]] std::int64_t bytes_read() const { return read_; }
  /// Of the file now; what has not been read yet included.
  [[nodiscard]] std::int64_t size() const;
  /// Times the file became shorter: each time it is read again from its beginning.
  [[nodiscard]] int cuts() const { return cuts_; }
  [[nodiscard]] LiveView live() const { return reader_.live(); }
  /// The runs know when the log grew, where it was followed.
  [[nodiscard]] std::vector<RunLog> finish();
  [[nodiscard]] const ArrivalRecorder& arrivals() const { return arrivals_; }

 private:
  /// Size of the file now; begins again when it is shorter than it was.
  std::int64_t look();

  int fd_;
  LogReader reader_;
  std::int64_t read_ = 0;
  std::int64_t seen_ = 0;  // size at the last look
  int cuts_ = 0;
  bool followed_ = false, records_ = true;
  ArrivalRecorder arrivals_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double spent_s_ = 0;  // CPU time of follow()
};

/// All logs of a running trial: what it prints, and the one that it writes itself, from when that
/// exists.
class TrialLogs {
 public:
  /// A reader for a file of the attempt's folder: "log.txt" or kTrainerLog.
  using Readers = std::function<LogReader(const std::string& file)>;
  TrialLogs(int log_fd, OwnLogs own, Readers readers);

  bool follow();                    ///< as LogWatch; true when either has grown
  bool read(std::int64_t at_most);  ///< as LogWatch, of each
  /// For where the time at which the printed log grows does not show how fast the trainer is.
  void leave_out_arrivals() { printed_.leave_out_arrivals(); }
  /// The same when nobody writes any more: a log that has just come is not missed.
  void read_last(std::int64_t at_most);
  /// Writes when the logs grew so far into `folder`, next to them; synced on demand. Only logs that
  /// were followed have such files.
  Result<void> save_arrivals(const Folder& folder, bool synced);
  /// Bytes of the longest log, and of the printed one.
  [[nodiscard]] std::int64_t size() const;
  [[nodiscard]] std::int64_t printed_size() const { return printed_.size(); }
  [[nodiscard]] std::int64_t bytes_read() const { return printed_.bytes_read(); }
  [[nodiscard]] int cuts() const { return printed_.cuts(); }
  /// That of the trainer's own log once it holds a step, else of the printed one.
  [[nodiscard]] LiveView live() const;
  [[nodiscard]] TrialRuns finish();
  /// Path of the trainer's own log and the bytes of it that were read; "" where there is none.
  [[nodiscard]] std::string own_path() const { return own_ ? own_->path : ""; }
  [[nodiscard]] std::int64_t own_bytes() const { return own_ ? own_->watch.bytes_read() : 0; }

 private:
  struct Own {
    Own(std::string where, int descriptor, LogReader reader)
        : path(std::move(where)), fd(descriptor), watch(descriptor, std::move(reader)) {}
    std::string path;
    Descriptor fd;
    LogWatch watch;
    ArrivalFile arrivals{kTrainerLog};
  };
  /// Opens the trainer's own log when it has come, or when another one counts now.
  void look_for_own();
  void look_now_and_then();

  LogWatch printed_;
  ArrivalFile arrivals_{kPrintedLog};
  OwnLogs names_;
  Readers readers_;
  std::unique_ptr<Own> own_;
  std::chrono::steady_clock::time_point looked_{};
};

}  // namespace bertbench
