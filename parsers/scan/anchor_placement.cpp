#include "parsers/scan/anchor_placement.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "parsers/scan/anchor_kernels.h"

namespace bertbench {
namespace {

constexpr std::size_t kWidth = FingerprintTables::kWidth;

// Lines that carry no numbers of ours, as they make up most of a log. Fingerprints avoid what
// stands here.
constexpr std::string_view kOrdinary =
    "2022-06-09 09:15:21.123456: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1561] loading "
    "shard worker queue tensor bucket gradient allreduce topology channel cache tokenizer vocab\n"
    "node013:4711:4802 [3] NCCL INFO Channel 02 : 7[b000] -> 3[5000] via P2P/IPC read\n"
    "node013:4711:4802 [3] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB ; OOB eth0:10.0.0.7<0>\n"
    "WARNING:tensorflow:From run_pretraining.py:411: The name tf.logging.info is deprecated. "
    "Please use tf.compat.v1.logging.info instead.\n"
    "[1,13]<stdout>:sample batch prefetch pinned stream kernel launch autotune plan device\n"
    "[1,13]<stderr>:iteration loss speed step epoch throughput sequences warning rank local "
    "global\n"
    "  File \"/opt/conda/lib/python3.8/site-packages/torch/nn/modules/module.py\", line 722, in "
    "_call_impl\n    result = self.forward(*input, **kwargs)\n    return forward_call(*args)\n"
    "06/09/2022 09:15:21 - INFO - __main__ -   device: cuda n_gpu: 8, distributed training\n"
    "06/09/2022 09:15:21 - INFO - transformers.configuration_utils -   loading configuration file "
    "config.json from cache at /root/.cache\n"
    "DEBUG:urllib3.connectionpool:https://huggingface.co:443 HEAD /bert-large HTTP/1.1 200 0\n"
    "[2022-06-09 09:15:21,123] [INFO] [logging.py:69:log_dist] [Rank 0] step=100, skipped=0, "
    "lr=[0.0001], mom=[[0.9, 0.999]] time (ms) | forward: 12.3 | backward: 45.6 | optimizer\n"
    "Iteration:  33%|###3      | 3655/11057 [19:17<38:45,  3.18it/s] loss=1.234 step_loss 7.1\n"
    "train_loss training rate number of samples per second tokens time iter validation eval epoch "
    "accuracy checkpoint saved saving model parameters steps total average memory allocated cuda\n"
    "optimizer scheduler gradient_accumulation_steps per_device_train_batch_size max_seq_length "
    "learning_rate warmup_steps weight_decay num_train_epochs output_dir seed fp16 local_rank\n"
    "the loss, a loss: number of sequences per node; throughput is low, loss scale, a step\n";

// Lines, or their beginnings, that come by the thousand.
constexpr std::string_view kFrequent =
    "  File \"/opt/conda/lib/python3.8/site-packages/torch/nn/modules/module.py\", line 722, in "
    "__call__\n    result = self.forward(*input, **kwargs)\n    return super().__call__(*args)\n"
    "2022-06-09 09:15:21.123456: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1561] \n"
    "node013:4711:4802 [3] NCCL INFO Channel 02 : 7[b000] -> 3[5000] via P2P/IPC\n"
    "WARNING:tensorflow:From run_pretraining.py:411: is deprecated.\n[1,13]<stdout>:\n"
    "06/09/2022 09:15:21 - INFO - __main__ -   \n2022-06-09 09:15:21,123 INFO [Rank 0]: \n"
    "DEBUG:urllib3.connectionpool:\nINFO:tensorflow:\n"
    "DLLL {\"timestamp\": \"1654766121.123456\", \"datetime\": \"2022-06-09 09:15:21.123\", "
    "\"elapsedtime\": \"12.3\", \"type\": \"LOG\", \"step\": [0, 100], \"data\": "
    "{\"average_loss\": 2.1, \"step_loss\": 2.2, \"learning_rate\": 0.001}}\n"
    "DLL 2022-06-09 09:15:21.123456 - Training Epoch: 0 Training Iteration: 100  average_loss : "
    "1.2 step_loss : 1.3 learning_rate : 0.0001\n"
    "Iteration:  33%|###3      | 3655/11057 [19:17<38:45,  3.18it/s]\r";

// Words that stand beside each other in any order in what people print.
constexpr std::string_view kWords[] = {
    "loss",     "step",   "global", "local",      "training",   "epoch",    "iteration",
    "batch",    "sample", "tokens", "sequences",  "throughput", "speed",    "rank",
    "gradient", "tensor", "stream", "queue",      "warning",    "device",   "launch",
    "loading",  "worker", "shard",  "allreduce",  "channel",    "kernel",   "cache",
    "bucket",   "plan",   "pinned", "tokenizer",  "vocab",      "prefetch", "topology",
    "autotune", "memory", "time",   "checkpoint", "model",      "optimizer"};

// Each word in front of several others: what stands across their border counts as well.
std::string word_pairs() {
  constexpr std::size_t kOthers = 14;
  std::string out;
  for (std::size_t stride = 1; stride <= kOthers; ++stride) {
    for (std::size_t i = 0; i < std::size(kWords); ++i) {
      out += kWords[i];
      out += ' ';
      out += kWords[(i + stride) % std::size(kWords)];
      out += i % 7 == 6 ? '\n' : ' ';
    }
  }
  return out;
}

/// A part of ordinary text, and how often it stands there.
struct Part {
  std::uint32_t word = 0;
  std::uint32_t count = 0;
  [[nodiscard]] unsigned char byte(std::size_t j) const {
    return reinterpret_cast<const unsigned char*>(&word)[j];
  }
};

std::vector<Part> ordinary_parts() {
  constexpr std::uint32_t kFrequency = 16;
  const std::string pairs = word_pairs();
  std::vector<std::uint64_t> keys;  // the word, then its count: numbers are sorted fastest
  for (const auto& [text, count] : {std::pair(kOrdinary, 1u), std::pair(kFrequent, kFrequency),
                                    std::pair(std::string_view(pairs), 1u)}) {
    for (std::size_t at = 0; at + kWidth <= text.size(); ++at) {
      std::uint32_t word = 0;
      std::memcpy(&word, text.data() + at, sizeof word);
      keys.push_back(std::uint64_t{word} << 32u | count);
    }
  }
  std::ranges::sort(keys);
  std::vector<Part> parts;
  for (const std::uint64_t key : keys) {
    const auto word = static_cast<std::uint32_t>(key >> 32u);
    if (parts.empty() || parts.back().word != word) parts.push_back({word, 0});
    parts.back().count += static_cast<std::uint32_t>(key);
  }
  return parts;
}

// How often a byte stands in logs, roughly. The sample alone would call most bytes impossible.
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

/// The parts of the sample, as one bit each.
using Bits = std::vector<std::uint64_t>;

class Sample {
 public:
  Sample() {
    // Parts of equal weight, a power of two, share words.
    constexpr unsigned kWeights = 7;
    std::array<std::vector<Part>, kWeights> by_weight;
    for (const Part& part : ordinary_parts()) {
      const auto shift = static_cast<unsigned>(std::bit_width(part.count));
      by_weight[std::min(shift - 1, kWeights - 1)].push_back(part);
    }
    for (unsigned shift = kWeights; shift-- > 0;) {
      weights_.resize(weights_.size() + (by_weight[shift].size() + 63) / 64, 1 << shift);
    }
    with_.resize(kWidth * 256 * weights_.size());
    std::size_t begin = 0;  // words of larger weights
    for (unsigned shift = kWeights; shift-- > 0;) {
      const auto& equal = by_weight[shift];
      for (std::size_t i = 0; i < equal.size(); ++i) {
        for (std::size_t j = 0; j < kWidth; ++j) {
          with(j, equal[i].byte(j))[begin + i / 64] |= std::uint64_t{1} << (i % 64);
        }
      }
      begin += (equal.size() + 63) / 64;
    }
  }
  /// Parts whose byte `place` is `c`.
  [[nodiscard]] const std::uint64_t* with(std::size_t place, unsigned char c) const {
    return with_.data() + (place * 256 + c) * weights_.size();
  }
  /// Of the parts of each word.
  [[nodiscard]] const std::vector<int>& weights() const { return weights_; }
  [[nodiscard]] std::size_t words() const { return weights_.size(); }

 private:
  [[nodiscard]] std::uint64_t* with(std::size_t place, unsigned char c) {
    return with_.data() + (place * 256 + c) * weights_.size();
  }
  std::vector<int> weights_;
  Bits with_;
};

using Rows = std::array<const std::uint64_t*, kWidth>;

// Stops where the count passes `enough`: most places are worse than the best so far, and the heavy
// parts come first.
[[gnu::always_inline]] inline int count_in(const Rows& have, const Rows& more,
                                           std::span<const int> weights, int enough) {
  int count = 0;
  for (std::size_t i = 0; i < weights.size() && count <= enough; ++i) {
    std::uint64_t all = have[0][i] | more[0][i];
    for (std::size_t j = 1; j < kWidth; ++j) all &= have[j][i] | more[j][i];
    count += weights[i] * std::popcount(all);
  }
  return count;
}

#if defined(__x86_64__)
__attribute__((target("popcnt"))) int count_popcnt(const Rows& have, const Rows& more,
                                                   std::span<const int> weights, int enough) {
  return count_in(have, more, weights, enough);
}
#endif

// This is what start-up spends its time on.
int count_passing(const Rows& have, const Rows& more, std::span<const int> weights, int enough) {
#if defined(__x86_64__)
  static const bool popcnt = __builtin_cpu_supports("popcnt") > 0;
  if (popcnt) return count_popcnt(have, more, weights, enough);
#endif
  return count_in(have, more, weights, enough);
}

/// Fingerprints that share tables: a part passes when each of its bytes is that of one of them.
class Bucket {
 public:
  explicit Bucket(const Sample& sample)
      : sample_(&sample), passing_(kWidth, Bits(sample.words())), bytes_(kWidth) {}

  /// How much the sample's and random parts pass, were `part` added: the sample's count, and the
  /// chance of a random part as a fraction. Above `enough` it may be too low.
  [[nodiscard]] double cost_with(std::string_view part, const Weights& weights,
                                 double enough) const {
    Rows have{}, more{};
    double random = 1;
    for (std::size_t j = 0; j < kWidth; ++j) {
      const auto c = static_cast<unsigned char>(part[j]);
      have[j] = passing_[j].data();
      more[j] = sample_->with(j, c);
      random *= bytes_[j].mass + (bytes_[j].has(c) ? 0 : weights[c]);
    }
    if (1000 * random > enough) return 1000 * random;
    const auto most = static_cast<int>(std::min(enough, 1e9));
    return count_passing(have, more, sample_->weights(), most) + 1000 * random;
  }
  void add(std::string_view part, const Weights& weights) {
    for (std::size_t j = 0; j < part.size(); ++j) {
      const auto c = static_cast<unsigned char>(part[j]);
      const std::uint64_t* more = sample_->with(j, c);
      for (std::size_t i = 0; i < sample_->words(); ++i) passing_[j][i] |= more[i];
      if (!bytes_[j].has(c)) bytes_[j].mass += weights[c];
      bytes_[j].set[c] = true;
    }
  }
  double cost = 0;

 private:
  struct Bytes {
    std::array<bool, 256> set{};
    double mass = 0;
    [[nodiscard]] bool has(unsigned char c) const { return set[c]; }
  };
  const Sample* sample_;
  std::vector<Bits> passing_;
  std::vector<Bytes> bytes_;
};

struct Choice {
  std::size_t literal = 0;
  std::vector<std::uint32_t> places;  ///< the best few
  double cost = 0;                    ///< of the first
};

}  // namespace

std::vector<Placement> place_fingerprints(const std::vector<std::string>& literals) {
  const Weights weights = byte_weights();
  const Sample sample;
  const Bucket empty(sample);
  constexpr std::size_t kTried = 5;
  constexpr double kAny = std::numeric_limits<double>::infinity();
  std::vector<Choice> order;
  for (std::size_t i = 0; i < literals.size(); ++i) {
    const std::string_view text = literals[i];
    if (text.size() < kWidth) continue;
    std::vector<std::pair<double, std::uint32_t>> costs;
    for (std::size_t at = 0; at + kWidth <= text.size(); ++at) {
      costs.emplace_back(empty.cost_with(text.substr(at, kWidth), weights, kAny),
                         static_cast<std::uint32_t>(at));
    }
    std::ranges::sort(costs);
    Choice choice{i, {}, costs.front().first};
    for (const auto& [cost, at] : costs) {
      if (choice.places.size() == kTried) break;
      choice.places.push_back(at);
    }
    order.push_back(std::move(choice));
  }
  // The hardest first: few places to choose from.
  std::ranges::stable_sort(order, [](const Choice& a, const Choice& b) {
    return std::pair(a.places.size(), -a.cost) < std::pair(b.places.size(), -b.cost);
  });
  std::vector<Bucket> sets(FingerprintTables::kBuckets, empty);
  std::vector<Placement> out(literals.size());
  for (const Choice& choice : order) {
    const std::string_view text = literals[choice.literal];
    double least = std::numeric_limits<double>::infinity();
    Placement best;
    for (const std::uint32_t at : choice.places) {
      for (std::size_t b = 0; b < sets.size(); ++b) {
        const double more =
            sets[b].cost_with(text.substr(at, kWidth), weights, least + sets[b].cost) -
            sets[b].cost;
        if (more < least) {
          least = more;
          best = {at, b};
        }
      }
    }
    const std::string_view part = text.substr(best.at, kWidth);
    sets[best.bucket].cost = sets[best.bucket].cost_with(part, weights, kAny);
    sets[best.bucket].add(part, weights);
    out[choice.literal] = best;
  }
  return out;
}

}  // namespace bertbench
