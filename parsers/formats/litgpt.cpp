// litgpt: LitGPT, Lit-LLaMA, TinyLlama and trainers after their manner.
//
//   iter 77 step 39: loss 10.8259, iter time: 214.40ms (optimizer.step)
//   iter 1760 | step 220: loss 1.5947, iter time: 263.85 ms (optimizer.step)
//   Epoch 1 | iter 4 step 1 | loss train: 1.585, val: n/a | iter time: 181.34 ms (step)
//   Epoch 34 | iter 3050700 step 610140 | loss train: 2.846, val: 2.861 | iter time: 112.20 ms
//       (step) remaining time: 0:01:54
//   Training time: 1024.35s
//
// An iteration is a micro-step; the line tells the time of its own one, however many lie between
// two lines. Pretraining prints only those that step, which take longer than the others: a sample.
#include <algorithm>
#include <optional>
#include <string_view>

#include "parsers/format.h"
#include "parsers/runs/run_builder.h"
#include "parsers/text/argument_text.h"
#include "parsers/text/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {"iter time: ", "Training time: "};
constexpr std::int64_t kMost = 1'000'000'000'000;

class LitgptParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool stepping_only_ = true, leaps_ = false;
  std::optional<std::int64_t> accumulation_;
  bool accumulations_differ_ = false;
};

// The iterations count from 0 or 1, by release: behind "(step)" they are whole updates.
std::optional<std::int64_t> accumulation_of(std::int64_t iteration, std::int64_t step) {
  if (step < 2) return std::nullopt;
  if (iteration % step == 0) return iteration / step;
  if ((iteration + 1) % step == 0) return (iteration + 1) / step;
  return std::nullopt;
}

bool LitgptParser::parse(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (cursor.literal("Training time: ")) {
    const auto seconds = cursor.number();
    RunDraft* run = out.open(WorkKind::training);
    if (!seconds || !cursor.literal("s") || run == nullptr) return false;
    run->log.totals.training_s = *seconds;
    run->ended_well = true;
    run->last_line = line.number;
    return true;
  }
  if (cursor.literal("Ep")) {
    cursor.literal("och");
    cursor.blanks();
    if (!cursor.integer() || !cursor.literal(" | ")) return false;
  }
  if (!cursor.literal("iter ")) return false;
  const auto iteration = cursor.integer();
  cursor.literal(" |");
  if (!iteration || *iteration < 0 || *iteration > kMost ||
      !(cursor.literal(" step ") || cursor.literal(" stEp "))) {  // so spelt in one release
    return false;
  }
  const auto step = cursor.integer();
  if (!step || *step < 0 || *step > kMost ||
      !(cursor.literal(": loss ") || cursor.literal(" | loss "))) {
    return false;
  }
  cursor.literal("train");
  cursor.literal(" (curr)");
  cursor.literal(": ");
  const auto loss = cursor.number();
  if (!loss || !cursor.skip_past("iter time: ")) return false;
  const auto time = cursor.number();
  cursor.blanks();
  if (!time || !(*time > 0) || !cursor.literal("ms")) return false;
  const bool stepping = cursor.rest().starts_with(" (");
  if (stepping) {
    const auto every = accumulation_of(*iteration, *step);
    if (every) {
      accumulations_differ_ = accumulations_differ_ || (accumulation_ && every != accumulation_);
      accumulation_ = every;
    }
  }
  const RunDraft* open = out.open(WorkKind::training);
  if (open != nullptr && open->last() != nullptr) {
    leaps_ = leaps_ || *iteration > open->last()->step + 1;
  }
  stepping_only_ = stepping_only_ && stepping;
  Sample sample;
  sample.step = *iteration;
  sample.iterations = 1;
  sample.seconds = *time / 1000;
  sample.loss = *loss;
  sample.line = line.number;
  sample.rank = line.rank;
  RunDraft& draft = out.add(WorkKind::training, sample);
  draft.log.iteration_unit = IterationUnit::micro_step;
  return true;
}

void LitgptParser::finish(RunBuilder& out) {
  out.facts.framework.set("pytorch", FactSource::log);
  for (const auto& draft : out.drafts()) {
    if (accumulation_ && !accumulations_differ_) {
      draft->log.facts.gradient_accumulation_steps.set(*accumulation_, FactSource::log);
    }
    if (leaps_ && draft->count() > 0) {
      draft->log.notices.push_back(
          {0, stepping_only_ ? "a line tells the time of its own iteration only, and only of those "
                               "that step, which take longer: step times are a sample"
                             : "a line tells the time of its own iteration only: step times are a "
                               "sample"});
    }
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<LitgptParser>(); }

}  // namespace

extern const Format format_litgpt;
const Format format_litgpt = {
    "litgpt", "LitGPT, Lit-LLaMA, TinyLlama: iter time of micro-steps",
    "https://github.com/Lightning-AI/litgpt litgpt/pretrain.py, litgpt/finetune/full.py", kAnchors,
    make};

}  // namespace bertbench
