// ByteSource: blocks of decompressed bytes from a file, a pipe or stdin.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "parsers/core/error.h"
#include "parsers/core/temporary_file.h"

namespace bertbench {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills the front of `buffer`; 0 = end of input. A failure in the middle (an I/O error, a
  /// damaged or truncated member) ends the input: what was read stays good and `problem` names what
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

/// For unpacking next to the scan: the same bytes, read by a thread of its own into a few blocks,
/// if `source` is slow; else `source` itself. At most 1 MiB waits.
[[nodiscard]] std::unique_ptr<ByteSource> read_ahead(std::unique_ptr<ByteSource> source);

/// A pipe that can be read a second time: hands on the bytes of a source and keeps them in a file
/// without a name, up to kBytesKept.
class RereadSource final : public ByteSource {
 public:
  static constexpr std::size_t kBytesKept = std::size_t{1} << 30;

  explicit RereadSource(std::unique_ptr<ByteSource> source);

  Result<std::size_t> read(std::span<char> buffer) override;
  [[nodiscard]] bool is_slow() const override { return source_->is_slow(); }
  [[nodiscard]] std::string problem() const override { return source_->problem(); }

  /// What was read, from its begin; nullptr where it did not fit or the disk is full.
  [[nodiscard]] std::unique_ptr<ByteSource> again() const;

 private:
  std::unique_ptr<ByteSource> source_;
  FileHandle file_;  ///< null where the copy is not whole
  std::size_t kept_ = 0;
};

/// A path whose bytes can be read once only: stdin, a pipe.
[[nodiscard]] bool is_read_once(const std::string& path);

}  // namespace bertbench
