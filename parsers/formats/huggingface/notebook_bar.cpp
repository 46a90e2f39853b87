#include "parsers/formats/huggingface/notebook_bar.h"

#include "parsers/assemble/run_builder.h"
#include "parsers/lines/cursor.h"

namespace bertbench {

std::optional<NotebookBar> NotebookBar::read(const Line& line) {
  constexpr std::int64_t kStepLimit = 1'000'000'000'000;
  const auto epoch = line.text.find(kAnchor);
  const auto bracket = epoch == std::string_view::npos ? epoch : line.text.rfind('[', epoch);
  if (bracket == std::string_view::npos) return std::nullopt;
  Cursor cursor(line);
  cursor.move_to(bracket + 1);
  cursor.blanks();
  const auto shown = cursor.integer();
  const auto total = cursor.literal("/") ? cursor.integer() : std::nullopt;
  if (!shown || !total || *shown < 1 || *total < 1 || *shown > kStepLimit || *total > kStepLimit ||
      !cursor.literal(" ")) {
    return std::nullopt;
  }
  NotebookBar out;
  const auto elapsed = cursor.duration();
  if (!elapsed || !(*elapsed >= 0)) return std::nullopt;
  if (cursor.literal(" < ")) {
    if (!cursor.duration() || !cursor.literal(", ")) return std::nullopt;
    out.rate = cursor.number().value_or(kUnknown);
    if (!cursor.literal(" it/s")) return std::nullopt;
  }
  if (!cursor.literal(kAnchor) || !cursor.number() || !cursor.literal("/") || !cursor.number() ||
      !cursor.literal("]")) {
    return std::nullopt;
  }
  out.shown = *shown;
  out.total = *total;
  out.elapsed_s = *elapsed;
  out.line = line.number;
  out.rank = line.rank;
  return out;
}

void NotebookBar::give_to(RunDraft& run) const {
  if (run.log.summary || run.log.totals.training_s || run.count() > 0) return;
  const bool over = shown == total;
  Sample sample;
  sample.step = over ? shown : shown - 1;
  sample.iterations = sample.step - 1;
  if (sample.iterations < 1) return;
  if (elapsed_s > 0) sample.seconds = elapsed_s;
  // Two decimals: the clock gives a slow one better.
  constexpr double kFine = 0.25;
  if (rate >= kFine) {
    sample.rate = rate;
    run.log.rate_unit = RateUnit::iterations_per_second;
  }
  sample.line = line;
  sample.rank = rank;
  run.add(sample);
  run.log.planned = total;
  run.log.notices.push_back(make_notice(NoticeCode::notebook_bar, line));
}

}  // namespace bertbench
