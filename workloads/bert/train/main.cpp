#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <iostream>
#include <new>
#include <optional>
#include <string_view>
#include <thread>

#include "workloads/bert/comm/make_communicator.h"
#include "workloads/bert/comm/pair_probe.h"
#include "workloads/bert/core/launch_environment.h"
#include "workloads/bert/core/module.h"
#include "workloads/bert/cpu/cpu_backend.h"
#include "workloads/bert/train/options.h"
#include "workloads/bert/train/trainer.h"
#include "workloads/bert/train/version.h"

namespace bert {
namespace {

// Signals: SIGTERM and SIGINT ask for an end at the next step boundary, or at once.

volatile std::sig_atomic_t received = 0;

volatile std::sig_atomic_t training = 0;

void end_at_once(std::string_view why) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, why.data(), why.size());
  ::_exit(130);
}

extern "C" void note_signal(int number) {
  // A terminal, timeout(1) and mpirun may each pass on the same request; seconds.
  constexpr std::time_t kOneRequest_s = 2;
  static std::time_t first_s = 0;
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (training == 0) {  // waiting for other ranks, or for memory: nothing to finish or to save
    end_at_once("bert_train: interrupted before training began\n");
  }
  if (received == 0) first_s = now.tv_sec;
  if (now.tv_sec - first_s >= kOneRequest_s) {
    end_at_once("bert_train: interrupted twice: what no checkpoint has is lost\n");
  }
  received = number;
}

// oneDNN's matrix kernels run with the stack pointer inside a small heap block. The frame of a
// signal that arrived there, over 2 KB with AVX-512 registers, would be written across the heap
// below it. So no computing thread takes a signal; a thread that only waits takes them all.
// Faults of a thread (SIGSEGV and its like) stay its own.
void leave_signals_to_a_thread_of_their_own() {
  std::thread([] {
    for (;;) ::pause();
  }).detach();
  sigset_t all;
  sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) {
    sigdelset(&all, fault);
  }
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // inherited by every thread that starts from now on
}

/// SIGTERM and SIGINT end the program at once with status 130 until training_begins(); from then on
/// the first sets a flag only, and another one, after kOneRequest_s, ends it as before: its step
/// may take hours, or its log may be a full pipe that nobody reads. SIGPIPE is ignored, so that a
/// closed pipe or socket is an error of the write. Call once, before any thread starts.
void catch_stop_signals() {
  struct sigaction action = {};
  action.sa_handler = note_signal;
  sigfillset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  leave_signals_to_a_thread_of_their_own();
}

void training_begins() { training = 1; }

/// The signal received, 0 if none.
int stop_signal() { return received; }

int status(ExitStatus value) { return static_cast<int>(value); }

int own_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

std::string host_name() {
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

BackendOptions backend_options(const TrainOptions& options, const LaunchEnvironment& environment) {
  BackendOptions request;
  request.model = options.configured_model();
  request.micro_batch_size = options.micro_batch_size;
  request.sequence_length = options.sequence_length;
  request.seed = options.seed;
  request.threads = options.threads;
  request.deterministic = options.deterministic;
  request.activation_checkpointing = options.activation_checkpointing;
  request.memory_limit_bytes = static_cast<std::int64_t>(options.memory_limit_mb * (1 << 20));
  request.unpadded = options.unpadded;
  request.inference = options.inference;
  request.rank = environment.rank;
  request.world_size = environment.world_size;
  request.zero_stage = options.zero_stage;
  request.loss_scale = options.loss_scale;
  request.algorithm_cache = options.algorithm_cache;
  request.matmul_epilogues = options.matmul_epilogues;
  request.attention = options.attention;
  request.cuda_graph = options.cuda_graph;
  return request;
}

// The module of a backend that is not linked in; null for cpu.
Result<const Module*> backend_module(const TrainOptions& options) {
  if (options.backend == "cpu") return nullptr;
  auto module = load_module(options.backend);
  if (!module) {
    return tl::unexpected(
        Failure{module.error().status,
                fmt::format("--backend {}: {}", options.backend, module.error().message)});
  }
  if ((*module)->make_backend == nullptr) {
    return no_device(fmt::format("module {} has no backend", options.backend));
  }
  return module;
}

Result<std::unique_ptr<Backend>> make_backend(const TrainOptions& options, const Module* module,
                                              const LaunchEnvironment& environment) {
  const BackendOptions request = backend_options(options, environment);
  try {
    if (module == nullptr) {
      return make_cpu_backend(request, options.precision == "bf16"   ? CpuPrecision::bf16
                                       : options.precision == "fp16" ? CpuPrecision::fp16
                                                                     : CpuPrecision::fp32);
    }
    return module->make_backend({request, options.precision, environment.local_rank});
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const NoDevice& error) {
    return no_device(error.what());
  } catch (const std::invalid_argument& error) {
    return usage_error(error.what());
  } catch (const std::exception& error) {
    return run_error(error.what());
  }
}

RunFacts describe(const TrainOptions& options, const LaunchEnvironment& environment,
                  const Backend& backend, const Communicator& communicator,
                  const SequenceSource& source) {
  RunFacts f(options);
  f.backend_description = backend.description();
  f.gpu = backend.gpu();
  f.communicator = communicator.description();
  f.data_description = source.description();
  const ModelConfig model = options.configured_model();
  f.masked_per_sequence = model.predicted_positions(options.sequence_length);
  f.next_word = model.objective == Objective::next_word;
  f.ranks = environment.world_size;
  f.world_size = environment.world_size;
  f.nodes = environment.nodes();
  f.gpus_per_node = f.nodes > 0 ? environment.local_world_size : 0;
  if (options.comm == "sim") {
    // What is printed and timed is the simulated job: each of its GPUs works as a rank here does.
    f.simulated_topology = options.cluster.label();
    f.world_size = options.cluster.world_size();
    f.nodes = options.cluster.nodes;
    f.gpus_per_node = options.cluster.gpus_per_node;
  }
  for (const Parameter& parameter : backend.parameters()) f.parameters += parameter.size;
  f.planned_bytes = backend.peak_bytes();
  f.launcher = environment.source;
  f.host = host_name();
  f.version = version_number();
  f.commit = version_commit();
  f.compiler = version_compiler();
  f.settings = backend.settings();
  f.emulated_by = backend.emulated_by();
  for (const std::string& setting : communicator.settings()) f.settings.push_back(setting);
  return f;
}

// Ring order, protocol and number of channels decide the order in which NCCL adds. Only what the
// user has not set.
void pin_nccl() {
  setenv("NCCL_ALGO", "Ring", 0);
  setenv("NCCL_PROTO", "Simple", 0);
  setenv("NCCL_MIN_NCHANNELS", "8", 0);
  setenv("NCCL_MAX_NCHANNELS", "8", 0);
}

DataOptions data_options(const TrainOptions& options, const LaunchEnvironment& environment) {
  const ModelConfig model = options.configured_model();
  DataOptions data;
  data.source = options.data;
  data.vocabulary_file = options.vocabulary;
  data.writes_vocabulary = environment.rank == 0;
  data.whole_words = options.whole_word_masking;
  data.seed = options.seed;
  data.vocabulary = model.vocabulary;
  data.sequence_length = options.sequence_length;
  data.masked_per_sequence = model.predicted_positions(options.sequence_length);
  data.next_word = model.objective == Objective::next_word;
  data.lengths = *lengths_named(options.lengths);
  data.head_everywhere = model.head_everywhere;
  data.questions = model.objective == Objective::spans;
  data.hold_out = model.objective == Objective::classes;
  data.shuffle_labels = options.shuffle_labels;
  return data;
}

// A cluster that is not named is that of the ranks that run; it has at least as many GPUs as they
// are.
Result<void> complete_cluster(TrainOptions& options, const LaunchEnvironment& environment) {
  SimulatedCluster& cluster = options.cluster;
  if (!options.cluster_named) {
    cluster.nodes = std::max(1, environment.nodes());
    cluster.gpus_per_node = environment.world_size / cluster.nodes;
  }
  if (options.comm == "sim" && cluster.world_size() < environment.world_size) {
    return usage_error(fmt::format(
        "--sim-topology {}: fewer GPUs than the {} ranks that run: name a larger cluster, or start "
        "fewer ranks",
        cluster.label(), environment.world_size));
  }
  return {};
}

Result<RunEnd> run(TrainOptions options, const LaunchEnvironment& environment, Clock& clock,
                   std::ostream& out, const std::function<void(const std::string&)>& warn) {
  if (options.expect_world_size > 0 && options.expect_world_size != environment.world_size) {
    return usage_error(fmt::format(
        "--expect-world-size {}, but the world is {} ({}): fix the launcher's number of ranks",
        options.expect_world_size, environment.world_size,
        environment.source == "none" ? "no launcher's variables are set"
                                     : environment.source + " variables"));
  }
  if (options.probe_pairs) {
    const std::chrono::milliseconds patience(static_cast<long>(options.comm_timeout_s * 1000));
    try {
      probe_pairs(environment, patience, {options.handicap, options.handicapped_rank}, out);
    } catch (const std::invalid_argument& error) {
      return usage_error(error.what());
    }
    return RunEnd{};
  }
  if (options.threads == 0) {
    options.threads = std::max(1, own_cores() / environment.local_world_size);
  }
  if (auto complete = complete_cluster(options, environment); !complete) {
    return tl::unexpected(complete.error());
  }
  const DataOptions data = data_options(options, environment);
  auto source = open_source(data);
  if (!source) {
    return tl::unexpected(source.error());
  }
  std::optional<Turns> turns;
  if (options.turn_s > 0) {
    if (environment.world_size > 1) {
      return usage_error("--turn-s: ranks that wait for each other cannot wait for turns as well");
    }
    auto taken = Turns::over(STDIN_FILENO, options.turn_s, clock);
    if (!taken) return tl::unexpected(taken.error());
    turns.emplace(std::move(*taken));
  }
  const bool chief = environment.rank == 0;
  std::optional<TimingsFile> timings;
  if (chief && !options.timings.empty()) {
    auto opened = TimingsFile::open(options.timings);
    if (!opened) {
      return tl::unexpected(opened.error());
    }
    timings = std::move(*opened);
  }
  auto module = backend_module(options);
  if (!module) {
    return tl::unexpected(module.error());
  }
  if (options.deterministic) {
    pin_nccl();
  }
  // Ranks meet before memory is asked for: when one of them fails, the others hear of it at once.
  auto communicator = make_communicator(options, environment);
  if (!communicator) {
    return tl::unexpected(communicator.error());
  }
  auto backend = make_backend(options, *module, environment);
  if (!backend) {
    return tl::unexpected(backend.error());
  }
  std::unique_ptr<LogStyle> log;
  if (chief) {
    log = find_log_style(options.log_style)->make(out);
  }
  training_begins();
  TrainerParts parts{options,
                     **backend,
                     **communicator,
                     **source,
                     data,
                     turns ? static_cast<Clock&>(*turns) : clock,
                     describe(options, environment, **backend, **communicator, **source)};
  parts.log = log.get();
  parts.log_out = chief ? &out : nullptr;
  parts.timings = timings ? &*timings : nullptr;
  parts.stop_signal = stop_signal;
  parts.warn = warn;
  parts.rank_out = environment.world_size > 1 && options.comm != "sim" ? &out : nullptr;
  if (turns) parts.next_step = [&] { turns->next_step(); };
  return train(std::move(parts));
}

/// The program from arguments to exit status. The log goes to `out`, one-line errors to `err`,
/// prefixed "bert_train: rank R: ".
int run_bert_train(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  SystemClock clock;  // first: its zero is the start of the program
  auto parsed = parse_options(argc, argv);
  if (!parsed) {
    err << "bert_train: " << parsed.error().message << '\n';
    return status(parsed.error().status);
  }
  if (const auto* answer = std::get_if<TextAnswer>(&*parsed)) {
    out << answer->text;
    return status(out.flush() ? ExitStatus::done : ExitStatus::failed);
  }
  auto& options = std::get<TrainOptions>(*parsed);
  const auto environment = read_launch_environment();
  if (!environment) {
    err << "bert_train: " << environment.error().message << '\n';
    return status(environment.error().status);
  }
  const auto say = [&](const std::string& message) {
    // One write per line: lines of several ranks must not mix.
    err << fmt::format("bert_train: rank {}: {}\n", environment->rank, message) << std::flush;
  };
  catch_stop_signals();
  try {
    const auto end = run(options, *environment, clock, out,
                         [&](const std::string& message) { say("warning: " + message); });
    if (!end) {
      say(end.error().message);
      return status(end.error().status);
    }
    return status(end->signal == 0 ? ExitStatus::done : ExitStatus::interrupted);
  } catch (const std::bad_alloc& error) {
    // The cpu backend's message has what was wanted and what there is, operator new's has nothing.
    const std::string what = error.what();
    say("out of memory: " +
        (what != "std::bad_alloc"
             ? what
             : fmt::format("{} with micro-batch {}: lower --micro-batch-size and "
                           "raise --gradient-accumulation-steps",
                           options.model, options.micro_batch_size)));
    return status(ExitStatus::out_of_memory);
  } catch (const std::exception& error) {
    say(error.what());
    return status(ExitStatus::failed);
  }
}

}  // namespace
}  // namespace bert

int main(int argc, char** argv) { return bert::run_bert_train(argc, argv, std::cout, std::cerr); }
