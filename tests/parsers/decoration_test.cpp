// What loggers, containers and CI put before lines.
#include "parsers/lines/decoration.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "parsers/core/text.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string deepest(std::string_view line) {
  std::string out(line);
  for (const std::string_view layer : Layers(line)) out = layer;
  return out;
}

TEST(Transport, IsTakenOffWhateverRunsInIt) {
  for (const char* front :
       {"2024-05-01T10:00:00.1234567Z ", "2024-05-01T10:00:00.123456789+00:00 ",
        "2024-05-01T10:00:00Z stdout F ", "[2024-05-01T10:00:00.123Z] ", "(train pid=123) ",
        "(RayTrainWorker pid=123, ip=10.0.0.2) ", "[pod/worker-0/pytorch] ", "trainer-1  | ",
        "[127.0.0.1.10000::stdout] ", "[10.0.0.2.10001::stderr] ", "trainer_12 | ",
        "train\tRun training\t2024-05-01T10:00:00.1234567Z ",
        "trainer  | 2024-05-01T10:00:00.123Z ", "2.train       | [2024-05-01T10:00:00Z] "}) {
    EXPECT_EQ(without_transport(std::string(front) + "  File \"a.py\""), "  File \"a.py\"")
        << front;
  }
}

TEST(Transport, IsNotSeenWhereThereIsNone) {
  for (const char* line :
       {"2024-05-01 10:00:00,123 - INFO - step 1", "| epoch 001 | loss 2", "5 | loss 8.3",
        "Transformer | epoch 0 | step 10 |", "step    1/10 | loss 7.1", "(0, 470) loss : 1",
        "2024-05-01 | loss 2", "[Epoch 0 Batch 100/200] loss=1", "2024-05-01T10",
        "valid | epoch 001 | loss 2"}) {
    EXPECT_EQ(without_transport(line), line);
  }
}

TEST(Layers, EndInTheText) {
  for (const char* front :
       {"2024-05-01 10:00:00 ", "2024-05-01 10:00:00,123 - INFO - ", "[2024-05-01 10:00:00] ",
        "2024-05-01 10:00:00.123 | INFO     | __main__:train:42 - ",
        "05/01/2024 10:00:00 - INFO - __main__ - ", "INFO:root:", "INFO:bert.train:",
        "[2024-05-01 10:00:00,123][root][INFO] - ", "I0501 17:11:00.381370 14042 train.py:48] ",
        "May  1 10:00:00 node-1 python[77]: ", "May 01 10:00:00 ", "10:00:00 ", "[INFO] ",
        "train.py:42 - ", "[05/01 10:00:00 d2.utils.events]: ", "[worker-0 pytorch] ",
        "train\tRun it\t2024-05-01T10:00:00.1Z ", "> "}) {
    EXPECT_EQ(deepest(std::string(front) + "iter 10: loss 4.5"), "iter 10: loss 4.5") << front;
  }
}

TEST(Layers, LeaveTheBlanksOfCode) {
  EXPECT_EQ(deepest("2024-05-01 10:00:00     raise ValueError"), "    raise ValueError");
  EXPECT_EQ(deepest("05/01/2024 10:00:00 - INFO - __main__ -   loss 1"), "loss 1");
}

TEST(Layers, TakeNothingOffAPlainLine) {
  for (const char* line :
       {"iter 10: loss 4.5", "step:10/20 train_loss:3.2", "[step 249]\tmlm_loss=9",
        "[Epoch 0 Batch 100/200] loss=1", "Epoch: [0][10/20]", "{'loss': 1.0}", "loss 4.5"}) {
    EXPECT_EQ(deepest(line), line);
  }
}

TEST(Front, IsStampsAndLevelsOnly) {
  EXPECT_EQ(without_front("2024-05-01 10:00:00,123 - INFO - Iteration"), "Iteration");
  EXPECT_EQ(without_front("INFO:root:Iteration"), "Iteration");
  EXPECT_EQ(without_front("trainer-1  | 10:00:00 Iteration"), "Iteration");
  EXPECT_EQ(without_front("val - Epoch 3"), "val - Epoch 3");
  EXPECT_EQ(without_front("Epoch 1"), "Epoch 1");
}

struct PlainLog {
  const char* name;
  std::string text;
};

std::vector<PlainLog> plain_logs() {
  std::string iters, dicts, bars;
  for (int i = 1; i <= 12; ++i) {
    const std::string n = std::to_string(i);
    iters += "iter " + n + ": loss 4.5" + n + ", time 26" + n + ".00ms, mfu 8.92%\n";
    dicts += "{'loss': 4.5" + n + ", 'learning_rate': 2e-05, 'epoch': 0." + (i < 10 ? "0" + n : n) +
             "}\n";
    bars += "Iteration:  1%|#    | " + n + "/100 [00:0" + std::to_string(i / 2) +
            "<00:30,  2.00it/s]\n";
  }
  return {{"nanogpt", iters}, {"huggingface", dicts}, {"tqdm", bars}};
}

TEST(Decorations, ChangeNeitherRecordsNorOutcome) {
  const std::string failure =
      "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    main()\n"
      "ValueError: shapes differ\n";
  const std::vector<std::string> fronts = {"2024-05-01T10:00:00.1234567Z ",
                                           "2024-05-01 10:00:00 ",
                                           "[2024-05-01 10:00:00,123] ",
                                           "2024-05-01 10:00:00,123 - INFO - ",
                                           "INFO:root:",
                                           "May  1 10:00:00 node-1 python[77]: ",
                                           "May 01 10:00:00 ",
                                           "trainer-1  | ",
                                           "(train pid=7) ",
                                           "[1,0]<stdout>: ",
                                           "[prterun-n1-42@1,0]<stdout>: ",
                                           "[0]<stdout>:",
                                           "[1,mpirank:0,algo-1]<stdout>:",
                                           "[trainer0]:",
                                           "[rank0] "};
  for (const PlainLog& log : plain_logs()) {
    const std::string whole = log.text + failure;
    const RunLog plain = read_text(whole).at(0);
    ASSERT_EQ(plain.format, log.name);
    for (const std::string& front : fronts) {
      std::string text;
      for (const std::string_view line : split(whole, '\n')) {
        if (!line.empty()) text += front + std::string(line) + "\n";
      }
      const auto runs = read_text(text);
      ASSERT_EQ(runs.size(), 1u) << log.name << " after " << front;
      EXPECT_EQ(to_test_json(runs[0])["records"], to_test_json(plain)["records"])
          << log.name << " after " << front;
      EXPECT_EQ(name(runs[0].outcome.status), name(plain.outcome.status)) << front;
      EXPECT_NE(detail_text(runs[0].outcome).find("ValueError: shapes differ"), std::string::npos)
          << log.name << " after " << front << ": " << detail_text(runs[0].outcome);
    }
  }
}

}  // namespace
}  // namespace bertbench
