#include "reports/measure/rank_logs.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "parsers/core/median.h"
#include "parsers/core/rank_stretches.h"

namespace bertbench {
namespace {

/// Step times of other ranks that are kept: 24 MB. Beyond it further ranks add nothing to the
/// median, which ranks that wait for each other share anyway.
constexpr std::size_t kMostStepTimes = std::size_t{1} << 20;

std::size_t training_records(std::span<const RunLog> runs) {
  std::size_t sum = 0;
  for (const RunLog& run : runs) {
    if (run.kind == WorkKind::training) sum += run.records.size();
  }
  return sum;
}

/// How much an outcome explains of the end of the job. A rank that is ended because another one
/// failed, or whose log has no end, explains less than that other one.
int weight(Status status) {
  switch (status) {
    case Status::out_of_memory:
      return 8;
    case Status::error:
      return 7;
    case Status::nan:
      return 6;
    case Status::timeout:
      return 5;
    case Status::killed:
      return 4;
    case Status::stalled:
      return 3;
    case Status::completed:
      return 2;
    case Status::truncated:
      return 1;
    case Status::no_data:
      break;
  }
  return 0;
}

}  // namespace

void RankLogJoiner::keep(std::vector<RunLog> runs) {
  std::size_t order = 0;
  for (RunLog& run : runs) {
    if (run.kind != WorkKind::training) continue;
    Other& other = others_.emplace_back();
    other.order = order++;
    for (const Record& record : run.records) {
      if (!(record.seconds > 0) || steps_kept_ >= kMostStepTimes) continue;
      other.steps.push_back({record.step, record.iterations, static_cast<float>(record.seconds)});
      ++steps_kept_;
    }
    run.records = {};
    run.parts.clear();
    run.counters.clear();
    run.stated.clear();
    other.run = std::move(run);
  }
}

void RankLogJoiner::add(std::int64_t rank, std::vector<RunLog> runs) {
  if (!ranks_.empty() && training_records(runs) <= training_records(first_)) {
    keep(std::move(runs));
  } else {
    keep(std::exchange(first_, std::move(runs)));
  }
  ranks_.push_back(rank);
}

void RankLogJoiner::join_steps(RunLog& run, const std::vector<const Other*>& others) {
  std::vector<std::size_t> next(others.size(), 0);
  for (Record& record : run.records) {
    if (!(record.seconds > 0)) continue;
    std::vector<double> seconds{record.seconds};
    for (std::size_t i = 0; i < others.size(); ++i) {
      const auto& steps = others[i]->steps;
      while (next[i] < steps.size() && steps[next[i]].step < record.step) ++next[i];
      if (next[i] == steps.size()) continue;
      const StepTime& same = steps[next[i]];
      if (same.step == record.step && same.iterations == record.iterations) {
        seconds.push_back(same.seconds);
      }
    }
    if (seconds.size() < 2) continue;
    const auto [low, high] = std::ranges::minmax(seconds);
    record.seconds = median(std::move(seconds));
    record.rank_spread = (high - low) / record.seconds;
  }
}

void RankLogJoiner::join_outcome(RunLog& run, const std::vector<const Other*>& others) {
  // What closes the run that has the steps stands, whatever other ranks print at their ends.
  if (run.outcome.status == Status::completed) return;
  const RunLog* best = &run;
  for (const Other* other : others) {
    if (weight(other->run.outcome.status) > weight(best->outcome.status)) best = &other->run;
  }
  if (best == &run) return;
  run.outcome = best->outcome;
  run.outcome.line = 0;  // of another log
  run.notices.push_back(make_notice(NoticeCode::outcome_of_rank, 0, best->path));
}

std::vector<RunLog> RankLogJoiner::take() {
  const std::set<std::int64_t> ranks(ranks_.begin(), ranks_.end());
  std::vector<RunLog> out = std::exchange(first_, {});
  std::size_t order = 0;
  for (RunLog& run : out) {
    if (run.kind != WorkKind::training) continue;
    std::vector<const Other*> others;
    for (const Other& other : others_) {
      if (other.order == order) others.push_back(&other);
    }
    ++order;
    join_steps(run, others);
    join_outcome(run, others);
    for (const Other* other : others) {
      const RunLog& its = other->run;
      add_stretches(run.rank_times, its.rank_times, 0, RankTimes::kMostColumns);
      run.facts = merge_facts(run.facts, its.facts);
      if (!run.planned) run.planned = its.planned;
      if (!run.summary && its.summary) {
        run.summary = its.summary;
        run.summary->line = 0;  // of another log
      }
      if (its.memory && (!run.memory || its.memory->peak_bytes > run.memory->peak_bytes)) {
        run.memory = its.memory;
      }
      if (its.first_nan_step) {
        run.first_nan_step =
            std::min(run.first_nan_step.value_or(*its.first_nan_step), *its.first_nan_step);
      }
      for (const Notice& notice : its.notices) {
        // What all ranks print is noted once.
        if (std::ranges::find(run.notices, notice.code, &Notice::code) == run.notices.end()) {
          run.notices.push_back(of_log(its.path, notice));
        }
      }
    }
    if (ranks.size() > 1) {
      run.notices.insert(run.notices.begin(),
                         make_notice(NoticeCode::joined_ranks, 0, ranks.size()));
    }
  }
  *this = {};
  return out;
}

}  // namespace bertbench
