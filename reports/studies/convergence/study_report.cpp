#include "reports/studies/convergence/study_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "parsers/core/text.h"
#include "reports/model/json_put.h"
#include "reports/output/csv.h"
#include "reports/output/html/sections.h"

namespace bertbench {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : std::string();
}
std::string text_of(const std::optional<double>& value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : std::string();
}

Json json_of(const Checkpoint& row) {
  Json json = Json::object();
  put(json, "step", row.step);
  put(json, "phase", row.phase);
  put(json, "sequence_length", row.sequence_length);
  put(json, "from_step", row.from_step);
  put(json, "hours", row.hours);
  if (row.hours_calculated) json["hours_calculated"] = true;
  put(json, "seconds_per_step", row.seconds_per_step);
  put(json, "epochs", row.epochs);
  put(json, "seed", row.seed);
  put(json, "exact_match", row.exact_match);
  put(json, "f1", row.f1);
  if (!row.source.empty()) json["source"] = row.source;
  return json;
}

const char* kHowMade =
    "hours marked with * are calculated from steps and seconds a step; s/step is what hours and "
    "steps of a row imply for its last phase";

}  // namespace

Table study_table(const Study& study) {
  Table table{columns_of({">step", ">phase", ">sequence length", ">from step", ">hours", ">s/step",
                          ">epochs", ">seed", ">exact match", ">F1"})};
  for (const Checkpoint& row : study.checkpoints) {
    table.rows.push_back({text_of(row.step), text_of(row.phase), text_of(row.sequence_length),
                          text_of(row.from_step),
                          text_of(row.hours, 2) + (row.hours_calculated ? "*" : ""),
                          text_of(row.seconds_per_step, 2), row.epochs ? shortest(*row.epochs) : "",
                          row.seed.value_or(""), text_of(row.exact_match, 2), text_of(row.f1, 2)});
  }
  std::vector<Constant> empty_or_constant;
  Table shown = varying_columns(table, {"step", "hours", "exact match", "F1", "phase"},
                                empty_or_constant, false);
  return shown;
}

Table stability_table(const Study& study) {
  Table table{columns_of({">step", ">from step", ">phase", ">epochs", ">seeds", ">EM mean",
                          ">EM sd", ">F1 mean", ">F1 sd"})};
  for (const Stability& group : study.stability) {
    table.rows.push_back(
        {text_of(group.of.step), text_of(group.of.from_step), text_of(group.of.phase),
         group.of.epochs ? shortest(*group.of.epochs) : "", std::to_string(group.n),
         text_of(group.exact_match_mean, 3), text_of(group.exact_match_stddev, 3),
         text_of(group.f1_mean, 3), text_of(group.f1_stddev, 3)});
  }
  return filled_columns(table);
}

Json study_json(const Study& study) {
  Json rows = Json::array();
  for (const Checkpoint& row : study.checkpoints) rows.push_back(json_of(row));
  Json groups = Json::array();
  for (const Stability& group : study.stability) {
    Json json = json_of(group.of);
    json.erase("exact_match");
    json.erase("f1");
    json["n"] = group.n;
    put(json, "exact_match_mean", group.exact_match_mean);
    put(json, "exact_match_stddev", group.exact_match_stddev);
    put(json, "f1_mean", group.f1_mean);
    put(json, "f1_stddev", group.f1_stddev);
    groups.push_back(std::move(json));
  }
  Json notices = Json::array();
  for (const Notice& notice : study.notices) notices.push_back(text_of(notice));
  return {{"schema", "bertbench.convergence/1"},
          {"checkpoints", rows},
          {"stability", groups},
          {"notices", notices}};
}

std::string study_csv(const Study& study) {
  std::vector<Json> rows;
  for (const Checkpoint& row : study.checkpoints) rows.push_back(csv_flat(json_of(row)));
  return csv_document({"step", "phase", "sequence_length", "from_step", "hours", "epochs", "seed",
                       "exact_match", "f1", "seconds_per_step", "source"},
                      rows);
}

std::string study_html(const Study& study, const std::string& title) {
  std::string body;
  std::string plots;
  for (const plot::Figure& figure : study_figures(study)) plots += html::figure_element(figure);
  if (!plots.empty()) plots = "<div class=\"plots\">" + plots + "</div>\n";
  body += html::section("Convergence", plots);
  const Table rows = study_table(study);
  body += html::section("Checkpoints", html::sortable_table({rows, "checkpoints", "checkpoints"}) +
                                           html::small(kHowMade));
  const Table stability = stability_table(study);
  if (!stability.rows.empty()) {
    body += html::section("Stability over seeds",
                          html::sortable_table({stability, "stability", "groups"}) +
                              html::small("sd: standard deviation, n - 1"));
  }
  return html::page_of(title, body);
}

std::string study_markdown(const Study& study, const std::string& title, const std::string& stem) {
  std::string out = "# " + markdown_text(title) + "\n\n" + markdown_table(study_table(study)) +
                    "\n" + kHowMade + "\n";
  for (const plot::Figure& figure : study_figures(study)) {
    out += markdown_picture(figure.title, stem + "-" + figure.id + ".svg");
  }
  const Table stability = stability_table(study);
  if (!stability.rows.empty()) {
    out += "\n## Stability over seeds\n\n" + markdown_table(stability) +
           "\nsd: standard deviation, n - 1\n";
  }
  return out;
}

}  // namespace bertbench
