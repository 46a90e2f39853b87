// The published schema against what is really written. The validator knows the words that the
// schema uses and fails on any other, so a new word in the schema cannot pass unchecked.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "reports/model/result_io.h"
#include "tests/reports/samples.h"

namespace bertbench {
namespace {

using Json = nlohmann::ordered_json;

class Validator {
 public:
  explicit Validator(const Json& root) : root_(root) {}

  std::vector<std::string> check(const Json& value) {
    errors_.clear();
    check(root_, value, "$");
    return errors_;
  }

 private:
  void error(const std::string& path, const std::string& what) {
    errors_.push_back(path + ": " + what);
  }

  static bool is_type(const Json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    return false;
  }

  void check(const Json& schema, const Json& value, const std::string& path) {
    static const std::set<std::string> kIgnored{"$schema", "title", "description",
                                                "format",  "$defs", "properties"};
    for (const auto& [word, rule] : schema.items()) {
      if (kIgnored.contains(word)) continue;
      if (word == "$ref") {
        check(root_.at(Json::json_pointer(rule.get<std::string>().substr(1))), value, path);
      } else if (word == "type") {
        if (!is_type(value, rule)) error(path, "is no " + rule.get<std::string>());
      } else if (word == "required") {
        for (const auto& key : rule) {
          if (!value.contains(key.get<std::string>()))
            error(path, "lacks " + key.get<std::string>());
        }
      } else if (word == "enum") {
        if (std::ranges::find(rule, value) == rule.end()) error(path, "is not of the list");
      } else if (word == "const") {
        if (value != rule) error(path, "is not " + rule.dump());
      } else if (word == "minimum") {
        if (value.is_number() && value.get<double>() < rule.get<double>())
          error(path, "is too small");
      } else if (word == "exclusiveMinimum") {
        if (value.is_number() && !(value.get<double>() > rule.get<double>()))
          error(path, "is too small");
      } else if (word == "maximum") {
        if (value.is_number() && value.get<double>() > rule.get<double>())
          error(path, "is too large");
      } else if (word == "items") {
        for (std::size_t i = 0; i < value.size(); ++i) {
          check(rule, value[i], path + "[" + std::to_string(i) + "]");
        }
      } else if (word == "propertyNames") {
        for (const auto& [key, part] : value.items()) check(rule, Json(key), path + "." + key);
      } else if (word != "additionalProperties") {
        error(path, "the schema uses an unknown word: " + word);
      }
    }
    if (!value.is_object()) return;
    for (const auto& [key, part] : value.items()) {
      const bool known = schema.contains("properties") && schema["properties"].contains(key);
      if (known) {
        check(schema["properties"][key], part, path + "." + key);
      } else if (schema.contains("additionalProperties")) {
        check(schema["additionalProperties"], part, path + "." + key);
      } else if (schema.contains("properties")) {
        error(path, "the schema does not describe " + key);  // stricter than JSON schema: no typos
      }
    }
  }

  const Json& root_;
  std::vector<std::string> errors_;
};

Json schema() {
  std::ifstream file(BB_SOURCE_DIR "/configs/schema/result.schema.json");
  return Json::parse(file);
}

// Every field of every struct set.
ResultSet full() {
  Cell one = samples::cell(samples::identity(1, 1), {100, 101, 102, 99, 98, 100.5});
  Identity two = samples::identity(2, 8);
  Cell big = samples::cell(two, {1500, 1501, 1502, 1499, 1498, 1500.5});
  Cell mixed = samples::cell(samples::identity(1, 1, 32, "bf16"), {180, 181, 182});
  mixed.gpu = "NVIDIA H200";
  mixed.emulated = true;
  mixed.time_to_train_s = 3600;
  mixed.time_to_train_speedup = Ratio{1.8, "base"};
  for (Trial& trial : mixed.trials) trial.energy_per_sequence_j = 2.5;
  Trial& trial = big.trials[0];
  trial.log = "4n8g/\xff<script>alert(1)</script>\x1b[31m.log";
  trial.format = "tqdm";
  trial.outcome = {
      .status = Status::nan, .step = 250, .line = 9731, .details = {log_line("loss is nan")}};
  trial.iterations = {200, 100, 100};
  trial.window.first_step = 100;
  trial.window.last_step = 200;
  trial.estimators = {{"step_time", 1500}, {"printed", 1490}, {"total_time", 1400}};
  trial.resolution = {{"counter_clock", 0.008}};
  trial.expected_error = {{"counter_clock", 0.003}, {"printed_mean", 0.02}};
  trial.reconciliation =
      Reconciliation{461242368.0, 143449.7, 148313.2, 3109.92, {{"printed", 0.01}}};
  trial.step_time = StepTimes{0.1, 0.2, 0.3};
  trial.memory = MemoryRecord{1000, 2000, "log"};
  trial.loss = LossRecord{11.1, 7.3, {}, {{1, 11.1}, {100, 7.3}}};
  trial.iterations_file = "iterations.csv";
  trial.notices = {foreign_notice(3, "a line"), foreign_notice(0, "the log")};
  Cell unknown;  // nothing known, iterations/s only
  unknown.trials.push_back(samples::trial(1, 1));
  unknown.trials[0].sequences_per_second.reset();
  unknown.trials[0].iterations_per_second = 3.07;
  Cell failed = samples::cell(samples::identity(4, 8), {1});
  failed.trials[0].window.covered = false;
  failed.trials[0].sequences_per_second.reset();
  failed.trials[0].estimator.clear();
  ResultSet results = samples::result_set({one, big, mixed, unknown, failed});
  *results.environment = {{"cpu", {{"model", "x"}}}, {"kernel", "6.1"}};
  return results;
}

TEST(ResultSchema, AFullResultSetConforms) {
  const Json rules = schema();
  const Json written = Json::parse(to_text(full()));
  for (const std::string& error : Validator(rules).check(written)) ADD_FAILURE() << error;
  EXPECT_TRUE(written["cells"][1].contains("speedup"));
  EXPECT_TRUE(written["cells"][2].contains("mfu"));
  if (const char* path = std::getenv("BB_WRITE_SAMPLE")) std::ofstream(path) << to_text(full());
}

TEST(ResultSchema, AnEmptyResultSetConforms) {
  const Json rules = schema();
  const Json written = Json::parse(to_text(ResultSet{}));
  EXPECT_TRUE(Validator(rules).check(written).empty());
}

TEST(ResultSchema, TheValidatorSeesWhatIsWrong) {
  const Json rules = schema();
  Validator validator(rules);
  const Json good = Json::parse(to_text(full()));
  const auto faulty = [&](const char* pointer, const Json& value) {
    Json bad = good;
    bad[Json::json_pointer(pointer)] = value;
    return validator.check(bad).size();
  };
  EXPECT_EQ(faulty("/schema", "bertbench.result/2"), 1U);
  EXPECT_EQ(faulty("/cells/0/nodes", 0), 1U);
  EXPECT_EQ(faulty("/cells/0/nodes", "1"), 1U);
  EXPECT_EQ(faulty("/cells/0/kind", "trainng"), 1U);
  EXPECT_EQ(faulty("/cells/0/trials/0/window/coverd", true), 1U);
  EXPECT_EQ(faulty("/cells/0/trials/0/sequences_per_second", 0), 1U);
  EXPECT_EQ(faulty("/cells/0/identity/xla", 1), 1U);
  EXPECT_EQ(faulty("/cells/0/trials/0/estimators", Json{{"guess", 3}}), 1U);
}

// The example of docs and design: keys as they are promised, in this order.
TEST(ResultSchema, KeysOfACellKeepTheirPromisedOrder) {
  const Json cell = to_json(full())["cells"][1];
  std::vector<std::string> keys;
  for (const auto& [key, value] : cell.items()) keys.push_back(key);
  const std::vector<std::string> promised{"key",
                                          "identity",
                                          "kind",
                                          "model",
                                          "framework",
                                          "precision",
                                          "sequence_length",
                                          "nodes",
                                          "gpus_per_node",
                                          "world_size",
                                          "micro_batch_size",
                                          "gradient_accumulation_steps",
                                          "global_batch_size",
                                          "trials",
                                          "throughput",
                                          "sequences_per_second_per_gpu",
                                          "speedup",
                                          "scaling_efficiency",
                                          "scaling"};
  std::vector<std::string> found;
  std::ranges::copy_if(keys, std::back_inserter(found), [&](const std::string& key) {
    return std::ranges::find(promised, key) != promised.end();
  });
  EXPECT_EQ(found, promised);
}

}  // namespace
}  // namespace bertbench
