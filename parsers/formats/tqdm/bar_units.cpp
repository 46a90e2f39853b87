#include "parsers/formats/tqdm/bar_units.h"

#include "parsers/assemble/run_builder.h"

namespace bertbench {

void BarUnits::see(const TqdmBar& bar, int rank, RunDraft& draft) {
  constexpr std::size_t kUnitsHeld = 64;  // hostile input
  if (!bar.counts_examples && !bar.rounded && seen_.empty()) return;
  Seen* found = nullptr;
  for (Seen& seen : seen_) {
    if (seen.draft == &draft) found = &seen;
  }
  if (found == nullptr) {
    if ((!bar.counts_examples && !bar.rounded) || seen_.size() == kUnitsHeld) return;
    found = &seen_.emplace_back(Seen{&draft, rank});
  }
  found->several_ranks |= rank != found->rank;
  found->examples |= bar.counts_examples;
  found->rounded |= bar.rounded;
  if (!bar.counts_examples) return;
  draft.log.rate_unit = RateUnit::sequences_per_second;
  draft.own_facts = true;  // no batch: an example is one sequence
}

void BarUnits::conclude() {
  for (const Seen& seen : seen_) {
    RunLog& log = seen.draft->log;
    if (seen.examples) {
      if (seen.several_ranks) log.rate_unit = RateUnit::unknown;
      log.notices.push_back(make_notice(
          seen.several_ranks ? NoticeCode::bar_of_several_ranks : NoticeCode::bar_of_one_process,
          0));
    }
    if (seen.rounded) {
      log.notices.push_back(make_notice(NoticeCode::counter_rounded, 0));
    }
  }
}

}  // namespace bertbench
