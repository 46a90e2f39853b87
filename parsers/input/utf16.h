// Text in UTF-16, as a redirection of Windows PowerShell writes it, read as UTF-8.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/input/input.h"

namespace bertbench {

/// A byte order mark of UTF-16 at the front of `bytes`, of either order.
[[nodiscard]] bool begins_in_utf16(std::string_view bytes);

/// Decodes bytes as they come; the first two are the byte order mark. Half a pair of surrogates
/// becomes U+FFFD.
class Utf16Decoder {
 public:
  /// Adds to `text` what `bytes`, which follow those given before, complete.
  void decode(std::string_view bytes, std::string& text);

 private:
  void put(unsigned unit, std::string& text);

  int first_ = -1;     ///< first byte of a unit whose second one is not there yet
  unsigned high_ = 0;  ///< first half of a surrogate pair
  bool started_ = false, big_ = false;
};

class Utf16Source final : public ByteSource {
 public:
  explicit Utf16Source(std::unique_ptr<ByteSource> raw);

  Result<std::size_t> read(std::span<char> buffer) override;
  [[nodiscard]] bool is_slow() const override { return true; }
  [[nodiscard]] std::string problem() const override { return raw_->problem(); }

 private:
  std::unique_ptr<ByteSource> raw_;
  std::vector<char> bytes_;
  Utf16Decoder decoder_;
  std::string text_;       ///< UTF-8 that waits for a buffer
  std::size_t taken_ = 0;  ///< bytes of it that were handed on
};

}  // namespace bertbench
