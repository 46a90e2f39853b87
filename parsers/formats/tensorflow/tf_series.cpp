#include "parsers/formats/tensorflow/tf_series.h"

#include <algorithm>

namespace bertbench {

RunDraft& TfSeries::at(Kind kind, std::int64_t line, RunBuilder& out) {
  RunDraft*& slot = runs_[static_cast<std::size_t>(kind)];
  if (slot == nullptr) {
    slot = &out.extra(WorkKind::training, line);
    slot->log.iteration_unit = IterationUnit::optimizer_step;
    slot->log.clock_resolution_s = 1e-6;
    slot->log.clock_is_wall = true;
  }
  return *slot;
}

void TfSeries::set_loss(double loss, std::int64_t line) {
  for (RunDraft* run : runs_) {
    if (run != nullptr && run->last() != nullptr) run->set_loss(loss, line);
  }
}

RunDraft& TfSeries::statements(std::int64_t line, RunBuilder& out) {
  if (statements_ == nullptr) {
    statements_ = &out.extra(WorkKind::training, line);
    statements_->discard = true;
  }
  statements_->last_line = line;
  return *statements_;
}

RunDraft* TfSeries::best() const {
  constexpr std::int64_t kDenser = 4;  // rates stand so much more often than losses
  if (RunDraft* dle = find(Kind::dle)) return dle;
  RunDraft* const loss = find(Kind::loss_step);
  RunDraft* const rates = find(Kind::rate_only);
  const bool denser =
      loss == nullptr || (rates != nullptr && rates->count() > kDenser * loss->count());
  return denser ? rates : loss;
}

RunDraft* TfSeries::end(bool samples) {
  RunDraft*& dle = runs_[static_cast<std::size_t>(Kind::dle)];
  if (samples && dle != nullptr && statements_ != nullptr && statements_->log.summary) {
    dle->discard = true;
    dle = nullptr;
  }
  RunDraft* const taken = best();
  for (RunDraft* run : runs_) {
    if (run == nullptr || run == taken) continue;
    run->discard = true;
    if (taken != nullptr && run->log.first_nan_step && !taken->log.first_nan_step) {
      taken->log.first_nan_step = run->log.first_nan_step;
    }
  }
  RunDraft* const said = statements_;
  *this = {};
  if (taken == nullptr) {
    if (said != nullptr) said->discard = false;
    return said;
  }
  if (said != nullptr) {
    taken->log.summary = said->log.summary;
    taken->log.totals.training_s = said->log.totals.training_s;
    taken->log.totals.sequences = said->log.totals.sequences;
    taken->ended_well = said->ended_well;
    taken->last_line = std::max(taken->last_line, said->last_line);
  }
  std::int64_t iterations = 0;
  for (const Record& record : taken->records()) iterations += record.iterations;
  taken->log.totals.iterations = iterations;
  return taken;
}

}  // namespace bertbench
