#include "parsers/scan/byte_search.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bertbench {
namespace {

#if defined(__x86_64__)
// Asked for each line: no guard of a static may stand before it. Before it is known, all is
// done bytewise.
struct Processor {
  Processor() {
    __builtin_cpu_init();
    avx2 = __builtin_cpu_supports("avx2") > 0;
    avx512 = __builtin_cpu_supports("avx512bw") > 0;
  }
  bool avx2 = false, avx512 = false;
};
const Processor processor;
#endif

std::int64_t count_portable(std::string_view data) {
  return std::count(data.begin(), data.end(), '\n');
}

std::size_t break_portable(std::string_view data, std::size_t from) {
  for (std::size_t i = from; i < data.size(); ++i) {
    if (data[i] == '\n' || data[i] == '\r') return i;
  }
  return std::string_view::npos;
}

std::size_t begin_portable(std::string_view data, std::size_t at, std::size_t limit) {
  while (at > limit && data[at - 1] != '\n' && data[at - 1] != '\r') --at;
  return at;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) std::size_t begin_avx2(std::string_view data, std::size_t at,
                                                       std::size_t limit) {
  const __m256i lf = _mm256_set1_epi8('\n');
  const __m256i cr = _mm256_set1_epi8('\r');
  for (; at > limit && at >= 32; at -= 32) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data.data() + at - 32));
    auto mask = static_cast<unsigned>(
        _mm256_movemask_epi8(_mm256_or_si256(_mm256_cmpeq_epi8(x, lf), _mm256_cmpeq_epi8(x, cr))));
    const bool last = at - limit <= 32;
    if (last) mask &= ~0u << (32 - (at - limit));  // what is before the limit does not count
    if (mask != 0) return at - static_cast<std::size_t>(std::countl_zero(mask));
    if (last) return limit;
  }
  return begin_portable(data, at, limit);
}

__attribute__((target("avx2,popcnt"))) std::int64_t count_avx2(std::string_view data) {
  const __m256i newline = _mm256_set1_epi8('\n');
  std::int64_t n = 0;
  std::size_t i = 0;
  for (; i + 32 <= data.size(); i += 32) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data.data() + i));
    n += std::popcount(static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, newline))));
  }
  return n + count_portable(data.substr(i));
}

__attribute__((target("avx2"))) std::size_t break_avx2(std::string_view data, std::size_t from) {
  const __m256i lf = _mm256_set1_epi8('\n');
  const __m256i cr = _mm256_set1_epi8('\r');
  std::size_t i = from;
  for (; i + 32 <= data.size(); i += 32) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data.data() + i));
    const auto mask = static_cast<unsigned>(
        _mm256_movemask_epi8(_mm256_or_si256(_mm256_cmpeq_epi8(x, lf), _mm256_cmpeq_epi8(x, cr))));
    if (mask != 0) return i + static_cast<std::size_t>(std::countr_zero(mask));
  }
  return break_portable(data, i);
}
#endif

// First and last byte of the literal side by side, 32 places at a time; memcmp for the rest.
#if defined(__x86_64__)
__attribute__((target("avx2"))) std::size_t find_avx2(std::string_view text, std::string_view what,
                                                      std::size_t from) {
  const __m256i first = _mm256_set1_epi8(what.front()), last = _mm256_set1_epi8(what.back());
  const std::size_t reach = what.size() - 1;
  std::size_t i = from;
  for (; i + reach + 32 <= text.size(); i += 32) {
    const char* p = text.data() + i;
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + reach));
    auto mask = static_cast<unsigned>(_mm256_movemask_epi8(
        _mm256_and_si256(_mm256_cmpeq_epi8(x, first), _mm256_cmpeq_epi8(y, last))));
    for (; mask != 0; mask &= mask - 1) {
      const auto k = static_cast<std::size_t>(std::countr_zero(mask));
      if (std::memcmp(p + k, what.data(), what.size()) == 0) return i + k;
    }
  }
  return text.find(what, i);
}
#endif

std::int64_t repeats_portable(std::string_view data, std::size_t at, std::size_t n) {
  std::int64_t count = 0;
  const char* line = data.data() + at;
  for (at += n + 1; at + n + 1 < data.size(); at += n + 1, ++count) {
    if (data[at + n] != '\r' || data[at + n + 1] == '\n') break;
    if (std::memcmp(data.data() + at, line, n) != 0) break;
  }
  return count;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) std::int64_t repeats_avx2(std::string_view data, std::size_t at,
                                                          std::size_t n) {
  if (n < 32) return repeats_portable(data, at, n);
  std::int64_t count = 0;
  const char* line = data.data() + at;
  for (at += n + 1; at + n + 1 < data.size(); at += n + 1, ++count) {
    const char* copy = data.data() + at;
    if (copy[n] != '\r' || copy[n + 1] == '\n') break;
    bool same = true;
    // The last step looks at some bytes twice.
    for (std::size_t i = 0; same && i < n; i += 32) {
      const std::size_t k = std::min(i, n - 32);
      const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(line + k));
      const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(copy + k));
      same = _mm256_movemask_epi8(_mm256_cmpeq_epi8(x, y)) == -1;
    }
    if (!same) break;
  }
  return count;
}

// A line and its '\r' of up to 128 bytes stay in two registers, which overlap.
__attribute__((target("avx512f,avx512bw"))) std::int64_t repeats_avx512(std::string_view data,
                                                                        std::size_t at,
                                                                        std::size_t n) {
  constexpr std::size_t kWidth = 64;
  const std::size_t size = n + 1;
  if (size > 2 * kWidth) return repeats_avx2(data, at, n);
  const std::uint64_t there = size < kWidth ? (std::uint64_t{1} << size) - 1 : ~std::uint64_t{0};
  const std::size_t second = size > kWidth ? size - kWidth : 0;
  const char* const line = data.data() + at;
  const __m512i a = _mm512_maskz_loadu_epi8(there, line);
  const __m512i b = _mm512_maskz_loadu_epi8(there, line + second);
  std::int64_t count = 0;
  for (at += size; at + size < data.size(); at += size, ++count) {
    const char* const copy = data.data() + at;
    const std::uint64_t differs =
        _mm512_cmpneq_epi8_mask(a, _mm512_maskz_loadu_epi8(there, copy)) |
        _mm512_cmpneq_epi8_mask(b, _mm512_maskz_loadu_epi8(there, copy + second));
    if (differs != 0 || copy[size] == '\n') break;
  }
  return count;
}
#endif

}  // namespace

std::int64_t count_repeats(std::string_view data, std::size_t at, std::size_t n) {
#if defined(__x86_64__)
  if (processor.avx512 && data[at + n] == '\r') return repeats_avx512(data, at, n);
  if (processor.avx2) return repeats_avx2(data, at, n);
#endif
  return repeats_portable(data, at, n);
}

std::size_t find_text(std::string_view text, std::string_view what, std::size_t from) {
#if defined(__x86_64__)
  if (processor.avx2 && !what.empty() && from <= text.size()) return find_avx2(text, what, from);
#endif
  return text.find(what, from);
}

std::int64_t count_newlines(std::string_view data) {
#if defined(__x86_64__)
  if (processor.avx2) return count_avx2(data);
#endif
  return count_portable(data);
}

std::size_t find_line_begin(std::string_view data, std::size_t at, std::size_t limit) {
#if defined(__x86_64__)
  if (processor.avx2) return begin_avx2(data, at, limit);
#endif
  return begin_portable(data, at, limit);
}

std::size_t find_line_break(std::string_view data, std::size_t from) {
#if defined(__x86_64__)
  if (processor.avx2) return break_avx2(data, from);
#endif
  return break_portable(data, from);
}

}  // namespace bertbench
