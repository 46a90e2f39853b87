// Hostile text in every field that can hold text, through every output: it stays text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "parsers/core/text.h"
#include "reports/gate/paired.h"
#include "reports/output/gate_reports.h"
#include "reports/output/markup.h"
#include "reports/output/plot/figures.h"
#include "reports/output/plot/svg.h"
#include "tests/reports/result_files.h"
#include "tests/reports/samples.h"
#include "tests/reports/xml_check.h"

namespace bertbench {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Attack {
  const char* name;
  std::string text;
};

const std::vector<Attack>& attacks() {
  static const std::vector<Attack> kAll = {
      {"script", "<script>alert(1)</script>"},
      {"attribute", "\"><img src=x onerror=alert(1)>' onload='alert(2)"},
      {"script_end", "</script></style></title><svg/onload=alert(1)>"},
      {"comment", "--><!--]]>&#60;script&#62;"},
      {"formula", "=HYPERLINK(\"http://evil.example\",\"x\")"},
      {"formula_plus", "+1+cmd|' /C calc'!A0"},
      {"formula_at", "@SUM(1+1)"},
      {"formula_minus", "  -2+3+cmd|'x'!A0"},
      {"colour", "\x1b[31mred\x1b[2J\x1b]0;title\x07"},
      {"c1",
       "\xC2\x9B"
       "31mred\xC2\x9D"},
      {"bidi",
       "abc\xE2\x80\xAE"
       "cba\xE2\x81\xA6x\xD8\x9C"},
      {"delete",
       "a\x7F"
       "b"},
      {"workflow_command", "x\r\n::error title=forged::forged\n::set-output name=a::b"},
      {"label", "a\"} 1\nforged{b=\"\\"},
      {"markdown", "[link](http://evil.example) `code` **bold** | pipe\n# heading\n```"},
      {"template", "{{7*7}} ${7*7} {0} %s %n"},
      {"broken_utf8", "\xff\xfe\xC3(\xED\xA0\x80"},
      {"noncharacter", "\xEF\xBF\xBF\xEF\xBF\xBE"},
      {"zero", std::string("a\0b", 3)},
  };
  return kAll;
}

/// A set with two topologies, so that plots are drawn, and the text in every field that holds text.
ResultSet attacked(const std::string& text) {
  std::vector<Cell> cells;
  for (const std::int64_t number : {1, 2, 8, -1, -2, -8}) {  // below 0: of the other variant
    const std::int64_t gpus = std::abs(number);
    Identity identity = samples::identity(1, gpus);
    identity.model = text;
    identity.framework = text;
    identity.precision = text;
    identity.axes = {
        {"optimizer", text}, {text, "1"}, {kVariantAxis, number > 0 ? text : text + "2"}};
    const auto rate = static_cast<double>(gpus) * 100;
    Cell cell = samples::cell(identity, {rate, rate * 1.01, rate * 0.99, rate, rate, rate});
    cell.gpu = text;
    for (Trial& trial : cell.trials) {
      trial.block = BlockPlace{1, 1};
      trial.log = text;
      trial.format = text;
      trial.estimator = text;
      trial.estimators = {{text, rate}, {"total_time", rate * 0.9}};
      trial.window.rule = text;
      trial.window.chosen_by = text;
      trial.notices = {foreign_notice(3, text)};
      trial.memory = MemoryRecord{1, 2, text};
      trial.iterations_file = text;
    }
    cell.trials[0].outcome = {
        .status = Status::nan, .step = 7, .line = 8, .details = {log_line(text)}};
    cells.push_back(std::move(cell));
  }
  ResultSet set = samples::result_set(std::move(cells));
  for (Cell& cell : set.cells) cell.warnings.push_back(foreign_notice(0, text));
  *set.environment = {{"cpu", text}};
  (*set.environment)[nlohmann::ordered_json(text).dump(
      -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)] = {text};
  set.tool.version = set.tool.commit = set.created = text;
  return set;
}

/// No byte that a terminal acts on; line ends only where the format has them.
void expect_printable(const std::string& text, const std::string& what) {
  std::string flat;
  for (const char c : text) {
    if (c != '\n' && c != '\r') flat += c;
  }
  // After a letter, as an annotation begins with "::" for a reason.
  EXPECT_EQ(escape_for_terminal("x" + flat), "x" + flat)
      << what
      << ": text of a log is written by escape_for_terminal(), and no column is set by tabs";
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

class HostileText : public testing::TestWithParam<std::size_t> {
 protected:
  const Attack& attack() const { return attacks()[GetParam()]; }
  ResultSet set() const { return attacked(attack().text); }
  ResultSet harmless() const { return attacked("plain"); }
  std::string rendered(const std::string& report, const ResultSet& what,
                       const ResultSet* baseline = nullptr) const {
    ReportOptions options;
    options.title = options.baseline_name = options.result_name = attack().text;
    options.baseline = baseline;
    options.companion_stem = "x";
    return render_text(**find_report(report), what, options);
  }
};

TEST_P(HostileText, NoReportHoldsWhatATerminalActsOn) {
  const ResultSet attacked_set = set();
  for (const Report* report : all_reports()) {
    const std::string name(report->name);
    std::string text = rendered(name, attacked_set, &attacked_set);
    // The page's own style and scripts are not text of a log.
    if (name == "html") {
      for (const auto& [open, close] :
           {std::pair{"<style>", "</style>"}, {"<script>", "</script>"}}) {
        for (std::size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
          text.erase(at, text.find(close, at) - at + std::string(close).size());
        }
      }
    }
    expect_printable(text, name);
  }
}

TEST_P(HostileText, HtmlHasTheElementsOfTheHarmlessPageAndNoOther) {
  const ResultSet bad = set(), good = harmless();
  const std::string page = rendered("html", bad, &bad), plain = rendered("html", good, &good);
  for (const char* part : {"<script", "</script", "<style", "<svg", "</title", "<!--", "<a "}) {
    EXPECT_EQ(count_of(page, part), count_of(plain, part)) << part;
  }
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  for (const auto& figures : plot::scaling_figures(bad)) {
    for (const plot::Figure& figure : figures) {
      const std::string svg = plot::svg_file(figure);
      EXPECT_EQ(xml::parse("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + svg).error, "");
      expect_printable(svg, "svg");
    }
  }
}

TEST_P(HostileText, NamesOfVariantsStayTextInThePlotsOfPairs) {
  const ResultSet bad = set();
  const auto found = plot::pair_figures(check_paired(bad, attack().text, {}), bad);
  ASSERT_EQ(found.figures.size(), 3U);
  for (const plot::Figure& figure : found.figures) {
    const std::string svg = plot::svg_file(figure);
    EXPECT_EQ(xml::parse("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + svg).error, "");
    expect_printable(svg, "svg");
  }
}

TEST_P(HostileText, MarkdownHoldsNoMarkup) {
  const ResultSet bad = set(), good = harmless();
  const std::string text = rendered("markdown", bad, &bad),
                    plain = rendered("markdown", good, &good);
  for (const char* part :
       {"<script", "<img", "<svg", "</", "<!--", "](http", "`code`", "**bold**"}) {
    EXPECT_THAT(text, Not(HasSubstr(part)));
  }
  EXPECT_EQ(count_of(text, "\n# "), count_of(plain, "\n# "));
  EXPECT_EQ(count_of(text, "\n```"), 0U);
}

TEST_P(HostileText, NoFieldOfACsvIsAFormula) {
  for (const char* report : {"csv", "csv-trials", "csv-iterations"}) {
    const std::string text = rendered(report, set());
    bool quoted = false, at_start = true;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '"') {
        quoted = !quoted;
        continue;
      }
      const bool separator = !quoted && (c == ',' || c == '\n' || c == '\r');
      if (at_start && !separator && std::string("=+@\t").find(c) != std::string::npos) {
        ADD_FAILURE() << report << ": a field begins with " << c << " at " << text.substr(i, 40);
      }
      at_start = separator;
    }
    EXPECT_FALSE(quoted) << report;
  }
}

TEST_P(HostileText, JsonGivesBackWhatWentIn) {
  for (const char* report : {"json", "dlperf"}) {
    const auto json = nlohmann::json::parse(rendered(report, set()), nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << report;
  }
  const auto json = nlohmann::json::parse(rendered("json", set()));
  const std::string utf8 = nlohmann::json::parse(
      nlohmann::json(attack().text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  EXPECT_EQ(json["cells"][0]["model"].get<std::string>(), utf8);
  EXPECT_EQ(json["cells"][0]["trials"][0]["log"].get<std::string>(), utf8);
}

TEST_P(HostileText, XmlIsWellFormedWithTheElementsOfTheHarmlessOne) {
  const auto bad = xml::parse(rendered("junit", set())),
             good = xml::parse(rendered("junit", harmless()));
  EXPECT_EQ(bad.error, "");
  EXPECT_EQ(bad.elements.size(), good.elements.size());
}

TEST_P(HostileText, EveryLineOfThePrometheusTextIsACommentOrASample) {
  const std::string text = rendered("prometheus", set());
  for (const std::string_view line : split(text, '\n')) {
    EXPECT_TRUE(line.empty() || line.starts_with("# ") || line.starts_with("bertbench_")) << line;
    EXPECT_TRUE(line.empty() || line.starts_with("# ") ||
                to_double(line.substr(line.rfind(' ') + 1)).has_value())
        << line;
  }
}

TEST_P(HostileText, OutputsOfTheGateForgeNothing) {
  ResultSet slow = set();
  for (Cell& cell : slow.cells) {
    for (Trial& trial : cell.trials) *trial.sequences_per_second *= 0.5;
  }
  slow.cells.pop_back();
  const GateReport report = check(slow, set());
  ASSERT_EQ(report.exit_status, 1);
  const std::string commands = github_annotations(report, {});
  std::size_t lines = 0;
  for (const std::string_view line : split(commands, '\n')) {
    if (line.empty()) continue;
    ++lines;
    EXPECT_TRUE(line.starts_with("::error title=") || line.starts_with("::notice title=") ||
                line.starts_with("::warning title="))
        << line;
  }
  EXPECT_EQ(lines, static_cast<std::size_t>(std::count(commands.begin(), commands.end(), '\n')));
  EXPECT_EQ(count_of(commands, "\n::error") + (commands.starts_with("::error") ? 1 : 0),
            set().cells.size());
  expect_printable(commands, "annotations");
  const auto junit = xml::parse(gate_junit(report, {}, attack().text));
  EXPECT_EQ(junit.error, "");
  EXPECT_EQ(junit.named("testcase").size(), set().cells.size());
  EXPECT_EQ(junit.named("failure").size(), set().cells.size());
  const std::string page = gate_markdown(report, attack().text);
  expect_printable(page, "summary");
  for (const char* part : {"<script", "<img", "](http", "`code`"}) {
    EXPECT_THAT(page, Not(HasSubstr(part)));
  }
}

INSTANTIATE_TEST_SUITE_P(Attacks, HostileText, testing::Range<std::size_t>(0, attacks().size()),
                         [](const auto& i) { return std::string(attacks()[i.param].name); });

TEST(PrintableJson, EscapesOnlyWhatATerminalActsOn) {
  EXPECT_EQ(printable_json("{\"a\": \"\xC3\xA9\xC2\x9B\xE2\x80\xAE\x7F\xE2\x82\xAC\"}"),
            "{\"a\": \"\xC3\xA9\\u009b\\u202e\\u007f\xE2\x82\xAC\"}");
  EXPECT_EQ(printable_json("{}"), "{}");
}

}  // namespace
}  // namespace bertbench
