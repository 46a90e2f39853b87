// maskrcnn: Mask R-CNN and SSD of NVIDIA's examples for PyTorch, and Detectron2.
//
//   2020-06-23 19:32:31,883 maskrcnn_benchmark.trainer INFO: eta: 0:04:44  iter: 20  loss: 6.0406
//       (6.0744)  ...  time: 0.6120 (0.7480)  data: 0.0411 (0.0899)  lr: 0.000000  max mem: 7270
//   2020-06-23 19:36:26,782 maskrcnn_benchmark.trainer INFO: Total training time: 0:04:09.860771
//   [11/01 11:27:04 d2.utils.events]: eta: 8:05:12  iter: 1259  total_loss: 1.012  loss_cls: 0.714
//       time: 0.3322  data_time: 0.0334  lr: 0.01  max_mem: 3961M (Detectron2)
//   [11/01 19:27:04 d2.engine.hooks]: Overall training speed: 89997 iterations in 8:18:19
//       (0.3322 s / it)
//   ... Training perf is: 9.604610 FPS
//   ... Training performance = 139.33584594726562 FPS                        (SSD, nothing else)
//
// "time" is the median of the last 20 iterations and, in brackets, the mean of all: the clock of
// the stamps has the interval itself. Detectron2's is the mean since the run began, its counter
// begins at 0. The batch, IMS_PER_BATCH, is that of all GPUs; a configuration is shown twice, as
// the file has it and as the arguments left it, and behind the solver's batch stands the test's.
// SSD's line "Done benchmarking. Total images: ..." counts those of one GPU: not taken, yet where
// these lines add up to the rate of all GPUs, one was printed for each.
#include <cmath>
#include <optional>
#include <string>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/format.h"
#include "parsers/lines/argument_text.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {
    "maskrcnn_benchmark",  "IMS_PER_BATCH",        ":::MLLOG {",
    " d2.utils.events]: ", "Training perf is: ",   "Training performance = ",
    " d2.engine.hooks]: ", "  eval batch size : ", "Done benchmarking. "};

class MaskrcnnParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool see_step(const Line& line, RunBuilder& out);
  bool see_detectron(const Line& line, RunBuilder& out);
  bool see_overall(const Line& line, RunBuilder& out);
  bool see_closing(const Line& line, RunBuilder& out);
  bool see_ssd(const Line& line, RunBuilder& out);
  void see_batch(const Line& line);
  void tell(Facts& facts) const;

  std::optional<double> batch_, gpus_;
  std::optional<double> each_;            ///< SSD's batch, of one GPU
  double medians_ = 0, benchmarked_ = 0;  ///< SSD's GPUs so far: their rates together, their number
  bool amp_ = false;
  bool argument_ = false;  ///< the batch is an argument's: it overrides the configuration's
  /// Whose IMS_PER_BATCH comes next in a configuration; Detectron2 has but the solver's.
  enum class Pair { none, solver, test } pair_ = Pair::none;
  bool median_ = false, mean_ = false;
  double wrap_s_ = 0, newest_s_ = kUnknown;
  bool mlperf_ = false;  ///< a submission: its own statements tell more
};

bool MaskrcnnParser::see_step(const Line& line, RunBuilder& out) {
  const auto step = number_after(line, "  iter: ");
  const auto median = number_after(line, "  time: ");
  const auto time = date_time(line.text);
  if (!has(line, ".trainer INFO: eta: ") || !step || !median || !time ||
      !(*step >= 1 && *step < 1e12)) {
    return false;
  }
  Sample sample;
  sample.step = static_cast<std::int64_t>(*step);
  sample.time_s = *time;
  sample.loss = number_after(line, "  loss: ");
  if (*median > 0) sample.rate = 1 / *median;
  sample.line = line.number;
  sample.rank = line.rank;
  RunDraft& draft = out.add(WorkKind::training, sample);
  tell(draft.log.facts);  // as told by now: a file's next launch may have others
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  draft.log.rate_unit = RateUnit::iterations_per_second;
  draft.log.clock_resolution_s = 1e-3;
  draft.log.clock_is_wall = true;
  median_ = true;
  return true;
}

// "[11/01 11:27:04 d2..." names no year.
double detectron_time(const Line& line, std::size_t behind) {
  const auto bracket = line.text.rfind('[', behind);
  if (bracket == std::string_view::npos || behind - bracket != 15 ||
      line.text[bracket + 3] != '/') {
    return kUnknown;
  }
  std::string stamp = "2000-" + std::string(line.text.substr(bracket + 1, 14));
  stamp[7] = '-';
  return date_time(stamp).value_or(kUnknown);
}

bool MaskrcnnParser::see_detectron(const Line& line, RunBuilder& out) {
  const auto behind = line.text.find(" d2.utils.events]: ");
  const auto step = number_after(line, "  iter: ");
  if (behind == std::string_view::npos || !step || !(*step >= 0 && *step < 1e12)) return false;
  Sample sample;
  sample.step = static_cast<std::int64_t>(*step) + 1;
  constexpr double kYear = 366.0 * 86400;
  const double time = detectron_time(line, behind);
  if (newest_s_ - (time + wrap_s_) > kYear / 2) wrap_s_ += kYear;
  sample.time_s = newest_s_ = time + wrap_s_;
  sample.loss = number_after(line, "  total_loss: ");
  if (const auto mean = number_after(line, "  time: "); mean && *mean > 0) sample.rate = 1 / *mean;
  sample.line = line.number;
  sample.rank = line.rank;
  RunDraft& draft = out.add(WorkKind::training, sample);
  tell(draft.log.facts);
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  draft.log.rate_unit = RateUnit::iterations_per_second;
  draft.log.clock_resolution_s = 1;
  draft.log.clock_is_wall = true;
  mean_ = true;
  return true;
}

// "Overall training speed: 89997 iterations in 8:18:19 (0.3322 s / it)": the loop without its
// hooks.
bool MaskrcnnParser::see_overall(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("Overall training speed: ")) return false;
  const auto iterations = cursor.integer();
  RunDraft* draft = out.open(WorkKind::training);
  if (!iterations || *iterations < 1 || *iterations > 1'000'000'000'000 || draft == nullptr ||
      !cursor.literal(" iterations in ") || !cursor.skip_past("(")) {
    return false;
  }
  const auto each = cursor.number();
  if (!each || !(*each > 0) || !cursor.literal(" s / it)")) return false;
  draft->log.totals.iterations = *iterations;
  draft->log.totals.training_s = *each * static_cast<double>(*iterations);
  draft->log.summary = Stated{1 / *each, RateUnit::iterations_per_second, line.number};
  draft->ended_well = true;
  draft->last_line = line.number;
  return true;
}

bool MaskrcnnParser::see_closing(const Line& line, RunBuilder& out) {
  auto rate = number_after(line, {"Training perf is: ", "Training performance = "});
  Cursor cursor(line);
  if (rate && has(line, " FPS")) {
    RunDraft& draft = out.run(WorkKind::training, line.number);
    draft.log.summary = Stated{*rate, RateUnit::sequences_per_second, line.number};
    draft.ended_well = true;
    draft.last_line = line.number;
    if (benchmarked_ > 0) gpus_.reset();
    if (std::abs(medians_ / *rate - 1) < 1e-4) gpus_ = benchmarked_;
    medians_ = benchmarked_ = 0;
    if (each_) tell(draft.log.facts);
    return true;
  }
  if (cursor.skip_past(".trainer INFO: Total training time: ")) {
    const auto seconds = cursor.duration();
    RunDraft* draft = out.open(WorkKind::training);
    if (!seconds || draft == nullptr) return false;
    draft->log.totals.training_s = *seconds;
    draft->ended_well = true;
    draft->last_line = line.number;
    return true;
  }
  return false;
}

// "DLL 2022-11-18 00:29:48.925775 - PARAMETER dataset path : /data/object_detection  epochs : 1
// batch size : 448  eval batch size : 32 ... AMP : True  precision : amp"; every rank says so.
bool MaskrcnnParser::see_ssd(const Line& line, RunBuilder& out) {
  if (has(line, "  eval batch size : ")) {
    if (!has(line, " - PARAMETER ")) return false;
    const RunDraft* before = out.open(WorkKind::training);
    if (before != nullptr && before->log.summary) out.close(WorkKind::training);
    each_ = number_after(line, "  batch size : ");
    amp_ = has(line, " AMP : True ");
    return true;
  }
  if (!has(line, "Done benchmarking. ")) return false;
  if (const auto median = number_after(line, "Median images/sec: "); median && *median > 0) {
    medians_ += *median;
    benchmarked_ += 1;
  }
  return false;
}

void MaskrcnnParser::see_batch(const Line& line) {
  if (const auto n = number_after(line, "'SOLVER.IMS_PER_BATCH', '")) {
    batch_ = *n;
    argument_ = true;
  }
  if (has(line, "maskrcnn_benchmark INFO: ")) pair_ = Pair::solver;
  const auto told = number_after(line, " IMS_PER_BATCH:");
  if (!told) return;
  if (pair_ != Pair::test && !argument_) batch_ = *told;
  if (pair_ == Pair::solver) pair_ = Pair::test;
}

bool MaskrcnnParser::parse(const Line& line, RunBuilder& out) {
  mlperf_ = mlperf_ || has(line, ":::MLLOG {");
  if (mlperf_) return false;
  if (see_step(line, out) || see_detectron(line, out) || see_overall(line, out) ||
      see_closing(line, out) || see_ssd(line, out)) {
    return true;
  }
  see_batch(line);
  if (const auto n = number_after(line, "maskrcnn_benchmark INFO: Using ")) gpus_ = *n;
  return false;
}

void MaskrcnnParser::tell(Facts& facts) const {
  const auto set = [](Fact<std::int64_t>& fact, const std::optional<double>& value) {
    if (value && *value >= 1 && *value < 1e9) {
      fact.set(static_cast<std::int64_t>(*value), FactSource::log);
    }
  };
  set(facts.global_batch_size, batch_);
  set(facts.micro_batch_size, each_);
  if (each_) facts.gradient_accumulation_steps.set(1, FactSource::log);  // SSD knows no other
  set(facts.world_size, gpus_);
  if (amp_) facts.precision.set("fp16", FactSource::log);
}

void MaskrcnnParser::finish(RunBuilder& out) {
  out.facts.framework.set("pytorch", FactSource::log);
  if (out.drafts().empty()) tell(out.facts);  // failed before its first iteration
  for (const auto& draft : out.drafts()) {
    Facts& facts = draft->log.facts;
    const bool told = facts.global_batch_size.known() || facts.world_size.known();
    if (!facts.micro_batch_size.known() && (out.drafts().size() == 1 || !told)) tell(facts);
    draft->log.notices.push_back(make_notice(NoticeCode::unit_of_sequences, 0, "images"));
    if (mean_) {
      draft->log.notices.push_back(
          make_notice(NoticeCode::rate_is_mean_of_window, 0, "the printed time", "the run so far"));
    }
    if (median_) {
      draft->log.notices.push_back(make_notice(NoticeCode::rate_is_median, 0, 20));
    }
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<MaskrcnnParser>(); }

}  // namespace

extern const Format format_maskrcnn;
const Format format_maskrcnn = {
    "maskrcnn",
    "Mask R-CNN (maskrcnn_benchmark) and SSD of NVIDIA's examples for PyTorch, Detectron2",
    "https://github.com/NVIDIA/DeepLearningExamples PyTorch/Segmentation/MaskRCNN "
    "maskrcnn_benchmark/engine/trainer.py; PyTorch/Detection/SSD main.py",
    kAnchors, make};

}  // namespace bertbench
