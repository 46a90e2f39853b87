#include "parsers/runs/run_gate.h"

#include <algorithm>
#include <utility>

#include "parsers/scan/byte_search.h"

namespace bertbench {

std::string number_blind(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_number = false;
  for (const char c : text) {
    const bool number = (c >= '0' && c <= '9') || c == '.' || c == '-';
    if (!number) out.push_back(c);
    if (number && !in_number) out.push_back('0');
    in_number = number;
  }
  return out;
}

bool RunGate::opens(std::string_view after, std::span<const std::string> numbered) {
  constexpr std::size_t kSameFront = 4;
  if (after.substr(0, kSameFront) != text_.substr(0, kSameFront)) return false;
  if (pause_ > 0) {
    --pause_;
    return false;
  }
  std::string blind = number_blind(text_);
  if (blind != blind_) {
    blind_ = std::move(blind);
    apart_ = std::ranges::none_of(numbered, [&](const std::string& literal) {
      return find_text(blind_, literal) != std::string_view::npos;
    });
  }
  if (!apart_) took(0);
  return apart_;
}

void RunGate::took(std::int64_t lines) {
  // To ask in vain at each line would cost more than runs save.
  constexpr int kLongestPause = 255;
  missed_ = lines > 0 ? 0 : std::min(2 * missed_ + 1, kLongestPause);
  pause_ = missed_ / 2;
}

}  // namespace bertbench
