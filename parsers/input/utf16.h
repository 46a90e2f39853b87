// Text in UTF-16, as a redirection of Windows PowerShell writes it, read as UTF-8.
#pragma once

#include <string>
#include <string_view>

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

}  // namespace bertbench
