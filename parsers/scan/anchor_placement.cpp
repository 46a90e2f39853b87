#include "parsers/scan/anchor_placement.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "parsers/scan/anchor_kernels.h"
#include "parsers/scan/anchor_placement_table.h"

namespace bertbench {
namespace {

constexpr std::size_t kWidth = FingerprintTables::kWidth;

std::optional<Placement> place_in_table(std::string_view literal) {
  const auto table = placed_literals();
  const std::uint32_t key = key_of(literal);
  const auto found = std::ranges::lower_bound(table, key, {}, &PlacedLiteral::key);
  // Two literals of one key are not impossible.
  if (found == table.end() || found->key != key || found->at + kWidth > literal.size()) {
    return std::nullopt;
  }
  return Placement{found->at, found->bucket, found->nibble_bucket};
}

// How often a byte stands in logs, roughly.
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

using Weights = std::array<double, 256>;

Weights byte_weights() {
  Weights out{};
  double total = 0;
  for (unsigned c = 0; c < 256; ++c) total += frequency(static_cast<unsigned char>(c));
  for (unsigned c = 0; c < 256; ++c) out[c] = frequency(static_cast<unsigned char>(c)) / total;
  return out;
}

std::uint32_t rarest_part(std::string_view literal, const Weights& weights) {
  std::uint32_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t at = 0; at + kWidth <= literal.size(); ++at) {
    double chance = 1;
    for (const char c : literal.substr(at, kWidth))
      chance *= weights[static_cast<unsigned char>(c)];
    if (chance < least) {
      least = chance;
      best = static_cast<std::uint32_t>(at);
    }
  }
  return best;
}

/// What random text passes, by bucket. Without nibbles: both kernels share what it tells.
class Buckets {
 public:
  explicit Buckets(const Weights& weights) : weights_(weights) {}

  void add(std::string_view part, std::size_t bucket) {
    for (std::size_t j = 0; j < kWidth; ++j) {
      const auto c = static_cast<unsigned char>(part[j]);
      Place& place = places_[bucket][j];
      if (!place.held[c]) place.chance += weights_[c];
      place.held[c] = true;
    }
  }
  [[nodiscard]] std::size_t cheapest(std::string_view part) const {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t b = 0; b < places_.size(); ++b) {
      double before = 1, after = 1;
      for (std::size_t j = 0; j < kWidth; ++j) {
        const auto c = static_cast<unsigned char>(part[j]);
        const Place& place = places_[b][j];
        before *= place.chance;
        after *= place.chance + (place.held[c] ? 0 : weights_[c]);
      }
      if (after - before < least) {
        least = after - before;
        best = b;
      }
    }
    return best;
  }

 private:
  struct Place {
    std::array<bool, 256> held{};
    double chance = 0;
  };
  const Weights& weights_;
  std::array<std::array<Place, kWidth>, FingerprintTables::kBuckets> places_{};
};

}  // namespace

std::uint32_t key_of(std::string_view literal) {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : literal) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

std::vector<Placement> place_fingerprints(const std::vector<std::string>& literals) {
  std::vector<Placement> out(literals.size());
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < literals.size(); ++i) {
    if (literals[i].size() < kWidth) continue;
    if (const auto placed = place_in_table(literals[i])) {
      out[i] = *placed;
    } else {
      missing.push_back(i);
    }
  }
  if (missing.empty()) return out;
  const Weights weights = byte_weights();
  Buckets exact(weights), nibbles(weights);
  const auto part = [&](std::size_t i) {
    return std::string_view(literals[i]).substr(out[i].at, kWidth);
  };
  const auto add = [&](std::size_t i) {
    exact.add(part(i), out[i].bucket);
    nibbles.add(part(i), out[i].nibble_bucket);
  };
  for (std::size_t i = 0, next = 0; i < literals.size(); ++i) {
    const bool placed = next == missing.size() || missing[next] != i;
    next += placed ? 0 : 1;
    if (placed && literals[i].size() >= kWidth) add(i);
  }
  for (const std::size_t i : missing) {
    out[i].at = rarest_part(literals[i], weights);
    out[i].bucket = exact.cheapest(part(i));
    out[i].nibble_bucket = nibbles.cheapest(part(i));
    add(i);
  }
  return out;
}

}  // namespace bertbench
