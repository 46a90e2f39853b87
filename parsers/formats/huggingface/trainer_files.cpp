#include "parsers/formats/huggingface/trainer_files.h"

#include <fmt/core.h>

#include <cmath>
#include <string>

#include "parsers/assemble/closing_lines.h"
#include "parsers/core/text.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr double kMostSteps = 1e15;

RunDraft& run(const Line& line, RunBuilder& out) {
  RunDraft& draft = out.run(WorkKind::training, line.number);
  draft.last_line = line.number;
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  return draft;
}

}  // namespace

bool TrainerFiles::see_compact(const Line& line, TrainerEvaluations& evaluations, RunBuilder& out) {
  const bool state = line.text.find("\"log_history\": [") != std::string_view::npos;
  const bool results = line.text.find("_runtime\": ") != std::string_view::npos;
  const bool dict = line.number != compact_line_ && loss_of_line(line).has_value();
  if (!state && !results && !dict && line.number != compact_line_) return false;
  if (dict) dict_line_ = line.number;
  compact_line_ = line.number;
  bool known = false;
  for (auto colon = line.text.find("\": "); colon != std::string_view::npos;
       colon = line.text.find("\": ", colon + 3)) {
    const auto quote = colon == 0 ? std::string_view::npos : line.text.rfind('"', colon - 1);
    if (quote == std::string_view::npos || colon - quote > 64) continue;
    const auto comma = line.text.find_first_of(",}]", colon);
    const std::size_t end = comma == std::string_view::npos ? line.text.size() : comma + 1;
    Line member = line;
    member.text = line.text.substr(quote, end - quote);
    member.terminator = comma == std::string_view::npos ? line.terminator : '\n';
    known |= see_member(member, evaluations, out);
  }
  return known;
}

bool TrainerFiles::see_member(const Line& line, TrainerEvaluations& evaluations, RunBuilder& out) {
  const auto is = [&](std::string_view key) { return line.text.starts_with(key); };
  if (is("\"log_history\": [")) {
    history_ = true;
    run(line, out);
    return true;
  }
  if (const bool done = is("\"global_step\": "); done || is("\"max_steps\": ")) {
    (done ? global_step_ : max_steps_) = number_after(line, "\":");
    return false;
  }
  if (is("\"train_runtime\": ")) {
    if (runtime_) session_began_ = session_ended_;  // an earlier session's stands in the history
    checks_.end_session(history_);
    session_ended_ = entry_step_;
    runtime_ = number_after(line, "\"train_runtime\":");
    if (runtime_) run(line, out);
    return runtime_.has_value();
  }
  if (evaluations.see(line, out)) return true;
  if (checks_.see_member(line)) return history_;  // what is not taken comes again, unindented
  return see_rate(line, out) || see_entry(line, out);
}

bool TrainerFiles::see_rate(const Line& line, RunBuilder& out) {
  if (line.text.starts_with("\"train_steps_per_second\": ")) {
    steps_rate_ = number_after(line, "\"train_steps_per_second\":");
    return steps_rate_.has_value();
  }
  if (!line.text.starts_with("\"train_samples_per_second\": ")) return false;
  samples_rate_ = number_after(line, "\"train_samples_per_second\":");
  rate_line_ = line.number;
  if (samples_rate_) run(line, out);
  return samples_rate_.has_value();
}

// The loss of an entry of the history, or its step.
bool TrainerFiles::see_entry(const Line& line, RunBuilder& out) {
  if (!history_ && line.number != dict_line_) return false;
  if (line.text.starts_with("\"loss\": ")) {
    loss_ = number_after(line, "\"loss\":");
    // Python writes NaN and Infinity in letters that no number reader of ours takes.
    if (!loss_ && line.text.find("NaN") != std::string_view::npos) loss_ = kUnknown;
    return loss_.has_value();
  }
  if (!line.text.starts_with("\"step\": ")) return false;
  const auto step = number_after(line, "\"step\":");
  entry_step_ = step.value_or(0);
  if (step && loss_ && *step >= 0 && *step < kMostSteps) {
    Sample sample;
    sample.step = static_cast<std::int64_t>(*step);
    sample.loss = loss_;
    sample.line = line.number;
    sample.end_byte = line.end_byte;
    run(line, out);
    out.add(WorkKind::training, sample);
  }
  loss_.reset();
  return step.has_value();
}

void TrainerFiles::conclude(RunDraft& draft) const {
  const bool outlasted = runtime_ && checks_.outlast(*runtime_);
  if (runtime_) {
    if (!outlasted) draft.log.totals.training_s = runtime_;
    draft.ended_well = true;
  }
  if (max_steps_ && *max_steps_ >= 1 && *max_steps_ < kMostSteps) {
    draft.log.planned = static_cast<std::int64_t>(*max_steps_);
    draft.ended_well = draft.ended_well || (global_step_ && *global_step_ >= *max_steps_);
  }
  if (!samples_rate_) return;
  if (!steps_rate_) {
    fill_old_rate(draft);
    return;
  }
  if (outlasted) {
    draft.log.notices.push_back(make_notice(NoticeCode::closing_rate_of_all_sessions, rate_line_,
                                            shortest(*samples_rate_), checks_.evaluated_s(),
                                            *runtime_));
    return;
  }
  draft.log.summary = Stated{*samples_rate_, RateUnit::sequences_per_second, rate_line_};
  if (runtime_) checks_.judge(*runtime_, draft);
  if (global_step_ && max_steps_ && runtime_) {
    mend_planned_rate(*global_step_ - session_began_, 0, *max_steps_, *runtime_, *steps_rate_,
                      draft);
  }
  if (draft.log.summary && draft.log.summary->value == *samples_rate_) {
    draft.log.notices.push_back(make_notice(NoticeCode::closing_rate_may_be_resumed, rate_line_));
  }
}

// Old releases know no train_steps_per_second, and what they call samples are steps.
void TrainerFiles::fill_old_rate(RunDraft& draft) const {
  draft.log.summary = Stated{*samples_rate_, RateUnit::iterations_per_second, rate_line_};
  const bool proved = global_step_ && runtime_ && *runtime_ > 0 &&
                      std::abs(*global_step_ / *runtime_ / *samples_rate_ - 1) < 1e-3;
  const std::string how =
      proved ? fmt::format("{:.0f} steps / {} s", *global_step_, shortest(*runtime_))
             : std::string("the global step over the runtime");
  draft.log.notices.push_back(
      make_notice(NoticeCode::closing_rate_is_of_steps, rate_line_, shortest(*samples_rate_), how));
}

}  // namespace bertbench
