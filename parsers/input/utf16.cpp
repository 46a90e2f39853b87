#include "parsers/input/utf16.h"

#include <utility>

#include "parsers/core/text.h"

namespace bertbench {
namespace {

constexpr unsigned kReplacement = 0xfffd;

bool is_high(unsigned unit) { return unit >= 0xd800 && unit < 0xdc00; }
bool is_low(unsigned unit) { return unit >= 0xdc00 && unit < 0xe000; }

}  // namespace

bool begins_in_utf16(std::string_view bytes) {
  // "\xff\xfe\0\0" would be UTF-32.
  if (bytes.starts_with("\xff\xfe")) return bytes.substr(2, 2) != std::string_view("\0\0", 2);
  return bytes.starts_with("\xfe\xff");
}

void Utf16Decoder::put(unsigned unit, std::string& text) {
  if (high_ != 0) {
    const unsigned high = std::exchange(high_, 0);
    if (is_low(unit)) {
      append_utf8(text, 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00));
      return;
    }
    append_utf8(text, kReplacement);
  }
  if (is_high(unit)) {
    high_ = unit;
  } else {
    append_utf8(text, is_low(unit) ? kReplacement : unit);
  }
}

void Utf16Decoder::decode(std::string_view bytes, std::string& text) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (first_ < 0) {
      first_ = byte;
      continue;
    }
    const auto before = static_cast<unsigned>(std::exchange(first_, -1));
    if (!started_) {
      started_ = true;
      big_ = before == 0xfe;
      continue;
    }
    put(big_ ? before << 8 | byte : static_cast<unsigned>(byte) << 8 | before, text);
  }
}

}  // namespace bertbench
