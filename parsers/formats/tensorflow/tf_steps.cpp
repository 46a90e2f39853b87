// tf-steps: lines of single steps that TensorFlow's older loops and its Object Detection API print.
//
//   INFO:tensorflow:global step 60: loss = 7.3837 (2.239 sec/step)                    (TF-slim)
//   INFO:tensorflow:Step 3800 per-step time 0.766s loss=1.343    (Object Detection API, TF 2)
//   2017-03-28 14:51:04.380095: step 660, loss = 2.85 (729.8 examples/sec; 0.175 sec/batch)
//   2020-12-23 23:10:53,279 __main__    : INFO     Train step 1400 -- Loss: 11.167, MLM: 10.475,
//       SOP: 0.693, MLM_acc: 0.000, SOP_acc: 0.529 -- It/s: 1.69     (ALBERT of aws-samples, TF 2)
//   INFO:tensorflow:[500] | gnorm 0.53 lr 0.000010 | loss 7.12 | pplx 1240.11, bpc 10.27   (XLNet)
//
// TensorFlow hands each message to two loggers: see tf.cpp. Slim and the API time the one step in
// front of the line, however many lie between two lines: its rate is a sample, and the clock is the
// stamps'. The tutorials (CIFAR-10) time the interval, of all their GPUs; so does AWS's ALBERT.
#include <cmath>
#include <optional>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/format.h"
#include "parsers/lines/argument_text.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/tf_message.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {" sec/step)",  " per-step time ",
                                         " sec/batch)", "Finished training! Saving model",
                                         " -- It/s: ",  " | gnorm "};
constexpr std::int64_t kMost = 1'000'000'000'000;

struct Step {
  std::int64_t number = 0;
  std::optional<double> loss;
  double seconds = kUnknown;   ///< of one step
  double examples = kUnknown;  ///< examples/s
  double steps = kUnknown;     ///< steps/s of the interval
};

std::optional<double> above_zero(std::optional<double> value) {
  return value && *value > 0 && *value < 1e9 ? value : std::nullopt;
}

// "global step 60: loss = 7.3837 (2.239 sec/step)"
std::optional<Step> slim_step(Cursor cursor) {
  if (!cursor.literal("global step ")) return std::nullopt;
  const auto step = cursor.integer();
  if (!step || !cursor.literal(": loss = ")) return std::nullopt;
  Step out;
  out.number = *step;
  out.loss = cursor.number();
  if (!out.loss || !cursor.literal(" (")) return std::nullopt;
  const auto seconds = above_zero(cursor.number());
  if (!seconds || !cursor.literal(" sec/step)")) return std::nullopt;
  out.seconds = *seconds;
  return out;
}

// "Step 3800 per-step time 0.766s loss=1.343"; later releases tell their losses on other lines.
std::optional<Step> detection_step(const Line& said) {
  Cursor cursor(said);
  if (!cursor.literal("Step ")) return std::nullopt;
  const auto step = cursor.integer();
  if (!step || !cursor.literal(" per-step time ")) return std::nullopt;
  const auto seconds = above_zero(cursor.number());
  if (!seconds || !cursor.literal("s")) return std::nullopt;
  Step out;
  out.number = *step;
  out.seconds = *seconds;
  out.loss = number_after(said, " loss=");
  return out;
}

// "step 660, loss = 2.85 (729.8 examples/sec; 0.175 sec/batch)"
std::optional<Step> tutorial_step(const Line& line) {
  Cursor cursor(line);
  if (!cursor.skip_past(": step ")) return std::nullopt;
  const auto step = cursor.integer();
  if (!step || !cursor.literal(", loss = ")) return std::nullopt;
  Step out;
  out.number = *step;
  out.loss = cursor.number();
  if (!out.loss || !cursor.literal(" (")) return std::nullopt;
  const auto examples = above_zero(cursor.number());
  if (!examples || !cursor.literal(" examples/sec; ")) return std::nullopt;
  out.examples = *examples;
  return out;
}

// "Train step 1400 -- Loss: 11.167, ... -- It/s: 1.69"
std::optional<Step> albert_step(const Line& line) {
  Cursor cursor(line);
  if (!cursor.skip_past("Train step ")) return std::nullopt;
  const auto step = cursor.integer();
  const auto rate = above_zero(number_after(line, " -- It/s:"));
  if (!step || !rate || !cursor.literal(" -- Loss: ")) return std::nullopt;
  Step out;
  out.number = *step;
  out.loss = cursor.number();
  out.steps = *rate;
  return out;
}

// "[500] | gnorm 0.53 lr 0.000010 | loss 7.12 | pplx 1240.11, bpc 10.2724": the clock is the stamp.
std::optional<Step> xlnet_step(const Line& said) {
  Cursor cursor(said);
  if (!cursor.literal("[")) return std::nullopt;
  const auto step = cursor.integer();
  if (!step || !cursor.literal("] | gnorm ")) return std::nullopt;
  const auto loss = number_after(said, " | loss");
  if (!loss) return std::nullopt;
  Step out;
  out.number = *step;
  out.loss = loss;
  return out;
}

class TfStepsParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  void put(const Step& step, double time_s, double resolution_s, const Line& line, RunBuilder& out);

  std::int64_t step_ = -1;
  bool one_step_ = false;  ///< lines tell the time of one step of several
};

void TfStepsParser::put(const Step& step, double time_s, double resolution_s, const Line& line,
                        RunBuilder& out) {
  if (step.number < 0 || step.number > kMost || step.number == step_) return;
  Sample sample;
  sample.step = step.number;
  sample.iterations = step_ >= 0 && step.number > step_ ? step.number - step_ : 1;
  const bool examples = !std::isnan(step.examples);
  const bool intervals = examples || !std::isnan(step.steps);
  if (!intervals && sample.iterations == 1 && step.number == step_ + 1) {
    sample.seconds = step.seconds;
  }
  one_step_ = one_step_ || (step.seconds > 0 && !intervals && sample.iterations > 1);
  sample.rate = examples ? step.examples : intervals ? step.steps : 1 / step.seconds;
  sample.time_s = time_s;
  sample.loss = step.loss;
  sample.line = line.number;
  sample.rank = line.rank;
  step_ = step.number;
  RunDraft& draft = out.add(WorkKind::training, sample);
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  draft.log.rate_unit = examples ? RateUnit::sequences_per_second : RateUnit::iterations_per_second;
  draft.log.clock_resolution_s = resolution_s;
  draft.log.clock_is_wall = true;
  draft.ended_well = false;
}

bool TfStepsParser::parse(const Line& line, RunBuilder& out) {
  const auto message = tf_message(line.text);
  if (!message) {
    auto step = tutorial_step(line);
    if (!step) step = albert_step(line);
    if (!step) return false;
    put(*step, date_time(line.text).value_or(kUnknown), 1e-3, line, out);
    return true;
  }
  const Line said{message->text, line.number, line.terminator, line.rank};
  if (said.text.starts_with("Finished training! Saving model")) {
    RunDraft* run = out.open(WorkKind::training);
    if (run == nullptr) return false;
    run->ended_well = true;
    run->last_line = line.number;
    return true;
  }
  auto step = slim_step(Cursor(said));
  if (!step) step = detection_step(said);
  if (!step) step = xlnet_step(said);
  if (!step) return false;
  if (RunDraft* run = out.open(WorkKind::training);
      run != nullptr && run->last() != nullptr && step->number == step_) {
    // The message's second copy: of the two, absl's has a stamp.
    if (message->absl && std::isnan(run->last()->time_s)) {
      Sample stamp;
      stamp.step = step_;
      stamp.time_s = message->time_s;
      stamp.line = line.number;
      stamp.rank = line.rank;
      run->add(stamp);
    }
    return true;
  }
  put(*step, message->time_s, 1e-6, line, out);
  return true;
}

void TfStepsParser::finish(RunBuilder& out) {
  out.facts.framework.set("tensorflow", FactSource::log);
  if (!one_step_) return;
  for (const auto& draft : out.drafts()) {
    draft->log.notices.push_back(foreign_notice(
        0,
        "a line's time is that of the one step in front of it, not of all since the line before: "
        "printed rates are a sample"));
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<TfStepsParser>(); }

}  // namespace

extern const Format format_tf_steps;
const Format format_tf_steps = {
    "tf-steps", "TF-slim, TensorFlow's Object Detection API and tutorials: times of single steps",
    "tf_slim/learning.py (train_step); tensorflow/models "
    "research/object_detection/model_lib_v2.py; "
    "tutorials/image/cifar10",
    kAnchors, make};

}  // namespace bertbench
