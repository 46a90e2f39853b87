// Every launch template, rendered over its axes and held against the options of the script that it
// starts (tests/data/options, read from the sources that each file names).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/sweep/config/axes.h"
#include "harness/sweep/plan/template_call.h"
#include "parsers/core/text.h"
#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {
using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;

constexpr std::int64_t kMicroBatch = 6, kMicroSteps = 3, kSteps = 40;

/// What a script's batch option counts.
enum class Batch { global, gpu_all_micro_steps, gpu_one_micro_step, deepspeed_json };

struct Script {
  std::string name;                  ///< of the template
  std::vector<std::string> options;  ///< files of tests/data/options: each knows every word
  std::string script;                ///< the word after which its options begin
  Batch batch = Batch::gpu_all_micro_steps;
  std::vector<std::string> precisions;
  std::string batch_option = "--train_batch_size";
  std::string accumulation_option = "--gradient_accumulation_steps";
  std::string steps_option = "--max_steps", length_option = "--max_seq_length";
  std::string model = "bert-large";
  bool one_node = false;  ///< has no way to start several nodes but to emulate them
  bool accumulates = true;
  /// Axes of options that only the first list of `options` has.
  std::set<std::string> newer_axes = {};
};

const std::vector<Script>& scripts() {
  using enum Batch;
  static const std::vector<Script> kScripts{
      {.name = "nvidia-bert-pytorch",
       .options = {"nvidia-bert-pytorch"},
       .script = "run_pretraining.py",
       .precisions = {"fp32", "tf32", "fp16"}},
      {.name = "nvidia-bert-pytorch-2019",
       .options = {"nvidia-bert-pytorch-2019-09"},
       .script = "run_pretraining.py",
       .precisions = {"fp32", "fp16"},
       .one_node = true},
      {.name = "nvidia-squad",
       .options = {"nvidia-squad"},
       .script = "run_squad.py",
       .precisions = {"fp32", "tf32", "fp16"}},
      {.name = "nvidia-squad-2019",
       .options = {"nvidia-squad-2019"},
       .script = "run_squad.py",
       .precisions = {"fp32", "fp16"},
       .one_node = true},
      {.name = "nvidia-glue",
       .options = {"nvidia-glue"},
       .script = "run_glue.py",
       .precisions = {"fp32", "tf32", "fp16"}},
      {.name = "nvidia-bert-tensorflow",
       .options = {"nvidia-bert-tensorflow"},
       .script = "run_pretraining.py",
       .batch = gpu_one_micro_step,
       .precisions = {"fp32", "tf32", "fp16"},
       .accumulation_option = "--num_accumulation_steps",
       .steps_option = "--num_train_steps"},
      {.name = "nvidia-bert-tensorflow-2019",
       .options = {"nvidia-bert-tensorflow-2019-09"},
       .script = "run_pretraining.py",
       .batch = gpu_one_micro_step,
       .precisions = {"fp32", "fp16"},
       .accumulation_option = "",
       .steps_option = "--num_train_steps",
       .accumulates = false},
      {.name = "huggingface-mlm",
       .options = {"huggingface-mlm"},
       .script = "transformers/examples/pytorch/language-modeling/run_mlm.py",
       .batch = gpu_one_micro_step,
       .precisions = {"fp32", "tf32", "fp16", "bf16"},
       .batch_option = "--per_device_train_batch_size"},
      {.name = "huggingface-clm",
       .options = {"huggingface-clm"},
       .script = "transformers/examples/pytorch/language-modeling/run_clm.py",
       .batch = gpu_one_micro_step,
       .precisions = {"fp32", "tf32", "fp16", "bf16"},
       .batch_option = "--per_device_train_batch_size",
       .length_option = "--block_size",
       .model = "gpt2-medium"},
      {.name = "deepspeed-bing-bert",
       .options = {"deepspeed-bing-bert"},
       .script = "deepspeed_train.py",
       .batch = deepspeed_json,
       .precisions = {"fp16"},
       .batch_option = "",
       .accumulation_option = ""},
      {.name = "bing-bert",
       .options = {"bing-bert"},
       .script = "train.py",
       .precisions = {"fp16"},
       .one_node = true},
      {.name = "gluonnlp-bert",
       .options = {"gluonnlp-0.10.0", "gluonnlp-7b7bf60"},
       .script = "run_pretraining.py",
       .batch = global,
       .precisions = {"fp32", "fp16"},
       .batch_option = "--total_batch_size",
       .accumulation_option = "--accumulate",
       .steps_option = "--num_steps",
       .model = "bert-base",
       .newer_axes = {"optimizer"}},
  };
  return kScripts;
}

enum class Kind { value, flag, boolean, required };

struct OptionList {
  std::map<std::string, Kind> kinds;               // by every spelling
  std::vector<std::vector<std::string>> required;  // spellings of each
};

const OptionList& read_options(const std::string& name) {
  static std::map<std::string, OptionList> known;
  if (const auto it = known.find(name); it != known.end()) return it->second;
  const auto json = Json::parse(
      test::read_file(std::string(BB_SOURCE_DIR) + "/tests/data/options/" + name + ".json"));
  OptionList out;
  for (const auto& [names, kind] : json["options"].items()) {
    std::vector<std::string> spellings;
    for (const auto one : split(names, '|')) spellings.emplace_back(one);
    const auto which = kind == "flag"       ? Kind::flag
                       : kind == "boolean"  ? Kind::boolean
                       : kind == "required" ? Kind::required
                                            : Kind::value;
    for (const auto& spelling : spellings) out.kinds[spelling] = which;
    if (which == Kind::required) out.required.push_back(spellings);
  }
  return known[name] = std::move(out);
}

/// Option -> value ("" for none) of the words after the script; what is wrong of them goes to
/// `wrong`.
std::map<std::string, std::string> options_of(const std::vector<std::string>& words,
                                              const std::string& script, const OptionList& list,
                                              std::vector<std::string>& wrong) {
  std::map<std::string, std::string> out;
  auto at = std::find(words.begin(), words.end(), script);
  if (at == words.end()) {
    wrong.push_back("does not start " + script);
    return out;
  }
  for (++at; at != words.end(); ++at) {
    auto name = at->substr(0, at->find('='));
    const bool has_value = name.size() < at->size();
    if (!name.starts_with("--")) {
      wrong.push_back("the word '" + *at + "' belongs to no option");
      continue;
    }
    auto it = list.kinds.find(name);
    if (it == list.kinds.end() && name.starts_with("--no")) {  // absl's way to say false
      const auto plain = list.kinds.find("--" + name.substr(4));
      if (plain != list.kinds.end() && plain->second == Kind::boolean) it = plain;
    }
    if (it == list.kinds.end()) {
      wrong.push_back("the script has no option " + name);
      continue;
    }
    const bool next_is_value = at + 1 != words.end() && !(at + 1)->starts_with("--");
    std::string value = has_value ? at->substr(at->find('=') + 1) : "";
    if (it->second == Kind::flag && (has_value || next_is_value)) {
      wrong.push_back(name + " takes no value");
    }
    const bool needs_value = it->second == Kind::value || it->second == Kind::required;
    if (!has_value && next_is_value && it->second != Kind::flag) value = *++at;
    if (needs_value && value.empty()) wrong.push_back(name + " needs a value");
    out[name] = value;
  }
  for (const auto& spellings : list.required) {
    if (std::ranges::none_of(spellings, [&](const auto& one) { return out.contains(one); })) {
      wrong.push_back("lacks the required option " + spellings.front());
    }
  }
  return out;
}

std::string config_of(const Script& script, const std::string& topology,
                      const std::string& precision, int length) {
  return Json{{"workload", script.name},
              {"grid",
               {{"topology", topology},
                {"model", script.model},
                {"precision", precision},
                {"micro_batch_size", kMicroBatch},
                {"gradient_accumulation_steps", script.accumulates ? kMicroSteps : 1},
                {"sequence_length", length}}},
              {"trials", 1},
              {"steps", kSteps}}
      .dump();
}

std::string number(std::int64_t value) { return std::to_string(value); }

void check_batch(const Script& script, const Plan& plan,
                 const std::map<std::string, std::string>& options,
                 std::vector<std::string>& wrong) {
  const std::int64_t micro_steps = script.accumulates ? kMicroSteps : 1;
  const auto world = plan.cells[0].topology.world_size();
  const auto expect = [&](const std::string& option, std::int64_t value) {
    const auto it = options.find(option);
    if (it == options.end()) {
      wrong.push_back("does not say " + option);
    } else if (it->second != number(value)) {
      wrong.push_back(option + " is " + it->second + ", not " + number(value));
    }
  };
  expect(script.steps_option, kSteps);
  expect(script.length_option, *plan.cells[0].identity.sequence_length);
  const auto global = kMicroBatch * micro_steps * world;
  switch (script.batch) {
    case Batch::global:
      expect(script.batch_option, global);
      break;
    case Batch::gpu_all_micro_steps:
      expect(script.batch_option, kMicroBatch * micro_steps);
      break;
    case Batch::gpu_one_micro_step:
      expect(script.batch_option, kMicroBatch);
      break;
    case Batch::deepspeed_json: {
      const auto files = value_of(trial_files(plan, {0, 1}, {"/run", 29500, ""}));
      const auto it = std::ranges::find(files, "ds_config.json", &TrialFile::name);
      ASSERT_NE(it, files.end());
      const auto json = Json::parse(it->text);
      EXPECT_EQ(json["train_batch_size"], global);
      EXPECT_EQ(json["train_micro_batch_size_per_gpu"], kMicroBatch);
      EXPECT_EQ(json["gradient_accumulation_steps"], micro_steps);
      EXPECT_TRUE(json["fp16"]["enabled"].is_boolean());
      return;
    }
  }
  if (!script.accumulation_option.empty()) expect(script.accumulation_option, micro_steps);
}

/// Workers that the words before the script start, of one process.
std::int64_t workers_of(const std::vector<std::string>& words, const std::string& script) {
  std::int64_t workers = 1, nodes = 1;
  for (std::size_t i = 0; i < words.size() && words[i] != script; ++i) {
    const auto value = words[i].substr(words[i].find('=') + 1);
    if (words[i] == "-np") workers = to_int(words[i + 1]).value_or(0);
    if (words[i].starts_with("--nproc_per_node=")) workers = to_int(value).value_or(0);
    if (words[i].starts_with("--num_gpus=")) workers = to_int(value).value_or(0);
    if (words[i].starts_with("--num_nodes=")) nodes = to_int(value).value_or(0);
  }
  return workers * nodes;
}

/// One cell, by every rule; what is wrong, one sentence each.
std::vector<std::string> faults_of(const Script& script, const std::string& config,
                                   const std::vector<std::string>& sets,
                                   const std::string& launcher) {
  std::vector<std::string> wrong;
  const auto parsed = parse_config(config, "test.json", sets);
  if (!parsed) return {parsed.error().message()};
  PlanOptions how;
  how.launcher = launcher;
  how.cores = 8;
  const auto plan = make_plan(*parsed, how);
  if (!plan) return {plan.error().message()};
  const auto words = template_words(*plan, {0, 1}, {"/run", 29500, ""}, 1);
  if (!words) return {words.error().message()};
  const bool newer = std::ranges::any_of(sets, [&](const std::string& set) {
    return std::ranges::any_of(script.newer_axes, [&](const std::string& axis) {
      return set.starts_with("grid." + axis + "=");
    });
  });
  std::map<std::string, std::string> options;
  for (const auto& name : script.options) {
    if (newer && name != script.options.front()) continue;
    options = options_of(*words, script.script, read_options(name), wrong);
  }
  // A training; evaluations have a batch of their own.
  const auto mode = plan->cells[0].point.find("mode");
  if (mode == plan->cells[0].point.end() || mode->second != "eval") {
    check_batch(script, *plan, options, wrong);
  }
  const auto& cell = plan->cells[0];
  const auto count = process_count(*plan, cell);
  const auto asked = cell.point.find("launch");
  const auto ranks = count.nodes * count.per_node * workers_of(*words, script.script);
  const bool data_parallel = asked != cell.point.end() && asked->second == "python";
  if (!data_parallel && ranks != cell.topology.world_size()) {
    wrong.push_back("starts " + number(ranks) + " workers for " + cell.topology.str());
  }
  return wrong;
}

TEST(Templates, EachIsHeldAgainstAScript) {
  std::set<std::string> here, there;
  for (const auto& script : scripts()) here.insert(script.name);
  for (const auto& name : workload_names()) {
    if (name != "bert_train") there.insert(name);
  }
  EXPECT_EQ(here, there);
}

class TemplateTest : public testing::TestWithParam<Script> {};

TEST_P(TemplateTest, EveryLauncherAndTopologyHasWordsThatTheScriptTakes) {
  const auto& script = GetParam();
  for (const char* launcher : {"local", "mpi", "ssh", "slurm"}) {
    for (const char* topology : {"1n1g", "1n2g", "2n8g"}) {
      for (const auto& precision : script.precisions) {
        for (const int length : {64, 128, 512}) {
          SCOPED_TRACE(std::string(launcher) + " " + topology + " " + precision);
          const auto faults =
              faults_of(script, config_of(script, topology, precision, length), {}, launcher);
          const bool emulated = std::string(launcher) == "local";
          if (script.one_node && std::string(topology) == "2n8g" && !emulated) {
            ASSERT_EQ(faults.size(), 1u);
            EXPECT_THAT(faults[0], HasSubstr("has no way to start 2n8g under launcher"));
          } else {
            EXPECT_THAT(faults, ::testing::IsEmpty());
          }
        }
      }
    }
  }
}

TEST_P(TemplateTest, EveryValueOfEveryAxisIsWordsThatTheScriptTakes) {
  const auto& script = GetParam();
  const auto workload = value_of(find_workload(script.name));
  for (const auto& axis : workload.own_axes()) {
    if (std::ranges::find(fact_axes(), axis) != fact_axes().end()) continue;
    std::set<std::string> values;
    for (const auto& value : workload.values_of(axis)) values.insert(value);
    if (const auto it = workload.values.find(axis); it != workload.values.end()) {
      for (const auto& [value, words] : it->second) values.insert(value == "*" ? "own" : value);
    }
    if (values.empty()) {
      // An axis without words of its own stands in the words of others.
      const auto words = workload.axes.find(axis);
      const bool named = words == workload.axes.end() ||
                         std::ranges::any_of(words->second, [&](const std::string& word) {
                           return word.find("{" + axis + "}") != std::string::npos;
                         });
      values = named ? std::set<std::string>{"7"} : std::set<std::string>{"true", "false"};
    }
    for (const auto& value : values) {
      for (const char* topology : {"1n1g", "1n2g", "2n8g"}) {
        for (const auto& precision : script.precisions) {
          SCOPED_TRACE(axis + " = " + value + " " + topology + " " + precision);
          const auto config = config_of(script, topology, precision, 128);
          const std::vector<std::string> sets{"grid." + axis + "=" + Json(value).dump()};
          auto faults = faults_of(script, config, sets, "local");
          const auto holds = [&](const char* text) {
            return faults.size() == 1 && faults[0].find(text) != std::string::npos;
          };
          if (axis == "manual_fp16" && value != "false" && precision != "fp16") {
            EXPECT_TRUE(holds("has no value for precision"));
            continue;
          }
          if (axis == "launch" && holds("has no way '")) {
            // It is for another launcher, or for other numbers of GPUs or nodes.
            faults = faults_of(script, config, sets, "mpi");
            if (value == "python" && std::string(topology) != "1n1g") {
              EXPECT_TRUE(holds("has no way 'python'"));
              continue;
            }
          }
          EXPECT_THAT(faults, ::testing::IsEmpty());
        }
      }
    }
  }
}

TEST(Templates, WordsThatAScriptDoesNotTakeAreFound) {
  const auto faults = [](const std::vector<std::string>& words, const std::string& list) {
    std::vector<std::string> wrong;
    options_of(words, "run.py", read_options(list), wrong);
    return wrong;
  };
  // What the templates did before these lists were there.
  EXPECT_THAT(faults({"run.py", "--batch_size", "8"}, "gluonnlp-0.10.0"),
              ::testing::UnorderedElementsAre("the script has no option --batch_size",
                                              "the word '8' belongs to no option",
                                              "lacks the required option --data_eval"));
  EXPECT_THAT(
      faults({"run.py", "--cf=x", "--output_dir=o", "--train_batch_size=8"}, "deepspeed-bing-bert"),
      ::testing::ElementsAre("the script has no option --train_batch_size"));
  EXPECT_THAT(faults({"run.py", "--overwrite_output_dir"}, "huggingface-mlm"),
              ::testing::ElementsAre("the script has no option --overwrite_output_dir"));
  EXPECT_THAT(faults({"run.py", "--input_dir=i", "--config_file=c", "--output_dir=o",
                      "--vocab_file=v", "--fp16=1", "--seed"},
                     "nvidia-bert-pytorch"),
              ::testing::ElementsAre("--fp16 takes no value", "--seed needs a value"));
}

TEST(Templates, TorchrunFindsItsNodeAndItsMasterByVariables) {
  const auto& script = scripts().front();
  const auto config = value_of(
      parse_config(config_of(script, "2n8g", "fp16", 128), "test.json", {R"(hosts=["a","b"])"}));
  const auto line = [&](const char* launcher) {
    PlanOptions how;
    how.launcher = launcher;
    const auto plan = make_plan(config, how);
    const auto lines = dry_run(*plan, "run");
    return lines ? lines->front() : lines.error().message();
  };
  for (const char* launcher : {"local", "ssh"}) {
    EXPECT_THAT(line(launcher), HasSubstr("PET_NODE_RANK")) << launcher;
    EXPECT_THAT(line(launcher), HasSubstr("PET_MASTER_ADDR")) << launcher;
  }
  // mpirun gives a process on a node neither its number nor the master: they meet.
  EXPECT_THAT(line("mpi"), HasSubstr("PET_RDZV_ENDPOINT='a:<port>'"));
  EXPECT_THAT(line("slurm"), HasSubstr("PET_MASTER_ADDR"));
  // No word names a host that Slurm has not chosen yet.
  const auto trial = line("slurm");
  EXPECT_EQ(trial.find("--master_addr"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, TemplateTest, testing::ValuesIn(scripts()), [](const auto& one) {
  auto name = one.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace bertbench
