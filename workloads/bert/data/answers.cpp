#include "workloads/bert/data/answers.h"

#include <algorithm>
#include <array>

#include "workloads/bert/data/random.h"

namespace bert {
namespace {

constexpr std::uint64_t kQuestionStream = 4;
constexpr std::int64_t kKinds = 4, kWordsOfKind = 4, kFillers = 64;
constexpr std::int64_t kRuns = 3, kLongestRun = 3;
constexpr std::int64_t kContextStart = 3;  // after [CLS], the question and [SEP]

struct Question {
  std::int64_t kind = 0;
  std::array<std::int64_t, kRuns> kinds{}, starts{}, lengths{};  ///< of the runs, by place
  std::size_t asked = 0;                                         ///< the run that is the answer
};

/// Each run has a part of the context to itself, with filler before and after it.
Question draw(KeyedRandom& random, std::int64_t context) {
  Question question;
  std::array<std::int64_t, kKinds> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = static_cast<std::int64_t>(i);
  const std::int64_t part = context / kRuns;
  for (std::size_t i = 0; i < kRuns; ++i) {
    const auto left = static_cast<std::int64_t>(kinds.size() - i);
    std::swap(kinds[i], kinds[i + static_cast<std::size_t>(random.below(left))]);
    question.kinds[i] = kinds[i];
    question.lengths[i] = 1 + random.below(kLongestRun);
    const std::int64_t room = part - 1 - question.lengths[i];
    question.starts[i] =
        kContextStart + static_cast<std::int64_t>(i) * part + random.below(room + 1);
  }
  question.asked = static_cast<std::size_t>(random.below(kRuns));
  question.kind = question.kinds[question.asked];
  return question;
}

}  // namespace

void fill_questions(const DataOptions& options, Batch& batch) {
  const std::int64_t length = options.sequence_length;
  const std::int64_t context = length - kContextStart - 1;
  const std::int64_t first =
      std::min<std::int64_t>(SpecialTokens::kFirstOrdinary, options.vocabulary / 2);
  const std::int64_t words = first + kKinds;
  const std::int64_t fillers = words + kKinds * kWordsOfKind;
  batch.spans.clear();
  batch.lengths.assign(static_cast<std::size_t>(batch.sequences),
                       static_cast<std::int32_t>(length));
  batch.next_sentence.assign(static_cast<std::size_t>(batch.sequences), 0);
  batch.segments.clear();
  batch.tokens.clear();
  for (std::int64_t row = 0; row < batch.sequences; ++row) {
    const auto index = static_cast<std::uint64_t>(batch.first_sequence + row);
    KeyedRandom random(options.seed, kQuestionStream, index);
    const Question question = draw(random, context);
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(length));
    for (std::int32_t& token : tokens) {
      token = static_cast<std::int32_t>(fillers + random.below(kFillers));
    }
    tokens[0] = SpecialTokens::kCls;
    tokens[1] = static_cast<std::int32_t>(first + question.kind);
    tokens[2] = tokens.back() = SpecialTokens::kSep;
    for (std::size_t run = 0; run < kRuns; ++run) {
      for (std::int64_t i = 0; i < question.lengths[run]; ++i) {
        tokens[static_cast<std::size_t>(question.starts[run] + i)] = static_cast<std::int32_t>(
            words + question.kinds[run] * kWordsOfKind + random.below(kWordsOfKind));
      }
    }
    batch.tokens.insert(batch.tokens.end(), tokens.begin(), tokens.end());
    batch.segments.insert(batch.segments.end(), kContextStart, 0);
    batch.segments.insert(batch.segments.end(), static_cast<std::size_t>(context + 1), 1);
    Question labelled = question;
    if (options.shuffle_labels) {
      KeyedRandom other(options.seed, kQuestionStream, index + kOtherSequence);
      labelled = draw(other, context);
    }
    const std::int64_t start = labelled.starts[labelled.asked];
    batch.spans.push_back(static_cast<std::int32_t>(start));
    batch.spans.push_back(static_cast<std::int32_t>(start + labelled.lengths[labelled.asked] - 1));
  }
}

}  // namespace bert
