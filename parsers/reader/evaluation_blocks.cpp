#include "parsers/reader/evaluation_blocks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "parsers/rules/mark_rules.h"

namespace bertbench {
namespace {

/// From one record to the next, by the newest two.
std::int64_t interval_of(const RunLog& run) {
  const auto& records = run.records;
  if (records.size() < 2) return std::max<std::int64_t>(1, records.back().iterations);
  return std::max<std::int64_t>(1, records.back().step - records[records.size() - 2].step);
}

/// Whether a counter is that of the training's next line, or of the one after it.
bool goes_on(const RunLog& training, std::int64_t step) {
  const std::int64_t ahead = step - training.records.back().step;
  return ahead > 0 && ahead <= 2 * interval_of(training);
}

/// Where the block's own counting ends and the training's goes on; its size where it does not. A
/// step that would be the next of both is the block's.
std::size_t end_of_block(const RunLog& training, const RunLog& block) {
  const auto& records = block.records;
  for (std::size_t i = 1; i < records.size(); ++i) {
    const std::int64_t own = i > 1 ? records[i - 1].step - records[i - 2].step : 1;
    const std::int64_t step = records[i].step - records[i - 1].step;
    if (step != std::max<std::int64_t>(1, own) && goes_on(training, records[i].step)) return i;
  }
  return records.size();
}

std::int64_t count_of(std::span<const Record> records) {
  std::int64_t out = 0;
  for (const Record& record : records) out += record.merged;
  return out;
}

/// The records of `later` from `from` on are the training's, as are how it ended and what it closed
/// with.
void go_on_with(RunLog& training, RunLog& later, std::size_t from) {
  const auto begin = later.records.begin() + static_cast<std::ptrdiff_t>(from);
  begin->iterations = begin->step - training.records.back().step;
  const double origin = begin->time_s;
  for (auto record = begin; record != later.records.end(); ++record) {
    record->time_s -= origin;
    record->first_time_s -= origin;
  }
  const std::int64_t count = count_of(std::span<const Record>(later.records).subspan(from));
  training.records_seen += count;
  later.records_seen -= count;
  training.records.insert(training.records.end(), begin, later.records.end());
  later.records.erase(begin, later.records.end());
  training.outcome = std::move(later.outcome);
  if (!training.summary) training.summary = std::exchange(later.summary, std::nullopt);
  if (!training.first_nan_step && training.outcome.status == Status::nan) {
    training.first_nan_step = later.first_nan_step;
  }
  training.totals = {};  // of a part
  if (later.totals.training_s) training.totals.training_s = later.totals.training_s;
  training.marks.insert(training.marks.end(), later.marks.begin(), later.marks.end());
}

/// What was stated of batches and of the end was stated of training.
void make_evaluation(RunLog& block) {
  block.kind = WorkKind::evaluation;
  block.facts.micro_batch_size = {};
  block.facts.global_batch_size = {};
  block.facts.gradient_accumulation_steps = {};
  block.totals = {};
  block.summary.reset();
  block.first_nan_step.reset();
  block.marks.clear();
  const Record& last = block.records.back();
  block.outcome = {Status::completed, last.step, last.line, {}};
}

}  // namespace

void part_evaluations(std::vector<RunLog>& runs, const MarkRules& marks) {
  const auto trains = [](const RunLog& run) {
    return run.kind == WorkKind::training && !run.records.empty();
  };
  for (auto at = runs.begin(); at != runs.end();) {
    const auto block = std::find_if(at + 1, runs.end(), trains);
    if (!trains(*at) || block == runs.end()) {
      ++at;
      continue;
    }
    const Record& last = at->records.back();
    if (block->records.front().step > last.step ||
        !marks.evaluates(last.line, block->records.front().line)) {
      ++at;
      continue;
    }
    const std::size_t end = end_of_block(*at, *block);
    const auto next = std::find_if(block + 1, runs.end(), trains);
    const bool within = end < block->records.size();
    const bool follows = !within && next != runs.end() &&
                         goes_on(*at, next->records.front().step) &&
                         !marks.trains(block->records.back().line, next->records.front().line);
    // The last block of a training, unless it came further than that: another launch then.
    if (!within && !follows && block->records.back().step > last.step) {
      ++at;
      continue;
    }
    if (within) go_on_with(*at, *block, end);
    if (follows) go_on_with(*at, *next, 0);
    make_evaluation(*block);
    if (follows) runs.erase(next);
  }
}

}  // namespace bertbench
