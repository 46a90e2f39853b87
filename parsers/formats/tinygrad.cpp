// tinygrad: the steps of tinygrad's MLPerf trainer.
//
//   training with batch size 1024 for one epoch with 3222 steps
//       3 4158.77 ms run,   77.01 ms python,   0.43 ms fetch data, 4081.33 ms AMD * 8,  0.69 loss,
//       0.000571 LR, 1038.57 GB used, 328033.10 GFLOPS                                    (BERT)
//       4 4.32 s run, 11.8750 loss, 0.000000000002 LR, 1454.57 GB used, 401488.40 GFLOPS  (Llama)
//
// A line is an optimizer step and tells its own time. The first steps compile and search kernels.
#include <optional>
#include <string_view>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/token_lines.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {" GB used, ", "training with batch size "};

class TinygradParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  std::optional<std::int64_t> batch_, steps_;
};

bool TinygradParser::parse(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (cursor.literal("training with batch size ")) {
    constexpr std::int64_t kMost = 1'000'000'000;
    batch_ = cursor.integer();
    if (batch_ && (*batch_ < 1 || *batch_ >= kMost)) batch_.reset();
    steps_.reset();
    if (cursor.literal(" for one epoch with ")) steps_ = cursor.integer();
    out.close(WorkKind::training);
    return false;  // others may say so too
  }
  const auto step = step_number(cursor);
  cursor.blanks();
  const auto time = cursor.number();
  if (!step || !time || !(*time > 0)) return false;
  const bool ms = cursor.literal(" ms run, ");
  if (!ms && !cursor.literal(" s run, ")) return false;
  const auto devices = line.text.find(" * ");
  const auto loss_end = line.text.find(" loss, ");
  if (loss_end == std::string_view::npos || loss_end == 0 || line.terminator == 0) return false;
  const auto loss_begin = line.text.find_last_of(' ', loss_end - 1);
  if (loss_begin == std::string_view::npos) return false;
  Sample sample;
  sample.step = *step;
  sample.iterations = 1;
  sample.seconds = ms ? *time / 1000 : *time;
  sample.loss = Cursor(line.text.substr(loss_begin + 1, loss_end - loss_begin - 1), false).number();
  sample.line = line.number;
  sample.rank = line.rank;
  RunDraft& draft = out.add(WorkKind::training, sample);
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  Facts& facts = draft.log.facts;
  if (batch_) facts.global_batch_size.set(*batch_, FactSource::log);
  if (devices != std::string_view::npos && devices < loss_begin) {
    Cursor count(line.text.substr(devices + 3), false);
    const auto gpus = count.integer();
    if (gpus && *gpus >= 1 && *gpus < 1'000'000) facts.world_size.set(*gpus, FactSource::log);
  }
  if (steps_ && *steps_ >= 1) {
    draft.planned = *steps_ - 1;
    draft.ended_well = *step == *steps_ - 1;
  }
  return true;
}

void TinygradParser::finish(RunBuilder& out) {
  out.facts.framework.set("tinygrad", FactSource::log);
}

std::unique_ptr<LineParser> make() { return std::make_unique<TinygradParser>(); }

}  // namespace

extern const Format format_tinygrad;
const Format format_tinygrad = {
    "tinygrad", "tinygrad's MLPerf trainer: 4158.77 ms run, 0.69 loss, 328033.10 GFLOPS",
    "https://github.com/tinygrad/tinygrad examples/mlperf/model_train.py", kAnchors, make};

}  // namespace bertbench
