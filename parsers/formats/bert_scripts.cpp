// bert-scripts: BERT scripts of Chinese repositories, which many others were made from.
//
//   2021-08-05 11:40:22,317 - INFO - main.py - train - 52 - 【train】 epoch:0 118/360 loss:0.2040
//   Iter:    100,  Train Loss:   0.4,  Train Acc: 86.72%,  Val Loss:  0.36,  Val Acc: 89.57%, Time:
//   0:00:37 *                                            (Bert-Chinese-Text-Classification-Pytorch)
//
// 【train】 numbers the batches of all epochs, most from 0 on; its clock is the logger's stamp.
// Iter numbers them so too; its time is since the start, in whole seconds, with the evaluation in
// front of every line.
#include <optional>
#include <string>
#include <utility>

#include "parsers/assemble/run_builder.h"
#include "parsers/assemble/training_clock.h"
#include "parsers/formats/format.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {"【train】 epoch",     "[eval] loss",   "【dev】 loss",
                                         "Use single gpu in: ", " Train Loss: ", " Test Acc: "};

constexpr std::int64_t kMostBatches = 1'000'000'000;

/// Time of the stamped lines without the evaluations between them: an interval that holds one
/// counts as long as its iterations took in the newest that held none.
class StampedClock {
 public:
  void see_evaluation() {
    evaluated_ = true;
    clock_.see_evaluation();
  }
  double at(double stamp_s, std::int64_t step) {
    const double took = stamp_s - std::exchange(stamp_s_, stamp_s);
    const auto iterations = static_cast<double>(step - std::exchange(step_, step));
    if (!std::exchange(evaluated_, false) && iterations > 0) each_s_ = took / iterations;
    return clock_.at(stamp_s, each_s_ * iterations);
  }

 private:
  TrainingClock clock_;
  bool evaluated_ = false;
  std::int64_t step_ = 0;
  double stamp_s_ = kUnknown, each_s_ = kUnknown;
};

// A colon of ASCII or the full-width one.
bool colon(Cursor& cursor) { return cursor.literal(":") || cursor.literal("："); }

/// "【train】 epoch:0 118/360 loss:0.2040", "【train】 epoch：0/3 step：118/360 loss：0.2040".
struct StampedBatch {
  std::int64_t step = 0, total = 0;
  double loss = 0;
};

std::optional<StampedBatch> stamped_batch(const Line& line) {
  Cursor cursor(line);
  if (!cursor.skip_past("【train】 epoch") || !colon(cursor) || !cursor.integer()) {
    return std::nullopt;
  }
  if (cursor.literal("/") && !cursor.integer()) return std::nullopt;
  cursor.blanks();
  if (cursor.literal("step") && !colon(cursor)) return std::nullopt;
  const auto step = cursor.integer();
  if (!step || *step < 0 || !cursor.literal("/")) return std::nullopt;
  const auto total = cursor.integer();
  if (!total || *total < 1 || *total > kMostBatches || *step > *total) return std::nullopt;
  cursor.blanks();
  if (!cursor.literal("loss") || !colon(cursor)) return std::nullopt;
  cursor.blanks();
  const auto loss = cursor.number();
  if (!loss) return std::nullopt;
  return StampedBatch{*step, *total, *loss};
}

class BertScriptsParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool see_stamped(const Line& line, RunBuilder& out);
  bool see_iteration(const Line& line, RunBuilder& out);
  bool see_end(const Line& line, RunBuilder& out) const;
  std::optional<std::int64_t> count(std::int64_t step, RunBuilder& out);

  StampedClock clock_;
  std::int64_t from_zero_ = 0;  ///< 1 where they number the first batch 0
  bool one_gpu_ = false, stamped_ = false, iterations_ = false;
};

bool BertScriptsParser::see_stamped(const Line& line, RunBuilder& out) {
  if (line.text.find("[eval] loss") != std::string_view::npos ||
      line.text.find("【dev】 loss") != std::string_view::npos) {
    clock_.see_evaluation();
    return false;
  }
  one_gpu_ |= line.text.find("Use single gpu in: [") != std::string_view::npos;
  const auto at = stamped_batch(line);
  if (!at) return false;
  stamped_ = true;
  const auto step = count(at->step, out);
  if (!step) return true;
  Sample sample;
  sample.step = *step;
  sample.loss = at->loss;
  sample.line = line.number;
  sample.rank = line.rank;
  if (const auto stamp = date_time(line.text)) {
    sample.time_s = clock_.at(*stamp, at->step);
  }
  RunDraft& draft = out.run(WorkKind::training, line.number);
  if (draft.last() == nullptr) sample.iterations = 1;
  draft.log.iteration_unit = IterationUnit::micro_step;
  draft.log.clock_resolution_s = 1e-3;
  draft.log.clock_is_wall = true;
  draft.planned = at->total;
  if (one_gpu_) draft.log.facts.world_size.set(1, FactSource::log);
  draft.add(sample);
  return true;
}

// The step after the batch that a line numbers so; none for a copy of the line before, of a logger
// with two handlers. A counter that goes back begins another run.
std::optional<std::int64_t> BertScriptsParser::count(std::int64_t step, RunBuilder& out) {
  const RunDraft* open = out.open(WorkKind::training);
  if (open != nullptr && open->last() != nullptr) {
    const std::int64_t before = open->last()->step, now = step + from_zero_;
    if (now == before) return std::nullopt;
    if (now > before) return now;
    out.close(WorkKind::training);
    clock_ = {};
  }
  from_zero_ = step == 0 ? 1 : 0;
  return step + from_zero_;
}

bool BertScriptsParser::see_iteration(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("Iter:")) return false;
  cursor.blanks();
  const auto at = cursor.integer();
  if (!at || *at < 0 || *at > kMostBatches || !cursor.literal(",")) return false;
  cursor.blanks();
  if (!cursor.literal("Train Loss:")) return false;
  cursor.blanks();
  Sample sample;
  const auto loss = cursor.number();
  if (!loss || !cursor.skip_past(" Time:")) return false;
  cursor.blanks();
  const auto since = cursor.duration();
  if (!since) return false;
  const auto step = count(*at, out);
  if (!step) return true;
  sample.step = *step;
  sample.loss = *loss;
  sample.time_s = *since;
  sample.line = line.number;
  sample.rank = line.rank;
  iterations_ = true;
  RunDraft& draft = out.run(WorkKind::training, line.number);
  if (draft.last() == nullptr) sample.iterations = 1;
  draft.ended_well = false;
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  draft.log.clock_resolution_s = 1;
  draft.log.clock_is_wall = true;
  draft.add(sample);
  return true;
}

// The test behind the last epoch.
bool BertScriptsParser::see_end(const Line& line, RunBuilder& out) const {
  RunDraft* draft = out.open(WorkKind::training);
  if (draft == nullptr || !iterations_ || !line.text.starts_with("Test Loss:") ||
      line.text.find(" Test Acc: ") == std::string_view::npos) {
    return false;
  }
  draft->ended_well = true;
  draft->last_line = line.number;
  return true;
}

bool BertScriptsParser::parse(const Line& line, RunBuilder& out) {
  return see_stamped(line, out) || see_iteration(line, out) || see_end(line, out);
}

void BertScriptsParser::finish(RunBuilder& out) {
  // Iter is a line of TensorFlow scripts too.
  if (stamped_) out.facts.framework.set("pytorch", FactSource::log);
  if (!iterations_) return;
  for (const auto& draft : out.drafts()) {
    if (draft->count() == 0) continue;
    draft->log.notices.push_back(foreign_notice(
        0, "the times hold an evaluation in front of every line: rates are of both"));
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<BertScriptsParser>(); }

}  // namespace

extern const Format format_bert_scripts;
const Format format_bert_scripts = {
    "bert-scripts",
    "BERT scripts of Chinese repositories: lines 【train】 epoch and Iter, Train Loss",
    "https://github.com/649453932/Bert-Chinese-Text-Classification-Pytorch train_eval.py", kAnchors,
    make};

}  // namespace bertbench
