// What scripts, launchers and schedulers say behind a training that is over.
#include <gtest/gtest.h>

#include <string>

#include "tests/parsers/ended_log.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

TEST(ClosingWords, EndARunOfAnyFormat) {
  for (const char* line :
       {"Training finished.", "2024-05-02 11:12:13,456 - INFO - Finished Training",
        "Training completed in 35.2s", "Training Complete! Model saved to out/model.pt",
        "INFO:root:End of training", "==== TRAINING COMPLETE ====", "训练完成！",
        "训练结束：305.2s", "wandb: Find logs at: ./wandb/run-20240502_111213-abcdefgh/logs",
        "[2024-05-02 11:12:13,456] [INFO] [launch.py:348:main] Process 418 exits successfully.",
        "State: COMPLETED (exit code 0)", "Successfully completed.", "Finished: SUCCESS"}) {
    const auto outcome = after_steps(std::string("saved\n") + line + "\n");
    EXPECT_EQ(outcome.status, Status::completed) << line;
    EXPECT_EQ(outcome.line, 3) << line;
    EXPECT_EQ(outcome.step, 2) << line;
  }
}

TEST(ClosingWords, AreNoneOfAnEpochOrAPart) {
  for (const char* line :
       {"Finished training it 640/128028 of epoch 0, 68.9 ms/it", "Finished training warmup: 26.3",
        "Training complete: 12%", "Epoch 3: training complete", "Training finished for epoch 3",
        "training completeness is not checked", "Training finished epoch 3"}) {
    EXPECT_EQ(after_steps(std::string(line) + "\n").status, Status::truncated) << line;
  }
}

TEST(ClosingWords, CountOnceBehindTheLastRecord) {
  const std::string step = "iter 10: loss 8.5, time 130.20ms, mfu 30.00%\n";
  const std::string next = "iter 20: loss 8.4, time 130.30ms, mfu 30.00%\n";
  const auto status = [](const std::string& text) { return read_text(text).at(0).outcome.status; };
  EXPECT_EQ(status("Training finished.\n" + step + next), Status::truncated);
  EXPECT_EQ(status(step + "Training finished.\n" + next), Status::truncated);
  EXPECT_EQ(status(step + next + "Training finished.\n"), Status::completed);
  // Said between the records as well: of each epoch.
  EXPECT_EQ(status(step + "Training finished.\n" + next + "Training finished.\n"),
            Status::truncated);
}

TEST(ClosingWords, DoNotUndoAFailure) {
  const std::string failure =
      "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    main()\n"
      "KeyError: 'text'\n";
  const std::string end = "wandb: Find logs at: ./wandb/run-20240502_111213-abcdefgh/logs\n";
  EXPECT_EQ(after_steps(failure + end).status, Status::error);
  EXPECT_EQ(after_steps(end + failure).status, Status::error);
}

TEST(ClosingWords, OfManyEpochsStayBounded) {
  std::string text;
  for (int i = 1; i <= 3000; ++i) {
    text += "iter " + std::to_string(i) + ": loss 8.5, time 130.20ms, mfu 30.00%\n";
    text += "Training finished.\n";
  }
  EXPECT_EQ(read_text(text).at(0).outcome.status, Status::truncated);
}

}  // namespace
}  // namespace bertbench
