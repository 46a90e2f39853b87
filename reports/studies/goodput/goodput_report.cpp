#include "reports/studies/goodput/goodput_report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "reports/model/version.h"
#include "reports/output/html/page.h"
#include "reports/output/html/sections.h"
#include "reports/output/plot/svg.h"
#include "reports/output/value_text.h"

namespace bertbench {
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
  Table table{{{"where the time went"}, {"seconds", true}, {"share", true}}, {}};
  for (std::size_t i = 0; i < kGoodputParts; ++i) {
    const double seconds = goodput.seconds[i];
    if (!(seconds > 0) && i > 0) continue;
    table.rows.push_back({std::string(meaning(part_at(i))), seconds_text(seconds),
                          percent_text(seconds / goodput.total_s, 2)});
  }
  table.rows.push_back({"all", seconds_text(goodput.total_s), percent_text(1, 2)});
  return table;
}

Table goodput_jobs_table(const Goodput& goodput) {
  Table table{{{"job"},
               {"began"},
               {"seconds", true},
               {"steps", true},
               {"lost", true},
               {"in steps that counted", true},
               {"ended"}},
              {}};
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
  constexpr double kNarrowest = 0.0005;  // of the width: less would not show
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
        if (span.part != part_at(part) || length < kNarrowest * goodput.total_s) continue;
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
  return out;
}

std::string goodput_html(const Goodput& goodput, const std::string& title) {
  html::PageText page;
  page.title = title;
  page.body +=
      html::section("Goodput", "<div class=\"plots\">" +
                                   html::figure_element(goodput_figure(goodput)) + "</div>\n");
  page.body +=
      html::section("Where the time went",
                    html::sortable_table({goodput_table(goodput), "parts", "parts", {}, {}}));
  page.body += html::section(
      "Jobs", html::sortable_table({goodput_jobs_table(goodput), "jobs", "jobs", {}, {}}));
  page.footer = fmt::format("bertbench {} ({})", tool_version(), tool_commit());
  std::ostringstream out;
  html::write_page(page, out);
  return std::move(out).str();
}

}  // namespace bertbench
