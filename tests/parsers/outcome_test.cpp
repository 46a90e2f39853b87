// How a run ended, from the content of its log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/parsers/ended_log.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

TEST(OutcomeRules, TellOutOfMemoryFromACrash) {
  for (const char* line :
       {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "bert_train: out of memory: needs 12.3 GB, 8.0 GB free; use a smaller --micro-batch-size",
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating "
        "tensor",
        "slurmstepd: error: Detected 1 oom-kill event(s) in step 12.0 cgroup.",
        "RuntimeError: NCCL Error 1: Failed to CUDA calloc 4194304 bytes"}) {
    EXPECT_EQ(after_steps(std::string(line) + "\n").status, Status::out_of_memory) << line;
  }
}

TEST(OutcomeRules, NameTheCauseAndNotWhatFollowsFromIt) {
  const auto outcome = after_steps(
      "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    main()\n"
      "torch.cuda.OutOfMemoryError: CUDA out of memory.\n"
      "[2024-10-17 23:26:15] torch.distributed.elastic: Sending process 3 closing signal SIGTERM\n"
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n");
  EXPECT_EQ(outcome.status, Status::out_of_memory);
  EXPECT_EQ(outcome.step, 2);
  EXPECT_EQ(outcome.line, 5);
}

TEST(OutcomeRules, TakeTheLastLineOfATraceback) {
  const auto outcome = after_steps(
      "Traceback (most recent call last):\n  File \"train.py\", line 201, in <module>\n    "
      "trainer.train()\n"
      "         ^^^^^^^\n  File \"t.py\", line 5, in train\n    raise ValueError(\"x\")\n"
      "ValueError: operands could not be broadcast\n");
  EXPECT_EQ(outcome.status, Status::error);
  EXPECT_EQ(detail_text(outcome), "ValueError: operands could not be broadcast");
  EXPECT_EQ(detail_text(after_steps(
                "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\n"
                "AssertionError\n")),
            "AssertionError");
}

// torch.multiprocessing.spawn raises an exception whose message is the child's whole traceback.
TEST(OutcomeRules, TakeTheErrorOfASpawnedProcess) {
  const std::string spawn =
      "Traceback (most recent call last):\n  File \"main.py\", line 90, in <module>\n    launch()\n"
      "torch.multiprocessing.spawn.ProcessRaisedException: \n\n"
      "-- Process 3 terminated with the following error:\n";
  const std::string child =
      "Traceback (most recent call last):\n  File \"spawn.py\", line 74, in _wrap\n    fn(i)\n"
      "  File \"main.py\", line 31, in work\n    init()\n";
  EXPECT_EQ(detail_text(after_steps(spawn + child + "ValueError: rank 3 knows no peer\n")),
            "torch.multiprocessing.spawn.ProcessRaisedException: ValueError: rank 3 knows no peer");
  EXPECT_EQ(detail_text(after_steps(spawn + child)),
            "torch.multiprocessing.spawn.ProcessRaisedException:");
}

TEST(OutcomeRules, KnowNcclErrorsSignalsAndTheScheduler) {
  EXPECT_EQ(after_steps("[rank2]:[E ProcessGroupNCCL.cpp:616] [Rank 2] Watchdog caught collective "
                        "operation timeout: WorkNCCL(SeqNum=1)\n")
                .status,
            Status::error);
  EXPECT_EQ(
      after_steps("localhost: [rank1]: torch.distributed.DistBackendError: NCCL error in: x\n")
          .status,
      Status::error);
  EXPECT_EQ(
      after_steps("slurmstepd: error: *** STEP 1.0 ON r6 CANCELLED AT 2021-05-25T06:30:55 ***\n")
          .status,
      Status::killed);
  EXPECT_EQ(
      after_steps("slurmstepd: error: *** JOB 1 ON r6 CANCELLED AT 2021-05-25T06:30:55 DUE TO TIME "
                  "LIMIT ***\n")
          .status,
      Status::timeout);
  EXPECT_EQ(after_steps("Killed\n").status, Status::killed);
  EXPECT_EQ(
      after_steps("./run.sh: line 12:  4711 Killed                  python train.py\n").status,
      Status::killed);
  EXPECT_EQ(
      after_steps("run.sh: line 3: 9 Segmentation fault      (core dumped) python x.py\n").status,
      Status::error);
  EXPECT_EQ(after_steps(
                "11/21/2026 04:27:43 - INFO - __main__ -   Training interrupted by signal 15 after "
                "step 2\n")
                .status,
            Status::killed);
}

TEST(OutcomeRules, AreNotFooledByWordsThatOnlySoundLikeTrouble) {
  for (const char* line :
       {"number of nan iterations:   0 | oom=0 | Skilled Killed Bill",
        "step_avg:nanms train_time:nanms", "this may run out of memory on small GPUs",
        "set OMP_NUM_THREADS=1 to avoid your system being out of memory", "Error rate: 0.25",
        "ErrorHandler registered", "The job was not Terminated early"}) {
    EXPECT_EQ(after_steps(std::string(line) + "\n").status, Status::truncated) << line;
  }
}

TEST(OutcomeRules, ForgiveWhatTheRunSurvived) {
  const std::string more = "Iteration: 100%| | 10/10 [00:10<00:00,  1.00it/s]\n";
  const auto outcome = after_steps(
      "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n"
      "ConnectionError: wandb is away\n" +
      more);
  EXPECT_EQ(outcome.status, Status::completed);
}

TEST(OutcomeRules, KeepAFailureThoughSuccessIsPrintedAfterIt) {
  const auto outcome = after_steps(
      "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n"
      "RuntimeError: broken\nTotal time taken 12.5\n"
      "finished pretraining, starting benchmarking\n training throughput: \n");
  EXPECT_EQ(outcome.status, Status::error);
}

TEST(OutcomeRules, KeepTheResultOfARunThatCrashedAfterIt) {
  const auto runs =
      read_text(kSteps + " training throughput: 28.5 \nSegmentation fault (core dumped)\n");
  EXPECT_EQ(runs.at(0).outcome.status, Status::error);
  ASSERT_TRUE(runs[0].summary);
  EXPECT_EQ(runs[0].summary->value, 28.5);
}

TEST(OutcomeRules, GiveEachRunOfAFileItsOwn) {
  const std::string done = "training throughput phase1: 100.5 sequences/second\n";
  const auto runs = read_text(kSteps + done + kSteps + "RuntimeError: CUDA out of memory.\n");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  EXPECT_EQ(runs[1].outcome.status, Status::out_of_memory);
}

TEST(OutcomeRules, CallALogTruncatedWhenNothingSaysWhyItEnds) {
  EXPECT_EQ(after_steps("").status, Status::truncated);
  EXPECT_EQ(after_steps("").step, 2);
}

TEST(OutcomeRules, AreNotMisledByWordsThatOnlySoundLikeTrouble) {
  for (const char* line :
       {"Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.00GiB. The caller indicates "
        "that this is not a failure",
        "loss scale: 65536.0 | number of nan iterations:   0 | ", "step_avg:nanms",
        "skipped_steps : 10, oom=0, Error: 0.125", "MeanSquaredError: 0.25",
        "  warnings.warn('you may run out of memory')", "Killed processes: none",
        "W0101 Sending process 7 closing signal SIGTERM", "UserWarning: MemoryFormat is ignored",
        "INFO: NCCL version 2.18.1+cuda12.1"}) {
    EXPECT_EQ(after_steps(std::string(line) + "\n").status, Status::truncated) << line;
  }
}

TEST(OutcomeRules, KeepAFailureBehindWhichABarIsDrawnOnceMore) {
  const std::string oom =
      "\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\n"
      "torch.cuda.OutOfMemoryError: CUDA out of memory.\n";
  const auto redraw = [](int step) {
    return "Iteration:  40%| | " + std::to_string(step) + "/10 [00:04<00:06,  1.00it/s]\n";
  };
  EXPECT_EQ(after_steps(oom + redraw(2)).status, Status::out_of_memory);
  EXPECT_EQ(after_steps(oom + redraw(4)).status, Status::out_of_memory);
  EXPECT_EQ(after_steps(oom + redraw(4)).step, 4);
  // More of them, or the end of the plan: the run went on.
  EXPECT_EQ(after_steps(oom + redraw(4) + redraw(5) + redraw(6) + redraw(7)).status,
            Status::truncated);
  EXPECT_EQ(after_steps(oom + redraw(10)).status, Status::completed);
}

TEST(OutcomeRules, LeaveOutWhatTheInterpreterIgnores) {
  const std::string done = "Iteration: 100%| | 10/10 [00:10<00:00,  1.00it/s]\n";
  const std::string traceback =
      "Traceback (most recent call last):\n  File \"a.py\", line 1, in __del__\n"
      "AssertionError: can only test a child process\n";
  const std::string ignored = "Exception ignored in: <function Iterator.__del__ at 0x7f>\n";
  EXPECT_EQ(after_steps(done + ignored + traceback).status, Status::completed);
  EXPECT_EQ(after_steps(done + "Error in atexit._run_exitfuncs:\n" + traceback).status,
            Status::completed);
  EXPECT_EQ(after_steps(done + traceback).status, Status::error);
  const auto second = after_steps(ignored + traceback +
                                  "Traceback (most recent call last):\n  File \"a.py\", line 9, in "
                                  "g\nValueError: a real one\n");
  EXPECT_EQ(detail_text(second), "ValueError: a real one");
}

TEST(OutcomeRules, TellTheLastExceptionOfAChainAndWhereItCameFrom) {
  const std::string first =
      "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nKeyError: 'labels'\n\n";
  const std::string second =
      "\nTraceback (most recent call last):\n  File \"a.py\", line 9, in g\n"
      "RuntimeError: no batch\n";
  const auto outcome = after_steps(
      first + "During handling of the above exception, another exception occurred:\n" + second);
  EXPECT_EQ(detail_text(outcome), "RuntimeError: no batch; after KeyError: 'labels'");
  EXPECT_EQ(detail_text(after_steps(first + second)), "KeyError: 'labels'") << "of two ranks";
  const auto oom = after_steps(
      "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n"
      "torch.cuda.OutOfMemoryError: CUDA out of memory.\n\n"
      "The above exception was the direct cause of the following exception:\n" +
      second);
  EXPECT_EQ(oom.status, Status::out_of_memory);
}

TEST(OutcomeRules, DoNotTakeAThreadForTheProcess) {
  const std::string thread =
      "Exception in thread NetworkStatus:\nTraceback (most recent call last):\n"
      "  File \"a.py\", line 1, in f\nOSError: the tracker is away\n";
  const std::string done = "Iteration: 100%| | 10/10 [00:10<00:00,  1.00it/s]\n";
  EXPECT_EQ(after_steps(done + thread).status, Status::completed);
  EXPECT_EQ(after_steps(thread).status, Status::error);
  EXPECT_EQ(detail_text(after_steps(thread)), "OSError: the tracker is away");
  EXPECT_EQ(after_steps(thread + "Killed\n").status, Status::killed);
}

TEST(OutcomeRules, SpeakForALogOfNoKnownFormat) {
  const auto runs = read_text(
      "loading the model\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\n"
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "unknown");
  EXPECT_EQ(runs[0].outcome.status, Status::out_of_memory);
  EXPECT_EQ(runs[0].outcome.line, 4);
  EXPECT_TRUE(runs[0].records.empty());
  EXPECT_TRUE(read_text("nothing happened\nValueError: as in the manual\n").empty());
}

TEST(OutcomeRules, TellALiveLogOnlyWhatItDidNotSurvive) {
  LogReader reader({}, "live.log");
  reader.feed(kSteps + "ConnectionError: the tracker is away\n");
  ASSERT_TRUE(reader.live().trouble);
  for (int step = 3; step < 7; ++step) {
    reader.feed("Iteration:  40%| | " + std::to_string(step) + "/10 [00:04<00:06,  1.00it/s]\n");
  }
  EXPECT_FALSE(reader.live().trouble);
  reader.feed("RuntimeError: CUDA out of memory.\n");
  ASSERT_TRUE(reader.live().trouble);
  EXPECT_EQ(reader.live().trouble->status, Status::out_of_memory);
}

// A trainer that bypasses Slurm's signal goes on for the seconds that are left.
TEST(Outcome, StepsOfTheGraceTimeDoNotUndoATimeLimit) {
  std::string text =
      kSteps +
      "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2025-01-10T15:27:25 DUE TO "
      "TIME LIMIT ***\nBypassing SIGTERM: 15\n";
  for (int i = 3; i < 9; ++i) {
    text += "Iteration:  30%| | " + std::to_string(i) + "/10 [00:0" + std::to_string(i) +
            "<00:01,  1.00it/s]\n";
  }
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::timeout);
  EXPECT_EQ(runs[0].outcome.line, 2);
}

// Paddle's launcher writes at once what its trainers' buffers write later.
TEST(Outcome, StepsBehindTheLastWordOfALauncherDoNotUndoIt) {
  std::string text = kSteps + "LAUNCH INFO 2024-01-10 15:27:25,004 Exit with signal 15\n";
  for (int i = 3; i < 9; ++i) {
    text += "Iteration:  30%| | " + std::to_string(i) + "/10 [00:0" + std::to_string(i) +
            "<00:01,  1.00it/s]\n";
  }
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].outcome.status, Status::killed);
  EXPECT_EQ(runs[0].outcome.line, 2);
}

TEST(OutcomeRules, TellTheLastOfSeveralLaunchesThatCameToNoStep) {
  const std::string trace =
      "Traceback (most recent call last):\n  File \"tune.py\", line 9, in <module>\n    main()\n";
  const std::string first = "nohup: ignoring input\n" + trace + "KeyError: 'labels'\n";
  const std::string second = "nohup: ignoring input\n" + trace + "ValueError: no such split\n";
  const auto outcome = [](const std::string& text) { return read_text(text).at(0).outcome; };
  const auto both = outcome(first + second);
  EXPECT_EQ(both.status, Status::error);
  EXPECT_EQ(both.line, 10);
  EXPECT_EQ(detail_text(both),
            "ValueError: no such split; a launch before this one: error (line 5): "
            "KeyError: 'labels'");
  const std::string memory =
      "nohup: ignoring input\n" + trace + "torch.OutOfMemoryError: CUDA out of memory.\n";
  EXPECT_EQ(outcome(memory + second).status, Status::error);
  EXPECT_EQ(outcome(second + memory).status, Status::out_of_memory);
  // One that is under way tells nothing yet, and each rank or node may say that it begins.
  EXPECT_EQ(outcome(first + "nohup: ignoring input\nloading\n").line, 5);
  EXPECT_EQ(detail_text(outcome("nohup: ignoring input\n" + first)), "KeyError: 'labels'");
  const std::string device =
      "W0501 10:00:00.5   700 gpu_context.cc:244] Please NOTE: device: 0, GPU Compute Capability: "
      "8.0, Driver API Version: 11.4, Runtime API Version: 11.2\n";
  EXPECT_EQ(outcome(device + trace + "KeyError: 'labels'\n" + device + trace +
                    "ValueError: no such split\n")
                .line,
            10);
}

TEST(OutcomeRules, BelieveTheTrackersThatWatchedTheProcess) {
  const std::string done = "Epoch 1: 100%|##| 20/20 [00:20<00:00,  1.00it/s]";
  for (const char* tail : {"swanlab: Error happened while training\n",
                           "\nwandb: Waiting for W&B process to finish... (failed 1).\n",
                           "\nwandb: Program failed with code 1.  Press ctrl-c to abort.\n",
                           "\nError in sys.excepthook:\nTraceback (most recent call last):\n"}) {
    EXPECT_EQ(read_text(done + tail).at(0).outcome.status, Status::error) << tail;
  }
  EXPECT_EQ(read_text(done + "\nwandb: Waiting for W&B process to finish... (success).\n")
                .at(0)
                .outcome.status,
            Status::completed);
  const auto cause = after_steps(
      "torch.cuda.OutOfMemoryError: CUDA out of memory.\n"
      "wandb: Waiting for W&B process to finish... (failed 1).\n");
  EXPECT_EQ(cause.status, Status::out_of_memory);
}

TEST(OutcomeRules, KnowWhatLaunchersAndShellsSayOfAProcess) {
  const std::vector<std::pair<const char*, Status>> lines = {
      {"ERROR:composer.cli.launcher:Rank 1 crashed with exit code 1.", Status::error},
      {"ERROR:composer.cli.launcher:Rank 1 crashed with exit code -9.", Status::killed},
      {"Global rank 0 (PID 81) exited with code 2", Status::error},
      {"Global rank 0 (PID 81) exited with code 0", Status::truncated},
      {"[1]+  Killed                  nohup python tune.py", Status::killed},
      {"[2]-  Terminated              nohup python tune.py", Status::killed},
      {"[1]+  Exit 1                  nohup python tune.py", Status::error},
      {"[1]+  Exit 137                python tune.py", Status::killed},
      {"[1]   We Killed it", Status::truncated},
      {"Command terminated by signal 9", Status::killed},
      {"Command terminated by signal 11", Status::error},
      {"ERROR conda.cli.main_run:execute(49): `conda run python a.py` failed.", Status::error},
      {"python3: can't open file '/a/tune.py': [Errno 2] No such file", Status::error},
      {"free(): invalid pointer", Status::error},
      {"RuntimeError: Train loss contains a NaN.", Status::nan},
      {"Loss is inf, stopping training", Status::nan},
  };
  for (const auto& [line, status] : lines) {
    EXPECT_EQ(after_steps(std::string(line) + "\n").status, status) << line;
  }
}

TEST(OutcomeRules, ReadTheErrorsOfLlmC) {
  EXPECT_EQ(
      after_steps("[CUDNN ERROR] at file att.cpp:41:\n[cudnn_frontend] Error: no plan\n").status,
      Status::error);
  EXPECT_EQ(after_steps("[cuBLAS ERROR]: 13 gpt.cu 77\n").status, Status::error);
  EXPECT_EQ(after_steps("[CUDA ERROR] at file gpt.cu:77:\nout of memory\n").status,
            Status::out_of_memory);
}

TEST(OutcomeRules, TellTheArgumentsThatNoLaunchTook) {
  const auto runs = read_text(
      "usage: tune.py [-h]\ntune.py: error: argument --stage: invalid choice: 'a'\n"
      "usage: tune.py [-h]\ntune.py: error: argument --bits: invalid int value: 'x'\n");
  EXPECT_EQ(runs.at(0).outcome.line, 4);
  EXPECT_EQ(runs.at(0).outcome.status, Status::error);
}

// A peer that left tells of a failure where nothing else does; one that had done its work does not.
TEST(Outcome, APeerThatClosedItsConnectionIsAHint) {
  const std::string left =
      "[2026-03-19 19:16:21] node7:1047:1051 [0] misc/socket.cc:72 NCCL WARN socketProgress: "
      "Connection closed by remote peer node8.example<46776>\n";
  const auto alone = read_text("building the model ...\n" + left);
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone[0].outcome.status, Status::error);
  const std::string bars =
      "Iteration:  50%|#| 1/2 [00:01<00:01,  1.00s/it]\n"
      "Iteration: 100%|##| 2/2 [00:02<00:00,  1.00s/it]\n";
  const auto done = read_text(bars + left);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].outcome.status, Status::completed);
  const auto named = read_text(left + "RuntimeError: shapes do not fit\n");
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0].outcome.line, 2);
}

}  // namespace
}  // namespace bertbench
