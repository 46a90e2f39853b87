// nanogpt: nanoGPT, llm.c, modded-nanogpt and trainers after their manner.
//
//   nanoGPT: iter 10: loss 4.5735, time 267.36ms, mfu 8.92%
//   modded-nanogpt: step:6200/6200 train_loss:3.2533 train_time:1339065ms step_avg:216.33ms
//   build-nanogpt: step    10 | loss: 6.51 | lr 1e-4 | ... | dt: 340.12ms | tok/sec: 1540000.00
//   nanochat: step 00100/01000 (10.00%) | loss: 3.4 | ... | dt: 1014.23ms | tok/sec: 129,238
//   llm.c's main.log: s:19559 trl:3.2217 lr:0.000000 norm:0.22
//
// Lines of llm.c, llama2.c and minGPT stand at the functions that read them.
// nanoGPT prints the time of ONE iteration, that of the line; where it evaluates or compiles, the
// time holds that too and is left out. train_time is a clock without the evaluations, which some
// trainers set back to 0 after their first steps. "step_avg:nanms" is a nan of a time.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "parsers/assemble/events.h"
#include "parsers/core/facts.h"
#include "parsers/core/line.h"
#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/decimal.h"

namespace bertbench::format_nanogpt {
namespace {

// Step lines of trainers after the manner of llm.c: the time of the line's own step, and tokens/s.

// "37.5k" in the column that ends where the text does; NaN: none above zero.
double column(std::string_view text) {
  const auto bar = text.rfind("| ");
  if (bar == std::string_view::npos) return kUnknown;
  std::string_view digits = trim(text.substr(bar + 2));
  const double scale = digits.empty() ? 1 : suffix_scale(digits.back());
  if (scale > 1) digits.remove_suffix(1);
  const double value = to_double(digits).value_or(0) * scale;
  return value > 0 ? value : kUnknown;
}

double tokens_per_second(const Line& line) {
  const auto unit = line.text.find(" tok/s");
  return unit == std::string_view::npos ? kUnknown : column(line.text.substr(0, unit));
}

// "step   47710 | loss 13.8450 | lr 1.79e-04 | grad 0.768 | 37.5k tok/s | mfu 37.67%": the rate of
// the steps since the line before.
std::optional<Step> without_time(const Line& line) {
  Step at{.rate = tokens_per_second(line)};
  if (!Cursor(line).read("step ", kBlanks, at.step, " | loss ", at.loss) || std::isnan(at.rate) ||
      !has(line, " tok/s |") || has(line, " ms")) {
    return std::nullopt;
  }
  return at;
}

// llm.c and llama2.c:
// "step    2/100 | loss 4.1 (+nanz)| norm 2.1 | lr 3e-04 | 80.2 ms | 40.1% bf16 MFU | 51020 tok/s"
// "5 | loss 8.3733 | lr 2.500000e-06 | 161.82ms"
std::optional<Step> in_columns(const Line& line) {
  Cursor cursor(line);
  Step at;
  const bool named = cursor.literal("step ");
  if (!cursor.read(kBlanks, at.step) || (named && !cursor.read("/", kBlanks, at.planned)) ||
      !cursor.read(" | loss ", at.loss)) {
    return std::nullopt;
  }
  const auto ms = line.text.rfind(named ? " ms |" : "ms");
  if (ms == std::string_view::npos) return std::nullopt;
  at.seconds = column(line.text.substr(0, ms)) / 1000;
  if (std::isnan(at.seconds)) return std::nullopt;
  if (named) at.rate = tokens_per_second(line);
  return at;
}

// llm.c in Python, its older releases, and on a CPU:
// "step    1/9 | train loss 5.270007 | norm 30.6 | lr 1e-04 | (1200.12 ms | 800 tok/s)"
// "step    1/74: train loss 4.367631 (80.639749 ms, 12700 tok/s)"
// "step 0: train loss 5.356082 (took 1958.5 ms)"
std::optional<Step> in_brackets(const Line& line) {
  Cursor cursor(line);
  Step at;
  double ms = 0, tokens = 0;
  if (!cursor.read("step ", kBlanks, at.step)) return std::nullopt;
  cursor.read("/", kBlanks, at.planned);
  if (!cursor.read(": train loss ", at.loss) && !cursor.read(" | train loss ", at.loss)) {
    return std::nullopt;
  }
  cursor.move_to(line.text.rfind('(', line.text.rfind(" ms")) + 1);
  cursor.literal("took ");
  if (!cursor.read(ms, " ms") || !(ms > 0)) return std::nullopt;
  at.seconds = ms / 1000;
  const bool rated = cursor.literal(", ") || cursor.literal(" | ");
  if (rated && cursor.read(tokens, " tok/s)") && tokens > 0) at.rate = tokens;
  return at;
}

// "iter_dt 21.07ms; iter 100: train loss 1.28713": the time of the iteration before the line,
// which is none for the first (minGPT).
std::optional<Step> after_its_time(const Line& line) {
  Step at;
  double ms = 0;
  if (!Cursor(line).read("iter_dt ", ms, "ms; iter ", kBlanks, at.step, ": train loss ", at.loss)) {
    return std::nullopt;
  }
  if (ms > 0) at.seconds = ms / 1000;
  return at;
}

// What trainers after the manner of llm.c and nanoGPT print of their batch, most of it in tokens.

/// Words of the lines that state it, some of them in the source that a trainer prints.
constexpr std::string_view kBatchOfAll = "# batch size, in sequences, across all devices";
constexpr std::string_view kLengthInTokens = "# sequence length, in tokens";
constexpr std::string_view kFlexLength = "# FlexAttention sequence length";
constexpr std::string_view kOneWorld = "assert world_size == ";
constexpr std::string_view kEachItsLength = ", world_size * args.train_seq_len, ";
constexpr std::string_view kLoaderOfTokens = "batch_size: int, seq_len=";
constexpr std::string_view kTokensOfRank = "Tokens / micro-batch / rank: ";
constexpr std::string_view kAccumulatedBatch = " => gradient accumulation steps: ";

constexpr std::int64_t kSizeLimit = 1'000'000'000;  ///< of sequences, tokens of one, ranks

// "8*64", "8 * 64 * 1024"
std::optional<std::int64_t> product(Cursor& cursor) {
  std::int64_t value = 1, factor = 0;
  do {
    if (!cursor.read(kBlanks, factor, kBlanks) || factor < 1 || factor > kSizeLimit / value) {
      return std::nullopt;
    }
    value *= factor;
  } while (cursor.literal("*"));
  return value;
}

// "    sequence_length : int = 64*1024 # sequence length, in tokens"
std::optional<std::int64_t> setting_of_source(const Line& line, std::string_view name,
                                              std::string_view comment) {
  Cursor cursor(line);
  if (!has(line, comment) || !cursor.read(kBlanks, name, kBlanks)) return std::nullopt;
  cursor.read(":", kBlanks, "int", kBlanks);
  if (!cursor.literal("=")) return std::nullopt;
  const auto value = product(cursor);
  return cursor.literal("#") ? value : std::nullopt;
}

struct TokenBatch {
  std::optional<std::int64_t> tokens;  ///< of one step of the job
  std::optional<std::int64_t> length, micro, world;
  /// nanoGPT divides its gradient_accumulation_steps by the processes, where older ones of it do
  /// not: the accumulation that the log states is not that of one GPU.
  bool of_all_processes = false;
  std::int64_t source_line = 0;  ///< of the printed source that states the batch; 0 = none

  /// "batch_size B=4 * seq_len T=1024 * num_processes=1 and total_batch_size=4096"       (llm.c)
  void read_product(const Line& line) {
    std::int64_t sequences = 0, each = 0, processes = 0, total = 0;
    if (!Cursor(line).read("batch_size B=", sequences, " * seq_len T=", each,
                           " * num_processes=", processes, " and total_batch_size=", total)) {
      return;
    }
    const auto [least, most] = std::minmax({sequences, each, processes, total});
    if (least < 1 || most >= kSizeLimit) return;
    micro = sequences;
    length = each;
    world = processes;
    tokens = total;
  }

  /// "train_batch_tokens:524288 train_seq_len:1024 ..."                          (parameter-golf)
  void read_setting(const Line& line) {
    if (line.at > 0 && !line.text.starts_with("iterations:")) return;
    tokens = size_after(line, "train_batch_tokens:");
    length = size_after(line, "train_seq_len:");
    // parameter-golf's trainer for MLX, which has one process, prints the length on another line.
    const auto microbatch = size_after(line, "microbatch_tokens:");
    const auto sequences = size_after(line, "microbatch_batch_size:");
    if (length || !microbatch || !sequences || *microbatch % *sequences != 0) return;
    length = *microbatch / *sequences;
    micro = sequences;
    world = 1;
  }

  /// "Tokens / micro-batch / rank: 32 x 2048 = 65,536",
  /// "Total batch size 524,288 => gradient accumulation steps: 1"                     (nanochat)
  /// The processes are what the batch holds of them, each with as many backward passes a step.
  void read_nanochat(const Line& line) {
    Cursor cursor(line);
    std::int64_t sequences = 0, each = 0, passes = 0;
    if (cursor.read(kTokensOfRank, sequences, " x ", each)) {
      if (std::min(sequences, each) < 1 || std::max(sequences, each) >= kSizeLimit) return;
      micro = sequences;
      length = each;
      tokens = world = std::nullopt;
      return;
    }
    if (!micro || !length || !cursor.literal("Total batch size ")) return;
    const auto total = cursor.grouped_integer();
    if (!total || *total < 1 || !cursor.read(kAccumulatedBatch, passes) || passes < 1) return;
    const std::int64_t pass = *total / passes;
    if (*total % passes != 0 || pass % (*micro * *length) != 0) return;
    tokens = total;
    world = pass / (*micro * *length);
  }

  /// The source that modded-nanogpt prints before its lines: settings whose comments state what
  /// they count, the loader of its track 3, whose batch is one of tokens, and that of 2025, which
  /// gives each process one long sequence:
  ///   batch_size : int = 8*64 # batch size, in sequences, across all devices
  ///   train_seq_len = 48*1024 # FlexAttention sequence length
  ///   assert world_size == 8 # this code is designed for 8xH100
  ///   train_loader = distributed_data_generator(..., world_size * args.train_seq_len, ...
  void read_source(const Line& line) {
    if (const auto all = setting_of_source(line, "batch_size", kBatchOfAll)) {
      sequences_ = all;
      source_line = line.number;
    }
    if (const auto each = setting_of_source(line, "sequence_length", kLengthInTokens)) {
      length = each;
    }
    Cursor cursor(line);
    if (cursor.literal("def distributed_data_generator(") && cursor.skip_past(kLoaderOfTokens)) {
      std::int64_t each = 0;
      if (cursor.read(each, "):") && each >= 1 && each < kSizeLimit) length = loader_length_ = each;
    } else if (loader_length_ && cursor.literal("batch_size = ")) {
      const auto all = product(cursor);
      if (all && cursor.rest().empty()) {
        tokens = all;
        source_line = line.number;
      }
    }
    if (sequences_ && length) tokens = *sequences_ * *length;
    if (const auto each = setting_of_source(line, "train_seq_len", kFlexLength)) {
      process_length_ = each;
    }
    Cursor check(line);
    if (check.literal(kOneWorld)) processes_ = check.integer();
    if (line.text.starts_with("train_loader = ") && process_length_ && processes_ &&
        *processes_ >= 1 && *processes_ <= 1'000'000 && has(line, kEachItsLength)) {
      length = process_length_;
      world = processes_;
      micro = 1;
      tokens = *length * *world;
      source_line = line.number;
    }
  }

  void add_to(Facts& facts) const {
    facts.sequence_length.set(length, FactSource::log);
    facts.micro_batch_size.set(micro, FactSource::log);
    facts.world_size.set(world, FactSource::log);
    if (tokens && length && *tokens % *length == 0) {
      facts.global_batch_size.set(*tokens / *length, FactSource::log);
    }
  }

 private:
  std::optional<std::int64_t> sequences_;      ///< of one step of the job, as the source states
  std::optional<std::int64_t> loader_length_;  ///< of a loader whose batch is stated in tokens
  std::optional<std::int64_t> process_length_, processes_;  ///< of a sequence for each process
};

/// "step:1000/9536 train_loss:4.1 train_time:282155ms step_avg:285.01ms", what it states.
struct TimedStep {
  std::int64_t step = 0, planned = 0;
  double clock_s = 0;
  std::optional<double> loss;
  /// Steps that the clock is of by its own mean; 0 if that is no number of them.
  std::optional<double> covered;
};

std::optional<TimedStep> timed_step(const Line& line) {
  TimedStep out;
  Cursor cursor(line), clock(line);
  if (!cursor.read("step:", kBlanks, out.step, "/", kBlanks, out.planned) ||
      !clock.read(Past{"train_time:"}, out.clock_s) || !(out.clock_s >= 0)) {
    return std::nullopt;
  }
  if (clock.literal("ms")) {
    out.clock_s *= 1e-3;
  } else if (!clock.literal("s")) {
    return std::nullopt;
  }
  out.loss = number_after(line, "train_loss:");
  const auto mean = number_after(line, "step_avg:");
  if (mean) out.covered = *mean > 0 ? std::round(out.clock_s * 1000 / *mean) : 0;
  return out;
}

// Evaluations that stand after their run once more: a driver of several runs prints those of each
// log again (`grep val_loss`). They are no run of their own.
class RepeatedEvaluations {
 public:
  /// Whether the line of `step`, at `clock_s`, is an evaluation that was seen before with all its
  /// times; `newest` is the step of the line before. That of step 0 may as well be of a new run
  /// with the same seed: the line after it decides.
  [[nodiscard]] bool again(std::string_view text, std::int64_t step, double clock_s,
                           std::int64_t newest) {
    const bool evaluation = text.find(" val_loss:") != std::string_view::npos;
    const std::size_t line = evaluation ? std::hash<std::string_view>{}(text) : 0;
    const bool goes_back = step < newest;
    const bool repeated = evaluation && goes_back && evaluations_.contains(line);
    began_ = goes_back && !repeated ? start_ : std::nullopt;
    start_ = repeated && step == 0 ? std::optional(clock_s) : std::nullopt;
    if (evaluation && !repeated && evaluations_.size() < kEvaluationsHeld)
      evaluations_.insert(line);
    return repeated;
  }
  /// The clock of a step 0 before this line which did begin a run; nothing if none does.
  [[nodiscard]] std::optional<double> take_start() { return std::exchange(began_, std::nullopt); }

 private:
  static constexpr std::size_t kEvaluationsHeld = 10'000;
  std::unordered_set<std::size_t> evaluations_;
  std::optional<double> start_, began_;
};

constexpr Begin runs(bool own_facts) {
  return {.unit = IterationUnit::optimizer_step,
          .restart = Restart::back,
          .after_end = AfterEnd::reopens,
          .own_facts = own_facts};
}
constexpr Begin kRuns[] = {runs(false)};

struct Nanogpt {
  void begin(Emit emit) {
    emit(runs(batch.of_all_processes));
    newest = -1;
  }

  void put(const Step& at, Emit emit) {
    newest = at.step;
    emit(at);
  }

  [[nodiscard]] bool first(const Step& at) const { return newest < 0 || at.step < newest; }

  bool timed(const Line& line, Emit emit) {
    const auto timed = timed_step(line);
    if (!timed) return false;
    if (repeats.again(line.text, timed->step, timed->clock_s, clock_step)) return true;
    if (const auto start = repeats.take_start()) {
      begin(emit);
      clock_step = 0;
      clock_s = *start;
      base_s = 0;
    }
    if (timed->step == clock_step) {
      // The evaluation's line of a step that has its record: the clock since belongs to the next
      // one.
      emit(Statement{});
      return true;
    }
    if (timed->step < clock_step) {
      begin(emit);
      clock_step = -1;
      base_s = 0;
    }
    Step at{
        .step = timed->step, .loss = timed->loss, .clock = Clock{1e-3}, .planned = timed->planned};
    if (clock_step < 0) {
      begin_clock(*timed, at);
    } else {
      advance_clock(*timed, at);
    }
    at.time_s = base_s + timed->clock_s;
    clock_s = timed->clock_s;
    clock_step = at.step;
    if (at.step > 0) put(at, emit);  // at 0 nothing was trained yet: the clock's start
    return true;
  }

  static void begin_clock(const TimedStep& timed, Step& at) {
    at.iterations = std::max<std::int64_t>(1, at.step);
    if (at.step > 0) at.seconds = timed.clock_s;
    if (!timed.covered || at.step <= 1) return;
    // A log without its head: the mean shows how many steps the clock is of.
    if (*timed.covered >= 1 && *timed.covered <= static_cast<double>(at.step)) {
      at.iterations = static_cast<std::int64_t>(*timed.covered);
    } else {
      at.seconds = kUnknown;
    }
  }

  // If the clock was set back since the line before, the mean shows of how many steps it is.
  void advance_clock(const TimedStep& timed, Step& at) {
    const std::int64_t steps = at.step - clock_step;
    at.iterations = steps;
    if (timed.covered && *timed.covered >= 1 && *timed.covered < static_cast<double>(steps)) {
      base_s += clock_s;
      at.iterations = static_cast<std::int64_t>(*timed.covered);
      at.seconds = timed.clock_s;
    } else if (timed.clock_s >= clock_s) {
      at.seconds = timed.clock_s - clock_s;
    } else {
      base_s += clock_s;
      if (steps == 1) at.seconds = timed.clock_s;  // set back before this step
    }
  }

  bool iter(const Line& line, Emit emit) {
    Step at{.iterations = 1};
    double ms = 0;
    if (!Cursor(line).read("iter ", kBlanks, at.step, ": loss ", at.loss) ||
        !Cursor::after(line).read(ms, "ms")) {
      return false;
    }
    if (!first(at) && evaluated != at.step) at.seconds = ms / 1000;
    single = true;
    at.planned = max_iters;
    const std::int64_t stride = first(at) ? 1 : at.step - newest;
    at.last = max_iters && at.step + stride > *max_iters;  // the last line that it prints
    put(at, emit);
    return true;
  }

  // "step 250: train loss 2.5833, val loss 2.7931"
  bool evaluation(const Line& line) {
    std::int64_t step = 0;
    if (!has(line, "val loss ") || !Cursor(line).read("step ", kBlanks, step, ": train loss ")) {
      return false;
    }
    evaluated = step;
    return true;
  }

  template <std::optional<Step> (*read)(const Line&)>
  bool tokens(const Line& line, Emit emit) {
    auto at = read(line);
    if (!at) return false;
    if (!std::isnan(at->seconds)) at->iterations = 1;
    // llama2.c evaluates within the time of an iteration, as nanoGPT does.
    if (evaluated == at->step) at->seconds = kUnknown;
    single |= evaluated == at->step || line.text.starts_with("iter_dt ");
    if (!std::isnan(at->rate)) at->rate_unit = RateUnit::tokens_per_second;
    put(*at, emit);
    return true;
  }

  // A line prints the time of its own step; build-nanogpt's holds a validation that stands before
  // it.
  bool dt(const Line& line, Emit emit) {
    Cursor cursor(line);
    Step at{.iterations = 1};
    double time = 0;
    if (!cursor.read("step ", kBlanks, at.step)) return false;
    cursor.read("/", kBlanks, at.planned);
    if (cursor.literal(" (") && !cursor.skip_past("%)")) return false;
    if (!cursor.read(kBlanks, "| loss: ", at.loss, Past{"| dt: "}, time) || !(time > 0)) {
      return false;
    }
    const bool ms = cursor.literal("ms");
    if (!ms && !cursor.literal("s")) return false;
    if (!first(at) && !validated) {
      at.seconds = ms ? time / 1000 : time;
      if (cursor.skip_past("tok/sec: ") && line.terminator != 0) {
        at.rate = grouped_number(cursor.rest()).value_or(kUnknown);
        if (at.rate > 0) at.rate_unit = RateUnit::tokens_per_second;
      }
    }
    validated = false;
    single = true;
    put(at, emit);
    return true;
  }

  // Losses and no time: llm.c's main.log, "s:250 trl:6.1166 lr:0.000215 norm:0.74".
  bool loss(const Line& line, Emit emit) {
    Step at;
    if (!Cursor(line).read("s:", kBlanks, at.step, " trl:", at.loss)) return false;
    timeless = true;
    put(at, emit);
    return true;
  }

  // Evaluations: "s:0 tel:11.0095" in it, "250 hella 0.2437" in build-nanogpt's log.txt.
  bool test(const Line& line, Emit emit) {
    Cursor cursor(line);
    Step at;
    double value = 0;
    const bool llmc = cursor.literal("s:");
    if (!cursor.read(kBlanks, at.step, llmc ? " tel:" : " hella ", value) ||
        (!llmc && !cursor.rest().empty())) {
      return false;
    }
    if (closes(at.step) && newest >= 0 && at.step > newest) {
      emit(End{});
    } else if (!llmc) {
      timeless = true;
      put(at, emit);
    }
    return true;
  }

  /// An evaluation off the distance that those before it keep: the trainers' very last.
  bool closes(std::int64_t step) {
    if (step < newest_test) first_test = -1;  // another run
    newest_test = step;
    if (first_test < 0) {
      first_test = step;
      period = 0;
    } else if (period == 0) {
      period = step - first_test;
    }
    return period > 0 && (step - first_test) % period != 0;
  }

  // llm.c's last words: the mean of all iterations but the first.
  bool mean(const Line& line, Emit emit) {
    double ms = 0;
    if (line.at > 0 || newest < 0 || !Cursor::after(line).read(ms, " ms")) return false;
    if (ms > 0) emit(Statement{.summary = Stated{1000 / ms, RateUnit::iterations_per_second}});
    emit(End{});
    return true;
  }

  bool end(const Line& line, Emit emit) {
    if (line.at > 0 || newest < 0) return false;
    emit(End{});
    return true;
  }

  template <void (TokenBatch::*read)(const Line&)>
  void batch_of(const Line& line) {
    (batch.*read)(line);
  }

  void tokens_of_iteration(const Line& line, Emit emit) {
    const auto total = Cursor::after(line).grouped_integer();
    if (line.at > 0 || !total || *total < 1 || *total > Cursor::kMostCount) return;
    batch.tokens = total;
    if (!std::exchange(batch.of_all_processes, true)) begin(emit);
    emit(Launched{});
  }

  // nanoGPT's file of settings, which is printed first, and what the command line sets over it.
  static std::optional<std::int64_t> setting(const Line& line) {
    const auto before = line.text.substr(0, line.at);
    return before.empty() || before == "Overriding: " ? size_here(line) : std::nullopt;
  }
  void set_iterations(const Line& line) {
    if (const auto value = setting(line)) max_iters = value;
  }
  void set_length(const Line& line) {
    if (const auto value = setting(line)) batch.length = value;
  }

  void facts(Facts& facts) const { batch.add_to(facts); }

  void finish(Emit emit) {
    if (batch.source_line > 0) {
      emit(Note{make_notice(NoticeCode::batch_from_source, batch.source_line), kEveryTrack,
                Of::all});
    }
    if (single) {
      emit.note(NoticeCode::rate_of_single_iterations,
                "the time of a line, never the first or one that evaluates,");
    }
    if (timeless) emit.note(NoticeCode::no_rate_in_log, "losses only");
  }

  TokenBatch batch;
  std::optional<std::int64_t> max_iters;  ///< nanoGPT's configuration, which runs print
  std::int64_t newest = -1;               ///< step of the open run
  std::int64_t evaluated = -1;            ///< iteration before which an evaluation stood
  std::int64_t clock_step = -1;
  double clock_s = 0, base_s = 0;  ///< train_time of the line before; of the clocks before
  std::int64_t first_test = -1, newest_test = -1, period = 0;  ///< of lines without a time
  RepeatedEvaluations repeats;  ///< evaluations of this run and those before
  bool single = false, timeless = false;
  bool validated = false;  ///< a validation stood before the next line
};

constexpr Row kRows[] = {
    on<&Nanogpt::timed>(" step_avg:"),
    on<&Nanogpt::iter>(", time "),
    on<&Nanogpt::evaluation>(": train loss "),
    on<&Nanogpt::tokens<in_columns>>(" | loss "),
    on<&Nanogpt::tokens<in_brackets>>(": train loss "),
    on<&Nanogpt::tokens<in_brackets>>(" | train loss "),
    on<&Nanogpt::tokens<after_its_time>>("iter_dt "),
    on<&Nanogpt::tokens<without_time>>(" | loss "),
    on<&Nanogpt::validated>("validation loss: "),
    on<&Nanogpt::dt>(" | dt: "),
    on<&Nanogpt::loss>(" trl:"),
    on<&Nanogpt::test>(" tel:"),
    on<&Nanogpt::test>(" hella "),
    on<&Nanogpt::mean>("total average iteration time: "),
    // Of parameter-golf's own limit, of nanochat's and autoresearch's closing summaries.
    on<&Nanogpt::end>("stopping_early:"),
    on<&Nanogpt::end>("Total training time"),
    on<&Nanogpt::end>("training_seconds: "),
    on<&Nanogpt::set_iterations>("max_iters = "),
    on<&Nanogpt::set_length>("block_size = "),
    on<&Nanogpt::tokens_of_iteration>("tokens per iteration will be: "),
    on<&Nanogpt::batch_of<&TokenBatch::read_product>>("* seq_len T="),
    on<&Nanogpt::batch_of<&TokenBatch::read_setting>>("train_batch_tokens:"),
    on<&Nanogpt::batch_of<&TokenBatch::read_nanochat>>(kTokensOfRank),
    on<&Nanogpt::batch_of<&TokenBatch::read_nanochat>>(kAccumulatedBatch),
    on<&Nanogpt::batch_of<&TokenBatch::read_source>>(kBatchOfAll),
    on<&Nanogpt::batch_of<&TokenBatch::read_source>>(kLengthInTokens),
    on<&Nanogpt::batch_of<&TokenBatch::read_source>>(kFlexLength),
    on<&Nanogpt::batch_of<&TokenBatch::read_source>>(kOneWorld),
    on<&Nanogpt::batch_of<&TokenBatch::read_source>>(kEachItsLength),
    on<&Nanogpt::batch_of<&TokenBatch::read_source>>(kLoaderOfTokens),
    on<&Nanogpt::batch_of<&TokenBatch::read_source>>(" * 64 * 1024"),
};

}  // namespace

extern const Format entry{
    .name = "nanogpt",
    .title = "nanoGPT, llm.c, modded-nanogpt",
    .reference =
        "https://github.com/karpathy/nanoGPT train.py; https://github.com/karpathy/llm.c "
        "train_gpt2.cu",
    .table = table_of<Nanogpt>(kRows, kRuns)};

}  // namespace bertbench::format_nanogpt
