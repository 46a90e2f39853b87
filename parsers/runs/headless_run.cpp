#include "parsers/runs/headless_run.h"

#include "parsers/runs/run_builder.h"

namespace bertbench {

RunDraft& without_head(RunDraft& draft, Sample first, const Sample& second, RunBuilder& out) {
  if (draft.records().empty()) return draft;
  const Record& record = draft.records().front();
  const std::int64_t stride = second.step - record.step;
  if (stride < 1 || record.iterations / 2 <= stride) return draft;
  const double as_counted = record.seconds / static_cast<double>(record.iterations);
  const double as_seen = second.seconds / static_cast<double>(stride);
  if (!(2 * as_counted < as_seen)) return draft;
  draft.discard = true;
  out.close(draft.log.kind);
  RunDraft& fresh = out.run(draft.log.kind, draft.log.first_line);
  fresh.log.iteration_unit = draft.log.iteration_unit;
  fresh.log.rate_unit = draft.log.rate_unit;
  fresh.log.facts = draft.log.facts;
  fresh.log.notices = draft.log.notices;
  fresh.log.clock_resolution_s = draft.log.clock_resolution_s;
  fresh.log.clock_is_wall = draft.log.clock_is_wall;
  fresh.planned = draft.planned;
  first.iterations = stride;
  fresh.add(first);
  return fresh;
}

}  // namespace bertbench
