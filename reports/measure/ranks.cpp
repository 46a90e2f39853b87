#include "reports/measure/ranks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "parsers/core/rank_stretches.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

/// Stretches beyond the fewest, so that one in which other ranks were disturbed hides no straggler.
constexpr std::size_t kSpareWindows = 5;

/// Median of a sorted sample without its element at `left_out`; two elements at least.
double median_without(std::span<const double> sorted, std::size_t left_out) {
  const auto at = [&](std::size_t i) { return sorted[i < left_out ? i : i + 1]; };
  const std::size_t n = sorted.size() - 1;
  return n % 2 == 1 ? at(n / 2) : (at(n / 2 - 1) + at(n / 2)) / 2;
}

/// `most` stretches of it at most, each the mean of those that are known of about as many.
std::vector<double> joined(std::span<const double> row, std::size_t most) {
  std::vector<double> out(most, std::nan(""));
  for (std::size_t i = 0; i < most; ++i) {
    double sum = 0, n = 0;
    for (std::size_t w = i * row.size() / most; w < (i + 1) * row.size() / most; ++w) {
      if (!(row[w] > 0)) continue;
      sum += row[w];
      ++n;
    }
    if (n > 0) out[i] = sum / n;
  }
  return out;
}

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
std::ptrdiff_t weight(Status status) {
  constexpr Status kFromLeast[] = {Status::no_data, Status::truncated, Status::completed,
                                   Status::stalled, Status::killed,    Status::timeout,
                                   Status::nan,     Status::error,     Status::out_of_memory};
  return std::ranges::find(kFromLeast, status) - kFromLeast;
}

}  // namespace

double half_binomial_tail(std::size_t n, std::size_t k) {
  double each = std::pow(0.5, static_cast<double>(n)), sum = 0;  // of i = n, n - 1, ...
  for (std::size_t i = n + 1; i-- > k;) {
    sum += each;
    each *= static_cast<double>(i) / static_cast<double>(n - i + 1);
  }
  return std::min(1.0, sum);
}

std::size_t fewest_windows(std::size_t ranks) {
  std::size_t n = 1;
  while (half_binomial_tail(n, n) * static_cast<double>(ranks) > kStragglerAlpha) ++n;
  return n;
}

std::vector<RankSpeed> rank_speeds(std::span<const std::vector<double>> all) {
  std::vector<RankSpeed> out(all.size());
  if (all.empty()) return out;
  std::vector<std::vector<double>> own;
  for (const auto& row : all)
    own.push_back(joined(row, fewest_windows(all.size()) + kSpareWindows));
  std::vector<std::vector<double>> seconds(own.size()), ratios(own.size());
  for (std::size_t w = 0; w < own[0].size(); ++w) {
    std::vector<double> sorted;
    for (const auto& row : own) {
      if (row[w] > 0) sorted.push_back(row[w]);
    }
    if (sorted.size() < 2) continue;
    std::ranges::sort(sorted);
    for (std::size_t r = 0; r < own.size(); ++r) {
      const double value = own[r][w];
      if (!(value > 0)) continue;
      const auto place = std::ranges::lower_bound(sorted, value) - sorted.begin();
      const double ratio = value / median_without(sorted, static_cast<std::size_t>(place));
      seconds[r].push_back(value);
      ratios[r].push_back(ratio);
      out[r].slow += ratio > 1 + kSlowFloor ? 1 : 0;
      out[r].slowest += value == sorted.back() ? 1 : 0;
    }
  }
  for (std::size_t r = 0; r < own.size(); ++r) {
    RankSpeed& rank = out[r];
    rank.windows = ratios[r].size();
    if (rank.windows == 0) continue;
    rank.own_s = median(seconds[r]);
    rank.ratio = median(ratios[r]);
    rank.straggler =
        half_binomial_tail(rank.windows, rank.slow) * static_cast<double>(own.size()) <=
        kStragglerAlpha;
  }
  return out;
}

namespace {

struct Ranks {
  std::vector<std::int64_t> numbers;
  std::vector<std::string> nodes;
  std::vector<std::vector<double>> own;  ///< NaN: unknown
};

Ranks all_ranks(const RankTimes& times, std::size_t columns) {
  Ranks out;
  for (const auto& [rank, row] : times.rows()) {
    out.numbers.push_back(rank);
    out.nodes.push_back(row.node);
    auto& own = out.own.emplace_back(columns, kUnknown);
    for (std::size_t c = 0; c < row.columns.size(); ++c) {
      if (row.columns[c].steps > 0) own[c] = row.columns[c].value();
    }
  }
  return out;
}

/// The columns that are judged: begin, end.
std::pair<std::size_t, std::size_t> judged_columns(const RankTimes& times, std::size_t columns,
                                                   const WindowUsed& window) {
  if (!window.covered || !window.first_step) {
    return {std::min<std::size_t>(1, columns), columns};  // the first has what later ones find made
  }
  std::size_t begin = 0;
  while (begin < columns && times.first_step(begin) <= *window.first_step) ++begin;
  std::size_t end = begin;
  while (end < columns && times.last_step(end) <= *window.last_step) ++end;
  return {begin, end};
}

std::vector<RankRecord::Node> nodes_of(const Ranks& ranks, std::span<const RankSpeed> speeds) {
  std::map<std::string, std::vector<double>> own;
  for (std::size_t r = 0; r < speeds.size(); ++r) {
    if (speeds[r].windows > 0) own[ranks.nodes[r]].push_back(speeds[r].own_s);
  }
  std::vector<RankRecord::Node> out;
  for (auto& [node, seconds] : own) {
    std::ranges::sort(seconds);
    out.push_back({node, static_cast<std::int64_t>(seconds.size()), seconds.front(),
                   median(seconds), seconds.back()});
  }
  std::ranges::stable_sort(out, std::greater<>(), &RankRecord::Node::median_s);
  if (out.size() > RankRecord::kMostRows) out.resize(RankRecord::kMostRows);
  return out;
}

/// Four digits: a picture shows no more.
double short_ratio(double value) {
  return std::isfinite(value) ? std::round(value * 1e3) / 1e3 : 0;
}

}  // namespace

std::optional<RankRecord> rank_record(const RankTimes& times, const WindowUsed& window) {
  std::size_t columns = 0;
  for (const auto& [rank, row] : times.rows()) columns = std::max(columns, row.columns.size());
  const auto [begin, end] = judged_columns(times, columns, window);
  if (times.rows().size() < 2 || begin >= end) return std::nullopt;
  const Ranks ranks = all_ranks(times, columns);
  std::vector<std::vector<double>> judged;
  for (const auto& row : ranks.own) {
    judged.emplace_back(row.begin() + std::ptrdiff_t(begin), row.begin() + std::ptrdiff_t(end));
  }
  const std::vector<RankSpeed> speeds = rank_speeds(judged);
  std::vector<std::size_t> order;  // of the ranks that are known, slowest first
  for (std::size_t r = 0; r < speeds.size(); ++r) {
    if (speeds[r].windows > 0) order.push_back(r);
  }
  if (order.size() < 2) return std::nullopt;
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t r) { return speeds[r].ratio; });

  RankRecord out;
  out.ranks = static_cast<std::int64_t>(order.size());
  out.first_step = times.first_step(begin);
  out.last_step = times.last_step(end - 1);
  std::vector<double> own_s;
  for (const std::size_t r : order) own_s.push_back(speeds[r].own_s);
  const auto [low, high] = std::ranges::minmax(own_s);
  out.spread = (high - low) / median(own_s);
  const auto rank = [&](std::size_t r) {
    const RankSpeed& speed = speeds[r];
    return RankRecord::Rank{ranks.numbers[r],
                            ranks.nodes[r],
                            speed.own_s,
                            speed.ratio,
                            static_cast<std::int64_t>(speed.windows),
                            static_cast<std::int64_t>(speed.slow),
                            static_cast<std::int64_t>(speed.slowest)};
  };
  out.slowest = rank(order.front());
  for (const std::size_t r : order) {
    if (speeds[r].straggler && out.stragglers.size() < RankRecord::kMostRows) {
      out.stragglers.push_back(rank(r));
    }
  }
  out.nodes = nodes_of(ranks, speeds);
  for (std::size_t c = 0; c < columns; ++c) out.steps.push_back(times.last_step(c));
  std::vector<double> usual;  // of each stretch, over the ranks
  for (std::size_t c = 0; c < columns; ++c) {
    std::vector<double> values;
    for (const auto& row : ranks.own) {
      if (row[c] > 0) values.push_back(row[c]);
    }
    usual.push_back(values.empty() ? kUnknown : median(values));
  }
  for (const std::size_t r : order) {
    if (out.rows.size() == RankRecord::kMostRows) break;
    auto& row = out.rows.emplace_back();
    row.rank = ranks.numbers[r];
    for (std::size_t c = 0; c < columns; ++c) {
      row.ratio.push_back(short_ratio(ranks.own[r][c] / usual[c]));
    }
  }
  return out;
}

void describe_ranks(const RunLog& log, Trial& trial) {
  trial.ranks = rank_record(log.rank_times, trial.window);
  if (!trial.ranks) {
    const bool several =
        std::ranges::any_of(log.records,
                            [](const Record& record) { return record.rank_spread >= 0; }) ||
        std::ranges::any_of(log.notices, [](const Notice& notice) {
          return notice.code == NoticeCode::joined_ranks;
        });
    if (several && log.rank_times.empty()) {
      trial.notices.push_back(make_notice(NoticeCode::ranks_share_step_time, 0));
    }
    return;
  }
  for (const RankRecord::Rank& rank : trial.ranks->stragglers) {
    trial.notices.push_back(make_notice(NoticeCode::straggler, 0, rank.rank,
                                        rank.node.empty() ? "" : " on " + rank.node,
                                        100 * (rank.ratio - 1), rank.slow, rank.windows));
  }
}

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
    record.seconds = median(seconds);
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
