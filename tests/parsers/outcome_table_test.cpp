// The sentences by which logs state how a run ended, each once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsers/ended_log.h"

namespace bertbench {
namespace {

// Lines as launchers, schedulers and frameworks print them, after steps that went well.
struct Ending {
  const char* lines;
  Status status;
  const char* detail;  ///< part of it
};

TEST(OutcomeTable, TellsHowRunsEnd) {
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
      {"run.sh: line 28: 152 Hangup                  \"${CMD[@]}\" 2>&1\n", Status::killed,
       "Hangup"},
      {"run.sh: line 28:  8156 Killed                  python3 main.py\n"
       "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=191.batch cgroup.\n",
       Status::out_of_memory, "oom-kill"},
      // TensorFlow's allocator, without the exception.
      {"2019-08-01 10:00:01.5: W tensorflow/core/common_runtime/bfc_allocator.cc:314] Allocator "
       "(GPU_0_bfc) ran out of memory trying to allocate 1.12GiB (rounded to 1207959552).  Current "
       "allocation summary follows.\n"
       "2019-08-01 10:00:01.6: I tensorflow/core/common_runtime/bfc_allocator.cc:929] Stats: \n"
       "Limit:                 10922166272\n",
       Status::out_of_memory, "trying to allocate 1.12GiB"},
      // Losses in words, not printed as numbers.
      {"ERROR:tensorflow:Model diverged with loss = NaN.\n"
       "tensorflow.python.training.basic_session_run_hooks.NanLossDuringTrainingError: NaN loss "
       "during training.\n",
       Status::nan, "NaN"},
      {"Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting "
       "run.\n",
       Status::nan, "loss scale"},
      // glog's handler of signals, as Paddle prints it.
      {"FatalError: `Termination signal` is detected by the operating system.\n"
       "  [SignalInfo: *** SIGTERM (@0x1f3) received by PID 700 (TID 0x7f00) from PID 499 ***]\n",
       Status::killed, "Termination"},
      {"ValueError: operands could not be broadcast\n"
       "FatalError: `Termination signal` is detected by the operating system.\n",
       Status::error, "broadcast"},
      {"*** SIGFPE (@0x8d41) received by PID 700 (TID 0x7f00) from PID 92; stack trace: ***\n"
       "    @     0x7f7837f00530 execute_native_thread_routine\n",
       Status::error, "SIGFPE"},
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
      // Crashes without a traceback, tracebacks after labels, and a cause with its consequence.
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
      {"    Reason:       OOMKilled\n", Status::out_of_memory, "OOMKilled"},  // kubectl describe
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
      {"Finished: SUCCESS\n", Status::completed, ""},
      {"ERROR: Job failed: execution took longer than 1h0m0s seconds\n", Status::timeout, "1h0m0s"},
      {"TERM_OWNER: job killed by owner.\n", Status::killed, "owner"},
      {"Job 12 exceeded hard wallclock time: job killed\n", Status::timeout, "wallclock"},
      {"zsh: killed     python train.py\n", Status::killed, "zsh"},
      {"Killed: 9\n", Status::killed, "9"},
      {"exiting program after receiving SIGTERM.\n", Status::killed, "SIGTERM"},
      {"[launch.py:330:sigkill_handler] Main process received SIGINT, exiting\n", Status::killed,
       "SIGINT"},
      {"usage: tune.py [-h] [--bits N]\ntune.py: error: argument --bits: invalid int value: 'x'\n",
       Status::error, "--bits"},
      {"ChildFailedError:\n  exitcode  : -9 (pid: 15724)\n"
       "  traceback : Signal 9 (SIGKILL) received by PID 15724\n",
       Status::killed, "Signal 9"},
      // torchrun kills the others: the rank that it names as the cause, or that failed by itself.
      {"ChildFailedError:\nFailures:\n[1]:\n  exitcode  : -9 (pid: 11)\n"
       "  traceback : Signal 9 (SIGKILL) received by PID 11\n"
       "Root Cause (first observed failure):\n[0]:\n  rank      : 1 (local_rank: 1)\n"
       "  exitcode  : 1 (pid: 10)\n",
       Status::error, "ChildFailedError"},
      {"ChildFailedError:\nFailures:\n[1]:\n  exitcode  : 1 (pid: 11)\n"
       "[2]:\n  exitcode  : -9 (pid: 12)\n  traceback : Signal 9 (SIGKILL) received by PID 12\n",
       Status::error, "ChildFailedError"},
      {"ChildFailedError:\nFailures:\n[1]:\n  exitcode  : 1 (pid: 11)\n"
       "Root Cause (first observed failure):\n[0]:\n  exitcode  : -9 (pid: 10)\n"
       "  traceback : Signal 9 (SIGKILL) received by PID 10\n",
       Status::killed, "PID 10"},
      {"=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   EXIT CODE: 1\n",
       Status::error, "EXIT CODE: 1"},
      {"=   KILLED BY SIGNAL: 9 (Killed)\n", Status::killed, "SIGNAL: 9"},
      {"=   KILLED BY SIGNAL: 11 (Segmentation fault)\n", Status::error, "11"},
      {"ORTE has lost communication with a remote daemon.\n", Status::error, "lost"},
      {"The node was low on resource: ephemeral-storage. Threshold quantity: 1, available: 0.\n",
       Status::killed, "ephemeral-storage"},
      {"command terminated with exit code 137\n", Status::killed, "137"},
      {"(raylet) [2024-09-03] 1 Workers (tasks / actors) killed due to memory pressure (OOM)\n",
       Status::out_of_memory, "memory pressure"},
      {"memory allocation of 2097152 bytes failed\n", Status::out_of_memory, "2097152"},
      {"(raylet) A worker died or was killed while executing a task by an unexpected system "
       "error.\n",
       Status::error, "worker died"},
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
    EXPECT_THAT(detail_text(outcome), testing::HasSubstr(ending.detail)) << ending.lines;
    EXPECT_EQ(outcome.step, 2) << ending.lines;
  }
}

// What schedulers say less often than they cancel, and devices that are not NVIDIA's.
TEST(OutcomeTable, TellsHowSchedulersAndOtherDevicesEndRuns) {
  const std::vector<Ending> endings = {
      {"RuntimeError: level_zero backend failed with error: 39 "
       "(UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)\n",
       Status::out_of_memory, "level_zero"},
      {"RuntimeError: [Rank:3] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for "
       "size::268435456 (256)MB\n",
       Status::out_of_memory, "PT_DEVMEM"},
      {"slurmstepd: error: Some of your processes may have been killed by the cgroup "
       "out-of-memory handler.\n",
       Status::out_of_memory, "cgroup"},
      {"=>> PBS: job killed: vmem 4123kb exceeded limit 4000kb\n", Status::out_of_memory, "vmem"},
      {"=>> PBS: job killed: walltime 3610 exceeded limit 3600\n", Status::timeout, "walltime"},
      {"=>> PBS: job killed: cput 3610 exceeded limit 3600\n", Status::timeout, "cput"},
      {"=>> PBS: job killed: ncpus 9.4 exceeded limit 4 (sum)\n", Status::killed, "ncpus"},
      {"User defined signal 2\n"
       "TERM_RUNLIMIT: job killed after reaching LSF run time limit.\n"
       "Exited with exit code 140.\n",
       Status::timeout, "TERM_RUNLIMIT"},
      {"TERM_CPULIMIT: job killed after reaching LSF CPU usage limit.\n", Status::timeout, "CPU"},
      {"TERM_ADMIN: job killed by root or LSF administrator.\nExited with exit code 130.\n",
       Status::killed, "TERM_ADMIN"},
      {"Subject: Job 81: <a> in cluster <b> Exited\n\nExited with exit code 3.\n", Status::error,
       "exit code 3"},
      {"srun: error: n2: task 1: User defined signal 1\n", Status::killed, "task 1"},
      {"srun: Force Terminated StepId=77.0\n", Status::killed, "StepId=77.0"},
      {"srun: unrecognized option '--container-image=debian'\n"
       "Try \"srun --help\" for more information\n",
       Status::error, "container-image"},
      {"srun: error: Unable to create step for job 77: Memory required by task is not available\n",
       Status::error, "job 77"},
      {"mpirun noticed that process rank 2 with PID 99 on node n1 exited on signal 6 (Aborted).\n",
       Status::error, "signal 6"},
      {"mpirun noticed that process rank 2 with PID 99 on node n1 exited on signal 15 "
       "(Terminated).\n",
       Status::killed, "signal 15"},
      {"[0]<stderr>:Process 3 exit with status code 1.\n", Status::error, "Process 3"},
      {"train_1 exited with code 137\n", Status::killed, "137"},
      {"  Warning  BackoffLimitExceeded  1m  job-controller  Job has reached the specified backoff "
       "limit\n",
       Status::error, "backoff"},
      {"Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n"
       "subprocess.CalledProcessError: Command '['python', 'b.py']' died with <Signals.SIGTERM: "
       "15>.\n",
       Status::killed, "SIGTERM"},
      {"NVRM: Xid (PCI:0000:07:00): 79, pid=9, GPU has fallen off the bus.\n", Status::error,
       "Xid"},
      {"[rank1]:[E501 10:00:00.1 ProcessGroupNCCL.cpp:1664] [PG ID 0 Rank 1] Exception (either an "
       "error or timeout) detected by watchdog at work: 10, last enqueued NCCL work: 11.\n",
       Status::error, "detected by watchdog"},
      {"  Warning  DeadlineExceeded  1m  job-controller  Job was active longer than specified "
       "deadline\n",
       Status::timeout, "DeadlineExceeded"},
      // The launcher's own exit(-9), as its parent sees it.
      {"[2024-05-01 10:00:00,000] [ERROR] [launch.py:325:sigkill_handler] ['python', 'a.py'] exits "
       "with return code = 247\n",
       Status::killed, "247"},
      {"[rank1]:[F501 10:00:00.5 ProcessGroupNCCL.cpp:1557] [PG ID 0 Rank 1] Terminating the "
       "process after attempting to dump debug info, due to ProcessGroupNCCL watchdog hang.\n",
       Status::error, "watchdog hang"},
      {"[rank1]:[F ProcessGroupNCCL.cpp:1143] [Rank 1] ProcessGroupNCCL's watchdog got stuck for "
       "600 seconds without making progress in monitoring enqueued collectives.\n",
       Status::error, "got stuck"},
  };
  for (const Ending& ending : endings) {
    const Outcome outcome = after_steps(ending.lines);
    EXPECT_EQ(name(outcome.status), name(ending.status)) << ending.lines;
    EXPECT_THAT(detail_text(outcome), testing::HasSubstr(ending.detail)) << ending.lines;
  }
}

}  // namespace
}  // namespace bertbench
