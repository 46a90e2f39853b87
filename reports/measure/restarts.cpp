#include "reports/measure/restarts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "parsers/core/rank_stretches.h"

namespace bertbench {
namespace {

/// Iterations of the log's counter per optimizer step.
double iterations_per_step(const RunLog& log, const StepRange& steps) {
  const auto all =
      log.totals.iterations.value_or(log.records.empty() ? 0 : log.records.back().step);
  return static_cast<double>(all) /
         static_cast<double>(std::max<std::int64_t>(1, steps.last - steps.first));
}

bool counts_own_numbers(const RunLog& log) {
  return log.iteration_unit == IterationUnit::optimizer_step;
}

/// By how much a log that counts optimizer steps numbers its lines above the updates done.
std::int64_t ahead_of_updates(const RunLog& log) {
  const auto& done = log.totals.last_optimizer_step;
  if (!done || log.records.empty()) return 0;
  return std::max<std::int64_t>(0, log.records.back().step - *done);
}

/// The sum of a total over the parts, where all of them state it.
template <class T>
std::optional<T> sum_of(std::span<const RunLog> parts, std::optional<T> Totals::*value) {
  T sum{};
  for (const RunLog& part : parts) {
    if (!(part.totals.*value)) return std::nullopt;
    sum += *(part.totals.*value);
  }
  return sum;
}

/// Time before the first record that stamps do not show: its own, else that of the second.
double first_seconds(const RunLog& log) {
  const auto& records = log.records;
  if (!log.clock_is_wall || records.empty()) return 0;
  if (!std::isnan(records[0].seconds)) return records[0].seconds;
  if (records.size() < 2) return 0;
  const double interval = records[1].time_s - records[0].time_s;
  return interval / static_cast<double>(std::max<std::int64_t>(1, records[1].iterations)) *
         static_cast<double>(records[0].iterations);
}

/// Appends the records of a restart after step `steps.first` of `out`.
void append_records(RunLog& out, RunLog& part, const StepRange& begin, const StepRange& steps) {
  auto& records = out.records;
  const double clock = records.empty() ? 0 : records.back().time_s;  // lost steps included
  const double per_step = iterations_per_step(out, begin);
  const auto base = counts_own_numbers(out)
                        ? 0
                        : std::llround(static_cast<double>(steps.first - begin.first) * per_step);
  const std::int64_t keep = counts_own_numbers(out) ? steps.first + ahead_of_updates(out) : base;
  while (!records.empty() && records.back().step > keep) records.pop_back();
  if (!part.records.empty()) {
    Record& first = part.records.front();
    if (counts_own_numbers(part)) {
      first.iterations =
          std::max<std::int64_t>(1, first.step - ahead_of_updates(part) - steps.first);
    }
    const double before = first_seconds(part);
    for (Record record : part.records) {
      record.step += base;
      record.time_s += clock + before;
      record.first_time_s += clock + before;
      records.push_back(record);
    }
  }
}

/// Appends the ranks' own times of a restart after step `steps.first` of `out`; a log that numbers
/// them anew from 1 is left out.
void append_rank_times(RunLog& out, const RunLog& part, const StepRange& steps) {
  const RankTimes& more = part.rank_times;
  if (more.empty() || more.first_step(0) <= steps.first) return;
  add_stretches(out.rank_times, more, 0, RankTimes::kMostColumns);
}

std::string steps_text(const RunLog& log, const StepRange& steps) {
  return fmt::format("{} (steps {} to {}, {})", log.path, steps.first + 1, steps.last,
                     name(log.outcome.status));
}

}  // namespace

std::optional<StepRange> optimizer_step_range(const RunLog& log) {
  const Totals& totals = log.totals;
  if (totals.first_optimizer_step && totals.last_optimizer_step) {
    return StepRange{*totals.first_optimizer_step, *totals.last_optimizer_step};
  }
  return log.iteration_unit == IterationUnit::optimizer_step ? counter_range(log) : std::nullopt;
}

std::optional<StepRange> counter_range(const RunLog& log) {
  if (log.records.empty()) return std::nullopt;
  const auto& records = log.records;
  // The parser takes a first record for the work since step 0, which a restart's is not.
  std::int64_t interval = records.front().iterations;
  if (records.size() > 1) interval = std::min(interval, records[1].step - records[0].step);
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (records[i].step < records[i - 1].step) return std::nullopt;
  }
  return StepRange{records.front().step - std::max<std::int64_t>(1, interval), records.back().step};
}

StepOverlap overlap_of(std::int64_t done, const StepRange& restart) {
  return {std::clamp<std::int64_t>(done - restart.first, 0, restart.last - restart.first),
          std::max<std::int64_t>(0, restart.first - done)};
}

RunSpan span_of(const RunLog& log, const std::string& group) {
  RunSpan out{group + '\n' + log.format, std::nullopt, 1};
  if (log.kind != WorkKind::training) return out;
  out.steps = optimizer_step_range(log);
  const auto& records = log.records;
  if (out.steps && counts_own_numbers(log) && records.size() > 1) {
    out.interval =
        std::max<std::int64_t>(1, records.back().step - records[records.size() - 2].step);
  }
  return out;
}

RestartChains find_restarts(std::span<const RunSpan> spans) {
  std::map<std::string_view, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (spans[i].steps && spans[i].steps->last > spans[i].steps->first) {
      groups[spans[i].group].push_back(i);
    }
  }
  RestartChains out;
  for (auto& [group, runs] : groups) {
    std::ranges::stable_sort(runs, {}, [&](std::size_t i) { return spans[i].steps->first; });
    std::map<std::size_t, std::vector<std::size_t>> before;  // of a restart: what it may continue
    std::map<std::size_t, int> claimed;                      // how many restarts want a run
    for (std::size_t k = 0; k < runs.size(); ++k) {
      const StepRange& mine = *spans[runs[k]].steps;
      std::vector<std::size_t> fit;
      for (std::size_t j = k; j-- > 0;) {
        const RunSpan& other = spans[runs[j]];
        if (other.steps->first == mine.first) continue;
        if (!fit.empty() && other.steps->first < spans[fit.front()].steps->first) break;
        if (other.steps->last + other.interval >= mine.first && other.steps->last < mine.last) {
          fit.push_back(runs[j]);
        }
      }
      for (const std::size_t run : fit) ++claimed[run];
      if (!fit.empty()) before[runs[k]] = std::move(fit);
    }
    std::map<std::size_t, std::size_t> next;  // run -> the one restart of it
    std::map<std::size_t, bool> continues;
    for (const auto& [run, fit] : before) {
      if (fit.size() == 1 && claimed[fit.front()] == 1) {
        next[fit.front()] = run;
        continues[run] = true;
      } else {
        out.doubts.push_back({run, fit});
      }
    }
    for (const std::size_t run : runs) {
      if (continues.contains(run) || !next.contains(run)) continue;
      std::vector<std::size_t>& chain = out.chains.emplace_back();
      for (std::size_t at = run;; at = next[at]) {
        chain.push_back(at);
        if (!next.contains(at)) break;
      }
    }
  }
  return out;
}

namespace {

/// What the parts did together: lost steps that were done again count once.
struct JoinedWork {
  Totals totals;
  std::string ranges;  ///< the steps of each part
  std::vector<Notice> notices;
};

JoinedWork work_of(std::span<const RunLog> parts, const StepRange& begin) {
  JoinedWork out;
  out.ranges = steps_text(parts.front(), begin);
  std::int64_t done = begin.last;
  double sequences = 0, micro = 0;
  bool all_sequences = true, all_micro = true;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const StepRange steps = *optimizer_step_range(parts[i]);
    double share = 1;
    if (i > 0) {
      out.ranges += ", " + steps_text(parts[i], steps);
      const StepOverlap overlap = overlap_of(done, steps);
      if (overlap.redone > 0) {
        out.notices.push_back(
            make_notice(NoticeCode::steps_done_again, 0, overlap.redone, parts[i].path));
      }
      if (overlap.missing > 0) {
        out.notices.push_back(
            make_notice(NoticeCode::steps_in_no_log, 0, done + 1, steps.first, parts[i].path));
      }
      share =
          1 - static_cast<double>(overlap.redone) / static_cast<double>(steps.last - steps.first);
      done = std::max(done, steps.last);
    }
    const Totals& totals = parts[i].totals;
    all_sequences = all_sequences && totals.sequences.has_value();
    all_micro = all_micro && totals.iterations.has_value();
    sequences += share * static_cast<double>(totals.sequences.value_or(0));
    micro += share * static_cast<double>(totals.iterations.value_or(0));
  }
  out.totals.training_s = sum_of(parts, &Totals::training_s);
  out.totals.wall_s = sum_of(parts, &Totals::wall_s);
  out.totals.skipped_steps = sum_of(parts, &Totals::skipped_steps);
  out.totals.first_optimizer_step = begin.first;
  out.totals.last_optimizer_step = done;
  out.totals.optimizer_steps = done - begin.first;
  if (all_sequences) out.totals.sequences = std::llround(sequences);
  if (all_micro) out.totals.iterations = std::llround(micro);
  return out;
}

}  // namespace

RunLog join_restarts(std::vector<RunLog> parts) {
  const StepRange begin = *optimizer_step_range(parts.front());
  JoinedWork work = work_of(parts, begin);
  RunLog out = std::move(parts.front());
  out.arrivals = nullptr;  // of one of the logs, whose bytes the other records' places do not count
  std::erase_if(out.notices, [&](const Notice& notice) {
    return out.summary && notice.line == out.summary->line;  // of the closing rate
  });
  bool summary = out.summary.has_value();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    RunLog& part = parts[i];
    const StepRange steps = *optimizer_step_range(part);
    append_records(out, part, begin, steps);
    append_rank_times(out, part, steps);
    summary = summary || part.summary;
    out.clock_resolution_s = std::max(out.clock_resolution_s, part.clock_resolution_s);
    out.records_seen += part.records_seen;
    if (part.memory && (!out.memory || part.memory->peak_bytes > out.memory->peak_bytes)) {
      out.memory = part.memory;
    }
    if (!out.first_nan_step) out.first_nan_step = part.first_nan_step;
    out.outcome = part.outcome;
    for (const Notice& notice : part.notices) {
      if (part.summary && notice.line == part.summary->line) continue;
      out.notices.push_back(of_log(part.path, notice));
    }
  }
  // A loss that was not finite in lost steps was not what the run went on with.
  const auto finite = [](const Record& record) {
    return std::isnan(record.loss) || std::isfinite(record.loss);
  };
  if (out.outcome.status != Status::nan && std::ranges::all_of(out.records, finite)) {
    out.first_nan_step.reset();
  }
  out.summary.reset();
  out.marks.clear();  // their lines are of one log
  out.parts.clear();  // likewise
  out.counters.clear();
  out.stated.clear();
  out.totals = work.totals;
  std::vector<Notice>& notices = work.notices;
  notices.insert(notices.begin(), make_notice(NoticeCode::joined_restarts, 0, work.ranges));
  if (summary) {
    notices.push_back(make_notice(NoticeCode::closing_rates_of_parts, 0));
  }
  out.notices.insert(out.notices.begin(), notices.begin(), notices.end());
  return out;
}

}  // namespace bertbench
