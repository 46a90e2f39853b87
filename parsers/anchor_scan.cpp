#include "parsers/anchor_scan.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bertbench {
namespace {

bool have_avx2() {
#if defined(__x86_64__)
  static const bool have = __builtin_cpu_supports("avx2") > 0;
  return have;
#else
  return false;
#endif
}

// How common a byte is in training logs, roughly, 0 = rare. Only decides where in a literal the
// fingerprint lies: a poor guess costs time, never a hit.
int commonness(unsigned char c) {
  if (c >= '0' && c <= '9') return 9;
  if (c == ' ' || c == '.') return 9;
  if (c == 'e' || c == 't' || c == 'a' || c == 'o' || c == 'n' || c == 's' || c == 'i' ||
      c == 'r') {
    return 7;
  }
  if (c >= 'a' && c <= 'z') return c == 'q' || c == 'x' || c == 'z' || c == 'j' ? 3 : 5;
  if (c == ':' || c == ',' || c == '_' || c == '-' || c == '"') return 6;
  if (c >= 'A' && c <= 'Z') return 3;
  return 2;
}

std::uint32_t fingerprint_place(std::string_view literal) {
  std::uint32_t best = 0;
  int best_score = 1 << 20;
  for (std::size_t i = 0; i + AnchorScanner::kFingerprint <= literal.size(); ++i) {
    int score = 0;
    for (std::size_t j = 0; j < AnchorScanner::kFingerprint; ++j) {
      score += commonness(static_cast<unsigned char>(literal[i + j]));
    }
    if (score < best_score) {
      best_score = score;
      best = static_cast<std::uint32_t>(i);
    }
  }
  return best;
}

}  // namespace

AnchorScanner::AnchorScanner(std::vector<std::string> literals, bool allow_simd)
    : literals_(std::move(literals)), simd_(allow_simd && have_avx2()) {
  struct Placed {
    std::string_view fingerprint;
    Literal literal;
  };
  std::vector<Placed> placed;
  for (std::uint32_t id = 0; id < literals_.size(); ++id) {
    const std::string_view text = literals_[id];
    if (text.size() < kFingerprint) continue;
    const std::uint32_t at = fingerprint_place(text);
    placed.push_back({text.substr(at, kFingerprint), {id, at}});
  }
  // Neighbours in sorted order share leading bytes: in one bucket they set fewer table bits.
  std::ranges::stable_sort(placed, {}, &Placed::fingerprint);
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const std::size_t bucket = i * buckets_.size() / placed.size();
    buckets_[bucket].push_back(placed[i].literal);
    for (std::size_t j = 0; j < kFingerprint; ++j) {
      const auto c = static_cast<unsigned char>(placed[i].fingerprint[j]);
      const auto bit = static_cast<std::uint8_t>(1u << bucket);
      low_[j][c & 15u] |= bit;
      high_[j][c >> 4u] |= bit;
    }
  }
}

std::uint8_t AnchorScanner::buckets_at(const unsigned char* p) const {
  unsigned mask = 0xff;
  for (std::size_t j = 0; j < kFingerprint; ++j) {
    mask &= static_cast<unsigned>(low_[j][p[j] & 15u] & high_[j][p[j] >> 4u]);
  }
  return static_cast<std::uint8_t>(mask);
}

void AnchorScanner::verify(std::string_view data, std::size_t offset, std::uint8_t buckets,
                           std::vector<AnchorHit>& hits) const {
  const std::size_t first = hits.size();
  for (unsigned rest = buckets; rest != 0; rest &= rest - 1) {
    for (const Literal& literal : buckets_[static_cast<std::size_t>(std::countr_zero(rest))]) {
      const std::string_view text = literals_[literal.id];
      if (offset < literal.at) continue;
      const std::size_t start = offset - literal.at;
      if (start + text.size() > data.size()) continue;
      if (std::memcmp(data.data() + start, text.data(), text.size()) == 0) {
        hits.push_back({offset, literal.id});
      }
    }
  }
  if (hits.size() - first > 1) {
    std::ranges::sort(hits.begin() + static_cast<std::ptrdiff_t>(first), hits.end(), {},
                      &AnchorHit::literal);
  }
}

void AnchorScanner::scan_portable(std::string_view data, std::size_t begin, std::size_t end,
                                  std::vector<AnchorHit>& hits) const {
  if (data.size() < kFingerprint) return;
  end = std::min(end, data.size() - kFingerprint + 1);
  const auto* p = reinterpret_cast<const unsigned char*>(data.data());
  for (std::size_t i = begin; i < end; ++i) {
    if (const std::uint8_t mask = buckets_at(p + i)) verify(data, i, mask, hits);
  }
}

#if defined(__x86_64__)
// Macros, as a vector must not cross the border of a function that is compiled without AVX.
#define BB_TABLE(t) \
  _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>((t).data())))
#define BB_LOOK(x, low, high)                                             \
  _mm256_and_si256(_mm256_shuffle_epi8(low, _mm256_and_si256(x, nibble)), \
                   _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble)))

__attribute__((target("avx2"))) void AnchorScanner::scan_avx2(std::string_view data,
                                                              std::size_t begin, std::size_t end,
                                                              std::vector<AnchorHit>& hits) const {
  constexpr std::size_t kWidth = 32;
  std::size_t i = begin;
  if (data.size() >= kWidth + kFingerprint) {
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i l0 = BB_TABLE(low_[0]), l1 = BB_TABLE(low_[1]);
    const __m256i l2 = BB_TABLE(low_[2]), l3 = BB_TABLE(low_[3]);
    const __m256i h0 = BB_TABLE(high_[0]), h1 = BB_TABLE(high_[1]);
    const __m256i h2 = BB_TABLE(high_[2]), h3 = BB_TABLE(high_[3]);
    const std::size_t last = data.size() - kWidth - kFingerprint + 1;
    for (; i < end && i <= last; i += kWidth) {
      const auto* p = reinterpret_cast<const __m256i*>(data.data() + i);
      const auto* q = reinterpret_cast<const char*>(p);
      const __m256i x0 = _mm256_loadu_si256(p);
      const __m256i x1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q + 1));
      const __m256i x2 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q + 2));
      const __m256i x3 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q + 3));
      const __m256i found =
          _mm256_and_si256(_mm256_and_si256(BB_LOOK(x0, l0, h0), BB_LOOK(x1, l1, h1)),
                           _mm256_and_si256(BB_LOOK(x2, l2, h2), BB_LOOK(x3, l3, h3)));
      if (_mm256_testz_si256(found, found)) continue;
      alignas(32) std::uint8_t masks[kWidth];
      _mm256_store_si256(reinterpret_cast<__m256i*>(masks), found);
      unsigned rest = ~static_cast<unsigned>(
          _mm256_movemask_epi8(_mm256_cmpeq_epi8(found, _mm256_setzero_si256())));
      for (; rest != 0; rest &= rest - 1) {
        const auto k = static_cast<std::size_t>(std::countr_zero(rest));
        if (i + k >= end) break;
        verify(data, i + k, masks[k], hits);
      }
    }
  }
  scan_portable(data, std::min(i, end), end, hits);
}
#undef BB_TABLE
#undef BB_LOOK
#else
void AnchorScanner::scan_avx2(std::string_view data, std::size_t begin, std::size_t end,
                              std::vector<AnchorHit>& hits) const {
  scan_portable(data, begin, end, hits);
}
#endif

void AnchorScanner::scan(std::string_view data, std::size_t begin, std::size_t end,
                         std::vector<AnchorHit>& hits) const {
  if (simd_) {
    scan_avx2(data, begin, end, hits);
  } else {
    scan_portable(data, begin, end, hits);
  }
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

#if defined(__x86_64__)
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

}  // namespace

std::int64_t count_newlines(std::string_view data) {
#if defined(__x86_64__)
  if (have_avx2()) return count_avx2(data);
#endif
  return count_portable(data);
}

std::size_t find_line_break(std::string_view data, std::size_t from) {
#if defined(__x86_64__)
  if (have_avx2()) return break_avx2(data, from);
#endif
  return break_portable(data, from);
}

}  // namespace bertbench
