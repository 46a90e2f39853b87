// Two steps of the build (parsers/CMakeLists.txt):
//
//   place_anchors list > LITERALS
//     the literals of all formats and rules, a line each
//   place_anchors search LITERALS TEXT... > CPP
//     the table of the places of their fingerprints
//
// The texts are logs and prose. The lines that no literal stands on are what counts: there each
// place that passes the scanner's tables is in vain. Nothing but speed depends on the table. The
// search takes a fixed number of rounds, so that equal sources give equal programs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "parsers/reader/anchor_tables.h"
#include "parsers/scan/anchor_kernels.h"
#include "parsers/scan/anchor_placement.h"

namespace bertbench {
namespace {

constexpr std::size_t kWidth = FingerprintTables::kWidth;
constexpr std::size_t kBuckets = FingerprintTables::kBuckets;
constexpr std::size_t kMostOfAFile = 4'000'000;
constexpr std::size_t kWindows = 32'768;  // the most frequent ones: 99 % of all
constexpr double kOfARecord = 0.2;        // weight of lines with an anchor: they cost much anyhow
constexpr double kInVain = 4;             // weight of a fingerprint without its literal, in places
constexpr double kNibbles = 0.05;         // weight of the tables of nibbles
constexpr double kRandom = 5;             // places per KB, were each byte drawn alone
constexpr std::size_t kTried = 10;        // places of a literal
constexpr int kRounds = 4;                // of the search: 1.5 s in all; more rounds change little

/// Four bytes in a row, how often they stand in a KB of the sample.
struct Window {
  double weight = 0;
  std::uint32_t word = 0;
};

std::uint32_t word_at(std::string_view text, std::size_t at) {
  std::uint32_t word = 0;
  std::memcpy(&word, text.data() + at, sizeof word);
  return word;
}

class Sample {
 public:
  explicit Sample(const std::vector<std::string>& literals)
      : scanner_(literals), hits_(literals.size()) {}

  void add(const std::string& text) {
    std::vector<AnchorHit> hits;
    scanner_.scan(text, 0, text.size(), hits);
    bytes_ += static_cast<double>(text.size());
    auto hit = hits.begin();
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find_first_of("\r\n", at), text.size());
      double weight = 1;
      for (; hit != hits.end() && hit->offset <= end; ++hit) {
        weight = kOfARecord;
        hits_[hit->literal] += weight;
      }
      for (; at <= end && at + kWidth <= text.size(); ++at) counts_[word_at(text, at)] += weight;
      at = end + 1;
    }
  }
  [[nodiscard]] std::vector<Window> windows() const {
    std::vector<Window> out;
    for (const auto& [word, count] : counts_) out.push_back({per_kilobyte(count), word});
    std::ranges::sort(out, [](const Window& a, const Window& b) {
      return std::pair(-a.weight, a.word) < std::pair(-b.weight, b.word);
    });
    out.resize(std::min(out.size(), kWindows));
    return out;
  }
  /// How often `word` stands where the literal does not.
  [[nodiscard]] double in_vain(std::uint32_t word, std::size_t literal) const {
    const auto found = counts_.find(word);
    const double count = found == counts_.end() ? 0 : found->second;
    return per_kilobyte(std::max(0.0, count - hits_[literal]));
  }

 private:
  [[nodiscard]] double per_kilobyte(double count) const { return 1e3 * count / bytes_; }
  AnchorScanner scanner_;
  std::unordered_map<std::uint32_t, double> counts_;
  std::vector<double> hits_;
  double bytes_ = 0;
};

using Bits = std::vector<std::uint64_t>;
unsigned byte_of(std::uint32_t word, std::size_t j) { return word >> (8 * j) & 0xff; }

/// What a kernel looks up of four bytes: numbers below 128.
using Features = std::vector<unsigned (*)(std::uint32_t)>;
template <unsigned k>
unsigned pair(std::uint32_t word) {
  return FingerprintTables::pair(byte_of(word, FingerprintTables::kFirst[k]),
                                 byte_of(word, FingerprintTables::kSecond[k]));
}
template <unsigned j>
unsigned low_nibble(std::uint32_t word) {
  return FingerprintTables::low_nibble(byte_of(word, j));
}
template <unsigned j>
unsigned high_nibble(std::uint32_t word) {
  return FingerprintTables::high_nibble(byte_of(word, j));
}
const Features kByPairs = {pair<0>, pair<1>, pair<2>, pair<3>, pair<4>};
const Features kByNibbles = {low_nibble<0>,  low_nibble<1>,  low_nibble<2>,  low_nibble<3>,
                             high_nibble<0>, high_nibble<1>, high_nibble<2>, high_nibble<3>};

/// The windows by what a kernel sees of them.
class View {
 public:
  View(const std::vector<Window>& windows, const Features& features)
      : features_(features), words_((windows.size() + 63) / 64), weights_(words_ * 64) {
    with_.assign(count() * 128, Bits(words_));
    chance_.assign(count() * 128, 1e-3);
    double all = 0;
    for (const Window& window : windows) all += window.weight;
    for (std::size_t i = 0; i < windows.size(); ++i) {
      weights_[i] = windows[i].weight;
      for (std::size_t f = 0; f < count(); ++f) {
        const std::size_t seen = f * 128 + of(windows[i].word, f);
        with_[seen][i / 64] |= std::uint64_t{1} << (i % 64);
        chance_[seen] += windows[i].weight / all;
      }
    }
  }
  [[nodiscard]] std::size_t count() const { return features_.size(); }
  [[nodiscard]] std::size_t words() const { return words_; }
  [[nodiscard]] unsigned of(std::uint32_t word, std::size_t f) const { return features_[f](word); }
  [[nodiscard]] const Bits& with(std::size_t f, unsigned seen) const {
    return with_[f * 128 + seen];
  }
  [[nodiscard]] double chance(std::size_t f, unsigned seen) const {
    return chance_[f * 128 + seen];
  }
  [[nodiscard]] double weight_of(std::size_t word, std::uint64_t bits) const {
    double sum = 0;
    for (; bits != 0; bits &= bits - 1) {
      sum += weights_[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
    }
    return sum;
  }

 private:
  Features features_;
  std::size_t words_;
  std::vector<double> weights_;
  std::vector<Bits> with_;
  std::vector<double> chance_;
};

/// Fingerprints that share a bit of the tables, as one kernel sees them.
class Bucket {
 public:
  explicit Bucket(const View& view)
      : view_(&view),
        held_(view.count()),
        passing_(view.count(), Bits(view.words())),
        chance_(view.count()) {}

  /// What passes, in a KB, with `part` added; may be too little where that is above `enough`.
  [[nodiscard]] double cost_with(std::string_view part, double enough) const {
    double sum = kRandom;
    all_.assign(view_->words(), ~std::uint64_t{0});
    for (std::size_t f = 0; f < view_->count(); ++f) {
      const unsigned seen = of(part, f);
      sum *= chance_[f] + (held_[f][seen] > 0 ? 0 : view_->chance(f, seen));
      const std::uint64_t* const have = passing_[f].data();
      const std::uint64_t* const more = view_->with(f, seen).data();
      for (std::size_t i = 0; i < all_.size(); ++i) all_[i] &= have[i] | more[i];
    }
    for (std::size_t i = 0; i < all_.size() && sum <= enough; ++i) {
      sum += view_->weight_of(i, all_[i]);
    }
    return sum;
  }
  void add(std::string_view part) {
    for (std::size_t f = 0; f < view_->count(); ++f) {
      const unsigned seen = of(part, f);
      if (held_[f][seen]++ > 0) continue;
      chance_[f] += view_->chance(f, seen);
      join(f, seen);
    }
    price();
  }
  void remove(std::string_view part) {
    for (std::size_t f = 0; f < view_->count(); ++f) {
      if (--held_[f][of(part, f)] > 0) continue;
      std::ranges::fill(passing_[f], 0);
      chance_[f] = 0;
      for (unsigned seen = 0; seen < 128; ++seen) {
        if (held_[f][seen] == 0) continue;
        chance_[f] += view_->chance(f, seen);
        join(f, seen);
      }
    }
    price();
  }
  [[nodiscard]] double cost() const { return cost_; }

 private:
  [[nodiscard]] unsigned of(std::string_view part, std::size_t f) const {
    return view_->of(word_at(part, 0), f);
  }
  void join(std::size_t f, unsigned seen) {
    const Bits& more = view_->with(f, seen);
    for (std::size_t i = 0; i < more.size(); ++i) passing_[f][i] |= more[i];
  }
  void price() {
    cost_ = kRandom;
    for (const double chance : chance_) cost_ *= chance;
    for (std::size_t i = 0; i < view_->words(); ++i) {
      std::uint64_t all = ~std::uint64_t{0};
      for (const Bits& bits : passing_) all &= bits[i];
      cost_ += view_->weight_of(i, all);
    }
  }
  const View* view_;
  std::vector<std::array<int, 128>> held_;
  std::vector<Bits> passing_;
  std::vector<double> chance_;
  mutable Bits all_;  // kept for its memory
  double cost_ = 0;
};

/// Puts each literal where it costs least.
class Search {
 public:
  Search(const std::vector<std::string>& literals, const Sample& sample)
      : literals_(literals),
        pair_view_(sample.windows(), kByPairs),
        nibble_view_(sample.windows(), kByNibbles),
        pairs_(kBuckets, Bucket(pair_view_)),
        nibble_(kBuckets, Bucket(nibble_view_)),
        places_(literals.size()) {
    for (std::size_t i = 0; i < literals.size(); ++i) {
      auto& own = own_.emplace_back();
      for (std::size_t at = 0; at + kWidth <= literals[i].size(); ++at) {
        own.emplace_back(kInVain * sample.in_vain(word_at(literals[i], at), i), at);
      }
      std::ranges::sort(own);
      own.resize(std::min(own.size(), kTried));
      if (!own.empty()) order_.push_back(i);
    }
    // The hardest first: few places to choose from.
    std::ranges::stable_sort(order_, {}, [&](std::size_t i) { return literals[i].size(); });
    for (const std::size_t i : order_) put(i);
  }

  /// Takes each literal out and puts it back where it costs least now that the others have places.
  void run() {
    for (int round = 0; round < kRounds; ++round) {
      for (const std::size_t i : order_) {
        take(i);
        put(i);
      }
    }
  }
  [[nodiscard]] const std::vector<Placement>& places() const { return places_; }

 private:
  [[nodiscard]] std::string_view part(std::size_t i, std::size_t at) const {
    return std::string_view(literals_[i]).substr(at, kWidth);
  }
  void take(std::size_t i) {
    pairs_[places_[i].bucket].remove(part(i, places_[i].at));
    nibble_[places_[i].nibble_bucket].remove(part(i, places_[i].at));
  }
  void put(std::size_t i) {
    double least = 1e300;
    for (const auto& [own, at] : own_[i]) {
      const auto [more, bucket] = cheapest(pairs_, part(i, at), least - own);
      if (bucket == kBuckets) continue;
      const auto [also, nibble_bucket] =
          cheapest(nibble_, part(i, at), (least - own - more) / kNibbles);
      if (nibble_bucket == kBuckets) continue;
      least = own + more + kNibbles * also;
      places_[i] = {static_cast<std::uint32_t>(at), bucket, nibble_bucket};
    }
    pairs_[places_[i].bucket].add(part(i, places_[i].at));
    nibble_[places_[i].nibble_bucket].add(part(i, places_[i].at));
  }
  /// The bucket that costs the least more, below `enough`; kBuckets if none does.
  static std::pair<double, std::size_t> cheapest(const std::vector<Bucket>& buckets,
                                                 std::string_view part, double enough) {
    std::pair<double, std::size_t> best(enough, kBuckets);
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      const double now = buckets[b].cost();
      best = std::min(best, {buckets[b].cost_with(part, now + best.first) - now, b});
    }
    return best;
  }

  const std::vector<std::string>& literals_;
  View pair_view_, nibble_view_;
  std::vector<Bucket> pairs_, nibble_;
  std::vector<Placement> places_;
  std::vector<std::vector<std::pair<double, std::size_t>>> own_;
  std::vector<std::size_t> order_;
};

// A line of the list: control characters and the backslash as \\xHH.
std::string escaped(std::string_view literal) {
  std::string out;
  for (const char c : literal) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || c == '\\' ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return out;
}

std::string unescaped(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      out += line[i];
      continue;
    }
    out += static_cast<char>(std::stoi(std::string(line.substr(i + 2, 2)), nullptr, 16));
    i += 3;
  }
  return out;
}

void print_table(const std::vector<std::string>& literals, const std::vector<Placement>& places) {
  std::map<std::uint32_t, Placement> table;
  for (std::size_t i = 0; i < literals.size(); ++i) {
    if (literals[i].size() >= kWidth) table[key_of(literals[i])] = places[i];
  }
  fmt::print(
      "// Made by place_anchors at the build; not to be edited.\n"
      "#include \"parsers/scan/anchor_placement.h\"\n\nnamespace bertbench {{\n\n"
      "// clang-format off\n"
      "constexpr PlacedLiteral kTable[] = {{");
  std::size_t column = 0;
  for (const auto& [key, place] : table) {
    fmt::print("{}{{0x{:08x}, {}, {}, {}}},", column++ % 4 == 0 ? "\n    " : " ", key, place.at,
               place.bucket, place.nibble_bucket);
  }
  fmt::print(
      "\n}};\n// clang-format on\n\nstd::span<const PlacedLiteral> placed_literals() {{ "
      "return kTable; }}\n\n}}  // namespace bertbench\n");
}

std::string text_of(const char* path, std::size_t most) {
  std::ifstream file(path, std::ios::binary);
  std::string text(most, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

int run(int count, char** arguments) {
  const std::string_view step = count > 1 ? arguments[1] : "";
  if (step == "list") {
    const AnchorTables tables(all_formats(), nullptr);
    for (const std::string& literal : tables.literals()) {
      std::cout << escaped(literal) << '\n';
    }
    return 0;
  }
  if (step != "search" || count < 4) {
    std::cerr << "usage: place_anchors list | place_anchors search LITERALS TEXT...\n";
    return 2;
  }
  std::vector<std::string> literals;
  std::ifstream list(arguments[2]);
  for (std::string line; std::getline(list, line);) literals.push_back(unescaped(line));
  Sample sample(literals);
  for (int i = 3; i < count; ++i) sample.add(text_of(arguments[i], kMostOfAFile));
  Search search(literals, sample);
  search.run();
  print_table(literals, search.places());
  return 0;
}

}  // namespace
}  // namespace bertbench

int main(int count, char** arguments) { return bertbench::run(count, arguments); }
