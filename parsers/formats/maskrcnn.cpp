// maskrcnn: Mask R-CNN and SSD of NVIDIA's examples for PyTorch.
//
//   2020-06-23 19:32:31,883 maskrcnn_benchmark.trainer INFO: eta: 0:04:44  iter: 20  loss: 6.0406
//       (6.0744)  ...  time: 0.6120 (0.7480)  data: 0.0411 (0.0899)  lr: 0.000000  max mem: 7270
//   2020-06-23 19:36:26,782 maskrcnn_benchmark.trainer INFO: Total training time: 0:04:09.860771
//   ... Training perf is: 9.604610 FPS Training performance = 139.33584594726562 FPS (SSD, nothing
//   else)
//
// "time" is the median of the last 20 iterations and, in brackets, the mean of all: the clock of
// the stamps has the interval itself. The batch, IMS_PER_BATCH, is that of all GPUs. SSD's line
// "Done benchmarking. Total images: ..." counts those of one GPU: not taken.
#include <cmath>
#include <optional>
#include <string>

#include "parsers/format.h"
#include "parsers/runs/run_builder.h"
#include "parsers/text/argument_text.h"
#include "parsers/text/clock.h"
#include "parsers/text/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {"maskrcnn_benchmark", "'SOLVER.IMS_PER_BATCH', '",
                                         ":::MLLOG {",
                                         "Training perf is: ", "Training performance = "};

class MaskrcnnParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool see_step(const Line& line, RunBuilder& out);
  bool see_closing(const Line& line, RunBuilder& out);

  std::optional<double> batch_, gpus_;
  bool median_ = false;
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
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  draft.log.rate_unit = RateUnit::iterations_per_second;
  draft.log.clock_resolution_s = 1e-3;
  draft.log.clock_is_wall = true;
  median_ = true;
  return true;
}

bool MaskrcnnParser::see_closing(const Line& line, RunBuilder& out) {
  auto rate = number_after(line, "Training perf is: ");
  if (!rate) rate = number_after(line, "Training performance = ");
  Cursor cursor(line);
  if (rate && has(line, " FPS")) {
    RunDraft& draft = out.run(WorkKind::training, line.number);
    draft.log.summary = Stated{*rate, RateUnit::sequences_per_second, line.number};
    draft.ended_well = true;
    draft.last_line = line.number;
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

bool MaskrcnnParser::parse(const Line& line, RunBuilder& out) {
  mlperf_ = mlperf_ || has(line, ":::MLLOG {");
  if (mlperf_) return false;
  if (see_step(line, out) || see_closing(line, out)) return true;
  if (const auto n = number_after(line, "'SOLVER.IMS_PER_BATCH', '")) batch_ = *n;
  if (const auto n = number_after(line, "maskrcnn_benchmark INFO: Using ")) gpus_ = *n;
  return false;
}

void MaskrcnnParser::finish(RunBuilder& out) {
  out.facts.framework.set("pytorch", FactSource::log);
  for (const auto& draft : out.drafts()) {
    Facts& facts = draft->log.facts;
    const auto set = [](Fact<std::int64_t>& fact, const std::optional<double>& value) {
      if (value && *value >= 1 && *value < 1e9) {
        fact.set(static_cast<std::int64_t>(*value), FactSource::log);
      }
    };
    set(facts.global_batch_size, batch_);
    set(facts.world_size, gpus_);
    draft->log.notices.push_back({0, "sequences are images"});
    if (median_) {
      draft->log.notices.push_back(
          {0,
           "the printed time is the median of 20 iterations: its rate is none of work over time"});
    }
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<MaskrcnnParser>(); }

}  // namespace

extern const Format format_maskrcnn;
const Format format_maskrcnn = {
    "maskrcnn", "Mask R-CNN (maskrcnn_benchmark) and SSD of NVIDIA's examples for PyTorch",
    "https://github.com/NVIDIA/DeepLearningExamples PyTorch/Segmentation/MaskRCNN "
    "maskrcnn_benchmark/engine/trainer.py; PyTorch/Detection/SSD main.py",
    kAnchors, make};

}  // namespace bertbench
