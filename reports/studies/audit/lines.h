// Lines: a text line by line, without a list of them; a copy looks ahead.
#pragma once

#include <cstdint>
#include <string_view>

namespace bertbench::audit {

class Lines {
 public:
  explicit Lines(std::string_view all) : rest_(all) {}

  /// The next line, without its end ("\n" or "\r\n"); false after the last.
  bool next() {
    if (rest_.empty()) return false;
    const auto end = rest_.find('\n');
    text = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
    ++number;
    return true;
  }

  std::string_view text;
  std::int64_t number = 0;  ///< 1-based, of `text`

 private:
  std::string_view rest_;
};

}  // namespace bertbench::audit
