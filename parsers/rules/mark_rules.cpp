#include "parsers/rules/mark_rules.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/line.h"
#include "parsers/core/text.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/evaluation_words.h"

namespace bertbench {
namespace {

// The name of the value that ends `text`, in lower case with blanks between its words: "grad norm"
// of "step 3 | loss 2.1 | grad_norm: ".
std::string name_before(std::string_view text) {
  constexpr std::size_t kLongestName = 40;  // bytes: a name, and no sentence
  constexpr std::string_view kAssigns = " =:'\"";
  constexpr std::string_view kJoins = " _-/.";
  while (!text.empty() && kAssigns.find(text.back()) != std::string_view::npos) {
    text.remove_suffix(1);
  }
  std::string out;
  for (std::size_t at = text.size(); at-- > 0 && out.size() < kLongestName;) {
    const char c = text[at];
    const bool joins = kJoins.find(c) != std::string_view::npos;
    if (!joins && !is_letter(c)) break;
    out.insert(out.begin(), joins ? ' ' : lower(c));
  }
  return out;
}

bool has_word(std::string_view name, std::span<const std::string_view> words) {
  const auto all = split(name, ' ');
  return std::ranges::any_of(words, [&](auto word) { return std::ranges::count(all, word) > 0; });
}

bool is_gradient(std::string_view name) {
  // "grad norm" of Megatron-LM, "gnorm" of fairseq.
  return has_text(name, "grad norm") || has_text(name, "gradient norm") || name.ends_with("gnorm");
}

bool is_evaluation(std::string_view name) {
  constexpr std::string_view kMeasured[] = {"loss", "acc", "accuracy", "ppl", "perplexity",
                                            "f1",   "auc", "bleu",     "iou", "score"};
  return has_word(name, kEvaluationWords) && has_word(name, kMeasured);
}

}  // namespace

void NonFiniteRules::see(const Line& line) {
  constexpr std::size_t kLength = std::string_view("nan").size();
  const std::string_view text = line.text;
  const auto note = [&](std::vector<std::int64_t>& lines) {
    if (lines.size() < kLinesHeld && (lines.empty() || lines.back() != line.number)) {
      lines.push_back(line.number);
    }
  };
  for (std::size_t at = text.find_first_of("nN", 1); at != std::string_view::npos;
       at = text.find_first_of("nN", at + 1)) {
    const std::string_view word = text.substr(at, kLength);
    if (word != "nan" && word != "NaN") continue;
    const std::size_t end = at + kLength;
    if (end < text.size() && (is_letter(text[end]) || is_digit(text[end]))) continue;
    if (is_letter(text[at - 1]) || is_digit(text[at - 1])) continue;
    const std::string name = name_before(text.substr(0, at));
    if (is_gradient(name)) note(gradients_);
    if (is_evaluation(name)) note(evaluations_);
  }
}

void NonFiniteRules::add_notices(RunLog& run, std::int64_t begin_line,
                                 std::int64_t end_line) const {
  if (run.records.empty()) return;
  const auto add = [&](const std::vector<std::int64_t>& lines, NoticeCode code) {
    const auto begin = std::ranges::lower_bound(lines, begin_line);
    const auto end = std::ranges::lower_bound(lines, end_line);
    if (begin >= end) return;
    // The newest record up to the line.
    const auto after = std::ranges::upper_bound(run.records, *begin, {}, &Record::line);
    const Record& at = after == run.records.begin() ? *after : *std::prev(after);
    run.note(code, *begin, static_cast<std::int64_t>(end - begin), at.step);
  };
  add(gradients_, NoticeCode::gradient_not_finite);
  add(evaluations_, NoticeCode::evaluation_not_finite);
}

void OverflowRules::see(const Line& line) {
  if (overflows_.size() > kOverflowsHeld) return;
  double scale = 0;
  if (Cursor(line).read(Past{kAnchor}, Past{" reducing loss scale to "}, scale)) {
    overflows_.push_back({line.number, scale, line.rank});
  }
}

std::optional<std::int64_t> OverflowRules::steps(std::int64_t begin_line, std::int64_t end_line,
                                                 std::optional<std::int64_t> world) const {
  if (overflows_.size() > kOverflowsHeld) return std::nullopt;
  const auto begin = std::ranges::lower_bound(overflows_, begin_line, {}, &Overflow::line);
  const auto end = std::ranges::lower_bound(overflows_, end_line, {}, &Overflow::line);
  if (begin >= end) return std::nullopt;
  const auto all = static_cast<std::int64_t>(end - begin);
  if (begin->rank >= 0)
    return std::count_if(begin, end,
                         [&](const Overflow& overflow) { return overflow.rank == begin->rank; });
  // The scale falls with each step: lines of one scale are of different ranks, or of one that has
  // let it rise in between.
  std::map<double, std::int64_t> lines;
  for (auto overflow = begin; overflow != end; ++overflow) ++lines[overflow->scale];
  const auto each_by = [&](std::int64_t ranks) {
    return std::ranges::all_of(lines, [&](const auto& of) { return of.second % ranks == 0; });
  };
  if (std::ranges::all_of(lines, [](const auto& of) { return of.second == 1; })) return all;
  if (world && *world >= 1 && each_by(*world)) return all / *world;
  return std::nullopt;
}

namespace {

/// "): 812.5", ": 120.1", " 62.26": the number after a unit.
std::optional<double> after(std::string_view rest) {
  const std::size_t begin = rest.find_first_not_of("): =");
  if (begin == 0 || begin == std::string_view::npos) return std::nullopt;
  return grouped_number(rest.substr(begin));
}

/// "812.5MODEL_", "401.2 ": the number before a unit.
std::optional<double> before(std::string_view text) {
  constexpr std::string_view kModel = "MODEL_";
  if (text.ends_with(kModel)) text.remove_suffix(kModel.size());
  text = trim(text);
  return grouped_number(text.substr(text.find_last_not_of("0123456789.,") + 1));
}

}  // namespace

void StatedRules::see(const Line& line, std::size_t anchor, std::size_t begin) {
  constexpr double kLargestStated = 1e9;  // in any of the units; more is a damaged number
  const std::string_view name = kAnchors[anchor].literal;
  const bool ends_label = name.ends_with(": ");
  const std::size_t end = begin + name.size() - (ends_label ? 2 : 0);
  auto value = after(line.text.substr(end));
  if (!value) value = before(line.text.substr(0, begin));
  if (!value || !(*value > 0) || *value > kLargestStated) return;
  values_.add({line.number, kAnchors[anchor].of, *value});
}

StatedSeries StatedRules::of(std::int64_t begin_line, std::int64_t end_line) const {
  StatedSeries out;
  for (const StatedLine& one : values_.items()) {
    if (one.line >= begin_line && one.line < end_line) out.add(one);
  }
  return out;
}

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
    {" nan", Meaning::nonfinite},
    {"=nan", Meaning::nonfinite},
    {":nan", Meaning::nonfinite},
    {" NaN", Meaning::nonfinite},
    {"=NaN", Meaning::nonfinite},
    {":NaN", Meaning::nonfinite},
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

bool has_phrase(std::string_view line, std::span<const std::string_view> phrases) {
  const std::string small = lower(line);
  return std::ranges::any_of(phrases,
                             [&](std::string_view phrase) { return has_text(small, phrase); });
}

/// "Starting curriculum training", "Begin DQN training": a word between the two, and no training
/// data.
bool begins_some_training(std::string_view line) {
  constexpr std::string_view kBegins[] = {"start", "starting", "begin", "beginning"};
  constexpr std::string_view kOfData[] = {"data", "dataset", "set", "samples", "images", "loader"};
  if (!has_text(line, "tart") && !has_text(line, "egin")) return false;
  const std::string small = lower(line);
  std::vector<std::string_view> words;
  for (const std::string_view word : split(small, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  for (std::size_t i = 2; i < words.size(); ++i) {
    const bool training = words[i].substr(0, words[i].find_first_of(".!:,")) == "training";
    const bool begins = std::ranges::find(kBegins, words[i - 2]) != std::end(kBegins);
    if (!training || !begins) continue;
    return i + 1 == words.size() || std::ranges::find(kOfData, words[i + 1]) == std::end(kOfData);
  }
  return false;
}

}  // namespace

bool announces_training(std::string_view line) {
  // maskrcnn-benchmark ("Start training"), MXNet for R ("Start training with 1 devices"), the
  // Lightning-Hydra template ("Starting training!"), Ray Train ("Started training worker group"),
  // fairseq 0.12 ("begin training epoch 1"), GluonNLP's scripts ("Training started"), and loops
  // that people wrote in their own language (quoted/generic.counters_of_other_languages,
  // generic.wide_marks_part_words, closing_words.all_processes_done_in_korean).
  constexpr std::string_view kPhrases[] = {
      "start training", "starting training", "started training",
      "begin training", "training started",  "开始训练",
      "训练开始",       "학습 시작",         "学習開始"};
  // What all of them have, as most lines have none.
  const bool may = has_text(line, "rain") || has_text(line, "RAIN") ||
                   std::ranges::any_of(line, is_beyond_ascii);
  return may && (has_phrase(line, kPhrases) || begins_some_training(line));
}

bool saves_model(std::string_view line) {
  if (!has_text(line, "av") && !has_text(line, "AV")) return false;
  constexpr std::string_view kPhrases[] = {"saving model",     "saving checkpoint",
                                           "saved checkpoint", "saving the model",
                                           "model saved",      "checkpoint saved"};
  return has_phrase(line, kPhrases);
}

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
