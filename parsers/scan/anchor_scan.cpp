#include "parsers/scan/anchor_scan.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "parsers/scan/anchor_placement.h"

namespace bertbench {
namespace {

std::uint32_t word_at(const char* p) {
  std::uint32_t word = 0;
  std::memcpy(&word, p, sizeof word);
  return word;
}

// A literal's ends, of as many bytes as stand there for sure.
std::pair<std::uint64_t, std::uint64_t> ends_of(const char* p, std::size_t size) {
  std::uint64_t front = 0, back = 0;
  if (size < sizeof front) {
    return {word_at(p), word_at(p + size - AnchorScanner::kFingerprint)};
  }
  std::memcpy(&front, p, sizeof front);
  std::memcpy(&back, p + size - sizeof back, sizeof back);
  return {front, back};
}

std::uint32_t hash_of(std::uint32_t word, unsigned bits) {
  return (word * 0x9e3779b1u) >> (32 - bits);
}

}  // namespace

AnchorScanner::AnchorScanner(std::vector<std::string> literals, ScanKernel kernel)
    : literals_(std::move(literals)), kernel_(std::min(kernel, best_scan_kernel())) {
  const std::vector<Placement> placements = place_fingerprints(literals_);
  for (std::uint32_t id = 0; id < literals_.size(); ++id) {
    const std::string& text = literals_[id];
    fingerprints_.push_back(placements[id].at);
    if (text.size() < kFingerprint) continue;
    const auto [at, bucket, nibble_bucket] = placements[id];
    const auto [front, back] = ends_of(text.data(), text.size());
    sorted_.push_back(
        {id, at, static_cast<std::uint32_t>(text.size()), word_at(text.data() + at), front, back});
    tables_.add(text.data() + at, bucket, nibble_bucket);
  }
  build_slots();
}

void AnchorScanner::build_slots() {
  std::ranges::stable_sort(sorted_, {}, &Literal::word);
  while (std::size_t{1} << slot_bits_ < 2 * sorted_.size()) ++slot_bits_;
  slots_.resize(std::size_t{1} << slot_bits_);
  filter_.resize((std::size_t{1} << kFilterBits) / 64);
  for (std::size_t i = 0; i < sorted_.size();) {
    const std::uint32_t word = sorted_[i].word;
    std::size_t end = i;
    while (end < sorted_.size() && sorted_[end].word == word) ++end;
    std::size_t at = hash_of(word, slot_bits_);
    while (slots_[at].count > 0) at = (at + 1) % slots_.size();
    slots_[at] = {word, static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(end - i)};
    find_shared_byte(slots_[at]);
    const std::uint32_t bit = hash_of(word, kFilterBits);
    filter_[bit / 64] |= std::uint64_t{1} << (bit % 64);
    i = end;
  }
}

// The byte farthest from the fingerprint, as it follows least from it: of ", throughput: " with the
// fingerprint "ough" the colon decides, not the "p".
void AnchorScanner::find_shared_byte(Slot& slot) const {
  const std::span literals(sorted_.data() + slot.first, slot.count);
  const Literal& model = literals.front();
  int farthest = 0;
  for (std::uint32_t at = 0; at < model.size; ++at) {
    const int offset = static_cast<int>(at) - static_cast<int>(model.at);
    const int distance = offset < 0 ? -offset : offset - static_cast<int>(kFingerprint) + 1;
    if (distance <= farthest || offset < INT8_MIN || offset > INT8_MAX) continue;
    const char byte = literals_[model.id][at];
    const bool shared = std::ranges::all_of(literals, [&](const Literal& literal) {
      const auto place = static_cast<std::size_t>(std::int64_t{literal.at} + offset);
      return place < literal.size && literals_[literal.id][place] == byte;
    });
    if (!shared) continue;
    farthest = distance;
    slot.offset = static_cast<std::int8_t>(offset);
    slot.mask = 0xff;
    slot.value = static_cast<std::uint8_t>(byte);
  }
}

bool AnchorScanner::may_be_fingerprint(std::uint32_t word) const {
  const std::uint32_t bit = hash_of(word, kFilterBits);
  return (filter_[bit / 64] >> (bit % 64) & 1u) != 0;
}

void AnchorScanner::verify(std::string_view data, std::size_t offset, std::uint32_t newlines,
                           std::vector<AnchorHit>& hits) const {
  const std::uint32_t word = word_at(data.data() + offset);
  std::size_t slot = hash_of(word, slot_bits_);
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
    if (ends_of(start, literal.size) != std::pair{literal.front, literal.back}) continue;
    if (literal.size > 2 * sizeof literal.front &&
        std::memcmp(start, literals_[literal.id].data(), literal.size) != 0) {
      continue;
    }
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
    const bool passes =
        kernel_ == ScanKernel::avx2 ? tables_.passes_by_nibbles(p + i) : tables_.passes(p + i);
    count += passes ? 1 : 0;
  }
  return count;
}

std::uint32_t AnchorScanner::scan_portable(std::string_view data, std::size_t begin,
                                           std::size_t end, std::vector<AnchorHit>& hits) const {
  const std::size_t last =
      data.size() < kFingerprint ? begin : std::min(end, data.size() - kFingerprint + 1);
  const auto* p = reinterpret_cast<const unsigned char*>(data.data());
  std::uint32_t newlines = 0;
  std::size_t i = begin;
  for (; i < last; ++i) {
    if (tables_.passes(p + i)) verify(data, i, newlines, hits);
    newlines += static_cast<std::uint32_t>(p[i] == '\n');
  }
  for (; i < end; ++i) newlines += static_cast<std::uint32_t>(p[i] == '\n');
  return newlines;
}

#if defined(__x86_64__)
#define BB_POPCNT __attribute__((target("popcnt,bmi")))  // every processor with AVX2 has them
#else
#define BB_POPCNT
#endif

// The places that passed, in four turns. The first three, over all of them, hold hardly a branch
// that depends on the text: of a step two places are written down whether there are so many or
// not, and what is not kept is overwritten.
BB_POPCNT void AnchorScanner::verify_all(std::string_view data, std::size_t begin,
                                         const ScanMasks& masks, std::uint32_t newlines,
                                         std::vector<AnchorHit>& hits) const {
  constexpr std::size_t kPlaces = ScanMasks::kPlaces;
  std::array<std::uint16_t, ScanMasks::kSteps * kPlaces + 2> kept;
  std::size_t passed = 0;
  for (std::uint64_t steps = masks.any; steps != 0; steps &= steps - 1) {
    const auto step = static_cast<std::size_t>(std::countr_zero(steps));
    std::uint64_t places = masks.found[step];
    const auto in_all = static_cast<std::size_t>(std::popcount(places));
    std::uint16_t* out = kept.data() + passed;
    const auto take = [&] {
      *out++ = static_cast<std::uint16_t>(step * kPlaces +
                                          static_cast<std::size_t>(std::countr_zero(places)));
      places &= places - 1;
    };
    do {
      take(), take();
    } while (places != 0);
    passed += in_all;
  }
  std::size_t count = 0;
  for (std::size_t i = 0; i < passed; ++i) {
    kept[count] = kept[i];
    count += may_be_fingerprint(word_at(data.data() + begin + kept[i])) ? 1 : 0;
  }
  passed = std::exchange(count, 0);
  for (std::size_t i = 0; i < passed; ++i) {
    const std::size_t at = begin + kept[i];
    const std::uint32_t word = word_at(data.data() + at);
    const Slot& slot = slots_[hash_of(word, slot_bits_)];
    // Before the data the sum wraps round. A literal that is not wholly there is none, whatever
    // the last byte is.
    const std::size_t place =
        std::min(at + static_cast<std::size_t>(std::ptrdiff_t{slot.offset}), data.size() - 1);
    const auto other = static_cast<unsigned>(slot.word != word);  // verify() looks further
    const auto byte = static_cast<std::uint8_t>(data[place]);
    const auto right = static_cast<unsigned>((byte & slot.mask) == slot.value);
    kept[count] = kept[i];
    count += other | right;
  }
  std::size_t hit = hits.size();  // the line breaks before hits are counted below
  for (std::size_t i = 0; i < count; ++i) verify(data, begin + kept[i], 0, hits);
  std::size_t counted = 0;  // steps whose line breaks are in `newlines`
  for (; hit < hits.size(); ++hit) {
    const std::size_t offset = hits[hit].offset - begin;
    const std::size_t step = offset / kPlaces, place = offset % kPlaces;
    for (; counted < step; ++counted) {
      newlines += static_cast<std::uint32_t>(std::popcount(masks.breaks[counted]));
    }
    const std::uint64_t before = masks.breaks[step] & ((std::uint64_t{1} << place) - 1);
    hits[hit].newlines = newlines + static_cast<std::uint32_t>(std::popcount(before));
  }
}

// A range of a few steps is looked at in one go, wherever they fall. Of a longer one the first step
// is cut so that those after it are aligned, and the last one overlaps the one before it.
// Places outside the range or seen before are masked out.
std::uint32_t AnchorScanner::scan_simd(std::string_view data, std::size_t begin, std::size_t end,
                                       std::vector<AnchorHit>& hits) const {
  constexpr std::size_t kPlaces = ScanMasks::kPlaces, kShortRange = 16 * kPlaces;
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  if (end - begin < kPlaces || data.size() - begin < kPlaces + kFingerprint - 1) {
    return scan_portable(data, begin, end, hits);
  }
  const std::size_t limit = std::min(end, data.size() - kFingerprint + 1);  // no hit after it
  ScanMasks masks;
  std::uint32_t newlines = 0;
  // Of the last step only the places in `wanted` are looked at.
  const auto look = [&](std::size_t from, std::size_t steps, std::uint64_t wanted) {
    const std::uint32_t more = match_masks(kernel_, tables_, data.data() + from, steps, masks);
    const std::size_t last = steps - 1;
    const auto unwanted = static_cast<std::uint32_t>(std::popcount(masks.breaks[last] & ~wanted));
    masks.found[last] &= wanted;
    masks.breaks[last] &= wanted;
    if (masks.found[last] == 0) masks.any &= ~(std::uint64_t{1} << last);
    verify_all(data, from, masks, newlines, hits);
    newlines += more - unwanted;
  };
  std::size_t i = begin;
  const std::size_t steps = (limit - begin + kPlaces - 1) / kPlaces;
  if (limit - begin <= kShortRange && data.size() - begin >= steps * kPlaces + kFingerprint - 1) {
    look(begin, steps, kAll >> (steps * kPlaces - (limit - begin)));
    i = limit;
  } else if (const auto odd = reinterpret_cast<std::uintptr_t>(data.data() + i) % kPlaces;
             odd != 0) {
    look(i, 1, kAll >> odd);
    i += kPlaces - odd;
  }
  while (limit - i >= kPlaces) {
    const std::size_t whole = std::min((limit - i) / kPlaces, ScanMasks::kSteps);
    look(i, whole, kAll);
    i += whole * kPlaces;
  }
  if (i < limit) look(limit - kPlaces, 1, kAll << (kPlaces - (limit - i)));
  for (i = limit; i < end; ++i) newlines += static_cast<std::uint32_t>(data[i] == '\n');
  return newlines;
}

std::int64_t AnchorScanner::scan(std::string_view data, std::size_t begin, std::size_t end,
                                 std::vector<AnchorHit>& hits) const {
  end = std::min(end, data.size());
  if (begin >= end) return 0;
  return kernel_ == ScanKernel::portable ? scan_portable(data, begin, end, hits)
                                         : scan_simd(data, begin, end, hits);
}

}  // namespace bertbench
