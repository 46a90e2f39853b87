// bertbench extract: throughput of logs that any trainer wrote.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/cli/command.h"
#include "harness/cli/console.h"
#include "harness/cli/follow.h"
#include "harness/cli/inputs.h"
#include "harness/cli/options.h"
#include "harness/cli/output.h"
#include "harness/cli/progress.h"
#include "harness/cli/result_view.h"
#include "parsers/core/each_fact.h"
#include "parsers/core/error.h"
#include "parsers/core/facts.h"
#include "parsers/core/name_hint.h"
#include "parsers/core/parallel.h"
#include "parsers/core/run_log.h"
#include "parsers/core/text.h"
#include "parsers/core/window_rule.h"
#include "parsers/described/described_format.h"
#include "parsers/input/arrivals_file.h"
#include "parsers/input/input.h"
#include "parsers/reader/log_reader.h"
#include "reports/cells/measured_logs.h"
#include "reports/cells/partial.h"
#include "reports/cells/result_builder.h"
#include "reports/cells/spool.h"
#include "reports/cells/summarize.h"
#include "reports/measure/deduced_facts.h"
#include "reports/measure/estimators.h"
#include "reports/measure/measure.h"
#include "reports/measure/ranks.h"
#include "reports/measure/restarts.h"
#include "reports/measure/tool_windows.h"
#include "reports/model/result_io.h"
#include "reports/model/result_set.h"
#include "reports/output/dlperf.h"
#include "reports/output/iterations.h"
#include "reports/output/render.h"
#include "reports/stats/flops.h"

namespace bertbench::command_extract {
namespace {

// extract --shard i/n: the share of the logs that one process of many reads.

/// "3/8"; 1 <= i <= n <= 1000000.
Result<Shard> parse_shard(const std::string& text) {
  const auto parts = split(text, '/');
  if (parts.size() == 2) {
    const auto shard = to_int(parts[0]), of = to_int(parts[1]);
    if (shard && of && *shard >= 1 && *of >= *shard && *of <= 1'000'000) {
      Shard out;
      out.shard = static_cast<int>(*shard);
      out.of = static_cast<int>(*of);
      return out;
    }
  }
  return fail("--shard", fmt::format("'{}' is not a part I/N", text),
              "count from 1, as in 3/8; under Slurm $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT "
              "of --array=1-8");
}

/// Leaves the logs of this shard in `inputs`; the shard then names the list that they are from.
/// Errors about paths are left to the first shard, so that a fleet reports each once.
void take_shard(Inputs& inputs, Shard& part) {
  part.logs = inputs.logs.size();
  std::vector<std::string> names;
  names.reserve(inputs.logs.size());
  for (const Input& log : inputs.logs) names.push_back(log.path);
  part.list = digest_of(names);
  std::erase_if(inputs.logs,
                [&](const Input& log) { return !in_shard(log.index, part.shard, part.of); });
  if (part.shard > 1) inputs.errors.clear();
}

/// Facts of the command line by the names of their options.
std::map<std::string, std::string> facts_as_options(const Facts& facts) {
  std::map<std::string, std::string> out;
  for_each_fact(facts, facts, [&](std::string name, const auto& fact, const auto&) {
    std::ranges::replace(name, '_', '-');
    if (fact.known()) out[name] = fmt::format("{}", *fact.value);
  });
  return out;
}

// One run over several logs: `extract` finds the restarts among the logs that it has measured.

/// The spans of measured runs, held until all logs are read. Logs of a chain are read again, so
/// that memory does not grow with their records.
class RestartJoiner {
 public:
  /// `log` is the run's number in the builder, `run` its number in its file; `ranks` are the logs
  /// that it was read from, where its ranks wrote one each.
  void hold(std::size_t log, RunSpan span, std::size_t run, const std::vector<RankLog>& ranks);
  /// In `logs` a chain becomes one trial in the place of its first part; returns the chains.
  std::vector<std::vector<std::size_t>> join(MeasuredLogs& logs, const ReadOptions& read,
                                             const MeasureOptions& measure);

 private:
  struct Held {
    std::uint32_t log, run;
  };
  std::vector<Held> held_;  ///< one for each of spans_, in their order
  std::unordered_map<std::uint32_t, std::vector<RankLog>> ranks_;  ///< by Held::log
  std::vector<RunSpan> spans_;
  std::unordered_map<std::string, std::size_t> groups_;  ///< their numbers, which spans_ name
};

/// The runs of one log.
Result<std::vector<RunLog>> read_watched(const std::string& path, ReadOptions options) {
  auto arrivals = read_arrivals(path);
  options.of_training = !arrivals.empty();  // a sweep's trial
  auto runs = read_log(path, options);
  if (runs) give_arrivals(*runs, std::move(arrivals));
  return runs;
}

/// The runs of a job whose ranks wrote a log each. Ranks that print nothing of a training are left
/// out, unless that is true of all.
Result<std::vector<RunLog>> read_ranks(const std::vector<RankLog>& ranks,
                                       const ReadOptions& options) {
  RankLogJoiner joiner;
  std::optional<Error> problem;
  for (const RankLog& log : ranks) {
    auto runs = read_watched(log.path, options);
    if (runs) {
      joiner.add(log.rank, std::move(*runs));
    } else if (!problem) {
      problem = runs.error();
    }
  }
  if (joiner.empty() && problem) return tl::unexpected(*problem);
  return joiner.take();
}

/// A run of a chain: the log that has its steps, or those of all its ranks, and its number there.
struct ChainPart {
  std::string path;
  std::vector<RankLog> ranks;
  std::size_t run = 0;
};

/// The runs of a chain, read again; nothing when a log has changed meanwhile.
std::optional<std::vector<RunLog>> read_chain(const std::vector<ChainPart>& parts,
                                              const ReadOptions& read) {
  std::vector<RunLog> out;
  for (const auto& [path, ranks, run] : parts) {
    auto runs = ranks.empty() ? read_log(path, read) : read_ranks(ranks, read);
    if (!runs || run >= runs->size() || !optimizer_step_range((*runs)[run])) return std::nullopt;
    out.push_back(std::move((*runs)[run]));
  }
  return out;
}

// What decides whether a measured run goes on from another. Called by several threads at once.
RunSpan restart_span(const MeasuredLog& measured, const RunLog& log, const Input& input) {
  // Logs that were named belong together; those of a folder with those of the same folder. What
  // stdin held is gone, and a tree that numbers its trials shows what a trial is.
  std::string group = input.named ? "" : std::filesystem::path(log.path).parent_path().string();
  group += '\n' + measured.identity.framework.value_or("") + '\n' + measured.identity.key();
  RunSpan span = span_of(log, group);
  if (log.path == "-" || measured.numbered) span.steps.reset();
  return span;
}

void RestartJoiner::hold(std::size_t log, RunSpan span, std::size_t run,
                         const std::vector<RankLog>& ranks) {
  if (!span.steps) return;
  // Few groups have many logs: their number takes no memory of its own.
  const auto number = groups_.emplace(std::move(span.group), groups_.size()).first->second;
  span.group = std::to_string(number);
  spans_.push_back(std::move(span));
  held_.push_back({static_cast<std::uint32_t>(log), static_cast<std::uint32_t>(run)});
  if (!ranks.empty()) ranks_[held_.back().log] = ranks;
}

std::vector<std::vector<std::size_t>> RestartJoiner::join(MeasuredLogs& logs,
                                                          const ReadOptions& read,
                                                          const MeasureOptions& measure) {
  const RestartChains found = find_restarts(spans_);
  const auto path_of = [&](std::size_t i) { return logs.trial(held_[i].log).log; };
  for (const auto& doubt : found.doubts) {
    std::string names;
    for (const std::size_t i : doubt.may_continue) {
      const std::string path = path_of(i);
      if (names.find(path) == std::string::npos) names += " " + path;
    }
    logs.add_notice(held_[doubt.run].log, make_notice(NoticeCode::restart_ambiguous, 0,
                                                      spans_[doubt.run].steps->first, names));
  }
  std::vector<std::vector<std::size_t>> chains;
  for (const auto& chain : found.chains) {
    std::vector<ChainPart> parts;
    std::vector<std::size_t> numbers;
    for (const std::size_t i : chain) {
      const auto ranks = ranks_.find(held_[i].log);
      parts.push_back({path_of(i), ranks == ranks_.end() ? std::vector<RankLog>() : ranks->second,
                       held_[i].run});
      numbers.push_back(held_[i].log);
    }
    auto runs = read_chain(parts, read);
    if (!runs) continue;
    logs.replace(numbers.front(), measure_log(join_restarts(std::move(*runs)), measure));
    for (std::size_t k = 1; k < numbers.size(); ++k) logs.drop(numbers[k]);
    chains.push_back(std::move(numbers));
  }
  *this = {};
  return chains;
}

// --iterations: every record of every log as CSV, for plots and for other statistics.

/// Columns log,trial,step,time_s,seconds,sequences_per_second,loss,rank_spread; a value that the
/// log does not give is empty. The number of a trial is known only when all logs are grouped, so
/// rows are put aside until then; memory does not grow with the logs.
class IterationsCsv {
 public:
  /// `given`: facts of the command line, which may turn iterations into sequences.
  explicit IterationsCsv(Facts given) : given_(std::move(given)) {}

  void add(const RunLog& log);
  /// The runs, by the order in which they were added, became one trial of the first one's path.
  void join(const std::vector<std::size_t>& runs);
  /// All rows with the trial numbers of `set`.
  [[nodiscard]] Result<void> write(const ResultSet& set, const TextSink& out) const;

 private:
  static constexpr std::size_t kAtOnce = 1 << 16;  ///< bytes that are put aside, or read back

  struct Run {
    std::string path;
    WorkKind kind;
    std::size_t bytes = 0;
    std::optional<std::size_t> part_of{};  ///< the run whose trial it is, if not its own
  };
  Facts given_;
  Spool rows_;  ///< of one run after the other
  std::vector<Run> runs_;
};

// Sequences of the whole job per iteration as the log counts them.
std::optional<std::int64_t> sequences_of(const RunLog& log, const Facts& given) {
  // Where they disagree, measuring reports it.
  const Facts known = merge_facts(given, log.facts);
  const Facts facts = merge_facts(known, facts_from_path(log.path).facts);
  return sequences_per_iteration(facts, log.iteration_unit);
}

void IterationsCsv::add(const RunLog& log) {
  const auto sequences = sequences_of(log, given_);
  Run& run = runs_.emplace_back(Run{log.path, log.kind});
  std::string text;
  const auto put_aside = [&] {
    rows_.add(text);
    run.bytes += text.size();
    text.clear();
  };
  for (const Record& record : log.records) {
    append_iteration(text, record, sequences, log.rate_unit);
    if (text.size() > kAtOnce) put_aside();
  }
  put_aside();
}

void IterationsCsv::join(const std::vector<std::size_t>& runs) {
  for (std::size_t i = 1; i < runs.size(); ++i) runs_[runs[i]].part_of = runs.front();
}

Result<void> IterationsCsv::write(const ResultSet& set, const TextSink& out) const {
  // Runs of one file are distinguished by their order, which grouping keeps.
  std::map<std::pair<std::string, WorkKind>, std::vector<int>> trials;
  for (const Cell& cell : set.cells) {
    for (const Trial& trial : cell.trials) trials[{trial.log, cell.kind}].push_back(trial.trial);
  }
  std::map<std::pair<std::string, WorkKind>, std::size_t> used;
  out(kIterationsHeader);
  std::vector<std::string> number_of;  // of each run's trial
  for (const Run& run : runs_) {
    number_of.emplace_back();
    if (run.part_of) continue;
    const std::pair id{run.path, run.kind};
    const std::vector<int>& numbers = trials[id];
    const std::size_t which = used[id]++;
    if (which < numbers.size()) number_of.back() = std::to_string(numbers[which]);
  }
  std::string block, text;
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const std::string prefix =
        iterations_prefix(runs_[i].path, number_of[runs_[i].part_of.value_or(i)]);
    bool line_begins = true;
    for (std::size_t left = runs_[i].bytes; left > 0; left -= block.size(), at += block.size()) {
      if (!rows_.read(at, std::min(left, kAtOnce), block)) {
        return fail("--iterations", "rows that were put aside cannot be read", "set TMPDIR");
      }
      text.clear();
      for (const char c : block) {
        if (line_begins) text += prefix;
        text += c;
        line_begins = c == '\n';
      }
      out(text);
    }
  }
  return {};
}

// What `extract` was asked for.

struct Options {
  std::vector<std::string> paths;
  std::string format = "auto", format_file;
  Facts facts;
  std::optional<WindowRule> window;
  std::string estimator, base, flops_formula, compat, iterations, shard_text;
  bool summary = false, strict = false, follow = false, no_join = false;
  std::optional<std::int64_t> stall_after;
  std::optional<std::int64_t> threads;
  std::vector<WorkKind> kinds;          ///< ViewOptions::kinds
  std::vector<std::string> windows_of;  ///< MeasureOptions::windows_of
  OutputOptions output;
};

// Names that are not known, and options that exclude each other. `user_format` may be null.
Result<void> check_options(const Options& options, const DescribedFormat* user_format) {
  if (auto known = check_format_name(options.format, user_format); !known) return known;
  if (options.follow && !options.shard_text.empty()) {
    return fail("--follow", "cannot be joined with --shard", "follow the logs that matter");
  }
  if (!options.follow && options.stall_after) {
    return fail("--stall-after", "only --follow waits for output", "add --follow");
  }
  const auto names = estimator_names();
  if (!options.estimator.empty() &&
      std::find(names.begin(), names.end(), options.estimator) == names.end()) {
    return fail("--estimator", fmt::format("'{}' is not an estimator", options.estimator),
                name_hint(options.estimator, {names.begin(), names.end()}, "use one of "));
  }
  if (!options.compat.empty() && options.compat != "dlperf") {
    return fail("--compat", fmt::format("'{}' is not known", options.compat), "use dlperf");
  }
  if (options.iterations == "-" && options.output.machine_on_stdout()) {
    return fail("--iterations", "two machine forms cannot share stdout",
                "give one of them a file name");
  }
  if (options.shard_text.empty()) return check_ending(options.output.path);
  if (!options.iterations.empty()) {
    return fail("--shard", "cannot be joined with --iterations, as merging numbers the trials",
                "write the iterations of the logs that matter in a run of its own");
  }
  if (!options.compat.empty()) {
    return fail("--shard", "cannot be joined with --compat, which replays a script on whole cells",
                "leave one of them out");
  }
  if (std::ranges::find(options.paths, "-") != options.paths.end()) {
    return fail("--shard", "stdin cannot be cut into shards", "name files or folders");
  }
  return {};
}

// What decides a result in addition to its logs: shards merge only if these are equal.
std::map<std::string, std::string> deciding(const Options& options) {
  std::map<std::string, std::string> out = facts_as_options(options.facts);
  const auto put = [&](const char* key, const std::string& value) {
    if (!value.empty()) out[key] = value;
  };
  if (options.format != "auto") put("format", options.format);
  put("format-file", options.format_file);
  if (options.window) put("window", options.window->str());
  put("estimator", options.estimator);
  put("base", options.base);
  put("flops-formula", options.flops_formula);
  return out;
}

// `extract --compat dlperf`: a log's number as DLPerf's own script for its framework takes it.

// Lines as Python's text mode cuts them. A longer line than any trainer prints is cut.
constexpr std::size_t kLongest = std::size_t{1} << 16;

Result<void> feed(const std::string& path, DlperfScript& script) {
  auto source = open_source(path);
  if (!source) return tl::unexpected(source.error());
  std::array<char, 1 << 16> block{};
  std::string line;
  std::int64_t number = 1;
  bool after_return = false;
  while (true) {
    const auto got = (*source)->read(block);
    if (!got) return tl::unexpected(got.error());
    if (*got == 0) break;
    for (std::size_t i = 0; i < *got; ++i) {
      const char c = block[i];
      if (c == '\n' && after_return) {
        after_return = false;
        continue;
      }
      after_return = c == '\r';
      if (c != '\n' && c != '\r') {
        if (line.size() < kLongest) line.push_back(c);
        continue;
      }
      script.read_line(line, number++);
      line.clear();
    }
  }
  if (!line.empty()) script.read_line(line, number);
  return {};
}

void not_applied(Trial& trial, std::string why) {
  trial.notices.push_back(make_notice(NoticeCode::dlperf_not_applied, 0, std::move(why)));
}

void apply_to(Trial& trial, const Identity& identity, std::optional<DlperfWindow> batches) {
  DlperfPlace place;
  place.nodes = identity.nodes.value_or(0);
  place.gpus_per_node = identity.gpus_per_node.value_or(0);
  place.batch_size_per_device = identity.micro_batch_size.value_or(0);
  const auto script = dlperf_script(trial.format, place, batches);
  if (!script) {
    return not_applied(trial, "DLPerf has no script for BERT logs of the format " + trial.format);
  }
  if (trial.log == "-" || place.nodes < 1 || place.gpus_per_node < 1 ||
      place.batch_size_per_device < 1) {
    return not_applied(trial,
                       "DLPerf's scripts take nodes, GPUs and batch from the place of a log "
                       "(4n8g/bert_b32_fp32_4.log), which this one does not show");
  }
  if (const auto read = feed(trial.log, *script); !read) {
    return not_applied(trial, read.error().message());
  }
  DlperfSpeed speed = script->finish();
  for (Notice& notice : speed.notices) trial.notices.push_back(std::move(notice));
  const auto own = trial.sequences_per_second;
  if (trial.unit() != RateUnit::sequences_per_second) {  // its estimates have another unit
    trial.tokens_per_second.reset();
    trial.iterations_per_second.reset();
    trial.epochs_per_second.reset();
    trial.estimators.clear();
    trial.resolution.clear();
    trial.expected_error.clear();
  }
  trial.sequences_per_second = speed.speed;
  trial.window.rule = fmt::format("{}:{}", speed.window.warmup, speed.window.train);
  trial.window.chosen_by = batches ? "user" : "default";
  trial.window.covered = speed.speed.has_value();
  if (!speed.speed) return trial.estimator.clear();
  trial.estimator = speed.estimator;
  trial.estimators[trial.estimator] = *speed.speed;
  constexpr double kLeastNoticeGap = 0.005;  // share of the rate
  if (own && std::abs(*own / *speed.speed - 1) > kLeastNoticeGap) {
    trial.notices.push_back(
        make_notice(NoticeCode::dlperf_differs, 0, speed.script, *speed.speed, *own));
  }
}

// Reads the log of each trial again, by the rules of the script (reports/output/dlperf.h),
// sets rate, estimator and window to the script's, and summarizes anew. A window "A:B" of the user
// stands for --warmup_batches and --train_batches. Every defect of a script that changes a number
// is a notice with the right value; where the script gives none, the trial has none. Formats
// without such a script, and logs whose place names no topology and batch, keep their number, with
// a notice.
void apply_dlperf(ResultSet& results, const std::optional<WindowRule>& window,
                  const std::string& base) {
  std::optional<DlperfWindow> batches;
  if (window && window->kind == WindowRule::Kind::records) {
    batches = DlperfWindow{window->begin, window->end};
  }
  for (Cell& cell : results.cells) {
    if (cell.kind != WorkKind::training) continue;
    for (Trial& trial : cell.trials) apply_to(trial, cell.identity, batches);
  }
  summarize(results, {.compat_dlperf = true, .base = base});
}

constexpr std::size_t kMostErrorsOfAFolder = 5;

using UserFormatPointer = std::shared_ptr<const DescribedFormat>;

/// One thread parses what all have found, and each brings blocks of memory.
constexpr std::size_t kMostThreadsOfALog = 4;

/// What became of the logs, next to the numbers.
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

  ExitCode run(std::optional<Shard> shard) {
    part_ = std::move(shard);
    // A log that is followed, or that a script is replayed on, stands for itself.
    const bool apart = options_.no_join || options_.follow || !options_.compat.empty();
    Inputs inputs = find_inputs(options_.paths, apart ? RankLogs::apart : RankLogs::joined);
    if (part_) take_shard(inputs, *part_);
    // A shard may hold one part of a run only, and a script that is replayed joined nothing.
    joins_ = !options_.no_join && !part_ && options_.compat.empty();
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
                      counted(logs.size(), "log")),
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
            const ReadOptions& options = big ? alone : read_;
            auto runs = log.ranks.empty() ? read_watched(log.path, options)
                                          : read_ranks(log.ranks, options);
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
        if (joins_) joiner_.hold(number, std::move(log.span), run, input.ranks);
      }
      if (iterations_) iterations_->add(*log.log);
    }
  }

  /// The file is written whatever was found, so that a merge finds every shard.
  ExitCode write_part(std::size_t logs) {
    part_->options = deciding(options_);
    console_.status(fmt::format("shard {}/{}: {} of {} read, {} recognised", part_->shard,
                                part_->of, logs, counted(part_->logs, "log"), tally_.recognised));
    ExitCode status = ExitCode::good;
    if (logs > 0 && tally_.recognised == 0) status = ExitCode::nothing_read;
    if (options_.strict && tally_.failed > 0) status = ExitCode::regression;
    const ResultSet set = partial_result(std::move(*part_));
    print_notices(console_, SetSource(set));
    return answer(
        console_, options_.output, status, [&](const std::string&) { return to_text(set); }, [] {});
  }

  Result<void> write_iterations(const ResultSet& set) {
    if (!iterations_) return {};
    if (options_.iterations == "-") {
      return iterations_->write(set, [&](std::string_view text) { console_.print(text); });
    }
    return write_file_atomically(options_.iterations,
                                 [&](const TextSink& out) { return iterations_->write(set, out); });
  }

  const Options& options_;
  Console& console_;
  const MeasureOptions measure_;
  ResultBuilder builder_;
  RestartJoiner joiner_;
  bool joins_ = false;
  ReadOptions read_;
  std::optional<IterationsCsv> iterations_;

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
  std::optional<Shard> shard;
  if (!options.shard_text.empty()) {
    auto parsed = parse_shard(options.shard_text);
    if (!parsed) return console.error(parsed.error());
    if (!options.output.json && options.output.path.empty()) {
      return console.error(
          {"--shard", "a part of a result is for `merge`, not for reading", "add -o FILE.json"});
    }
    shard = std::move(*parsed);
  }
  note_of_model(options, console);
  return Extraction(options, std::move(user_format), console).run(std::move(shard));
}

void declare(CommandLine& line, Options& options) {
  line.add_arguments("PATH", options.paths,
                     "Logs, folders that are searched for logs, or - for stdin; .gz and .zst too.");
  add_format(line, options.format, options.format_file);
  add_facts(line, options.facts);
  add_window(line, options.window, "auto");
  line.add_text(
          "--estimator", options.estimator, "NAME",
          fmt::format("How a rate is taken from the log: {}.", fmt::join(estimator_names(), ", ")))
      .default_text(
          "the least expected error, or the first of several below 0.5 %; log_summary only "
          "where none before it is, the last three never");
  const auto estimators = estimator_names();
  line.complete("--estimator", {estimators.begin(), estimators.end()});
  line.add_text("--base", options.base, "CELL",
                "Base of speedups: a cell's key or a topology such as 1n8g.")
      .default_text("one GPU");
  add_flops_formula(line, options.flops_formula, "masked_head");
  line.add_text("--compat", options.compat, "dlperf",
                "Round and aggregate as DLPerf's scripts do, to repeat its published tables.");
  line.add_value(
      "--window-of", "LIST",
      fmt::format("Also what other tools would have given of the log, and how far off: {}.",
                  fmt::join(window_tools(), ", ")),
      [&options](const std::string& text) {
        options.windows_of.clear();
        for (const std::string_view tool : split(text, ',')) {
          const auto tools = window_tools();
          if (std::ranges::find(tools, tool) == tools.end()) {
            throw UsageError({"--window-of", fmt::format("'{}' is not known", tool),
                              fmt::format("use {}", fmt::join(tools, ", "))});
          }
          options.windows_of.emplace_back(tool);
        }
      });
  line.add_output_file("--iterations", options.iterations, "FILE",
                       "Write every record as CSV; - for stdout, in place of the table.");
  line.add_flag("--summary", options.summary, "One row a cell, without its trials.");
  add_kinds(line, options.kinds);
  line.add_flag(
      "--follow", options.follow,
      "Stay with logs that are still written: rate, time left, NaN, out of memory, stalls; "
      "Ctrl-C ends it with the table.");
  add_count(line, "--stall-after", options.stall_after, 1,
            "Seconds without output after which --follow calls a log stalled.")
      .default_text("60");
  line.add_flag(
      "--no-join", options.no_join,
      "Every log is a trial of its own: neither the restarts of a run nor the logs that its ranks "
      "wrote are joined. Under --compat nothing is, under --shard no restart.");
  line.add_flag("--strict", options.strict, "Status 1 if any log could not be used.");
  line.add_text(
      "--shard", options.shard_text, "I/N",
      "Read part I of N of the logs, for `bertbench merge`; every part gets the same PATHs.");
  add_count(line, "--threads", options.threads, 1, "Logs read at the same time.")
      .default_text("number of cores");
  add_output(line, options.output, kWriteResult);
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

extern const Command entry{
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
    declared<Options, declare, run>};

}  // namespace bertbench::command_extract
