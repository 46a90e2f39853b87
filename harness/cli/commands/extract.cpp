// bertbench extract: throughput of logs that any trainer wrote.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <thread>

#include "harness/cli/command.h"
#include "harness/cli/console.h"
#include "harness/cli/extract_dlperf.h"
#include "harness/cli/extract_options.h"
#include "harness/cli/follow.h"
#include "harness/cli/inputs.h"
#include "harness/cli/iterations_csv.h"
#include "harness/cli/join_restarts.h"
#include "harness/cli/number_text.h"
#include "harness/cli/options.h"
#include "harness/cli/ordered_work.h"
#include "harness/cli/output.h"
#include "harness/cli/progress.h"
#include "harness/cli/result_view.h"
#include "harness/cli/shard.h"
#include "parsers/core/text.h"
#include "parsers/described/described_format.h"
#include "parsers/input/arrivals_file.h"
#include "parsers/reader/log_reader.h"
#include "reports/cells/partial.h"
#include "reports/cells/result_builder.h"
#include "reports/measure/estimators.h"
#include "reports/measure/measure.h"
#include "reports/measure/tool_windows.h"
#include "reports/model/result_io.h"
#include "reports/stats/flops.h"

namespace bertbench {
namespace {

constexpr std::size_t kMostErrorsOfAFolder = 5;

using Options = ExtractOptions;
using UserFormatPointer = std::shared_ptr<const DescribedFormat>;

/// One thread parses what all have found, and each brings blocks of memory.
constexpr std::size_t kMostThreadsOfALog = 4;

/// What became of the logs, besides the numbers.
struct Tally {
  std::size_t recognised = 0, failed = 0, failed_below_folders = 0;
};

/// What is left of a run once it is measured.
struct MeasuredRun {
  MeasuredLog measured;
  RunSpan span;               ///< where restarts are joined
  std::optional<RunLog> log;  ///< where its records are written
};

class Extraction {
 public:
  Extraction(const Options& options, UserFormatPointer user_format, Console& console)
      : options_(options), console_(console), measure_(measure_options()), builder_(measure_) {
    read_.user_format = std::move(user_format);
    read_.world = options.facts.world();
    if (!options.iterations.empty()) iterations_.emplace(options.facts);
    read_.format = options.format;
    if (options.window) read_.window = *options.window;
  }

  ExitCode run(std::optional<ShardName> shard) {
    Inputs inputs = find_inputs(options_.paths);
    if (shard) part_ = take_shard(inputs, *shard);
    // A shard may hold one part of a run only, and a script that is replayed joined nothing.
    joins_ = !options_.no_join && !shard && options_.compat.empty();
    for (const Error& error : inputs.errors) failed(error, true);
    for (const std::string& text : inputs.left_out) console_.note(text);
    bool interrupted = false;
    if (options_.follow) {
      if (!inputs.errors.empty()) return ExitCode::nothing_read;
      const auto live = follow_logs(inputs.logs);
      if (!live) return console_.error(live.error(), ExitCode::nothing_read);
      interrupted = *live;
    } else {
      read(inputs.logs);
    }
    if (spool_error_) return console_.error(*spool_error_);
    const std::size_t logs = inputs.logs.size();
    inputs = {};  // of very many logs the names alone take room
    if (part_) return write_part(logs);
    if (interrupted && tally_.recognised == 0) return ExitCode::interrupted;
    if (tally_.recognised == 0) return ExitCode::nothing_read;

    if (joins_) {
      for (const auto& chain : joiner_.join(builder_.logs(), read_, measure_)) {
        if (iterations_) iterations_->join(chain);
      }
    }
    const auto cells = builder_.finish_cells();
    const bool wants_all = !options_.compat.empty() || iterations_;
    if (!wants_all) return print_cells(*cells, interrupted);
    ResultSet set = cells->whole();
    if (!options_.compat.empty()) apply_dlperf(set, options_.window, options_.base);
    if (const auto written = write_iterations(set); !written) {
      return console_.error(written.error());
    }
    return print_cells(SetSource(set), interrupted);
  }

 private:
  ExitCode print_cells(const CellSource& cells, bool interrupted) {
    if (tally_.failed_below_folders > kMostErrorsOfAFolder) {
      console_.note(
          fmt::format("{} files below folders could not be used", tally_.failed_below_folders));
    }
    note_of_ending(console_, options_.output.path);
    ExitCode status = ExitCode::good;
    if (options_.strict && tally_.failed > 0) status = ExitCode::regression;
    if (interrupted) status = ExitCode::interrupted;
    ViewOptions view;
    view.summary_only = options_.summary;
    view.kinds = options_.kinds;
    status = answer_in_pieces(
        console_, options_.output, status,
        [&](const std::string& path, const TextSink& out) {
          return write_result(cells, path, out);
        },
        [&] {
          if (options_.iterations != "-") print_results(console_, cells, view);
        });
    print_notices(console_, cells, view);
    for (const Notice& notice : builder_.notices()) console_.note("", notice);
    return status;
  }

  MeasureOptions measure_options() const {
    MeasureOptions measure;
    measure.given = options_.facts;
    if (options_.window) measure.window = *options_.window;
    measure.estimator = options_.estimator;
    measure.windows_of = options_.windows_of;
    measure.compat_dlperf = options_.compat == "dlperf";
    measure.base = options_.base;
    measure.flops_formula = options_.flops_formula;
    measure.summary_only = options_.summary && !options_.output.json &&
                           options_.output.path.empty() && options_.shard_text.empty() &&
                           options_.iterations.empty();
    return measure;
  }

  void failed(const Error& error, bool named) {
    ++tally_.failed;
    if (named || ++tally_.failed_below_folders <= kMostErrorsOfAFolder) console_.error(error);
  }

  void read(const std::vector<Input>& logs) {
    using Logs = std::vector<Result<std::vector<MeasuredRun>>>;
    double total = 0, done = 0;
    for (const Input& log : logs) total += static_cast<double>(log.bytes);
    std::size_t consumed = 0;
    const auto show = [&] {
      console_.progress().update(
          fmt::format("reading {} of {}", std::min(consumed + 1, logs.size()),
                      counted(static_cast<long long>(logs.size()), "log")),
          total > 0 ? std::optional(done / total) : std::nullopt);
    };
    const auto cores = std::max(1U, std::thread::hardware_concurrency());
    const auto threads = static_cast<std::size_t>(options_.threads.value_or(cores));
    // What files in parallel do not use goes into the files; those that go alone get all.
    read_.threads = std::clamp<std::size_t>(threads / std::max<std::size_t>(1, logs.size()), 1,
                                            kMostThreadsOfALog);
    ReadOptions alone = read_;
    alone.threads = std::min(threads, kMostThreadsOfALog);
    console_.progress().start();
    const auto groups = small_logs_together(logs);
    in_order<Logs>(
        groups.size(), threads,
        [&](std::size_t group) {
          Logs results;
          for (const Input& log : groups[group]) {
            const bool big = 2 * memory_of({&log, 1}) > kMemoryOfLogs;
            auto arrivals = read_arrivals(log.path);
            ReadOptions options = big ? alone : read_;
            options.of_training = !arrivals.empty();  // a sweep's trial
            auto runs = read_log(log.path, options);
            if (runs) give_arrivals(*runs, std::move(arrivals));
            results.push_back(measured(log, std::move(runs)));
          }
          return results;
        },
        [&](std::size_t group, Logs results) {
          for (std::size_t i = 0; i < results.size(); ++i) {
            const Input& log = groups[group][i];
            consume(log, std::move(results[i]));
            done += static_cast<double>(log.bytes);
            ++consumed;
          }
        },
        show, {[&](std::size_t group) { return memory_of(groups[group]); }, kMemoryOfLogs});
    console_.progress().stop();
  }

  /// True when the user ended it.
  Result<bool> follow_logs(const std::vector<Input>& logs) {
    FollowOptions live;
    live.read = read_;
    live.given = options_.facts;
    if (options_.stall_after) live.stall_after_s = static_cast<double>(*options_.stall_after);
    std::vector<std::string> paths;
    for (const Input& log : logs) paths.push_back(log.path);
    auto followed = follow(paths, live, console_);
    if (!followed) return tl::unexpected(followed.error());
    for (std::size_t i = 0; i < logs.size(); ++i) {
      consume(logs[i], measured(logs[i], std::move(followed->logs[i])));
    }
    return followed->interrupted;
  }

  /// Called by several threads at once; the records end here, unless they are written as well.
  Result<std::vector<MeasuredRun>> measured(const Input& input,
                                            Result<std::vector<RunLog>> runs) const {
    if (!runs) return tl::unexpected(std::move(runs.error()));
    std::vector<MeasuredRun> out;
    for (RunLog& log : *runs) {
      MeasuredRun& run = out.emplace_back();
      run.measured = measure_log(log, measure_);
      if (joins_) run.span = restart_span(run.measured, log, input);
      if (iterations_) run.log = std::move(log);
    }
    return out;
  }

  void consume(const Input& input, Result<std::vector<MeasuredRun>> runs) {
    if (!runs) return failed(runs.error(), input.named);
    ++tally_.recognised;
    for (std::size_t run = 0; run < runs->size(); ++run) {
      MeasuredRun& log = (*runs)[run];
      if (part_) {
        part_->measured.push_back({std::move(log.measured), input.index, run});
      } else {
        const std::size_t number = builder_.add(std::move(log.measured));
        if (joins_) joiner_.hold(number, std::move(log.span), run);
      }
      if (!iterations_ || spool_error_) continue;
      if (const auto added = iterations_->add(*log.log); !added) spool_error_ = added.error();
    }
  }

  /// The file is written whatever was found, so that a merge finds every shard.
  ExitCode write_part(std::size_t logs) {
    part_->options = deciding(options_);
    console_.status(
        fmt::format("shard {}/{}: {} of {} read, {} recognised", part_->shard, part_->of, logs,
                    counted(static_cast<long long>(part_->logs), "log"), tally_.recognised));
    ExitCode status = ExitCode::good;
    if (logs > 0 && tally_.recognised == 0) status = ExitCode::nothing_read;
    if (options_.strict && tally_.failed > 0) status = ExitCode::regression;
    const ResultSet set = partial_result(std::move(*part_));
    print_notices(console_, set);
    return answer(
        console_, options_.output, status, [&](const std::string&) { return to_text(set); }, [] {});
  }

  Result<void> write_iterations(const ResultSet& set) {
    if (!iterations_) return {};
    if (options_.iterations == "-") return iterations_->write(set, console_.out());
    return write_large_file(options_.iterations,
                            [&](std::ostream& out) { return iterations_->write(set, out); });
  }

  const Options& options_;
  Console& console_;
  const MeasureOptions measure_;
  ResultBuilder builder_;
  RestartJoiner joiner_;
  bool joins_ = false;
  ReadOptions read_;
  std::optional<IterationsCsv> iterations_;
  std::optional<Error> spool_error_;
  std::optional<Shard> part_;
  Tally tally_;
};

// Any model may be named, but FLOPs and MFU need one whose shape is known.
void note_of_model(const Options& options, Console& console) {
  const std::optional<std::string>& model = options.facts.model.value;
  if (!model || model_shape(*model)) return;
  const std::string near = nearest_name(*model, known_models());
  if (near.empty()) return;
  console.note(fmt::format("--model: '{}' is no known model, did you mean '{}'?", *model, near));
}

ExitCode run(const Options& options, Console& console) {
  UserFormatPointer user_format;
  if (!options.format_file.empty()) {
    auto loaded = DescribedFormat::load(options.format_file);
    if (!loaded) return console.error(loaded.error());
    user_format = std::move(*loaded);
  }
  if (const auto known = check_options(options, user_format.get()); !known) {
    return console.error(known.error());
  }
  std::optional<ShardName> shard;
  if (!options.shard_text.empty()) {
    const auto parsed = parse_shard(options.shard_text);
    if (!parsed) return console.error(parsed.error());
    if (!options.output.json && options.output.path.empty()) {
      return console.error(
          {"--shard", "a part of a result is for `merge`, not for reading", "add -o FILE.json"});
    }
    shard = *parsed;
  }
  note_of_model(options, console);
  return Extraction(options, std::move(user_format), console).run(shard);
}

CommandRun declare(CommandLine& line) {
  auto options = std::make_shared<Options>();
  line.add_arguments("PATH", options->paths,
                     "Logs, folders that are searched for logs, or - for stdin; .gz and .zst too.");
  line.add_text("--format", options->format, "NAME", "Log format, as in `bertbench list formats`.")
      .default_text("auto");
  line.add_text(
      "--format-file", options->format_file, "FILE",
      "A log format of your own: literals and RE2 patterns in JSON, see docs/formats.md.");
  add_facts(line, options->facts);
  add_window(line, options->window, "auto");
  line.add_text(
          "--estimator", options->estimator, "NAME",
          fmt::format("How a rate is taken from the log: {}.", fmt::join(estimator_names(), ", ")))
      .default_text("the one with the least expected error, never one of the last three");
  line.add_text("--base", options->base, "CELL",
                "Base of speedups: a cell's key or a topology such as 1n8g.")
      .default_text("one GPU");
  add_flops_formula(line, options->flops_formula, "masked_head");
  line.add_text("--compat", options->compat, "dlperf",
                "Round and aggregate as DLPerf's scripts do, to repeat its published tables.");
  line.add_value(
      "--window-of", "LIST",
      fmt::format("Also what other tools would have given of the log, and how far off: {}.",
                  fmt::join(window_tools(), ", ")),
      [options](const std::string& text) {
        options->windows_of.clear();
        for (const std::string_view tool : split(text, ',')) {
          const auto tools = window_tools();
          if (std::ranges::find(tools, tool) == tools.end()) {
            throw UsageError({"--window-of", fmt::format("'{}' is not known", tool),
                              fmt::format("use {}", fmt::join(tools, ", "))});
          }
          options->windows_of.emplace_back(tool);
        }
      });
  line.add_output_file("--iterations", options->iterations, "FILE",
                       "Write every record as CSV; - for stdout, in place of the table.");
  line.add_flag("--summary", options->summary, "One row a cell, without its trials.");
  add_kinds(line, options->kinds);
  line.add_flag(
      "--follow", options->follow,
      "Stay with logs that are still written: rate, time left, NaN, out of memory, stalls; "
      "Ctrl-C ends it with the table.");
  add_count(line, "--stall-after", options->stall_after, 1,
            "Seconds without output after which --follow calls a log stalled.")
      .default_text("60");
  line.add_flag(
      "--no-join", options->no_join,
      "Every log is a trial of its own, also one that goes on where another ended (restarts "
      "of one run, which are joined otherwise; never under --shard or --compat).");
  line.add_flag("--strict", options->strict, "Status 1 if any log could not be used.");
  line.add_text(
      "--shard", options->shard_text, "I/N",
      "Read part I of N of the logs, for `bertbench merge`; every part gets the same PATHs.");
  add_count(line, "--threads", options->threads, 1, "Logs read at the same time.")
      .default_text("number of cores");
  add_output(line, options->output,
             "Write the result to FILE, as the ending says (.json .csv .md ...); - for JSON on "
             "stdout.");
  return [options](Console& console) { return run(*options, console); };
}

constexpr Example kExamples[] = {
    {"bertbench extract --follow train.log --window steps:100:500",
     "A run that is going on: current rate, window filled, time left."},
    {"bertbench extract train.log", "One log: every estimate of its throughput."},
    {"bertbench extract logs/ --window 100:200 -o results.json",
     "A tree of logs (bz32/4n8g/bert_b32_fp32_4.log), one cell a folder, kept for `report`."},
    {"ssh node cat log | bertbench extract - --micro-batch-size 64 --nodes 2",
     "Facts that the log does not print turn iterations/s into sequences/s."},
    {"bertbench extract logs/ --shard 3/8 -o part3.json",
     "An eighth of the logs; `bertbench merge part*.json -o results.json` joins the eight."},
};
constexpr ExitCodeRow kStatuses[] = {
    {ExitCode::good, "logs were read; that a run failed is an outcome, not an error"},
    {ExitCode::regression, "a log could not be used, under --strict"},
    {ExitCode::usage},
    {ExitCode::nothing_read},
    {ExitCode::interrupted, "--follow was ended by a signal; the table was printed"}};

}  // namespace

extern const Command command_extract{
    "extract",
    "training throughput from logs of any known format",
    "PATH...",
    "Logs become trials, trials of one tree folder become a cell. Facts are taken from the "
    "options, else from the log, else from its path; what is unknown stays unknown, and then the "
    "rate stays in iterations/s. A cell is named by them: bert-base.fp16.s128.b64.a2.1n8g is "
    "sequence length 128, micro batch 64, 2 accumulation steps, 1 node of 8 GPUs; ? is unknown. A "
    "log of a failed run is a result too: its outcome is shown. Notices go to stderr.",
    kExamples,
    kStatuses,
    declare};

}  // namespace bertbench
