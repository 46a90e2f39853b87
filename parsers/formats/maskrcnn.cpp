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
// the file has it and as the arguments left it, and after the solver's batch stands the test's.
// SSD's line "Done benchmarking. Total images: ..." counts those of one GPU: not taken, yet where
// these lines add up to the rate of all GPUs, one was printed for each.
#include <cmath>
#include <optional>
#include <utility>

#include "parsers/formats/format.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"

namespace bertbench::format_maskrcnn {
namespace {

constexpr Begin kRuns[] = {{}};

struct Maskrcnn {
  bool mask_rcnn(const Line& line, Emit emit) {
    Cursor closing(line);
    if (closing.skip_past(".trainer INFO: Total training time: ")) {
      const auto seconds = closing.duration();
      if (!seconds || !median) return false;
      emit(Statement{.totals = {.training_s = seconds}});
      emit(End{});
      return true;
    }
    if (has(line, "maskrcnn_benchmark INFO: ")) pair = Pair::solver;
    if (const auto n = size_after(line, "maskrcnn_benchmark INFO: Using ")) gpus = n;
    const auto step = count_after(line, "  iter: ");
    const auto middle = number_after(line, "  time: ");
    const auto time = date_time(line.text);
    if (!has(line, ".trainer INFO: eta: ") || !step || *step < 1 || !middle || !time) return false;
    median = true;
    emit(Step{.step = *step,
              .time_s = *time,
              .rate = *middle > 0 ? 1 / *middle : kUnknown,
              .loss = number_after(line, "  loss: "),
              .unit = IterationUnit::optimizer_step,
              .rate_unit = RateUnit::iterations_per_second,
              .clock = Clock{1e-3, true}});
    return true;
  }

  bool detectron(const Line& line, Emit emit) {
    const auto step = count_after(line, "  iter: ");
    if (!step) return false;
    const auto each_s = number_after(line, "  time: ");
    mean = true;
    emit(Step{.step = *step + 1,
              .time_s = front_time(line.text),  // "[11/01 11:27:04 d2..." names no year
              .rate = each_s && *each_s > 0 ? 1 / *each_s : kUnknown,
              .loss = number_after(line, "  total_loss: "),
              .unit = IterationUnit::optimizer_step,
              .rate_unit = RateUnit::iterations_per_second,
              .clock = Clock{.resolution_s = 1, .wall = true, .no_year = true}});
    return true;
  }

  // "Overall training speed: 89997 iterations in 8:18:19 (0.3322 s / it)": the loop without its
  // hooks.
  bool overall(const Line& line, Emit emit) {
    std::int64_t iterations = 0;
    double each_s = 0;
    if (!Cursor(line).read(Past{"Overall training speed: "}, iterations, " iterations in ",
                           Past{"("}, each_s, " s / it)") ||
        iterations < 1 || !(each_s > 0) || !mean) {
      return false;
    }
    emit(Statement{.summary = Stated{1 / each_s, RateUnit::iterations_per_second},
                   .totals = {.training_s = each_s * static_cast<double>(iterations),
                              .iterations = iterations}});
    emit(End{});
    return true;
  }

  bool closing(const Line& line, Emit emit) {
    double rate = 0;
    if (!Cursor::after(line).read(kBlanks, rate) || !has(line, " FPS")) return false;
    if (benchmarked > 0) gpus.reset();
    if (std::abs(medians / rate - 1) < kSumRounding) gpus = benchmarked;
    medians = 0;
    benchmarked = 0;
    closed = true;
    emit(Statement{.of = Of::begun, .summary = Stated{rate, RateUnit::sequences_per_second}});
    emit(End{});
    return true;
  }

  // "DLL 2022-11-18 00:29:48.925775 - PARAMETER dataset path : /data/object_detection  epochs : 1
  // batch size : 448  eval batch size : 32 ... AMP : True  precision : amp"; every rank prints it.
  bool ssd(const Line& line, Emit emit) {
    if (!has(line, " - PARAMETER ")) return false;
    if (std::exchange(closed, false)) emit(Begin{kRuns[0]});
    each = size_after(line, "  batch size : ");
    amp = has(line, " AMP : True ");
    return true;
  }

  void ssd_rank(const Line& line) {
    const auto rate = number_after(line, "Median images/sec: ");
    if (!rate || !(*rate > 0)) return;
    medians += *rate;
    ++benchmarked;
  }

  void batch(const Line& line) {
    if (const auto n = size_after(line, "'SOLVER.IMS_PER_BATCH', '")) {
      global_batch = n;
      argument = true;
    }
    const auto n = size_after(line, " IMS_PER_BATCH:");
    if (!n) return;
    if (pair != Pair::test && !argument) global_batch = n;
    if (pair == Pair::solver) pair = Pair::test;
  }

  void facts(Facts& facts) const {
    facts.global_batch_size.set(global_batch, FactSource::log);
    if (each) {
      facts.micro_batch_size.set(*each, FactSource::log);
      facts.gradient_accumulation_steps.set(1, FactSource::log);  // SSD knows no other
    }
    facts.world_size.set(gpus, FactSource::log);
    if (amp) facts.precision.set("fp16", FactSource::log);
  }

  void finish(Emit emit) const {
    if (mlperf) emit(Withdraw{});
    emit.note(NoticeCode::unit_of_sequences, "images");
    if (mean) emit.note(NoticeCode::rate_is_mean_of_window, "the printed time", "the run so far");
    if (median) emit.note(NoticeCode::rate_is_median, 20);
  }

  /// Of a sum of rates of six digits, relative.
  static constexpr double kSumRounding = 1e-4;

  std::optional<std::int64_t> global_batch, gpus;
  std::optional<std::int64_t> each;  ///< SSD's batch, of one GPU
  double medians = 0;                ///< SSD's GPUs so far: their rates together, their number
  std::int64_t benchmarked = 0;
  bool closed = false;  ///< SSD's closing line: its parameters begin another run
  bool amp = false;
  bool argument = false;  ///< the batch is an argument's: it overrides the configuration's
  /// Whose IMS_PER_BATCH comes next in a configuration; Detectron2 has but the solver's.
  enum class Pair { none, solver, test } pair = Pair::none;
  bool median = false, mean = false;  ///< lines of Mask R-CNN, of Detectron2
  bool mlperf = false;                ///< a submission: its own statements give more
};

constexpr Row kRows[] = {
    on<&Maskrcnn::mlperf>(":::MLLOG {"),
    on<&Maskrcnn::mask_rcnn>("maskrcnn_benchmark"),
    on<&Maskrcnn::detectron>(" d2.utils.events]: "),
    on<&Maskrcnn::overall>(" d2.engine.hooks]: "),
    on<&Maskrcnn::closing>("Training perf is: "),
    on<&Maskrcnn::closing>("Training performance = "),
    on<&Maskrcnn::ssd>("  eval batch size : "),
    on<&Maskrcnn::ssd_rank>("Done benchmarking. "),
    on<&Maskrcnn::batch>("IMS_PER_BATCH"),
};

}  // namespace

extern const Format entry{
    .name = "maskrcnn",
    .title = "Mask R-CNN (maskrcnn_benchmark) and SSD of NVIDIA's examples for PyTorch, Detectron2",
    .reference =
        "https://github.com/NVIDIA/DeepLearningExamples PyTorch/Segmentation/MaskRCNN "
        "maskrcnn_benchmark/engine/trainer.py; PyTorch/Detection/SSD main.py",
    .framework = "pytorch",
    .table = table_of<Maskrcnn>(kRows, kRuns)};

}  // namespace bertbench::format_maskrcnn
