#include "parsers/formats/lightning/nemo_bar.h"

#include <cmath>

#include "parsers/assemble/run_builder.h"
#include "parsers/lines/cursor.h"

namespace bertbench {

void NemoBar::see_batch(const Line& line, std::int64_t step, RunBuilder& out) {
  const auto consumed = number_after(line, "consumed_samples=");
  RunDraft* draft = out.open(WorkKind::training);
  if (!consumed || draft == nullptr) return;
  if (consumed_ && step > consumed_step_) {
    const double batch = (*consumed - *consumed_) / static_cast<double>(step - consumed_step_);
    auto& fact = draft->log.facts.global_batch_size;
    const bool whole = batch >= 1 && batch < 1e9 && batch == std::floor(batch);
    if (whole && !fact.known() && draft->count() == 2) {
      fact.set(static_cast<std::int64_t>(batch), FactSource::log);
    } else if (fact.known() && static_cast<double>(*fact.value) != batch) {
      draft->log.notices.push_back(
          make_notice(NoticeCode::global_batch_changes, line.number, *fact.value, batch));
      fact = {};
    }
  }
  consumed_ = consumed;
  consumed_step_ = step;
}

bool NemoBar::see(const Line& line, RunBuilder& out) {
  constexpr double kMost = 1e12;
  const auto seconds = number_after(line, kAnchor);
  const auto step = number_after(line, "global_step=");
  if (!seconds || !(*seconds > 0) || !step || !(*step >= 0 && *step < kMost)) return false;
  Cursor cursor(line);
  if (!cursor.skip_past("%|") || !cursor.skip_past("| ")) return false;
  const auto done = cursor.integer();
  const auto total = cursor.literal("/") ? cursor.integer() : std::nullopt;
  if (!done || !total || *done < 0 || !cursor.literal(" [")) return false;
  const auto elapsed = cursor.duration();
  const auto rate = [&](std::string_view unit) { return line.text.find(unit) != line.text.npos; };
  if (!elapsed || !cursor.literal("<") || rate("it/s") || rate("s/it")) return false;
  Sample sample;
  sample.step = static_cast<std::int64_t>(*step) + 1;
  sample.iterations = 1;
  sample.seconds = *seconds;
  sample.line = line.number;
  sample.rank = line.rank;
  sample.loss = number_after(line, "reduced_train_loss=");
  RunDraft* open = out.open(WorkKind::training);
  if (open != nullptr && open->goes_back(sample)) {
    out.close(WorkKind::training);
    base_s_ = elapsed_s_ = 0;
    consumed_.reset();
    open = nullptr;
  }
  // The bar is drawn once more where it ends and around a validation.
  const bool drawn =
      open != nullptr && open->last() != nullptr && open->last()->step == sample.step;
  RunDraft& draft = out.run(WorkKind::training, line.number);
  draft.last_line = line.number;
  if (*elapsed < elapsed_s_) base_s_ += elapsed_s_;
  elapsed_s_ = *elapsed;
  if (*total >= *done && *total >= sample.step) {
    draft.planned = *total;
    draft.ended_well = *done == *total;
  }
  if (drawn) return true;
  draft.own_facts = true;  // tensor and pipeline parallelism split a replica
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  draft.log.clock_resolution_s = 1;
  sample.time_s = base_s_ + elapsed_s_;
  if (open == nullptr) draft.set_origin(sample.time_s - sample.seconds);  // of its one step
  draft.add(sample);
  see_batch(line, sample.step, out);
  return true;
}

}  // namespace bertbench
