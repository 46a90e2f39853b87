#include "parsers/anchor_scan.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

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

// How often a byte stands in training logs, roughly, out of 1000. Only decides where fingerprints
// lie and which literals share a bucket: a poor guess costs time, never a hit.
double frequency(unsigned char c) {
  if (c >= '0' && c <= '9') return 22;
  if (c == ' ') return 120;
  if (c >= 'a' && c <= 'z') {
    constexpr std::string_view kByRank = "etaoinsrlcdpmuhgfbywvkxjqz";
    return 45.0 / (1.0 + 0.35 * static_cast<double>(kByRank.find(static_cast<char>(c))));
  }
  if (c == '.' || c == '_' || c == ':' || c == '/' || c == ',' || c == '-' || c == '"') return 12;
  if (c >= 'A' && c <= 'Z') return 4;
  if (c == 0xe2 || c == 0x96 || c == 0x88) return 8;  // bar blocks
  return c >= 0x80 ? 0.5 : 2;
}

constexpr std::size_t kBuckets = 8;

/// Nibble sets of the fingerprints in one bucket.
struct NibbleSets {
  std::array<std::uint16_t, AnchorScanner::kFingerprint> low{}, high{};

  void add(std::string_view fingerprint) {
    for (std::size_t j = 0; j < low.size(); ++j) {
      const auto c = static_cast<unsigned char>(fingerprint[j]);
      low[j] = static_cast<std::uint16_t>(low[j] | (1u << (c & 15u)));
      high[j] = static_cast<std::uint16_t>(high[j] | (1u << (c >> 4u)));
    }
  }
  /// Share of random places in a log that pass this bucket.
  [[nodiscard]] double pass_rate(const std::array<double, 256>& weights) const {
    double rate = 1;
    for (std::size_t j = 0; j < low.size(); ++j) {
      double mass = 0;
      for (unsigned h = high[j]; h != 0; h &= h - 1) {
        const auto row = static_cast<std::size_t>(std::countr_zero(h)) * 16;
        for (unsigned l = low[j]; l != 0; l &= l - 1) {
          mass += weights[row + static_cast<std::size_t>(std::countr_zero(l))];
        }
      }
      rate *= mass;
    }
    return rate;
  }
};

/// Where each literal's fingerprint begins, and its bucket.
struct Placement {
  std::uint32_t at = 0;
  std::size_t bucket = 0;
};

// Greedy, rarest literals last, since they cost little wherever they go: each literal takes the
// place and bucket that let the fewest more random places through. Literals with a part in common
// ("_per_s") so come to share it.
std::vector<Placement> place(const std::vector<std::string>& literals) {
  std::array<double, 256> weights{};
  double total = 0;
  for (unsigned c = 0; c < 256; ++c) total += frequency(static_cast<unsigned char>(c));
  for (unsigned c = 0; c < 256; ++c) {
    weights[c] = frequency(static_cast<unsigned char>(c)) / total;
  }
  const auto rate_of = [&](std::string_view part) {
    double rate = 1;
    for (const char c : part) rate *= weights[static_cast<unsigned char>(c)];
    return rate;
  };
  constexpr std::size_t kTried = 8;  // places of a literal: its rarest
  struct Candidate {
    std::size_t literal;
    std::vector<std::uint32_t> places;
    double best;
  };
  std::vector<Candidate> order;
  for (std::size_t i = 0; i < literals.size(); ++i) {
    const std::string_view text = literals[i];
    if (text.size() < AnchorScanner::kFingerprint) continue;
    std::vector<std::uint32_t> places;
    for (std::size_t at = 0; at + AnchorScanner::kFingerprint <= text.size(); ++at) {
      places.push_back(static_cast<std::uint32_t>(at));
    }
    const auto rate_at = [&](std::uint32_t at) {
      return rate_of(text.substr(at, AnchorScanner::kFingerprint));
    };
    std::ranges::stable_sort(places, {}, rate_at);
    if (places.size() > kTried) places.resize(kTried);
    const double best = rate_at(places.front());
    order.push_back({i, std::move(places), best});
  }
  std::ranges::stable_sort(order, std::greater<>(), &Candidate::best);
  std::vector<Placement> out(literals.size());
  std::array<NibbleSets, kBuckets> sets{};
  std::array<double, kBuckets> rates{};
  for (const Candidate& candidate : order) {
    double least = 2;
    Placement best;
    for (const std::uint32_t at : candidate.places) {
      const std::string_view part =
          std::string_view(literals[candidate.literal]).substr(at, AnchorScanner::kFingerprint);
      for (std::size_t b = 0; b < kBuckets; ++b) {
        NibbleSets tried = sets[b];
        tried.add(part);
        const double more = tried.pass_rate(weights) - rates[b];
        if (more < least) {
          least = more;
          best = {at, b};
        }
      }
    }
    sets[best.bucket].add(
        std::string_view(literals[candidate.literal]).substr(best.at, AnchorScanner::kFingerprint));
    rates[best.bucket] = sets[best.bucket].pass_rate(weights);
    out[candidate.literal] = best;
  }
  return out;
}

std::uint32_t word_at(const char* p) {
  std::uint32_t word = 0;
  std::memcpy(&word, p, sizeof word);
  return word;
}

}  // namespace

AnchorScanner::AnchorScanner(std::vector<std::string> literals, bool allow_simd)
    : literals_(std::move(literals)), simd_(allow_simd && have_avx2()) {
  const std::vector<Placement> placements = place(literals_);
  for (std::uint32_t id = 0; id < literals_.size(); ++id) {
    const std::string& text = literals_[id];
    if (text.size() < kFingerprint) continue;
    const auto [at, bucket] = placements[id];
    buckets_[bucket].push_back({id, at, word_at(text.data() + at)});
    for (std::size_t j = 0; j < kFingerprint; ++j) {
      const auto c = static_cast<unsigned char>(text[at + j]);
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
  const std::uint32_t word = word_at(data.data() + offset);
  for (unsigned rest = buckets; rest != 0; rest &= rest - 1) {
    for (const Literal& literal : buckets_[static_cast<std::size_t>(std::countr_zero(rest))]) {
      if (word != literal.word || offset < literal.at) continue;
      const std::string_view text = literals_[literal.id];
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
