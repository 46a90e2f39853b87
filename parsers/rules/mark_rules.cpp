#include "parsers/rules/mark_rules.h"

#include <algorithm>
#include <array>

#include "parsers/core/line.h"

namespace bertbench {
namespace {

enum class Meaning { checkpoint, evaluation, training, overflow, nonfinite, rank_time };

struct Rule {
  std::string_view literal;
  Meaning meaning;
};

constexpr Rule kRules[] = {
    // Megatron-LM ("saving checkpoint at iteration"), DeepSpeed, gluon-nlp, fairseq ("Saved
    // checkpoint"); the Hugging Face Trainer's "Saving model checkpoint to".
    {"aving checkpoint", Meaning::checkpoint},
    {"aved checkpoint", Meaning::checkpoint},
    {"aving model checkpoint", Meaning::checkpoint},
    {"Saving model", Meaning::checkpoint},
    {"checkpoint saved", Meaning::checkpoint},
    {"{\"type\":\"checkpoint\"", Meaning::checkpoint},  // bert_train's own
    // The Hugging Face Trainer and TensorFlow's scripts ("***** Running evaluation *****"),
    // TensorFlow's Estimator ("Starting evaluation at"), Megatron-LM, MLPerf, gluon-nlp's
    // translation (corpus mxnet/gluonnlp_transformer_ende.log), DeepSpeed-Chat ("***** Evaluating
    // perplexity").
    {"unning Evaluation", Meaning::evaluation},
    {"unning evaluation", Meaning::evaluation},
    {"tarting evaluation", Meaning::evaluation},
    {"validation loss at", Meaning::evaluation},
    {"\"eval_start\"", Meaning::evaluation},
    {"] valid Loss=", Meaning::evaluation},
    {"***** Evaluating ", Meaning::evaluation},
    {OverflowRules::kAnchor, Meaning::overflow},
    {RankTimeRules::kAnchor, Meaning::rank_time},
    {NonFiniteRules::kAnchors[0], Meaning::nonfinite},
    {NonFiniteRules::kAnchors[1], Meaning::nonfinite},
    {NonFiniteRules::kAnchors[2], Meaning::nonfinite},
    {NonFiniteRules::kAnchors[3], Meaning::nonfinite},
    {NonFiniteRules::kAnchors[4], Meaning::nonfinite},
    {NonFiniteRules::kAnchors[5], Meaning::nonfinite},
    // The first lines of a training, or of the launch that has it: the Hugging Face Trainer and
    // TensorFlow's scripts, gluon-nlp ("training started"), argparse's arguments
    // (quoted/evaluation_blocks.a_launch_after_an_evaluation_is_a_training).
    {"unning training", Meaning::training},
    {"raining started", Meaning::training},
    {"tarting training", Meaning::training},
    {"Namespace(", Meaning::training},
};

/// Those of kRules, then those of StatedRules.
constexpr auto kLiterals = [] {
  constexpr std::size_t kOwn = std::size(kRules);
  std::array<std::string_view, kOwn + StatedRules::kAnchors.size()> out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = i < kOwn ? kRules[i].literal : StatedRules::kAnchors[i - kOwn].literal;
  }
  return out;
}();

}  // namespace

std::span<const std::string_view> MarkRules::anchors() { return kLiterals; }

void MarkRules::mark(MarkKind kind, std::int64_t line) {
  // Each rank prints it.
  if (marks_.size() >= kMostMarks || (!marks_.empty() && marks_.back().line == line)) return;
  marks_.push_back({kind, line});
}

void MarkRules::see(const Line& line) {
  any_row(line, [&](std::uint32_t row, std::size_t at) {
    if (row >= std::size(kRules)) {
      stated_.see(line, row - std::size(kRules), at);
      return false;
    }
    switch (kRules[row].meaning) {
      case Meaning::checkpoint:
        mark(MarkKind::checkpoint, line.number);
        break;
      case Meaning::evaluation:
        mark(MarkKind::evaluation, line.number);
        break;
      case Meaning::training:
        if (trainings_.size() < kMostMarks) trainings_.push_back(line.number);
        return true;
      case Meaning::overflow:
        overflows_.see(line);
        break;
      case Meaning::nonfinite:
        nonfinite_.see(line);
        break;
      case Meaning::rank_time:
        rank_times_.see(line);
        return true;
    }
    return false;
  });
}

bool MarkRules::evaluates(std::int64_t after_line, std::int64_t before_line) const {
  const auto end = std::ranges::lower_bound(marks_, before_line, {}, &Mark::line);
  for (auto at = end; at != marks_.begin();) {
    --at;
    if (at->line <= after_line) return false;
    if (at->kind != MarkKind::evaluation) continue;
    return !trains(at->line, before_line);
  }
  return false;
}

bool MarkRules::trains(std::int64_t after_line, std::int64_t before_line) const {
  const auto next = std::ranges::upper_bound(trainings_, after_line);
  return next != trainings_.end() && *next < before_line;
}

std::vector<Mark> MarkRules::of(std::int64_t begin_line, std::int64_t end_line) const {
  const auto begin = std::ranges::lower_bound(marks_, begin_line, {}, &Mark::line);
  const auto end = std::ranges::lower_bound(marks_, end_line, {}, &Mark::line);
  return {begin, std::max(begin, end)};
}

}  // namespace bertbench
