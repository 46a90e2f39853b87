// mmcv: the loggers of OpenMMLab (mmcv to 1.x, mmengine), text and JSON.
//
//   2021-05-31 13:41:03,911 - mmseg - INFO - Iter [50/40000]\tlr: 9.9e-03, eta: 0:47:00,
//       time: 5.920, data_time: 1.256, memory: 8000, loss: 2.7530
//   2021-05-31 13:41:03,911 - mmdet - INFO - Epoch [1][50/7330]\tlr: 1.9e-03, eta: ..., time: 0.368
//   2022/08/22 18:42:22 - mmengine - INFO - Epoch(train) [1][  50/3104]  lr: ...  time: 0.1285  ...
//   06/28 03:16:23 - mmengine - INFO - Iter(train) [  50/40000]  base_lr: ...  time: 0.3210  ...
//   {"mode": "train", "epoch": 1, "iter": 50, "lr": 0.002, "data_time": 0.05, "time": 0.368, ...}
//   {"lr": 0.02, "data_time": 0.05, "loss": 1.2, "time": 0.368, "epoch": 1, "iter": 50, "step": 50}
//
// mmcv's time is the mean of the iterations since the line before, data loading included.
// mmengine's is the mean of the last ten (window_size), so that a line covers ten iterations
// only; its stamps have whole seconds. An iteration is one batch of every process.
#include <algorithm>
#include <cmath>
#include <optional>

#include "parsers/formats/format.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"

namespace bertbench::format_mmcv {
namespace {

struct Mmcv {
  bool text(const Line& line, Emit emit) {
    Cursor cursor(line);
    const bool by_epoch = cursor.skip_past(" - INFO - Epoch");
    if (!by_epoch && !cursor.skip_past(" - INFO - Iter")) return false;
    const bool engine = cursor.literal("(train)");
    std::int64_t epoch = 0, iteration = 0, total = 0;
    if (by_epoch && (!cursor.read(kBlanks, "[", kBlanks, epoch, "]") || epoch < 1)) return false;
    const auto time = number_named(line, "time");
    if (!cursor.read(kBlanks, "[", kBlanks, iteration, "/", kBlanks, total, "]") || !time ||
        iteration > total || epoch > kMostEpochs) {
      return false;
    }
    Step at{.step = by_epoch ? (epoch - 1) * total + iteration : iteration,
            .loss = number_named(line, "loss")};
    at.iterations = since(at.step, iteration);
    if (total > 0)
      at.planned = by_epoch ? planned_epochs(line, at.step, total, *time) * total : total;
    // The last line of an epoch may stand up to an interval before its end.
    const bool in_last = epochs && epoch >= *epochs && total - iteration < at.iterations;
    at.last = in_last || has(line, "eta: 0:00:00");
    const auto stamp = front_stamp(line.text);  // mmengine's "06/28 03:16:23" names no year
    at.time_s = stamp ? stamp->seconds : kUnknown;
    at.clock = Clock{.no_year = stamp && !stamp->names_year};
    add(at, *time, engine, emit);
    return true;
  }

  // A log that does not state its epochs shows by the time left how many there are.
  std::int64_t planned_epochs(const Line& line, std::int64_t step, std::int64_t total,
                              double each_s) const {
    if (epochs) return *epochs;
    Cursor cursor(line);
    const double left_s = cursor.skip_past("eta: ") ? cursor.duration().value_or(0) : 0;
    const double left = each_s > 0 ? std::min(left_s / each_s, kMostSteps) : 0;
    return (step + static_cast<std::int64_t>(left) + total - 1) / total;
  }

  bool json(const Line& line, Emit emit) {
    const auto time = number_after(line, "\"time\":");
    const auto iteration = count_after(line, "\"iter\":"), step = count_after(line, "\"step\":");
    const bool engine = step && has(line, "\"lr\":") && !has(line, "\"mode\":");
    if (!line.text.starts_with('{') || !time ||
        (!engine && (!iteration || !has(line, "\"mode\": \"train\"")))) {
      return false;
    }
    Step at{.step = engine ? *step : *iteration, .loss = number_after(line, "\"loss\":")};
    const std::int64_t within = at.step;
    if (!engine) at.step = over_epochs(count_after(line, "\"epoch\":").value_or(0), within);
    at.iterations = since(at.step, within);
    add(at, *time, engine, emit);
    return true;
  }

  // JSON does not state how long an epoch is: the iterations after its last line are not counted.
  std::int64_t over_epochs(std::int64_t in, std::int64_t iteration) {
    if (in == 0) return iteration;
    if (in > json_epoch && iteration <= json_iteration) {
      base += json_iteration;
      counted_epochs = true;
    }
    if (in < json_epoch) base = 0;
    json_epoch = in;
    json_iteration = iteration;
    return base + iteration;
  }

  // The first line covers an interval; what a resumed run did before it is not of this log.
  std::int64_t since(std::int64_t step, std::int64_t iteration) const {
    const bool begins = newest < 0 || step < newest;
    return begins ? std::max<std::int64_t>(1, iteration) : step - newest;
  }

  void add(Step at, double each_s, bool engine, Emit emit) {
    const bool no_year = at.clock && at.clock->no_year;
    at.clock = Clock{engine ? 1 : 1e-3, !std::isnan(at.time_s), no_year};
    if (engine) {
      emit.note(NoticeCode::rate_is_mean_of_window, "mmengine's time",
                "the last ten iterations (window_size)");
      at.rate_unit = RateUnit::iterations_per_second;
      if (each_s > 0) at.rate = 1 / each_s;
      at.own_s = each_s * static_cast<double>(at.iterations);
    } else {
      at.each_s = each_s;
    }
    newest = at.step;
    emit(at);
  }

  // Old launchers left range(0, 1) where several processes ran.
  void gpu_ids(const Line& line) {
    const auto devices = size_here(line);
    if (devices && (*devices > 1 || alone)) world = devices;
  }

  void distributed(const Line& line) {
    if (!Cursor::after(line).literal("False")) return;
    alone = true;
    if (!world) world = 1;
  }

  void samples_per_gpu(const Line& line) {
    if (!micro_batch) micro_batch = size_here(line);
  }

  void batch_size(const Line& line) {
    const char before = line.at > 0 ? line.text[line.at - 1] : ' ';
    if (!in_training_loader || (before != ' ' && before != '(')) return;
    if (const auto batch = size_here(line)) micro_batch = batch;
    in_training_loader = false;
  }

  void facts(Facts& facts) const {
    facts.world_size.set(world, FactSource::log);
    facts.micro_batch_size.set(micro_batch, FactSource::log);
    if (newest >= 0) facts.gradient_accumulation_steps.set(accumulation, FactSource::log);
  }

  void finish(Emit emit) {
    if (counted_epochs) {
      emit.note(NoticeCode::iterations_in_no_line,
                "iterations after the last line of an epoch of unknown length");
    }
  }

  static constexpr std::int64_t kMostEpochs = 1'000'000;  ///< times a count fits 64 bits
  static constexpr double kMostSteps = 1e12;

  std::optional<std::int64_t> world, micro_batch, epochs;
  std::int64_t accumulation = 1;
  bool alone = false, in_training_loader = false, counted_epochs = false;
  std::int64_t json_epoch = 0, json_iteration = 0, base = 0;  ///< base: of the epochs before
  std::int64_t newest = -1;                                   ///< step
};

constexpr Row kRows[] = {
    on<&Mmcv::text>(" - INFO - Iter"),
    on<&Mmcv::text>(" - INFO - Epoch"),
    on<&Mmcv::text>("Epoch(train) "),  // mmengine colours the INFO
    on<&Mmcv::text>("Iter(train) "),
    on<&Mmcv::json>("\"data_time\": "),
    on<[](Mmcv&, const Line&, Emit emit) { emit(Evaluated{}); }>("Epoch(val) "),
    on<[](Mmcv&, const Line&, Emit emit) { emit(Evaluated{}); }>("Iter(val) "),  // by iteration
    on<&Mmcv::world>("GPU number: "),
    on<&Mmcv::gpu_ids>("gpu_ids = range(0, "),
    on<&Mmcv::distributed>("Distributed training: "),
    on<&Mmcv::epochs>("max_epochs="),
    on<&Mmcv::epochs>("total_epochs = "),
    on<&Mmcv::accumulation>("accumulative_counts="),
    on<&Mmcv::accumulation>("cumulative_iters="),
    on<&Mmcv::samples_per_gpu>("samples_per_gpu="),
    on<&Mmcv::samples_per_gpu>("imgs_per_gpu="),  // MMDetection 1
    on<&Mmcv::in_training_loader>("train_dataloader = dict("),
    on<&Mmcv::batch_size>("batch_size="),
};

// A step again is another rank's, or the console's copy.
constexpr Begin kRuns[] = {{.unit = IterationUnit::micro_step,
                            .restart = Restart::back,
                            .after_end = AfterEnd::reopens,
                            .again = Again::ignored,
                            .without_evaluations = true,
                            .own_facts = true}};

}  // namespace

extern const Format entry{
    .name = "mmcv",
    .title = "OpenMMLab: mmcv and mmengine, text and JSON",
    .reference =
        "https://github.com/open-mmlab/mmcv (1.x) mmcv/runner/hooks/logger; "
        "https://github.com/open-mmlab/mmengine mmengine/runner/log_processor.py",
    .framework = "pytorch",
    .table = table_of<Mmcv>(kRows, kRuns)};

}  // namespace bertbench::format_mmcv
