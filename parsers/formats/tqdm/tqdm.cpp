// tqdm: progress bars of PyTorch trainers, above all NVIDIA's BERT (DeepLearningExamples) and the
// Hugging Face Trainer, with the lines that stand between their bars.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/assemble/closing_lines.h"
#include "parsers/assemble/run_builder.h"
#include "parsers/core/facts.h"
#include "parsers/core/line.h"
#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/formats/tqdm/tqdm_bar.h"
#include "parsers/lines/cursor.h"

namespace bertbench::format_tqdm {
namespace {

// BarLeaps: bars of resumed runs, which leap from 0 to where the run goes on.

/// A resumed run draws its bar at 0 and then leaps: the rate that the bar smooths, its mean and the
/// Hugging Face Trainer's closing rates hold the leap
/// (quoted/tqdm.takes_no_printed_rate_of_a_bar_that_leaps_to_where_the_run_goes_on:
/// --resume_from_checkpoint).
class BarLeaps {
 public:
  /// What a bar remembers of its first redraw beyond 0, if that may be a leap.
  struct First {
    std::int64_t done = 0;
    double elapsed_s = 0;
    double rate = 0;       ///< iterations/s as printed
    bool goes_on = false;  ///< more redraws of the same second: batches are skipped one by one
  };
  /// A line that states at which step the run goes on: the Trainer's "Continuing training from
  /// global step 50".
  void read_resumed(std::string_view text) {
    Cursor cursor(text, false);
    if (cursor.skip_past("global step ")) resumed_at_ = cursor.grouped_integer().value_or(0);
  }
  /// A redraw beyond 0; `fresh` if it is the first one of a bar that was drawn at 0 before.
  void see(bool fresh, const TqdmBar& bar, RunDraft* draft, std::int64_t line, First& first) {
    // Steps of a leap: fewer may be the first updates of a fast loop; the rate of the first second
    // needs more, as 52 of transformers 4.12 resumed at 50
    // (quoted/tqdm.sees_a_short_leap_by_the_rate_of_the_first_second).
    constexpr std::int64_t kFirstUpdates = 10, kLaterUpdates = 20;
    if (resumed_at_ > 0 && draft != nullptr && draft->count() == 0 && bar.done >= resumed_at_ &&
        bar.total > resumed_at_) {
      add({draft, resumed_at_, line, false});
      resumed_at_ = 0;
    }
    // "600/1000 [00:00<?, ?it/s]": tqdm(initial=600), whose rates are right
    // (quoted/tqdm.counts_the_total_of_a_resumed_bar_from_where_it_begins.2).
    if (!fresh && bar.elapsed_s == 0 && std::isnan(bar.rate) && draft != nullptr &&
        draft->count() == 0) {
      add({draft, bar.done, line, true});
      return;
    }
    if (fresh) {
      if (bar.done >= kFirstUpdates) first = {bar.done, bar.elapsed_s, bar.rate};
      return;
    }
    if (first.done == 0 || bar.done <= first.done) return;
    const auto before = static_cast<double>(first.done);
    const auto steps = static_cast<double>(bar.done - first.done);
    const double seconds = bar.elapsed_s - first.elapsed_s;
    // In the first second the elapsed time shows nothing, but the printed rate is finer. Five times
    // the pace after it is a leap.
    const double sure_rate = before / std::max(first.elapsed_s, 1.0);
    const double printed_rate =
        first.elapsed_s <= 1 && first.done >= kLaterUpdates ? first.rate : 0;
    const double after = 5 * steps / seconds;
    const bool fast = seconds >= 1 && (sure_rate > after || printed_rate > after);
    // Where many batches were skipped one by one, the run goes on somewhere before this redraw
    // (1440 batches/s and then 1.2 of quoted/tqdm.leaves_out_the_batches_that_a_resumed_run_skips).
    if (fast) add({draft, first.goes_on ? bar.done : first.done, line, false});
    first.goes_on = first.goes_on || (2 * steps >= before && bar.rate > 0.8 * first.rate);
    if (seconds >= 1) first = {};
  }

  /// Takes what holds a leap out of the runs, with a notice; a total counts from where they begin.
  void conclude() {
    for (const Leap& leap : leaps_) {
      RunLog& log = leap.draft->log;
      const Record* last = leap.draft->last();
      if (last != nullptr && last->step > leap.to) {
        Totals& totals = log.totals;
        totals.iterations = last->step - leap.to;
        const auto& records = leap.draft->records();
        const auto landed = std::ranges::find(records, leap.to, &Record::step);
        const double since = landed != records.end() ? landed->time_s : 0;
        if (!totals.training_s && !totals.wall_s && last->time_s > since) {
          totals.training_s = last->time_s - since;
        }
      }
      leap.draft->begin_at(leap.to);
      if (leap.drawn) continue;
      log.rate_unit = RateUnit::unknown;
      log.summary.reset();
      log.note(NoticeCode::bar_leaps, leap.line, leap.to);
    }
  }

 private:
  struct Leap {
    RunDraft* draft = nullptr;
    std::int64_t to = 0, line = 0;
    bool drawn = false;  ///< the bar was first drawn there
  };
  void add(const Leap& leap) {
    constexpr std::size_t kMostLeaps = 64;  // hostile input
    const bool known =
        std::ranges::any_of(leaps_, [&](const Leap& other) { return other.draft == leap.draft; });
    if (leap.draft != nullptr && !known && leaps_.size() < kMostLeaps) leaps_.push_back(leap);
  }

  std::vector<Leap> leaps_;
  std::int64_t resumed_at_ = 0;  ///< of the run whose bar did not come yet
};

// StatedEvaluations: the time of evaluations while the bar of a training stands.

/// The Hugging Face Trainer prints what an evaluation took (eval_runtime) before its bar of
/// training goes on, whose elapsed time holds it
/// (quoted/tqdm.takes_the_evaluations_that_the_trainer_times_off_the_clock).
class StatedEvaluations {
 public:
  void see(const Line& line) {
    if (ClosingLines::runtime_of_dict(line)) {
      if (!closed_) began_s_ = std::exchange(ended_s_, total_s_);
      closed_ = true;  // a last evaluation of what was trained is not within it
      return;
    }
    const auto seconds = closed_ ? std::nullopt : TrainerChecks::seconds_of_evaluation(line);
    if (!seconds || line.text == last_) return;
    last_ = std::string(line.text);  // each process may print it
    total_s_ += *seconds;
  }
  void begin_session() { closed_ = false; }
  /// Of all so far.
  [[nodiscard]] double total_s() const { return total_s_; }
  /// Of those before the training that the newest ones are of.
  [[nodiscard]] double before_session_s() const { return closed_ ? began_s_ : ended_s_; }

 private:
  double total_s_ = 0;
  double began_s_ = 0,
         ended_s_ = 0;   ///< total at the end of the last training but one, of the last
  bool closed_ = false;  ///< the runtime of the training was stated
  std::string last_;
};

// The literals of tqdm's lines, and what each means for a line.

enum Kind : std::uint32_t {
  kPerSecond = 1,     ///< "it/s"
  kPerIteration = 2,  ///< "s/it"
  kOtherUnit = 4,     ///< of a bar whose unit has a name
  kProgress = 8,      ///< bing_bert's line of a step
  kStepLine = 16,     ///< NVIDIA's, or that
  kTimer = 32,        ///< DeepSpeed's timer, whose lines have a clock and a format of their own
  kLosses = 64,       ///< a loss on a line of its own
  kTrainer = 128,     ///< Hugging Face's Trainer prints it while it runs
  kClosing = 256,     ///< a statement on the whole run
  kResumed = 512,     ///< at which step the Trainer goes on
  kPlan = 1024,
  kStopped = 2048,      ///< Lightning's last line
  kFailures = 4096,     ///< after such a line a bar that had not ended begins in another run
  kEpochLine = 8192,    ///< may state that an epoch begins
  kOptimizer = 16384,   ///< a library prints it where an optimizer is made or steps
  kTorch7 = 32768,      ///< a bar of torch7's
  kRewards = 65536,     ///< of an agent that learns
  kLossLine = 131072,   ///< a loss, perhaps with the step that it is of
  kRuntime = 262144,    ///< of an evaluation within a training, where it names an epoch
  kNameAbove = 524288,  ///< perhaps the name of the bar on the next line
};
constexpr std::uint32_t kBars = kPerSecond | kPerIteration;
/// Nothing more is to be done.
constexpr std::uint32_t kPlain = kBars | kEpochLine | kLossLine | kNameAbove;

struct Literal {
  std::string_view text;
  std::uint32_t kinds;
};
constexpr Literal kLiterals[] = {
    {"it/s", kPerSecond},
    {": 100%", kNameAbove},
    {"s/it", kPerIteration},
    {"batch/s", kOtherUnit},
    {"batches/s", kOtherUnit},
    {"steps/s", kOtherUnit},
    {"s/step", kOtherUnit},
    {"iter/s", kOtherUnit},
    {"example/s", kOtherUnit},
    {"examples/s", kOtherUnit},
    {"s/example", kOtherUnit},
    {"sample/s", kOtherUnit},
    {"samples/s", kOtherUnit},
    {"s/sample", kOtherUnit},
    {"img/s", kOtherUnit},
    {"s/img", kOtherUnit},
    {"imgs/s", kOtherUnit},
    {"images/s", kOtherUnit},
    {"ex/s", kOtherUnit},
    {"epoch/s", kOtherUnit},
    {"ep/s", kOtherUnit},  // also "step/s"
    {"episodes/s", kOtherUnit},
    {"s/ep", kOtherUnit},  // also "s/epoch" and "s/episode"
    {"ba/s", kOtherUnit},
    {"s/ba", kOtherUnit},  // also "s/batch"
    {"seq/s", kOtherUnit},
    {"seqs/s", kOtherUnit},
    {"sequences/s", kOtherUnit},
    {"sentences/s", kOtherUnit},
    {"Average Loss = ", kStepLine},
    {"Total Steps:", kStepLine},
    {"bing_bert_progress: step=", kStepLine | kProgress},
    {"SamplesPerSec=", kTimer},
    {": Loss ", kLosses},
    {"step_loss : ", kLosses},
    {"{'loss':", kLosses | kTrainer},
    {"\"loss\": ", kLosses},
    {"***** Running training", kTrainer},
    {"TrainingArguments", kTrainer},
    {", in _inner_training_loop", kTrainer},
    {"train/global_step", kTrainer},
    {"_runtime':", kRuntime | kClosing},
    {"train_runtime", kClosing},
    {"train_samples_per_second", kClosing},
    {"train_steps_per_second ", kClosing},
    {"training throughput", kClosing},
    {"Total time taken", kClosing},
    {"training_sequences_per_second", kClosing},
    {"real\t", kClosing},
    {"avg_throughput: ", kClosing},
    {" samples/sec, TFLOPS per GPU", kClosing},
    {"Continuing training from global step ", kResumed},
    {"Resuming training from checkpoint with epoch ", kResumed},
    {"Total optimization steps = ", kPlan},
    {"`Trainer.fit` stopped: `max_", kStopped},
    {"Epoch ", kEpochLine},
    {"Epoch: ", kEpochLine},
    {"EPOCH ", kEpochLine},
    {"epoch [", kEpochLine},
    {"轮训练", kEpochLine},
    {"tart training", kEpochLine},
    {"tarting ", kEpochLine},
    {"开始训练", kEpochLine},
    {"rain loss", kEpochLine},
    {"rain Loss", kEpochLine},
    {"rain_loss", kEpochLine},
    {"raining loss", kEpochLine},
    {"raining Loss", kEpochLine},
    {"Losses", kEpochLine},
    {"loss:", kLossLine},
    {"Loss:", kLossLine},
    {"loss : ", kLossLine},
    {"Loss : ", kLossLine},
    {"loss = ", kLossLine},
    {"Loss = ", kLossLine},
    {"_loss ", kLossLine},
    {"loss': ", kLossLine},
    {"reward=", kRewards},
    {"total_timesteps ", kRewards},
    {" | Tot: ", kTorch7},
    {"]  Tot: ", kTorch7},
    // transformers, torch.optim.lr_scheduler and torch.amp warn.
    {"implementation of AdamW is deprecated", kOptimizer},
    {"call of `lr_scheduler.step()`", kOptimizer},
    {"amp.GradScaler(", kOptimizer},
    {"Traceback (most recent", kFailures},
    {"CANCELLED AT", kFailures},
};

constexpr auto kAnchors = literals_of(kLiterals, &Literal::text);

/// What the literals on the line show of it.
inline std::uint32_t kinds_of(const Line& line) {
  std::uint32_t kinds = 0;
  any_row(line, [&](std::uint32_t row, std::size_t) {
    kinds |= kLiterals[row].kinds;
    return false;
  });
  return kinds;
}

// StepLines: "Step:7032 Average Loss = 1.457 Step Loss = 1.617 LR 0.006" of NVIDIA's BERT and
// "bing_bert_progress: step=5, loss=7.63, lr=7.9e-08, sample_count=80" of DeepSpeed's bing_bert.

/// Both scripts print such a line in each optimizer step (or every log_freq of them), while the bar
/// counts micro-steps: the records between two lines become one
/// (quoted/tqdm.keeps_first_and_last_redraw_of_each_optimizer_step_of_the_notebook). The line
/// stands before the bar moves, and the loop is left within the last step: the bar never shows that
/// one.
class StepLines {
 public:
  /// True when the line is one; `run` is the one whose bar moved last, if any.
  bool see(const Line& line, RunDraft* run) {
    const auto printed = read(line);
    if (!printed) return false;
    if (!printed->loss) return true;
    const std::int64_t step = printed->step;
    const double loss = *printed->loss;
    if (first_step_ == 0) first_step_ = step;
    if (run == nullptr || run->last() == nullptr) return true;
    run->log.iteration_unit = IterationUnit::micro_step;
    const std::int64_t counter = run->last()->step;
    if (step == last_step_) return true;  // another rank's copy
    // The counter of another bar shows nothing of this one's records: in a damaged log
    // (mutation_test) a redraw that lost its head took 17 of 29 records out of a run.
    if (joined_ == nullptr || joined_ == run) run->join_records_after(joined_up_to_);
    joined_ = run;
    if (last_step_ > 0) last_interval_ = step - last_step_;
    if (joined_up_to_ == 0) {
      first_marked_step_ = step;
      first_marked_counter_ = counter;
    }
    joined_up_to_ = counter;
    last_marked_step_ = step;
    last_step_ = step;
    run->set_loss(loss, line.number);
    return true;
  }

  /// The end of the run: its optimizer steps, and the accumulation where the counters show it.
  void conclude(RunDraft& run, Facts& facts) const {
    if (joined_ == &run) run.join_records_after(joined_up_to_);
    if (last_step_ > 0 && last_step_ >= first_step_) {
      Totals& totals = run.log.totals;
      totals.optimizer_steps = last_step_ - first_step_ + std::max<std::int64_t>(1, last_interval_);
      totals.last_optimizer_step = last_step_;
      totals.first_optimizer_step = last_step_ - *totals.optimizer_steps;
    }
    if (batch_ > 0) facts.global_batch_size.set(batch_, FactSource::log);
    const auto each = per_step();
    facts.gradient_accumulation_steps.set(each, FactSource::log);
    // The steps that the bar is short of, where both count from the same one on.
    const std::int64_t micro = last_step_ * each.value_or(1);
    const std::int64_t printed = std::max<std::int64_t>(1, last_interval_) * each.value_or(1);
    if (run.last() != nullptr && joined_ == &run && micro > run.last()->step &&
        micro - run.last()->step <= printed) {
      run.reached = micro;
    }
  }

 private:
  struct Printed {
    std::int64_t step = 0;
    std::optional<double> loss;  ///< absent where the line was cut by the end of input
  };
  std::optional<Printed> read(const Line& line) {
    Cursor cursor(line);
    Printed out;
    std::int64_t samples = 0;
    if (cursor.read(Past{"bing_bert_progress: step="}, out.step, ", loss=")) {
      if (out.step < 1) return std::nullopt;
      out.loss = cursor.number();
      if (cursor.read(Past{", sample_count="}, samples)) read_samples(out.step, samples);
      return out;
    }
    double all = 0;  // "Total Steps:300.0 Final Loss = 7.53"
    if (cursor.read(Past{"Total Steps:"}, all, Past{" Final Loss ="}) && all >= 1 && all < 1e12) {
      out.step = last_step_ = std::max(last_step_, static_cast<std::int64_t>(all));
      return out;
    }
    if (!cursor.read(Past{"Step:"}, kBlanks, out.step, kBlanks, "Average Loss = ")) {
      return std::nullopt;
    }
    out.loss = cursor.number();
    if (out.loss && cursor.skip_past("Step Loss = ")) {
      out.loss = cursor.number().value_or(*out.loss);
    }
    return out;
  }

  // bing_bert counts the sequences of all ranks.
  void read_samples(std::int64_t step, std::int64_t samples) {
    if (step <= last_step_ || samples < 1 || batch_ < 0) return;
    const std::int64_t more = samples - samples_, steps = step - last_step_;
    samples_ = samples;
    const bool whole = more > 0 && more % steps == 0;
    const std::int64_t each = whole ? more / steps : -1;
    batch_ = batch_ == 0 || batch_ == each ? each : -1;
  }

  // Micro-steps per optimizer step, where the log does not state them: the bar may lag by a redraw,
  // so only a ratio that is whole within 1 % over five steps or more counts.
  [[nodiscard]] std::optional<std::int64_t> per_step() const {
    const std::int64_t steps = last_marked_step_ - first_marked_step_;
    if (first_marked_step_ <= 0 || steps < 5) return std::nullopt;
    const double ratio =
        static_cast<double>(joined_up_to_ - first_marked_counter_) / static_cast<double>(steps);
    const double whole = std::round(ratio);
    if (whole < 1 || std::abs(ratio - whole) > 0.01 * whole) return std::nullopt;
    return std::llround(whole);
  }

  std::int64_t joined_up_to_ = 0;     ///< counter at the last such line
  const RunDraft* joined_ = nullptr;  ///< whose counter that is
  std::int64_t last_step_ = 0, first_step_ = 0, last_interval_ = 0;
  std::int64_t first_marked_step_ = 0, first_marked_counter_ = 0;  ///< at the first such line
  std::int64_t last_marked_step_ = 0;                              ///< at the newest one
  std::int64_t samples_ = 0;                                       ///< newest sample_count
  std::int64_t batch_ = 0;  ///< sequences a step, 0 = not known, -1 = it changed
};

// BarUnits: what follows for a run whose bar counts something else than plain iterations.

/// A bar of examples ("128.00 examples/s") gives sequences/s, of the process that draws it
/// (quoted/tqdm.gives_the_rate_of_a_bar_of_examples_as_sequences_and_says_whose); one with
/// unit_scale rounds its counter ("3.20k/100k").
class BarUnits {
 public:
  void see(const TqdmBar& bar, int rank, RunDraft& draft) {
    if (!bar.counts_examples && !bar.rounded) return;
    Seen& of = seen_.try_emplace(&draft, Seen{rank}).first->second;
    of.several_ranks |= rank != of.rank;
    of.examples |= bar.counts_examples;
    of.rounded |= bar.rounded;
    if (!bar.counts_examples) return;
    draft.log.rate_unit = RateUnit::sequences_per_second;
    draft.own_facts = true;  // no batch: an example is one sequence
  }

  void conclude() {
    for (const auto& [draft, seen] : seen_) {
      RunLog& log = draft->log;
      if (seen.examples) {
        if (seen.several_ranks) log.rate_unit = RateUnit::unknown;
        log.note(
            seen.several_ranks ? NoticeCode::bar_of_several_ranks : NoticeCode::bar_of_one_process,
            0);
      }
      if (seen.rounded) log.note(NoticeCode::counter_rounded, 0);
    }
  }

 private:
  struct Seen {
    int rank = -1;
    bool several_ranks = false, examples = false, rounded = false;
  };
  std::map<RunDraft*, Seen> seen_;  ///< drafts of such bars only
};

// Track: a progress bar over all its restarts.

/// The bar of one description (of one total, if unnamed) and rank, over all its restarts.
struct Track {
  RunDraft* draft = nullptr;
  std::optional<std::size_t> unnamed{};  ///< its bar's number in UnnamedBars
  std::int64_t base = 0;                 ///< iterations of the bars that ended
  double base_s = 0;                     ///< their seconds
  std::int64_t done = 0;                 ///< of the bar that runs now
  double elapsed_s = 0;
  double rate = kUnknown;                ///< of its newest redraw
  double reached_s = 0;                  ///< elapsed when it first stood at `done`
  std::string reached_name;              ///< its description then
  std::optional<double> reached_loss{};  ///< likewise
  BarTimes times;                        ///< of the bar that runs now
  /// Drawn at 0 with a rate: its counter began at -1, as in Lightning before 1.5, and its rates
  /// count one iteration too many (1.4.9:
  /// quoted/tqdm.takes_the_rates_of_lightnings_first_releases_for_one_batch_less).
  bool one_ahead = false;
  bool showed_loss = false;  ///< then whether it is Lightning's was decided
  std::int64_t total = 0;
  std::int64_t moved_at = 0;   ///< newest line that shows more of it done
  bool progressed = false;     ///< some bar of this track got beyond 0
  std::int64_t created = 0;    ///< bars drawn at 0
  std::int64_t per_start = 0;  ///< ranks that draw the same bar without a label
  std::int64_t starts = 1;     ///< generations begun
  std::int64_t epoch = -1;     ///< in its name, if any
  bool of_epochs = true;       ///< its counter followed the epoch in its name: 1 at "Epoch 0"
  BarLeaps::First first;
  bool only_ends = true;          ///< no redraw below its total
  bool first_step = false;        ///< its newest bar stood at 0 when the first step was taken
  std::int64_t outer_at_end = 0;  ///< where the bar around it stood
  std::int64_t ends = 1;          ///< bars of which nothing but the end is kept
  /// Seconds of all stated evaluations at its newest redraw; NaN before its first one.
  double evaluated_s = kUnknown;
  double off_s = 0;  ///< of those that were taken off the clock
};

/// A copy of a terminal, such as wandb's output.log, keeps a bar's last redraw only. True when this
/// one, after one at its total, is of the next epoch's bar: its clock is another, or the bar around
/// it went on (quoted/tqdm.counts_the_bars_of_which_a_terminal_kept_the_ends_only). The Hugging
/// Face Trainer's bar, without name and loss, is drawn once more when all is saved: that is the
/// same (quoted/tqdm.does_not_take_a_bar_that_is_closed_later_for_another), and so is one with the
/// epoch of the one before in its name, which Lightning draws once more after its callbacks
/// (quoted/tqdm.a_bar_of_an_epoch_that_is_closed_later).
inline bool is_next_end(const Track& track, const TqdmBar& bar, std::int64_t epoch, bool named,
                        std::int64_t outer_done) {
  // Ranks end together: within 2 s or 2 % of the bar's time.
  constexpr double kEndGapSeconds = 2, kEndGapShare = 0.02;
  if (!track.only_ends || track.created > 0 || track.draft == nullptr || bar.total == 0) {
    return false;
  }
  if (bar.drawn_once && track.done == bar.total) return true;
  const double later = bar.elapsed_s - track.elapsed_s;
  if (later < -std::max(kEndGapSeconds, kEndGapShare * track.elapsed_s)) return true;
  if (track.done != bar.total || bar.done != bar.total || !(named || bar.loss)) return false;
  const bool same_epoch = epoch >= 0 && epoch == track.epoch;
  return outer_done > track.outer_at_end ||
         (!same_epoch && later > std::max(kEndGapSeconds, kEndGapShare * track.elapsed_s));
}

inline void fill_ends(const Track& track, RunDraft& draft) {
  if (track.ends < 2) return;
  draft.log.note(NoticeCode::bars_one_after_other, 0, track.ends);
}

/// The bar stands where it stood, at its end or under another description: a model is saved before
/// it is closed, a loop that accumulates gradients sets the description in each micro-step, late
/// into the next step, or one that sets its loss before it goes on by ten steps. The clock of what
/// was done is that of the first redraw
/// (quoted/tqdm.a_description_that_changes_within_a_step: llama-cookbook,
/// quoted/tqdm.a_loss_that_is_set_before_the_bar_goes_on).
inline bool stands_still(Track& track, const TqdmBar& bar) {
  constexpr double kStepsApart = 0.1;  // share of a step: redraws of several ranks are nearer
  constexpr double kSecondsApart = 2;  // the clock shows whole seconds
  if (track.draft == nullptr || bar.done != track.done) {
    track.reached_s = bar.elapsed_s;
    track.reached_name = bar.description;
    track.reached_loss = bar.loss;
    return false;
  }

  const double late = bar.elapsed_s - track.reached_s;
  const bool changed =
      bar.description != track.reached_name || (bar.loss && bar.loss != track.reached_loss);
  return late >= kSecondsApart && late * bar.rate > kStepsApart &&
         (changed || bar.done == bar.total);
}

/// How long a bar ran that has ended. Its elapsed field is cut to whole seconds; where its last
/// redraw shows the mean rate, as tqdm's does when a bar is closed, that gives them finer (tqdm
/// 4.70: 18.1 s where the bars show 17,
/// quoted/tqdm.times_epochs_that_have_ended_by_their_closing_means).
struct Ended {
  double seconds = 0, error = 1;
};

inline Ended seconds_of(const Track& track) {
  const double by_rate = (static_cast<double>(track.done) + (track.one_ahead ? 1 : 0)) / track.rate;
  if (!(track.rate > 0) || std::floor(by_rate) != std::floor(track.elapsed_s)) {
    return {track.elapsed_s, 1};
  }
  // "5.20it/s", "3.10s/it", but "97 it/s" of rich
  const bool of_rich = track.rate >= kLeastRateOfRich && std::floor(track.rate) == track.rate;
  const double rounding = of_rich ? 0.5 : 0.005;
  return {by_rate, by_rate * rounding / std::max(track.rate, 1 / track.rate)};
}

// EpochBars: the bar around the loops, which counts their epochs.

/// Where a log has no other bar of a training and no lines of one, the epochs are all that it shows
/// ("Epochs: 3/20 [00:21<01:59, 7.01s/it, loss=0.96]" of scripts, also without a loss, "Epoch 3/20:
/// 3/20" of scvi-tools: quoted/tqdm.epochs_alone).
class EpochBars {
 public:
  void see(const TqdmBar& bar, const Line& line, RunBuilder& out) {
    constexpr int kMostStarts = 64;  // hostile input
    if (bar.done < 1) return;
    const Record* last = run_ != nullptr ? run_->last() : nullptr;
    if (last == nullptr || 2 * bar.done < last->step) {
      if (starts_ == kMostStarts) return;
      ++starts_;
      run_ = &out.extra(WorkKind::training, line.number);
      run_->discard = true;
      run_->set_origin(0);
      run_->log.rate_unit = RateUnit::iterations_per_second;
      run_->log.iteration_unit = IterationUnit::epoch;
      run_->log.clock_resolution_s = 1;
      line_ = line.number;
    }
    Sample sample = sample_on(line);
    sample.step = bar.done;
    sample.time_s = bar.elapsed_s;
    sample.rate = bar.rate;
    sample.loss = bar.loss;
    run_->add(sample);
    if (bar.total > 0) run_->log.planned = bar.total;
  }

  /// Hands the newest bar's run on, where no other training was found.
  void conclude(RunBuilder& out) {
    const auto is_training = [](const auto& draft) {
      return !draft->discard && draft->log.kind == WorkKind::training;
    };
    if (run_ == nullptr || std::ranges::any_of(out.drafts(), [&](const auto& draft) {
          return is_training(draft) && (draft->count() > 0 || draft->log.summary);
        })) {
      return;
    }
    // What an empty run states, that no bar was taken, is no longer so.
    for (const auto& draft : out.drafts()) draft->discard = draft->discard || is_training(draft);
    run_->discard = false;
    run_->unproven = true;
    run_->log.note(NoticeCode::iterations_are_epochs, 0);
    run_->log.note(NoticeCode::unproven_bar_taken, line_, starts_,
                   "it counts epochs, and nothing finer is counted");
  }

 private:
  RunDraft* run_ = nullptr;  ///< discarded until then
  std::int64_t line_ = 0;    ///< of its first redraw
  int starts_ = 0;
};

// UnnamedBars: progress bars without a description may be training, evaluation or a mere loop
// (tokenizing, downloading). Which one is training is known only at the end of the log.

// Moves to the first bar what was stated about its copy.
void inherit(RunDraft& first, const RunDraft& copy) {
  Totals& totals = first.log.totals;
  const Totals& stated = copy.log.totals;
  if (!stated.training_s && !stated.wall_s && !copy.log.summary) return;
  if (!first.log.summary) first.log.summary = copy.log.summary;
  if (!totals.training_s) totals.training_s = stated.training_s;
  if (!totals.wall_s) totals.wall_s = stated.wall_s;
  first.ended_well = first.ended_well || copy.ended_well;
  const auto& notices = copy.log.notices;
  first.log.notices.insert(first.log.notices.end(), notices.begin(), notices.end());
}

void count_epochs(RunDraft& draft) {
  draft.log.iteration_unit = IterationUnit::epoch;
  draft.log.note(NoticeCode::iterations_are_epochs, 0);
}

/// A bar that something is written over at regular steps: tqdm.write() clears the bar, writes, and
/// draws it again unchanged. The Hugging Face Trainer does so every logging_steps, and the redraws
/// show it where what it wrote went to another file
/// (quoted/tqdm.knows_the_trainers_bar_by_what_is_written_over_it).
class RepeatedRedraws {
 public:
  /// A redraw of the bar, copies of the one before included.
  void see(const TqdmBar& bar) {
    if (!undecided()) return;
    const bool same = bar.done == done_ && bar.elapsed_s == elapsed_s_ && bar.rate == rate_;
    done_ = bar.done;
    elapsed_s_ = bar.elapsed_s;
    rate_ = bar.rate;
    if (!same) {
      copies_ = 0;
      return;
    }
    // tqdm draws any bar twice when it is closed.
    if (bar.done <= 0 || bar.done >= bar.total) return;
    if (++copies_ > 1) {  // ranks that draw it together
      refuted_ = true;
      return;
    }
    if (bar.done == at_) return;
    const std::int64_t apart = bar.done - at_;
    if (times_ == 1) {
      every_ = apart;
      refuted_ = every_ < 2 || at_ % every_ != 0;
    } else if (times_ > 1) {
      refuted_ = apart != every_;
    }
    ++times_;
    at_ = bar.done;
  }
  /// The steps between two writings, once they were the same several times, else 0.
  [[nodiscard]] std::int64_t every() const {
    return times_ >= kRepeatsForARule && !refuted_ ? every_ : 0;
  }
  /// Another redraw may still decide.
  [[nodiscard]] bool undecided() const { return !refuted_ && times_ < kRepeatsForARule; }

 private:
  static constexpr int kRepeatsForARule = 3;     ///< writings: two distances that agree
  std::int64_t done_ = -1, at_ = 0, every_ = 0;  ///< newest redraw; newest one that was repeated
  double elapsed_s_ = kUnknown, rate_ = kUnknown;
  int copies_ = 0, times_ = 0;
  bool refuted_ = false;
};

/// A bar at 0 after which, on its line, stands what the first step of a training writes: a
/// tokenizer's remark that it pads a batch, gradient checkpointing's, an optimizer's
/// (quoted/tqdm.knows_the_trainers_bar_by_what_the_first_step_writes_after_it). The Hugging Face
/// Trainer draws its bar of training so, that of an evaluation after the first prediction only.
bool takes_first_step(const TqdmBar& bar, std::string_view text) {
  // transformers' fast tokenizers, its models under gradient checkpointing, its count of FLOPs, and
  // apex.amp; files of PyTorch and transformers that warn.
  constexpr std::string_view kRemarks[] = {
      "You're using a ",  // "... BertTokenizerFast tokenizer. Please note that ..."
      "`use_cache=True` is incompatible with ", "Could not estimate the number of tokens of ",
      "Gradient overflow."};
  constexpr std::string_view kFiles[] = {"torch/utils/checkpoint.py:", "torch/optim/",
                                         "optimization.py:"};
  constexpr std::size_t kTextAfterABar = 300;  // bytes: the path of the file that warns
  if (bar.done != 0 || bar.end >= text.size()) return false;
  const std::string_view after_bar = text.substr(bar.end, kTextAfterABar);
  return std::ranges::any_of(kRemarks, [&](auto what) { return after_bar.starts_with(what); }) ||
         std::ranges::any_of(kFiles,
                             [&](auto file) { return after_bar.find(file) != after_bar.npos; });
}

class UnnamedBars {
 public:
  static constexpr std::size_t kMax = 4096;  ///< hostile input: a new bar on every line

  [[nodiscard]] bool full() const { return bars_.size() >= kMax; }
  /// `first_step`: it stood at 0 when the first step was taken, see takes_first_step().
  /// `values`: its name is values that may be losses, see BarName. Returns the bar's number.
  std::size_t add(RunDraft& draft, const TqdmBar& bar, std::int64_t line, bool first_step,
                  bool values) {
    bars_.push_back({.draft = &draft,
                     .total = bar.total,
                     .has_loss = bar.loss.has_value(),
                     .line = line,
                     .first_step = first_step,
                     .values = values,
                     .announced = std::exchange(announced_, false),
                     .drawn_once = bar.drawn_once});
    return bars_.size() - 1;
  }
  /// A line announces a training: the next bar is of it.
  void announce(bool begins) { announced_ = begins; }
  /// A line that a library prints where an optimizer is made or steps: the program trains
  /// (quoted/tqdm.the_only_loop_of_a_program_that_makes_an_optimizer).
  void note_optimizer() { optimizer_ = true; }
  /// A redraw of the bar of this number, `elapsed_s` after the first of it began. False while a
  /// copy of it could still decide something: whether the bar was written over.
  bool update(std::size_t number, const TqdmBar& redraw, double elapsed_s, std::int64_t line) {
    ++lines_of_bars_;
    bar_line_ = line;
    newest_ = number;
    Bar& bar = bars_[number];
    // A bar that has ended shows its mean rate, and so its time below whole seconds.
    const double by_rate = static_cast<double>(redraw.done) / redraw.rate;
    const bool ended = redraw.done == redraw.total && std::floor(by_rate) == elapsed_s;
    bar.elapsed_s = std::max(bar.elapsed_s, ended ? by_rate : elapsed_s);
    bar.has_loss |= redraw.loss.has_value();
    if (loss_line_ && redraw.done != bar.done) {  // tqdm.write() draws the bar again as it stood
      take_count(bar, *loss_line_, bar.done - 1, redraw.done + 1);
      loss_line_.reset();
    }
    bar.done = redraw.done;
    bar.written.see(redraw);
    return !bar.written.undecided();
  }
  /// A bar counts epochs around these.
  void note_epochs() { within_epochs_ = true; }
  /// A line with a loss, which may count the steps of the newest bar
  /// (quoted/tqdm.lines_with_a_loss_count_its_steps): a loop of few steps a second prints between
  /// two redraws, a fast one many steps after the newest.
  void note_loss_line(const LossLine& line) {
    if (newest_ >= bars_.size()) return;
    Bar& bar = bars_[newest_];
    loss_line_.reset();
    if (!take_count(bar, line, bar.done - 1, bar.done + 1)) loss_line_ = line;
  }
  /// A line with a loss of the training, before the newest bar is drawn again: one that goes on
  /// through several of them is of the training (quoted/tqdm.lines_with_a_loss_while_a_bar_runs),
  /// or through several validations with many steps between them
  /// (quoted/tqdm.validations_while_a_bar_runs).
  void note_loss(bool of_validation) {
    constexpr std::int64_t kStepsToValidation = 10;  // fewer may be parts of what is evaluated
    if (newest_ >= bars_.size()) return;
    Bar& bar = bars_[newest_];
    if (bar.done <= bar.loss_at || bar.done >= bar.total) return;
    if (!of_validation || bar.done - bar.loss_at >= kStepsToValidation) ++bar.losses;
    bar.loss_at = bar.done;
  }
  /// No bar was drawn that such a line could count.
  [[nodiscard]] bool empty() const { return bars_.empty(); }
  /// An agent has been trained for so many steps.
  void note_agent(std::int64_t step) {
    if (step == agent_step_) return;
    agent_times_ = step > agent_step_ ? agent_times_ + 1 : 1;
    agent_step_ = step;
  }
  /// A line states the result of an epoch. Where it is the loss, and hardly a line but bars stands
  /// since such a line before, the longest of them may be of its training: other lines may be its
  /// steps (quoted/tqdm.a_bar_before_the_loss_of_its_epoch). `epochs`: of how many it is, or -1; a
  /// bar of that total counts them. The result of a validation shows which of two bars is the
  /// training's (quoted/tqdm.a_bar_before_that_of_the_validation).
  void note_epoch_result(bool loss, std::int64_t epochs, std::int64_t line) {
    // Lines: a blank one, a rule, scores, "saved"; the loop of corpus
    // pytorch-plain/kaggle_deberta_elapsed_remain.log prints its steps, more than these.
    constexpr std::int64_t kOtherLines = 8;
    if (epochs > 0) epochs_ = epochs;
    const auto since = std::span(bars_).subspan(before_result_);
    const std::int64_t others = line - result_line_ - lines_of_bars_ - 1;
    before_result_ = bars_.size();
    result_line_ = line;
    lines_of_bars_ = 0;
    // It comes within or after the second bar: the first, longer by steps and time, trains.
    if (!loss && since.size() == 2 && since[0].total > since[1].total &&
        since[0].elapsed_s > since[1].elapsed_s) {
      since[0].of_epoch = true;
    }
    if (!loss || since.empty() || others > kOtherLines) return;
    std::ranges::max_element(since, {}, &Bar::elapsed_s)->of_epoch = true;
  }
  /// A line states the result of an epoch, whatever that is. A bar over all epochs has then done a
  /// whole part of its total, and the next part at the next such line: ">>> Epoch 0:
  /// Perplexity: 12.1" of loops after Hugging Face's course
  /// (quoted/tqdm.a_bar_that_goes_on_through_the_epochs).
  void note_epoch_within() {
    // Of an epoch: what a fast loop does after its newest redraw, before the line is printed.
    constexpr double kMissedByTheRedraw = 0.05;
    if (newest_ >= bars_.size()) return;
    Bar& bar = bars_[newest_];
    if (bar.done <= bar.epoch_result_at) return;
    bar.epoch_result_at = bar.done;
    const double share = static_cast<double>(bar.done) / static_cast<double>(bar.total);
    if (bar.epoch_results == 0) bar.epochs_that_fit = std::round(1 / share);
    const double ended = share * bar.epochs_that_fit;
    const auto next = static_cast<double>(bar.epoch_results + 1);
    const bool fits = bar.epochs_that_fit > 1 && std::abs(ended - next) < kMissedByTheRedraw;
    bar.epoch_results = fits ? bar.epoch_results + 1 : 0;
  }
  /// Such a line followed the newest redraw.
  [[nodiscard]] bool epoch_ended() const { return result_line_ > bar_line_; }
  /// A redraw of a bar whose name does not mean training and that shows no loss.
  void note_other(const TqdmBar& bar, std::int64_t line) {
    if (!(bar.elapsed_s > longest_other_.elapsed_s)) return;
    longest_other_.elapsed_s = bar.elapsed_s;
    longest_other_.line = line;
    longest_other_.name = bar.description;
  }

  /// Of the bars that began after `line`, the one that ran longest: what is stated about a run is
  /// about its training, though an evaluation may have drawn since.
  [[nodiscard]] RunDraft* longest_since(std::int64_t line) const {
    const Bar* longest = nullptr;
    for (const Bar& bar : bars_) {
      if (bar.line <= line) continue;
      if (longest == nullptr || bar.elapsed_s > longest->elapsed_s) longest = &bar;
    }
    return longest != nullptr ? longest->draft : nullptr;
  }

  /// Discards the drafts that are not training. `trainer`: lines of the Hugging Face Trainer were
  /// seen, such as the "train/global_step" of wandb's summary in corpus
  /// huggingface/trl_sge_stderr.log; `named`: another bar is training by its name. Returns the last
  /// training draft, null if none was taken, which a notice of an empty run then states.
  RunDraft* choose(bool trainer, bool named, RunBuilder& out) {
    discard_copies();
    std::vector<Bar*> left;
    for (Bar& bar : bars_) {
      if (!bar.draft->discard) left.push_back(&bar);
    }
    if (left.empty()) {
      report_other(out);
      return nullptr;
    }
    for (const Bar* bar : left) bar->draft->discard = true;  // whichever is none of training
    if (named) return nullptr;
    Bar* longest = *std::ranges::max_element(
        left, {}, [](const Bar* bar) { return std::pair(bar->elapsed_s, bar->draft->count()); });
    bool sure = trainer || longest->has_loss, reported = false;
    const auto take = [&](Bar* bar) {
      if (bar == nullptr) return;
      longest = bar;
      sure = true;
    };
    const Bar* of_one_epoch = nullptr;  // its end may not be that of the training
    if (Bar* first = by_first_step(left, *longest)) {
      const bool other = first != longest;
      reported = other || !sure;
      if (reported) report_first_step(*first, other);
      take(first);
    }
    if (!sure) {
      Bar* bar = of_epochs(left);
      of_one_epoch = bar;
      take(bar == nullptr || bar->total == epochs_ ? counts_epochs(left) : bar);
    }
    if (!sure) take(counted_by_lines(left));
    if (!sure) take(written_over(left));
    // A sweep measures a training, and who makes an optimizer trains: a log with one loop of bars
    // has no other.
    const bool one_loop =
        std::ranges::all_of(left, [&](const Bar* bar) { return bar->total == longest->total; });
    const bool measured = out.of_training && one_loop, optimizer = optimizer_ && one_loop;
    // What an agent is trained for up to the end of a bar is what that counts.
    constexpr std::int64_t kAgentTimes = 2;  // lines: one alone may be of any loop
    const bool agent = one_loop && agent_times_ >= kAgentTimes && agent_step_ <= longest->total;
    // Loops over data or of one test have a bar of each length.
    const bool repeats = std::ranges::count(bars_, longest->total, &Bar::total) > 1;
    const bool torch7 = longest->drawn_once && repeats;
    const bool inner = within_epochs_ && repeats;
    const auto announced =
        std::ranges::find(left, true, [](const Bar* bar) { return bar->announced; });
    constexpr std::int64_t kLosses = 3;  // places: a bar of data may have one before or after it
    const auto around = std::ranges::max_element(left, {}, &Bar::losses);
    const bool with_losses = (*around)->losses >= kLosses;
    constexpr std::int64_t kEpochResults = 2;  // at one alone any bar may have done a part
    const auto through = std::ranges::max_element(left, {}, &Bar::epoch_results);
    const bool with_epochs = (*through)->epoch_results >= kEpochResults;
    if (!sure) {
      longest = announced != left.end() ? *announced
                : with_losses           ? *around
                : with_epochs           ? *through
                                        : longest;
    }
    const char* const why = out.asked_for        ? "this format was asked for"
                            : longest->announced ? "a line before it announces a training"
                            : longest->values    ? "its name is values that may be losses"
                            : with_losses        ? "lines with a loss are printed while it runs"
                            : with_epochs        ? "it goes on through the results of epochs"
                            : optimizer          ? "the program made an optimizer"
                            : torch7             ? "a bar of torch7's, it comes again each epoch"
                            : inner              ? "it comes again within a bar of epochs"
                            : agent              ? "lines about an agent count its steps"
                            : measured           ? "a sweep measures this program"
                                                 : nullptr;
    if (!sure && why == nullptr) {
      report_none(*left.front(), *left.back(), out);
      return nullptr;
    }
    if (!sure) {
      longest->draft->unproven = !out.asked_for && !longest->values && !longest->announced;
      longest->draft->log.note(NoticeCode::unproven_bar_taken, longest->line, left.size(), why);
    } else if (left.size() > 1 && !reported) {
      longest->draft->log.note(NoticeCode::longest_unnamed_bar_taken, longest->line, left.size());
    }
    RunDraft* chosen = nullptr;
    for (Bar* bar : left) {
      RunDraft& draft = *bar->draft;
      // The Trainer trains several times in one process (folds, seeds) with bars of equal length,
      // or states the runtime of each
      // (quoted/tqdm.gives_each_training_of_one_log_its_own_closing_statement).
      const bool again = bar->total == longest->total || draft.log.summary.has_value();
      if (bar != longest && !(trainer && again)) continue;
      draft.discard = false;
      if (trainer) draft.log.iteration_unit = IterationUnit::optimizer_step;
      const bool goes_on = bar == of_one_epoch && !draft.ended_well;
      const bool several_epochs = draft.last() != nullptr && draft.last()->step > bar->total;
      if (bar->total > 0 && !goes_on && !several_epochs) draft.log.planned = bar->total;
      chosen = &draft;
    }
    return chosen;
  }

 private:
  struct Bar {
    RunDraft* draft = nullptr;
    std::int64_t total = 0;
    double elapsed_s = 0;
    bool has_loss = false;  ///< in its postfix
    std::int64_t line = 0;
    bool first_step = false;
    RepeatedRedraws written{};
    bool of_epoch = false;    ///< the longest between two lines with losses of epochs
    bool values = false;      ///< its name is values that may be losses
    bool announced = false;   ///< it is the first after a line that announces a training
    bool drawn_once = false;  ///< TqdmBar::drawn_once
    std::int64_t done = 0;    ///< at its newest redraw
    /// Lines with a loss that counted its steps, the newest such count, and whether of epochs.
    std::int64_t counts = 0, counted = -1;
    bool counts_epochs = false;
    /// Results of epochs that were printed while it ran, each when it had done one more of the
    /// epochs that fit in its total, and the newest place at which one was.
    std::int64_t epoch_results = 0, epoch_result_at = 0;
    double epochs_that_fit = 0;
    /// Places at which a loss was printed while it ran, and the newest of them.
    std::int64_t losses = 0, loss_at = 0;
  };
  /// The longest bar for which `is` holds; null if there is none.
  template <class Is>
  static Bar* longest_of(const std::vector<Bar*>& left, Is is) {
    Bar* longest = nullptr;
    for (Bar* bar : left) {
      if (!is(*bar)) continue;
      if (longest == nullptr || bar->elapsed_s > longest->elapsed_s) longest = bar;
    }
    return longest;
  }
  /// The longest bar after which a line stated the loss of its epoch, and of an epoch with a bar of
  /// that length before or after it, which may not have ended: of several epochs the one whose time
  /// is in the middle. Null if there is none. It ends as the newest of them.
  /// Before the first such line a bar of the data may be the longest, 5000 steps before 60 a time
  /// (quoted/tqdm.a_bar_before_the_loss_of_its_epoch); of a training there are more.
  Bar* of_epochs(const std::vector<Bar*>& left) const {
    Bar* longest = longest_of(left, [&](const Bar& bar) {
      if (!bar.of_epoch) return false;
      std::size_t like = 0;
      for (std::size_t i = 0; i < bars_.size(); ++i) {
        const bool of_epoch = bars_[i].of_epoch || i >= before_result_;
        like += of_epoch && bars_[i].total == bar.total ? 1 : 0;
      }
      return like >= 2 || left.size() == 1;
    });
    if (longest == nullptr) return nullptr;
    const Bar* newest = nullptr;
    std::vector<Bar*> epochs;  // the longest of them is the slowest
    for (Bar* bar : left) {
      if (bar->total != longest->total) continue;
      newest = bar;
      if (bar->of_epoch) epochs.push_back(bar);
    }
    const auto middle = epochs.begin() + static_cast<std::ptrdiff_t>(epochs.size() / 2);
    std::ranges::nth_element(epochs, middle, {}, &Bar::elapsed_s);
    longest = *middle;
    longest->draft->ended_well = newest->draft->ended_well;
    longest->draft->last_line = newest->draft->last_line;
    return longest;
  }
  /// Whether the line counts a step of the bar, from `from` to `to`.
  static bool take_count(Bar& bar, const LossLine& line, std::int64_t from, std::int64_t to) {
    const auto number = std::ranges::find_if(line.numbers, [&](std::int64_t n) {
      return n >= from && n <= to && n > bar.counted && n <= bar.total;
    });
    if (number == line.numbers.end()) return false;
    bar.counted = *number;
    bar.counts_epochs = line.epochs && number == line.numbers.begin();
    ++bar.counts;
    return true;
  }
  /// The longest bar whose steps lines with a loss counted; null if there is none.
  static Bar* counted_by_lines(const std::vector<Bar*>& left) {
    constexpr std::int64_t kCounts = 3;  // lines: two numbers may agree by chance
    Bar* longest = longest_of(left, [](const Bar& bar) { return bar.counts >= kCounts; });
    if (longest != nullptr && longest->counts_epochs) count_epochs(*longest->draft);
    return longest;
  }
  /// Ranks without labels, whose output was written one after the other (corpus
  /// huggingface/bigscience_hf_ds_base_n16.log): the same counters at the same seconds. Only the
  /// first copy stays. Bars of a few seconds may be alike by chance.
  void discard_copies() {
    constexpr double kShortestCopy_s = 10;
    for (std::size_t i = 0; i < bars_.size(); ++i) {
      RunDraft& first = *bars_[i].draft;
      if (first.discard || bars_[i].elapsed_s < kShortestCopy_s) continue;
      std::int64_t copies = 0;
      for (std::size_t k = i + 1; k < bars_.size(); ++k) {
        RunDraft& other = *bars_[k].draft;
        if (other.discard || bars_[k].total != bars_[i].total) continue;
        const bool same = std::ranges::equal(
            first.records(), other.records(), [](const Record& a, const Record& b) {
              return a.step == b.step && std::abs(a.time_s - b.time_s) <= 1;
            });
        if (!same) continue;
        other.discard = true;
        inherit(first, other);
        ++copies;
        first.last_line = std::max(first.last_line, other.last_line);
      }
      if (copies > 0) first.log.note(NoticeCode::bars_of_ranks, 0, copies + 1);
    }
  }
  /// A log whose only long bar has a name of its own ("SFT", "Distil") may be that of a training
  /// (quoted/tqdm.says_that_a_long_bar_of_another_name_was_not_taken).
  void report_other(RunBuilder& out) const {
    constexpr double kEvidenceSeconds = 30;  // a shorter bar may be of any loop
    constexpr std::size_t kShownBytes = 60;  // bytes of the notice
    if (longest_other_.elapsed_s < kEvidenceSeconds || !out.drafts().empty()) return;
    const std::int64_t line = longest_other_.line;
    out.extra(WorkKind::training, line)
        .log.note(NoticeCode::no_bar_of_training, line, longest_other_.name.substr(0, kShownBytes));
  }
  /// The bar that is of training where one stood at 0 when the first step was taken, else null.
  /// A process writes such a remark once, so of several trainings only the first has the sign (.8
  /// of the logs at takes_first_step). A longer bar without it is another training, or, where the
  /// one with it never ended, an evaluation in which the log was cut (.7).
  static Bar* by_first_step(const std::vector<Bar*>& left, const Bar& longest) {
    Bar* found = longest_of(left, [](const Bar& bar) { return bar.first_step; });
    if (found == nullptr || found == &longest) return found;
    const Record* last = found->draft->last();
    const bool ended = last == nullptr || last->step >= found->total;
    return ended || longest.line < found->line ? nullptr : found;
  }
  static void report_first_step(const Bar& first, bool other) {
    first.draft->log.note(
        NoticeCode::unnamed_bar_before_first_step, first.line,
        other ? "; a longer one began before it ended, as an evaluation does" : "");
  }
  /// The longest bar that something was written over, with a notice; null if there is none.
  /// A bar without a name is any loop (tokenizing, downloading) until some line shows a training
  /// (quoted/tqdm.takes_a_loop_without_a_name_for_training_only_on_evidence).
  static Bar* written_over(const std::vector<Bar*>& left) {
    Bar* written = longest_of(left, [](const Bar& bar) { return bar.written.every() > 0; });
    if (written == nullptr) return nullptr;
    written->draft->log.note(NoticeCode::unnamed_bar_written_over, written->line,
                             written->written.every());
    return written;
  }
  static void report_none(const Bar& first, const Bar& newest, RunBuilder& out) {
    for (const auto& draft : out.drafts()) {
      if (!draft->discard) return;
    }
    RunDraft& run = out.extra(WorkKind::training, first.line);
    run.log.note(NoticeCode::no_unnamed_bar_taken, first.line);
    // Whatever loop the newest bar is of, it was not done: the tail of a fine-tuning's standard
    // error at 58190/125000.
    const Record* last = newest.draft->last();
    if (last == nullptr || last->step >= newest.total) return;
    run.last_line = last->line;
    run.stated_outcome = Outcome{Status::truncated,
                                 std::nullopt,
                                 last->line,
                                 {make_notice(NoticeCode::no_closing_statement, 0)}};
  }
  /// The bar that counts the epochs whose results lines state, where no bar of their batches was
  /// taken. It may come after all the lines: standard error after a file of standard output
  /// (quoted/tqdm.a_bar_of_the_epochs_of_the_lines).
  Bar* counts_epochs(const std::vector<Bar*>& left) const {
    const auto bar = std::ranges::find_if(
        left, [&](const Bar* one) { return epochs_ > 1 && one->total == epochs_; });
    if (bar == left.end()) return nullptr;
    count_epochs(*(*bar)->draft);
    return *bar;
  }

  std::vector<Bar> bars_;
  std::int64_t epochs_ = -1;
  std::size_t before_result_ = 0;   ///< bars up to the newest result of an epoch
  std::int64_t result_line_ = 0;    ///< where that stands
  std::int64_t bar_line_ = 0;       ///< newest line with a bar
  std::int64_t lines_of_bars_ = 0;  ///< since the newest result of an epoch
  struct Other {
    std::string name;
    double elapsed_s = 0;
    std::int64_t line = 0;
  };
  Other longest_other_;
  bool announced_ = false;  ///< a training, and no bar was drawn since
  bool optimizer_ = false, within_epochs_ = false;
  std::optional<LossLine> loss_line_;  ///< since the newest redraw, of a step after that
  std::size_t newest_ = 0;             ///< of bars_: redrawn last
  std::int64_t agent_step_ = 0;        ///< newest up to which an agent was trained
  std::int64_t agent_times_ = 0;       ///< lines whose steps grew up to that
};

/// The run gets what was stated of it.
void give(Closing&& closing, RunDraft& run) {
  RunLog& log = run.log;
  if (closing.summary) log.summary = closing.summary;
  auto& batch = log.facts.global_batch_size;
  if (closing.batch && !batch.known()) batch.set(*closing.batch, FactSource::log);
  if (closing.totals.training_s) log.totals.training_s = closing.totals.training_s;
  if (closing.totals.wall_s) log.totals.wall_s = closing.totals.wall_s;
  run.ended_well = run.ended_well || closing.ended;
  run.last_line = std::max(run.last_line, closing.line);
  std::ranges::move(closing.notices, std::back_inserter(log.notices));
}

// "Eval num_timesteps=20000, episode_reward=-85.00 +/- 3.05" of stable-baselines3 and the like,
// "[eval @ 100,000] reward= +147.00", "|    total_timesteps | 20000    |": the step of the
// training.
std::optional<std::int64_t> agent_trained_to(std::string_view text) {
  auto word = text.npos;
  for (const auto name : {"total_timesteps", "Eval", "eval"})
    word = std::min(word, text.find(name));
  const auto digit = text.find_first_of("0123456789", word);
  if (digit == text.npos) return std::nullopt;
  return Cursor(text.substr(digit), false).grouped_integer();
}

constexpr std::size_t kMaxTracks = 4096;  // hostile input: a new description on every line

class TqdmParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override {
    asked_for_ = out.asked_for;
    const std::uint32_t kinds = kinds_of(line);
    const auto any = [&](std::uint32_t of) { return (kinds & of) != 0; };
    constexpr std::uint32_t kOthers = ~kPlain;
    if (any(kLossLine)) unnamed_.announce(false);  // it has begun, with lines
    if (kinds == kLossLine && unnamed_.empty()) return false;
    find_bars(line.text, {any(kPerSecond), any(kPerIteration), any(kOthers)}, bars_);
    name_by_line_above(line, any(kNameAbove));
    if (any(kTorch7) && bars_.empty()) {
      if (const auto bar = find_torch7_bar(line.text)) add_torch7(*bar);
    }
    if (any(kEpochLine) && bars_.empty()) read_epoch(line.text);
    if (any(kEpochLine) || (any(kLossLine) && !unnamed_.empty())) {
      if (const auto result = epoch_result(after_bars(line.text))) {
        unnamed_.note_epoch_result(result->loss, result->epochs, line.number);
        if (result->numbered) unnamed_.note_epoch_within();
        if (result->loss) note_trained();
      }
    }
    const auto read_loss_line = [&] {
      if (!any(kLossLine) || unnamed_.empty()) return;
      const auto loss = loss_line(after_bars(line.text));
      if (!loss) return;
      if (!loss->numbers.empty()) unnamed_.note_loss_line(*loss);
      unnamed_.note_loss(loss->validation);
    };
    if (!any(kOthers)) {
      const bool of_bars = read_bars(line, out);
      read_loss_line();
      return of_bars;
    }

    settled_ = false;
    if (any(kFailures)) failed_at_ = line.number;
    if (any(kOptimizer)) unnamed_.note_optimizer();
    if (any(kRewards)) {
      if (const auto step = agent_trained_to(line.text)) unnamed_.note_agent(*step);
    }
    progress_lines_ |= any(kProgress);
    if (any(kTimer)) ++timer_lines_;
    if (any(kResumed)) leaps_.read_resumed(line.text);
    if (any(kPlan)) planned_steps_ = size_after(line, "Total optimization steps =");
    for (const TqdmBar& bar : bars_) read_bar(bar, line, out);
    bool known = !bars_.empty();
    if (any(kStepLine)) known |= steps_.see(line, newest_);
    read_loss_line();
    // The Trainer's closing statement shows what the bars before it were. Unsloth draws another one
    // after it, as it saves the model.
    const bool of_bar = !any(kClosing) || !tracks_.empty();
    const bool evaluated = any(kRuntime) && has(line, "'epoch':");
    if (any(kRuntime)) evaluations_.see(line);
    trainer_evidence_ |= (any(kTrainer) || evaluated) && of_bar;
    known |= any(kLosses) && read_loss(line);
    if (any(kStopped) && newest_ != nullptr) newest_->ended_well = true;
    if (any(kClosing) && closing_.unlike(line)) end_session(line.number);
    if (any(kClosing) && closing_.see(line)) {
      known = true;
      if (closing_.of_trainer() && of_bar) trainer_evidence_ = true;
      if (newest_ != nullptr) newest_->last_line = line.number;
    }
    return known;
  }
  [[nodiscard]] bool settled() const override { return settled_; }
  void finish(RunBuilder& out) override {
    discard_epochs();
    settle_closing(std::numeric_limits<std::int64_t>::max());
    constexpr std::int64_t kTimersForAClock = 2;  // DeepSpeed's lines: a clock needs two
    const bool progress = progress_lines_ && timer_lines_ < kTimersForAClock;
    if (epoch_.run != nullptr && timer_lines_ >= kTimersForAClock) {
      epoch_.run->discard = true;
      named_training_ = false;
    }
    RunDraft* chosen = unnamed_.choose(trainer_evidence_ || progress, named_training_, out);
    if (chosen != nullptr && progress) {  // bing_bert's counts what its data loader gives
      chosen->log.iteration_unit = IterationUnit::micro_step;
      chosen->log.planned.reset();  // which is more than the steps that are asked for
    }
    if (chosen != nullptr) newest_ = chosen;
    // A bar that was no training may have been drawn last: the statements are of the one that was.
    if (newest_ != nullptr && newest_->discard) newest_ = out.open(WorkKind::training);
    if (newest_ != nullptr && newest_->discard) newest_ = nullptr;
    if (newest_ == nullptr) return epochs_.conclude(out);
    RunDraft& draft = *newest_;
    steps_.conclude(draft, out.facts);
    for (const auto& [key, track] : tracks_) {
      if (track.draft == &draft) fill_ends(track, draft);
    }
    if (lightning1_ && out.open(WorkKind::evaluation) != nullptr) {
      draft.log.note(NoticeCode::time_includes, 0, "the bar of Lightning before 2.0",
                     "the batches of the validation");
    }
    if (const Record* last = draft.last(); last != nullptr && !std::isnan(last->time_s)) {
      // Seconds from which a step may be an epoch, steps up to which: "Training: 10/10
      // [12:30, 75.00s/it]" may count epochs
      // (quoted/tqdm.does_not_take_the_epochs_around_a_bar_without_a_name_for_its_iterations.3).
      constexpr double kEpochSeconds = 20, kMostEpochs = 100;
      const auto steps = static_cast<double>(last->step);
      draft.log.totals.iterations = last->step;
      if (!trainer_evidence_ && steps <= kMostEpochs && last->time_s >= kEpochSeconds * steps) {
        draft.log.note(NoticeCode::bar_may_count_epochs, last->line,
                       std::llround(last->time_s / steps));
      }
    }

    draft.log.clock_resolution_s += clock_error_;
    if (outer_.seen && outer_.total > 0) {
      draft.ended_well = outer_.done == outer_.total;
      const double seconds = static_cast<double>(outer_.done) / outer_.rate;
      // tqdm's last redraw shows the mean, others a smoothed rate: only the mean fits the elapsed
      // time. Of bars without a name one epoch's was taken
      // (quoted/tqdm.does_not_take_the_time_of_all_epochs_for_a_bar_without_a_name_of_one).
      if (draft.ended_well && chosen == nullptr && std::floor(seconds) == outer_.elapsed_s)
        draft.log.totals.training_s = seconds;
    }
    if (&draft != given_) give(closing_.take(), draft);
    leaps_.conclude();
    join_tail(draft);
    units_.conclude();
  }

 private:
  /// After a minute the bar shows whole seconds, and what it is given for its first step is less
  /// with each step: the clock would fall until the next second.
  void add_torch7(TqdmBar bar) {
    const bool goes_on = bar.total == torch7_.total && bar.done > torch7_.done;
    if (goes_on && bar.elapsed_s < torch7_.elapsed_s) bar.elapsed_s = torch7_.elapsed_s;
    torch7_ = {bar.total, bar.done, bar.elapsed_s};
    bars_.push_back(bar);
  }

  // The log has the tail of a bar alone, whose rates are far from the mean that the bar states at
  // its end, as where much of its time is in its last steps: the mean is of all of it.
  static void join_tail(RunDraft& draft) {
    constexpr double kMeanRateFactor = 2;  // times; less is how rates scatter
    const auto& records = draft.records();
    const bool leapt = draft.log.rate_unit == RateUnit::unknown;  // where the run was resumed
    if (records.size() < 2 || leapt) return;
    const Record& last = records.back();
    const double before = records[records.size() - 2].printed_rate / last.printed_rate;
    const bool is_tail = 2 * records.front().step > last.step && draft.log.planned == last.step;
    if (is_tail && std::max(before, 1 / before) >= kMeanRateFactor) draft.join_records_after(0);
  }
  /// What a description, rank and total lead to: redraws come one after the other.
  struct Known {
    std::string description;
    int rank = -1;
    std::int64_t total = 0;
    bool has_loss = false;
    BarName name;
    Track* track = nullptr;
  };

  void name_by_line_above(const Line& line, bool may_be_name) {
    if (bars_.empty()) {
      if (may_be_name) above_ = {std::string(name_above(line.text)), line.number};
    } else if (line.number == above_.line + 1 && bars_.front().description.empty()) {
      name_bar(bars_.front(), above_.name);
    }
  }

  // A redraw and nothing else is nearly every line.
  bool read_bars(const Line& line, RunBuilder& out) {
    decided_ = true;
    for (const TqdmBar& bar : bars_) read_bar(bar, line, out);
    settled_ = bars_.size() == 1 && bars_[0].done > 0 && decided_;  // bars drawn at 0 are counted
    if (bars_.empty()) return false;
    // Bars of fairseq: its format reads the sentences of an update from them.
    return !bars_[0].loss || line.text.find(", wpb=") == std::string_view::npos;
  }
  const Known& known_for(const TqdmBar& bar, int rank) {
    // A bar of another name ("Reformer") that shows a loss may be of training; without one it is
    // any loop (quoted/tqdm.takes_a_bar_of_another_name_for_training_when_it_shows_a_loss).
    const bool may_be_validation = known_ && trained_.epoch >= 0 &&
                                   known_->name.epoch == trained_.epoch &&
                                   known_->name.role == BarRole::training;
    if (known_ && !may_be_validation && known_->rank == rank && known_->total == bar.total &&
        known_->description == bar.description && known_->has_loss == bar.loss.has_value()) {
      return *known_;
    }
    Known found{.description = std::string(bar.description),
                .rank = rank,
                .total = bar.total,
                .has_loss = bar.loss.has_value(),
                .name = name_of(bar.description)};
    name_by_epoch(found.name, bar);
    BarRole& role = found.name.role;
    if (found.name.epoch != trained_.epoch) trained_.epoch = -1;
    // The bar of the training may be drawn once more, with what was measured.
    const bool begins = bar.done < bar.total || bar.elapsed_s < trained_.elapsed_s;
    if (role == BarRole::training && trained_.epoch >= 0 && begins) {
      role = BarRole::evaluation;
      found.name.key += "|evaluation";
    }
    if (role == BarRole::other &&
        (bar.loss || found.name.values || (asked_for_ && !found.name.of_data))) {
      role = BarRole::unnamed;
    }
    if (role != BarRole::outer && role != BarRole::other) {
      std::string key = std::to_string(rank) + '|' + found.name.key;
      if (role == BarRole::unnamed) key += '|' + std::to_string(bar.total);
      if (tracks_.contains(key) || tracks_.size() < kMaxTracks) found.track = &tracks_[key];
    }

    known_ = std::move(found);
    return *known_;
  }
  struct Outer {
    std::int64_t done = 0, total = 0;
    double elapsed_s = kUnknown, rate = kUnknown;
    bool seen = false;
  };

  void read_bar(const TqdmBar& bar, const Line& line, RunBuilder& out) {
    const Known& known = known_for(bar, line.rank);
    const BarRole role = known.name.role;
    // Examples without a name are those that a data set is made of (Hugging Face's datasets),
    // unless they have a loss.
    if (role == BarRole::unnamed && bar.counts_examples && !bar.loss) return;
    if (role == BarRole::outer || bar.counts_epochs ||
        known.name.counts_epochs(bar.done, bar.total)) {
      epochs_.see(bar, line, out);
      unnamed_.note_epochs();
      outer_ = {bar.done, bar.total, bar.elapsed_s, bar.rate, true};
      return;
    }
    if (role == BarRole::other || known.track == nullptr)
      return unnamed_.note_other(bar, line.number);
    Track& track = *known.track;
    if (role == BarRole::training) trained_.bar = &track;
    track.first_step |= takes_first_step(bar, line.text);
    if (start_over(known, bar, out)) return;
    if (role == BarRole::unnamed && track.draft == nullptr) {
      if (unnamed_.full()) return;
      settle_closing(line.number);
    }
    const bool fresh = !track.progressed && track.created > 0;
    track.progressed = true;
    track.epoch = known.name.epoch;
    track.of_epochs &= track.epoch >= 0 && std::abs(bar.done - track.epoch) <= 1;
    if (bar.done > track.done) track.moved_at = line.number;
    track.only_ends &= bar.done == bar.total;
    track.outer_at_end = outer_.done;
    const bool stands = stands_still(track, bar);
    const double took_s = bar.elapsed_s - track.elapsed_s;
    track.done = bar.done;
    track.elapsed_s = std::max(track.elapsed_s, bar.elapsed_s);
    track.rate = bar.rate;
    track.total = bar.total;
    RunDraft& draft = draft_for(track, role, bar, line, out);
    if (role != BarRole::evaluation) take_off_evaluations(track, took_s, line.number, draft);
    const double base_s = track.base_s - track.off_s;
    leaps_.see(fresh, bar, &draft, line.number, track.first);
    Sample sample = sample_on(line);
    sample.step = track.base + bar.done;
    // A batch must not multiply a counter of examples: such a bar has no clock.
    if (!bar.counts_examples && !stands) {
      // A bar of which the end alone is kept is as fine as its mean rate.
      const Ended at = track.only_ends ? seconds_of(track) : Ended{bar.elapsed_s, 1};
      sample.time_s = base_s + at.seconds;
      // The mean rate that its only redraw shows holds the evaluations.
      if (track.only_ends && track.off_s > 0 && draft.count() == 0) sample.seconds = sample.time_s;
      if (!bar.drawn_once) draft.log.clock_resolution_s = at.error;
    }
    if (bar.loss && !track.showed_loss) {  // Lightning's first redraws have no postfix
      track.showed_loss = true;
      const bool lightning = role == BarRole::training && of_lightning_1(bar, line);
      lightning1_ |= lightning;
      // The redraw at 0 may be lost: then the elapsed time fits one more only (.2 of the log at
      // Track::one_ahead).
      const auto fits = [&](double done) { return std::floor(done / bar.rate) == bar.elapsed_s; };
      const auto done = static_cast<double>(bar.done);
      track.one_ahead |= lightning && fits(done + 1) && !fits(done);
    }
    sample.rate = bar.rate;
    if (track.one_ahead) {
      const auto done = static_cast<double>(bar.done);
      sample.rate *= done / (done + 1);
    }
    if (!bar.counts_examples && !bar.rounded) {
      sample.bar_s = track.times.see(bar.done, sample.rate, bar.elapsed_s);
      for (float& s : sample.bar_s) s += static_cast<float>(base_s);
    }
    sample.loss = bar.loss;
    units_.see(bar, line.rank, draft);
    draft.add(sample);
    if (role == BarRole::unnamed) {
      decided_ = unnamed_.update(*track.unnamed, bar, track.base_s + track.elapsed_s, line.number);
    }
    draft.ended_well = bar.total > 0 && bar.done == bar.total &&
                       (draft.log.kind != WorkKind::training || of_last_epoch(known.name));
    if (draft.log.kind == WorkKind::training) newest_ = &draft;
  }
  /// `took_s`: what the bar's clock went on by since its redraw before. Evaluations that took
  /// longer were printed late, as where what is written goes through a buffer: they are not within
  /// it.
  void take_off_evaluations(Track& track, double took_s, std::int64_t line, RunDraft& draft) {
    constexpr double kWholeSecond_s = 1;  // both redraws show whole seconds
    const double before_s =
        std::isnan(track.evaluated_s) ? evaluations_.before_session_s() : track.evaluated_s;
    const double held_s = evaluations_.total_s() - before_s;
    track.evaluated_s = evaluations_.total_s();
    if (!(held_s > 0) || held_s > took_s + kWholeSecond_s) return;
    if (track.off_s == 0) draft.log.note(NoticeCode::evaluations_off_the_clock, 0);
    track.off_s += held_s;
    draft.log.leave_out(line, held_s);
  }
  // True when the redraw shows no progress: a new bar, or a rank that lags.
  bool start_over(const Known& known, const TqdmBar& bar, RunBuilder& out) {
    Track& track = *known.track;
    const BarRole role = known.name.role;
    if (bar.done == 0) {
      ++track.created;
      track.evaluated_s = evaluations_.total_s();
      evaluations_.begin_session();
      track.one_ahead |= bar.rate > 0;
      if (!track.progressed) {
        // Ranks step together: before the first step of any, each has drawn its bar
        // (quoted/tqdm.takes_the_bars_of_several_unlabelled_ranks_as_one_run).
        track.per_start = track.created;
        track.times.begin(0);
      } else if (track.created >= track.per_start * (track.starts + 1)) {
        next_generation(track, role, out);
        track.times.begin(0);
      }
      return true;
    }

    // Where few redraws are kept, the next epoch's first one may be as far on as the last one's
    // (quoted/tqdm.counts_every_epoch_where_only_its_last_redraw_is_kept: Lightning).
    const bool next_epoch =
        track.epoch >= 0 && known.name.epoch > track.epoch && bar.done <= track.done;
    const bool named = role == BarRole::training, unnamed = role == BarRole::unnamed;
    const bool next_end = !next_epoch && (named || unnamed) &&
                          is_next_end(track, bar, known.name.epoch, named, outer_.done);
    if (next_end && named) ++track.ends;
    // "437it [09:29,  1.30s/it]" of each epoch, whose total is not known.
    const bool next_endless =
        unnamed && bar.total == 0 && bar.done == track.done && unnamed_.epoch_ended();
    const bool back = bar.done < track.done;
    const bool over = back && track.draft != nullptr && stated_for(*track.draft);
    // A new bar is at less than half of the old one's counter and at an earlier second; another
    // redraw is of a rank that lags (quoted/tqdm.lets_a_rank_that_lags_behind_not_start_a_run).
    const bool earlier = bar.elapsed_s + 1 < track.elapsed_s || track.elapsed_s <= 1;
    const bool begins =
        next_epoch || next_end || next_endless || over || (bar.done * 2 < track.done && earlier);
    if (begins) next_generation(track, role, out);
    return back && !begins;
  }
  // What was stated before a new bar is about the run that was drawn since the statement before
  // (quoted/tqdm.gives_each_training_of_one_log_its_own_closing_statement).
  RunDraft* settle_closing(std::int64_t line, bool of_session = false) {
    RunDraft* run = named_training_ ? nullptr : unnamed_.longest_since(settled_at_);
    if (run == nullptr || !(of_session || stated_for(*run))) return nullptr;
    give(closing_.take(), *run);
    settled_at_ = line - 1;
    return run;
  }
  // The Hugging Face Trainer states a second runtime, and of the first run's bars, or of the next
  // one's, only ends are kept: what was stated is about the longest bar so far, and redraws are of
  // other bars now (quoted/tqdm.tells_trainings_of_which_only_the_end_was_drawn).
  void end_session(std::int64_t line) {
    const RunDraft* run = settle_closing(line, true);
    if (run == nullptr) return;
    given_ = run;
    for (auto& [key, track] : tracks_) {
      if (track.unnamed) track = Track{};
    }
  }
  // "Epoch 0: 1/3", "Epoch 1: 2/3": the bar around loops whose bars have no name, or one that does
  // not mean training
  // (quoted/tqdm.does_not_take_the_epochs_around_a_bar_without_a_name_for_its_iterations).
  void discard_epochs() {
    RunDraft* epochs = nullptr;
    for (const auto& [key, track] : tracks_) {
      if (track.draft == nullptr || track.unnamed) continue;
      if (track.draft->log.kind != WorkKind::training) continue;
      if (!track.of_epochs || track.done < 2) return;
      epochs = track.draft;
    }
    if (epochs == nullptr) return;
    epochs->discard = true;
    named_training_ = false;
  }
  // "Epoch 2/3" is the last one where they are counted from 0: where the log shows no first one, it
  // may be (quoted/tqdm.the_bar_of_an_epoch_that_is_not_the_last_ends_no_run).
  bool of_last_epoch(const BarName& name) {
    if (name.epochs <= 0) return true;
    if (first_epoch_ < 0 || name.epoch < first_epoch_) first_epoch_ = name.epoch;
    return name.epoch >= name.epochs - (first_epoch_ == 1 ? 0 : 1);
  }
  void next_generation(Track& track, BarRole role, RunBuilder& out) {
    const bool failed =
        track.draft != nullptr && track.done < track.total && failed_at_ > track.moved_at;
    const Ended ended = seconds_of(track);
    const bool of_losses = track.showed_loss || (known_ && known_->name.values);
    const bool ended_or_begins = track.done == track.total || track.done == 0;
    const bool other_loop =
        role == BarRole::unnamed && !(of_losses && track.total > 1 && ended_or_begins);
    track.base += track.done;
    track.base_s += ended.seconds;
    track.done = 0;
    track.elapsed_s = 0;
    track.rate = kUnknown;
    track.evaluated_s = evaluations_.total_s();
    track.times = BarTimes{};
    ++track.starts;
    if (role == BarRole::training || (role == BarRole::unnamed && !other_loop)) {
      clock_error_ += ended.error;
    }
    // An unnamed bar that starts over is another loop, unless it came to its end and shows losses:
    // then another epoch begins (SpeechBrain 1.1,
    // quoted/tqdm.a_bar_of_losses_starts_over_with_each_epoch). So continues a named one, one per
    // data file or epoch (NVIDIA's BERT,
    // quoted/tqdm.continues_the_counter_when_the_bar_starts_over_for_each_data_file), unless the
    // run has stated its end (quoted/tqdm.begins_another_run_after_a_closing_statement) or has
    // failed and was started again
    // (quoted/tqdm.begins_another_run_where_a_bar_starts_over_after_a_failure).
    const bool over = track.draft != nullptr && (failed || stated_for(*track.draft));
    if (other_loop || over) {
      if (over && role != BarRole::unnamed) {
        give(closing_.take(), *track.draft);
        out.close(track.draft->log.kind);
        for (auto& [key, other] : tracks_) {
          if (&other != &track && other.draft == track.draft) other = Track{};
        }
        newest_ = nullptr;
        clock_error_ = 0;
        steps_ = {};
      }
      track.draft = nullptr;
      track.unnamed.reset();
      track.base = 0;
      track.base_s = track.off_s = 0;
    }
  }
  RunDraft& draft_for(Track& track, BarRole role, const TqdmBar& bar, const Line& line,
                      RunBuilder& out) {
    if (track.draft != nullptr) return *track.draft;
    const WorkKind kind = role == BarRole::evaluation  ? WorkKind::evaluation
                          : role == BarRole::inference ? WorkKind::inference
                                                       : WorkKind::training;
    if (role == BarRole::unnamed) {
      track.draft = &out.extra(kind, line.number);
      track.unnamed =
          unnamed_.add(*track.draft, bar, line.number, std::exchange(track.first_step, false),
                       known_ && known_->name.values);
    } else {
      track.draft = &out.run(kind, line.number);
      named_training_ |= kind == WorkKind::training;
      if (bar.description.empty()) epoch_.run = track.draft;
      if (bar.description == "Iteration")
        track.draft->log.iteration_unit = IterationUnit::micro_step;
      // "Steps" is the bar of diffusers and accelerate's examples
      // (quoted/tqdm.counts_optimizer_steps_where_the_bar_ends_with_the_planned_ones); a bar of
      // another name may be of one epoch.
      if (bar.description == "Steps" && planned_steps_ && bar.total == *planned_steps_) {
        track.draft->log.iteration_unit = IterationUnit::optimizer_step;
      }
    }

    track.draft->set_origin(0);
    track.draft->log.rate_unit = RateUnit::iterations_per_second;
    track.draft->log.clock_resolution_s = bar.drawn_once ? 1e-3 : 1;
    return *track.draft;
  }
  /// What is stated of a whole run was seen after the records of this one.
  [[nodiscard]] bool stated_for(const RunDraft& run) const {
    return run.last() != nullptr && closing_.after(run.last()->line);
  }
  bool read_loss(const Line& line) {
    const auto loss = loss_of_line(line);
    if (!loss) return false;
    if (newest_ != nullptr) newest_->set_loss(*loss, line.number);
    return true;
  }
  void read_epoch(std::string_view text) {
    const auto begins = epoch_that_begins(text);
    if (!begins) return;
    if (begins->epoch < 0) return unnamed_.announce(true);
    // "Epoch 3" that stands after the bars is of the one that ended.
    if (newest_ == nullptr) epoch_.before_bars = true;
    if (newest_ != nullptr && epoch_.before_bars) newest_->ended_well = false;
    epoch_.of = begins;
    epoch_.begins = true;
    known_.reset();
  }
  /// What the program printed where its bar stood, or the line itself.
  [[nodiscard]] std::string_view after_bars(std::string_view text) const {
    return bars_.empty() ? text : text.substr(std::min(bars_.back().end, text.size()));
  }
  // "Epoch 3: 100%|###| 500/500", "train Loss: 0.14", and then another bar of "Epoch 3": loops over
  // the phases of an epoch name their bars by the epoch alone (PyTorch's tutorials with a bar,
  // quoted/tqdm.the_second_bar_of_an_epoch_after_its_loss_of_training).
  void note_trained() {
    const Track* bar = trained_.bar;
    if (bar == nullptr || bar->epoch < 0 || bar->done < bar->total || bar->total == 0) return;
    trained_.epoch = bar->epoch;
    trained_.elapsed_s = bar->elapsed_s;
  }
  // A bar without a name that is the first after "Epoch 3/20" is of that epoch's training; one of
  // another length after it is of an evaluation (4 steps and then 25 of
  // quoted/tqdm.the_first_bar_after_an_epoch_begins_is_its_training).
  void name_by_epoch(BarName& name, const TqdmBar& bar) {
    if (name.role == BarRole::evaluation || name.role == BarRole::training) epoch_.begins = false;
    if (name.role == BarRole::training && name.epochs <= 0 && epoch_.of) {
      name.epoch = epoch_.of->epoch;
      name.epochs = epoch_.of->epochs;
    }
    if (name.role != BarRole::unnamed || !bar.description.empty() || !epoch_.of) return;
    if (std::exchange(epoch_.begins, false)) epoch_.total = bar.total;
    if (bar.total <= 1 || bar.total != epoch_.total) return;
    name.role = BarRole::training;
    name.key = "epoch";
    name.epoch = epoch_.of->epoch;
    name.epochs = epoch_.of->epochs;
  }

  std::map<std::string, Track> tracks_;
  BarLeaps leaps_;
  StatedEvaluations evaluations_;
  BarUnits units_;
  std::optional<Known> known_;
  struct NameAbove {
    std::string name;
    std::int64_t line = 0;
  };
  NameAbove above_;  ///< newest line that may be the name of the bar on the next one
  bool settled_ = false;
  bool decided_ = true;  ///< a copy of the newest redraw decides nothing
  UnnamedBars unnamed_;
  /// Of the newest line that states that an epoch begins.
  struct {
    std::optional<BegunEpoch> of;
    bool begins = false;       ///< no bar was drawn since
    bool before_bars = false;  ///< the first such line stood before the first bar
    std::int64_t total = 0;    ///< of its first bar
    RunDraft* run = nullptr;   ///< of bars that are training by such lines alone
  } epoch_;
  /// Of the bars that are named by their epoch.
  struct {
    const Track* bar = nullptr;  ///< of training, drawn last
    std::int64_t epoch = -1;     ///< whose loss of training was printed since
    double elapsed_s = 0;        ///< of its bar
  } trained_;
  Outer outer_;
  EpochBars epochs_;
  RunDraft* newest_ = nullptr;  ///< training draft that made the last record
  ClosingLines closing_;
  std::int64_t first_epoch_ = -1;              ///< least that a bar's name of "Epoch 1/3" shows
  std::optional<std::int64_t> planned_steps_;  ///< "Total optimization steps"
  std::int64_t failed_at_ = 0;                 ///< newest line about a failure
  const RunDraft* given_ = nullptr;            ///< got its statement from end_session()
  std::int64_t settled_at_ = 0;  ///< line after which bars without a name are of another run
  std::vector<TqdmBar> bars_;
  struct {
    std::int64_t total = 0, done = 0;
    double elapsed_s = 0;
  } torch7_;                       ///< the newest bar of torch7's
  bool lightning1_ = false;        ///< a bar of Lightning before 2.0
  bool named_training_ = false;    ///< a bar that is training by its name made a record
  bool asked_for_ = false;         ///< the user chose this format
  bool trainer_evidence_ = false;  ///< a line of the Hugging Face Trainer was seen
  /// bing_bert prints its steps; DeepSpeed's timer prints them with a finer clock.
  bool progress_lines_ = false;
  std::int64_t timer_lines_ = 0;
  double clock_error_ = 0;  ///< seconds that the ended bars of the training run leave open
  StepLines steps_;
};

std::unique_ptr<LineParser> make() { return std::make_unique<TqdmParser>(); }

std::size_t redraw_end(const Line& line) {
  const std::uint32_t kinds = kinds_of(line);
  if ((kinds & kBars) == 0) return 0;
  thread_local std::vector<TqdmBar> bars;  // keeps its memory from line to line
  find_bars(line.text,
            {(kinds & kPerSecond) != 0, (kinds & kPerIteration) != 0, (kinds & ~kBars) != 0}, bars);
  return bars.empty() ? 0 : bars.back().end;
}

}  // namespace

extern const Format entry{
    "tqdm",
    "tqdm progress bars: NVIDIA BERT for PyTorch, Hugging Face Trainer, bert_train --log-style "
    "tqdm",
    "https://github.com/tqdm/tqdm (std.py, format_meter); NVIDIA DeepLearningExamples "
    "PyTorch/LanguageModeling/BERT",
    kAnchors,
    make,
    redraw_end};

}  // namespace bertbench::format_tqdm
