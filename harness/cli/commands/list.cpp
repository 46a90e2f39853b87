// bertbench list: what there is, from the same lists that dispatch uses.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/cli/command.h"
#include "harness/cli/console.h"
#include "harness/cli/help.h"
#include "harness/cli/opened_run.h"
#include "harness/cli/options.h"
#include "harness/cli/output.h"
#include "harness/sweep/plan/launcher.h"
#include "parsers/core/name_hint.h"
#include "parsers/core/notice.h"
#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/reader/log_reader.h"
#include "reports/output/report.h"
#include "reports/output/table.h"
#include "reports/stats/flops.h"
#include "reports/stats/hardware.h"
#include "reports/studies/published/published.h"

namespace bertbench::command_list {
namespace {

using nlohmann::ordered_json;

/// One kind of thing: the rows as objects with the same keys, which are the table's headings too.
struct Kind {
  std::string_view name;
  ordered_json (*rows)();
};

ordered_json formats() {
  ordered_json rows = ordered_json::array();
  for (const Format* format : all_formats()) {
    rows.push_back(
        {{"name", format->name}, {"title", format->title}, {"reference", format->reference}});
  }
  return rows;
}

ordered_json reports() {
  ordered_json rows = ordered_json::array();
  for (const Report* report : all_reports()) {
    rows.push_back(
        {{"name", report->name}, {"title", report->title}, {"extension", report->extension}});
  }
  return rows;
}

ordered_json launchers() {
  ordered_json rows = ordered_json::array();
  for (const Launcher* launcher : all_launchers()) {
    // "use" is "run" for all: the contract keeps the key.
    rows.push_back({{"name", launcher->name},
                    {"title", launcher->title},
                    {"needs", launcher->program},
                    {"use", "run"}});
  }
  return rows;
}

ordered_json models() {
  ordered_json rows = ordered_json::array();
  for (const std::string& name : known_models()) {
    const auto shape = model_shape(name);
    if (!shape) continue;
    rows.push_back({{"name", name},
                    {"layers", shape->layers},
                    {"hidden", shape->hidden},
                    {"heads", shape->heads},
                    {"intermediate", shape->intermediate},
                    {"vocabulary", shape->vocabulary},
                    {"parameters", static_cast<std::int64_t>(parameter_count(*shape))}});
  }
  return rows;
}

ordered_json hardware() {
  ordered_json rows = ordered_json::array();
  for (const Hardware& gpu : known_hardware()) {
    ordered_json row{{"name", gpu.name}};
    for (const std::string_view precision : {"fp32", "tf32", "bf16", "fp16", "fp8"}) {
      ordered_json tflops;  // null: the vendor gives no figure
      for (const Peak& peak : gpu.peaks) {
        if (peak.precision == precision) tflops = peak.tflops;
      }
      row[std::string(precision)] = tflops;
    }
    rows.push_back(row);
  }
  return rows;
}

ordered_json published() {
  ordered_json rows = ordered_json::array();
  for (const std::string& name : published_names()) {
    const auto page = published_values(name, "list");
    if (!page) continue;  // a test reads every one
    rows.push_back({{"name", name},
                    {"title", page->title},
                    {"tables", page->tables.size()},
                    {"rows", page->rows()},
                    {"gpu", page->gpu},
                    {"reference", page->document + ", " + page->repository}});
  }
  return rows;
}

ordered_json notices() {
  ordered_json rows = ordered_json::array();
  for (const NoticeKind& kind : notice_kinds()) {
    ordered_json row{{"code", kind.name}, {"text", kind.text}, {"meaning", kind.meaning}};
    if (!kind.remedy.empty()) row["remedy"] = kind.remedy;
    rows.push_back(std::move(row));
  }
  return rows;
}

constexpr Kind kKinds[] = {{"formats", formats}, {"reports", reports},   {"launchers", launchers},
                           {"models", models},   {"hardware", hardware}, {"published", published},
                           {"notices", notices}};

std::string cell_text(const ordered_json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_float() ? shortest(value.get<double>()) : value.dump();
}

// Sentences do not fit into columns.
void print_notices(Console& console, const ordered_json& rows) {
  constexpr std::size_t kIndent = 11;  // columns: the longest key and two spaces before and after
  for (const ordered_json& row : rows) {
    console.print(fmt::format("{}\n", console.styled(Style::bold, cell_text(row["code"]))));
    for (const auto& [key, value] : row.items()) {
      if (key == "code") continue;
      std::string text = wrap(cell_text(value), kIndent);
      text.replace(2, key.size(), key);  // in the room that the indent leaves
      console.print(text);
    }
  }
}

void print(Console& console, const Kind& kind, const ordered_json& rows) {
  if (kind.name == "notices") return print_notices(console, rows);
  Table table;
  for (const ordered_json& row : rows) {
    std::vector<std::string> cells;
    for (const auto& [key, value] : row.items()) {
      if (key == "reference") continue;  // long: in --json and the docs
      if (table.rows.empty()) table.columns.push_back({key, value.is_number()});
      cells.push_back(cell_text(value));
    }
    table.rows.push_back(std::move(cells));
  }
  console.print(text_table(table));
  if (kind.name == "hardware") console.print("\ndense TFLOP/s of one GPU; - = no figure\n");
}

/// What is missing for a rate; empty where nothing is.
std::string_view lack_of(const FormatFinding& finding) {
  if (finding.records == 0) return "no step of a training";
  return finding.timed ? "" : "no time and no rate";
}

Result<ordered_json> explained(const std::string& log) {
  const auto found = refuse_archive(log).and_then([&] { return explain_log(log); });
  if (!found) return tl::unexpected(found.error());
  ordered_json rows = ordered_json::array();
  for (const FormatFinding& finding : found->formats) {
    const std::string_view lack = lack_of(finding);
    rows.push_back({{"format", finding.format},
                    {"lines", finding.lines},
                    {"records", finding.records},
                    {"lacks", lack.empty() ? ordered_json() : ordered_json(lack)},
                    {"used", finding.used}});
  }
  ordered_json out{{"formats", std::move(rows)}};
  if (found->nearest.empty()) return out;
  for (const NearLine& near : found->nearest) {
    out["nearest"].push_back(
        {{"line", near.line}, {"text", trim(near.text)}, {"what", lack_text(near.lack)}});
  }
  return out;
}

void print_nearest(Console& console, const ordered_json& nearest) {
  console.print("no format reads a rate from this log; nearest to one:\n");
  for (const ordered_json& near : nearest) {
    console.print(wrap(
        fmt::format("line {} {}: {}", near["line"].get<std::int64_t>(),
                    near["what"].get<std::string_view>(), near["text"].get<std::string_view>()),
        4));
  }
}

struct Options {
  std::string kinds, explain;
  OutputOptions output;
};

Result<std::vector<const Kind*>> parse_kinds(const std::string& list) {
  std::vector<const Kind*> chosen;
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  for (const std::string_view word : split(list, ',')) {
    const auto* at = std::find_if(std::begin(kKinds), std::end(kKinds),
                                  [&](const Kind& kind) { return kind.name == word; });
    if (at == std::end(kKinds)) {
      return fail("list", fmt::format("there is no list of '{}'", word),
                  name_hint(word, names, "lists are "));
    }
    chosen.push_back(at);
  }
  return chosen;
}

ExitCode run(const Options& options, Console& console) {
  const auto kinds = parse_kinds(options.kinds);
  if (!kinds) return console.error(kinds.error());
  ordered_json json;
  if (!options.explain.empty()) {
    if (kinds->size() != 1 || kinds->front()->name != "formats") {
      return console.error(
          {"--explain", "is of formats alone", "bertbench list formats --explain LOG"});
    }
    auto found = explained(options.explain);
    if (!found) return console.error(found.error(), ExitCode::nothing_read);
    json = *std::move(found);
  } else {
    for (const Kind* kind : *kinds) json[std::string(kind->name)] = kind->rows();
  }
  return answer(
      console, options.output, ExitCode::good, [&] { return json; },
      [&] {
        for (const Kind* kind : *kinds) {
          if (kinds->size() > 1) {
            console.print(fmt::format("{}{}\n", kind == kinds->front() ? "" : "\n",
                                      console.styled(Style::bold, kind->name)));
          }
          const ordered_json& rows = json[std::string(kind->name)];
          if (!rows.empty()) print(console, *kind, rows);
        }
        if (json.contains("nearest")) print_nearest(console, json["nearest"]);
      });
}

void declare(CommandLine& line, Options& options) {
  line.add_argument(
      "KIND", options.kinds,
      "formats, reports, launchers, models, hardware, published or notices; several with commas.");
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  line.complete("KIND", std::move(names));
  line.add_text("--explain", options.explain, "LOG",
                "With formats: what each one found in this log, and what it lacks for a rate.");
  add_output(line, options.output);
}

constexpr Example kExamples[] = {
    {"bertbench list formats", "Log formats that `extract` knows."},
    {"bertbench list models,hardware --json", "Model shapes and GPU peaks for a script."},
    {"bertbench list formats --explain train.log", "Which formats this log has lines of."},
    {"bertbench list notices", "What each notice means, and what can be done about it."},
};
constexpr ExitCodeRow kStatuses[] = {{ExitCode::good},
                                     {ExitCode::usage},
                                     {ExitCode::nothing_read, "--explain could not read the log"}};

}  // namespace

extern const Command entry{"list",
                           "formats, reports, launchers, models, GPUs, notices and more",
                           "KIND",
                           "Names printed here are what the options of the other commands take.",
                           kExamples,
                           kStatuses,
                           declared<Options, declare, run>};

}  // namespace bertbench::command_list
