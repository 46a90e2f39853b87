#include <algorithm>
#include <array>
#include <optional>

#include "parsers/core/text.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/evaluation_words.h"
#include "parsers/rules/fact_rules.h"

namespace bertbench {
namespace {

// With a word for the evaluation before it ("eval_acc" of the Hugging Face Trainer) a name is a
// score wherever it stands. Without one only SQuAD's are ("{'exact_match': 84.2, 'f1': 90.9}" of
// corpus mxnet/gluonnlp_squad_large.log), those of GLUE's scripts, alone on a line ("  acc =
// 0.86"), and "exact_match : 83.64 F1 : 90.6" of NVIDIA's run_squad.py in DLLogger's lines: a bare
// "accuracy" or "f1" in a line of training is that of a batch.
constexpr std::string_view kAnchors[] = {"exact_match", "eval:acc", "eval:f1",      "eval_exact",
                                         "test_acc",    "test_f1",  "val_acc",      "val_f1",
                                         "  acc = ",    "  f1 = ",  "  accuracy = "};
constexpr std::size_t kMostStatements = 4096;  // hostile input

struct Name {
  std::string_view text, score;
};
constexpr std::array<Name, 7> kNames = {{{"exact_match", "exact_match"},
                                         {"exact", "exact_match"},
                                         {"em", "exact_match"},
                                         {"f1", "f1"},
                                         {"f1_score", "f1"},
                                         {"accuracy", "accuracy"},
                                         {"acc", "accuracy"}}};

bool is_score_name(char c) { return is_name_char(c) || c == ':' || c == '/'; }

/// The number that stands after `at`, from 0 to 100: quotes, blanks and one ':' or '=' between.
std::optional<double> value_after(std::string_view line, std::size_t at) {
  const auto skip = [&](std::string_view of) {
    at = std::min(line.find_first_not_of(of, at), line.size());
  };
  skip("\"'");
  skip(" \t");
  if (at >= line.size() || (line[at] != ':' && line[at] != '=')) return std::nullopt;
  ++at;
  skip(" \t\"'");
  const auto number = Cursor(line.substr(at), false).number();
  return number && *number >= 0 && *number <= 100 ? number : std::nullopt;
}

/// A whole name, in lower case, split into the word of the evaluation and the rest.
struct Parts {
  bool evaluation = false;
  std::string rest;
};
Parts parts_of(std::string_view name) {
  Parts out;
  for (const char c : name) out.rest += c == ':' || c == '/' ? '_' : lower(c);
  for (const auto word : kEvaluationWords) {
    if (out.rest.starts_with(word) &&
        std::string_view(out.rest).substr(word.size()).starts_with('_')) {
      out.evaluation = true;
      out.rest.erase(0, word.size() + 1);
      break;
    }
  }
  return out;
}

}  // namespace

std::span<const std::string_view> ScoreRules::anchors() { return kAnchors; }

void ScoreRules::see(const Line& line) {
  const std::string_view text = line.text;
  struct Found {
    std::string_view score;
    double value = 0;
    bool sure = false;  // by its name alone
  };
  std::vector<Found> found;
  bool squad = false;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_score_name(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_score_name(text[end])) ++end;
    std::string_view name = text.substr(at, end - at);
    while (name.ends_with(':')) name.remove_suffix(1);
    const std::size_t after = at + name.size();
    const Parts parts = parts_of(name);
    for (const Name& known : kNames) {
      if (parts.rest != known.text) continue;
      const auto value = value_after(text, after);
      if (!value) break;
      squad = squad || known.text == "exact_match";
      found.push_back({known.score, *value, parts.evaluation});
      break;
    }
    at = end;
  }
  // GLUE's scripts print a score alone on its line: "  acc = 0.8676".
  const bool alone = found.size() == 1 && text.starts_with("  ") && has_text(text, " = ");
  for (const Found& one : found) {
    if (!one.sure && !squad && !alone) continue;
    if (statements_.size() >= kMostStatements) {
      statements_.erase(statements_.begin(), statements_.begin() + kMostStatements / 2);
    }
    statements_.push_back({line.number, one.score, one.value});
  }
}

std::map<std::string, double> ScoreRules::last(std::int64_t begin_line,
                                               std::int64_t end_line) const {
  std::map<std::string, double> out;
  for (const Statement& statement : statements_) {
    if (statement.line >= begin_line && statement.line < end_line) {
      out[std::string(statement.score)] = statement.value;
    }
  }
  const bool fractions =
      std::ranges::all_of(out, [](const auto& entry) { return entry.second <= 1; });
  if (fractions) {
    for (auto& [score, value] : out) value *= 100;
  }
  return out;
}

}  // namespace bertbench
