// paddle-hapi: paddle.Model.fit of PaddlePaddle, every release since 2.0.
//
//   Epoch 1/2
//   step 10/80 - loss: 0.6251 - acc: 0.5250 - 55ms/step                              (verbose=2)
//   step 10/80 [==>......] - loss: 0.6972 - acc: 0.5500 - ETA: 2s - 29ms/step        (verbose=1)
//   step 10/80 - loss: 0.8935 - avg_reader_cost: 0.00312 sec - avg_batch_cost: 0.02980 sec -
//   ips: 243.00261 samples/sec - 33ms/step                                           (verbose=3)
//   Eval begin...
//   step 10/20 - loss: 0.7787 - acc: 0.5125 - 22ms/step
//   Eval samples: 160
//
// The time of a step is the mean since the epoch (or the evaluation) began, rounded to whole us, ms
// or s: mean times steps is the clock of the epoch. Reader and batch cost together are the mean of
// the steps since the line before, with more digits: they are taken where they are printed. ips is
// of one process.
#include <algorithm>

#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"

namespace bertbench::format_paddle_hapi {
namespace {

constexpr Begin kRuns[] = {{.unit = IterationUnit::micro_step,
                            .restart = Restart::never,
                            .after_end = AfterEnd::reopens,
                            .from_zero = true}};

struct PaddleHapi {
  bool progress(const Line& line, Emit emit) {
    Cursor cursor(line), rate(line);
    // Backspaces of the redraw before may stand before it.
    cursor.move_to(line.text.find_first_not_of("\b \r"));
    std::int64_t step = 0, steps = 0;
    double mean_s = 0;
    if (!cursor.read("step ", kBlanks, step) || step < 1) return false;
    if (cursor.literal("/") && (!cursor.read(steps) || steps < step)) return false;
    if (!cursor.literal(" - ") && !cursor.literal(" [")) return false;
    const auto dash = line.text.rfind("- ", line.text.rfind("s/step"));
    if (dash == std::string_view::npos || dash + 1 < cursor.at()) return false;
    rate.move_to(dash + 2);
    if (!rate.read(mean_s) || !(mean_s >= 0)) return false;
    const double scale = rate.literal("us/step") ? 1e-6 : rate.literal("ms/step") ? 1e-3 : 1;
    if (scale == 1 && !rate.literal("s/step")) return false;
    if (of_another_rank(line) || !training || step <= newest) return true;  // or a redraw
    mean_s *= scale;
    Step at{
        .step = base + step, .iterations = step - newest, .loss = number_after(line, "- loss:")};
    newest = step;
    newest_mean_s = mean_s;
    total = steps;
    const double resolution_s = 0.5 * scale, done = static_cast<double>(step);
    const auto reader = number_after(line, "- avg_reader_cost:");
    const auto batch = number_after(line, "- avg_batch_cost:");
    if (reader && batch && *reader >= 0 && *batch > 0) {
      at.each_s = *reader + *batch;
      intervals = true;
    } else if (mean_s > 0 && !intervals) {
      at.time_s = base_s + mean_s * done;
      at.clock = Clock{std::max(1e-6, resolution_s * done)};
    }
    if (step == total && mean_s > 0) worst = std::max(worst, resolution_s / mean_s);
    if (epochs > 0 && total > 0) at.planned = base + total * (epochs - epoch + 1);
    at.last = epoch == epochs && step == total;
    emit(at);
    return true;
  }

  // Keras begins its epochs likewise.
  void begin_epoch(const Line& line, Emit emit) {
    Cursor cursor = Cursor::after(line);
    std::int64_t next = 0, all = 0;
    if (of_another_rank(line) || !leads(line) || !cursor.read(next)) return;
    if (!cursor.read("/", all) || next < 1 || all < next || all > 1'000'000 ||
        !cursor.rest().empty()) {
      return;
    }
    const std::int64_t steps = std::max(newest, total);
    base += steps;
    base_s += newest_mean_s * static_cast<double>(steps);
    if (next <= epoch) {  // fit() was called again
      emit(kRuns[0]);
      base = total = 0;
      base_s = 0;
    }
    newest = 0;
    newest_mean_s = 0;
    epoch = next;
    epochs = all;
    training = true;
    rank = line.rank;
  }

  void evaluation(const Line& line) {
    if (!of_another_rank(line)) training = false;
  }

  [[nodiscard]] bool of_another_rank(const Line& line) const {
    return rank >= 0 && line.rank >= 0 && line.rank != rank;
  }

  void finish(Emit emit) {
    if (worst > 0.01 && !intervals) {
      emit.note(NoticeCode::rounded_times, "Paddle's time of a step", 100 * std::min(worst, 1.0));
    }
  }

  std::int64_t epoch = 0, epochs = 0;    ///< announced; 0 = none
  std::int64_t total = 0;                ///< steps of an epoch, where printed
  std::int64_t newest = 0;               ///< step of the epoch
  std::int64_t base = 0;                 ///< steps of the epochs before
  double base_s = 0, newest_mean_s = 0;  ///< their time; mean of this one
  double worst = 0;                      ///< largest relative rounding of a mean at an epoch's end
  bool training = false, intervals = false;
  int rank = -1;  ///< of several that print, the first one's lines count
};

constexpr Row kRows[] = {
    on<&PaddleHapi::evaluation>("Eval begin..."),
    on<&PaddleHapi::evaluation>("Predict begin..."),
    on<&PaddleHapi::progress>("s/step"),
    on<&PaddleHapi::begin_epoch>("Epoch "),
};

}  // namespace

extern const Format entry{
    .name = "paddle-hapi",
    .title = "PaddlePaddle: paddle.Model.fit",
    .reference = "https://github.com/PaddlePaddle/Paddle python/paddle/hapi/progressbar.py",
    .framework = "paddle",
    .table = table_of<PaddleHapi>(kRows, kRuns)};

}  // namespace bertbench::format_paddle_hapi
