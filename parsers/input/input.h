// ByteSource: blocks of decompressed bytes from a file, a pipe or stdin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

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

/// A source whose bytes are made of another's: unpacked, or text of what is none.
class DecodedSource : public ByteSource {
 public:
  explicit DecodedSource(std::unique_ptr<ByteSource> raw) : raw_(std::move(raw)) {}
  Result<std::size_t> read(std::span<char> buffer) final;
  [[nodiscard]] bool is_slow() const final { return true; }
  [[nodiscard]] std::string problem() const final {
    return problem_.empty() ? raw_->problem() : problem_;
  }

 protected:
  /// Appends what comes next, which may be nothing. False at the end.
  virtual Result<bool> decode(std::string& out) = 0;
  /// The next n bytes, fewer where the input ends; valid until the next call.
  Result<std::string_view> next(std::size_t n);
  /// Bytes that next() gave so far.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  /// The first one stays.
  void set_problem(std::string text);

 private:
  std::unique_ptr<ByteSource> raw_;
  std::string bytes_, given_;  ///< read, and decoded
  std::size_t at_ = 0, taken_ = 0;
  std::uint64_t offset_ = 0;
  bool done_ = false;
  std::string problem_;
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

  /// What was read, from its begin, once the source has ended; nullptr where it did not fit or the
  /// disk is full. Another call takes the one before back to its begin.
  [[nodiscard]] std::unique_ptr<ByteSource> again() const;

 private:
  std::unique_ptr<ByteSource> source_;
  FileHandle file_;  ///< null where the copy is not whole
  std::size_t kept_ = 0;
};

/// A path whose bytes can be read once only: stdin, a pipe.
[[nodiscard]] bool is_read_once(const std::string& path);

}  // namespace bertbench
