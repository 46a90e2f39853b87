// What the Hugging Face Trainer states of its evaluations, beside and without a training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

// One training's evaluations are records of one run; an evaluation without an epoch, or of an
// earlier one, is that of another model.
TEST(TrainerEvaluations, TellsTheRatesOfEvaluationsAndPredictions) {
  const auto eval = [](const std::string& key, const std::string& rate, const std::string& more) {
    return "{'" + key + "_loss': 0.7, '" + key + "_runtime': 4.2, '" + key +
           "_samples_per_second': " + rate + more + "}\n";
  };
  const auto runs = read_text(
      eval("eval", "2298.333", "") + eval("eval", "'2072.26'", ", 'epoch': 1.0") +
      eval("eval", "2080.5", ", 'epoch': 1.0") +  // another process
      eval("eval_mnli-mm", "1990.5", ", 'epoch': 1.0") + eval("eval", "2100.0", ", 'epoch': 2.0") +
      "***** eval metrics *****\n  eval_samples_per_second = 2100.0\n" +
      eval("eval", "266.5", ", 'epoch': 1.0") + eval("test", "3000.25", ", 'epoch': 1.0") +
      "    eval_samples_per_second     2298.33300             64.761000\n");
  ASSERT_EQ(runs.size(), 4u);
  const auto rates = [](const RunLog& run) {
    std::vector<double> out;
    for (const Record& record : run.records) out.push_back(record.printed_rate);
    return out;
  };
  EXPECT_THAT(rates(runs[0]), testing::ElementsAre(2298.333));
  EXPECT_THAT(rates(runs[1]), testing::ElementsAre(2072.26, 1990.5, 2100.0));
  EXPECT_THAT(rates(runs[2]), testing::ElementsAre(266.5));
  EXPECT_EQ(runs[2].kind, WorkKind::evaluation);
  EXPECT_THAT(rates(runs[3]), testing::ElementsAre(3000.25));
  EXPECT_EQ(runs[3].kind, WorkKind::inference);
  EXPECT_EQ(runs[3].rate_unit, RateUnit::sequences_per_second);
}

TEST(TrainerEvaluations, ReadsResultsOfAnEvaluationAlone) {
  const auto runs = read_text(
      "{\n    \"epoch\": 3.0,\n    \"eval_accuracy\": 0.9,\n    \"eval_runtime\": 4.25,\n"
      "    \"eval_samples_per_second\": 205.4,\n    \"eval_steps_per_second\": 25.7\n}\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].kind, WorkKind::evaluation);
  EXPECT_EQ(runs[0].records.at(0).printed_rate, 205.4);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

TEST(TrainerEvaluations, TellsTheRatesOfEvaluationsBesideTheBarsThatLead) {
  std::string log;
  const auto bar = [&](const char* name, int i) {
    log += name + std::to_string(20 * i) + "%|##   | " + std::to_string(i) + "/5 [00:0" +
           std::to_string(i) + "<00:05,  1.00it/s]\n";
  };
  for (int i = 1; i <= 5; ++i) bar(" ", i);
  log += "{'loss': 0.5, 'epoch': 1.0}\n";
  for (int i = 1; i <= 5; ++i) bar("Evaluating: ", i);
  log +=
      "{'eval_loss': 0.4, 'eval_runtime': 5.0, 'eval_samples_per_second': 37.58, 'epoch': 1.0}\n";
  const auto runs = read_text(log);
  EXPECT_EQ(runs.at(0).format, "tqdm");
  EXPECT_EQ(runs.at(0).kind, WorkKind::training);
  const auto stated = std::ranges::find(runs, "huggingface", &RunLog::format);
  ASSERT_NE(stated, runs.end());
  EXPECT_EQ(stated->kind, WorkKind::evaluation);
  EXPECT_EQ(stated->records.at(0).printed_rate, 37.58);
}

TEST(TrainerEvaluations, TellsWhatEvaluationsTookOfTheRuntime) {
  const auto eval = [](const char* epoch, const char* seconds) {
    return std::string("{'eval_loss': 0.7, 'eval_runtime': ") + seconds +
           ", 'eval_samples_per_second': 9.5" + epoch + "}\n";
  };
  const std::string end =
      "{'train_runtime': 100.0, 'train_samples_per_second': 16.0, 'train_steps_per_second': 1.0, "
      "'train_loss': 0.4, 'epoch': 2.0}\n";
  const std::string loss = "{'loss': 0.5, 'learning_rate': 1e-05, 'epoch': 1.0}\n";
  const auto told = [](const RunLog& run) {
    return std::ranges::any_of(run.notices, [](const Notice& notice) {
      return text_of(notice).find("evaluations took 40 of the 100 s") != std::string::npos;
    });
  };
  const std::string first = eval(", 'epoch': 1.0", "15.0");
  auto runs = read_text(eval("", "30.0") + loss + first + first + eval(", 'epoch': 2.0", "'25'") +
                        end + eval(", 'epoch': 2.0", "50"));
  ASSERT_EQ(runs.size(), 3u);  // the evaluation in front, the training, the evaluations of it
  std::swap(runs[0], *std::ranges::find(runs, WorkKind::training, &RunLog::kind));
  EXPECT_TRUE(told(runs[0])) << "not those before and behind, and each once";
  EXPECT_EQ(runs[0].summary->value, 16);
  EXPECT_FALSE(told(read_text(loss + end).at(0)));
  const auto entry = [](const char* key, const char* seconds) {
    return std::string("{\"epoch\": 1.0, \"") + key + "_loss\": 0.7, \"" + key +
           "_runtime\": " + seconds + ", \"step\": 100}, ";
  };
  const auto state = read_text(
      "{\"epoch\": 2.0, \"global_step\": 100, \"log_history\": [{\"epoch\": 1.0, \"loss\": 0.5, "
      "\"step\": 50}, " +
      entry("eval", "30.0") + entry("predict", "10.0") +
      "{\"epoch\": 2.0, \"step\": 100, \"train_runtime\": 100.0, \"train_samples_per_second\": "
      "16.0, \"train_steps_per_second\": 1.0}], \"max_steps\": 100}\n");
  ASSERT_EQ(state.size(), 1u);
  EXPECT_TRUE(told(state[0]));
}

// The Trainer draws its bar before the first batch is made, that of an evaluation behind the first
// prediction: a tokenizer's remark tells which one it is, also where the log is cut in a long
// evaluation.
TEST(Tqdm, KnowsTheTrainersBarByWhatTheFirstStepWritesBehindIt) {
  const std::string remark =
      "You're using a RobertaTokenizerFast tokenizer. Please note that with a fast tokenizer, "
      "using the `__call__` method is faster than using a method to encode the text.\n";
  const auto training = [](const std::string& behind) {
    return "\r  0%| | 0/9000 [00:00<?, ?it/s]" + behind +
           "\r  0%| | 40/9000 [00:20<1:14:40,  2.00it/s]\r  1%| | 80/9000 [00:40<1:14:20,  "
           "2.00it/s]";
  };
  const std::string evaluation =
      "\n\r  0%| | 2/700 [00:01<08:00,  1.50it/s]\x1b[A\n\r 50%|#| 350/700 [04:10<04:10,  "
      "1.40it/s]\x1b[A";
  const auto runs = read_text(training(remark) + evaluation);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records.back().step, 80);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
  EXPECT_THAT(text_of(runs[0].notices.at(0)),
              testing::HasSubstr("a longer one began before it ended"));
  const auto alone = read_text(training(remark));
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone[0].records.size(), 2u);
  EXPECT_THAT(text_of(alone[0].notices.at(0)), testing::HasSubstr("a sign of training"));
  // So do gradient checkpointing and an optimizer.
  for (
      const std::string text :
      {"`use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`...",
       "/venv/lib/python3.10/site-packages/torch/utils/checkpoint.py:429: UserWarning: please pass",
       "/venv/lib/python3.10/site-packages/torch/optim/lr_scheduler.py:139: UserWarning: "
       "Detected"}) {
    EXPECT_EQ(read_text(training(text + "\n")).at(0).records.size(), 2u) << text;
  }
  // A tokenizer's warning of long rows is of a loop that tokenizes.
  EXPECT_TRUE(read_text(training("Token indices sequence length is longer than the specified "
                                 "maximum sequence length for this model (560 > 512).\n"))
                  .at(0)
                  .records.empty());
  // Without it, nothing speaks of training.
  const auto silent = read_text(training("") + evaluation);
  ASSERT_EQ(silent.size(), 1u);
  EXPECT_TRUE(silent[0].records.empty());
  // A longer training behind one that has ended: the remark comes once in a process.
  const auto second = read_text("\r  0%| | 0/40 [00:00<?, ?it/s]" + remark +
                                "\r100%|#| 40/40 [00:20<00:00,  2.00it/s]\n{'loss': 0.5, 'epoch': "
                                "1.0}\n\r  0%| | 0/90 [00:00<?, ?it/s]"
                                "\r100%|#| 90/90 [00:45<00:00,  2.00it/s]\n");
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].records.back().step, 90);
}

// The evaluations of all sessions stand in the history, the runtime is that of the last one.
TEST(TrainerEvaluations, TakesNoRateWhoseRuntimeIsTooShortForTheEvaluations) {
  const auto state = [](const std::string& evaluation) {
    const auto at = [&](const std::string& step) {
      return "    {\n      \"epoch\": 0.5,\n      \"eval_runtime\": " + evaluation +
             ",\n      \"eval_samples_per_second\": 25.0,\n      \"step\": " + step + "\n    },\n";
    };
    return read_text("{\n  \"epoch\": 1.0,\n  \"global_step\": 1000,\n  \"log_history\": [\n" +
                     at("500") + at("1000") +
                     "    {\n      \"epoch\": 1.0,\n      \"step\": 1000,\n      "
                     "\"train_runtime\": 100.0,\n"
                     "      \"train_samples_per_second\": 320.0,\n      "
                     "\"train_steps_per_second\": 10.0\n"
                     "    }\n  ],\n  \"max_steps\": 1000\n}\n")
        .at(0);
  };
  const auto within = state("40.0"), beyond = state("60.0");
  EXPECT_EQ(within.kind, WorkKind::training);
  ASSERT_TRUE(within.summary);
  EXPECT_EQ(within.summary->value, 320);
  EXPECT_FALSE(beyond.summary);
  EXPECT_FALSE(beyond.totals.training_s);
  EXPECT_EQ(beyond.outcome.status, Status::completed);
  EXPECT_THAT(text_of(beyond.notices.at(0)),
              testing::HasSubstr("took 120 s, longer than its 100 s"));
}

}  // namespace
}  // namespace bertbench
