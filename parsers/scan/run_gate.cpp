#include "parsers/scan/run_gate.h"

#include <algorithm>
#include <utility>

#include "parsers/scan/byte_search.h"

namespace bertbench {
namespace {

/// A number of a run's lines may get an exponent: whether that could make the literal, which is
/// blind to numbers.
bool may_hold_an_exponent(std::string_view literal) {
  for (std::size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] != 'e' && literal[i] != 'E') continue;
    const bool behind_digits = i == 0 || literal[i - 1] == '0';
    const char next = i + 1 < literal.size() ? literal[i + 1] : '0';
    if (behind_digits && (next == '0' || next == '+')) return true;
  }
  return false;
}

}  // namespace

bool RunGate::opens(std::string_view after, std::span<const std::string> numbered) {
  constexpr std::size_t kSameFront = 4;
  if (after.substr(0, kSameFront) != text_.substr(0, kSameFront)) return false;
  if (pause_ > 0) {
    --pause_;
    return false;
  }
  if (!alike_.matches(text_)) {
    alike_.learn(text_);
    std::string blind = number_blind(text_);
    if (blind != blind_) {
      blind_ = std::move(blind);
      apart_ = std::ranges::none_of(numbered, [&](const std::string& literal) {
        return find_text(blind_, literal) != std::string_view::npos ||
               may_hold_an_exponent(literal);
      });
    }
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
