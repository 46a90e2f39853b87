#include "parsers/formats/huggingface/trainer_evaluations.h"

#include <cmath>

#include "parsers/assemble/run_builder.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

// What stands before the anchor: "eval", "eval_mnli-mm", "test", "train".
std::string_view key_before(std::string_view text, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0 && text[begin - 1] != '\'' && text[begin - 1] != '"' && text[begin - 1] != ' ') {
    --begin;
  }
  return text.substr(begin, end - begin);
}

std::optional<WorkKind> kind_of(std::string_view key) {
  if (key.starts_with("eval")) return WorkKind::evaluation;
  if (key.starts_with("test") || key.starts_with("predict")) return WorkKind::inference;
  return std::nullopt;
}

enum class Form { dict, json, table };

}  // namespace

bool TrainerEvaluations::see(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past(kAnchor)) return false;
  const std::string_view key = key_before(line.text, cursor.at() - kAnchor.size());
  const auto kind = kind_of(key);
  if (!kind) return false;
  Form form = Form::table;
  if (cursor.literal("':")) {
    form = Form::dict;
  } else if (cursor.literal("\":")) {
    form = Form::json;
  }
  cursor.blanks();
  if (form == Form::table && !cursor.literal("=")) return false;
  cursor.blanks();
  cursor.literal("'");  // values are quoted since 5.0
  const auto rate = cursor.number();
  if (!rate || !(*rate > 0) || !(*rate < 1e12)) return false;

  const auto epoch = form == Form::dict ? number_after(line, "'epoch':") : std::nullopt;
  // The table rounds to three digits what the dict said; each process prints its dict.
  const bool again =
      key == key_ &&
      (form == Form::table ? std::abs(*rate - rate_) <= 6e-4
                           : line.text == text_ ||
                                 (epoch && epoch == epoch_ && std::abs(*rate / rate_ - 1) < 0.05));
  if (again && form != Form::json) return true;
  const bool goes_on = form == Form::json || (epoch && epoch_ && *epoch >= *epoch_);
  if (out.open(*kind) != nullptr && form != Form::table && !goes_on) out.close(*kind);
  if (out.open(*kind) == nullptr) count_ = 0;
  key_ = key;
  text_ = line.text;
  rate_ = *rate;
  epoch_ = epoch;

  RunDraft& draft = out.run(*kind, line.number);
  draft.log.rate_unit = RateUnit::sequences_per_second;
  draft.log.iteration_unit = IterationUnit::unknown;
  draft.ended_well = true;
  draft.last_line = line.number;
  Sample sample;
  sample.step = ++count_;
  sample.iterations = 1;
  sample.rate = *rate;
  sample.line = line.number;
  sample.end_byte = line.end_byte;
  out.add(*kind, sample);
  return true;
}

}  // namespace bertbench
