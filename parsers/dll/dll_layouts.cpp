#include "parsers/dll/dll_layouts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace bertbench {
namespace {

constexpr std::size_t kMostDecimals = 8;  ///< members of DllValues, and some

/// Where the first '\n' of 32 bytes stands; 32 if there is none.
std::size_t find_within(const char* text) {
#if defined(__SSE2__)
  const __m128i line_feed = _mm_set1_epi8('\n');
  const auto found = [&](std::size_t at) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + at));
    return static_cast<std::uint64_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(x, line_feed)));
  };
  constexpr std::uint64_t kNone = std::uint64_t{1} << 32;
  return static_cast<std::size_t>(std::countr_zero(found(0) | found(16) << 16 | kNone));
#else
  const void* const at = std::memchr(text, '\n', 32);
  return at == nullptr ? 32 : static_cast<std::size_t>(static_cast<const char*>(at) - text);
#endif
}

}  // namespace

bool DllLayouts::read(const Layout& layout, const char* text, DllValues& out) {
  if (!layout.text->matches(text)) return false;
  for (const std::uint32_t front : layout.fronts) {
    if (text[front] == '0') return false;
  }
  std::array<double, kMostDecimals> values;
  read_decimals(text, layout.decimals, values.data());
  for (std::size_t i = 0; i < layout.uses.size(); ++i) out.*layout.uses[i] = values[i];
  out.last = layout.last;
  return true;
}

std::size_t DllLayouts::read_line(std::string_view text, DllValues& out) {
  if (layouts_.empty()) return 0;
  const std::size_t shortest = layouts_.front().text->size();
  if (text.size() < shortest + kSpan) return 0;
  const std::size_t more = find_within(text.data() + shortest);
  if (more == kSpan) return 0;
  for (std::size_t i = first_[more]; i < layouts_.size(); ++i) {
    if (layouts_[i].text->size() != shortest + more) return 0;
    if (!read(layouts_[i], text.data(), out)) continue;
    ++met_;
    return shortest + more;
  }
  return 0;
}

bool DllLayouts::read_whole(std::string_view text, DllValues& out) {
  return std::ranges::any_of(layouts_, [&](const Layout& layout) {
    return layout.text->size() == text.size() && read(layout, text.data(), out);
  });
}

void DllLayouts::remember(std::string_view text, const std::vector<DllNumber>& numbers, bool last) {
  constexpr std::size_t kWorth = 4;  // lines read for one remembered
  if (remembered_ >= kMost && met_ < kWorth * remembered_) return;
  Layout layout{std::make_shared<const DigitTemplate>(text), {}, {}, {}, last};
  if (layout.text->size() == 0) return;
  for (const DllNumber& number : numbers) {
    if (number.whole > 1) layout.fronts.push_back(static_cast<std::uint32_t>(number.first));
    if (number.use == nullptr) continue;
    const std::size_t size = number.whole + number.fraction + (number.fraction > 0 ? 1 : 0);
    layout.decimals.emplace_back(number.first + size, number.whole, number.fraction,
                                 number.negative);
    layout.uses.push_back(number.use);
  }
  if (layout.uses.size() > kMostDecimals) return;
  layout.number = remembered_++;
  if (layouts_.size() == kMost)
    layouts_.erase(std::ranges::min_element(layouts_, {}, &Layout::number));
  layouts_.push_back(std::move(layout));
  sort();
}

void DllLayouts::clear() {
  layouts_.clear();
  remembered_ = met_ = 0;
}

void DllLayouts::sort() {
  const auto size_of = [](const Layout& layout) { return layout.text->size(); };
  std::ranges::stable_sort(layouts_, {}, size_of);
  first_.fill(kMost);
  for (std::size_t i = layouts_.size(); i-- > 0;) {
    const std::size_t more = size_of(layouts_[i]) - size_of(layouts_.front());
    if (more < kSpan) first_[more] = static_cast<std::uint8_t>(i);
  }
}

}  // namespace bertbench
