// RereadSource: a pipe that can be read a second time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "parsers/core/temporary_file.h"
#include "parsers/input/input.h"

namespace bertbench {

/// Hands on the bytes of a source and keeps them in a file without a name, up to kBytesKept.
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
