#include "reports/studies/goodput/goodput.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "parsers/input/input.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/decoration.h"
#include "parsers/reader/log_reader.h"
#include "reports/measure/time_parts.h"
#include "reports/output/html/page.h"
#include "reports/output/html/sections.h"
#include "reports/output/plot/svg.h"
#include "reports/output/value_text.h"
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

double iterations_of(const Record& record) { return static_cast<double>(record.iterations); }

/// Whether the time of record i is taken from the clock: a wall clock holds what lies between the
/// lines; a bar's elapsed time is taken where its steps have none of their own.
bool is_by_clock(const RunLog& log, std::size_t i) {
  const auto& records = log.records;
  return i > 0 && records[i].time_s - records[i - 1].time_s >= 0 &&
         (log.clock_is_wall || !(records[i].seconds > 0));
}

/// Seconds from record i - 1 to record i; the first one's own. NaN where it is unknown.
double seconds_of(const RunLog& log, std::size_t i) {
  const auto& records = log.records;
  if (is_by_clock(log, i)) return records[i].time_s - records[i - 1].time_s;
  return records[i].seconds;
}

/// As seconds_of, for i > 0, with the evaluations that the clock of the records leaves out.
double whole_seconds_of(const JobLog& job, std::size_t i) {
  const double stamps = job.stamps.empty() ? kUnknown : job.stamps[i] - job.stamps[i - 1];
  const double seconds = seconds_of(job.log, i);
  return stamps > seconds ? stamps : seconds;
}

/// Of an iteration, over all jobs. Steps that a clock of whole seconds does not resolve are taken
/// together.
double median_iteration(const std::vector<JobLog>& jobs) {
  constexpr double kStepsOfTheClock = 5;
  std::vector<double> all;
  for (const auto& job : jobs) {
    double seconds = 0, iterations = 0;
    for (std::size_t i = 0; i < job.log.records.size(); ++i) {
      const double took = seconds_of(job.log, i);
      if (!(took >= 0)) continue;
      seconds += took;
      iterations += iterations_of(job.log.records[i]);
      const bool resolved =
          !is_by_clock(job.log, i) || !(seconds < kStepsOfTheClock * job.log.clock_resolution_s);
      if (!(seconds > 0) || !resolved) continue;
      all.push_back(seconds / iterations);
      seconds = iterations = 0;
    }
    if (all.empty() && seconds > 0) all.push_back(seconds / iterations);
  }
  return all.empty() ? kUnknown : median(all);
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
    const auto& [begin, end, first_step] = source.wall;
    line.add(GoodputPart::start_up, end ? *end - *begin : log.totals.wall_s.value_or(0));
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
  if (source.wall.first_step) {
    before = *source.wall.first_step - *source.wall.begin - own;
  } else if (records[0].time_s > own) {
    before = records[0].time_s - own;
  }
  line.add(GoodputPart::start_up, before);
  add_steps(records[0], own);
  for (std::size_t i = 1; i < records.size(); ++i) {
    const double usual = level * iterations_of(records[i]);
    double took = whole_seconds_of(source, i);
    if (!(took >= 0)) took = usual;
    const auto mark = mark_between(log.marks, records[i - 1].line, records[i].line);
    const GoodputPart kind = !mark                           ? GoodputPart::stall
                             : *mark == MarkKind::evaluation ? GoodputPart::evaluation
                                                             : GoodputPart::checkpoint;
    const double excess = took - usual;
    const bool stalled = took > kStallTimes * usual && excess >= kStallSeconds;
    if (excess > 0 && (mark || stalled)) {
      // The work between two lines comes before the steps of the second line.
      line.add(kind, excess);
      took = usual;
    }
    add_steps(records[i], took);
  }
  if (source.wall.end) {
    line.add(GoodputPart::closing,
             *source.wall.end - *source.wall.begin - (line.at() - job.begin_s));
  }
  job.end_s = line.at();
  line.shorten();
}

/// Whether most of `job` went by while `other` ran: another rank's log of the same job.
bool ran_during(const WallTimes& job, const WallTimes& other) {
  if (!job.end || !other.end) return false;
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
  std::optional<std::int64_t> done;  // the highest step of the jobs before
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
      const auto missing = overlap_of(done.value_or(job.steps->first), *job.steps).missing;
      if (missing > 0) {
        out.notices.push_back(
            make_notice(NoticeCode::steps_missing, 0, *done + 1, job.steps->first));
      }
      out.missing_steps += missing;
      done = std::max(done.value_or(job.steps->last), job.steps->last);
    }
    job.begin_s = out.jobs.empty() ? 0 : out.jobs.back().end_s;
    if (dated && i > 0) {
      const double overlap = *kept[i - 1].wall.end - *source.wall.begin;
      if (overlap > 0) {
        out.notices.push_back(make_notice(NoticeCode::jobs_overlap, 0, job.path, overlap));
      }
      const double since = *source.wall.begin - *out.jobs.front().began;
      auto& between = job.seconds[static_cast<std::size_t>(GoodputPart::between)];
      between = std::max(0.0, since - job.begin_s);
      job.begin_s += between;
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

namespace {

constexpr std::size_t kLongestLine = 4096;  // bytes of a line that are looked at

/// Of the text's front: "2026-11-21 04:27:42", "[2026-11-21 04:27:42]", "[NeMo I 2026-11-21
/// 04:27:42 train:88]"; of an object the member `time`.
std::optional<double> stamp_of(std::string_view text) {
  constexpr std::string_view kTime = "\"time\":";
  while (text.starts_with(' ')) text.remove_prefix(1);
  if (text.starts_with('[')) {
    const auto stamp = front_stamp(text.substr(1, text.find(']')));
    return stamp && stamp->names_year ? std::optional(stamp->seconds) : std::nullopt;
  }
  if (!text.starts_with('{')) return date_time(text);
  const auto at = text.find(kTime);
  if (at == text.npos) return std::nullopt;
  text.remove_prefix(at + kTime.size());
  while (text.starts_with(' ')) text.remove_prefix(1);
  return text.starts_with('"') ? date_time(text.substr(1)) : std::nullopt;
}

/// Of a line, labels and levels before the stamp taken off.
std::optional<double> stamp_at_front(std::string_view line) {
  if (const auto stamp = stamp_of(line)) return stamp;
  for (const std::string_view text : Layers(line)) {
    if (const auto stamp = stamp_of(text)) return stamp;
  }
  return std::nullopt;
}

/// The stamps of one job, in order of lines. One that goes backwards, or that has no neighbour
/// within a day, is of something else that a line is about.
class StampsOfJob {
 public:
  void add(double stamp, bool of_first_step) {
    if (newest_) settle(near(stamp, *newest_));
    newest_ = stamp;
    of_first_step_ = of_first_step;
  }
  [[nodiscard]] WallTimes finish() {
    if (newest_) settle(!before_);
    return times_;
  }

 private:
  static bool near(double a, double b) {
    constexpr double kDay = 86400;  // seconds: no job is silent for longer
    return std::abs(a - b) <= kDay;
  }

  /// Takes the newest stamp in, now that the one after it is known.
  void settle(bool confirmed) {
    confirmed = confirmed || (before_ && near(*before_, *newest_));
    before_ = newest_;
    if (!confirmed || newest_ < times_.end) return;
    if (!times_.begin) times_.begin = newest_;
    times_.end = newest_;
    if (of_first_step_) times_.first_step = newest_;
  }

  WallTimes times_;
  std::optional<double> before_, newest_;
  bool of_first_step_ = false;  ///< the newest
};

/// Calls `visit(number, text)` for each line of the source, numbers from 1.
template <class Visit>
Result<void> for_lines(ByteSource& source, Visit visit) {
  std::array<char, 1 << 16> block;
  std::string line;
  std::int64_t number = 1;
  while (true) {
    const auto got = source.read(block);
    if (!got) return tl::unexpected(got.error());
    if (*got == 0) break;
    std::string_view rest(block.data(), *got);
    while (!rest.empty()) {
      const auto end = rest.find('\n');
      const auto part = rest.substr(0, end);
      line += part.substr(0, kLongestLine - std::min(kLongestLine, line.size()));
      if (end == rest.npos) break;
      visit(number++, line);
      line.clear();
      rest.remove_prefix(end + 1);
    }
  }
  if (!line.empty()) visit(number, line);
  return {};
}

}  // namespace

Result<std::vector<JobLog>> read_jobs(const std::string& path) {
  std::error_code none;
  const auto type = std::filesystem::status(path, none).type();
  const bool missing = type == std::filesystem::file_type::not_found && path != "-";
  if (!missing && type != std::filesystem::file_type::regular) {
    return fail(path, "is no regular file, and the times in a log are read in a second pass",
                "write it to a file and name that");
  }
  auto runs = read_log(path, {});
  if (!runs) return tl::unexpected(runs.error());
  std::vector<JobLog> jobs;
  for (auto& run : *runs) {
    jobs.push_back({std::move(run), {}});
    const RunLog& log = jobs.back().log;
    if (!log.off_clock.empty()) jobs.back().stamps.assign(log.records.size(), kUnknown);
  }
  std::ranges::stable_sort(jobs, {}, [](const JobLog& job) { return job.log.first_line; });
  auto source = open_source(path);
  if (!source) return tl::unexpected(source.error());
  std::size_t next = 0;  // job that has not begun
  std::vector<StampsOfJob> stamps(jobs.size());
  const auto done = for_lines(**source, [&](std::int64_t number, std::string_view text) {
    while (next < jobs.size() && (next == 0 || jobs[next].log.first_line <= number)) ++next;
    const auto stamp = stamp_at_front(text);
    if (!stamp) return;
    const auto& records = jobs[next - 1].log.records;
    if (auto& of_records = jobs[next - 1].stamps; !of_records.empty()) {
      const auto record = std::ranges::lower_bound(records, number, {}, &Record::line);
      if (record != records.end() && record->line == number) {
        of_records[static_cast<std::size_t>(record - records.begin())] = *stamp;
      }
    }
    stamps[next - 1].add(*stamp, !records.empty() && records.front().line == number);
  });
  if (!done) return tl::unexpected(done.error());
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].wall = stamps[i].finish();
  return jobs;
}

namespace {

using Json = nlohmann::ordered_json;

constexpr GoodputPart part_at(std::size_t i) { return static_cast<GoodputPart>(i); }

std::string date_text(double seconds) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}",
                     fmt::gmtime(static_cast<std::time_t>(std::floor(seconds))));
}

Json seconds_json(const GoodputSeconds& seconds) {
  Json out = Json::object();
  for (std::size_t i = 0; i < kGoodputParts; ++i) {
    if (seconds[i] > 0) out[std::string(name(part_at(i)))] = seconds[i];
  }
  return out;
}

std::string seconds_text(double seconds) {
  return seconds >= 1000 ? fmt::format("{:.0f}", seconds) : fmt::format("{:.2f}", seconds);
}

}  // namespace

Table goodput_table(const Goodput& goodput) {
  Table table{columns_of({"where the time went", ">seconds", ">share"})};
  for (std::size_t i = 0; i < kGoodputParts; ++i) {
    const double seconds = goodput.seconds[i];
    if (!(seconds > 0)) continue;
    table.rows.push_back({std::string(meaning(part_at(i))), seconds_text(seconds),
                          percent_text(seconds / goodput.total_s, 2)});
  }
  table.rows.push_back({"all", seconds_text(goodput.total_s), percent_text(1, 2)});
  return table;
}

Table goodput_jobs_table(const Goodput& goodput) {
  Table table{columns_of(
      {"job", "began", ">seconds", ">steps", ">lost", ">in steps that counted", "ended"})};
  for (const auto& job : goodput.jobs) {
    const double took = job.end_s - job.begin_s;
    const double counted = job.seconds[static_cast<std::size_t>(GoodputPart::counted)];
    table.rows.push_back(
        {job.line > 1 ? fmt::format("{}:{}", job.path, job.line) : job.path,
         job.began ? date_text(*job.began) : "-", seconds_text(took),
         job.steps ? fmt::format("{} .. {}", job.steps->first + 1, job.steps->last) : "-",
         std::to_string(job.lost_steps), took > 0 ? percent_text(counted / took, 1) : "-",
         std::string(name(job.outcome.status))});
  }
  return table;
}

plot::Figure goodput_figure(const Goodput& goodput) {
  constexpr double kNarrowestDrawn = 0.0005;  // of the width: less would not show
  constexpr double kHour = 3600;
  const bool hours = goodput.total_s > 2 * kHour;
  const double unit = hours ? kHour : 1;
  plot::Figure figure;
  figure.id = "goodput";
  figure.title =
      fmt::format("{} of the wall time in steps that counted", percent_text(goodput.share(), 1));
  figure.x.label = hours ? "hours since the first job began" : "seconds since the first job began";
  figure.x.high = goodput.total_s / unit;
  figure.width = 900;
  const auto jobs = std::min(goodput.jobs.size(), kMostJobsShown);
  figure.height = 120 + 18 * static_cast<int>(jobs);
  for (std::size_t part = 0; part < kGoodputParts; ++part) {
    plot::Series series{
        std::string(meaning(part_at(part))), static_cast<int>(part), plot::Mark::spans, {}};
    for (std::size_t i = 0; i < jobs; ++i) {
      for (const auto& span : goodput.jobs[i].spans) {
        const double length = span.end_s - span.begin_s;
        if (span.part != part_at(part) || length < kNarrowestDrawn * goodput.total_s) continue;
        plot::Point point;
        point.x = span.begin_s / unit;
        point.y = static_cast<double>(i);
        point.interval = {{span.begin_s / unit, span.end_s / unit}};
        point.tip = fmt::format("{}: {} s of {}", goodput.jobs[i].path, seconds_text(length),
                                meaning(part_at(part)));
        series.points.push_back(std::move(point));
      }
    }
    if (!series.points.empty()) figure.series.push_back(std::move(series));
  }
  for (std::size_t i = 0; i < jobs; ++i) {
    figure.y.rows.push_back(goodput.jobs[i].began ? date_text(*goodput.jobs[i].began)
                                                  : fmt::format("job {}", i + 1));
  }
  return figure;
}

Json goodput_json(const Goodput& goodput) {
  Json out = {{"schema", "bertbench.goodput/1"},
              {"total_s", goodput.total_s},
              {"goodput", goodput.share()},
              {"steps", {{"counted", goodput.counted_steps}, {"lost", goodput.lost_steps}}},
              {"seconds", seconds_json(goodput.seconds)},
              {"between_known", goodput.between_known},
              {"jobs", Json::array()}};
  if (goodput.missing_steps > 0) out["steps"]["missing"] = goodput.missing_steps;
  for (const auto& job : goodput.jobs) {
    Json one = {{"log", job.path}};
    if (job.line > 1) one["line"] = job.line;
    if (job.began) one["began"] = date_text(*job.began);
    one["begin_s"] = job.begin_s;
    one["end_s"] = job.end_s;
    if (job.steps) {
      one["steps"] = {{"first", job.steps->first + 1},
                      {"last", job.steps->last},
                      {"counted", job.counted_steps},
                      {"lost", job.lost_steps}};
    }
    one["seconds"] = seconds_json(job.seconds);
    one["outcome"] = name(job.outcome.status);
    out["jobs"].push_back(std::move(one));
  }
  if (!goodput.left_out.empty()) out["left_out"] = goodput.left_out;
  if (!goodput.notices.empty()) out["notices"] = texts_of(goodput.notices);
  return out;
}

std::string goodput_html(const Goodput& goodput, const std::string& title) {
  std::string body =
      html::section("Goodput", "<div class=\"plots\">" +
                                   html::figure_element(goodput_figure(goodput)) + "</div>\n");
  std::string parts = html::sortable_table({goodput_table(goodput), "parts", "parts"});
  for (const Notice& notice : goodput.notices) parts += html::small(text_of(notice));
  body += html::section("Where the time went", parts);
  body +=
      html::section("Jobs", html::sortable_table({goodput_jobs_table(goodput), "jobs", "jobs"}));
  return html::page_of(title, body);
}

}  // namespace bertbench
