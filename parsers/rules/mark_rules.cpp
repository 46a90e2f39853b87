#include "parsers/rules/mark_rules.h"

#include <algorithm>
#include <array>

#include "parsers/core/line.h"

namespace bertbench {
namespace {

struct Rule {
  std::string_view anchor;
  MarkKind kind;
};

// As the trainers print them: Megatron, DeepSpeed, Hugging Face, TensorFlow, NVIDIA's, MLPerf's.
constexpr Rule kRules[] = {
    {"aving checkpoint", MarkKind::checkpoint},       {"aved checkpoint", MarkKind::checkpoint},
    {"aving model checkpoint", MarkKind::checkpoint}, {"Saving model", MarkKind::checkpoint},
    {"checkpoint saved", MarkKind::checkpoint},       {"unning Evaluation", MarkKind::evaluation},
    {"unning evaluation", MarkKind::evaluation},      {"tarting evaluation", MarkKind::evaluation},
    {"validation loss at", MarkKind::evaluation},     {"\"eval_start\"", MarkKind::evaluation},
    {"] valid Loss=", MarkKind::evaluation},          {"***** Evaluating ", MarkKind::evaluation},
};

// How a training begins, or the launch that has it.
constexpr std::string_view kTraining[] = {"unning training", "raining started", "tarting training",
                                          "Namespace("};

constexpr std::size_t kOverflow = std::size(kRules), kBegins = kOverflow + 1;
constexpr auto kAnchors = [] {
  std::array<std::string_view, kBegins + std::size(kTraining)> out;
  for (std::size_t i = 0; i < std::size(kRules); ++i) out[i] = kRules[i].anchor;
  out[kOverflow] = OverflowRules::kAnchor;
  for (std::size_t i = 0; i < std::size(kTraining); ++i) out[kBegins + i] = kTraining[i];
  return out;
}();

}  // namespace

std::span<const std::string_view> MarkRules::anchors() { return kAnchors; }

void MarkRules::see(const Line& line) {
  if (may_hold(line, kOverflow)) overflows_.see(line);
  for (std::size_t i = 0; i < std::size(kTraining); ++i) {
    if (trainings_.size() >= kMostMarks || !may_hold(line, kBegins + i) ||
        line.text.find(kTraining[i]) == std::string_view::npos) {
      continue;
    }
    trainings_.push_back(line.number);
    break;
  }
  if (marks_.size() >= kMostMarks) return;
  for (std::size_t i = 0; i < std::size(kRules); ++i) {
    const Rule& rule = kRules[i];
    if (!may_hold(line, i)) continue;
    if (line.text.find(rule.anchor) == std::string_view::npos) continue;
    // Each rank says it.
    if (!marks_.empty() && marks_.back().line == line.number) return;
    marks_.push_back({rule.kind, line.number});
    return;
  }
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
