// nvlog: the logger before DLLogger, in NVIDIA's examples of 2018 to 2021.
//
//   :::NVLOGv0.2.3 None 1621936399.904081345 (runner.py:393) Num GPUs: 8
//   :::NVLOGv0.2.3 resnet 1621936510.750827074 (benchmark_hooks.py:59) iteration: 200
//   :::NVLOGv0.2.3 resnet 1621936510.752404928 (benchmark_hooks.py:60) total_ips: 8687.93 (ResNet)
//   :::NVLOGv0.2.3 resnet 1621936546.954220533 (benchmark_hooks.py:66) Average total_ips: 8701.89
//   :::NVLOGv0.2.2 Tacotron2_PyT 1592939389.2394 (logger.py:251) train_iter_start: 0
//   :::NVLOGv0.2.2 Tacotron2_PyT 1592939389.2394 (logger.py:251) iter_time: 4.7613
//   :::NVLOGv0.1.0 ncf 1592941017.797375202 (ncf.py:318) train_throughput: 7465549.97  (of an
//   epoch)
//
//   :::NVLOGv0.1.0 ncf 1592941044.1 (ncf.py:356) best_train_throughput: 7534442.31
//
// total_ips and imgs_per_sec count the images of all GPUs. Tacotron's items are frames: its rate is
// that of the iterations, and train_epoch_avg_items/sec, the mean over an epoch, is reported next
// to it.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"

namespace bertbench::format_nvlog {
namespace {

constexpr RateUnit kSequences = RateUnit::sequences_per_second;

struct Nvlog {
  bool line(const Line& line, Emit emit) {
    Cursor cursor = Cursor::after(line);
    if (!cursor.skip_past(" ") || !cursor.until(" ") || !cursor.read(kBlanks, time_s) ||
        !cursor.skip_past(") ")) {
      return false;
    }
    if (line.terminator == 0) return true;  // its last digits may be missing
    const std::string_view text = cursor.rest();
    const auto colon = std::min(text.find(": "), text.size());
    value(trim(text.substr(0, colon)), trim(text.substr(std::min(colon + 1, text.size()))), line,
          emit);
    return true;
  }

  void value(std::string_view key, std::string_view text, const Line& line, Emit emit) {
    const auto number = to_double(text);
    const bool count = number && *number >= 0 && *number < 1e12;
    const auto whole = count ? static_cast<std::int64_t>(*number) : 0;
    const bool rate = number && *number > 0 && std::isfinite(*number);
    if (key == "iteration" || key == "train_iter_start") {
      if (count) named = whole;
    } else if (key == "train_epoch_start") {
      if (!count) return;
      base = whole > epoch ? newest : 0;
      epoch = whole;
    } else if ((key == "total_ips" || key == "imgs_per_sec") && number && named) {
      framework = "tensorflow";
      step(*named,
           {.iterations = *named == 0 ? 1 : 0,
            .rate = rate ? *number : kUnknown,
            .unit = IterationUnit::optimizer_step,
            .rate_unit = kSequences},
           emit);
    } else if (key == "iter_time" && number && named && *number > 0) {
      framework = "pytorch";
      step(base + *named + 1,
           {.iterations = 1, .seconds = *number, .unit = IterationUnit::micro_step}, emit);
    } else if (key == "train_throughput" && number && epoch >= 0) {
      framework = "pytorch";
      step(epoch + 1, {.iterations = 1, .rate = rate ? *number : kUnknown, .rate_unit = kSequences},
           emit);
    } else if (key == "best_train_throughput" && rate) {
      emit(Statement{.summary = Stated{*number, kSequences}});
      emit.note_here(NoticeCode::closing_rate_of_best_epoch, *number);
    } else if (key == "train_epoch_avg_items/sec" && number) {
      items = make_notice(NoticeCode::items_per_second, line.number, *number);
    } else if ((key == "total_loss" || key == "train_iteration_loss") && number) {
      emit(Statement{.loss = number});
    } else if ((key == "Average total_ips" || key == "Average imgs_per_sec") && rate) {
      emit(Statement{.of = Of::begun, .summary = Stated{*number, kSequences}});
    } else if (key == "Num GPUs" && whole >= 1) {
      world = whole;
    } else if (key == "Per-GPU Batch Size" && whole >= 1) {
      batch = whole;
    } else if (key == "args") {  // {"batch_size": 72, ..., "world_size": 1}
      if (const auto ranks = size_after(line, "\"world_size\":")) world = ranks;
      if (const auto size = size_after(line, "\"batch_size\":")) batch = size;
    } else if (key == "Ending Model Training ..." || key == "run_stop" || key == "run_final") {
      emit(End{});
    }
  }

  void step(std::int64_t counter, Step at, Emit emit) {
    at.step = newest = counter;
    at.time_s = time_s;
    iterations = at.unit.has_value();
    emit(at);
    named.reset();
  }

  void facts(Facts& facts) const {
    if (world) facts.world_size.set(*world, FactSource::log);
    if (batch && iterations) facts.micro_batch_size.set(*batch, FactSource::log);
  }

  void finish(Emit emit) {
    if (!framework.empty()) emit.log_fact(&Facts::framework, framework);
    if (items) emit(Note{*items});
  }

  double time_s = kUnknown;           ///< of this line
  std::optional<std::int64_t> named;  ///< iteration named, its rate or time not seen yet
  std::int64_t epoch = -1, base = 0, newest = 0;
  bool iterations = false;  ///< the newest step is one, not an epoch
  std::optional<std::int64_t> world, batch;
  std::optional<Notice> items;  ///< of the newest epoch
  std::string framework;
};

constexpr Row kRows[] = {on<&Nvlog::line>(":::NVLOGv0.")};

constexpr Begin kRuns[] = {{.clock = {1e-6, true}, .after_end = AfterEnd::another_run}};

}  // namespace

extern const Format entry;
const Format entry = {.name = "nvlog",
                      .title = "NVIDIA NVLOG lines: ResNet for TensorFlow, Tacotron 2, NCF",
                      .reference =
                          "https://github.com/NVIDIA/DeepLearningExamples of 2018 to 2021, "
                          "dllogger/logger.py",
                      .rows = kRows,
                      .state = kStateOf<Nvlog>,
                      .runs = kRuns};

}  // namespace bertbench::format_nvlog
