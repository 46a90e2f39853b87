// How a run ended, from the content of its log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

const std::string kSteps =
    "Iteration:  10%| | 1/10 [00:01<00:09,  1.00it/s]\rIteration:  20%| | 2/10 [00:02<00:08,  "
    "1.00it/s]\n";

Outcome after_steps(const std::string& tail) { return read_text(kSteps + tail).at(0).outcome; }

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
  EXPECT_EQ(outcome.detail, "ValueError: operands could not be broadcast");
  EXPECT_EQ(
      after_steps("Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\n"
                  "AssertionError\n")
          .detail,
      "AssertionError");
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

// Lines as launchers, schedulers and frameworks print them, after steps that went well.
struct Ending {
  const char* lines;
  Status status;
  const char* detail;  ///< part of it
};

TEST(OutcomeRules, TellHowRunsEnd) {
  const std::vector<Ending> endings = {
      // Out of memory: of the device, of the host, of the job's share.
      {"RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB. If reserved memory is >> "
       "allocated memory try setting max_split_size_mb to avoid fragmentation.\n",
       Status::out_of_memory, "Tried to allocate"},
      {"2024-05-01 10:00:01 | ERROR | CUDA out of memory. Tried to allocate 2.00 GiB ... to avoid "
       "fragmentation.\n",
       Status::out_of_memory, "CUDA out of memory"},
      {"slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have "
       "been OOM Killed.\nsrun: error: n1: task 0: Out Of Memory\n",
       Status::out_of_memory, "oom_kill"},
      {"node1:12:40 [0] include/alloc.h:48 NCCL WARN Cuda failure 'out of memory'\n"
       "RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:825, unhandled cuda error\n",
       Status::out_of_memory, "NCCL WARN"},
      {"numpy.core._exceptions._ArrayMemoryError: Unable to allocate 3.00 GiB for an array\n",
       Status::out_of_memory, "Unable to allocate"},
      {"RuntimeError: [enforce fail at alloc_cpu.cpp:75] . DefaultCPUAllocator: can't allocate "
       "memory: you tried to allocate 40 bytes.\n",
       Status::out_of_memory, "DefaultCPUAllocator"},
      {"[ERROR] PRE_ACT: Device(id:0) memory isn't enough and alloc failed, kernel name: Add\n",
       Status::out_of_memory, "alloc failed"},
      {"run.sh: line 28:  8156 Killed                  python3 main.py\n"
       "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=191.batch cgroup.\n",
       Status::out_of_memory, "oom-kill"},
      // Losses that are told, not printed as numbers.
      {"ERROR:tensorflow:Model diverged with loss = NaN.\n"
       "tensorflow.python.training.basic_session_run_hooks.NanLossDuringTrainingError: NaN loss "
       "during training.\n",
       Status::nan, "NaN"},
      {"Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting "
       "run.\n",
       Status::nan, "loss scale"},
      // One rank fails, torchrun ends the others by SIGTERM: the run failed, nobody killed it.
      {"WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 59460 closing signal "
       "SIGTERM\n"
       "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 5 "
       "(pid: 59469) of binary: python\n",
       Status::error, "exitcode: 1"},
      {"W1223 05:17:58 api.py:908] Sending process 3304210 closing signal SIGTERM   \n"
       "E1223 05:18:02 api.py:882] failed (exitcode: -11) local_rank: 0 (pid: 3304209)\n",
       Status::error, "exitcode: -11"},
      {"E1223 05:18:02 api.py:882] failed (exitcode: -9) local_rank: 0 (pid: 3304209)\n",
       Status::killed, "exitcode: -9"},
      {"W0409 07:28:49 api.py:719] Received 15 death signal, shutting down workers\n"
       "W0409 07:28:49 api.py:897] Sending process 1365 closing signal SIGTERM\n"
       "Traceback (most recent call last):\n  File \"torchrun\", line 8, in <module>\n"
       "torch.distributed.elastic.multiprocessing.api.SignalException: Process 1 got signal: 15\n",
       Status::killed, "death signal"},
      // Schedulers.
      {"slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2024-01-01T00:00:00 DUE TO TIME LIMIT "
       "***\n",
       Status::timeout, "TIME LIMIT"},
      {"slurmstepd: error: *** STEP 12.0 ON n1 CANCELLED AT 2024-01-01T00:00:00 ***\n",
       Status::killed, "CANCELLED"},
      {"=>> PBS: job killed: walltime 3617 exceeded limit 3600\n", Status::timeout, "walltime"},
      {"TERM_RUNLIMIT: job killed after reaching LSF run time limit.\n", Status::timeout, "LSF"},
      {"srun: error: c002: task 0: Killed\nsrun: Force Terminated StepId=120.0\n", Status::killed,
       "task 0: Killed"},
      {"srun: error: c002: task 3: Exited with exit code 1\n", Status::error, "exit code 1"},
      {"mpirun noticed that process rank 3 with PID 0 on node n2 exited on signal 9 (Killed).\n",
       Status::killed, "signal 9"},
      // Crashes without a traceback, tracebacks behind labels, and a cause with its consequence.
      {"run.sh: line 3:  4711 Aborted                 (core dumped) python train.py\n",
       Status::error, "core dumped"},
      {"node-2: Traceback (most recent call last):\nnode-2:   File \"train.py\", line 3, in f\n"
       "node-2:     main()\nnode-2: ValueError: bad\n",
       Status::error, "ValueError: bad"},
      {"RuntimeError: DataLoader worker (pid 12) exited unexpectedly\n", Status::error,
       "DataLoader"},
      {"Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n"
       "FileNotFoundError: [Errno 2] No such file\n"
       "[rank1]:[E ProcessGroupNCCL.cpp:683] [Rank 1] Watchdog caught collective operation "
       "timeout: WorkNCCL(SeqNum=2)\n",
       Status::error, "then NCCL: collective operation timeout"},
      // Further ways to say it: JAX, ENOMEM, Kubernetes, Slurm's limit, MindSpore.
      {"RuntimeError: Resource exhausted: Failed to allocate request for 5.82GiB on device 0\n",
       Status::out_of_memory, "Failed to allocate"},
      {"OSError: [Errno 12] Cannot allocate memory\n", Status::out_of_memory, "Errno 12"},
      {"    Reason:       OOMKilled\n", Status::truncated, ""},
      {"Reason: OOMKilled\nExit Code: 137\n", Status::out_of_memory, "OOMKilled"},
      {"slurmstepd: error: Step 7.0 exceeded memory limit (64000000 > 62914560), being killed\n"
       "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2019-01-01T00:00:00 ***\n",
       Status::out_of_memory, "exceeded memory limit"},
      {"RuntimeError: Allocate memory failed.\n", Status::out_of_memory, "Allocate"},
      // NaN that a trainer stops at.
      {"ValueError: Loss is NaN\n", Status::nan, "Loss is NaN"},
      {"FloatingPointError: Loss became infinite or NaN at iteration=7!\n", Status::nan,
       "iteration=7"},
      {"RuntimeError: Function 'LogSoftmaxBackward0' returned nan values in its 0th output.\n",
       Status::nan, "LogSoftmax"},
      {"FloatingPointError: invalid value (nan) encountered in jit(train_step)\n", Status::nan,
       "invalid value"},
      // NCCL's watchdog in torch 2.x.
      {"[rank4]:[F1123 00:52:57.6 ProcessGroupNCCL.cpp:1250] [PG 0 Rank 4] Heartbeat monitor timed "
       "out! Process will be terminated\n",
       Status::error, "Heartbeat"},
      {"[rank4]:[E321 02:07:12.5 ProcessGroupNCCL.cpp:1709] [PG 1 Rank 4] Timeout at NCCL work: "
       "9\n",
       Status::error, "Timeout at NCCL work"},
      // Launchers' exit codes: of a signal, of a time limit, of an error, of none.
      {"[2023-04-14 13:11:27,885] [ERROR] [launch.py:434:sigkill_handler] ['python', 'm.py'] exits "
       "with return code = -9\n",
       Status::killed, "-9"},
      {"[ERROR] [launch.py:321:sigkill_handler] ['python', 'm.py'] exits with return code = -11\n",
       Status::error, "-11"},
      {"[ERROR] [launch.py:321:sigkill_handler] ['python', 'm.py'] exits with return code = 1\n",
       Status::error, "= 1"},
      {"ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 137) local_rank: 4\n",
       Status::killed, "137"},
      {"srun: error: n1: task 3: Exited with exit code 143\n", Status::killed, "143"},
      {"pdsh@n1: n2: ssh exited with exit code 1\n", Status::error, "ssh"},
      {"##[error]Process completed with exit code 124.\n", Status::timeout, "124"},
      {"##[error]Process completed with exit code 1.\n", Status::error, "code 1"},
      {"##[error]The operation was canceled.\n", Status::killed, "canceled"},
      {"make: *** [Makefile:12: train] Error 137\n", Status::killed, "137"},
      {"make: *** [Makefile:12: train] Error 2\n", Status::error, "Error 2"},
      {"make: *** [train] Terminated\n", Status::killed, "Terminated"},
      {"Primary job  terminated normally, but 1 process returned\n"
       "a non-zero exit code. Per user-direction, the job has been aborted.\n",
       Status::error, "non-zero"},
      {"timeout: sending signal TERM to command 'python'\nTerminated\n", Status::timeout, "TERM"},
      {"Build timed out (after 60 minutes). Marking the build as aborted.\nFinished: ABORTED\n",
       Status::timeout, "60 minutes"},
      {"Finished: FAILURE\n", Status::error, "FAILURE"},
      {"Finished: SUCCESS\n", Status::truncated, ""},
      {"ERROR: Job failed: execution took longer than 1h0m0s seconds\n", Status::timeout, "1h0m0s"},
      {"TERM_OWNER: job killed by owner.\n", Status::killed, "owner"},
      {"Job 12 exceeded hard wallclock time: job killed\n", Status::timeout, "wallclock"},
      {"zsh: killed     python train.py\n", Status::killed, "zsh"},
      {"Killed: 9\n", Status::killed, "9"},
      {"exiting program after receiving SIGTERM.\n", Status::killed, "SIGTERM"},
      {"ChildFailedError:\n  exitcode  : -9 (pid: 15724)\n"
       "  traceback : Signal 9 (SIGKILL) received by PID 15724\n",
       Status::killed, "Signal 9"},
      {"=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   EXIT CODE: 1\n",
       Status::error, "EXIT CODE: 1"},
      {"=   KILLED BY SIGNAL: 9 (Killed)\n", Status::killed, "SIGNAL: 9"},
      {"=   KILLED BY SIGNAL: 11 (Segmentation fault)\n", Status::error, "11"},
      {"ORTE has lost communication with a remote daemon.\n", Status::error, "lost"},
      {"The node was low on resource: memory. Container pytorch was using 60Gi\n",
       Status::out_of_memory, "low on resource"},
      {"worker-1: RuntimeError: The Inner error is reported as above.\n", Status::error, "Inner"},
      {"[W stall_inspector.cc:105] One or more tensors were submitted to be reduced, gathered or "
       "broadcasted by subset of ranks and are waiting for remainder of ranks\n",
       Status::stalled, "tensors"},
      // srun cancels a step because one of its tasks has failed, or a node.
      {"srun: error: n1: task 0: Exited with exit code 1\nsrun: Terminating StepId=1.0\n"
       "slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED AT 2024-04-20T09:09:37 ***\n",
       Status::error, "exit code 1"},
      {"srun: error: Node failure on n12\nsrun: error: n12: task 3: Killed\n", Status::killed,
       "Node failure"},
      // A rank that lost its peer is no cause, nor is a traceback of no known exception stronger.
      {"Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n"
       "ConnectionResetError: [Errno 104] Connection reset by peer\n"
       "Traceback (most recent call last):\n  File \"a.py\", line 2, in f\n"
       "KeyError: 'labels'\n",
       Status::error, "KeyError"},
      {"Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n"
       "acme.Unhappy: no more\n",
       Status::error, "Traceback"},
      {"Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nSystemExit: 3\n",
       Status::error, "SystemExit"},
      {"2024-05-01 10:00:00,123 - ERROR - Traceback (most recent call last):\n"
       "2024-05-01 10:00:00,123 - ERROR -   File \"a.py\", line 1, in f\n"
       "2024-05-01 10:00:00,123 - ERROR - ValueError: shapes differ\n",
       Status::error, "ValueError: shapes differ"},
  };
  for (const Ending& ending : endings) {
    const Outcome outcome = after_steps(ending.lines);
    EXPECT_EQ(name(outcome.status), name(ending.status)) << ending.lines;
    EXPECT_THAT(outcome.detail, testing::HasSubstr(ending.detail)) << ending.lines;
    EXPECT_EQ(outcome.step, 2) << ending.lines;
  }
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
  EXPECT_EQ(second.detail, "ValueError: a real one");
}

TEST(OutcomeRules, TellTheLastExceptionOfAChainAndWhereItCameFrom) {
  const std::string first =
      "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nKeyError: 'labels'\n\n";
  const std::string second =
      "\nTraceback (most recent call last):\n  File \"a.py\", line 9, in g\n"
      "RuntimeError: no batch\n";
  const auto outcome = after_steps(
      first + "During handling of the above exception, another exception occurred:\n" + second);
  EXPECT_EQ(outcome.detail, "RuntimeError: no batch; after KeyError: 'labels'");
  EXPECT_EQ(after_steps(first + second).detail, "KeyError: 'labels'") << "of two ranks";
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
  EXPECT_EQ(after_steps(thread).detail, "OSError: the tracker is away");
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

}  // namespace
}  // namespace bertbench
