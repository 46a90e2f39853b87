#include "workloads/bert/data/synthetic.h"

#include <algorithm>
#include <cmath>

#include "workloads/bert/data/random.h"

namespace bert {
namespace {

constexpr std::uint64_t kTextStream = 3;
constexpr std::int64_t kTopics = 64;
constexpr std::int64_t kTopicWords = 64;

// Ranks 0, 1, 2, ... with probability proportional to 1 / (rank + 1).
class Zipf {
 public:
  explicit Zipf(std::int64_t size) : cumulative_(static_cast<std::size_t>(size)) {
    double sum = 0;
    for (std::size_t i = 0; i < cumulative_.size(); ++i) {
      cumulative_[i] = sum += 1.0 / static_cast<double>(i + 1);
    }
  }
  [[nodiscard]] std::int64_t draw(double uniform) const {
    const auto found =
        std::upper_bound(cumulative_.begin(), cumulative_.end(), uniform * cumulative_.back());
    return std::min<std::int64_t>(found - cumulative_.begin(),
                                  static_cast<std::int64_t>(cumulative_.size()) - 1);
  }

 private:
  std::vector<double> cumulative_;
};

class SyntheticSource : public SequenceSource {
 public:
  SyntheticSource(std::uint64_t seed, std::int64_t vocabulary)
      : seed_(seed),
        first_(std::min<std::int64_t>(SpecialTokens::kFirstOrdinary, vocabulary / 2)),
        words_(vocabulary - first_),
        common_(words_),
        topic_words_(std::min(kTopicWords, words_)) {}

  [[nodiscard]] SegmentPair pair(std::uint64_t index, std::int64_t tokens) const override {
    KeyedRandom random(seed_, kTextStream, index);
    SegmentPair pair;
    pair.is_next = random.below(2) == 0;
    const std::int64_t topic = random.below(kTopics);
    const std::int64_t other =
        pair.is_next ? topic : (topic + 1 + random.below(kTopics - 1)) % kTopics;
    const std::int64_t split = 1 + random.below(tokens - 1);
    fill(random, topic, split, pair.first);
    fill(random, other, tokens - split, pair.second);
    return pair;
  }

  [[nodiscard]] std::vector<std::int32_t> text(std::uint64_t index,
                                               std::int64_t tokens) const override {
    KeyedRandom random(seed_, kTextStream, index);
    std::vector<std::int32_t> out;
    const std::int64_t topic = random.below(kTopics);
    fill(random, topic, tokens, out);
    return out;
  }

  [[nodiscard]] std::string description() const override { return "synthetic"; }

 private:
  void fill(KeyedRandom& random, std::int64_t topic, std::int64_t count,
            std::vector<std::int32_t>& out) const {
    out.resize(static_cast<std::size_t>(count));
    for (std::int32_t& token : out) {
      const bool of_topic = random.below(2) == 0;
      const double uniform = random.uniform();
      const std::int64_t word = of_topic
                                    ? (topic * kTopicWords + topic_words_.draw(uniform)) % words_
                                    : common_.draw(uniform);
      token = static_cast<std::int32_t>(first_ + word);
    }
  }

  std::uint64_t seed_;
  std::int64_t first_;
  std::int64_t words_;
  Zipf common_;
  Zipf topic_words_;
};

}  // namespace

std::unique_ptr<SequenceSource> make_synthetic_source(std::uint64_t seed, std::int64_t vocabulary) {
  return std::make_unique<SyntheticSource>(seed, vocabulary);
}

}  // namespace bert
