#include "tests/parsers/run_log_text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "parsers/core/each_fact.h"

namespace bertbench {
namespace {

using Json = nlohmann::ordered_json;

void put(Json& json, const char* key, double value) {
  if (!std::isnan(value)) json[key] = value;
}
template <class T>
void put(Json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}
template <class T>
void put(Json& json, const char* key, const Fact<T>& fact) {
  if (fact.known()) json[key] = *fact.value;
}

Json record_json(const Record& record) {
  Json json = {{"step", record.step}, {"iterations", record.iterations}, {"line", record.line}};
  put(json, "seconds", record.seconds);
  put(json, "time_s", record.time_s);
  put(json, "first_time_s", record.first_time_s);
  put(json, "printed_rate", record.printed_rate);
  put(json, "printed_first", record.printed_first);
  put(json, "loss", record.loss);
  put(json, "rank_spread", record.rank_spread);
  if (record.merged != 1) json["merged"] = record.merged;
  return json;
}

}  // namespace

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

nlohmann::ordered_json to_test_json(const RunLog& run) {
  constexpr const char* kUnits[] = {"unknown",  "micro_step",       "optimizer_step", "epoch",
                                    "sequence", "process_sequence", "token"};
  Json json = {{"format", run.format},
               {"kind", name(run.kind)},
               {"first_line", run.first_line},
               {"iteration_unit", kUnits[static_cast<int>(run.iteration_unit)]},
               {"rate_unit", name(run.rate_unit)},
               {"outcome", name(run.outcome.status)},
               {"outcome_line", run.outcome.line},
               {"outcome_detail", detail_text(run.outcome)}};
  put(json, "outcome_step", run.outcome.step);
  put(json, "first_nan_step", run.first_nan_step);
  put(json, "clock_resolution_s", run.clock_resolution_s);
  json["clock_is_wall"] = run.clock_is_wall;
  Json& facts = json["facts"] = Json::object();
  for_each_fact(run.facts, run.facts,
                [&](const char* key, const auto& fact, const auto&) { put(facts, key, fact); });
  put(facts, "world_size", run.facts.world_size);
  put(facts, "global_batch_size", run.facts.global_batch_size);
  if (run.summary) {
    json["summary"] = {{"value", run.summary->value},
                       {"unit", name(run.summary->unit)},
                       {"line", run.summary->line}};
  }
  Json& totals = json["totals"] = Json::object();
  put(totals, "training_s", run.totals.training_s);
  put(totals, "wall_s", run.totals.wall_s);
  put(totals, "iterations", run.totals.iterations);
  put(totals, "optimizer_steps", run.totals.optimizer_steps);
  put(totals, "skipped_steps", run.totals.skipped_steps);
  put(totals, "sequences", run.totals.sequences);
  if (run.memory) json["peak_bytes"] = run.memory->peak_bytes;
  json["notices"] = Json::array();
  for (const Notice& notice : run.notices) {
    json["notices"].push_back({{"line", notice.line}, {"text", text_of(notice)}});
  }
  json["records_seen"] = run.records_seen;
  json["records"] = Json::array();
  for (const Record& record : run.records) json["records"].push_back(record_json(record));
  return json;
}

std::vector<std::int64_t> ends_of(const std::vector<RunLog>& runs) {
  std::vector<std::int64_t> out;
  for (const RunLog& run : runs) {
    for (const Record& record : run.records) out.push_back(record.end_byte);
  }
  return out;
}

std::string to_test_text(const std::vector<RunLog>& runs) {
  std::string out;
  for (const RunLog& run : runs) {
    // A record a line, so that a changed golden file can be read.
    Json json = to_test_json(run);
    const Json records = json["records"];
    json.erase("records");
    out += json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
    for (const Json& record : records) out += record.dump() + "\n";
  }
  return out;
}

std::vector<RunLog> read_text(std::string_view text, const ReadOptions& options) {
  LogReader reader(options, "test.log");
  reader.feed(text);
  return reader.finish();
}

std::vector<RunLog> read_text_cut(std::string_view text, std::size_t cut) {
  LogReader reader({}, "test.log");
  reader.feed(text.substr(0, cut));
  reader.feed(text.substr(cut));
  return reader.finish();
}

std::string case_name(std::string_view log) {
  std::string out(log);
  std::ranges::replace_if(
      out, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return out;
}

}  // namespace bertbench
