#include "workloads/bert/data/batches.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <numeric>

#include "workloads/bert/core/nvtx.h"
#include "workloads/bert/data/answers.h"
#include "workloads/bert/data/examples.h"
#include "workloads/bert/data/random.h"

namespace bert {
namespace {

constexpr std::uint64_t kLengthStream = 1, kMaskStream = 2;
constexpr std::int64_t kSpecialPerSequence = 3;  // [CLS] and two [SEP]

std::int64_t masked_tokens(const DataOptions& options) {
  return options.head_everywhere ? masked_positions(options.sequence_length)
                                 : options.masked_per_sequence;
}

/// Of 10,000 sequences that pre-training makes of Wikipedia at 512 tokens, those of 1 to 32 tokens,
/// 33 to 64, ... 481 to 511; the other 2,345 are full. Krell et al. 2021 (arXiv 2107.02027), from
/// the histogram of 16,279,552 sequences that they publish, whose mean length is 255.8.
constexpr std::int64_t kWikipedia[] = {359, 1399, 1138, 797, 623, 517, 443, 386,
                                       340, 305,  276,  252, 231, 213, 197, 179};
constexpr std::int64_t kWikipediaSequences = 10000;
constexpr double kBins = std::size(kWikipedia);

/// Of the full length, above 0, at most 1; even inside each of the histogram's bins.
double wikipedia_share(KeyedRandom& random) {
  std::int64_t left = random.below(kWikipediaSequences);
  double bin = 0;
  for (const std::int64_t sequences : kWikipedia) {
    if (left < sequences) return (bin + random.uniform()) / kBins;
    left -= sequences;
    ++bin;
  }
  return 1;
}

std::int64_t sequence_length(const DataOptions& options, std::uint64_t index) {
  const std::int64_t full = options.sequence_length;
  if (options.lengths == Lengths::full) return full;
  constexpr std::int64_t kSegments = 2;  // each has a token
  const std::int64_t needed =
      std::min(full, std::max(masked_tokens(options), kSegments) + kSpecialPerSequence);
  KeyedRandom random(options.seed, kLengthStream, index);
  if (options.lengths == Lengths::wikipedia) {
    const double share = wikipedia_share(random);
    return std::clamp(1 + static_cast<std::int64_t>(share * static_cast<double>(full)), needed,
                      full);
  }
  const std::int64_t shortest = std::max(full / 4, needed);
  return shortest + random.below(full - shortest + 1);
}

/// The first `count` entries become a random subset (partial Fisher-Yates).
template <class Entry>
void draw(KeyedRandom& random, std::size_t count, std::vector<Entry>& entries) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto left = static_cast<std::int64_t>(entries.size() - i);
    std::swap(entries[i], entries[i + static_cast<std::size_t>(random.below(left))]);
  }
}

/// The first `wanted` candidates become the positions of words in random order: each word that
/// still fits, and where none does, the beginning of the first that did not.
void draw_words(const SequenceSource& source, KeyedRandom& random, std::size_t wanted,
                const std::vector<std::int32_t>& tokens, std::vector<std::int32_t>& candidates) {
  struct Word {
    std::size_t begin, size;
  };
  std::vector<Word> words;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const bool goes_on = i > 0 && candidates[i] == candidates[i - 1] + 1 &&
                         source.continues_word(tokens[static_cast<std::size_t>(candidates[i])]);
    if (!goes_on) words.push_back({i, 0});
    ++words.back().size;
  }
  draw(random, words.size(), words);
  std::vector<std::int32_t> chosen;
  const Word* cut = nullptr;
  const auto take = [&](const Word& word, std::size_t count) {
    const auto begin = candidates.begin() + static_cast<std::ptrdiff_t>(word.begin);
    chosen.insert(chosen.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  for (const Word& word : words) {
    const std::size_t left = wanted - chosen.size();
    if (word.size <= left) {
      take(word, word.size);
    } else if (cut == nullptr) {
      cut = &word;
    }
  }
  if (chosen.size() < wanted && cut != nullptr) take(*cut, wanted - chosen.size());
  std::ranges::copy(chosen, candidates.begin());
}

void mask(const SequenceSource& source, const DataOptions& options, std::uint64_t index,
          std::int64_t row, std::vector<std::int32_t>& candidates, Batch& batch) {
  KeyedRandom random(options.seed, kMaskStream, index);
  const auto wanted = static_cast<std::size_t>(masked_tokens(options));
  if (options.whole_words) {
    draw_words(source, random, wanted, batch.tokens, candidates);
  } else {
    draw(random, wanted, candidates);
  }
  std::sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(wanted));
  const std::int64_t first =
      std::min<std::int64_t>(SpecialTokens::kFirstOrdinary, options.vocabulary / 2);
  for (std::size_t i = 0; i < wanted; ++i) {
    const auto position = static_cast<std::size_t>(candidates[i]);
    const std::size_t slot =
        options.head_everywhere ? position : static_cast<std::size_t>(row) * wanted + i;
    batch.masked[slot] = candidates[i];
    batch.labels[slot] = batch.tokens[position];
    const double dice = random.uniform();
    if (dice < 0.8) {
      batch.tokens[position] = SpecialTokens::kMask;
    } else if (dice < 0.9) {
      batch.tokens[position] =
          static_cast<std::int32_t>(first + random.below(options.vocabulary - first));
    }
  }
}

/// Every label is the token after its own, so a sequence is made of one token more than it has.
void fill_text(const SequenceSource& source, const DataOptions& options, Batch& batch) {
  const std::int64_t length = options.sequence_length;
  batch.tokens.clear();
  batch.labels.clear();
  for (auto* unused : {&batch.segments, &batch.masked, &batch.next_sentence}) unused->clear();
  batch.lengths.assign(static_cast<std::size_t>(batch.sequences),
                       static_cast<std::int32_t>(length));
  for (std::int64_t row = 0; row < batch.sequences; ++row) {
    const auto index = static_cast<std::uint64_t>(batch.first_sequence + row);
    const std::vector<std::int32_t> text = source.text(index, length + 1);
    batch.tokens.insert(batch.tokens.end(), text.begin(), text.end() - 1);
    batch.labels.insert(batch.labels.end(), text.begin() + 1, text.end());
  }
}

}  // namespace

void fill_batch(const SequenceSource& source, const DataOptions& options,
                std::int64_t first_sequence, std::int64_t count, Batch& batch) {
  const auto cells = static_cast<std::size_t>(count * options.sequence_length);
  const auto masks = static_cast<std::size_t>(count * options.masked_per_sequence);
  batch.sequences = count;
  batch.sequence_length = options.sequence_length;
  batch.masked_per_sequence = options.masked_per_sequence;
  batch.first_sequence = first_sequence;
  if (options.next_word) return fill_text(source, options, batch);
  if (source.labelled()) return fill_examples(source, options, batch);
  if (options.questions) return fill_questions(options, batch);
  batch.tokens.assign(cells, SpecialTokens::kPad);
  batch.segments.assign(cells, 0);
  batch.lengths.resize(static_cast<std::size_t>(count));
  batch.masked.resize(masks);
  batch.labels.assign(masks, -1);
  if (options.head_everywhere) std::iota(batch.masked.begin(), batch.masked.end(), 0);
  batch.next_sentence.resize(static_cast<std::size_t>(count));
  std::vector<std::int32_t> candidates;
  for (std::int64_t row = 0; row < count; ++row) {
    const auto index = static_cast<std::uint64_t>(first_sequence + row);
    const std::int64_t length = sequence_length(options, index);
    const SegmentPair pair = source.pair(index, length - kSpecialPerSequence);
    auto at = static_cast<std::size_t>(row * options.sequence_length);
    candidates.clear();
    batch.tokens[at++] = SpecialTokens::kCls;
    int segment = 0;
    for (const auto* part : {&pair.first, &pair.second}) {
      for (const std::int32_t token : *part) {
        candidates.push_back(static_cast<std::int32_t>(at));
        batch.segments[at] = segment;
        batch.tokens[at++] = token;
      }
      batch.segments[at] = segment++;
      batch.tokens[at++] = SpecialTokens::kSep;
    }
    batch.lengths[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(length);
    // Label 0 is "is the next sentence", as in BERT's and Hugging Face's code.
    const bool is_next =
        options.shuffle_labels
            ? source.pair(index + kOtherSequence, length - kSpecialPerSequence).is_next
            : pair.is_next;
    batch.next_sentence[static_cast<std::size_t>(row)] = is_next ? 0 : 1;
    mask(source, options, index, row, candidates, batch);
  }
}

const Batch& BatchesAhead::of(std::int64_t number) {
  Batch& batch = ahead_ == number ? batches_[static_cast<std::size_t>(number % 2)] : make(number);
  ahead_ = kNone;
  return batch;
}

void BatchesAhead::make_ahead(std::int64_t number, Backend& backend) {
  backend.prefetch(make(number));
  ahead_ = number;
}

Batch& BatchesAhead::make(std::int64_t number) {
  const NvtxRange range("data");
  Batch& batch = batches_[static_cast<std::size_t>(number % 2)];
  const auto start = std::chrono::steady_clock::now();
  fill_batch(source_, data_, (number * world_ + rank_) * size_, size_, batch);
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return batch;
}

}  // namespace bert
