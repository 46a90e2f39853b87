// ByteSource: blocks of decompressed bytes from a file, a pipe or stdin.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "parsers/core/error.h"

namespace bertbench {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills the front of `buffer`; 0 = end of input. A failure in the middle (an I/O error, a
  /// damaged or truncated member) ends the input: what was read stays good and `problem` says what
  /// happened.
  virtual Result<std::size_t> read(std::span<char> buffer) = 0;
  /// A regular file that holds the very bytes: its descriptor, from which any thread may pread.
  /// Else -1.
  [[nodiscard]] virtual int plain_file() const { return -1; }
  /// Its bytes cost more than a copy: worth a thread of its own.
  [[nodiscard]] virtual bool is_slow() const { return false; }
  /// Empty while all is well.
  [[nodiscard]] virtual std::string problem() const { return {}; }
};

/// "-" is stdin. gzip and zstd are known by their magic bytes, never by the name; members and
/// frames may follow one another. UTF-16 with its byte order mark is read as UTF-8. Files of
/// trackers, also compressed, become lines (parsers/input/tracker_source.h). Errors: cannot be
/// opened, a directory, cannot be read.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_source(const std::string& path);

}  // namespace bertbench
