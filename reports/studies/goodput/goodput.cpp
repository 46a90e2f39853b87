#include "reports/studies/goodput/goodput.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "reports/stats/summary.h"

namespace bertbench {
namespace {

struct PartText {
  std::string_view name, meaning;
};
constexpr std::array<PartText, kGoodputParts> kParts{
    {{"counted", "steps that counted"},
     {"lost", "steps that were lost and done again"},
     {"start_up", "start-up, up to the first step"},
     {"checkpoint", "checkpoints"},
     {"evaluation", "evaluations"},
     {"stall", "stalls"},
     {"closing", "after the last step of a job"},
     {"between", "between jobs"}}};

constexpr double kStallTimes = 3;      // what the steps of the record take
constexpr double kStallSeconds = 1;    // beyond what they take
constexpr double kSameJobShare = 0.5;  // of a job's time during which another one ran as well

double iterations_of(const Record& record) {
  return static_cast<double>(std::max<std::int64_t>(1, record.iterations));
}

/// Seconds from record i - 1 to record i; the first one's own. NaN where it is unknown.
double seconds_of(const RunLog& log, std::size_t i) {
  const auto& records = log.records;
  if (i > 0) {
    const double by_clock = records[i].time_s - records[i - 1].time_s;
    if (log.clock_is_wall && by_clock >= 0) return by_clock;
  }
  return records[i].seconds;
}

/// Of an iteration, over all jobs.
double median_iteration(const std::vector<JobLog>& jobs) {
  std::vector<double> all;
  for (const auto& job : jobs) {
    for (std::size_t i = 0; i < job.log.records.size(); ++i) {
      const double seconds = seconds_of(job.log, i);
      if (seconds > 0) all.push_back(seconds / iterations_of(job.log.records[i]));
    }
  }
  return all.empty() ? kUnknown : median(all);
}

GoodputPart kind_between(const std::vector<Mark>& marks, std::int64_t after, std::int64_t upto) {
  auto mark = std::ranges::upper_bound(marks, after, {}, &Mark::line);
  GoodputPart out = GoodputPart::stall;
  for (; mark != marks.end() && mark->line <= upto; ++mark) {
    // An evaluation often ends with a checkpoint; the evaluation is the longer work.
    if (mark->kind == MarkKind::evaluation) return GoodputPart::evaluation;
    out = GoodputPart::checkpoint;
  }
  return out;
}

/// The stretches of one job, in order.
class Stretches {
 public:
  explicit Stretches(GoodputJob& job) : job_(job), at_s_(job.begin_s) {}

  void add(GoodputPart part, double seconds) {
    if (!(seconds > 0)) return;
    job_.seconds[static_cast<std::size_t>(part)] += seconds;
    if (job_.spans.empty() || job_.spans.back().part != part) {
      job_.spans.push_back({part, at_s_, at_s_});
    }
    at_s_ += seconds;
    job_.spans.back().end_s = at_s_;
  }
  [[nodiscard]] double at() const { return at_s_; }

  /// The shortest give way where there are too many; the sums keep them.
  void shorten() {
    auto& spans = job_.spans;
    if (spans.size() <= kMostJobSpans) return;
    const auto length = [](const GoodputSpan& span) { return span.end_s - span.begin_s; };
    std::ranges::nth_element(spans, spans.begin() + kMostJobSpans, std::greater<>(), length);
    spans.resize(kMostJobSpans);
    std::ranges::sort(spans, {}, &GoodputSpan::begin_s);
  }

 private:
  GoodputJob& job_;
  double at_s_;
};

/// The job's own time into parts; steps after `keep` are lost.
void divide(const JobLog& source, double level, std::int64_t keep, GoodputJob& job) {
  const RunLog& log = source.log;
  const auto& records = log.records;
  Stretches line(job);
  if (records.empty()) {
    const auto &begin = source.wall.begin, &end = source.wall.end;
    line.add(GoodputPart::start_up, begin && end ? *end - *begin : log.totals.wall_s.value_or(0));
    job.end_s = line.at();
    return;
  }
  double iterations = 0;
  for (const auto& record : records) iterations += iterations_of(record);
  const auto& steps = job.steps;
  const double first = steps ? static_cast<double>(steps->first) : 0;
  const double per_iteration =
      steps ? static_cast<double>(steps->last - steps->first) / iterations : 0;
  double done = 0;
  const auto add_steps = [&](const Record& record, double seconds) {
    const double from = first + per_iteration * done;
    done += iterations_of(record);
    const double to = first + per_iteration * done;
    const double over = to - std::clamp(static_cast<double>(keep), from, to);
    const double lost = to > from ? over / (to - from) : 0;
    line.add(GoodputPart::counted, (1 - lost) * seconds);
    line.add(GoodputPart::lost, lost * seconds);
  };

  const double expected = level * iterations_of(records[0]);
  const double own = records[0].seconds > 0 ? records[0].seconds : expected;
  double before = 0;  // the first record's own time
  if (source.wall.begin && source.wall.first_step) {
    before = *source.wall.first_step - *source.wall.begin - own;
  } else if (records[0].time_s > own) {
    before = records[0].time_s - own;
  }
  line.add(GoodputPart::start_up, before);
  add_steps(records[0], own);
  for (std::size_t i = 1; i < records.size(); ++i) {
    const double usual = level * iterations_of(records[i]);
    double took = seconds_of(log, i);
    if (!(took >= 0)) took = usual;
    const auto kind = kind_between(log.marks, records[i - 1].line, records[i].line);
    const double excess = took - usual;
    const bool stalled = took > kStallTimes * usual && excess >= kStallSeconds;
    if (excess > 0 && (kind != GoodputPart::stall || stalled)) {
      // The work between two lines comes before the steps of the second line.
      line.add(kind, excess);
      took = usual;
    }
    add_steps(records[i], took);
  }
  if (source.wall.begin && source.wall.end) {
    line.add(GoodputPart::closing,
             *source.wall.end - *source.wall.begin - (line.at() - job.begin_s));
  }
  job.end_s = line.at();
  line.shorten();
}

/// Whether most of `job` went by while `other` ran: another rank's log of the same job.
bool ran_during(const WallTimes& job, const WallTimes& other) {
  if (!job.begin || !job.end || !other.begin || !other.end) return false;
  const double both = std::min(*job.end, *other.end) - std::max(*job.begin, *other.begin);
  return both > 0 && both >= kSameJobShare * (*job.end - *job.begin);
}

}  // namespace

std::string_view name(GoodputPart part) { return kParts[static_cast<std::size_t>(part)].name; }
std::string_view meaning(GoodputPart part) {
  return kParts[static_cast<std::size_t>(part)].meaning;
}

double Goodput::share() const {
  return total_s > 0 ? seconds[static_cast<std::size_t>(GoodputPart::counted)] / total_s : 0;
}

Result<Goodput> goodput(std::vector<JobLog> jobs) {
  std::erase_if(jobs, [](const JobLog& job) { return job.log.kind != WorkKind::training; });
  const bool any =
      std::ranges::any_of(jobs, [](const auto& job) { return !job.log.records.empty(); });
  if (!any) {
    return fail("", "no log of a training with steps is there",
                "name the logs of the training's jobs, or their folder");
  }
  const bool dated = std::ranges::all_of(jobs, [](const auto& job) { return !!job.wall.begin; });
  // By optimizer steps where all logs count those, else by what their lines count.
  const bool optimizer = std::ranges::all_of(jobs, [](const JobLog& job) {
    return job.log.records.empty() || optimizer_step_range(job.log);
  });
  const auto steps_of = optimizer ? optimizer_step_range : counter_range;
  const auto order = [&](const JobLog& job) {
    const auto steps = steps_of(job.log);
    return std::tuple(dated ? *job.wall.begin : 0.0, steps ? steps->last : 0, job.log.path);
  };
  std::ranges::stable_sort(jobs, {}, order);

  Goodput out;
  out.between_known = dated;
  std::vector<JobLog> kept;
  for (auto& job : jobs) {
    if (!kept.empty() && ran_during(job.wall, kept.back().wall)) {
      out.left_out.push_back(job.log.path);
    } else {
      kept.push_back(std::move(job));
    }
  }
  const double level = median_iteration(kept);
  if (!(level > 0)) {
    return fail("", "the logs have no times: how long their steps took is unknown",
                "let the trainer print the time of each step, or a date before each line");
  }
  // From the last job backwards: the lowest step at which a later one began.
  std::vector<std::int64_t> keep(kept.size());
  auto lowest = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = kept.size(); i-- > 0;) {
    keep[i] = lowest;
    if (const auto steps = steps_of(kept[i].log)) {
      lowest = std::min(lowest, steps->first);
    }
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const JobLog& source = kept[i];
    GoodputJob job;
    job.path = source.log.path;
    job.line = source.log.first_line;
    job.began = source.wall.begin;
    job.outcome = source.log.outcome;
    job.steps = steps_of(source.log);
    if (job.steps) {
      const auto last = std::clamp(keep[i], job.steps->first, job.steps->last);
      job.counted_steps = last - job.steps->first;
      job.lost_steps = job.steps->last - last;
    }
    job.begin_s = out.jobs.empty() ? 0 : out.jobs.back().end_s;
    if (dated && !out.jobs.empty()) {
      const double gap = *source.wall.begin - *out.jobs.front().began - job.begin_s;
      job.seconds[static_cast<std::size_t>(GoodputPart::between)] = std::max(0.0, gap);
      job.begin_s += std::max(0.0, gap);
    }
    divide(source, level, keep[i], job);
    for (std::size_t part = 0; part < kGoodputParts; ++part) {
      out.seconds[part] += job.seconds[part];
    }
    out.counted_steps += job.counted_steps;
    out.lost_steps += job.lost_steps;
    out.jobs.push_back(std::move(job));
  }
  out.total_s = out.jobs.back().end_s;
  return out;
}

}  // namespace bertbench
