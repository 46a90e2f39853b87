#include <fmt/format.h>

#include <ostream>

#include "parsers/core/text.h"
#include "reports/output/junit_xml.h"
#include "reports/output/markup.h"
#include "reports/output/report.h"
#include "reports/output/value_text.h"

namespace bertbench::report_junit {
namespace {

std::string message(const Outcome& outcome) {
  std::string text(name(outcome.status));
  if (outcome.step) text += fmt::format(" at step {}", *outcome.step);
  if (!outcome.details.empty()) text += ": " + detail_text(outcome);
  return text;
}

/// All attempts of one trial, first to last. The last one decides; earlier ones are retries,
/// written as Maven Surefire does (flakyFailure when the trial passed in the end, rerunFailure when
/// not).
void test_case(const Cell& cell, const std::vector<const Trial*>& attempts, JunitCounts& counts,
               std::string& out) {
  const Trial& last = *attempts.back();
  const bool failed = ended_badly(last.outcome.status);
  const bool unmeasured = !failed && !last.window.covered;
  ++counts.tests;
  counts.failures += failed ? 1 : 0;
  counts.skipped += unmeasured ? 1 : 0;
  out += "    <testcase" + junit_attribute("classname", cell.key) +
         junit_attribute("name", fmt::format("trial {}", last.trial)) + ">\n";
  const auto element = [&](const char* tag, const Outcome& outcome) {
    std::string where = last.log;
    if (outcome.line > 0) where += fmt::format(":{}", outcome.line);
    out += fmt::format("      <{}", tag) + junit_attribute("type", name(outcome.status)) +
           junit_attribute("message", message(outcome)) + ">" + escape_markup(where) +
           fmt::format("</{}>\n", tag);
  };
  if (failed) element("failure", last.outcome);
  const char* retry = failed ? "rerunFailure" : "flakyFailure";
  for (std::size_t i = 0; i + 1 < attempts.size(); ++i) element(retry, attempts[i]->outcome);
  // A result set may keep only the attempt that counts.
  for (auto i = static_cast<int>(attempts.size()); i < last.attempt; ++i)
    out += fmt::format("      <{}", retry) + junit_attribute("type", "retried") +
           junit_attribute("message", "an earlier attempt did not complete") + "/>\n";
  if (unmeasured)
    out +=
        "      <skipped" +
        junit_attribute("message", last.outcome.status == Status::no_data
                                       ? message(last.outcome)
                                       : "the log does not cover the window " + last.window.rule) +
        "/>\n";
  std::vector<std::pair<std::string, std::string>> facts;
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) facts.emplace_back(name, text);
  };
  if (last.sequences_per_second) {
    add("sequences_per_second", shortest(*last.sequences_per_second));
  }
  add("estimator", last.estimator);
  if (last.memory && last.memory->peak_bytes > 0) {
    add("peak_memory_bytes", std::to_string(last.memory->peak_bytes));
    add("memory_source", last.memory->source);
  }
  add("window", last.window.rule);
  add("simulated", last.simulated ? "true" : "");
  add("attempts", std::to_string(last.attempt));
  add("log", last.log);
  out += junit_output(facts) + "    </testcase>\n";
}

void render(const ResultSet& set, const ReportOptions& options, std::ostream& out) {
  JunitCounts counts;
  std::string body;
  for (const Cell& cell : set.cells) {
    std::map<int, std::vector<const Trial*>> trials;
    for (const Trial& trial : cell.trials) trials[trial.trial].push_back(&trial);
    // Logs without a trial number of their own may share one: those are no retries.
    for (auto& [number, attempts] : trials) {
      bool retries = true;
      for (std::size_t i = 1; i < attempts.size(); ++i)
        retries = retries && attempts[i]->attempt > attempts[i - 1]->attempt;
      if (retries) {
        test_case(cell, attempts, counts, body);
      } else {
        for (const Trial* trial : attempts) test_case(cell, {trial}, counts, body);
      }
    }
  }
  out << junit_file(options.title, counts, set.created, body);
}

}  // namespace

extern const Report entry{"junit", "one test case per trial, for CI systems", ".junit.xml",
                          &render};

}  // namespace bertbench::report_junit
