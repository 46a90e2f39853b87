// paddle: training lines of PaddlePaddle's BERT (PaddleNLP) and lines like them.
//
//   total step: 420, epoch: 0, batch: 419, loss: 10.8, avg_reader_cost: 0.00009 sec,
//       avg_batch_cost: 0.14328 sec, avg_samples: 96.00000, ips: 669.60702 sequences/sec
//   tobal step: 410, epoch: ...                           (so spelt in multi-node revisions)
//   [date] [    INFO] - step_idx: 100, epoch: 0, batch: 100, avg loss: 8.1, ...
//       avg_speed: 6.62 step/s
//   global step 10, epoch: 0, batch: 9, loss: 10.9, ... avg_batch_cost: 0.5 sec, ... ips: ...
//   global step: 10, epoch: 0, batch: 9, ...                          (BERT since PaddleNLP 2.3)
//   global step 100, epoch: 1, batch: 99, loss: 0.5, speed: 2.34 step/s               (fine-tuning)
//   epoch: 1, progress: 1/1, step: 30, loss: 10.5, ..., speed: 0.849662 steps/s, file: ...  (ERNIE)
//   [train][1] progress: 1/1 step: 100, time: 6.095, speed: 16.406 steps/s                 (Knover)
//   [date] [   TRAIN] - step 10 / 231: loss=0.82945 f1=0.37425 [step/sec: 4.88]         (PaddleHub)
//   [date] [   TRAIN] - Epoch=1/3, Step=10/77 loss=0.8 lr=0.000050 step/sec=6.19 | ETA 00:03:46
//   date - INFO - Epoch: 0, using time 345.59 second, ips 15914.49 example/sec.       (PaddleRec)
//
// ips is avg_samples / avg_batch_cost of ONE card. A step is the job's all the same: the printed
// rate is kept as steps/s, so that the sequences of the whole job follow from micro batch and
// cards. A step is a micro-step; with gradient merge every so many of them are slower.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "parsers/assemble/rank_copies.h"
#include "parsers/assemble/run_builder.h"
#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/formats/paddle/paddle_launch.h"
#include "parsers/formats/paddle/paddle_speeds.h"
#include "parsers/lines/argument_text.h"
#include "parsers/lines/cursor.h"
#include "parsers/scan/byte_search.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {"avg_batch_cost:",
                                         "avg_speed: ",
                                         "paddle.distributed.",
                                         " step/s",
                                         "gradient_merge_steps",
                                         "run_pretrain.py",
                                         " second, ips ",
                                         " steps/s",
                                         "[step/sec: ",
                                         " step/sec=",
                                         "] Local processes completed.",
                                         "] trainers: ",
                                         "training_script_args: ["};

class PaddleParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool see_step(const Line& line, RunBuilder& out);
  bool see_global_step(std::int64_t step, const Line& line, RunBuilder& out);
  bool see_epoch_batch(Cursor& cursor, const Line& line, RunBuilder& out);
  bool see_speed(const Line& line, RunBuilder& out);
  bool see_epoch(const Line& line, RunBuilder& out);
  void see_batch(double ips, double speed, RunLog& run);
  RunDraft& put(Sample sample, RunBuilder& out);
  void see_words(const Line& line, std::optional<double> ips, double seconds,
                 const RunDraft& draft);
  void put_first(std::int64_t iterations, RunBuilder& out);

  PaddleLaunch launch_;
  std::optional<Sample> first_;
  struct Words {
    double words = 0, seconds = 0;
  };
  std::map<const RunDraft*, Words> words_of_;  ///< those that ips counts
  double told_ = 0, taken_ = 0;  ///< samples of all lines: as told, and by the micro batch
  std::int64_t last_step_ = -1, epoch_ = -1, base_ = 0;
  std::int64_t example_epoch_ = -1;
  RankCopies ranks_;
  bool per_card_ = false, words_ = false, ernie_ = false, rough_ = false;
};

// The first line of a log may stand for many steps or, after a resume, for few: the distance to the
// second one tells. Until then it waits.
void PaddleParser::put_first(std::int64_t iterations, RunBuilder& out) {
  if (!first_) return;
  Sample sample = *first_;
  first_.reset();
  sample.iterations =
      std::clamp<std::int64_t>(iterations, 1, std::max<std::int64_t>(1, sample.step));
  sample.seconds *= static_cast<double>(sample.iterations);
  out.run(WorkKind::training, sample.line).add(sample);
}

RunDraft& PaddleParser::put(Sample sample, RunBuilder& out) {
  if (ranks_.is_copy(sample.rank, sample.step <= last_step_)) {
    return out.run(WorkKind::training, sample.line);
  }
  if (out.open(WorkKind::training) != nullptr && sample.step < last_step_) {
    put_first(1, out);
    out.close(WorkKind::training);
    last_step_ = -1;
  }
  RunDraft& draft = out.run(WorkKind::training, sample.line);
  draft.log.iteration_unit = IterationUnit::micro_step;
  draft.log.rate_unit = RateUnit::iterations_per_second;
  launch_.give_to(draft.log.facts);  // as told by now: the file's next launch may have others
  if (launch_.max_steps()) draft.planned = launch_.max_steps();
  if (last_step_ < 0) {
    first_ = sample;
  } else {
    sample.iterations = std::max<std::int64_t>(1, sample.step - last_step_);
    put_first(sample.iterations, out);
    sample.seconds *= static_cast<double>(sample.iterations);  // was of one step
    draft.add(sample);
  }
  last_step_ = sample.step;
  return draft;
}

// Words of a batch without a fixed length are no sequences: what ips says of them is told.
void PaddleParser::see_words(const Line& line, std::optional<double> ips, double seconds,
                             const RunDraft& draft) {
  if (!has(line, "words/sec") && !has(line, "word/sec")) return;
  words_ = true;
  if (!ips || !(*ips > 0 && *ips < 1e12) || !(seconds > 0)) return;
  Words& of = words_of_[&draft];
  of.words += *ips * seconds;
  of.seconds += seconds;
}

bool PaddleParser::see_step(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (Cursor train(line); train.skip_past("[train] epoch: ")) {
    return see_epoch_batch(train, line, out);
  }
  const bool global = cursor.skip_past("global step ") || cursor.skip_past("global step: ");
  if (!global && !cursor.skip_past("total step: ") && !cursor.skip_past("tobal step: ")) {
    return false;
  }
  const auto step = cursor.integer();
  if (global && step && *step >= 0 && !number_after(line, "avg_samples:")) {
    return see_global_step(*step, line, out);
  }
  const auto cost = number_after(line, "avg_batch_cost:");
  const auto samples = number_after(line, "avg_samples:");
  const auto ips = number_after(line, "ips:");
  if (!step || *step < 0 || !cost || !samples || !(*samples >= 1 && *samples < 1e9) || !ips) {
    return false;
  }
  Sample sample;
  sample.step = *step;
  sample.seconds = *cost;
  sample.loss = number_after(line, ", loss:");
  sample.line = line.number;
  sample.rank = line.rank;
  const bool sequences =
      has(line, "sequences/sec") || has(line, " sample/sec") || has(line, " samples/sec");
  if (sequences) sample.rate = *ips / *samples;
  RunDraft& draft = put(sample, out);
  // PaddleNLP's other scripts count optimizer steps or batches, by script.
  if (global) draft.log.iteration_unit = IterationUnit::unknown;
  see_words(line, ips, *cost, draft);
  per_card_ = true;
  auto& micro = draft.log.facts.micro_batch_size;
  if (sequences && !micro.known() && *samples == std::floor(*samples)) {
    micro.set(static_cast<std::int64_t>(*samples), FactSource::log);
  }
  if (micro.known()) {
    told_ += *samples;
    taken_ += static_cast<double>(*micro.value);
  }
  return true;
}

// Without samples: "speed: 2.34 step/s", in language models next to tokens/s of one card and of
// all.
bool PaddleParser::see_global_step(std::int64_t step, const Line& line, RunBuilder& out) {
  const auto speed = paddle_speed_after(line, ", speed:");
  const auto cost = number_after(line, "avg_batch_cost:");
  const bool steps = find_text(line.text, "step/s") != std::string_view::npos ||
                     find_text(line.text, "steps/s") != std::string_view::npos;
  if (!cost && !(speed && steps)) return false;
  Sample sample;
  sample.step = step;
  if (cost && *cost > 0) sample.seconds = *cost;
  if (speed && steps) sample.rate = speed->value;
  rough_ = rough_ || (speed && steps && speed->rough && !(sample.seconds > 0));
  sample.loss = number_after(line, "loss:");
  sample.line = line.number;
  sample.rank = line.rank;
  RunDraft& draft = put(sample, out);
  draft.log.iteration_unit = IterationUnit::unknown;
  const auto ips = number_after(line, {" ips:", " ips :"});  // the latter the first revision's
  if (!cost && ips && speed && find_text(line.text, " sequences/s") != std::string_view::npos) {
    see_batch(*ips, speed->value, draft.log);
  }
  return true;
}

// BERT of 2020: "speed: 4.23 step/s, ips: 135.26 sequences/s", of one card: the batch follows where
// the digits leave but one.
void PaddleParser::see_batch(double ips, double speed, RunLog& run) {
  constexpr double kHalfDigit = 0.005;
  auto& micro = run.facts.micro_batch_size;
  if (!micro.known() && speed > kHalfDigit && ips > kHalfDigit) {
    const double least = (ips - kHalfDigit) / (speed + kHalfDigit);
    const double most = (ips + kHalfDigit) / (speed - kHalfDigit);
    const double batch = std::ceil(least);
    if (batch <= most && most < batch + 1 && most < 1e9) {
      micro.set(static_cast<std::int64_t>(batch), FactSource::log);
    }
  }
  if (micro.known()) run.iteration_unit = IterationUnit::micro_step;
  per_card_ = true;
}

// PaddleFleetX: "[train] epoch: 0, batch: 10, loss: 10.9, avg_batch_cost: 0.50 sec, ...";
// since 2022 "[train] epoch: [0/1], batch: [10/500000], ...".
bool PaddleParser::see_epoch_batch(Cursor& cursor, const Line& line, RunBuilder& out) {
  const bool of = cursor.literal("[");
  const auto epoch = cursor.integer();
  if (of && !(cursor.literal("/") && cursor.integer() && cursor.literal("]"))) return false;
  if (!epoch || !cursor.literal(of ? ", batch: [" : ", batch: ")) return false;
  const auto batch = cursor.integer();
  if (!batch || *batch < 0 || *batch > 1'000'000'000'000 || *epoch < 0) return false;
  if (*epoch != epoch_)
    base_ = epoch_ >= 0 && *epoch > epoch_ ? std::max<std::int64_t>(0, last_step_) : 0;
  epoch_ = *epoch;
  return see_global_step(base_ + *batch + 1, line, out);
}

// What a step counts is not told on these lines. The losses of Knover and PaddleHub's second
// release stand apart or as "loss=".
bool PaddleParser::see_speed(const Line& line, RunBuilder& out) {
  const auto said = read_paddle_speed_line(line);
  if (!said) return false;
  Sample sample;
  sample.step = said->step;
  sample.rate = said->speed.value;
  sample.seconds = said->seconds;
  rough_ = rough_ || (said->speed.rough && !(sample.seconds > 0));
  sample.loss = number_after(line, {"loss:", " loss="});
  sample.line = line.number;
  sample.rank = line.rank;
  RunDraft& draft = put(sample, out);
  draft.log.iteration_unit = IterationUnit::unknown;
  if (said->planned) draft.planned = *said->planned;
  see_words(line, number_after(line, "ips:"), sample.seconds, draft);
  ernie_ = ernie_ || said->ernie;
  return true;
}

// The end of an epoch of PaddleRec on parameter servers: its ips is that of all threads of the
// trainer that prints it, where the lines of batches are of one thread.
bool PaddleParser::see_epoch(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("Epoch: ")) return false;
  const auto epoch = cursor.integer();
  if (!epoch || *epoch < 0 || *epoch > 1'000'000'000) return false;
  if (example_epoch_ >= 0 && cursor.literal(", Batch: ") &&
      out.open(WorkKind::training) != nullptr) {
    out.open(WorkKind::training)->ended_well = false;
  }
  if (!cursor.literal(", using time ")) return false;
  const auto seconds = cursor.number();
  const auto ips = number_after(line, " second, ips ");
  const bool words = has(line, "word/sec");
  if (!words && !(has(line, " example/sec") && ips && *ips > 0 && *ips < 1e12)) return false;
  const bool first = example_epoch_ < 0;
  if (!words && *epoch <= std::exchange(example_epoch_, *epoch)) out.close(WorkKind::training);
  RunDraft& draft = out.run(WorkKind::training, line.number);
  draft.ended_well = true;
  draft.last_line = line.number;
  if (words) {
    see_words(line, ips, seconds.value_or(kUnknown), draft);
    return true;
  }
  Sample sample;
  sample.step = *epoch + 1;
  sample.iterations = 1;
  const auto trainers = launch_.trainers();
  if (trainers) sample.rate = *ips * static_cast<double>(*trainers);
  sample.line = line.number;
  sample.rank = line.rank;
  draft.add(sample);
  draft.log.rate_unit = RateUnit::sequences_per_second;
  if (first) {
    draft.log.notices.push_back(
        trainers
            ? make_notice(NoticeCode::rate_of_one_trainer_multiplied, line.number, *ips, *trainers)
            : make_notice(NoticeCode::rate_of_one_trainer_left_out, line.number, *ips));
  }
  return true;
}

bool PaddleParser::parse(const Line& line, RunBuilder& out) {
  if (see_step(line, out) || see_speed(line, out) || see_epoch(line, out)) return true;
  launch_.see(line);
  RunDraft* run = out.open(WorkKind::training);
  if (run != nullptr && has(line, "] Local processes completed.")) run->ended_well = true;
  return false;
}

void PaddleParser::finish(RunBuilder& out) {
  put_first(1, out);
  out.facts.framework.set("paddle", FactSource::log);
  if (launch_.ended_well() && out.drafts().size() == 1) out.drafts()[0]->ended_well = true;
  for (const auto& draft : out.drafts()) {
    Facts& facts = draft->log.facts;
    if (out.drafts().size() == 1 || !facts.world()) launch_.give_to(facts);
    if (!draft->planned) draft->planned = launch_.max_steps();
    if (per_card_ && !words_ && !facts.world()) {
      draft->log.notices.push_back(make_notice(NoticeCode::rate_of_one_gpu, 0, "ips"));
    }
    const auto& micro = facts.micro_batch_size;
    if (micro.known() && told_ > 0 && std::abs(told_ - taken_) > 0.01 * taken_) {
      draft->log.notices.push_back(make_notice(
          NoticeCode::samples_vary, 0, told_ / taken_ * static_cast<double>(*micro.value),
          100 * std::abs(taken_ / told_ - 1), taken_ > told_ ? "many" : "few"));
    }
    if (ernie_ && !(facts.nodes.known() && *facts.nodes.value == 1)) {
      draft->log.notices.push_back(make_notice(NoticeCode::rate_multiplied_by_nodes, 0));
    }
    if (rough_) {
      draft->log.notices.push_back(
          make_notice(NoticeCode::times_too_coarse, 0, "the speed of some lines"));
    }
    if (words_) {
      std::string words = "the words of one trainer";
      if (const auto of = words_of_.find(draft.get()); of != words_of_.end()) {
        words += fmt::format(", {:.6g} a second over these lines",
                             of->second.words / of->second.seconds);
      }
      draft->log.notices.push_back(make_notice(NoticeCode::counts_tokens, 0, "ips", words,
                                               "no rate of sequences is taken from it"));
    }
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<PaddleParser>(); }

}  // namespace

extern const Format format_paddle;
const Format format_paddle = {"paddle", "PaddlePaddle, PaddleNLP: ips of one card, steps/s",
                              "https://github.com/PaddlePaddle/PaddleNLP "
                              "examples/language_model/bert/static/run_pretrain.py",
                              kAnchors, make};

}  // namespace bertbench
