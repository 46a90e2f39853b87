#include "parsers/rules/outcome_table.h"

namespace bertbench {
namespace {

constexpr OutcomeRule kRules[] = {
    // TensorFlow's allocator says of a failed attempt that it "is not a failure".
    {"out of memory", "", "ran out of memory trying to allocate", Status::out_of_memory, kMemory},
    {"Out of memory", "", "", Status::out_of_memory, kMemory},
    {"Out of Memory", "", "", Status::out_of_memory, kMemory},
    {"Out Of Memory", "srun: error", "", Status::out_of_memory, kMemory},
    {"OOM when allocating", "", "", Status::out_of_memory, kMemory},
    // What it prints of its chunks where the attempt was one; the error itself may be missing.
    {"Current allocation summary follows", "", "", Status::out_of_memory, kMemory},
    {"emory isn't enough", "", "", Status::out_of_memory, kMemory},  // MindSpore
    {"emory not enough", "", "", Status::out_of_memory, kMemory},
    {"Allocate memory failed", "", "", Status::out_of_memory, kMemory},
    {"annot allocate memory", "", "", Status::out_of_memory, kMemory},  // ENOMEM
    {"not enough memory: you tried to allocate", "", "", Status::out_of_memory, kMemory},
    {"can't allocate memory", "", "", Status::out_of_memory, kMemory},
    {"MemoryError", "", "", Status::out_of_memory, kMemory},
    {"OutOfMemoryError", "", "", Status::out_of_memory, kMemory},
    {"CUDA_ERROR_OUT_OF_MEMORY", "", "", Status::out_of_memory, kMemory},
    {"CUBLAS_STATUS_ALLOC_FAILED", "", "", Status::out_of_memory, kMemory},
    {"CUDNN_STATUS_ALLOC_FAILED", "", "", Status::out_of_memory, kMemory},
    {"cudaErrorMemoryAllocation", "", "", Status::out_of_memory, kMemory},
    {"Failed to CUDA calloc", "", "", Status::out_of_memory, kMemory},
    {"OUT_OF_DEVICE_MEMORY", "", "", Status::out_of_memory, kMemory},         // Level Zero
    {"PT_DEVMEM Allocation failed", "", "", Status::out_of_memory, kMemory},  // Gaudi
    // gRPC says so of a message that is too large.
    {"RESOURCE_EXHAUSTED", "", "larger than max", Status::out_of_memory, kMemory},
    {"Resource exhausted: ", "lloc", "larger than max", Status::out_of_memory, kMemory},
    {"Resource exhausted: ", "memory", "larger than max", Status::out_of_memory, kMemory},
    {"ResourceExhaustedError", "", "", Status::out_of_memory, kMemory},
    {"low on resource: memory", "", "", Status::out_of_memory, kMemory},  // Kubernetes evicts
    {"node was low on resource: ", "", "", Status::killed, kNamed},       // of disk or others
    {"OOMKilled", "", "", Status::out_of_memory, kMemory},                // Kubernetes
    {"killed due to memory pressure (OOM)", "", "", Status::out_of_memory, kMemory},  // Ray
    {"oom-kill event", "", "", Status::out_of_memory, kMemory},
    {"oom_kill event", "", "", Status::out_of_memory, kMemory},
    {"out-of-memory handler", "", "", Status::out_of_memory, kMemory},
    {"Exceeded job memory limit", "", "", Status::out_of_memory, kMemory},
    {"Exceeded step memory limit", "", "", Status::out_of_memory, kMemory},
    {"exceeded memory limit", "", "", Status::out_of_memory, kMemory},
    {"TERM_MEMLIMIT", "", "", Status::out_of_memory, kMemory},
    {"PBS: job killed: ", "mem ", "", Status::out_of_memory, kMemory},  // vmem, pmem
    {"std::bad_alloc", "", "", Status::out_of_memory, kMemory},
    {"memory allocation of ", " bytes failed", "", Status::out_of_memory, kMemory},  // Rust
    {"NaN loss during training", "", "", Status::nan, kNan},
    {"diverged with loss = NaN", "", "", Status::nan, kNan},
    {"oss is nan, stopping", "", "", Status::nan, kNan},
    {"oss is inf, stopping", "", "", Status::nan, kNan},
    {"oss is NaN, stopping", "", "", Status::nan, kNan},
    {"Train loss contains a NaN", "", "", Status::nan, kNan},  // Composer
    {"Error: Loss is NaN", "", "", Status::nan, kNan},
    {"Error: Loss is nan", "", "", Status::nan, kNan},
    {"Error: loss is nan", "", "", Status::nan, kNan},
    {"infinite or NaN at iteration", "", "", Status::nan, kNan},     // Detectron2
    {"returned nan values in its", "", "", Status::nan, kNan},       // autograd's anomaly mode
    {"invalid value (nan) encountered", "", "", Status::nan, kNan},  // JAX
    {"The loss returned in `training_step` is", "", "", Status::nan, kNan},  // Lightning
    {"found NaN in local", "", "", Status::nan, kNan},
    {"Minimum loss scale reached", "", "", Status::nan, kNan},
    {"loss scale already at minimum", "", "", Status::nan, kNan},
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
    // A peer that has done its work leaves, too: it means an end only where nothing else does.
    {"Connection closed by remote peer", "NCCL WARN", "", Status::error, kHint},
    {"DistBackendError", "", "", Status::error, kNamed},
    {"DistStoreError", "", "", Status::error, kNamed},
    {"Segmentation fault", "", "", Status::error, kNamed},
    {"(core dumped)", "", "", Status::error, kNamed},
    {"terminate called after throwing", "", "", Status::error, kSignal},
    {"Fatal Python error", "", "", Status::error, kNamed},
    {"double free or corruption", "", "", Status::error, kNamed},  // glibc's heap
    {"corrupted size vs. prev_size", "", "", Status::error, kNamed},
    {"free(): invalid ", "", "", Status::error, kNamed},
    {"Bus error", "", "", Status::error, kNamed},
    {"CUDA error: ", "", "", Status::error, kNamed},
    {" ERROR] at file ", "", "", Status::error, kNamed},  // llm.c: CUDA, CUDNN, NCCL, MPI
    {"[cuBLAS ERROR]: ", "", "", Status::error, kNamed},
    {"illegal memory access was encountered", "", "", Status::error, kNamed},
    {"uncorrectable ECC error", "", "", Status::error, kNamed},
    {"GPU has fallen off the bus", "", "", Status::error, kNamed},
    {"No space left on device", "", "", Status::error, kNamed},
    {".py: error: ", "", "", Status::error, kNamed},  // argparse
    {"EnforceNotMet", "", "", Status::error, kNamed},
    {"MPI_ABORT was invoked", "", "", Status::error, kSignal},
    // What wandb and swanlab saw of the process that they watched.
    {"W&B process to finish", "(failed ", "", Status::error, kSignal},
    {"wandb: Program failed with code ", "", "", Status::error, kSignal, Reading::exit_code},
    {"swanlab: Error happened while training", "", "", Status::error, kSignal},
    {"Error in sys.excepthook", "", "", Status::error, kSignal},
    {"crashed with exit code ", "", "", Status::error, kSignal, Reading::exit_code},  // Composer
    {"]+  Exit ", "", "", Status::error, kSignal, Reading::exit_code},  // a shell's jobs
    {"ERROR conda.cli.main_run", "", "", Status::error, kSignal},
    {": can't open file '", "python", "", Status::error, kNamed},
    {"exited with non-zero status", "", "", Status::error, kSignal},
    {"returned a non-zero exit code", "", "", Status::error, kSignal},
    {"a non-zero exit code. Per user-direction", "", "", Status::error, kSignal},
    {"Exited with exit code ", "", "", Status::error, kSignal, Reading::exit_code},  // Slurm, LSF
    {"ssh exited with exit code ", "", "", Status::error, kSignal, Reading::exit_code},  // pdsh
    {"exits with return code = ", "", "", Status::error, kSignal, Reading::exit_code},
    {" exited with code ", "", "", Status::error, kSignal, Reading::exit_code},  // Docker, Composer
    {"exit with status code ", "", "", Status::error, kSignal, Reading::exit_code},  // Horovod
    {"srun: error: Unable to ", "", "", Status::error, kSignal},
    {"srun: unrecognized option '", "", "", Status::error, kSignal},
    {"reached the specified backoff limit", "", "", Status::error, kSignal},  // Kubernetes
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
    {" failed, ", " passed in ", "", Status::error, kSignal},                     // pytest
    {" failed in ", "=====", "", Status::error, kSignal},
    {"FAILED (", "failures=", "", Status::error, kSignal},  // unittest
    {"FAILED (", "errors=", "", Status::error, kSignal},
    {"Finished: FAILURE", "", "", Status::error, kSignal},  // Jenkins
    {"Finished: ABORTED", "", "", Status::killed, kSignal},
    {"ERROR: Job failed: ", "took longer than", "", Status::timeout, kNamed},  // GitLab
    {"ERROR: Job failed: ", "", "", Status::error, kSignal},
    // torchrun's list of ranks: a rank that a signal ended, or one that ended by itself.
    {"failed (exitcode: ", "(exitcode: -9)", "", Status::killed, kNamed},
    {"failed (exitcode: ", "(exitcode: 137)", "", Status::killed, kNamed},
    {"failed (exitcode: ", "", "", Status::error, kSignal, Reading::exit_code},
    {"SIGSEGV", "", "", Status::error, kSignal},
    {"SIGABRT", "", "", Status::error, kSignal},
    {"ChildFailedError", "", "", Status::error, kSignal},
    {"execute failed, reason=[", "", "", Status::error, kNamed},  // Ascend
    // Horovod: some ranks wait for the others. If they come, records follow.
    {"were submitted to be reduced, gathered or broadcasted by subset of ranks", "", "",
     Status::stalled, kSignal},
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
    {"srun: error: Node failure on", "", "", Status::killed, kNamed},
    {"TERM_OWNER", "", "", Status::killed, kNamed},  // LSF
    {"TERM_FORCE_", "", "", Status::killed, kNamed},
    {"TERM_PREEMPT", "", "", Status::killed, kNamed},
    {": job killed ", "TERM_", "", Status::killed, kNamed},
    {"The operation was canceled.", "", "", Status::killed, kNamed},      // GitHub
    {"program after receiving SIGTERM", "", "", Status::killed, kNamed},  // Megatron
    {"CANCELLED AT", "", "TIME LIMIT", Status::killed, kNamed},
    {"CANCELLED DUE TO", "", "TIME LIMIT", Status::killed, kNamed},
    {"nterrupted by signal", "", "", Status::killed, kNamed},
    {"nterrupted by user", "", "", Status::killed, kNamed},
    {"raining interrupted", "", "", Status::killed, kNamed},
    {"KeyboardInterrupt", "", "", Status::killed, kNamed},
    {"srun: Force Terminated ", "", "", Status::killed, kSignal},
    {"User defined signal ", "", "", Status::killed, kSignal},  // a warning of Slurm's or LSF's
    {"eceived SIGTERM", "", "", Status::killed, kSignal},
    {"eceived SIGINT", "", "", Status::killed, kSignal},
    {"Termination signal` is detected", "", "", Status::killed, kSignal},  // Paddle
    // glog's handler: "*** SIGFPE (@0x8d4166) received by PID 6739 ..."
    {" received by PID ", "*** SIGTERM", "", Status::killed, kSignal},
    {" received by PID ", "*** SIGINT", "", Status::killed, kSignal},
    {" received by PID ", "*** SIG", "", Status::error, kSignal},
    {" Exit with signal ", "LAUNCH INFO", "", Status::killed, kNamed},  // Paddle's launcher
    {"signal 15", "", "", Status::killed, kSignal},
    {"ignal: Killed", "", "", Status::killed, kSignal},
    {"signal 9 (Killed)", "", "", Status::killed, kSignal},
    {"exited on signal ", "", "", Status::error, kSignal},  // Open MPI
    {"Signals.SIGTERM", "", "", Status::killed, kSignal},   // Python's subprocess
    {"ommand terminated by signal ", "signal 9", "", Status::killed, kSignal},  // time
    {"ommand terminated by signal ", "", "", Status::error, kSignal},
    {"death signal", "", "", Status::killed, kNamed},
    {"got signal: ", "", "", Status::killed, kSignal},
    // "Sending process 7 closing signal SIGTERM" is how torchrun ends the other ranks.
    {"signal SIGTERM", "", "closing signal", Status::killed, kSignal},
    {"SIGKILL", "Signal 9 (", "", Status::killed, kNamed},  // torchrun's table
    {"SIGKILL", "", "", Status::killed, kSignal},
    {"zsh: killed ", "", "", Status::killed, kSignal},
    {"zsh: segmentation fault", "", "", Status::error, kNamed},
    {"Terminated", "", "", Status::killed, kSignal, Reading::shell},
    {"Killed", "", "", Status::killed, kSignal, Reading::shell},
    {"Hangup", "", "", Status::killed, kSignal, Reading::shell},
    {"Aborted", "", "", Status::error, kSignal, Reading::shell},
};

}  // namespace

std::span<const OutcomeRule> outcome_table() { return kRules; }

}  // namespace bertbench
