// ArrivalFile: when a trial's log grew, on disk next to the log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "harness/sweep/process/folder.h"
#include "parsers/core/arrivals.h"
#include "parsers/core/error.h"

namespace bertbench {

class ArrivalFile {
 public:
  /// Of the log of this name in the attempt's folder.
  explicit ArrivalFile(std::string_view log)
      : name_(std::string(log) + std::string(kArrivalsSuffix)) {}
  ArrivalFile(const ArrivalFile&) = delete;
  ArrivalFile& operator=(const ArrivalFile&) = delete;
  ~ArrivalFile();

  /// Appends what is new; written anew when arrivals were thinned, and with the newest and synced
  /// at the end. A log that never grew while it was watched has no such file.
  Result<void> save(const Folder& folder, const ArrivalRecorder& recorder, bool at_end);

 private:
  std::string name_;
  int fd_ = -1;
  std::int64_t version_ = 0;
  std::size_t written_ = 0;  ///< arrivals
};

}  // namespace bertbench
