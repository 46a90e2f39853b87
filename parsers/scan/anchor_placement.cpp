#include "parsers/scan/anchor_placement.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/scan/anchor_kernels.h"

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

// Words that stand next to each other in any order in what people print.
constexpr std::string_view kWords[] = {
    "loss",     "step",   "global", "local",      "training",   "epoch",    "iteration",
    "batch",    "sample", "tokens", "sequences",  "throughput", "speed",    "rank",
    "gradient", "tensor", "stream", "queue",      "warning",    "device",   "launch",
    "loading",  "worker", "shard",  "allreduce",  "channel",    "kernel",   "cache",
    "bucket",   "plan",   "pinned", "tokenizer",  "vocab",      "prefetch", "topology",
    "autotune", "memory", "time",   "checkpoint", "model",      "optimizer"};

// Each word before several others: what stands across their border counts as well.
std::string word_pairs() {
  constexpr std::size_t kOthers = 4;
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

using Part = std::array<unsigned char, kWidth>;
static_assert(kWidth == 4);

Part part_at(std::string_view text, std::size_t at) {
  Part out{};
  std::copy_n(text.begin() + at, kWidth, out.begin());
  return out;
}

/// A part as one number, which is quicker to sort and to find.
std::uint32_t number_of(const Part& part) {
  return std::uint32_t{part[0]} << 24 | std::uint32_t{part[1]} << 16 | std::uint32_t{part[2]} << 8 |
         part[3];
}

/// The parts of ordinary lines, each once, in order, and how often it stands there.
struct OrdinaryParts {
  std::vector<Part> parts;
  std::vector<std::uint32_t> numbers;  ///< of the parts
  std::vector<int> counts;
  /// Indices of those that come again: seven tenths of all, in less than a third of the parts. A
  /// bucket is chosen by them alone, as a log that only the generic reader reads waits for its
  /// tables.
  std::vector<std::size_t> frequent;
  std::array<int, 256> bytes{};  ///< how often one begins with the byte
  double total = 0;

  [[nodiscard]] int count(const Part& part) const {
    const auto found = std::ranges::lower_bound(numbers, number_of(part));
    return found == numbers.end() || *found != number_of(part)
               ? 0
               : counts[static_cast<std::size_t>(found - numbers.begin())];
  }
};

OrdinaryParts ordinary_parts() {
  const std::string text = std::string(kOrdinary) + word_pairs();
  std::vector<std::uint32_t> all;
  for (std::size_t at = 0; at + kWidth <= text.size(); ++at) {
    all.push_back(number_of(part_at(text, at)));
  }
  std::ranges::sort(all);
  OrdinaryParts out;
  out.total = static_cast<double>(all.size());
  for (const std::uint32_t number : all) {
    ++out.bytes[number >> 24];
    if (out.numbers.empty() || out.numbers.back() != number) {
      out.numbers.push_back(number);
      out.parts.push_back(
          {static_cast<unsigned char>(number >> 24), static_cast<unsigned char>(number >> 16),
           static_cast<unsigned char>(number >> 8), static_cast<unsigned char>(number)});
      out.counts.push_back(0);
    }
    ++out.counts.back();
  }
  for (std::size_t i = 0; i < out.parts.size(); ++i) {
    if (out.counts[i] > 1) out.frequent.push_back(i);
  }
  return out;
}

/// Of each bucket: how many ordinary parts pass with one more fingerprint in it that do not yet.
using Counts = std::array<int, FingerprintTables::kBuckets>;

template <typename Passes, typename Mask>
Counts count_more(const OrdinaryParts& ordinary, std::size_t features, Passes passes,
                  Mask mask_at) {
  Counts out{};
  for (const std::size_t i : ordinary.frequent) {
    const Part& part = ordinary.parts[i];
    unsigned mask = FingerprintTables::kAllBuckets;
    for (std::size_t f = 0; f < features && mask != 0; ++f) mask &= mask_at(part, f);
    if (mask == 0 || passes(part)) continue;
    for (std::size_t b = 0; b < out.size(); ++b) {
      if ((mask >> b & 1u) != 0) out[b] += ordinary.counts[i];
    }
  }
  return out;
}

Counts count_pairs(const FingerprintTables& tables, const OrdinaryParts& parts, const Part& added) {
  using Tables = FingerprintTables;
  return count_more(
      parts, Tables::kPairs, [&](const Part& part) { return tables.passes(part.data()); },
      [&](const Part& part, std::size_t k) {
        const auto look = [k](const Part& of) {
          return Tables::pair(of[Tables::kFirst[k]], of[Tables::kSecond[k]]);
        };
        return look(part) == look(added) ? Tables::kAllBuckets : tables.of_pair(k, part.data());
      });
}

Counts count_nibbles(const FingerprintTables& tables, const OrdinaryParts& parts,
                     const Part& added) {
  const auto low = FingerprintTables::low_nibble, high = FingerprintTables::high_nibble;
  return count_more(
      parts, kWidth, [&](const Part& part) { return tables.passes_by_nibbles(part.data()); },
      [&](const Part& part, std::size_t j) {
        const unsigned all = FingerprintTables::kAllBuckets, c = part[j];
        return (low(c) == low(added[j]) ? all : tables.of_low(j, c)) &
               (high(c) == high(added[j]) ? all : tables.of_high(j, c));
      });
}

/// The parts of a literal that stand on the fewest ordinary lines, of rare bytes: most have many.
std::vector<std::uint32_t> rare_places(const OrdinaryParts& parts, std::string_view literal) {
  constexpr std::size_t kTried = 4;
  std::vector<std::pair<double, std::uint32_t>> costs;
  for (std::size_t at = 0; at + kWidth <= literal.size(); ++at) {
    const double cost = parts.total * parts.count(part_at(literal, at));
    double chance = 1;
    for (const unsigned char c : part_at(literal, at)) {
      chance *= (1.0 + parts.bytes[c]) / parts.total;
    }
    costs.emplace_back(cost + chance, static_cast<std::uint32_t>(at));
  }
  std::ranges::sort(costs);
  std::vector<std::uint32_t> out;
  for (const auto& [cost, at] : costs) {
    if (out.size() < kTried) out.push_back(at);
  }
  return out;
}

Placement cheapest(const FingerprintTables& tables, const OrdinaryParts& parts,
                   std::string_view literal) {
  Placement best;
  int least = std::numeric_limits<int>::max();
  for (const std::uint32_t at : rare_places(parts, literal)) {
    const Counts pairs = count_pairs(tables, parts, part_at(literal, at));
    const auto bucket = std::ranges::min_element(pairs);
    if (*bucket >= least) continue;
    least = *bucket;
    best = {at, static_cast<std::size_t>(bucket - pairs.begin()), 0};
  }
  const Counts nibbles = count_nibbles(tables, parts, part_at(literal, best.at));
  best.nibble_bucket =
      static_cast<std::size_t>(std::ranges::min_element(nibbles) - nibbles.begin());
  return best;
}

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
  FingerprintTables tables;
  const auto add = [&](std::size_t i) {
    tables.add(literals[i].data() + out[i].at, out[i].bucket, out[i].nibble_bucket);
  };
  for (std::size_t i = 0, next = 0; i < literals.size(); ++i) {
    const bool placed = next == missing.size() || missing[next] != i;
    next += placed ? 0 : 1;
    if (placed && literals[i].size() >= kWidth) add(i);
  }
  static const OrdinaryParts parts = ordinary_parts();
  for (const std::size_t i : missing) {
    out[i] = cheapest(tables, parts, literals[i]);
    add(i);
  }
  return out;
}

}  // namespace bertbench
