#include "parsers/reader/format_choice.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <memory>

#include "parsers/assemble/run_builder.h"

namespace bertbench {
namespace {

// A bar of tqdm next to DLLogger's lines (corpus
// nvidia-dle-pytorch/lambda_a4000_squad_base_fp16.log,
// quoted/format_choice.prefers_a_fine_clock_over_a_bars_whole_seconds).
constexpr double kFineClockShare = 0.01;          // a clock's step, as a share of the run
constexpr std::size_t kRecordsOfAFineClock = 10;  // records

// The last record stands for all: this is asked for every redraw of a live log, so no pass over
// them.
Evidence::Kind kind_of(const RunDraft& run) {
  const Record* last = run.last();
  if (run.unproven) return Evidence::lines;
  if (last == nullptr) return run.log.summary ? Evidence::statement : Evidence::lines;
  // One line with the time of day and nothing else gives no rate, a closing statement does
  // (quoted/several_runs.a_statement_speaks_before_one_stamped_record).
  const bool alone = run.count() == 1 && std::isnan(last->seconds) && run.log.clock_is_wall;
  if (alone && std::isnan(last->printed_rate)) return Evidence::lines;
  if (!std::isnan(last->seconds) || !std::isnan(last->time_s)) return Evidence::times;
  return std::isnan(last->printed_rate) ? Evidence::losses : Evidence::rates;
}

bool has_fine_clock(const RunDraft& run) {
  const auto& records = run.records();
  if (records.size() < kRecordsOfAFineClock) return false;
  if (!std::isnan(records.back().seconds)) return true;
  const double span = records.back().time_s - records.front().time_s;
  return run.log.clock_resolution_s <= kFineClockShare * span;
}

bool states_sequences(const RunDraft& run) {
  if (run.discard) return false;
  if (run.log.summary && run.log.summary->unit == RateUnit::sequences_per_second) return true;
  return run.log.rate_unit == RateUnit::sequences_per_second && run.last() != nullptr &&
         !std::isnan(run.last()->printed_rate);
}

bool counts_work(const RunDraft& run) {
  const auto counts = [](RateUnit unit) {
    return unit == RateUnit::sequences_per_second || unit == RateUnit::tokens_per_second;
  };
  return counts(run.log.rate_unit) || (run.log.summary && counts(run.log.summary->unit));
}

}  // namespace

bool Evidence::beats(const Evidence& other) const {
  const bool mine = given && kind >= statement;
  if (mine != (other.given && other.kind >= statement)) return mine;
  const auto iterations_only = [](const Evidence& of) { return of.records && !of.counts; };
  if (official && iterations_only(other)) return true;
  if (other.official && iterations_only(*this)) return false;
  if (kind != other.kind) return kind > other.kind;
  if (fine_clock != other.fine_clock) return fine_clock;
  return matched > other.matched;
}

bool has_losses_only(const RunDraft& run) {
  return !run.log.summary && run.last() != nullptr &&
         std::ranges::all_of(run.records(), [](const Record& record) {
           return std::isnan(record.seconds) && std::isnan(record.time_s) &&
                  std::isnan(record.printed_rate);
         });
}

Evidence evidence_of(const RunBuilder& found, std::int64_t matched) {
  Evidence out;
  out.matched = matched;
  for (const auto& draft : found.drafts()) {
    if (draft->discard) continue;
    out.kind = std::max(out.kind, Evidence::lines);
    if (draft->log.kind != WorkKind::training) continue;
    out.official = out.official || (draft->official_end && states_sequences(*draft));
    out.records = out.records || draft->last() != nullptr;
    out.counts = out.counts || counts_work(*draft);
    const Evidence::Kind kind = kind_of(*draft);
    if (kind < out.kind) continue;
    out.fine_clock = has_fine_clock(*draft) || (kind == out.kind && out.fine_clock);
    out.kind = kind;
  }
  return out;
}

void move_stated_evaluations(RunBuilder& from, RunBuilder& to) {
  for (const WorkKind kind : {WorkKind::evaluation, WorkKind::inference}) {
    const auto of_kind = [&](const std::unique_ptr<RunDraft>& run) {
      return run->log.kind == kind && states_sequences(*run);
    };
    if (std::ranges::any_of(to.drafts(), of_kind)) continue;
    auto& drafts = from.drafts();
    const auto others = std::stable_partition(drafts.begin(), drafts.end(), std::not_fn(of_kind));
    std::move(others, drafts.end(), std::back_inserter(to.drafts()));
    drafts.erase(others, drafts.end());
  }
}

void copy_official_end(const RunBuilder& from, RunBuilder& to) {
  for (const auto& official : from.drafts()) {
    if (!official->official_end || official->discard) continue;
    for (const auto& run : to.drafts()) {
      const std::int64_t line = run->log.first_line;
      if (run->log.kind != WorkKind::training || line > official->last_line) continue;
      const bool headless = official->log.first_line == official->last_line;
      if (!headless && line < official->log.first_line) continue;
      run->ended_well = run->ended_well || official->ended_well;
      if (!run->stated_outcome) run->stated_outcome = official->stated_outcome;
    }
  }
}

}  // namespace bertbench
