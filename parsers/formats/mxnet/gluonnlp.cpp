// gluonnlp: training lines of MXNet's gluon-nlp scripts and gluon-cv's segmentation script.
//
//   [step 249]\tmlm_loss=9.2\t...\tthroughput=122.0K tks/s\tlr=0.0000025 time=163.24 (pre-training)
//   Running evaluation ... / [step 1]\tmlm_loss=6.1 ... / Eval cost=1.8s        (between its lines)
//   Epoch: 0, Batch: 299/22161, Loss=5.43, lr=... Time cost=83.7 Thoughput=14.33 samples/s (SQuAD)
//   Epoch: 1, Batch: 3900/8164, Loss span/answer/total=0.7/0.1/0.9, ... Time cost=90.67,
//       Throughput=52.94 samples/s ETA=1.70h       (1.0: SQuAD by batch; "Step: 50/7387, ...")
//   [step 100], Loss mlm/nsp=7.1/0.6, ... Time cost=21.0 s, Throughput=122.0K tks/s, ETA=9.9 h
//   Batch: 4512/7387, Loss=4.10, lr=0.0000065 Thoughput=45.02 samples/s        (SQuAD, horovod)
//   [Epoch 1 Batch 10/119] loss=0.6015, lr=0.0000032, metrics:...                            (GLUE)
//   [Epoch 0 Batch 800/34064] loss=10.3, ppl=31793.0, throughput=54.01K wps, wc=6521.39K      (NMT)
//   Time cost=180.52 s, Thoughput=60.01 samples/s          (prediction, after or between training)
//   Epoch 0 iteration 0020/1263: training loss 0.151                                    (gluon-cv)
// tks/s and wps count tokens without padding: they stay tokens/s. The time of a pre-training line
// is that of its interval and holds loading and checkpoints, which the throughput leaves out.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parsers/assemble/run_builder.h"
#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/formats/mxnet/gluon_text.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"
#include "parsers/scan/byte_search.h"

namespace bertbench::format_gluonnlp {
namespace {

constexpr std::string_view kAllTrained = "Total training time is ";  ///< gluon-cv's depth
constexpr std::string_view kEvaluates[] = {"Running evaluation ...", "Using evaluation data at "};
constexpr std::string_view kEvaluated = "Eval cost=", kTrained = "Train cost=";
/// The line before the first step: `arrival` takes when it came as when that step began, which
/// else is in no rate by arrivals (+3 % of 800 steps whose first ten took six times as long).
constexpr std::string_view kStarted = "raining started";  // as in mark_rules.cpp: one literal
constexpr std::string_view kRate = "samples/s";
constexpr std::string_view kAnchors[] = {
    "tks/s",    " wps, wc=",   "Thoughput=",   "[Epoch ",       kRate,         ": training loss ",
    "kvstore=", "accumulate=", "tart predict", "comm_backend=", "Time cost=",  kAllTrained,
    kGluonDict, kGluonSaved,   kGluonSaving,   kGluonWorkers,   kEvaluates[0], kEvaluates[1],
    kEvaluated, kTrained,      kStarted};

class GluonnlpParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool read_pretraining(const Line& line, RunBuilder& out);
  bool read_evaluation(const Line& line, RunBuilder& out);
  bool read_trained(const Line& line, RunBuilder& out);
  void end_pretraining(RunBuilder& out);
  void read_tokens(const GluonStep& step, std::int64_t iterations);
  void fill_workers(RunDraft& run) const;
  void put_evaluation(const GluonStep& step, const Line& line, RunBuilder& out);
  [[nodiscard]] auto evaluating(int rank) { return std::ranges::find(evaluating_, rank); }
  bool read_batch(const Line& line, RunBuilder& out);
  RateUnit read_rate(const Line& line, const GluonBatch& at, bool opens, Sample& sample);
  bool read_step_line(const Line& line, RunBuilder& out);
  bool read_prediction(const Line& line, RunBuilder& out);
  bool read_segmentation(const Line& line, RunBuilder& out);
  bool read_epoch_cost(const Line& line, RunBuilder& out);
  bool read_end(const Line& line, RunBuilder& out) const;
  bool read_arguments(const Line& line, RunBuilder& out);
  std::int64_t counter(std::int64_t epoch, std::int64_t batch, std::int64_t total, RunBuilder& out);
  RunDraft& put(Sample sample, IterationUnit unit, RateUnit rate, RunBuilder& out);

  GluonArguments args_;  ///< of the newest launch
  GluonClock clock_;
  std::int64_t base_ = 0, epoch_ = -1, total_ = 0;  ///< batches of the epochs before
  std::int64_t last_step_ = -1, in_epoch_ = 0, iteration_ = 0;
  GluonIntervals intervals_;   ///< of SQuAD's lines
  bool begins_epoch_ = false;  ///< the iterations of the record are known
  bool tokens_ = false, timeless_ = false;
  std::int64_t epochs_ended_ = 0;  ///< of the newest launch
  double epochs_s_ = 0;            ///< times of the epochs of the run below, together
  RunDraft* cost_run_ = nullptr;
  std::vector<int> evaluating_;         ///< ranks within an evaluation
  std::int64_t evaluated_ = 0;          ///< steps of the evaluations that ended
  std::optional<int> evaluation_rank_;  ///< whose evaluations count
  double fewest_ = 0, most_ = 0;        ///< workers, by the tokens/s of one; most 0: unknown
  double evaluations_s_ = 0;            ///< within the open training, between its lines
  std::int64_t started_byte_ = -1;      ///< after the newest launch's kStarted; -1: not printed
  bool predicting_ = false;    ///< "start prediction" stands after the newest training line
  bool closes_epoch_ = false;  ///< the script that trains closes an epoch in prediction's words
};

// Batches of the whole run. Epochs count from 0 or from 1, and their length may differ by a batch.
std::int64_t GluonnlpParser::counter(std::int64_t epoch, std::int64_t batch, std::int64_t total,
                                     RunBuilder& out) {
  if (epoch_ < 0 || epoch < epoch_) {
    if (epoch_ >= 0) {
      out.close(WorkKind::training);
      last_step_ = -1;
    }
    base_ = 0;
  } else if (epoch > epoch_) {
    base_ += (epoch - epoch_) * total_;
  }
  epoch_ = epoch;
  total_ = total;
  return base_ + batch;
}

RunDraft& GluonnlpParser::put(Sample sample, IterationUnit unit, RateUnit rate, RunBuilder& out) {
  RunDraft* open = out.open(WorkKind::training);
  if (open != nullptr && open->last() != nullptr && sample.step < open->last()->step) {
    out.close(WorkKind::training);
    last_step_ = -1;
  }
  RunDraft& draft = out.run(WorkKind::training, sample.line);
  draft.log.iteration_unit = unit;
  if (args_.one_worker && rate == RateUnit::sequences_per_second) rate = RateUnit::unknown;
  draft.log.rate_unit = rate;
  // Tokens without padding, or of one worker, are no sequences of a known length.
  if (rate == RateUnit::tokens_per_second && sample.seconds > 0 && args_.no_tokens()) {
    sample.rate = kUnknown;
  }
  Facts& facts = draft.log.facts;
  draft.own_facts = draft.own_facts || args_.divided;
  if (args_.all) facts.global_batch_size.set(*args_.all, FactSource::log);
  if (args_.world) facts.world_size.set(*args_.world, FactSource::log);
  auto& accumulation = facts.gradient_accumulation_steps;
  if (args_.accumulation) accumulation.set(*args_.accumulation, FactSource::log);
  if (args_.batch) facts.micro_batch_size.set(*args_.batch, FactSource::log);
  if (!args_.model.empty()) facts.model.set(args_.model, FactSource::log);
  // Counters start at 0: "Batch: 299" is the 300th.
  if (last_step_ >= 0 && !begins_epoch_) {
    sample.iterations = std::max<std::int64_t>(1, sample.step - last_step_);
  }
  begins_epoch_ = false;
  if (draft.count() == 1) draft.mend_headless(sample);
  last_step_ = sample.step;
  draft.ended_well = false;  // what ended was an epoch
  draft.add(sample);
  return draft;
}

// An evaluation counts its own steps in the words of training; they are neither its records nor the
// beginning of another launch.
void GluonnlpParser::put_evaluation(const GluonStep& step, const Line& line, RunBuilder& out) {
  if (evaluation_rank_.value_or(line.rank) != line.rank) return;  // every rank evaluates all
  evaluation_rank_ = line.rank;
  RunDraft& draft = out.run(WorkKind::evaluation, line.number);
  draft.log.iteration_unit = IterationUnit::micro_step;
  draft.own_facts = true;
  Facts& facts = draft.log.facts;
  facts.gradient_accumulation_steps.set(1, FactSource::log);
  if (args_.world) facts.world_size.set(*args_.world, FactSource::log);
  if (!args_.model.empty()) facts.model.set(args_.model, FactSource::log);
  if (args_.evaluation && args_.world && args_.accumulation) {
    const std::int64_t parts = *args_.world * *args_.accumulation;
    if (*args_.evaluation % parts == 0) {
      facts.micro_batch_size.set(*args_.evaluation / parts, FactSource::log);
    }
  }
  Sample sample;
  sample.step = evaluated_ + step.step;
  sample.seconds = step.seconds;
  sample.loss = step.loss;
  sample.line = line.number;
  sample.end_byte = line.end_byte;
  draft.add(sample);
}

// "Running evaluation ... ", its steps, "Eval mlm_loss=6.070 ...", "Eval cost=1.8s".
bool GluonnlpParser::read_evaluation(const Line& line, RunBuilder& out) {
  const auto has = [&](std::string_view words) {
    return find_text(line.text, words) != std::string_view::npos;
  };
  if (has(kEvaluates[0]) || has(kEvaluates[1])) {
    if (evaluating(line.rank) == evaluating_.end()) evaluating_.push_back(line.rank);
    return out.open(WorkKind::training) != nullptr;
  }
  if (!has(kEvaluated)) return false;
  if (const auto at = evaluating(line.rank); at != evaluating_.end()) evaluating_.erase(at);
  const auto seconds = number_after(line, kEvaluated);
  RunDraft* const run = out.open(WorkKind::evaluation);
  if (!seconds || !(*seconds >= 0 && *seconds < 1e9)) return false;
  if (evaluation_rank_.value_or(line.rank) != line.rank) return true;
  RunDraft* const training = out.open(WorkKind::training);
  if (training != nullptr && !training->ended_well) evaluations_s_ += *seconds;
  if (run == nullptr) return training != nullptr;
  auto& total = run->log.totals.training_s;
  total = total.value_or(0) + *seconds;
  run->end_well(line.number);
  if (run->last() != nullptr) evaluated_ = run->last()->step;
  return true;
}

// Lines that show how far a training came after its last line, and its whole time with saving and
// the evaluations within it: "[step 10] Saving model params to ...", "Train cost=47.5s".
bool GluonnlpParser::read_trained(const Line& line, RunBuilder& out) {
  RunDraft* const run = out.open(WorkKind::training);
  if (run == nullptr || run->log.iteration_unit != IterationUnit::optimizer_step) return false;
  if (const auto saved = gluon_saving(line)) {
    if (run->last() != nullptr && *saved < run->last()->step) return false;
    run->log.totals.last_optimizer_step = saved;
    return true;
  }
  const auto seconds = number_after(line, kTrained);
  if (!seconds || !(*seconds > 0 && *seconds < 1e9)) return false;
  run->log.totals.training_s = *seconds;
  run->end_well(line.number);
  return true;
}

// With Horovod tokens/s are of the worker that prints, to the nearest 100. Synthetic data has no
// padding: the batch of all workers bounds how many of them there may be.
void GluonnlpParser::read_tokens(const GluonStep& step, std::int64_t iterations) {
  constexpr double kRounding = 50;  // tokens/s
  if (!args_.one_worker || !args_.synthetic || !args_.all || args_.world || iterations < 1 ||
      !(step.seconds > 0)) {
    return;
  }
  const double all = static_cast<double>(*args_.all) * static_cast<double>(*args_.synthetic) *
                     static_cast<double>(iterations) / step.seconds;
  const double most = step.tokens_per_second > kRounding
                          ? all / (step.tokens_per_second - kRounding)
                          : static_cast<double>(*args_.all);
  fewest_ = std::max(fewest_, all / (step.tokens_per_second + kRounding));
  most_ = most_ > 0 ? std::min(most_, most) : most;
}

// The one number of workers among which the script could have divided its batch.
void GluonnlpParser::fill_workers(RunDraft& run) const {
  constexpr double kOfTime = 1e-3;  // what rounds the times
  if (!(most_ > 0) || args_.world || run.log.facts.world()) return;
  const std::int64_t parts = *args_.all / args_.accumulation.value_or(1);
  std::optional<std::int64_t> found;
  const double most = std::min(most_ * (1 + kOfTime), 1e6);
  for (std::int64_t n = 1; static_cast<double>(n) <= most; ++n) {
    if (parts % n != 0 || static_cast<double>(n) < fewest_ * (1 - kOfTime)) continue;
    if (found) return;
    found = n;
  }
  if (!found) return;
  run.log.facts.world_size.set(*found, FactSource::log);
  run.log.notices.push_back(make_notice(NoticeCode::world_size_from_tokens, 0, *found));
}

// The steps of the whole run, where a checkpoint after the newest line names more than that.
void GluonnlpParser::end_pretraining(RunBuilder& out) {
  const double evaluations = std::exchange(evaluations_s_, 0);
  RunDraft* const run = out.open(WorkKind::training);
  if (run != nullptr && run->last() != nullptr) fill_workers(*run);
  fewest_ = most_ = 0;
  if (run == nullptr || run->last() == nullptr) return;
  if (evaluations > 0) {
    run->log.notices.push_back(
        make_notice(NoticeCode::time_includes, 0, "the time of a line after an evaluation",
                    fmt::format("that evaluation ({:.1f} s in all)", evaluations)));
  }
  Totals& totals = run->log.totals;
  if (!totals.last_optimizer_step) return;
  const Record& first = run->records().front();
  const std::int64_t begin = totals.first_optimizer_step.value_or(first.step - first.iterations);
  totals.first_optimizer_step = begin;
  totals.last_optimizer_step = std::max(*totals.last_optimizer_step, run->last()->step);
  totals.optimizer_steps = totals.iterations = *totals.last_optimizer_step - begin;
}

bool GluonnlpParser::read_pretraining(const Line& line, RunBuilder& out) {
  const auto read = gluon_step(line);
  if (!read) return false;
  if (const auto at = evaluating(line.rank); at != evaluating_.end()) {
    if (!read->trains) {
      put_evaluation(*read, line, out);
      return true;
    }
    evaluating_.erase(at);  // its end was not printed
  }
  // The first releases print the step before a whole interval: "[step 249]", "[step 499]".
  const std::int64_t interval = args_.interval.value_or(1);
  const bool before = !read->counts_done || (interval > 1 && (read->step + 1) % interval == 0);
  Sample sample = sample_on(line);
  sample.step = read->step + (before ? 1 : 0);
  const bool first = out.open(WorkKind::training) == nullptr;
  const std::int64_t begin = args_.start.value_or(0);
  if (first) sample.iterations = sample.step > begin ? sample.step - begin : sample.step;
  // Before 0.8 the line has no time: the clock is its stamp.
  const GluonStamp stamp = gluon_stamp(line.text);
  sample.seconds = read->seconds;
  if (std::isnan(sample.seconds)) sample.time_s = clock_.at(stamp);
  sample.rate = read->tokens_per_second;
  sample.loss = read->loss;
  RunDraft& draft = put(sample, IterationUnit::optimizer_step, RateUnit::tokens_per_second, out);
  draft.log.planned = args_.steps;
  auto& counters = draft.log.counters;
  if (first && started_byte_ >= 0) {
    counters.add({draft.last()->step - draft.last()->iterations, started_byte_});
  }
  if (!counters.items().empty() && counters.items().back().step < sample.step) {
    counters.add({sample.step, line.end_byte});
  }
  read_tokens(*read, draft.last()->iterations);
  if (first && args_.start) draft.log.totals.first_optimizer_step = begin;
  if (!std::isnan(sample.time_s)) draft.log.clock_resolution_s = stamp.resolution_s;
  draft.log.clock_is_wall = !std::isnan(sample.time_s);
  if (first) {
    draft.log.notices.push_back(make_notice(NoticeCode::counts_tokens, line.number, "tks/s",
                                            "tokens without padding and leaves out loading",
                                            "sequences follow from times"));
  }
  return true;
}

// Fine-tuning and translation. A batch is a micro-step; the clock is the stamp.
bool GluonnlpParser::read_batch(const Line& line, RunBuilder& out) {
  const auto at = gluon_batch(line);
  if (!at) return false;
  // Without an epoch's name: its batches begin again.
  const std::int64_t epoch =
      at->epoch.value_or(std::max<std::int64_t>(0, epoch_) + (at->batch + 1 < in_epoch_ ? 1 : 0));
  if (epoch > 1'000'000) return false;
  const bool opens = epoch != epoch_;
  in_epoch_ = at->batch + 1;
  predicting_ = false;
  clock_.trains();
  closes_epoch_ = at->squad && !at->from_one;
  Sample sample = sample_on(line);
  sample.step = counter(epoch, at->batch + (closes_epoch_ ? 1 : 0), at->total, out);
  sample.loss = at->loss;
  const GluonStamp stamp = gluon_stamp(line.text);
  sample.time_s = clock_.at(stamp);
  const RateUnit unit = read_rate(line, *at, opens, sample);
  tokens_ = tokens_ || unit == RateUnit::tokens_per_second;
  // With bucketing by tokens a batch has no fixed number of sequences.
  if (unit == RateUnit::tokens_per_second) args_.batch.reset();
  RunDraft& draft = put(sample, IterationUnit::micro_step, unit, out);
  if (!std::isnan(stamp.time_s)) {  // a line whose stamp was cut takes the clock from no other
    draft.log.clock_resolution_s = stamp.resolution_s;
    draft.log.clock_is_wall = true;
  }
  return true;
}

// The scripts of gluon-nlp 1.0: "Step: 50/7387, Loss span..." and "[step 100], Loss mlm/nsp=...",
// counted from 1. A step is an optimizer step, its time that of the interval.
bool GluonnlpParser::read_step_line(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  const bool fine_tuning = cursor.skip_past(" Step: ");
  if (!fine_tuning && !cursor.skip_past("[step ")) return false;
  const auto step = cursor.integer();
  std::optional<std::int64_t> total;
  if (fine_tuning) {
    total = cursor.literal("/") ? cursor.integer() : std::nullopt;
    if (!total || !cursor.literal(", Loss span")) return false;
  } else if (!cursor.literal("], Loss mlm/")) {
    return false;
  }
  const auto seconds = number_after(line, "Time cost=");
  const auto rate = number_after(line, "Throughput=");
  if (!step || *step < 1 || *step > 1'000'000'000'000 || !seconds || !rate) return false;
  const bool tokens = find_text(line.text, "K tks/s") != std::string_view::npos;
  Sample sample = sample_on(line);
  sample.step = sample.iterations = *step;
  sample.seconds = *seconds;
  sample.rate = *rate * (tokens ? 1000 : 1);
  for (const std::string_view key : {"/total=", "mlm/nsp=", "Loss span="}) {
    if (!sample.loss) sample.loss = number_after(line, key);
  }
  if (const auto sum = last_of_sum(line, "/total=")) sample.loss = sum;
  closes_epoch_ = predicting_ = false;
  sample.time_s = clock_.at(gluon_stamp(line.text));
  RunDraft& draft = put(sample, IterationUnit::optimizer_step,
                        tokens ? RateUnit::tokens_per_second : RateUnit::sequences_per_second, out);
  draft.log.planned = total ? total : args_.steps;
  draft.log.clock_resolution_s = gluon_stamp(line.text).resolution_s;
  draft.log.clock_is_wall = true;
  return true;
}

// The rate that a line prints, and with it the time that its batches took.
RateUnit GluonnlpParser::read_rate(const Line& line, const GluonBatch& at, bool opens,
                                   Sample& sample) {
  if (at.squad) {
    const auto rate = number_after(line, at.from_one ? "Throughput=" : "Thoughput=");
    sample.rate = rate.value_or(kUnknown);
    sample.seconds = number_after(line, "Time cost=").value_or(kUnknown);
    GluonInterval interval{last_step_ < 0 ? 0 : sample.step - last_step_, sample.seconds,
                           sample.rate};
    begins_epoch_ = intervals_.begins_epoch(interval, in_epoch_);
    if (begins_epoch_) {
      sample.iterations = interval.iterations;
      sample.rate = interval.rate;
    }
    return RateUnit::sequences_per_second;
  }
  const auto words = number_after(line, "throughput=");
  if (!words) return RateUnit::unknown;
  sample.rate = *words * (find_text(line.text, "K wps") != std::string_view::npos ? 1000 : 1);
  // Words since the line before, or since the epoch began, over their rate: without validation.
  if (const auto count = number_after(line, "K wps, wc="); *words > 0 && count > 0.0) {
    sample.seconds = *count / *words;
    if (opens) sample.iterations = at.batch;
    begins_epoch_ = opens && at.batch > 0;
  }
  return RateUnit::tokens_per_second;
}

bool GluonnlpParser::read_prediction(const Line& line, RunBuilder& out) {
  if (find_text(line.text, "Time cost=") == std::string_view::npos) return false;
  auto rate = number_after(line, {", throughput=", ", Thoughput="});
  if (!rate) return false;
  if (closes_epoch_ && !predicting_ && out.open(WorkKind::training) != nullptr) {
    RunDraft& training = *out.open(WorkKind::training);
    training.end_well(line.number);
    // Since training began, over all epochs; after "Epoch: 0, " it counts batches as samples.
    if (!args_.one_worker && find_text(line.text, "Epoch: ") == std::string_view::npos) {
      training.log.summary = Stated{*rate, RateUnit::sequences_per_second, line.number};
    }
    return true;
  }
  RunDraft& draft = out.run(WorkKind::inference, line.number);
  draft.log.summary = Stated{*rate, RateUnit::sequences_per_second, line.number};
  draft.log.totals.training_s = number_after(line, "Time cost=");
  draft.end_well(line.number);
  if (RunDraft* training = out.open(WorkKind::training)) {  // it came as far as this
    training->end_well(line.number);
    clock_.evaluated(draft.log.totals.training_s.value_or(0), line.rank, gluon_stamp(line.text));
  }
  return true;
}

// "Time cost=415.1s" after an epoch whose lines have no time: batches, evaluation and saving.
bool GluonnlpParser::read_epoch_cost(const Line& line, RunBuilder& out) {
  const auto seconds = number_after(line, "Time cost=");
  RunDraft* run = out.open(WorkKind::training);
  if (!seconds || !(*seconds > 0 && *seconds < 1e9) || run == nullptr || run->last() == nullptr ||
      total_ < 1 || find_text(line.text, "houghput=") != std::string_view::npos) {
    return false;
  }
  const double evaluations = clock_.take_evaluations();
  const bool all = ++epochs_ended_ == args_.epochs;
  run->ended_well = run->ended_well || all;
  if (run->log.clock_is_wall || timeless_ || epoch_ < 0) return true;
  if (run != cost_run_) {
    epochs_s_ = 0;
    run->log.notices.push_back(
        make_notice(NoticeCode::time_includes, line.number, "the time of an epoch",
                    evaluations > 0 ? "saving" : "its evaluation and saving"));
  }
  epochs_s_ += evaluations < *seconds ? *seconds - evaluations : *seconds;
  Sample sample = sample_on(line);
  sample.step = base_ + total_;
  sample.time_s = epochs_s_;
  RunDraft& draft = put(sample, run->log.iteration_unit, RateUnit::unknown, out);
  draft.log.clock_resolution_s = 0.1;
  draft.log.totals.training_s = epochs_s_;
  draft.join_records_after(base_);  // its lines have no clock
  draft.ended_well = all;
  cost_run_ = &draft;
  return true;
}

bool GluonnlpParser::read_segmentation(const Line& line, RunBuilder& out) {
  const auto at = gluon_segmentation(line);
  if (!at) return false;
  Sample sample = sample_on(line);
  sample.step = counter(at->epoch, at->iteration, at->total, out);
  sample.loss = at->loss;
  timeless_ = true;
  RunDraft& draft = put(sample, IterationUnit::optimizer_step, RateUnit::unknown, out);
  draft.own_facts = true;
  const std::int64_t stride = at->iteration - std::exchange(iteration_, at->iteration);
  draft.ended_well = args_.last_epoch(at->epoch) && stride > 0 &&
                     at->iteration + stride >= at->total;  // its last line
  return true;
}

// What stands after the batches of an epoch, or of all.
bool GluonnlpParser::read_end(const Line& line, RunBuilder& out) const {
  RunDraft* run = out.open(WorkKind::training);
  if (run == nullptr) return false;
  const auto epoch = gluon_validated(line);
  if (epoch ? *epoch != epoch_
            : !timeless_ || find_text(line.text, kAllTrained) == std::string_view::npos) {
    return false;
  }
  run->ended_well = !epoch || args_.last_epoch(epoch_);
  run->last_line = line.number;
  return true;
}

bool GluonnlpParser::read_arguments(const Line& line, RunBuilder& out) {
  if (find_text(line.text, "Namespace(") == std::string_view::npos &&
      find_text(line.text, kGluonDict) == std::string_view::npos) {
    return false;
  }
  end_pretraining(out);
  out.close(WorkKind::training);  // printed by each launch
  last_step_ = epoch_ = -1;
  in_epoch_ = epochs_ended_ = 0;
  clock_.take_evaluations();  // those of a launch that ended within an epoch
  out.close(WorkKind::evaluation);
  evaluating_.clear();
  evaluated_ = 0;
  started_byte_ = -1;
  intervals_ = GluonIntervals();
  args_ = gluon_arguments(line);
  return true;
}

// Loops of all kinds print that rate. What is read here of a line without another literal holds one
// of three more texts: they are looked for first, so that others' lines cost three searches,
// not 20.
bool is_of_others(const Line& line) {
  const auto has = [&](std::string_view words) {
    return find_text(line.text, words) != std::string_view::npos;
  };
  return !any_row(line, [](std::uint32_t row, std::size_t) { return kAnchors[row] != kRate; }) &&
         !has("[step ") && !has("Epoch: ") && !has("Namespace(");
}

bool GluonnlpParser::parse(const Line& line, RunBuilder& out) {
  if (is_of_others(line)) return false;
  if (read_arguments(line, out)) return false;
  if (const auto workers = gluon_workers(line)) {
    args_.world = *workers * args_.devices;
    return false;
  }
  if (read_evaluation(line, out)) return true;
  if (find_text(line.text, "tart predict") != std::string_view::npos) {
    predicting_ = true;
    // The first script for SQuAD prints no more of training, and no time of the prediction.
    RunDraft* run = out.open(WorkKind::training);
    if (run != nullptr && closes_epoch_ && args_.last_epoch(epoch_)) run->end_well(line.number);
    return false;
  }
  if (find_text(line.text, kStarted) != std::string_view::npos) {
    started_byte_ = line.end_byte;
    return false;
  }
  clock_.saved(line);
  return read_pretraining(line, out) || read_trained(line, out) || read_step_line(line, out) ||
         read_batch(line, out) || read_prediction(line, out) || read_epoch_cost(line, out) ||
         read_end(line, out) || read_segmentation(line, out);
}

void GluonnlpParser::finish(RunBuilder& out) {
  end_pretraining(out);
  out.facts.framework.set("mxnet", FactSource::log);
  for (const auto& draft : out.drafts()) {
    const RunLog& log = draft->log;
    const auto add = [&](NoticeCode code, const auto&... values) {
      draft->log.notices.push_back(make_notice(code, 0, values...));
    };
    if (tokens_ && log.rate_unit == RateUnit::tokens_per_second &&
        log.iteration_unit == IterationUnit::micro_step) {
      add(NoticeCode::counts_tokens, "wps", "words of both languages by the script's rule",
          "it is no rate of sequences");
    }
    if (log.kind != WorkKind::training) continue;
    if (clock_.shortened_by() && log.clock_is_wall) add(*clock_.shortened_by());
    if (timeless_) add(NoticeCode::no_rate_in_log, "losses only");
    if (args_.one_worker && draft->count() > 0 && log.rate_unit == RateUnit::unknown &&
        !timeless_) {
      add(NoticeCode::rate_of_one_process_left_out, "the printed rate");
    }
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<GluonnlpParser>(); }

}  // namespace

extern const Format entry;
const Format entry = {
    "gluonnlp", "MXNet gluon-nlp (pre-training, fine-tuning, translation), gluon-cv segmentation",
    "https://github.com/dmlc/gluon-nlp scripts/bert (run_pretraining.py, finetune_*.py)", kAnchors,
    make};

}  // namespace bertbench::format_gluonnlp
