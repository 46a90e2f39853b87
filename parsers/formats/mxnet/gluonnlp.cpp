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
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/formats/format.h"
#include "parsers/lines/argument_text.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"

namespace bertbench::format_gluonnlp {
namespace {

enum Track : std::uint8_t { kTraining, kEvaluation, kInference };

// Its own counter decides where a training begins again.
constexpr Begin kTrainingRun{.track = kTraining,
                             .restart = Restart::never,
                             .after_end = AfterEnd::reopens};  // what ended was an epoch
constexpr Begin kEvaluationRun{.track = kEvaluation,
                               .work = WorkKind::evaluation,
                               .unit = IterationUnit::micro_step,
                               .restart = Restart::never,
                               .own_facts = true};

// Of a log without its head the first line's time is not of as many steps as its counter shows:
// where the line after it shows that, it is of as many as that one
// (quoted/gluonnlp.a_log_without_its_head_counts_its_first_line_as_one_interval: "Batch: 3900" in
// 90.67 s).
std::optional<std::int64_t> headless(const Step& first, const Step& second) {
  const std::int64_t stride = second.step - first.step;
  if (stride < 1 || first.iterations / 2 <= stride) return std::nullopt;
  const double as_counted = first.seconds / static_cast<double>(first.iterations);
  const double as_seen = second.seconds / static_cast<double>(stride);
  return 2 * as_counted < as_seen ? std::optional(stride) : std::nullopt;
}

constexpr std::int64_t kBatchLimit = 1'000'000'000, kEpochLimit = 1'000'000;  // more is damaged

/// A stamp before a message: "INFO:root:04:17:43 ...", "2019-12-19 07:06:00,663 - root - ...";
/// seconds are NaN where there is none.
Stamp stamp_of(const Line& line) {
  return front_stamp(line.text, true).value_or(Stamp{.seconds = kUnknown});
}

/// Stamps with a date have milliseconds.
double resolution_of(const Stamp& stamp) {
  if (std::isnan(stamp.seconds)) return kUnknown;
  return stamp.names_day ? 1e-3 : 1;
}

/// The stamps of a log as seconds: those without a date begin again at midnight.
class StampClock {
 public:
  double at(const Stamp& stamp) {
    if (std::isnan(stamp.seconds)) return kUnknown;
    shortened_ = shortened_ || off_s_ > 0;
    return days_.at(stamp) - off_s_;
  }

  /// An evaluation of so many seconds ended at `stamp`, as the first rank prints: the stamps that
  /// follow are shortened by it.
  void evaluated(double seconds, int rank, const Stamp& stamp) {
    if (!take_off(seconds, rank)) return;
    evaluations_s_ += seconds;
    evaluated_s_ = days_.at(stamp);
  }

  /// Likewise the saving after it, at `stamp`.
  void saved(int rank, const Stamp& stamp) {
    if (!evaluated_s_ || rank_ != rank) return;
    if (take_off(days_.at(stamp) - *evaluated_s_, rank)) saving_too_ = true;
    evaluated_s_.reset();
  }

  /// Training goes on: what is saved from here on does not begin with the evaluation's end.
  void trains() { evaluated_s_.reset(); }
  /// Seconds of the evaluations since the last call; counts anew.
  double take_evaluations() { return std::exchange(evaluations_s_, 0); }
  /// A notice of what the stamps are shortened by; null if by nothing.
  [[nodiscard]] std::optional<NoticeCode> shortened_by() const {
    if (!shortened_) return std::nullopt;
    return saving_too_ ? NoticeCode::saving_off_the_clock : NoticeCode::saving_on_the_clock;
  }

 private:
  bool take_off(double seconds, int rank) {
    if (!(seconds > 0 && seconds < 1e9) || rank_.value_or(rank) != rank) return false;
    rank_ = rank;
    off_s_ += seconds;
    return true;
  }

  YearClock days_;
  double off_s_ = 0, evaluations_s_ = 0;
  bool shortened_ = false, saving_too_ = false;
  std::optional<int> rank_;
  std::optional<double> evaluated_s_;  ///< when the newest evaluation ended
};

/// The last number of "span/answer/total=0.7/0.1/0.9": the sum of the others.
std::optional<double> last_of_sum(const Line& line, std::string_view key) {
  Cursor cursor(line);
  if (!cursor.skip_past(key)) return std::nullopt;
  auto value = cursor.number();
  while (value && cursor.literal("/")) value = cursor.number();
  return value;
}

/// The head of a line of fine-tuning or translation:
///   [Epoch 1 Batch 10/119] ...                     (GLUE, translation)
///   Epoch: 0, Batch: 299/22161, Loss=5.43 ...      (SQuAD; 1.0: "Loss span/answer/total=")
///   Batch: 4512/7387, Loss=4.10 ... Thoughput=...  (SQuAD with horovod: no epoch)
struct BatchHead {
  std::optional<std::int64_t> epoch;
  std::int64_t batch = 0, total = 0;
  double loss = 0;
  bool squad = false;
  bool from_one = false;  ///< batches count from 1 (1.0), not from 0
};
std::optional<BatchHead> batch_head(const Line& line) {
  Cursor cursor(line);
  BatchHead out;
  if (cursor.skip_past("[Epoch ")) {
    if (!cursor.read(out.epoch, " Batch ")) return std::nullopt;
  } else if (cursor.skip_past("Epoch: ")) {
    if (!cursor.read(out.epoch, ", Batch: ")) return std::nullopt;
    out.squad = true;
  } else if (!has(line, "Thoughput=") || !cursor.skip_past(" Batch: ")) {
    return std::nullopt;
  } else {
    out.squad = true;
  }
  if (!cursor.read(out.batch, "/", out.total) || out.batch > kBatchLimit || out.total < 1 ||
      out.total > kBatchLimit || out.epoch.value_or(0) > kEpochLimit) {
    return std::nullopt;
  }
  auto loss = number_after(line, out.squad ? "Loss=" : "loss=");
  out.from_one = out.squad && !loss;
  if (out.from_one) loss = last_of_sum(line, "/total=");
  if (!loss) return std::nullopt;
  out.loss = *loss;
  return out;
}

/// SQuAD's scripts start the clock anew with an epoch, but go on to count the samples: the rate of
/// the first line holds those after the last line of the epoch before, whose time no line has.
/// Whether a line, `in_epoch` batches into its epoch, is such a first one after `newest`, the
/// newest that is none: then its iterations and rate become those of its time. Iterations are those
/// since the line before, 0 where there is none.
bool begins_epoch_at(Step& line, Step& newest, std::int64_t in_epoch) {
  if (line.iterations <= newest.iterations || newest.iterations < 2) {
    newest = line;
    return false;
  }
  // Time and samples are each what is nearer to the line before.
  const double more = static_cast<double>(line.iterations) / static_cast<double>(newest.iterations);
  const double middle = (1 + more) / 2;
  if (!(line.seconds < middle * newest.seconds)) return false;
  line.iterations = newest.iterations;
  if (std::abs(in_epoch - newest.iterations) > 1) return true;  // lines were left out
  if (line.rate * line.seconds > middle * newest.rate * newest.seconds) line.rate /= more;
  return true;
}

/// Stands in the arguments that the script of natural language inference prints as a dictionary:
///   main.py:train_model: {'gpu_id': 0, ..., 'batch_size': 32, 'print_interval': 5000, ...}
constexpr std::string_view kDict = "'print_interval': ";

/// What "Namespace(...)" or that dictionary contains, the scripts' arguments.
struct Arguments {
  std::optional<std::int64_t> world, accumulation, batch, steps, epochs;
  std::int64_t devices = 1;         ///< of the process that prints
  std::optional<std::int64_t> all;  ///< "total_batch_size": of an optimizer step of all workers
  std::optional<std::int64_t> evaluation;  ///< likewise "total_batch_size_eval"
  std::optional<std::int64_t> interval;    ///< steps from one line to the next
  std::optional<std::int64_t> start;       ///< updates that an earlier launch did
  std::string model;                       ///< "bert-base"; empty: unknown
  bool one_worker = false;                 ///< horovod, BytePS: rates are of the worker that prints
  std::optional<std::int64_t> synthetic;   ///< tokens of each sequence, where no data is read
  bool length = false;                     ///< the sequences' length is stated
  bool divided = false;                    ///< "batch_size" is not the sequences of one GPU
  /// Whether tokens/s would become a wrong number of sequences/s.
  [[nodiscard]] bool no_tokens() const { return one_worker || length; }
  /// Of epochs that count from 0; false where their number is not stated.
  [[nodiscard]] bool last_epoch(std::int64_t epoch) const { return epochs && epoch + 1 >= *epochs; }
};

Arguments arguments_of(const Line& line) {
  Arguments out;
  const auto number = [&](std::string_view name) { return count_of(line.text, {name}); };
  out.epochs = number("epochs");
  out.batch = number("batch_size");
  if (has(line, kDict)) {
    if (has(line, "'gpu_id': ")) out.world = 1;
    return out;
  }

  out.one_worker = has(line, "comm_backend='horovod'") || has(line, "comm_backend='byteps'");
  out.length = has(line, "max_seq_length=");
  Cursor gpus(line);  // with horovod the list is not used: a worker has the GPU of its rank
  if (!out.one_worker && gpus.skip_past("gpus='")) {
    if (const auto list = gpus.until("'")) out.world = count_of_list(*list);
    out.devices = out.world.value_or(1);
  }
  out.accumulation = has(line, "accumulate=None") ? 1 : number("accumulate");
  out.steps = number("num_steps");
  out.interval = number("log_interval");
  out.start = number("start_step");
  // The second phase counts from 0 again.
  if (const auto before = number("phase1_num_steps"); before && has(line, "phase2=True")) {
    out.start = out.start > *before ? std::optional(*out.start - *before) : std::nullopt;
  }
  out.evaluation = number("total_batch_size_eval");
  if (has(line, "synthetic_data=True")) out.synthetic = number("max_seq_length");
  if (has(line, "model='bert_12_768_12'")) out.model = "bert-base";
  if (has(line, "model='bert_24_1024_16'")) out.model = "bert-large";
  // Without a list the pre-training script computes on the CPU, in one process.
  if (has(line, "comm_backend='device'") && (has(line, "gpus=None") || has(line, "gpus=''")))
    out.world = 1;
  out.all = number("total_batch_size");
  // XLNet's scripts divide their batch among as many GPUs as "gpu=" states; elsewhere that is a
  // GPU's number.
  const auto gpus_used = has(line, "='xlnet_") ? number("gpu") : std::nullopt;
  if (gpus_used && out.batch) {
    out.divided = true;
    out.world = gpus_used;
    if (out.accumulation) out.all = *out.batch * *out.accumulation;
    if (*out.batch % *gpus_used == 0) {
      out.batch = *out.batch / *gpus_used;
    } else {
      out.batch.reset();
    }
  }
  if (!out.one_worker && has(line, " gpu=True,")) out.world = 1;  // the first script: not which one
  // "batch_size" counts tokens then.
  if (has(line, "by_token=True") || has(line, "use_avg_len=True")) {
    out.divided = true;
    out.batch.reset();
    out.all.reset();
  }

  // gluon-cv's batch is of all its devices.
  if (has(line, "ngpus=")) {
    out.world = number("ngpus");
    out.batch.reset();
  }
  return out;
}

/// A line of pre-training, or of the evaluation within it, which has the same words:
///   [step 249]\tmlm_loss=9.2\t...\tthroughput=122.0K tks/s\tlr=0.0000025 time=163.24
///   [step 10]\tmlm_loss=9.2\t...\tlr=0.0000900 time=7.20, latency=719.9 ms/step
struct PretrainingStep {
  std::int64_t step = 0;
  double tokens_per_second = 0;  ///< without padding; with horovod of one worker
  double seconds = kUnknown;     ///< of the interval; the finer of the two that the line holds
  double loss = 0;
  bool trains = true;        ///< false where the learning rate is 0, as in all of an evaluation
  bool counts_done = false;  ///< releases with a latency by step count the updates done
};
std::optional<PretrainingStep> pretraining_step(const Line& line) {
  PretrainingStep out;
  if (!Cursor(line).read(Past{"[step "}, out.step, "]")) return std::nullopt;
  const auto rate = number_after(line, "throughput=");
  const auto loss = number_after(line, "mlm_loss=");
  if (!rate || !loss) return std::nullopt;
  out.tokens_per_second = *rate * (has(line, "K tks/s") ? 1000 : 1);
  out.loss = *loss;
  const auto learning_rate = number_after(line, "\tlr=");
  out.trains = !learning_rate || *learning_rate != 0;
  const auto time = number_after(line, " time=");
  if (time) out.seconds = *time;
  // The latency is the time over the interval's steps: 0.1 ms of each, where the time has 10 ms.
  const auto latency = number_after(line, " latency=");
  out.counts_done = latency && has(line, " ms/step");
  if (time && latency && *latency > 0 && *latency < 1e12) {
    constexpr double kRounding = 0.005, kLatency = 0.05e-3;  // halves of the last digits
    const double steps = std::round(*time * 1e3 / *latency);
    const double finer = steps * *latency / 1e3;
    if (steps >= 1 && steps * kLatency < kRounding &&
        std::abs(finer - *time) <= kRounding + steps * kLatency) {
      out.seconds = finer;
    }
  }
  return out;
}

struct Gluonnlp {
  void end_well(Emit emit) {
    emit(End{});
    run.ended = true;
  }

  // Batches of the whole run. Epochs count from 0 or from 1, and their length may differ by a
  // batch.
  std::int64_t counter(std::int64_t now, std::int64_t batch, std::int64_t of_epoch, Emit emit) {
    if (epoch < 0 || now < epoch) {
      if (epoch >= 0) end_training(emit);
      base = 0;
    } else if (now > epoch) {
      base += (now - epoch) * total;
    }
    epoch = now;
    total = of_epoch;
    return base + batch;
  }

  // Facts of the open training.
  void state_facts(Emit emit) const {
    Known known;
    known.facts.global_batch_size.set(args.all, FactSource::log);
    known.facts.world_size.set(args.world, FactSource::log);
    known.facts.gradient_accumulation_steps.set(args.accumulation, FactSource::log);
    known.facts.micro_batch_size.set(args.batch, FactSource::log);
    if (!args.model.empty()) known.facts.model.set(args.model, FactSource::log);
    emit(known);
  }

  // Returns the iterations of the step.
  std::int64_t put(Step step, IterationUnit unit, RateUnit rate, Emit emit) {
    if (step.step < run.step) end_training(emit);
    if (args.one_worker && rate == RateUnit::sequences_per_second) rate = RateUnit::unknown;
    // Tokens without padding, or of one worker, are no sequences of a known length.
    if (rate == RateUnit::tokens_per_second && step.seconds > 0 && args.no_tokens()) {
      step.rate = kUnknown;
    }
    // Counters start at 0: "Batch: 299" is the 300th.
    if (run.open && !begins_epoch) step.iterations = step.step - run.step;
    if (step.iterations == 0 && !run.open) step.iterations = step.step;
    step.iterations = std::max<std::int64_t>(1, step.iterations);
    begins_epoch = false;
    if (!run.open) {
      Begin begin = kTrainingRun;
      begin.own_facts = args.divided || timeless;
      emit(begin);
      run = {.open = true, .first = step};
      facts_due = true;
    } else if (run.single) {
      step.first_iterations = headless(run.first, step);
      run.first.iterations = step.first_iterations.value_or(run.first.iterations);
      run.single = step.step == run.first.step;
    }
    run.step = step.step;
    run.unit = unit;
    run.rate = rate;
    run.ended = step.last;
    if (step.clock) run.wall = step.clock->wall;
    step.unit = unit;
    step.rate_unit = rate;
    emit(step);
    if (std::exchange(facts_due, false)) state_facts(emit);
    state_updates(emit);
    return step.iterations;
  }

  // An evaluation counts its own steps in the words of training; they are neither its records nor
  // the beginning of another launch.
  void put_evaluation(const PretrainingStep& read, const Line& line, Emit emit) {
    if (evaluation_rank.value_or(line.rank) != line.rank) return;  // every rank evaluates all
    evaluation_rank = line.rank;
    evaluations.open = true;
    evaluations.step = evaluations.ended + read.step;
    emit(Step{.track = kEvaluation,
              .step = evaluations.step,
              .seconds = read.seconds,
              .loss = read.loss,
              .line = line.number,
              .end_byte = line.end_byte});
    Known known{.track = kEvaluation};
    known.facts.gradient_accumulation_steps.set(1, FactSource::log);
    if (args.world) known.facts.world_size.set(*args.world, FactSource::log);
    if (!args.model.empty()) known.facts.model.set(args.model, FactSource::log);
    if (args.evaluation && args.world && args.accumulation) {
      const std::int64_t parts = *args.world * *args.accumulation;
      if (*args.evaluation % parts == 0) {
        known.facts.micro_batch_size.set(*args.evaluation / parts, FactSource::log);
      }
    }
    emit(known);
  }

  // "Running evaluation ... ", its steps, "Eval mlm_loss=6.070 ...", "Eval cost=1.8s".
  bool begins_evaluation(const Line& line) {
    if (evaluating(line.rank) == evaluating_ranks.end()) evaluating_ranks.push_back(line.rank);
    return run.open;
  }
  bool evaluated(const Line& line, Emit emit) {
    if (const auto at = evaluating(line.rank); at != evaluating_ranks.end()) {
      evaluating_ranks.erase(at);
    }
    const auto seconds = Cursor::after(line).number();
    if (!seconds || !(*seconds >= 0 && *seconds < 1e9)) return false;
    if (evaluation_rank.value_or(line.rank) != line.rank) return true;
    if (run.open && !run.ended) run.evaluations_s += *seconds;
    if (!evaluations.open) return run.open;
    evaluations.seconds += *seconds;
    evaluations.ended = evaluations.step;
    emit(Statement{.track = kEvaluation, .totals = {.training_s = evaluations.seconds}});
    emit(End{.track = kEvaluation});
    return true;
  }

  // Lines that show how far a training came after its last line, and its whole time with saving and
  // the evaluations within it: "[step 10] Saving model params to ...", "Train cost=47.5s".
  bool saving(const Line& line, Emit emit) {
    Cursor cursor(line);
    std::int64_t saved = 0;
    if (!cursor.read(Past{"[step "}, saved, "] Saving ") || !of_updates() || saved < run.step) {
      return false;
    }
    run.saved = saved;
    state_updates(emit);
    return true;
  }

  bool trained(const Line& line, Emit emit) {
    const auto seconds = Cursor::after(line).number();
    if (!of_updates() || !seconds || !(*seconds > 0 && *seconds < 1e9)) return false;
    emit(Statement{.totals = {.training_s = *seconds}});
    end_well(emit);
    return true;
  }

  [[nodiscard]] bool of_updates() const {
    return run.open && run.unit == IterationUnit::optimizer_step;
  }

  // With Horovod tokens/s are of the worker that prints, to the nearest 100. Synthetic data has no
  // padding: the batch of all workers bounds how many of them there may be.
  void read_tokens(const PretrainingStep& read, std::int64_t iterations) {
    constexpr double kRounding = 50;  // tokens/s
    if (!args.one_worker || !args.synthetic || !args.all || args.world || iterations < 1 ||
        !(read.seconds > 0)) {
      return;
    }
    const double all = static_cast<double>(*args.all) * static_cast<double>(*args.synthetic) *
                       static_cast<double>(iterations) / read.seconds;
    const double most = read.tokens_per_second > kRounding
                            ? all / (read.tokens_per_second - kRounding)
                            : static_cast<double>(*args.all);
    run.fewest = std::max(run.fewest, all / (read.tokens_per_second + kRounding));
    run.most = run.most > 0 ? std::min(run.most, most) : most;
  }

  // The one number of workers among which the script could have divided its batch.
  void state_workers(Emit emit) const {
    constexpr double kOfTime = 1e-3;  // what rounds the times
    if (!(run.most > 0) || args.world) return;
    const std::int64_t parts = *args.all / args.accumulation.value_or(1);
    std::optional<std::int64_t> found;
    const double most = std::min(run.most * (1 + kOfTime), 1e6);
    for (std::int64_t n = 1; static_cast<double>(n) <= most; ++n) {
      if (parts % n != 0 || static_cast<double>(n) < run.fewest * (1 - kOfTime)) continue;
      if (found) return;
      found = n;
    }
    if (!found) return;
    emit.fact(&Facts::world_size, *found);
    emit(Note{make_notice(NoticeCode::world_size_from_tokens, 0, *found)});
  }

  // The steps of the whole run, where a checkpoint after the newest line names more than that.
  void state_updates(Emit emit) const {
    if (!run.saved) return;
    const std::int64_t begin = run.begin.value_or(run.first.step - run.first.iterations);
    const std::int64_t last = std::max(*run.saved, run.step);
    emit(Statement{.totals = {.iterations = last - begin,
                              .optimizer_steps = last - begin,
                              .first_optimizer_step = begin,
                              .last_optimizer_step = last}});
  }

  // What shows at the end of a training only.
  void end_training(Emit emit) {
    if (!run.open) return;
    const auto add = [&](NoticeCode code, const auto&... values) {
      emit(Note{make_notice(code, 0, values...)});
    };
    state_workers(emit);
    if (run.evaluations_s > 0) {
      add(NoticeCode::time_includes, "the time of a line after an evaluation",
          fmt::format("that evaluation ({:.1f} s in all)", run.evaluations_s));
    }
    if (run.rate == RateUnit::tokens_per_second && run.unit == IterationUnit::micro_step) {
      add(NoticeCode::counts_tokens, "wps", "words of both languages by the script's rule",
          "it is no rate of sequences");
    }
    if (clock.shortened_by() && run.wall) add(*clock.shortened_by());
    if (timeless) add(NoticeCode::no_rate_in_log, "losses only");
    if (args.one_worker && run.rate == RateUnit::unknown && !timeless) {
      add(NoticeCode::rate_of_one_process_left_out, "the printed rate");
    }
    run = {};
  }

  bool pretraining(const Line& line, Emit emit) {
    const auto read = pretraining_step(line);
    if (!read) return false;
    if (const auto at = evaluating(line.rank); at != evaluating_ranks.end()) {
      if (!read->trains) {
        put_evaluation(*read, line, emit);
        return true;
      }
      evaluating_ranks.erase(at);  // its end was not printed
    }
    // The first releases print the step before a whole interval: "[step 249]", "[step 499]".
    const std::int64_t interval = args.interval.value_or(1);
    const bool before = !read->counts_done || (interval > 1 && (read->step + 1) % interval == 0);
    // Before 0.8 the line has no time: the clock is its stamp.
    const Stamp stamp = stamp_of(line);
    Step step{.step = read->step + (before ? 1 : 0),
              .seconds = read->seconds,
              .rate = read->tokens_per_second,
              .loss = read->loss,
              .planned = args.steps};
    const bool first = !run.open;
    const std::int64_t begin = args.start.value_or(0);
    if (first && step.step > begin) step.iterations = step.step - begin;
    if (std::isnan(step.seconds)) step.time_s = clock.at(stamp);
    const bool timed = !std::isnan(step.time_s);
    step.clock = Clock{.resolution_s = timed ? resolution_of(stamp) : kUnknown, .wall = timed};
    const std::int64_t iterations =
        put(step, IterationUnit::optimizer_step, RateUnit::tokens_per_second, emit);
    Counted counted;
    if (first && started_byte >= 0) {
      run.counted = step.step - iterations;
      counted.counters.add({*run.counted, started_byte});
    }
    if (run.counted && *run.counted < step.step) {
      run.counted = step.step;
      counted.counters.add({step.step, line.end_byte});
    }
    if (!counted.counters.items().empty()) emit(counted);
    read_tokens(*read, iterations);
    if (first) {
      run.begin = args.start;
      emit(Statement{.totals = {.first_optimizer_step = run.begin}});
      emit.note_here(NoticeCode::counts_tokens, "tks/s",
                     "tokens without padding and leaves out loading",
                     "sequences follow from times");
    }
    return true;
  }

  // Fine-tuning and translation. A batch is a micro-step; the clock is the stamp.
  bool batch(const Line& line, Emit emit) {
    const auto at = batch_head(line);
    if (!at) return false;
    // Without an epoch's name: its batches begin again.
    const std::int64_t now =
        at->epoch.value_or(std::max<std::int64_t>(0, epoch) + (at->batch + 1 < in_epoch ? 1 : 0));
    if (now > 1'000'000) return false;
    const bool opens = now != epoch;
    in_epoch = at->batch + 1;
    predicting = false;
    clock.trains();
    closes_epoch = at->squad && !at->from_one;
    const Stamp stamp = stamp_of(line);
    Step step{.step = counter(now, at->batch + (closes_epoch ? 1 : 0), at->total, emit),
              .time_s = clock.at(stamp),
              .loss = at->loss};
    // A line whose stamp was cut takes the clock from no other.
    if (!std::isnan(stamp.seconds)) step.clock = Clock{resolution_of(stamp), true};
    const RateUnit unit = read_rate(line, *at, opens, step);
    // With bucketing by tokens a batch has no fixed number of sequences.
    if (unit == RateUnit::tokens_per_second) args.batch.reset();
    put(step, IterationUnit::micro_step, unit, emit);
    return true;
  }

  // The scripts of gluon-nlp 1.0: "Step: 50/7387, Loss span..." and "[step 100], Loss mlm/nsp=...",
  // counted from 1. A step is an optimizer step, its time that of the interval.
  bool step_line(const Line& line, Emit emit) {
    std::int64_t at = 0;
    std::optional<std::int64_t> planned;
    if (!Cursor(line).read(Past{" Step: "}, at, "/", planned, ", Loss span") &&
        !Cursor(line).read(Past{"[step "}, at, "], Loss mlm/")) {
      return false;
    }
    const auto seconds = number_after(line, "Time cost=");
    const auto rate = number_after(line, "Throughput=");
    if (at < 1 || !seconds || !rate) return false;
    const bool of_tokens = has(line, "K tks/s");
    const Stamp stamp = stamp_of(line);
    Step step{.step = at,
              .iterations = at,
              .seconds = *seconds,
              .time_s = clock.at(stamp),
              .rate = *rate * (of_tokens ? 1000 : 1),
              .clock = Clock{resolution_of(stamp), true},
              .planned = planned ? planned : args.steps};
    step.loss = last_of_sum(line, "/total=");
    if (!step.loss) step.loss = number_after(line, {"mlm/nsp=", "Loss span="});
    closes_epoch = predicting = false;
    put(step, IterationUnit::optimizer_step,
        of_tokens ? RateUnit::tokens_per_second : RateUnit::sequences_per_second, emit);
    return true;
  }

  // The rate that a line prints, and with it the time that its batches took.
  RateUnit read_rate(const Line& line, const BatchHead& at, bool opens, Step& step) {
    if (at.squad) {
      const auto rate = number_after(line, at.from_one ? "Throughput=" : "Thoughput=");
      step.rate = rate.value_or(kUnknown);
      step.seconds = number_after(line, "Time cost=").value_or(kUnknown);
      Step line_step = step;
      line_step.iterations = run.open ? step.step - run.step : 0;
      begins_epoch = begins_epoch_at(line_step, newest_of_epoch, in_epoch);
      if (begins_epoch) step = line_step;
      return RateUnit::sequences_per_second;
    }
    const auto words = number_after(line, "throughput=");
    if (!words) return RateUnit::unknown;
    step.rate = *words * (has(line, "K wps") ? 1000 : 1);
    // Words since the line before, or since the epoch began, over their rate: without validation.
    if (const auto count = number_after(line, "K wps, wc="); *words > 0 && count > 0.0) {
      step.seconds = *count / *words;
      if (opens) step.iterations = at.batch;
      begins_epoch = opens && at.batch > 0;
    }
    return RateUnit::tokens_per_second;
  }

  bool prediction(const Line& line, Emit emit) {
    const auto rate = number_after(line, {", throughput=", ", Thoughput="});
    if (!rate) return false;
    const Stated summary{*rate, RateUnit::sequences_per_second};
    if (closes_epoch && !predicting && run.open) {
      end_well(emit);
      // Since training began, over all epochs; after "Epoch: 0, " it counts batches as samples.
      if (!args.one_worker && !has(line, "Epoch: ")) {
        emit(Statement{.summary = summary});
      }
      return true;
    }
    const auto seconds = number_after(line, "Time cost=");
    emit(Statement{.track = kInference,
                   .of = Of::begun,
                   .summary = summary,
                   .totals = {.training_s = seconds}});
    emit(End{.track = kInference});
    if (run.open) {  // it came as far as this
      end_well(emit);
      clock.evaluated(seconds.value_or(0), line.rank, stamp_of(line));
    }
    return true;
  }

  // "Time cost=415.1s" after an epoch whose lines have no time: batches, evaluation and saving.
  bool epoch_cost(const Line& line, Emit emit) {
    const auto seconds = number_after(line, "Time cost=");
    if (!seconds || !(*seconds > 0 && *seconds < 1e9) || !run.open || total < 1 ||
        has(line, "houghput=")) {
      return false;
    }
    const double evaluated = clock.take_evaluations();
    const bool all = ++epochs_ended == args.epochs;
    if (all) {
      emit(End{.here = false});
      run.ended = true;
    }
    if (run.wall || timeless || epoch < 0) return true;
    if (run.epochs_s == 0) {
      emit.note_here(NoticeCode::time_includes, "the time of an epoch",
                     evaluated > 0 ? "saving" : "its evaluation and saving");
    }
    run.epochs_s += evaluated < *seconds ? *seconds - evaluated : *seconds;
    put({.step = base + total,
         .time_s = run.epochs_s,
         .clock = Clock{.resolution_s = 0.1},
         .joins_after = base,  // its lines have no clock
         .last = all},
        run.unit, RateUnit::unknown, emit);
    emit(Statement{.totals = {.training_s = run.epochs_s}});
    return true;
  }

  // "Epoch 0 iteration 0020/1263: training loss 0.151" of gluon-cv.
  bool segmentation(const Line& line, Emit emit) {
    std::int64_t of_epoch = 0, batch = 0, all = 0;
    double loss = 0;
    if (!Cursor(line).read("Epoch ", of_epoch, " iteration ", batch, "/", all, ": training loss ",
                           loss) ||
        all < 1 || all > kBatchLimit || of_epoch > kEpochLimit) {
      return false;
    }
    timeless = true;
    const std::int64_t step = counter(of_epoch, batch, all, emit);
    const std::int64_t stride = batch - std::exchange(iteration, batch);
    put({.step = step,
         .loss = loss,
         .last = args.last_epoch(of_epoch) && stride > 0 && batch + stride >= all},
        IterationUnit::optimizer_step, RateUnit::unknown, emit);
    return true;
  }

  // What stands after the batches of an epoch, or of all: "[Epoch 0] valid loss=0.478, ...".
  bool validated(const Line& line, Emit emit) {
    std::int64_t of_epoch = 0;
    if (!run.open || !Cursor::after(line).read(of_epoch, "] valid ") || of_epoch != epoch) {
      return false;
    }
    run.ended = args.last_epoch(epoch);
    emit(End{.well = run.ended});
    return true;
  }

  bool all_trained(const Line&, Emit emit) {
    if (!run.open || !timeless) return false;
    end_well(emit);
    return true;
  }

  void arguments(const Line& line, Emit emit) {
    if (!has(line, "Namespace(") && !has(line, kDict)) return;
    end_training(emit);  // printed by each launch
    emit(kEvaluationRun);
    evaluations = {};
    epoch = -1;
    in_epoch = epochs_ended = 0;
    clock.take_evaluations();  // those of a launch that ended within an epoch
    evaluating_ranks.clear();
    started_byte = -1;
    newest_of_epoch = {};
    args = arguments_of(line);
  }

  // "args.num_buckets: 1, num_workers: 2, rank: 0": the workers among which the data is divided.
  void workers(const Line& line) {
    std::int64_t buckets = 0, workers = 0;
    if (!Cursor::after(line).read(buckets, ", num_workers: ", workers) || workers < 1 ||
        workers > 1'000'000) {
      return;
    }
    args.world = workers * args.devices;
    facts_due = true;
  }

  void predicts(const Line&, Emit emit) {
    predicting = true;
    // The first script for SQuAD prints no more of training, and no time of the prediction.
    if (run.open && closes_epoch && args.last_epoch(epoch)) end_well(emit);
  }

  // The line before the first step: `arrival` takes when it came as when that step began, which
  // else is in no rate by arrivals (+3 % of 800 steps whose first ten took six times as long).
  void started(const Line& line) { started_byte = line.end_byte; }
  void saved(const Line& line) { clock.saved(line.rank, stamp_of(line)); }

  void finish(Emit emit) { end_training(emit); }

  std::vector<int>::iterator evaluating(int rank) {
    return std::ranges::find(evaluating_ranks, rank);
  }

  /// The open training.
  struct Run {
    bool open = false, ended = false;
    IterationUnit unit{};
    RateUnit rate{};
    bool wall = false;                      ///< its clock is that of stamps
    std::int64_t step = 0;                  ///< newest
    Step first{};                           ///< its iterations known
    bool single = true;                     ///< no step after the first
    std::optional<std::int64_t> begin{};    ///< updates that an earlier launch did
    std::optional<std::int64_t> saved{};    ///< newest update that a checkpoint names
    std::optional<std::int64_t> counted{};  ///< newest step with a byte of its own
    double epochs_s = 0;                    ///< times of its epochs, together; 0: none yet
    double evaluations_s = 0;               ///< within it, between its lines
    double fewest = 0, most = 0;            ///< workers, by the tokens/s of one; most 0: unknown
  };
  Run run;
  /// The open evaluations together.
  struct Evaluations {
    bool open = false;
    std::int64_t step = 0;   ///< newest
    std::int64_t ended = 0;  ///< steps of those that ended
    double seconds = 0;      ///< of those that ended
  };
  Evaluations evaluations;

  Arguments args;          ///< of the newest launch
  bool facts_due = false;  ///< the open training does not have them all
  StampClock clock;
  std::int64_t base = 0, epoch = -1, total = 0;  ///< batches of the epochs before
  std::int64_t in_epoch = 0, iteration = 0;
  Step newest_of_epoch;       ///< of SQuAD's lines, that does not begin an epoch
  bool begins_epoch = false;  ///< the iterations of the record are known
  bool timeless = false;
  std::int64_t epochs_ended = 0;       ///< of the newest launch
  std::vector<int> evaluating_ranks;   ///< within an evaluation
  std::optional<int> evaluation_rank;  ///< whose evaluations count
  std::int64_t started_byte = -1;      ///< after the newest launch's started(); -1: not printed
  bool predicting = false;             ///< "start prediction" stands after the newest training line
  bool closes_epoch = false;  ///< the script that trains closes an epoch in prediction's words
};

constexpr Row kRows[] = {
    on<&Gluonnlp::arguments>("kvstore="),
    on<&Gluonnlp::arguments>("accumulate="),
    on<&Gluonnlp::arguments>("comm_backend="),
    on<&Gluonnlp::arguments>(kDict),
    on<&Gluonnlp::workers>("args.num_buckets: "),
    on<&Gluonnlp::begins_evaluation>("Running evaluation ..."),
    on<&Gluonnlp::begins_evaluation>("Using evaluation data at "),
    on<&Gluonnlp::evaluated>("Eval cost="),
    on<&Gluonnlp::predicts>("tart predict"),
    on<&Gluonnlp::started>("raining started"),  // as in mark_rules.cpp: one literal
    on<&Gluonnlp::saved>("params saved in: "),
    on<&Gluonnlp::pretraining>("tks/s"),
    on<&Gluonnlp::saving>("] Saving "),
    on<&Gluonnlp::trained>("Train cost="),
    on<&Gluonnlp::step_line>("Time cost="),
    on<&Gluonnlp::batch>("[Epoch "),
    on<&Gluonnlp::batch>("Time cost="),
    on<&Gluonnlp::batch>("Thoughput="),
    on<&Gluonnlp::batch>("samples/s"),
    on<&Gluonnlp::prediction>("Time cost="),
    on<&Gluonnlp::epoch_cost>("Time cost="),
    on<&Gluonnlp::validated>("[Epoch "),
    on<&Gluonnlp::all_trained>("Total training time is "),  // gluon-cv's depth
    on<&Gluonnlp::segmentation>(": training loss "),
};
constexpr Begin kRuns[] = {
    kTrainingRun, kEvaluationRun, {.track = kInference, .work = WorkKind::inference}};

}  // namespace

extern const Format entry{
    .name = "gluonnlp",
    .title = "MXNet gluon-nlp (pre-training, fine-tuning, translation), gluon-cv segmentation",
    .reference =
        "https://github.com/dmlc/gluon-nlp scripts/bert (run_pretraining.py, finetune_*.py)",
    .framework = "mxnet",
    .table = table_of<Gluonnlp>(kRows, kRuns)};

}  // namespace bertbench::format_gluonnlp
