#include "parsers/rules/outcome_table.h"

namespace bertbench {
namespace {

constexpr OutcomeRule kRules[] = {
    // A GPU's memory: "CUDA out of memory" of PyTorch (corpus
    // megatron/lockclock_tp1pp2dp8_oom.log), "Out of memory" of Paddle, XLA and Linux. TensorFlow's
    // allocator prints of a failed attempt that it "is not a failure"
    // (quoted/outcome_rules.are_not_misled_by_words_that_only_sound_like_trouble).
    {"out of memory", "", "ran out of memory trying to allocate", Status::out_of_memory, kMemory},
    {"Out of memory", "", "", Status::out_of_memory, kMemory},
    {"Out of Memory", "", "", Status::out_of_memory, kMemory},
    {"Out Of Memory", "srun: error", "", Status::out_of_memory, kMemory},  // Slurm
    {"OOM when allocating", "", "", Status::out_of_memory, kMemory},       // TensorFlow
    // TensorFlow's allocator lists its chunks after a failure; the error itself may be missing
    // (quoted/outcome_table.tells_how_runs_end.10).
    {"Current allocation summary follows", "", "", Status::out_of_memory, kMemory},
    {"emory isn't enough", "", "", Status::out_of_memory, kMemory},      // MindSpore
    {"emory not enough", "", "", Status::out_of_memory, kMemory},        // MindSpore
    {"Allocate memory failed", "", "", Status::out_of_memory, kMemory},  // MindSpore
    {"annot allocate memory", "", "", Status::out_of_memory, kMemory},   // ENOMEM
    // MXNet 1.9 (quoted/outcome_rules.mxnet_has_its_own_words_for_a_lack_of_memory).
    {"Failed to allocate CPU Memory", "", "", Status::out_of_memory, kMemory},
    // PyTorch's allocator for the CPU, as it prints it on Windows and on Linux
    // (quoted/outcome_table.tells_how_runs_end.6); then Python and NumPy, PyTorch since 1.13 (its
    // name is OutOfMemoryError), and the error codes of CUDA's driver, cuBLAS, cuDNN and CUDA's
    // runtime.
    {"not enough memory: you tried to allocate", "", "", Status::out_of_memory, kMemory},
    {"can't allocate memory", "", "", Status::out_of_memory, kMemory},
    {"MemoryError", "", "", Status::out_of_memory, kMemory},
    {"CUDA_ERROR_OUT_OF_MEMORY", "", "", Status::out_of_memory, kMemory},
    {"CUBLAS_STATUS_ALLOC_FAILED", "", "", Status::out_of_memory, kMemory},
    {"CUDNN_STATUS_ALLOC_FAILED", "", "", Status::out_of_memory, kMemory},
    {"cudaErrorMemoryAllocation", "", "", Status::out_of_memory, kMemory},
    {"Failed to CUDA calloc", "", "", Status::out_of_memory, kMemory},        // NCCL
    {"OUT_OF_DEVICE_MEMORY", "", "", Status::out_of_memory, kMemory},         // Level Zero
    {"PT_DEVMEM Allocation failed", "", "", Status::out_of_memory, kMemory},  // Gaudi
    // JAX, XLA and TensorFlow. gRPC prints the same of a message that is too large.
    {"RESOURCE_EXHAUSTED", "", "larger than max", Status::out_of_memory, kMemory},
    {"Resource exhausted: ", "lloc", "larger than max", Status::out_of_memory, kMemory},
    {"Resource exhausted: ", "memory", "larger than max", Status::out_of_memory, kMemory},
    {"ResourceExhaustedError", "", "", Status::out_of_memory, kMemory},
    {"low on resource: memory", "", "", Status::out_of_memory, kMemory},  // Kubernetes evicts
    {"node was low on resource: ", "", "", Status::killed, kNamed},       // of disk or others
    {"OOMKilled", "", "", Status::out_of_memory, kMemory},                // Kubernetes
    {"killed due to memory pressure (OOM)", "", "", Status::out_of_memory, kMemory},  // Ray
    {"oom-kill event", "", "", Status::out_of_memory, kMemory},                       // Slurm
    {"oom_kill event", "", "", Status::out_of_memory, kMemory},                       // Slurm
    {"out-of-memory handler", "", "", Status::out_of_memory, kMemory},       // Slurm's cgroup
    {"Exceeded job memory limit", "", "", Status::out_of_memory, kMemory},   // Slurm
    {"Exceeded step memory limit", "", "", Status::out_of_memory, kMemory},  // Slurm
    {"exceeded memory limit", "", "", Status::out_of_memory, kMemory},       // Slurm
    {"TERM_MEMLIMIT", "", "", Status::out_of_memory, kMemory},               // LSF
    {"PBS: job killed: ", "mem ", "", Status::out_of_memory, kMemory},       // PBS: vmem, pmem
    {"std::bad_alloc", "", "", Status::out_of_memory, kMemory},              // C++
    {"memory allocation of ", " bytes failed", "", Status::out_of_memory, kMemory},  // Rust
    // TensorFlow's NanTensorHook prints both (quoted/outcome_table.tells_how_runs_end.11).
    {"NaN loss during training", "", "", Status::nan, kNan},
    {"diverged with loss = NaN", "", "", Status::nan, kNan},
    // The training loops of DeiT, DETR and MAE: "Loss is nan, stopping training"
    // (quoted/outcome_rules.know_what_launchers_and_shells_say_of_a_process.16).
    {"oss is nan, stopping", "", "", Status::nan, kNan},
    {"oss is inf, stopping", "", "", Status::nan, kNan},
    {"oss is NaN, stopping", "", "", Status::nan, kNan},
    {"Train loss contains a NaN", "", "", Status::nan, kNan},  // Composer
    // Scripts that raise ValueError("Loss is NaN"), in three spellings.
    {"Error: Loss is NaN", "", "", Status::nan, kNan},
    {"Error: Loss is nan", "", "", Status::nan, kNan},
    {"Error: loss is nan", "", "", Status::nan, kNan},
    {"infinite or NaN at iteration", "", "", Status::nan, kNan},     // Detectron2
    {"returned nan values in its", "", "", Status::nan, kNan},       // autograd's anomaly mode
    {"invalid value (nan) encountered", "", "", Status::nan, kNan},  // JAX
    {"The loss returned in `training_step` is", "", "", Status::nan, kNan},  // Lightning
    {"found NaN in local", "", "", Status::nan, kNan},                       // Megatron-LM
    {"Minimum loss scale reached", "", "", Status::nan, kNan},               // fairseq
    {"loss scale already at minimum", "", "", Status::nan, kNan},            // DeepSpeed
    // PyTorch's ProcessGroupNCCL: its watchdog (corpus
    // megatron/lockclock_nccl_watchdog_timeout.log) and, in newer releases, its heartbeat monitor;
    // then the error codes of NCCL.
    {"collective operation timeout", "", "", Status::error, kNamed},
    {"NCCL operations have failed or timed out", "", "", Status::error, kNamed},
    {"Heartbeat monitor timed out", "", "", Status::error, kNamed},
    {"Timeout at NCCL work", "", "", Status::error, kNamed},
    {"due to ProcessGroupNCCL watchdog hang", "", "", Status::error, kNamed},
    {"watchdog got stuck for ", "", "", Status::error, kNamed},
    {"detected by watchdog at work", "", "", Status::error, kNamed},
    {"NCCL communicator was aborted", "", "", Status::error, kNamed},
    {"ncclInvalidUsage", "", "", Status::error, kNamed},
    {"ncclInvalidArgument", "", "", Status::error, kNamed},
    {"NCCL error", "", "", Status::error, kNamed},
    {"ncclSystemError", "", "", Status::error, kNamed},
    {"ncclUnhandledCudaError", "", "", Status::error, kNamed},
    {"ncclInternalError", "", "", Status::error, kNamed},
    {"ncclRemoteError", "", "", Status::error, kSignal},  // another process went first
    // A peer that has done its work leaves, too: it means an end only where nothing else does
    // (quoted/outcome.a_peer_that_closed_its_connection_is_a_hint).
    {"Connection closed by remote peer", "NCCL WARN", "", Status::error, kHint},
    // torch.distributed: of NCCL (the same log), and of its key-value store.
    {"DistBackendError", "", "", Status::error, kNamed},
    {"DistStoreError", "", "", Status::error, kNamed},
    // A process that crashed: the shell (corpus
    // nvidia-dle-pytorch/lambda_gh200_squad_base_fp16_segv.log), libstdc++, CPython.
    {"Segmentation fault", "", "", Status::error, kNamed},
    {"(core dumped)", "", "", Status::error, kNamed},
    {"backtrace (", " entries)", "", Status::error, kSignal},  // darknet
    {"terminate called after throwing", "", "", Status::error, kSignal},
    {"Fatal Python error", "", "", Status::error, kNamed},
    {" panicked at ", "thread '", "", Status::error, kSignal},  // Rust
    {"] Check failed: ", "", "", Status::error, kNamed},        // glog: Caffe, TensorFlow
    {"returned non-zero exit status ", "Command '", "", Status::error, kSignal},  // subprocess
    {"double free or corruption", "", "", Status::error, kNamed},                 // glibc's heap
    {"corrupted size vs. prev_size", "", "", Status::error, kNamed},              // glibc's heap
    {"free(): invalid ", "", "", Status::error, kNamed},                          // glibc's heap
    {"Bus error", "", "", Status::error, kNamed},                                 // the shell
    // PyTorch. TensorFlow that finds no GPU reports it the same way ("failed call to cuInit:
    // INTERNAL:
    // CUDA error: ...") and goes on without one.
    {"CUDA error: ", "", "cuInit: ", Status::error, kNamed},
    {" ERROR] at file ", "", "", Status::error, kNamed},  // llm.c: CUDA, CUDNN, NCCL, MPI
    {"[cuBLAS ERROR]: ", "", "", Status::error, kNamed},  // llm.c
    {"illegal memory access was encountered", "", "", Status::error, kNamed},  // CUDA
    {"uncorrectable ECC error", "", "", Status::error, kNamed},                // CUDA
    {"GPU has fallen off the bus", "", "", Status::error, kNamed},  // NVIDIA's driver, Xid 79
    {"No space left on device", "", "", Status::error, kNamed},     // ENOSPC
    // bert_train: of another rank's failure, of a rank, and of its command line
    // (quoted/native.names_a_rank_that_died,
    // quoted/native.names_the_cause_and_not_the_rank_that_waited).
    {"bert_train: rank ", "see its error", "", Status::error, kSignal},
    {"bert_train: rank ", "", ": warning: ", Status::error, kNamed},
    {"bert_train: --", "", "", Status::error, kNamed},
    {"(bert_train --help explains", "", "", Status::error, kNamed},
    {".py: error: ", "", "", Status::error, kNamed},            // argparse
    {"EnforceNotMet", "", "", Status::error, kNamed},           // Paddle
    {"MPI_ABORT was invoked", "", "", Status::error, kSignal},  // Open MPI
    // What wandb and swanlab report of the process that they watched
    // (quoted/outcome_rules.believe_the_trackers_that_watched_the_process).
    {"W&B process to finish", "(failed ", "", Status::error, kSignal},
    {"wandb: Program failed with code ", "", "", Status::error, kSignal, Reading::exit_code},
    {"swanlab: Error happened while training", "", "", Status::error, kSignal},
    {"Error in sys.excepthook", "", "", Status::error, kSignal},                      // CPython
    {"crashed with exit code ", "", "", Status::error, kSignal, Reading::exit_code},  // Composer
    {"]+  Exit ", "", "", Status::error, kSignal, Reading::exit_code},  // a shell's jobs
    {"ERROR conda.cli.main_run", "", "", Status::error, kSignal},       // conda run
    {": can't open file '", "python", "", Status::error, kNamed},       // CPython
    {"exited with non-zero status", "", "", Status::error, kSignal},    // Open MPI
    {"returned a non-zero exit code", "", "", Status::error, kSignal},
    {"a non-zero exit code. Per user-direction", "", "", Status::error, kSignal},    // Open MPI
    {"Exited with exit code ", "", "", Status::error, kSignal, Reading::exit_code},  // Slurm, LSF
    {"ssh exited with exit code ", "", "", Status::error, kSignal, Reading::exit_code},  // pdsh
    {"exits with return code = ", "", "", Status::error, kSignal, Reading::exit_code},  // DeepSpeed
    {" exited with code ", "", "", Status::error, kSignal, Reading::exit_code},  // Docker, Composer
    {"exit with status code ", "", "", Status::error, kSignal, Reading::exit_code},  // Horovod
    {"srun: error: Unable to ", "", "", Status::error, kSignal},
    {"srun: unrecognized option '", "", "", Status::error, kSignal},
    {"reached the specified backoff limit", "", "", Status::error, kSignal},  // Kubernetes
    // GitHub's runner prints the exit code of a step.
    {"Process completed with exit code ", "", "", Status::error, kSignal, Reading::exit_code},
    {"terminated with exit code ", "", "", Status::error, kSignal, Reading::exit_code},  // kubectl
    {"A worker died or was killed while executing a task", "", "", Status::error, kSignal},  // Ray
    {"=   EXIT CODE: ", "", "", Status::error, kSignal, Reading::exit_code},  // Intel MPI, MPICH
    {"KILLED BY SIGNAL: ", "SIGNAL: 9 ", "", Status::killed, kSignal},
    {"KILLED BY SIGNAL: ", "SIGNAL: 15 ", "", Status::killed, kSignal},
    {"KILLED BY SIGNAL: ", "", "", Status::error, kSignal},
    {"has lost communication with a remote daemon", "", "", Status::error, kNamed},  // Open MPI
    {"make: *** ", "] Killed", "", Status::killed, kSignal},
    {"make: *** ", "] Terminated", "", Status::killed, kSignal},
    {"make: *** ", "] Error 137", "", Status::killed, kSignal},
    {"make: *** ", "] Error ", "", Status::error, kSignal},
    {"ninja: build stopped: ", "", "", Status::error, kSignal},
    {"BUILD FAILURE", "", "", Status::error, kSignal},  // Maven
    {"BUILD FAILED", "", "", Status::error, kSignal},   // Gradle
    {"npm ERR! code ", "", "", Status::error, kSignal},
    {"Configuring incomplete, errors occurred", "", "", Status::error, kSignal},  // CMake
    {"raining failed: ", "", "", Status::error, kSignal},      // loops that catch what ended them
    {" failed, ", " passed in ", "", Status::error, kSignal},  // pytest
    {" failed in ", "=====", "", Status::error, kSignal},
    {"FAILED (", "failures=", "", Status::error, kSignal},  // unittest
    {"FAILED (", "errors=", "", Status::error, kSignal},
    {"State: FAILED", "", "", Status::error, kSignal},      // Slurm's seff
    {"State: TIMEOUT", "", "", Status::timeout, kNamed},    // Slurm's seff
    {"State: CANCELLED", "", "", Status::killed, kSignal},  // Slurm's seff
    {"State: OUT_OF_MEMORY", "", "", Status::out_of_memory, kMemory},
    {"Finished: FAILURE", "", "", Status::error, kSignal},  // Jenkins
    {"Finished: ABORTED", "", "", Status::killed, kSignal},
    {"ERROR: Job failed: ", "took longer than", "", Status::timeout, kNamed},  // GitLab
    {"ERROR: Job failed: ", "", "", Status::error, kSignal},
    // torchrun's list of ranks: a rank that a signal ended, or one that ended by itself (corpus
    // nvidia-dle-pytorch/lambda_2xh100_transformerxl_childfailed.log).
    {"failed (exitcode: ", "(exitcode: -9)", "", Status::killed, kNamed},
    {"failed (exitcode: ", "(exitcode: 137)", "", Status::killed, kNamed},
    {"failed (exitcode: ", "", "", Status::error, kSignal, Reading::exit_code},
    {"SIGSEGV", "", "", Status::error, kSignal},
    {"SIGABRT", "", "", Status::error, kSignal},
    {"ChildFailedError", "", "", Status::error, kSignal},
    {"execute failed, reason=[", "", "", Status::error, kNamed},  // Ascend
    // Horovod: some ranks wait for the others. If these come, records follow.
    {"were submitted to be reduced, gathered or broadcasted by subset of ranks", "", "",
     Status::stalled, kSignal},
    // Slurm (corpus megatron/bigscience_megdszero_killed.log), LSF, PBS.
    {"DUE TO TIME LIMIT", "", "", Status::timeout, kNamed},
    {"TERM_RUNLIMIT", "", "", Status::timeout, kNamed},
    {"PBS: job killed: ", "walltime ", "", Status::timeout, kNamed},
    {"PBS: job killed: ", "cput ", "", Status::timeout, kNamed},
    {"PBS: job killed: ", "", "", Status::killed, kNamed},
    {": job killed ", "TERM_CPULIMIT", "", Status::timeout, kNamed},                 // LSF
    {"was active longer than specified deadline", "", "", Status::timeout, kNamed},  // Kubernetes
    {"exceeded hard wallclock time", "", "", Status::timeout, kNamed},               // Grid Engine
    {"timeout: sending signal ", "", "", Status::timeout, kNamed},                   // coreutils
    {"Build timed out (after", "", "", Status::timeout, kNamed},                     // Jenkins
    {"srun: error: Node failure on", "", "", Status::killed, kNamed},                // Slurm
    {"TERM_OWNER", "", "", Status::killed, kNamed},                                  // LSF
    {"TERM_FORCE_", "", "", Status::killed, kNamed},
    {"TERM_PREEMPT", "", "", Status::killed, kNamed},
    {": job killed ", "TERM_", "", Status::killed, kNamed},
    {"The operation was canceled.", "", "", Status::killed, kNamed},      // GitHub
    {"program after receiving SIGTERM", "", "", Status::killed, kNamed},  // Megatron
    // Slurm (corpus megatron/bigscience_meg_base_n4_cancelled.log).
    {"CANCELLED AT", "", "TIME LIMIT", Status::killed, kNamed},
    {"CANCELLED DUE TO", "", "TIME LIMIT", Status::killed, kNamed},
    // bert_train, and loops that catch the interrupt
    // (quoted/outcome_rules.an_interrupted_training_was_killed); Python where they do not (corpus
    // megatron/megds_gpt3_0.125b_randomltd.log).
    {"nterrupted by signal", "", "", Status::killed, kNamed},
    {"nterrupted by user", "", "", Status::killed, kNamed},
    {"raining interrupted", "", "", Status::killed, kNamed},
    {"nterrumpido por el usuario", "", "", Status::killed, kNamed},
    {"nterrompido pelo usu", "", "", Status::killed, kNamed},
    {"nterrompu par l'utilisateur", "", "", Status::killed, kNamed},
    {"nterruption demandée par l'utilisateur", "", "", Status::killed, kNamed},
    {"vom Benutzer abgebrochen", "", "", Status::killed, kNamed},
    {"рервано пользователем", "", "", Status::killed, kNamed},
    {"用户中断", "", "", Status::killed, kNamed},
    {"ユーザーにより中断", "", "", Status::killed, kNamed},
    {"ユーザーによって中断", "", "", Status::killed, kNamed},
    {"bert_train: interrupted ", "", "", Status::killed, kNamed},
    {"训练被中断", "", "", Status::killed, kNamed},
    {"KeyboardInterrupt", "", "", Status::killed, kNamed},
    {"srun: Force Terminated ", "", "", Status::killed, kSignal},
    {"User defined signal ", "", "", Status::killed, kSignal},  // a warning of Slurm's or LSF's
    // The launchers torch.distributed.launch and DeepSpeed's: "Main process received SIGTERM,
    // exiting" (corpus megatron/bigscience_megdszero_killed.log).
    {"eceived SIGTERM", "", "", Status::killed, kSignal},
    {"eceived SIGINT", "", "", Status::killed, kSignal},
    {"Termination signal` is detected", "", "", Status::killed, kSignal},  // Paddle
    // glog's handler, which Paddle has: "*** SIGFPE (@0x8d4166) received by PID 6739 ..."
    {" received by PID ", "*** SIGTERM", "", Status::killed, kSignal},
    {" received by PID ", "*** SIGINT", "", Status::killed, kSignal},
    {" received by PID ", "*** SIG", "", Status::error, kSignal},
    {"ABORT!!! Out of all ", "", "", Status::error, kNamed},            // Paddle's launcher
    {" Exit with signal ", "LAUNCH INFO", "", Status::killed, kNamed},  // Paddle's launcher
    {"signal 15", "", "", Status::killed, kSignal},                     // bert_train
    {"ignal: Killed", "", "", Status::killed, kSignal},
    {"signal 9 (Killed)", "", "", Status::killed, kSignal},  // Open MPI
    {"exited on signal ", "", "", Status::error, kSignal},   // Open MPI
    {"Signals.SIGTERM", "", "", Status::killed, kSignal},    // Python's subprocess
    {"ommand terminated by signal ", "signal 9", "", Status::killed, kSignal},  // GNU time
    {"ommand terminated by signal ", "", "", Status::error, kSignal},
    // torchrun's agent: "Received 15 death signal, shutting down workers", "Process 1 got signal:
    // 15".
    {"death signal", "", "", Status::killed, kNamed},
    {"got signal: ", "", "", Status::killed, kSignal},
    // With "Sending process 7 closing signal SIGTERM" torchrun ends the other ranks
    // (quoted/outcome_rules.name_the_cause_and_not_what_follows_from_it).
    {"signal SIGTERM", "", "closing signal", Status::killed, kSignal},
    {"SIGKILL", "Signal 9 (", "", Status::killed, kNamed},  // torchrun's table
    {"SIGKILL", "", "", Status::killed, kSignal},
    {"zsh: killed ", "", "", Status::killed, kSignal},
    {"zsh: segmentation fault", "", "", Status::error, kNamed},
    // The shell's own messages (quoted/outcome_table.tells_how_runs_end.8 and .9).
    {"Terminated", "", "", Status::killed, kSignal, Reading::shell},
    {"Killed", "", "", Status::killed, kSignal, Reading::shell},
    {"已杀死", "", "", Status::killed, kSignal, Reading::shell},    // of a shell in Chinese
    {"強制終了", "", "", Status::killed, kSignal, Reading::shell},  // or in Japanese
    {"Hangup", "", "", Status::killed, kSignal, Reading::shell},
    {"Aborted", "", "", Status::error, kSignal, Reading::shell},
};

}  // namespace

std::span<const OutcomeRule> outcome_table() { return kRules; }

}  // namespace bertbench
