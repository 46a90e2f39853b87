// What NVIDIA's BERT for TensorFlow counts, and what follows from it.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

// Behind `update`, at `seconds`.
std::string line(int update, double seconds, double rate, const char* more = "") {
  return fmt::format(
      "DLL 2026-11-02 10:00:{:09.6f} - Iteration: {}  throughput_train : {:.3f} sequences/s "
      "mlm_loss : 9.2500  nsp_loss : 0.7500  total_loss : 10.0000  avg_loss_step : 10.0000  "
      "learning_rate : 1e-05 {}\n",
      seconds, update + 1, rate, more);
}

std::string said(const std::string& message) { return "INFO:tensorflow:" + message + "\n"; }

std::string head(int micro_batch) {
  return said("***** Running training *****") +
         said(fmt::format("  Batch size = {}", micro_batch)) +
         said(fmt::format("  name = input_ids, shape = ({}, 32)", micro_batch));
}

// Updates (begin, end] of `batch` sequences at 10 of them a second, a line each `every`.
std::string updates(int begin, int end, int batch, int every = 1, const char* more = "") {
  std::string out;
  for (int update = begin + 1; update <= end; ++update) {
    const int of_run = update - begin;
    if (of_run < 6) {
      out += fmt::format("Skipping time record for  {}  due to checkpoint-saving/warmup overhead\n",
                         update);
    }
    if ((update + 1) % every == 0) out += line(update, 1 + of_run * 0.1, batch * 10.0, more);
  }
  return out;
}

// The script counts all updates of the plan, and leaves five of the run out of the second sum.
std::string closing(int planned, int batch, double seconds) {
  return said(fmt::format("Saving checkpoints for {} into /results/model.ckpt.", planned)) +
         said("Loss for final step: 10.0.") +
         said(fmt::format("Total Training Time = {:.2f} for Sentences = {}", seconds,
                          planned * batch)) +
         said(fmt::format("Total Training Time W/O Overhead = 3.50 for Sentences = {}",
                          (planned - 5) * batch)) +
         said(fmt::format("Throughput Average (sentences/sec) with overhead = {:.2f}",
                          planned * batch / seconds)) +
         said(fmt::format("Throughput Average (sentences/sec) = {:.2f}",
                          (planned - 5) * batch / 3.5));
}

std::string texts(const RunLog& run) {
  std::string out;
  for (const Notice& notice : run.notices) out += text_of(notice) + "\n";
  return out;
}

TEST(TfUpdates, AreOneLessThanThePrintedNumber) {
  const auto runs = read_text(head(4) + updates(0, 30, 8) + closing(30, 8, 12));
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  EXPECT_EQ(run.records.size(), 30u);
  EXPECT_EQ(run.records.front().step, 2);
  EXPECT_EQ(run.records.back().step, 31);
  EXPECT_EQ(run.outcome.status, Status::completed);
  EXPECT_EQ(run.outcome.step, 30);
  EXPECT_EQ(run.totals.first_optimizer_step, 0);
  EXPECT_EQ(run.totals.last_optimizer_step, 30);
  EXPECT_EQ(run.totals.iterations, 30);
  EXPECT_EQ(run.totals.sequences, 240);
  EXPECT_THAT(texts(run), testing::HasSubstr("step 31 is update 30"));
}

TEST(TfUpdates, BatchAndWorldFollowFromTheSentencesThatTheLogClosesWith) {
  const auto alone = read_text(head(4) + updates(0, 30, 16) + closing(30, 16, 12));
  EXPECT_EQ(alone.at(0).facts.global_batch_size.value, 16);
  EXPECT_EQ(alone.at(0).facts.micro_batch_size.value, 4);
  EXPECT_EQ(alone.at(0).facts.world(), 1) << "nothing of Horovod, which prints its options";
  EXPECT_FALSE(alone.at(0).facts.gradient_accumulation_steps.known()) << "deduced later";
  EXPECT_THAT(texts(alone[0]), testing::HasSubstr("480 sentences of 30 updates"));
  const std::string options = said("***** Configuaration *****") + said("  num_train_steps: 30") +
                              said("  num_accumulation_steps: 2") + said("  amp: False") +
                              said("  manual_fp16: False") + said("  optimizer_type: lamb");
  const auto ranks = read_text(options + head(4) + updates(0, 30, 16) + closing(30, 16, 12));
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_EQ(ranks[0].facts.global_batch_size.value, 16);
  EXPECT_EQ(ranks[0].facts.gradient_accumulation_steps.value, 2);
  EXPECT_FALSE(ranks[0].facts.world()) << "2, as 16 / 4 / 2: deduced later";
  EXPECT_EQ(ranks[0].facts.axes.at("optimizer"), "lamb");
  EXPECT_EQ(ranks[0].facts.precision.value, "fp32");
  // A process of Horovod whose options are cut away still shows its one GPU.
  const auto cut =
      read_text(said("Using config: {'_model_dir': 'x', '_session_config': gpu_options {") +
                head(4) + updates(0, 30, 16) + closing(30, 16, 12));
  EXPECT_FALSE(cut.at(0).facts.world());
  // The session tells of XLA where no options are printed.
  const auto xla = read_text(said("Using config: {'_session_config': graph_options {") +
                             "  optimizer_options {\n    global_jit_level: ON_1\n  }\n}\n" +
                             head(4) + updates(0, 30, 4));
  EXPECT_EQ(xla.at(0).facts.axes.at("xla"), "true");
  EXPECT_EQ(xla[0].facts.world(), 1);
}

TEST(TfUpdates, TheBatchFollowsFromTheRatesWhereTheRunDidNotClose) {
  const auto runs = read_text(head(4) + updates(0, 30, 8));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 8);
  EXPECT_THAT(texts(runs[0]), testing::HasSubstr("what the printed rates make of the time"));
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
  EXPECT_EQ(runs[0].outcome.step, 30);
  const auto many = read_text(head(4) + updates(0, 30, 4 * 60));
  EXPECT_FALSE(many.at(0).facts.global_batch_size.known()) << "59, 60 or 61 micro batches";
  const auto few = read_text(head(4) + updates(0, 5, 8));
  EXPECT_FALSE(few.at(0).facts.global_batch_size.known());
}

TEST(TfUpdates, TheFirstLineOfTenHoldsNine) {
  const auto runs = read_text(head(4) + updates(0, 50, 8, 10) + closing(50, 8, 12));
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  ASSERT_EQ(run.records.size(), 5u);
  EXPECT_EQ(run.records[0].step, 10);
  EXPECT_EQ(run.records[0].iterations, 9);
  EXPECT_EQ(run.records[1].iterations, 10);
  EXPECT_EQ(run.totals.iterations, 50) << "the last one is told by the checkpoint";
  EXPECT_EQ(run.outcome.step, 50);
  // Nothing tells of the first updates: the lines themselves do.
  std::string lines;
  for (int update : {9, 19, 29}) lines += line(update, update * 0.1, 80);
  const auto bare = read_text(lines);
  ASSERT_EQ(bare.at(0).records.size(), 3u);
  EXPECT_EQ(bare[0].records[0].iterations, 9);
  EXPECT_EQ(bare[0].totals.first_optimizer_step, 0);
  EXPECT_EQ(bare[0].totals.iterations, 29);
}

TEST(TfUpdates, NoTotalOfAResumedRunCountsWhatItsCheckpointHad) {
  const std::string restored = said("Restoring parameters from /results/model.ckpt-60");
  const auto runs =
      read_text(head(4) + restored + said("Saving checkpoints for 60 into /results/model.ckpt.") +
                updates(60, 100, 4) + closing(100, 4, 12));
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  EXPECT_EQ(run.records.size(), 40u);
  EXPECT_EQ(run.records.front().iterations, 1);
  EXPECT_EQ(run.totals.first_optimizer_step, 60);
  EXPECT_EQ(run.totals.last_optimizer_step, 100);
  EXPECT_EQ(run.totals.iterations, 40);
  EXPECT_EQ(run.totals.sequences, 160);
  EXPECT_EQ(run.facts.global_batch_size.value, 4);
  ASSERT_TRUE(run.summary);
  EXPECT_NEAR(run.summary->value, 35 * 4 / 3.5, 0.01) << "not 108.57, of 95 updates";
  EXPECT_THAT(texts(run), testing::HasSubstr("108.57"));
  EXPECT_THAT(texts(run), testing::HasSubstr("60 updates"));
  // Without the restored step the first number tells.
  const auto first = read_text(head(4) + updates(60, 100, 4) + closing(100, 4, 12));
  EXPECT_EQ(first.at(0).totals.sequences, 160);
  // An evaluation restores, too.
  const auto evaluated = read_text(head(4) + updates(0, 30, 4) + closing(30, 4, 12) +
                                   said("***** Running evaluation *****") +
                                   said("Restoring parameters from /results/model.ckpt-30") +
                                   said("Throughput Average (sentences/sec) = 99.00"));
  ASSERT_EQ(evaluated.size(), 2u);
  EXPECT_EQ(evaluated[0].totals.sequences, 120);
  EXPECT_EQ(evaluated[1].kind, WorkKind::evaluation);
}

TEST(TfUpdates, AResumedRunInTheSameFileIsAnother) {
  const auto runs = read_text(head(4) + updates(0, 30, 4) + closing(30, 4, 12) + head(4) +
                              said("Restoring parameters from /results/model.ckpt-30") +
                              updates(30, 60, 4) + closing(60, 4, 12));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1].totals.first_optimizer_step, 30);
  EXPECT_EQ(runs[1].totals.sequences, 120);
}

TEST(TfUpdates, HalfPrecisionIsWhatTheLinesScaleAndWhatTheMachineCan) {
  const auto precision = [](const std::string& text) {
    return read_text(text).at(0).facts.precision.value;
  };
  const std::string scaled = head(4) + updates(0, 10, 4, 1, "loss_scaler : 4294967296 ");
  EXPECT_EQ(precision(scaled), "fp16");
  EXPECT_EQ(precision(head(4) + updates(0, 10, 4)), "fp32");
  EXPECT_EQ(precision("+ precision=tf32\n" + head(4) + updates(0, 10, 4)), "tf32")
      << "what a line states is better";
  const std::string without =
      "2026-11-02 10:00:00.500000: W tensorflow/core/grappler/optimizers/auto_mixed_precision.cc:"
      "2303] No (suitable) GPUs detected, skipping auto_mixed_precision graph optimizer\n";
  const auto skipped = read_text(head(4) + without + updates(0, 10, 4, 1, "loss_scaler : 8 "));
  EXPECT_EQ(skipped.at(0).facts.precision.value, "fp32");
  EXPECT_THAT(texts(skipped[0]), testing::HasSubstr("found no GPU for it"));
  const std::string options = said("***** Configuaration *****") + said("  amp: True");
  EXPECT_EQ(precision(options + scaled), "fp16");
  EXPECT_EQ(precision(options + without + scaled), "fp32");
}

TEST(TfUpdates, ALossThatIsNoNumberIsOfItsUpdate) {
  std::string text = head(4) + updates(0, 20, 4);
  text +=
      "DLL 2026-11-02 10:00:09.000000 - Iteration: 22  throughput_train : 40.0 sequences/s "
      "mlm_loss : nan  nsp_loss : nan  total_loss : nan  avg_loss_step : nan  "
      "learning_rate : 1e-05 \n";
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::nan);
  EXPECT_EQ(runs[0].outcome.step, 21);
}

TEST(TfUpdates, ReadsTheLinesOf2019) {
  std::string text;
  for (int step = 2; step <= 6; ++step) {
    text += fmt::format(
        "Step = {:6d} Throughput = {:11.1f} MLM Loss = 9.2500e+00 NSP Loss = 7.5000e-01 Loss = "
        "10.000 Average Loss = 10.000 LR = 1.0000e-05\n",
        step, 40.0 + step);
  }
  const auto runs = read_text(text + said("Loss for final step: 10.0."));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "tf");
  ASSERT_EQ(runs[0].records.size(), 5u);
  EXPECT_EQ(runs[0].records[0].printed_rate, 42);
  EXPECT_EQ(runs[0].records[0].loss, 10);
  EXPECT_EQ(runs[0].outcome.step, 5);
  EXPECT_EQ(runs[0].facts.precision.value, "fp32");
}

// The same script's file of --dllog_path.
std::string json(int update, double seconds, double rate, const char* more = "") {
  return fmt::format(
      R"(DLLL {{"timestamp": "1793613600.{:06d}", "datetime": "2026-11-02 10:00:00.000000", )"
      R"("elapsedtime": "{:.6f}", "type": "LOG", "step": {}, "data": {{"throughput_train": {}, )"
      R"("mlm_loss": 9.25, "nsp_loss": 0.75, "total_loss": 10.0, "avg_loss_step": 10.0, )"
      R"("learning_rate": "1e-05"{}}}}})"
      "\n",
      static_cast<int>(seconds * 1e6), seconds, update + 1, rate, more);
}

std::string json_closing(const char* data) {
  return std::string(R"(DLLL {"timestamp": "1793613601.5", "datetime": "2026-11-02 10:00:01.5", )"
                     R"("elapsedtime": "9.0", "type": "LOG", "step": [], "data": {)") +
         data + "}}\n";
}

TEST(TfUpdates, ReadsTheJsonOfTheScript) {
  std::string text;
  for (int update = 1; update <= 12; ++update) text += json(update, update * 0.05, 80.0 + update);
  text += json_closing(R"("throughput_train": 91.5)") + json_closing(R"("total_loss": 10.0)") +
          json_closing(R"("throughput_val": 30.25)");
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 2u);
  const RunLog& run = runs[0];
  EXPECT_EQ(run.format, "dllogger-json");
  EXPECT_EQ(run.facts.framework.value, "tensorflow");
  ASSERT_EQ(run.records.size(), 12u);
  EXPECT_EQ(run.records[0].step, 2);
  EXPECT_NEAR(run.records[11].time_s, 0.55, 1e-5);
  EXPECT_EQ(run.records[11].printed_rate, 92);
  EXPECT_EQ(run.records[11].loss, 10);
  EXPECT_EQ(run.rate_unit, RateUnit::sequences_per_second);
  EXPECT_EQ(run.iteration_unit, IterationUnit::optimizer_step);
  EXPECT_EQ(run.summary->value, 91.5);
  EXPECT_EQ(run.outcome.status, Status::completed);
  EXPECT_EQ(run.outcome.step, 12);
  EXPECT_EQ(run.facts.precision.value, "fp32");
  EXPECT_EQ(runs[1].kind, WorkKind::evaluation);
  EXPECT_EQ(runs[1].summary->value, 30.25);
}

// No other line of the file tells a batch.
TEST(TfUpdates, TheBatchOfTheJsonFollowsFromItsRatesWhereItIsSmall) {
  const auto batch = [](int sequences) {
    std::string text;
    for (int update = 1; update <= 12; ++update) {
      text += json(update, update * 0.05, sequences / 0.05);
    }
    return read_text(text).at(0).facts.global_batch_size.value;
  };
  EXPECT_EQ(batch(8), 8);
  EXPECT_EQ(batch(16), 16);
  EXPECT_FALSE(batch(64)) << "or 63, or 65";
}

TEST(TfUpdates, TheJsonOfAResumedRunHasNoClosingRateOfItsOwn) {
  std::string text;
  for (int update = 61; update <= 100; ++update) text += json(update, (update - 60) * 0.02, 80);
  const auto runs = read_text(text + json_closing(R"("throughput_train": 284.5)"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_FALSE(runs[0].summary);
  EXPECT_THAT(texts(runs[0]), testing::HasSubstr("284.5"));
  EXPECT_EQ(runs[0].totals.first_optimizer_step, 60);
  EXPECT_EQ(runs[0].totals.iterations, 40);
}

}  // namespace
}  // namespace bertbench
