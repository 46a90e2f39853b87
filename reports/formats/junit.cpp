#include <fmt/format.h>

#include <ostream>

#include "parsers/core/text.h"
#include "reports/markup.h"
#include "reports/present.h"
#include "reports/report.h"

namespace bertbench {
namespace {

std::string attribute(const char* name, std::string_view value) {
  return fmt::format(" {}=\"{}\"", name, escape_markup(value));
}

void property(const char* name, const std::string& value, std::string& out) {
  out += "        <property" + attribute("name", name) + attribute("value", value) + "/>\n";
}

std::string message(const Outcome& outcome) {
  std::string text(name(outcome.status));
  if (outcome.step) text += fmt::format(" at step {}", *outcome.step);
  if (!outcome.detail.empty()) text += ": " + outcome.detail;
  return text;
}

struct Counts {
  int tests = 0, failures = 0, skipped = 0;
};

/// All attempts of one trial, first to last. The last one decides; earlier ones are retries,
/// written as Maven Surefire does (flakyFailure when the trial passed in the end, rerunFailure when
/// not).
void test_case(const Cell& cell, const std::vector<const Trial*>& attempts, Counts& counts,
               std::string& out) {
  const Trial& last = *attempts.back();
  const bool failed = is_failure(last.outcome.status);
  const bool unmeasured = !failed && !last.window.covered;
  ++counts.tests;
  counts.failures += failed ? 1 : 0;
  counts.skipped += unmeasured ? 1 : 0;
  out += "    <testcase" + attribute("classname", cell.key) +
         attribute("name", fmt::format("trial {}", last.trial)) + ">\n      <properties>\n";
  if (last.sequences_per_second)
    property("sequences_per_second", shortest(*last.sequences_per_second), out);
  if (!last.estimator.empty()) property("estimator", last.estimator, out);
  if (!last.window.rule.empty()) property("window", last.window.rule, out);
  property("attempts", std::to_string(last.attempt), out);
  if (!last.log.empty()) property("log", last.log, out);
  out += "      </properties>\n";
  const auto element = [&](const char* tag, const Outcome& outcome) {
    std::string where = last.log;
    if (outcome.line > 0) where += fmt::format(":{}", outcome.line);
    out += fmt::format("      <{}", tag) + attribute("type", name(outcome.status)) +
           attribute("message", message(outcome)) + ">" + escape_markup(where) +
           fmt::format("</{}>\n", tag);
  };
  if (failed) element("failure", last.outcome);
  const char* retry = failed ? "rerunFailure" : "flakyFailure";
  for (std::size_t i = 0; i + 1 < attempts.size(); ++i) element(retry, attempts[i]->outcome);
  // A result set may keep only the attempt that counts.
  for (auto i = static_cast<int>(attempts.size()); i < last.attempt; ++i)
    out += fmt::format("      <{}", retry) + attribute("type", "retried") +
           attribute("message", "an earlier attempt did not complete") + "/>\n";
  if (unmeasured)
    out += "      <skipped" +
           attribute("message", "the log does not cover the window " + last.window.rule) + "/>\n";
  out += "    </testcase>\n";
}

Result<void> render(const ResultSet& set, const ReportOptions& options, std::ostream& out) {
  Counts counts;
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
  const std::string sums = fmt::format(" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\"",
                                       counts.tests, counts.failures, counts.skipped);
  const std::string title = options.title.empty() ? "bertbench" : options.title;
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" << attribute("name", title)
      << sums << ">\n  <testsuite" << attribute("name", title) << sums;
  if (!set.created.empty()) out << attribute("timestamp", set.created);
  out << ">\n" << body << "  </testsuite>\n</testsuites>\n";
  return {};
}

}  // namespace

extern const Report report_junit;
const Report report_junit{"junit", "one test case per trial, for CI systems", ".junit.xml",
                          &render};

}  // namespace bertbench
