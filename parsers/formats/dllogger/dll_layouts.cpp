#include "parsers/formats/dllogger/dll_layouts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
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

bool DllLayouts::has_leading_zero(const Layout& layout, const char* text) {
  return std::ranges::any_of(layout.fronts,
                             [text](std::uint32_t front) { return text[front] == '0'; });
}

bool DllLayouts::read(const Layout& layout, const char* text, DllValues& out) {
  if (!layout.text->matches(text) || has_leading_zero(layout, text)) return false;
  std::array<double, kMostDecimals> values;
  read_decimals(text, layout.decimals, values.data());
  for (std::size_t i = 0; i < layout.uses.size(); ++i) out.*layout.uses[i] = values[i];
  out.last = layout.last;
  return true;
}

std::size_t DllLayouts::read_lines_portable(std::string_view text, std::span<DllLine> out) const {
  const std::size_t shortest = layouts_.front().text->size();
  std::size_t at = 0, count = 0;
  while (count < out.size() && text.size() - at >= kDllFront.size() + shortest + kSpan &&
         text.substr(at).starts_with(kDllFront)) {
    const char* const object = text.data() + at + kDllFront.size();
    const std::size_t more = find_within(object + shortest);
    if (more == kSpan) break;
    DllLine line;
    std::size_t i = first_[more];
    const auto fits = [&] {
      return i < layouts_.size() && layouts_[i].text->size() == shortest + more;
    };
    while (fits() && !read(layouts_[i], object, line.values)) ++i;
    if (!fits()) break;
    line.begin = static_cast<std::uint32_t>(at);
    line.size = static_cast<std::uint32_t>(kDllFront.size() + shortest + more);
    out[count++] = line;
    at += line.size + 1;
  }
  return count;
}

#if defined(__x86_64__)
// The same with all that a line takes in one loop: calls alone would cost a fifth more.
__attribute__((target("avx512f,avx512bw,bmi"))) std::size_t DllLayouts::read_lines_avx512(
    std::string_view text, std::span<DllLine> out) const {
  constexpr std::uint64_t kFrontBytes = 0x204c4c4c44;  // "DLLL ", little-endian
  const std::size_t shortest = layouts_.front().text->size();
  const std::size_t layouts = layouts_.size();
  const __m256i line_feed = _mm256_set1_epi8('\n');
  const char* p = text.data();
  const char* const last =
      p + text.size() - std::min(text.size(), kDllFront.size() + shortest + kSpan);
  std::size_t count = 0;
  while (count < out.size() && p < last) {
    std::uint64_t front = 0;
    std::memcpy(&front, p, sizeof front);
    if ((front & 0xffffffffff) != kFrontBytes) break;
    const char* const object = p + kDllFront.size();
    const __m256i behind = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(object + shortest));
    const auto breaks =
        static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(behind, line_feed)));
    if (breaks == 0) break;
    const auto more = static_cast<std::size_t>(std::countr_zero(breaks));
    const std::size_t size = shortest + more;
    std::size_t i = first_[more];
    while (i < layouts && layouts_[i].text->size() == size &&
           !layouts_[i].text->matches_avx512(object)) {
      ++i;
    }
    if (i >= layouts || layouts_[i].text->size() != size) break;
    const Layout& layout = layouts_[i];
    if (has_leading_zero(layout, object)) break;
    DllLine& line = out[count];
    line.values = DllValues{};
    const PlacedDecimal* decimal = layout.decimals.data();
    for (double DllValues::*const use : layout.uses) {
      line.values.*use = decimal->read_sse41(object);
      ++decimal;
    }
    line.values.last = layout.last;
    line.begin = static_cast<std::uint32_t>(p - text.data());
    line.size = static_cast<std::uint32_t>(kDllFront.size() + size);
    p += line.size + 1;
    ++count;
  }
  return count;
}
#endif

std::size_t DllLayouts::read_lines(std::string_view text, std::span<DllLine> out) {
  if (layouts_.empty()) return 0;
#if defined(__x86_64__)
  static const bool have = __builtin_cpu_supports("avx512bw") > 0;
  const bool wide = have && layouts_.front().text->size() >= 64;
  const std::size_t count = wide ? read_lines_avx512(text, out) : read_lines_portable(text, out);
#else
  const std::size_t count = read_lines_portable(text, out);
#endif
  met_ += count;
  return count;
}

bool DllLayouts::read_whole(std::string_view text, DllValues& out) {
  return std::ranges::any_of(layouts_, [&](const Layout& layout) {
    return layout.text->size() == text.size() && read(layout, text.data(), out);
  });
}

void DllLayouts::remember(std::string_view text, const std::vector<DllNumber>& numbers, bool last) {
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
