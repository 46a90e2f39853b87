// Facts in a path, by whole words only: DLPerf's own scripts read characters at fixed positions
// and break on "16n8g" or on a directory above that looks like a cell.
#include <algorithm>
#include <utility>

#include "parsers/core/facts.h"
#include "parsers/core/text.h"
#include "parsers/core/topology.h"

namespace bertbench {
namespace {

constexpr std::string_view kPrecisions[] = {"fp32", "tf32", "bf16", "fp16", "fp8"};

std::optional<std::int64_t> number_after(std::string_view word, std::string_view prefix) {
  if (!word.starts_with(prefix)) return std::nullopt;
  const auto value = to_int(word.substr(prefix.size()));
  return value && *value >= 1 ? value : std::nullopt;
}

// GPUs whose names look like batches: "llama_b200.log". After a batch are precision and trial.
bool is_gpu(std::string_view word, const std::vector<std::string_view>& words) {
  constexpr std::string_view kGpus[] = {"b100", "b200", "b300"};
  if (std::ranges::find(kGpus, word) == std::end(kGpus)) return false;
  return !to_int(words.back()) || std::ranges::find_first_of(words, kPrecisions) == std::end(words);
}

// "bert_b32_fp16_3" and "bert_base_b32_fp32_1": model words, batch, precision, trial.
void read_file_stem(std::string_view stem, PathFacts& out) {
  const auto words = split(stem, '_');
  bool batch = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (const auto b = number_after(word, "b"); b && i > 0 && !batch && !is_gpu(word, words)) {
      out.facts.micro_batch_size.set(*b, FactSource::path);
      std::string model(words[0]);
      for (std::size_t k = 1; k < i; ++k) model += "-" + std::string(words[k]);
      out.facts.model.set(std::move(model), FactSource::path);
      batch = true;
    } else if (batch && std::ranges::find(kPrecisions, word) != std::end(kPrecisions)) {
      out.facts.precision.set(std::string(word), FactSource::path);
    } else if (const auto n = to_int(word);
               batch && i + 1 == words.size() && n && *n >= 0 && *n <= 1'000'000) {
      out.trial = static_cast<int>(*n);
    }
  }
}

// "N1C8": nodes and cards of each.
std::optional<Topology> nodes_and_cards(std::string_view word) {
  const auto c = word.find_first_of("Cc", 1);
  if (c == std::string_view::npos || lower(word[0]) != 'n') return {};
  return parse_topology(std::string(word.substr(1, c - 1)) + "n" + std::string(word.substr(c + 1)) +
                        "g");
}

// PaddlePaddle's collections: "PaddleNLP_bert_base_seqlen128_bs96_fp16_DP_N1C8_log" and
// "base_bs96_fp16_gpu32". gpu3 alone may be the log of the fourth GPU. The batch of such names is
// of a card or of all: it is left to the log.
void read_collection_stem(std::string_view stem, PathFacts& out) {
  bool cards = false, batch = false, several = false;
  std::optional<std::int64_t> gpus;
  std::string_view precision;
  for (const std::string_view word : split(stem, '_')) {
    if (const auto both = nodes_and_cards(word)) {
      out.facts.nodes.set(both->nodes, FactSource::path);
      out.facts.gpus_per_node.set(both->gpus_per_node, FactSource::path);
      cards = true;
    }
    if (const auto n = number_after(word, "gpu")) {
      several = several || (gpus && *gpus != *n);  // "gpu1_gpu8": a log of each
      gpus = n;
    }
    batch = batch || number_after(word, "bs");
    if (std::ranges::find(kPrecisions, word) != std::end(kPrecisions)) precision = word;
  }
  if (batch && gpus && !cards && !several) out.facts.world_size.set(*gpus, FactSource::path);
  if ((cards || (batch && gpus)) && !precision.empty()) {
    out.facts.precision.set(std::string(precision), FactSource::path);
  }
}

}  // namespace

PathFacts facts_from_path(const std::string& path) {
  PathFacts out;
  const auto parts = split(path, '/');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string_view part = parts[i];
    if (const auto topology = parse_topology(part)) {
      out.facts.nodes.set(topology->nodes, FactSource::path);
      out.facts.gpus_per_node.set(topology->gpus_per_node, FactSource::path);
    } else if (const auto batch = number_after(part, "bz"); batch && i + 1 < parts.size()) {
      out.facts.micro_batch_size.set(*batch, FactSource::path);
    }
  }
  std::string_view stem = parts.back();
  for (const std::string_view ending : {".gz", ".zst", ".log", ".txt", ".out"}) {
    if (stem.ends_with(ending)) stem.remove_suffix(ending.size());
  }
  read_file_stem(stem, out);
  read_collection_stem(stem, out);
  return out;
}

}  // namespace bertbench
