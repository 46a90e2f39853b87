// bertbench telemetry: watches this machine while the ranks of a trial run. A sweep starts it on
// every node that it reaches through ssh or Slurm (harness/sweep/observe/node_telemetry.h).
#include "harness/sweep/observe/telemetry.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "harness/cli/command.h"
#include "harness/cli/console.h"
#include "harness/cli/options.h"
#include "harness/cli/output.h"
#include "harness/sweep/execute/log_watch.h"
#include "harness/sweep/observe/machine.h"
#include "harness/sweep/observe/node_telemetry.h"
#include "harness/sweep/process/process.h"
#include "harness/sweep/process/stop_signals.h"
#include "reports/output/table.h"
#include "reports/output/value_text.h"

namespace bertbench::command_telemetry {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string marker, training_mark, stamped_log;
  std::optional<std::int64_t> seconds, gpus;
  bool until_input_ends = false;
  OutputOptions output;
};

constexpr double kLookAtLog_s = 0.01;  // as often as a sweep looks at the logs that it watches
constexpr double kSaveStamps_s = 1;

/// Looks often at first, so that a short trial is seen, and once a second later; at the log as
/// often as the sweep would.
Json watch(const Options& options, std::optional<StampedLog> log) {
  const StopSignals signals(true);
  const Machine machine = look_at_machine("", /*with_gpus=*/false);
  const auto nvml = options.gpus.value_or(0) > 0 ? Nvml::open() : nullptr;
  TelemetryOptions how;
  how.interval_s = 0;
  how.cores = machine.cores_usable;
  how.memory_bytes = machine.usable_memory();
  how.marker = options.marker;
  how.on_cpu = options.gpus == 0;
  if (nvml) {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    how.nvml = nvml.get();
    how.gpus = gpus_in_use(*nvml, *options.gpus, visible != nullptr ? visible : "");
  }
  const pid_t parent = getppid();
  Telemetry telemetry(std::move(how));
  const auto begin = Clock::now();
  double next_sample_s = 0, next_save_s = kSaveStamps_s;
  for (;;) {
    const double elapsed = seconds_since(begin);
    if (log) {
      log->look();
      if (elapsed >= next_save_s) {
        (void)log->save(false);  // the whole is written at the end
        next_save_s = elapsed + kSaveStamps_s;
      }
    }
    const bool sampled = elapsed >= next_sample_s;
    if (sampled) next_sample_s = elapsed + std::clamp(elapsed / 10, 0.05, 1.0);
    double wait = next_sample_s - elapsed;
    const double left = options.seconds ? static_cast<double>(*options.seconds) - elapsed : wait;
    wait = std::clamp(left, 0.0, log ? std::min(wait, kLookAtLog_s) : wait);
    pollfd wake[2] = {{signals.wake_fd(), POLLIN, 0},
                      {options.until_input_ends ? STDIN_FILENO : -1, POLLIN, 0}};
    poll(wake, 2, static_cast<int>(wait * 1000));
    if (sampled) {
      telemetry.sample(!options.training_mark.empty() &&
                       access(options.training_mark.c_str(), F_OK) == 0);
    }
    char input[256];
    const bool input_over = wake[1].revents != 0 && read(STDIN_FILENO, input, sizeof input) <= 0;
    if (signals.count() > 0 || input_over || left <= 0 || getppid() != parent) break;
  }
  if (log) {
    log->look();
    (void)log->save(true);  // a trial without stamps has no `arrival`, and telemetry all the same
  }
  Json out = telemetry.finish();
  out["machine"] = this_machine();  // nodes that are one machine are recognised by it
  return out;
}

void print(Console& console, const Json& seen) {
  Table table{columns_of({"", ">"})};
  const auto row = [&](std::string what, std::string text) {
    table.rows.push_back({std::move(what), std::move(text)});
  };
  row("seconds", number_text(seen.value("seconds", 0.0)));
  row("samples", std::to_string(seen.value("samples", 0)));
  for (const auto& [key, value] : seen["cpu"].items()) row(key, number_text(value.get<double>()));
  for (const char* key : {"resident_peak_bytes", "memory_bytes"}) {
    if (seen.contains(key)) row(key, bytes_text(seen[key].get<double>()));
  }
  for (const Json& gpu : seen.value("gpus", Json::array())) {
    for (const auto& [key, value] : gpu.items()) {
      if (value.is_number() && key != "index") {
        row(fmt::format("gpu {} {}", gpu.value("index", 0), key),
            key.ends_with("_bytes") ? bytes_text(value.get<double>())
                                    : number_text(value.get<double>()));
      }
    }
  }
  console.print(text_table(table, {.headings = false}));
  for (const Json& mark : seen.value("marks", Json::array())) {
    console.print(fmt::format("{}: {}\n", mark.value("kind", ""), mark.value("text", "")));
  }
}

ExitCode run(const Options& options, Console& console) {
  std::optional<StampedLog> log;
  if (!options.stamped_log.empty()) {
    auto opened = StampedLog::open(options.stamped_log);
    if (opened) log.emplace(std::move(*opened));
    if (!opened) console.note(opened.error().message());  // the machine is watched all the same
  }
  const Json seen = watch(options, std::move(log));
  return answer(
      console, options.output, ExitCode::good, [&] { return seen; }, [&] { print(console, seen); });
}

void declare(CommandLine& line, Options& options) {
  line.add_text("--marker", options.marker, "TEXT",
                "The ranks are the processes whose variable BERTBENCH_TRIAL begins so.")
      .required();
  add_count(line, "--seconds", options.seconds, 1, "Ends after that many seconds.");
  line.add_flag("--until-input-ends", options.until_input_ends, "Ends when stdin does.");
  add_count(
      line, "--gpus", options.gpus, 0,
      "GPUs of this machine that the ranks use: those of CUDA_VISIBLE_DEVICES by number, else "
      "the first N. With 0 the ranks' energy is that of the CPU packages.");
  line.add_text("--training-mark", options.training_mark, "FILE",
                "Is there once steps are logged: from then on power counts as training power.");
  line.add_text(
      "--stamp-log", options.stamped_log, "FILE",
      "Keeps when the bytes of this log came, in FILE.arrivals.csv, which extract reads.");
  add_output(line, options.output);
}

constexpr Example kExamples[] = {
    {"bertbench telemetry --marker my-run --gpus 8 --seconds 60",
     "A minute of a run that was started with BERTBENCH_TRIAL=my-run."},
};
constexpr ExitCodeRow kStatuses[] = {{ExitCode::good, "whatever it found"}, {ExitCode::usage}};

}  // namespace

extern const Command entry{
    "telemetry",
    "what this machine does while ranks run on it",
    "--marker TEXT",
    "Looks at GPUs (NVML), /proc and the ranks once a second, more often in the first ten seconds, "
    "until SIGTERM, SIGINT, the end of the program that started it, or the end that an option "
    "sets; then prints the figures that a sweep keeps of each trial (docs/telemetry.md). A sweep "
    "runs it on every node of a trial under ssh and Slurm.",
    kExamples,
    kStatuses,
    declared<Options, declare, run>};

}  // namespace bertbench::command_telemetry
