#include "parsers/anchor_placement.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>

namespace bertbench {
namespace {

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
    "DLL 2022-06-09 09:15:21.123456 - Training Epoch: 0 Training Iteration: 100  average_loss : "
    "1.2 step_loss : 1.3 learning_rate : 0.0001\n"
    "DLLL {\"timestamp\": \"1654766121.123456\", \"datetime\": \"2022-06-09 09:15:21.123\", "
    "\"elapsedtime\": \"12.3\", \"type\": \"LOG\", \"step\": [0, 100], \"data\": "
    "{\"average_loss\": 2.1, \"step_loss\": 2.2, \"learning_rate\": 0.001}}\n"
    "train_loss training rate number of samples per second tokens time iter validation eval epoch "
    "accuracy checkpoint saved saving model parameters steps total average memory allocated cuda\n"
    "optimizer scheduler gradient_accumulation_steps per_device_train_batch_size max_seq_length "
    "learning_rate warmup_steps weight_decay num_train_epochs output_dir seed fp16 local_rank\n"
    "the loss, a loss: launch loss gradient loss global loss tensor loss prefetch loss stream loss "
    "step loss with epoch step launch step batch step warning step local step pinned step queue "
    "step "
    "sample throughput gradient throughput plan throughput speed throughput channel epoch sample "
    "epoch rank epoch plan epoch iteration sequences batch speed device throughput is low, number "
    "of sequences per node; tokenizer iteration launch iteration gradient iteration\n";

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
  explicit Sample(std::size_t width) {
    std::vector<std::string_view> parts;
    for (std::size_t at = 0; at + width <= kOrdinary.size(); ++at) {
      parts.push_back(kOrdinary.substr(at, width));
    }
    std::ranges::sort(parts);
    words_ = parts.size() / 64 + 1;
    with_.resize(width * 256 * words_);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      for (std::size_t j = 0; j < width; ++j) {
        with(j, static_cast<unsigned char>(parts[i][j]))[i / 64] |= std::uint64_t{1} << (i % 64);
      }
    }
  }
  /// Parts whose byte `place` is `c`.
  [[nodiscard]] const std::uint64_t* with(std::size_t place, unsigned char c) const {
    return with_.data() + (place * 256 + c) * words_;
  }
  [[nodiscard]] std::size_t words() const { return words_; }

 private:
  [[nodiscard]] std::uint64_t* with(std::size_t place, unsigned char c) {
    return with_.data() + (place * 256 + c) * words_;
  }
  std::size_t words_ = 0;
  Bits with_;
};

using Rows = std::array<const std::uint64_t*, 8>;

[[gnu::always_inline]] inline int count_in(const Rows& have, const Rows& more, std::size_t width,
                                           std::size_t words) {
  int count = 0;
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t all = have[0][i] | more[0][i];
    for (std::size_t j = 1; j < width; ++j) all &= have[j][i] | more[j][i];
    count += std::popcount(all);
  }
  return count;
}

#if defined(__x86_64__)
__attribute__((target("popcnt"))) int count_popcnt(const Rows& have, const Rows& more,
                                                   std::size_t width, std::size_t words) {
  return count_in(have, more, width, words);
}
#endif

// This is what start-up spends its time on.
int count_passing(const Rows& have, const Rows& more, std::size_t width, std::size_t words) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("popcnt") > 0) return count_popcnt(have, more, width, words);
#endif
  return count_in(have, more, width, words);
}

/// Fingerprints that share tables: a part passes when each of its bytes is that of one of them.
class Bucket {
 public:
  Bucket(const Sample& sample, std::size_t width)
      : sample_(&sample), passing_(width, Bits(sample.words())), bytes_(width) {}

  /// How much the sample's and random parts pass, were `part` added: the sample's count, and the
  /// chance of a random part as a fraction.
  [[nodiscard]] double cost_with(std::string_view part, const Weights& weights) const {
    const std::size_t width = part.size();
    const std::size_t words = sample_->words();
    Rows have{}, more{};
    double random = 1;
    for (std::size_t j = 0; j < width; ++j) {
      const auto c = static_cast<unsigned char>(part[j]);
      have[j] = passing_[j].data();
      more[j] = sample_->with(j, c);
      random *= bytes_[j].mass + (bytes_[j].has(c) ? 0 : weights[c]);
    }
    return count_passing(have, more, width, words) + 1000 * random;
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

std::vector<Placement> place_fingerprints(const std::vector<std::string>& literals,
                                          std::size_t width, std::size_t buckets) {
  const Weights weights = byte_weights();
  const Sample sample(width);
  const Bucket empty(sample, width);
  constexpr std::size_t kTried = 8;
  std::vector<Choice> order;
  for (std::size_t i = 0; i < literals.size(); ++i) {
    const std::string_view text = literals[i];
    if (text.size() < width) continue;
    std::vector<std::pair<double, std::uint32_t>> costs;
    for (std::size_t at = 0; at + width <= text.size(); ++at) {
      costs.emplace_back(empty.cost_with(text.substr(at, width), weights),
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
  std::vector<Bucket> sets(buckets, empty);
  std::vector<Placement> out(literals.size());
  for (const Choice& choice : order) {
    const std::string_view text = literals[choice.literal];
    double least = std::numeric_limits<double>::infinity();
    Placement best;
    for (const std::uint32_t at : choice.places) {
      for (std::size_t b = 0; b < buckets; ++b) {
        const double more = sets[b].cost_with(text.substr(at, width), weights) - sets[b].cost;
        if (more < least) {
          least = more;
          best = {at, b};
        }
      }
    }
    const std::string_view part = text.substr(best.at, width);
    sets[best.bucket].cost = sets[best.bucket].cost_with(part, weights);
    sets[best.bucket].add(part, weights);
    out[choice.literal] = best;
  }
  return out;
}

}  // namespace bertbench
