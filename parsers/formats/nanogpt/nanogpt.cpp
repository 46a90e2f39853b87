// nanogpt: nanoGPT, llm.c, modded-nanogpt and trainers after their manner.
//
//   iter 10: loss 4.5735, time 267.36ms, mfu 8.92%                                       (nanoGPT)
//   iter_dt 21.07ms; iter 100: train loss 1.28713                                         (minGPT)
//   step:6200/6200 train_loss:3.2533 train_time:1339065ms step_avg:216.33ms       (modded-nanogpt)
//   step    2/100 | loss 4.1 (+nanz)| norm 2.1 | lr 3e-04 | 80.2 ms | 40.1% bf16 MFU | 51020 tok/s
//   5 | loss 8.3733 | lr 2.500000e-06 | 161.82ms
//   step    10 | loss: 6.51 | lr 1e-4 | norm: 0.9 | dt: 340.12ms | tok/sec: 1540000.00
//   (build-nanogpt) step 00100/01000 (10.00%) | loss: 3.4 | lrm: 1.00 | dt: 1014.23ms | tok/sec:
//   129,238  (nanochat) step    1/9 | train loss 5.270007 | norm 30.6 | lr 1e-04 | (1200.12 ms |
//   800 tok/s) (llm.c, Python) step    1/74: train loss 4.367631 (80.639749 ms, 12700 tok/s)
//   (llm.c, older) step 0: train loss 5.356082 (took 1958.5 ms) (llm.c on a CPU) s:19559 trl:3.2217
//   lr:0.000000 norm:0.22                                   (llm.c's main.log)
//
// nanoGPT prints the time of ONE iteration, that of the line; where it evaluates or compiles, the
// time holds that too and is left out. train_time is a clock without the evaluations, which some
// trainers set back to 0 after their first steps. "step_avg:nanms" is a nan of a time.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "parsers/assemble/run_builder.h"
#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/formats/nanogpt/loss_lines.h"
#include "parsers/formats/nanogpt/token_batch.h"
#include "parsers/formats/nanogpt/token_lines.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kMean = "total average iteration time: ";
/// Of parameter-golf's own limit, of nanochat's and autoresearch's closing summaries.
constexpr std::string_view kEnds[] = {"stopping_early:", "Total training time",
                                      "training_seconds: "};
constexpr std::string_view kAnchors[] = {", time ",
                                         ": train loss ",
                                         " step_avg:",
                                         " | loss ",
                                         " trl:",
                                         " tel:",
                                         " hella ",
                                         kEnds[0],
                                         kEnds[1],
                                         kEnds[2],
                                         kTokensOfRank,
                                         kAccumulatedBatch,
                                         "train_batch_tokens:",
                                         " | dt: ",
                                         " tok/s)",
                                         " (took ",
                                         "validation loss: ",
                                         "max_iters = ",
                                         "* seq_len T=",
                                         kMean,
                                         kTokensOfIteration,
                                         "block_size = ",
                                         kBatchOfAll,
                                         kLengthInTokens,
                                         kFlexLength,
                                         kOneWorld,
                                         kEachItsLength,
                                         kLoaderOfTokens,
                                         " * 64 * 1024",
                                         "iter_dt "};

/// "step:1000/9536 train_loss:4.1 train_time:282155ms step_avg:285.01ms", what it says.
struct TimedStep {
  std::int64_t step = 0, planned = 0;
  double clock_s = 0;
  std::optional<double> loss;
  /// Steps that the clock is of by its own mean; 0 if that is no number of them.
  std::optional<double> covered;
};

std::optional<TimedStep> timed_step(const Line& line) {
  Cursor cursor(line);
  if (!cursor.literal("step:")) return std::nullopt;
  const auto step = step_number(cursor);
  if (!step || !cursor.literal("/")) return std::nullopt;
  const auto planned = step_number(cursor);
  Cursor clock(line);
  if (!planned || !clock.skip_past("train_time:")) return std::nullopt;
  const auto time = clock.number();
  if (!time || !(*time >= 0)) return std::nullopt;
  const bool milliseconds = clock.literal("ms");
  if (!milliseconds && !clock.literal("s")) return std::nullopt;
  TimedStep out;
  out.step = *step;
  out.planned = *planned;
  out.clock_s = milliseconds ? *time * 1e-3 : *time;
  if (line.text.find("train_loss:") != std::string_view::npos) {
    out.loss = number_after(line, "train_loss:");
  }
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
    const bool repeated = evaluation && goes_back && told_.contains(line);
    began_ = goes_back && !repeated ? start_ : std::nullopt;
    start_ = repeated && step == 0 ? std::optional(clock_s) : std::nullopt;
    if (evaluation && !repeated && told_.size() < kEvaluationsHeld) told_.insert(line);
    return repeated;
  }
  /// The clock of a step 0 before this line which did begin a run; nothing if none does.
  [[nodiscard]] std::optional<double> take_start() { return std::exchange(began_, std::nullopt); }

 private:
  static constexpr std::size_t kEvaluationsHeld = 10'000;
  std::unordered_set<std::size_t> told_;
  std::optional<double> start_, began_;
};

class NanogptParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool see_iter(const Line& line, RunBuilder& out);
  bool see_step(const Line& line, RunBuilder& out);
  bool see_columns(const Line& line, RunBuilder& out);
  bool see_dt(const Line& line, RunBuilder& out);
  void begin_clock(const TimedStep& at, Sample& sample) const;
  void advance_clock(const TimedStep& at, Sample& sample);
  bool see_mean(const Line& line, RunBuilder& out);
  bool see_losses_only(const Line& line, RunBuilder& out);
  RunDraft& put(const Sample& sample, RunBuilder& out);

  TokenBatch batch_;
  std::optional<std::int64_t> max_iters_;  ///< nanoGPT's configuration, which runs print
  std::int64_t evaluated_ = -1;            ///< iteration before which an evaluation stood
  std::int64_t clock_step_ = -1;
  double clock_s_ = 0, base_s_ = 0;  ///< train_time of the line before; of the clocks before
  LossLines losses_;
  RepeatedEvaluations told_;  ///< evaluations of this run and those before
  bool single_ = false, timeless_ = false;
  bool validated_ = false;  ///< a validation stood before the next line
};

RunDraft& NanogptParser::put(const Sample& sample, RunBuilder& out) {
  RunDraft* open = out.open(WorkKind::training);
  if (open != nullptr && open->last() != nullptr && sample.step < open->last()->step) {
    out.close(WorkKind::training);
  }
  RunDraft& draft = out.run(WorkKind::training, sample.line);
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  draft.own_facts |= batch_.of_all_processes;
  batch_.tell(draft.log.facts);
  draft.add(sample);
  return draft;
}

bool NanogptParser::see_iter(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (cursor.literal("step ")) {  // "step 250: train loss 2.5833, val loss 2.7931"
    const auto step = step_number(cursor);
    if (!step || !cursor.literal(": train loss ")) return false;
    if (line.text.find("val loss ") == std::string_view::npos) return false;
    evaluated_ = *step;
    return true;
  }
  if (!cursor.literal("iter ")) return false;
  const auto step = step_number(cursor);
  if (!step || !cursor.literal(": loss ")) return false;
  const auto loss = cursor.number();
  const auto time = number_after(line, ", time ");
  if (!loss || !time || line.text.find("ms") == std::string_view::npos) return false;
  Sample sample;
  sample.step = *step;
  sample.iterations = 1;
  sample.loss = *loss;
  sample.line = line.number;
  sample.rank = line.rank;
  const RunDraft* open = out.open(WorkKind::training);
  const bool first = open == nullptr || open->last() == nullptr;
  if (!first && evaluated_ != *step) sample.seconds = *time / 1000;
  single_ = true;
  const std::int64_t stride = first ? 1 : *step - open->last()->step;
  RunDraft& draft = put(sample, out);
  if (max_iters_) {
    draft.planned = *max_iters_;
    draft.ended_well = *step + stride > *max_iters_;  // the last line that it prints
  }
  return true;
}

bool NanogptParser::see_step(const Line& line, RunBuilder& out) {
  const auto at = timed_step(line);
  if (!at) return false;
  if (told_.again(line.text, at->step, at->clock_s, clock_step_)) return true;
  if (const auto start = told_.take_start()) {
    out.close(WorkKind::training);
    clock_step_ = 0;
    clock_s_ = *start;
    base_s_ = 0;
  }
  if (at->step == clock_step_) {
    // The evaluation's line of a step that has its record: the clock since belongs to the next one.
    if (RunDraft* draft = out.open(WorkKind::training)) draft->last_line = line.number;
    return true;
  }
  if (at->step < clock_step_) {
    clock_step_ = -1;
    base_s_ = 0;
    out.close(WorkKind::training);
  }
  Sample sample;
  sample.step = at->step;
  sample.line = line.number;
  sample.rank = line.rank;
  sample.loss = at->loss;
  if (clock_step_ < 0) {
    begin_clock(*at, sample);
  } else {
    advance_clock(*at, sample);
  }
  sample.time_s = base_s_ + at->clock_s;
  clock_s_ = at->clock_s;
  clock_step_ = at->step;
  if (at->step == 0) return true;  // nothing was trained yet: the clock's start
  RunDraft& draft = put(sample, out);
  draft.log.clock_resolution_s = 1e-3;
  draft.planned = at->planned;
  draft.last_line = line.number;
  return true;
}

void NanogptParser::begin_clock(const TimedStep& at, Sample& sample) const {
  sample.iterations = std::max<std::int64_t>(1, at.step);
  if (at.step > 0) sample.seconds = at.clock_s;
  if (!at.covered || at.step <= 1) return;
  // A log without its head: the mean tells how many steps the clock is of.
  if (*at.covered >= 1 && *at.covered <= static_cast<double>(at.step)) {
    sample.iterations = static_cast<std::int64_t>(*at.covered);
  } else {
    sample.seconds = kUnknown;
  }
}

// If the clock was set back since the line before, the mean tells of how many steps it is.
void NanogptParser::advance_clock(const TimedStep& at, Sample& sample) {
  const std::int64_t steps = at.step - clock_step_;
  sample.iterations = steps;
  if (at.covered && *at.covered >= 1 && *at.covered < static_cast<double>(steps)) {
    base_s_ += clock_s_;
    sample.iterations = static_cast<std::int64_t>(*at.covered);
    sample.seconds = at.clock_s;
  } else if (at.clock_s >= clock_s_) {
    sample.seconds = at.clock_s - clock_s_;
  } else {
    base_s_ += clock_s_;
    if (steps == 1) sample.seconds = at.clock_s;  // set back before this step
  }
}

bool NanogptParser::see_columns(const Line& line, RunBuilder& out) {
  const auto said = token_line(line);
  if (!said) return false;
  Sample sample;
  sample.step = said->step;
  if (!std::isnan(said->seconds)) sample.iterations = 1;
  // llama2.c evaluates within the time of an iteration, as nanoGPT does.
  if (evaluated_ != said->step) sample.seconds = said->seconds;
  single_ |= evaluated_ == said->step || line.text.starts_with("iter_dt ");
  sample.loss = said->loss;
  sample.line = line.number;
  sample.rank = line.rank;
  sample.rate = said->tokens_per_second.value_or(kUnknown);
  RunDraft& draft = put(sample, out);
  if (said->tokens_per_second) draft.log.rate_unit = RateUnit::tokens_per_second;
  if (said->planned) draft.planned = *said->planned;
  return true;
}

// llm.c's last words: the mean of all iterations but the first.
bool NanogptParser::see_mean(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.literal(kMean)) return false;
  const auto mean = cursor.number();
  RunDraft* draft = out.open(WorkKind::training);
  if (!mean || !cursor.literal(" ms") || draft == nullptr || draft->last() == nullptr) return false;
  if (*mean > 0) {
    draft->log.summary = Stated{1000 / *mean, RateUnit::iterations_per_second, line.number};
  }
  draft->ended_well = true;
  draft->last_line = line.number;
  return true;
}

// A line prints the time of its own step; build-nanogpt's holds a validation that stands before it.
bool NanogptParser::see_dt(const Line& line, RunBuilder& out) {
  if (line.text.starts_with("validation loss: ")) {
    validated_ = true;
    return false;
  }
  Cursor cursor(line);
  if (!cursor.literal("step ")) return false;
  const auto step = step_number(cursor);
  if (!step) return false;
  std::optional<std::int64_t> planned;
  if (cursor.literal("/")) planned = step_number(cursor);
  if (cursor.literal(" (") && !cursor.skip_past("%)")) return false;
  cursor.blanks();
  if (!cursor.literal("| loss: ")) return false;
  const auto loss = cursor.number();
  if (!loss || !cursor.skip_past("| dt: ")) return false;
  const auto time = cursor.number();
  if (!time || !(*time > 0)) return false;
  const bool ms = cursor.literal("ms");
  if (!ms && !cursor.literal("s")) return false;
  Sample sample;
  sample.step = *step;
  sample.iterations = 1;
  sample.loss = *loss;
  sample.line = line.number;
  sample.rank = line.rank;
  const RunDraft* open = out.open(WorkKind::training);
  const bool first = open == nullptr || open->last() == nullptr || *step < open->last()->step;
  if (!first && !validated_) sample.seconds = ms ? *time / 1000 : *time;
  validated_ = false;
  std::optional<double> tokens;
  if (cursor.skip_past("tok/sec: ") && line.terminator != 0) tokens = grouped_number(cursor);
  single_ = true;
  RunDraft& draft = put(sample, out);
  if (tokens && *tokens > 0 && !std::isnan(sample.seconds)) {
    Sample rated = sample;
    rated.rate = *tokens;
    draft.add(rated);
    draft.log.rate_unit = RateUnit::tokens_per_second;
  }
  if (planned) draft.planned = *planned;
  return true;
}

bool NanogptParser::see_losses_only(const Line& line, RunBuilder& out) {
  const auto said = losses_.see(line);
  if (!said) return false;
  RunDraft* open = out.open(WorkKind::training);
  const bool after = open != nullptr && open->last() != nullptr && said->step > open->last()->step;
  if (said->closing && after) {
    open->ended_well = true;
    open->last_line = line.number;
    return true;
  }
  if (!said->trained && line.text.starts_with("s:")) return true;
  Sample sample;
  sample.step = said->step;
  sample.loss = said->loss;
  sample.line = line.number;
  sample.rank = line.rank;
  timeless_ = true;
  put(sample, out).ended_well = false;
  return true;
}

bool NanogptParser::parse(const Line& line, RunBuilder& out) {
  if (see_step(line, out) || see_iter(line, out) || see_columns(line, out) || see_dt(line, out) ||
      see_losses_only(line, out) || see_mean(line, out)) {
    return true;
  }
  RunDraft* open = out.open(WorkKind::training);
  if (open != nullptr &&
      std::ranges::any_of(kEnds, [&](auto end) { return line.text.starts_with(end); })) {
    open->ended_well = true;
    open->last_line = line.number;
    return true;
  }
  batch_.see(line);
  // The file that is read first, and what the command line sets over it.
  Cursor cursor(line);
  cursor.literal("Overriding: ");
  if (cursor.literal("max_iters = ")) {
    const auto most = cursor.integer();
    if (most && *most >= 1 && *most < 1'000'000'000'000) max_iters_ = *most;
  }
  return false;
}

void NanogptParser::finish(RunBuilder& out) {
  for (const auto& draft : out.drafts()) {
    if (batch_.source_line > 0 && draft->log.facts.global_batch_size.known()) {
      draft->log.notices.push_back(make_notice(NoticeCode::batch_from_source, batch_.source_line));
    }
    if (single_) {
      draft->log.notices.push_back(
          make_notice(NoticeCode::rate_of_single_iterations, 0,
                      "the time of a line, never the first or one that evaluates,"));
    }
    if (timeless_) {
      draft->log.notices.push_back(make_notice(NoticeCode::no_rate_in_log, 0, "losses only"));
    }
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<NanogptParser>(); }

}  // namespace

extern const Format format_nanogpt;
const Format format_nanogpt = {
    "nanogpt", "nanoGPT, llm.c, modded-nanogpt",
    "https://github.com/karpathy/nanoGPT train.py; https://github.com/karpathy/llm.c train_gpt2.cu",
    kAnchors, make};

}  // namespace bertbench
