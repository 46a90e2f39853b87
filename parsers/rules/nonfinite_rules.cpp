#include "parsers/rules/nonfinite_rules.h"

#include <algorithm>
#include <span>
#include <string>

#include "parsers/core/text.h"

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
  return name.find("grad norm") != std::string_view::npos ||
         name.find("gradient norm") != std::string_view::npos || name.ends_with("gnorm");
}

bool is_evaluation(std::string_view name) {
  constexpr std::string_view kOf[] = {"val",        "valid", "validation", "eval",
                                      "evaluation", "test",  "dev"};
  constexpr std::string_view kMeasured[] = {"loss", "acc", "accuracy", "ppl", "perplexity",
                                            "f1",   "auc", "bleu",     "iou", "score"};
  return has_word(name, kOf) && has_word(name, kMeasured);
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
    run.notices.push_back(
        make_notice(code, *begin, static_cast<std::int64_t>(end - begin), at.step));
  };
  add(gradients_, NoticeCode::gradient_not_finite);
  add(evaluations_, NoticeCode::evaluation_not_finite);
}

}  // namespace bertbench
