// LogTail: what is new in a log that is still being written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "parsers/core/error.h"
#include "parsers/core/temporary_file.h"
#include "parsers/input/utf16.h"

namespace bertbench {

/// Asked again and again; never waits (but for stdin, where poll() reports that something is
/// there). A file that was renamed and made anew is drained before the new one is opened. One that
/// became shorter is read from its beginning. UTF-16 with a byte order mark becomes UTF-8.
class LogTail {
 public:
  /// "-" is stdin. Errors: cannot be opened, a directory, compressed (its end cannot be read until
  /// the next block is written).
  static Result<LogTail> open(const std::string& path);

  enum class Event {
    nothing,    ///< no new byte
    bytes,      ///< `out` has some; there may be more
    rotated,    ///< the path names another file now: what follows is from its beginning
    truncated,  ///< the file was cut: what follows is from its beginning
    deleted,    ///< the path names no file any more; reported once, and it may come back
    ended       ///< stdin was closed; nothing follows
  };
  /// Up to 1 MiB of new bytes replace what `out` holds (of UTF-16, half a character is none yet).
  Event next(std::string& out);

  [[nodiscard]] bool gone() const { return gone_; }  ///< deleted and not back yet

 private:
  LogTail(std::string path, FileHandle file) : path_(std::move(path)), file_(std::move(file)) {}
  Event look_at_path();
  bool read_some(std::string& out);

  std::string path_;
  FileHandle file_;
  bool gone_ = false, ended_ = false;
  std::uint64_t device_ = 0, inode_ = 0;
  std::int64_t offset_ = 0;
  std::optional<Utf16Decoder> wide_;  ///< the file is in UTF-16
};

}  // namespace bertbench
