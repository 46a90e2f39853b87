// fake_trainer: takes bert_train's command line, prints its native log with made-up step times, and
// misbehaves on demand. What it does comes from the environment, so a sweep sets it per cell:
//   FAKE             ok (default), hang, ignore_term, oom_text, oom_exit, nan, silent, flood,
//                    flood_sparse, no_newline, never_newline, cut_line, stopped, leave_child,
//                    hold_log, daemon, close_stdout, requeue, exit:N, signal:N, fail_once
//   FAKE_AT          step at which it does so (default 5; 0 = before the first line)
//   FAKE_ONCE        file: the start that can make it misbehaves, every later one is ok
//   FAKE_BYTES       how long flood_sparse makes its log (default 4 GiB)
//   FAKE_RANK        rank that does so (default 0); the others go on and wait
//   FAKE_SECONDS     seconds a step, as printed (default 0.01)
//   FAKE_DELAY_MS    real time a step takes (default 0)
//   FAKE_START_MS    real time before the first step (default 0)
//   FAKE_UNTIL       file: the steps after FAKE_AT wait until it is there (default: none waits), so
//                    that a test need not be faster than its trial
//   FAKE_BURST       steps of which it waits once and writes the lines at once (default 1)
//   FAKE_NOISE       bytes of other text after each step (default 0)
//   FAKE_DUMP        file to which rank 0 writes its arguments and FAKE_ variables, NUL-ended
//   FAKE_NOTE        file to which each start adds a line "RANK WORLD pid"
//   FAKE_PLACES      file to which each start adds what torchrun's variables are: "RANK WORLD_SIZE
//                    LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK"
//   FAKE_TURNS       file: each step asks for a turn over stdin, as bert_train --turn-s does, and
//                    adds a line "pid begins", then "pid ends" (default: none is asked for)
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <system_error>

namespace {

std::string env(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

bool newlines = true;

void put(std::string text) {
  if (!newlines) {
    for (char& c : text) c = c == '\n' ? ' ' : c;
  }
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(1, text.data() + done, text.size() - done);
    if (n <= 0) _exit(1);
    done += static_cast<std::size_t>(n);
  }
}

/// The first of a launcher's variables that is set.
std::string of_launcher(std::initializer_list<const char*> names, const char* otherwise) {
  for (const char* name : names) {
    if (const char* value = std::getenv(name)) return value;
  }
  return otherwise;
}

/// Every argument and every variable FAKE_..., each ended by a NUL.
void dump(const std::string& file, int argc, char** argv) {
  std::FILE* out = std::fopen(file.c_str(), "w");
  if (!out) return;
  for (int i = 1; i < argc; ++i) std::fwrite(argv[i], 1, std::strlen(argv[i]) + 1, out);
  for (char** entry = environ; *entry; ++entry) {
    if (std::strncmp(*entry, "FAKE_", 5) == 0) {
      std::fwrite(*entry, 1, std::strlen(*entry) + 1, out);
    }
  }
  std::fclose(out);
}

/// What real logs are full of: lines that contain no step.
std::string noise_of(long bytes) {
  const std::string line =
      "node1:4711:4822 [0] NCCL INFO Channel 07/0 : 3[3] -> 4[4] via P2P/CUMEM/read\n";
  std::string text;
  while (static_cast<long>(text.size() + line.size()) <= bytes) text += line;
  return text;
}

[[noreturn]] void hang() {
  for (;;) pause();
}

/// A process of its own session that outlives this one and keeps the log open.
void leave_child(bool keep_log) {
  if (fork() != 0) return;
  setsid();
  if (fork() != 0) _exit(0);
  prctl(PR_SET_PDEATHSIG, 0);
  if (!keep_log) {
    for (int fd = 0; fd < 3; ++fd) close(fd);
  }
  for (int i = 0; i < 600; ++i) sleep(1);
  _exit(0);
}

/// A daemon as the books have it: nothing of its parent's is left, not even the environment.
void leave_daemon() {
  if (fork() != 0) return;
  setsid();
  if (fork() != 0) _exit(0);
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
  char* const argv[] = {const_cast<char*>("sleep"), const_cast<char*>("600"), nullptr};
  char* const none[] = {nullptr};
  execve("/bin/sleep", argv, none);
  _exit(127);
}

void misbehave(const std::string& mode, long step) {
  if (mode == "hang") hang();
  if (mode == "ignore_term") {
    signal(SIGTERM, SIG_IGN);
    hang();
  }
  if (mode == "oom_text") {
    put("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.78 GiB total "
        "capacity; 14.02 GiB already allocated)\n");
    _exit(1);
  }
  if (mode == "oom_exit") _exit(12);
  if (mode == "silent") _exit(0);
  if (mode == "flood") {
    for (const std::string block(1 << 20, 'x');;) put(block);
  }
  if (mode == "flood_sparse") {
    if (ftruncate(1, std::atoll(env("FAKE_BYTES", "4294967296").c_str())) != 0) _exit(1);
    put("the end of a hole\n");
    hang();
  }
  if (mode == "no_newline") put("half a line");
  if (mode == "cut_line") {
    put("{\"type\":\"step\",\"st");
    _exit(1);
  }
  if (mode == "close_stdout") {
    close(1);
    close(2);
    hang();
  }
  if (mode == "stopped") raise(SIGSTOP);
  if (mode == "leave_child") leave_child(false);
  if (mode == "hold_log") leave_child(true);
  if (mode == "daemon") leave_daemon();
  if (mode.rfind("exit:", 0) == 0) _exit(std::atoi(mode.c_str() + 5));
  if (mode.rfind("signal:", 0) == 0) {
    raise(std::atoi(mode.c_str() + 7));
    hang();
  }
  if (mode == "fail_once") {
    const std::string marker = env("FAKE_MARKER", "");
    if (open(marker.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0) {
      put("Traceback (most recent call last):\nRuntimeError: NCCL error at step " +
          std::to_string(step) + "\n");
      _exit(1);
    }
  }
}

/// What of bert_train's command line matters here.
struct Options {
  std::string model = "?", precision = "fp32", batch = "1", accumulation = "1", length = "1";
  std::string timings, expected_world = "0", checkpoint, resume;
  long steps = 10;
};

Options read_options(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--model") o.model = value;
    if (name == "--precision") o.precision = value;
    if (name == "--micro-batch-size") o.batch = value;
    if (name == "--gradient-accumulation-steps") o.accumulation = value;
    if (name == "--sequence-length") o.length = value;
    if (name == "--steps") o.steps = std::atol(value.c_str());
    if (name == "--timings") o.timings = value;
    if (name == "--checkpoint") o.checkpoint = value;
    if (name == "--resume") o.resume = value;
    if (name == "--expect-world-size") o.expected_world = value;
  }
  return o;
}

void wait_for_file(const std::string& file) {
  while (!file.empty() && access(file.c_str(), F_OK) != 0) usleep(2000);
}

void add_line(const std::string& file, const std::string& line) {
  const int fd = open(file.c_str(), O_CREAT | O_APPEND | O_WRONLY, 0600);
  if (fd >= 0 && write(fd, line.data(), line.size()) > 0) close(fd);
}

void take_turn(const std::string& file) {
  if (file.empty()) return;
  char byte = 0;
  if (send(0, &byte, 1, 0) != 1 || recv(0, &byte, 1, 0) != 1) _exit(4);
  add_line(file, std::to_string(getpid()) + " begins\n");
}

void end_turn(const std::string& file) {
  if (!file.empty()) add_line(file, std::to_string(getpid()) + " ends\n");
}

/// FAKE, or "ok" where FAKE_ONCE shows that another start has misbehaved.
std::string mode_of_this_start(bool mine) {
  const std::string mode = env("FAKE", "ok");
  const auto once = env("FAKE_ONCE", "");
  if (once.empty()) return mode;
  // Only the rank that misbehaves makes the file; the others must not race it to it.
  const bool first =
      mine && mode != "ok" && open(once.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0;
  return first ? mode : "ok";
}

std::string header_of(const Options& o, const std::string& world, long global_batch) {
  return "{\"type\":\"header\",\"format\":\"bert_train/1\",\"time\":\"2026-01-01T00:00:00Z\","
         "\"framework\":\"bert_train\",\"model\":\"" +
         o.model + "\",\"precision\":\"" + o.precision + "\",\"micro_batch_size\":" + o.batch +
         ",\"gradient_accumulation_steps\":" + o.accumulation + ",\"sequence_length\":" + o.length +
         ",\"world_size\":" + world + ",\"global_batch_size\":" + std::to_string(global_batch) +
         ",\"first_step\":1,\"last_step\":" + std::to_string(o.steps) + ",\"log_every\":1}\n";
}

std::string step_line(long step, double seconds, long global_batch, bool nan) {
  char line[512];
  std::snprintf(line, sizeof line,
                "{\"type\":\"step\",\"step\":%ld,\"steps\":1,\"seconds\":%.9g,"
                "\"sequences_per_second\":%.9g,\"loss\":%s,\"elapsed\":%.9g}\n",
                step, seconds, static_cast<double>(global_batch) / seconds, nan ? "\"nan\"" : "9.5",
                static_cast<double>(step) * seconds);
  return line;
}

std::string summary_line(long steps, double seconds, long global_batch) {
  const double total = static_cast<double>(steps) * seconds;
  char line[512];
  std::snprintf(line, sizeof line,
                "{\"type\":\"summary\",\"outcome\":\"completed\",\"step\":%ld,\"steps\":%ld,"
                "\"sequences\":%ld,\"training_s\":%.9g,\"wall_s\":%.9g,"
                "\"sequences_per_second\":%.9g}\n",
                steps, steps, steps * global_batch, total, total,
                static_cast<double>(global_batch) / seconds);
  return line;
}

void write_checkpoint(const std::string& folder, long step) {
  std::filesystem::create_directories(folder);
  char name[32];
  std::snprintf(name, sizeof name, "/step_%08ld.ckpt", step);
  if (std::FILE* out = std::fopen((folder + name).c_str(), "w")) std::fclose(out);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  const std::string rank =
      of_launcher({"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}, "0");
  const std::string world =
      of_launcher({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}, "1");
  if (const auto file = env("FAKE_DUMP", ""); !file.empty() && rank == "0") dump(file, argc, argv);
  if (options.expected_world != world) {
    std::fprintf(stderr, "fake_trainer: expected world %s, found %s\n",
                 options.expected_world.c_str(), world.c_str());
    return 2;
  }
  if (std::error_code none;
      !options.resume.empty() && std::filesystem::directory_iterator(options.resume, none) ==
                                     std::filesystem::directory_iterator()) {
    std::fprintf(stderr, "fake_trainer: --resume %s: no step_*.ckpt there\n",
                 options.resume.c_str());
    return 2;
  }
  if (const auto note = env("FAKE_NOTE", ""); !note.empty()) {
    add_line(note, rank + " " + world + " " + std::to_string(getpid()) + "\n");
  }
  if (const auto places = env("FAKE_PLACES", ""); !places.empty()) {
    std::string line;
    for (const char* name :
         {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK"}) {
      line += (line.empty() ? "" : " ") + env(name, "?");
    }
    add_line(places, line + "\n");
  }
  const bool mine = rank == env("FAKE_RANK", "0");
  const std::string mode = mode_of_this_start(mine);
  newlines = mode != "never_newline";
  const long at = std::atol(env("FAKE_AT", "5").c_str());
  const double seconds = std::strtod(env("FAKE_SECONDS", "0.01").c_str(), nullptr);
  const long delay_ms = std::atol(env("FAKE_DELAY_MS", "0").c_str());
  const long burst = std::max(1L, std::atol(env("FAKE_BURST", "1").c_str()));
  const std::string noise = noise_of(std::atol(env("FAKE_NOISE", "0").c_str()));
  const long global = std::atol(options.batch.c_str()) * std::atol(options.accumulation.c_str()) *
                      std::atol(world.c_str());
  if (mine && at == 0) misbehave(mode, 0);
  usleep(static_cast<useconds_t>(std::atol(env("FAKE_START_MS", "0").c_str())) * 1000);
  const bool speaks = rank == "0";
  const std::string header = header_of(options, world, global);
  if (speaks) put(header);
  std::FILE* truth =
      speaks && !options.timings.empty() ? std::fopen(options.timings.c_str(), "w") : nullptr;
  bool requeued = false;
  std::string held;
  const std::string turns = env("FAKE_TURNS", ""), until = env("FAKE_UNTIL", "");
  for (long step = 1; step <= options.steps; ++step) {
    if (step > at) wait_for_file(until);
    take_turn(turns);
    if (delay_ms > 0 && step % burst == 0) usleep(static_cast<useconds_t>(delay_ms * 1000));
    if (mine && step == at) misbehave(mode, step);
    if (mode == "requeue" && mine && step == at && !requeued) {
      // A scheduler starts a job again and appends to its log.
      put("slurmstepd: error: *** JOB 7 ON node3 CANCELLED AT 2026-01-01T00:00:05 DUE TO NODE "
          "FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\n" +
          header);
      requeued = true;
      step = 1;
    }
    end_turn(turns);
    if (!speaks) continue;
    held += step_line(step, seconds, global, mode == "nan" && step >= at);
    held += noise;
    if (step % burst == 0 || step == options.steps) {
      put(held);
      held.clear();
    }
    if (truth) {
      std::fprintf(truth, "{\"step\":%ld,\"seconds\":%.9g,\"sequences\":%ld,\"end\":%.9g}\n", step,
                   seconds, global, static_cast<double>(step) * seconds);
    }
  }
  if (truth) std::fclose(truth);
  // A rank whose peer is stuck waits for it, as in an all-reduce.
  if (!speaks && (mode == "hang" || mode == "ignore_term")) hang();
  if (speaks && !options.checkpoint.empty()) write_checkpoint(options.checkpoint, options.steps);
  if (speaks) put(summary_line(options.steps, seconds, global));
  return 0;
}
