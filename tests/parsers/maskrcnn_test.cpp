#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string step(int n, const std::string& time, const std::string& median) {
  return "2020-06-23 19:" + time +
         " maskrcnn_benchmark.trainer INFO: eta: 0:04:44  iter: " + std::to_string(n) +
         "  loss: 6.0406 (6.0744)  loss_classifier: 4.0589 (4.0579)  time: " + median +
         " (0.7480)  data: 0.0411 (0.0899)  lr: 0.000000  max mem: 7270\n";
}

// The mean in brackets is that of all iterations, the other one a median: the stamps tell.
TEST(Maskrcnn, TakesTheIntervalFromTheStamps) {
  const auto runs = read_text(
      "2020-06-23 19:31:55,609 maskrcnn_benchmark INFO: Using 8 GPUs\n"
      "2020-06-23 19:31:55,609 maskrcnn_benchmark INFO: Namespace(config_file='e2e.yaml', "
      "distributed=True, opts=['SOLVER.IMS_PER_BATCH', '48', 'DTYPE', 'float16'])\n" +
      step(20, "32:31,883", "0.5000") + step(40, "32:43,843", "0.5000") +
      "2020-06-23 19:36:26,782 maskrcnn_benchmark.trainer INFO: Total training time: "
      "0:04:09.860771 (0.6247 s / it)\n"
      "Training perf is: 76.84 FPS\n");
  ASSERT_EQ(runs.size(), 1u);
  const RunLog& run = runs[0];
  ASSERT_EQ(run.records.size(), 2u);
  EXPECT_NEAR(run.records[1].time_s, 11.96, 1e-6);
  EXPECT_EQ(run.records[1].iterations, 20);
  EXPECT_EQ(run.records[1].printed_rate, 2);
  EXPECT_EQ(run.records[1].loss, 6.0406);
  EXPECT_EQ(run.facts.sequences_per_optimizer_step(), 48);
  EXPECT_EQ(run.facts.world(), 8);
  EXPECT_EQ(run.summary->value, 76.84);
  EXPECT_NEAR(*run.totals.training_s, 249.860771, 1e-9);
  EXPECT_EQ(run.outcome.status, Status::completed);
}

// Shown twice: as the file has it and as the arguments left it. Behind the solver's batch stands
// that of the test.
TEST(Maskrcnn, TakesTheBatchOfTheSolver) {
  const std::string at = "2020-06-23 19:31:55,609 maskrcnn_benchmark INFO: ";
  const std::string configurations =
      at + "Loaded configuration file e2e.yaml\n" + at +
      "\nSOLVER:\n  MAX_ITER: 90000\n  IMS_PER_BATCH: 1\nTEST:\n  IMS_PER_BATCH: 2\n" + at +
      "Running with config:\nSOLVER:\n  IMS_PER_BATCH: 96\n  MAX_ITER: 60\nTEST:\n"
      "  IMS_PER_BATCH: 2\n";
  const std::string steps = step(20, "32:31,883", "0.5000") + step(40, "32:43,843", "0.5000");
  const auto told = read_text(configurations + steps);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].facts.sequences_per_optimizer_step(), 96);
  const auto argued =
      read_text(at + "Namespace(config_file='e2e.yaml', opts=['SOLVER.IMS_PER_BATCH', '96'])\n" +
                configurations + steps);
  ASSERT_EQ(argued.size(), 1u);
  EXPECT_EQ(argued[0].facts.sequences_per_optimizer_step(), 96);
}

TEST(Maskrcnn, TakesTheImagesOfAllGpusOfSsd) {
  const auto runs = read_text(
      "Done benchmarking. Total images: 22400\ttotal time: 160.959\tAverage images/sec: "
      "139.166\tMedian images/sec: 139.336\n"
      "Training performance = 1114.7 FPS\n"
      "epoch: 0\ttime: 190.72184205055237\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].summary->value, 1114.7);
  EXPECT_FALSE(runs[0].totals.sequences) << "of one of eight GPUs";
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

TEST(Maskrcnn, TellsTheBatchAndTheGpusOfSsd) {
  const std::string argued =
      "DLL 2022-11-18 00:29:48.925775 - PARAMETER dataset path : /data/object_detection  epochs : "
      "1  "
      "batch size : 448  eval batch size : 32  no cuda : False  seed : None  AMP : True  precision "
      ": "
      "amp \n";
  const auto done = [](const std::string& median) {
    return "Done benchmarking. Total images: 358400\ttotal time: 170.750\tAverage images/sec: "
           "2097.122\tMedian images/sec: " +
           median + "\n";
  };
  const auto runs = read_text(argued + argued + done("2099.122") + done("2100.131") +
                              "Training performance = 4199.25341796875 FPS\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 448);
  EXPECT_EQ(runs[0].facts.world(), 2);
  EXPECT_EQ(runs[0].facts.precision.value, "fp16");

  const auto cut = read_text(argued + done("2099.122") + "Training performance = 4199.253 FPS\n");
  ASSERT_EQ(cut.size(), 1u);
  EXPECT_FALSE(cut[0].facts.world()) << "the lines of one of two GPUs";

  std::string other = argued;
  other.replace(other.find("AMP : True"), 10, "AMP : False");
  other.replace(other.find("448"), 3, "256");
  const auto two = read_text(argued + done("2099.122") + "Training performance = 2099.122 FPS\n" +
                             other + done("900.5") + "Training performance = 1801.5 FPS\n");
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].facts.precision.value, "fp16");
  EXPECT_EQ(two[0].facts.micro_batch_size.value, 448);
  EXPECT_EQ(two[0].facts.world(), 1);
  EXPECT_FALSE(two[1].facts.precision.known());
  EXPECT_EQ(two[1].facts.micro_batch_size.value, 256);
  EXPECT_FALSE(two[1].facts.world());
  EXPECT_EQ(two[1].summary->value, 1801.5);

  const auto failed = read_text(argued +
                                "Using seed = 4198\nFileNotFoundError: [Errno 2] No such "
                                "file or directory: 'instances_val2017.json'\n");
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].facts.micro_batch_size.value, 448);
  EXPECT_EQ(failed[0].outcome.status, Status::error);
}

// The counter begins at 0, the printed time is a mean since then.
TEST(Maskrcnn, ReadsDetectron2) {
  const auto line = [](const std::string& stamp, int iter, const std::string& loss) {
    return "[" + stamp + " d2.utils.events]:  eta: 8:05:12  iter: " + std::to_string(iter) +
           "  total_loss: " + loss +
           "  loss_cls: 0.714  time: 0.5000  data_time: 0.0334  lr: 0.01  max_mem: 3961M\n";
  };
  const std::string log = "  IMS_PER_BATCH: 16\n" + line("12/31 23:58:20", 199, "1.5") +
                          line("12/31 23:59:20", 399, "1.25") +
                          line("01/01 00:00:20", 599, "1.125");
  auto runs = read_text(log);
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[2].step, 600);
  EXPECT_EQ(runs[0].records[2].iterations, 200);
  EXPECT_EQ(runs[0].records[2].loss, 1.125);
  EXPECT_EQ(runs[0].records[2].printed_rate, 2);
  EXPECT_NEAR(runs[0].records[1].time_s - runs[0].records[0].time_s, 60, 1e-6);
  EXPECT_EQ(runs[0].facts.sequences_per_optimizer_step(), 16);
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
  runs = read_text(log +
                   "[01/01 00:00:30 d2.engine.hooks]: Overall training speed: 598 iterations in "
                   "0:02:59 (0.3000 s / it)\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_NEAR(*runs[0].totals.training_s, 179.4, 1e-9);
  EXPECT_EQ(runs[0].totals.iterations, 598);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

}  // namespace
}  // namespace bertbench
