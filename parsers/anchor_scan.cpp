#include "parsers/anchor_scan.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "parsers/anchor_placement.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bertbench {
namespace {

bool have_avx2() { return best_scan_kernel() != ScanKernel::portable; }

constexpr std::size_t kBuckets = 8;

std::uint32_t word_at(const char* p) {
  std::uint32_t word = 0;
  std::memcpy(&word, p, sizeof word);
  return word;
}

}  // namespace

ScanKernel best_scan_kernel() {
#if defined(__x86_64__)
  static const ScanKernel best = [] {
    if (__builtin_cpu_supports("avx512vbmi") > 0 && __builtin_cpu_supports("avx512bw") > 0) {
      return ScanKernel::avx512vbmi;
    }
    return __builtin_cpu_supports("avx2") > 0 ? ScanKernel::avx2 : ScanKernel::portable;
  }();
  return best;
#else
  return ScanKernel::portable;
#endif
}

AnchorScanner::AnchorScanner(std::vector<std::string> literals, ScanKernel kernel)
    : literals_(std::move(literals)), kernel_(std::min(kernel, best_scan_kernel())) {
  const std::vector<Placement> placements = place_fingerprints(literals_, kFingerprint, kBuckets);
  for (std::uint32_t id = 0; id < literals_.size(); ++id) {
    const std::string& text = literals_[id];
    if (text.size() < kFingerprint) continue;
    const auto [at, bucket] = placements[id];
    sorted_.push_back({id, at, static_cast<std::uint32_t>(text.size()), word_at(text.data() + at),
                       word_at(text.data() + text.size() - kFingerprint)});
    for (std::size_t j = 0; j < kFingerprint; ++j) {
      const auto c = static_cast<unsigned char>(text[at + j]);
      const auto bit = static_cast<std::uint8_t>(1u << bucket);
      low_[j][c & 15u] |= bit;
      high_[j][c >> 4u] |= bit;
      bytes_[j][c & 127u] |= bit;
    }
  }
  build_slots();
}

namespace {

std::uint32_t slot_of(std::uint32_t word, unsigned bits) {
  return (word * 0x9e3779b1u) >> (32 - bits);
}

}  // namespace

void AnchorScanner::build_slots() {
  std::ranges::stable_sort(sorted_, {}, &Literal::word);
  slots_.resize(std::size_t{1} << kSlotBits);
  const std::size_t most = slots_.size() / 2;
  // Beyond that many the table would fill up; no list of ours or of a user comes near.
  if (sorted_.size() > most) sorted_.resize(most);
  for (std::size_t i = 0; i < sorted_.size();) {
    std::size_t end = i;
    while (end < sorted_.size() && sorted_[end].word == sorted_[i].word) ++end;
    std::size_t at = slot_of(sorted_[i].word, kSlotBits);
    while (slots_[at].count > 0) at = (at + 1) % slots_.size();
    slots_[at] = {sorted_[i].word, static_cast<std::uint16_t>(i),
                  static_cast<std::uint16_t>(end - i)};
    i = end;
  }
}

std::uint8_t AnchorScanner::buckets_at(const unsigned char* p) const {
  unsigned mask = 0xff;
  for (std::size_t j = 0; j < kFingerprint; ++j) {
    mask &= static_cast<unsigned>(low_[j][p[j] & 15u] & high_[j][p[j] >> 4u]);
  }
  return static_cast<std::uint8_t>(mask);
}

void AnchorScanner::verify(std::string_view data, std::size_t offset, std::uint32_t newlines,
                           std::vector<AnchorHit>& hits) const {
  const std::uint32_t word = word_at(data.data() + offset);
  std::size_t slot = slot_of(word, kSlotBits);
  while (slots_[slot].word != word) {
    if (slots_[slot].count == 0) return;
    slot = (slot + 1) % slots_.size();
  }
  const Slot found = slots_[slot];
  const std::size_t first = hits.size();
  for (std::size_t i = found.first; i < std::size_t{found.first} + found.count; ++i) {
    const Literal& literal = sorted_[i];
    if (offset < literal.at || offset - literal.at + literal.size > data.size()) continue;
    const char* start = data.data() + offset - literal.at;
    // Two words tell nearly all apart.
    if (word_at(start + literal.size - kFingerprint) != literal.last_word) continue;
    if (std::memcmp(start, literals_[literal.id].data(), literal.size) != 0) continue;
    hits.push_back({offset, literal.id, newlines});
  }
  if (hits.size() - first > 1) {
    std::ranges::sort(hits.begin() + static_cast<std::ptrdiff_t>(first), hits.end(), {},
                      &AnchorHit::literal);
  }
}

std::int64_t AnchorScanner::count_candidates(std::string_view data) const {
  std::int64_t count = 0;
  const auto* p = reinterpret_cast<const unsigned char*>(data.data());
  for (std::size_t i = 0; i + kFingerprint <= data.size(); ++i) {
    unsigned mask = 0xff;
    for (std::size_t j = 0; j < kFingerprint; ++j) mask &= bytes_[j][p[i + j] & 127u];
    count += mask != 0 ? 1 : 0;
  }
  return count;
}

std::uint32_t AnchorScanner::scan_portable(std::string_view data, std::size_t begin,
                                           std::size_t end, std::uint32_t newlines,
                                           std::vector<AnchorHit>& hits) const {
  const std::size_t last =
      data.size() < kFingerprint ? begin : std::min(end, data.size() - kFingerprint + 1);
  const auto* p = reinterpret_cast<const unsigned char*>(data.data());
  std::size_t i = begin;
  for (; i < last; ++i) {
    if (buckets_at(p + i) != 0) verify(data, i, newlines, hits);
    newlines += static_cast<std::uint32_t>(p[i] == '\n');
  }
  for (; i < end; ++i) newlines += static_cast<std::uint32_t>(p[i] == '\n');
  return newlines;
}

#if defined(__x86_64__)
// Macros, as a vector must not cross the border of a function that is compiled without AVX.
#define BB_TABLE(t) \
  _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>((t).data())))
#define BB_LOOK(x, low, high)                                             \
  _mm256_and_si256(_mm256_shuffle_epi8(low, _mm256_and_si256(x, nibble)), \
                   _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble)))

__attribute__((target("avx2"))) void AnchorScanner::masks_avx2(const char* p, std::size_t steps,
                                                               std::uint64_t* found,
                                                               std::uint64_t* breaks) const {
  const __m256i nibble = _mm256_set1_epi8(15);
  const __m256i newline = _mm256_set1_epi8('\n');
  const __m256i zero = _mm256_setzero_si256();
  const __m256i l0 = BB_TABLE(low_[0]), l1 = BB_TABLE(low_[1]);
  const __m256i l2 = BB_TABLE(low_[2]), l3 = BB_TABLE(low_[3]);
  const __m256i h0 = BB_TABLE(high_[0]), h1 = BB_TABLE(high_[1]);
  const __m256i h2 = BB_TABLE(high_[2]), h3 = BB_TABLE(high_[3]);
  for (std::size_t step = 0; step < steps; ++step) {
    std::uint64_t candidates = 0, ends = 0;
    for (unsigned half = 0; half < 2; ++half, p += 32) {
      const __m256i x0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
      const __m256i x1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 1));
      const __m256i x2 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 2));
      const __m256i x3 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 3));
      const __m256i all =
          _mm256_and_si256(_mm256_and_si256(BB_LOOK(x0, l0, h0), BB_LOOK(x1, l1, h1)),
                           _mm256_and_si256(BB_LOOK(x2, l2, h2), BB_LOOK(x3, l3, h3)));
      const auto none = static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(all, zero)));
      const auto lf = static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(x0, newline)));
      candidates |= std::uint64_t{~none} << (32 * half);
      ends |= std::uint64_t{lf} << (32 * half);
    }
    found[step] = candidates;
    breaks[step] = ends;
  }
}
#undef BB_TABLE
#undef BB_LOOK

__attribute__((target("avx512f,avx512bw,avx512vbmi"))) void AnchorScanner::masks_avx512(
    const char* p, std::size_t steps, std::uint64_t* found, std::uint64_t* breaks) const {
  const __m512i newline = _mm512_set1_epi8('\n');
#define BB_HALF(j, half) _mm512_load_si512(bytes_[j].data() + (half))
  const __m512i a0 = BB_HALF(0, 0), b0 = BB_HALF(0, 64), a1 = BB_HALF(1, 0), b1 = BB_HALF(1, 64);
  const __m512i a2 = BB_HALF(2, 0), b2 = BB_HALF(2, 64), a3 = BB_HALF(3, 0), b3 = BB_HALF(3, 64);
#undef BB_HALF
  for (std::size_t step = 0; step < steps; ++step, p += 64) {
    const __m512i x0 = _mm512_loadu_si512(p), x1 = _mm512_loadu_si512(p + 1);
    const __m512i x2 = _mm512_loadu_si512(p + 2), x3 = _mm512_loadu_si512(p + 3);
    const __m512i f01 = _mm512_and_si512(_mm512_permutex2var_epi8(a0, x0, b0),
                                         _mm512_permutex2var_epi8(a1, x1, b1));
    const __m512i f23 = _mm512_and_si512(_mm512_permutex2var_epi8(a2, x2, b2),
                                         _mm512_permutex2var_epi8(a3, x3, b3));
    breaks[step] = _mm512_cmpeq_epi8_mask(x0, newline);
    found[step] = _mm512_test_epi8_mask(f01, f23);
  }
}

// 64 places a step; the masks of many steps are made first, in a loop that calls nothing, so that
// the tables stay in registers. The last step may look at places that the one before looked at.
__attribute__((target("popcnt,bmi"))) std::uint32_t AnchorScanner::scan_simd(
    std::string_view data, std::size_t begin, std::size_t end, std::vector<AnchorHit>& hits) const {
  constexpr std::size_t kWidth = 64, kBatch = 64;
  if (end - begin < kWidth || data.size() - begin < kWidth + kFingerprint - 1) {
    return scan_portable(data, begin, end, 0, hits);
  }
  const std::size_t limit = std::min(end, data.size() - kFingerprint + 1);  // no hit behind it
  std::uint64_t found[kBatch], breaks[kBatch];
  std::uint32_t newlines = 0;
  for (std::size_t i = begin; i < limit;) {
    std::size_t steps = std::min((limit - i) / kWidth, kBatch);
    std::uint64_t wanted = ~std::uint64_t{0};
    if (steps == 0) {
      const std::size_t back = limit - kWidth;
      wanted <<= i - back;
      i = back;
      steps = 1;
    }
    if (kernel_ == ScanKernel::avx512vbmi) {
      masks_avx512(data.data() + i, steps, found, breaks);
    } else {
      masks_avx2(data.data() + i, steps, found, breaks);
    }
    for (std::size_t step = 0; step < steps; ++step, i += kWidth) {
      const std::uint64_t lines = breaks[step] & wanted;
      for (std::uint64_t rest = found[step] & wanted; rest != 0; rest &= rest - 1) {
        const auto k = static_cast<unsigned>(std::countr_zero(rest));
        const std::uint64_t before = lines & ((std::uint64_t{1} << k) - 1);
        verify(data, i + k, newlines + static_cast<std::uint32_t>(std::popcount(before)), hits);
      }
      newlines += static_cast<std::uint32_t>(std::popcount(lines));
    }
  }
  for (std::size_t i = limit; i < end; ++i) {
    newlines += static_cast<std::uint32_t>(data[i] == '\n');
  }
  return newlines;
}
#else
std::uint32_t AnchorScanner::scan_simd(std::string_view data, std::size_t begin, std::size_t end,
                                       std::vector<AnchorHit>& hits) const {
  return scan_portable(data, begin, end, 0, hits);
}
#endif

std::int64_t AnchorScanner::scan(std::string_view data, std::size_t begin, std::size_t end,
                                 std::vector<AnchorHit>& hits) const {
  end = std::min(end, data.size());
  if (begin >= end) return 0;
  return kernel_ == ScanKernel::portable ? scan_portable(data, begin, end, 0, hits)
                                         : scan_simd(data, begin, end, hits);
}

namespace {

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
  for (; at >= limit + 32; at -= 32) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data.data() + at - 32));
    const auto mask = static_cast<unsigned>(
        _mm256_movemask_epi8(_mm256_or_si256(_mm256_cmpeq_epi8(x, lf), _mm256_cmpeq_epi8(x, cr))));
    if (mask != 0) return at - static_cast<std::size_t>(std::countl_zero(mask));
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
#endif

}  // namespace

std::int64_t count_repeats(std::string_view data, std::size_t at, std::size_t n) {
#if defined(__x86_64__)
  if (have_avx2()) return repeats_avx2(data, at, n);
#endif
  return repeats_portable(data, at, n);
}

std::size_t find_text(std::string_view text, std::string_view what, std::size_t from) {
#if defined(__x86_64__)
  if (have_avx2() && !what.empty() && from <= text.size()) return find_avx2(text, what, from);
#endif
  return text.find(what, from);
}

std::int64_t count_newlines(std::string_view data) {
#if defined(__x86_64__)
  if (have_avx2()) return count_avx2(data);
#endif
  return count_portable(data);
}

std::size_t find_line_begin(std::string_view data, std::size_t at, std::size_t limit) {
#if defined(__x86_64__)
  if (have_avx2()) return begin_avx2(data, at, limit);
#endif
  return begin_portable(data, at, limit);
}

std::size_t find_line_break(std::string_view data, std::size_t from) {
#if defined(__x86_64__)
  if (have_avx2()) return break_avx2(data, from);
#endif
  return break_portable(data, from);
}

}  // namespace bertbench
