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
// that of the iterations, and train_epoch_avg_items/sec, the mean over an epoch, is told besides.
#include <cmath>
#include <optional>
#include <string>

#include "parsers/assemble/run_builder.h"
#include "parsers/core/text.h"
#include "parsers/formats/dllogger/stated_speeds.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {":::NVLOGv0."};

class NvlogParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool see(std::string_view key, std::string_view value, const Line& line, RunBuilder& out);
  void see_arguments(const Line& line);
  void put(Sample sample, const Line& line, RunBuilder& out);
  RunDraft& run(const Line& line, RunBuilder& out);
  void tell(RunLog& log) const;

  double time_s_ = kUnknown;           ///< of this line
  std::optional<std::int64_t> named_;  ///< iteration named, its rate or time not seen yet
  std::int64_t epoch_ = -1, base_ = 0, step_ = 0;
  std::optional<std::int64_t> world_, batch_;
  std::optional<double> items_;  ///< of the newest epoch
  std::int64_t items_line_ = 0;
  std::string_view framework_;
};

RunDraft& NvlogParser::run(const Line& line, RunBuilder& out) {
  RunDraft& draft = out.run(WorkKind::training, line.number);
  draft.log.clock_resolution_s = 1e-6;
  draft.log.clock_is_wall = true;
  return draft;
}

void NvlogParser::put(Sample sample, const Line& line, RunBuilder& out) {
  sample.time_s = time_s_;
  sample.line = line.number;
  sample.rank = line.rank;
  const RunDraft& open = run(line, out);
  const bool after = open.last() != nullptr && sample.step <= open.last()->step;
  if (after && open.ended_well) out.close(WorkKind::training);  // the file's next launch
  step_ = sample.step;
  tell(out.add(WorkKind::training, sample).log);  // with another run's in a file, where it began
}

void NvlogParser::tell(RunLog& log) const {
  if (world_) log.facts.world_size.set(*world_, FactSource::log);
  if (batch_ && log.iteration_unit != IterationUnit::unknown) {
    log.facts.micro_batch_size.set(*batch_, FactSource::log);
  }
}

// {"batch_size": 72, ..., "world_size": 1}
void NvlogParser::see_arguments(const Line& line) {
  if (const auto world = size_after(line, "\"world_size\":")) world_ = world;
  if (const auto batch = size_after(line, "\"batch_size\":")) batch_ = batch;
}

bool NvlogParser::see(std::string_view key, std::string_view value, const Line& line,
                      RunBuilder& out) {
  const auto number = to_double(trim(value));
  const bool count = number && *number >= 0 && *number < 1e12;
  const auto whole = count ? static_cast<std::int64_t>(*number) : 0;
  if (key == "iteration" || key == "train_iter_start") {
    if (count) named_ = whole;
  } else if (key == "train_epoch_start") {
    if (count && whole > epoch_) base_ = step_;
    if (count && whole <= epoch_) base_ = 0;
    if (count) epoch_ = whole;
  } else if ((key == "total_ips" || key == "imgs_per_sec") && number && named_) {
    framework_ = "tensorflow";
    RunDraft& draft = run(line, out);
    draft.log.iteration_unit = IterationUnit::optimizer_step;
    draft.log.rate_unit = RateUnit::sequences_per_second;
    Sample sample;
    sample.step = *named_;
    if (*named_ == 0) sample.iterations = 1;
    sample.rate = *number;
    put(sample, line, out);
    named_.reset();
  } else if (key == "iter_time" && number && named_ && *number > 0) {
    framework_ = "pytorch";
    run(line, out).log.iteration_unit = IterationUnit::micro_step;
    Sample sample;
    sample.step = base_ + *named_ + 1;
    sample.iterations = 1;
    sample.seconds = *number;
    put(sample, line, out);
    named_.reset();
  } else if (key == "train_throughput" && number && epoch_ >= 0) {
    framework_ = "pytorch";
    run(line, out).log.rate_unit = RateUnit::sequences_per_second;
    Sample sample;
    sample.step = epoch_ + 1;
    sample.iterations = 1;
    sample.rate = *number;
    put(sample, line, out);
  } else if (key == "best_train_throughput" && number) {
    if (RunDraft* draft = out.open(WorkKind::training)) {
      state_best_epoch(*number, line.number, draft->log);
    }
  } else if (key == "train_epoch_avg_items/sec" && number) {
    items_ = *number;
    items_line_ = line.number;
  } else if ((key == "total_loss" || key == "train_iteration_loss") && number) {
    if (RunDraft* draft = out.open(WorkKind::training)) draft->set_loss(*number, line.number);
  } else if ((key == "Average total_ips" || key == "Average imgs_per_sec") && number) {
    RunDraft& draft = run(line, out);
    draft.log.summary = Stated{*number, RateUnit::sequences_per_second, line.number};
    draft.last_line = line.number;
  } else if (key == "Num GPUs" && count && whole >= 1) {
    world_ = whole;
  } else if (key == "Per-GPU Batch Size" && count && whole >= 1) {
    batch_ = whole;
  } else if (key == "args") {
    see_arguments(line);
  } else if (key == "Ending Model Training ..." || key == "run_stop" || key == "run_final") {
    if (RunDraft* draft = out.open(WorkKind::training)) {
      draft->ended_well = true;
      draft->last_line = line.number;
    }
  }
  return true;
}

bool NvlogParser::parse(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past(":::NVLOGv0.") || !cursor.skip_past(" ") || !cursor.until(" "))
    return false;
  cursor.blanks();
  const auto time = cursor.number();
  if (!time || !cursor.skip_past(") ")) return false;
  time_s_ = *time;
  const std::string_view said = cursor.rest();
  if (line.terminator == 0) return true;  // its last digits may be missing
  const auto colon = said.find(": ");
  if (colon == std::string_view::npos) return see(trim(said), {}, line, out);
  return see(said.substr(0, colon), said.substr(colon + 2), line, out);
}

void NvlogParser::finish(RunBuilder& out) {
  if (!framework_.empty()) out.facts.framework.set(std::string(framework_), FactSource::log);
  if (items_ && !out.drafts().empty()) {
    out.drafts().back()->log.notices.push_back(stated_items(*items_, items_line_));
  }
  if (out.drafts().size() == 1) tell(out.drafts()[0]->log);
}

std::unique_ptr<LineParser> make() { return std::make_unique<NvlogParser>(); }

}  // namespace

extern const Format format_nvlog;
const Format format_nvlog = {"nvlog", "NVIDIA NVLOG lines: ResNet for TensorFlow, Tacotron 2, NCF",
                             "https://github.com/NVIDIA/DeepLearningExamples of 2018 to 2021, "
                             "dllogger/logger.py",
                             kAnchors, make};

}  // namespace bertbench
