// litgpt: LitGPT, Lit-LLaMA, TinyLlama and trainers after their manner.
//
//   iter 65496: loss 1.2029, time: 101.54ms                                            (mid-2023)
//   iter 77 step 39: loss 10.8259, iter time: 214.40ms (optimizer.step)
//   iter 1760 | step 220: loss 1.5947, iter time: 263.85 ms (optimizer.step)
//   Epoch 1 | iter 4 step 1 | loss train: 1.585, val: n/a | iter time: 181.34 ms (step)
//   Epoch 34 | iter 3050700 step 610140 | loss train: 2.846, val: 2.861 | iter time: 112.20 ms
//       (step) remaining time: 0:01:54
//   {'devices': 1, 'batch_size': 16, 'micro_batch_size': 1, 'gradient_accumulation_iters': 16, ...}
//   Training time: 1024.35s
//
// An iteration is a micro-step; the line tells the time of its own one, however many lie between
// two lines. Pretraining prints only those that step, which take longer than the others: a sample.
#include <algorithm>
#include <optional>
#include <string_view>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/format.h"
#include "parsers/lines/argument_text.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {
    "iter time: ", "Training time: ", ", time: ", "'gradient_accumulation_iters': "};
constexpr std::int64_t kMost = 1'000'000'000'000;

/// A line of an iteration, in any release's words.
struct Iteration {
  std::int64_t iteration = 0, step = 0;
  double loss = 0, time_ms = 0;
  bool stepping = false;  ///< it ended an update
};

// "Epoch 1 | iter 100 step 50 | loss train: 1.9, ... | iter time: 20.1 ms (step)", "Ep 1 | iter
// ...", "iter 100 | step 50: loss 1.9, iter time: ...", "iter 100: loss 1.9, time: 20.1ms". One
// release wrote "stEp".
std::optional<Iteration> read_iteration(const Line& line) {
  Cursor cursor(line);
  Iteration out;
  if (cursor.literal("Ep")) {
    cursor.literal("och");
    cursor.blanks();
    if (!cursor.integer() || !cursor.literal(" | ")) return std::nullopt;
  }
  if (!cursor.literal("iter ")) return std::nullopt;
  const auto iteration = cursor.integer();
  if (!iteration || *iteration < 0 || *iteration > kMost) return std::nullopt;
  out.iteration = *iteration;
  const bool old = cursor.literal(": loss ");
  if (!old) {
    cursor.literal(" |");
    if (!cursor.literal(" step ") && !cursor.literal(" stEp ")) return std::nullopt;
    const auto number = cursor.integer();
    if (!number || *number < 0 || *number > kMost) return std::nullopt;
    out.step = *number;
    if (!cursor.literal(": loss ") && !cursor.literal(" | loss ")) return std::nullopt;
    cursor.literal("train");
    cursor.literal(" (curr)");
    cursor.literal(": ");
  }
  const auto loss = cursor.number();
  if (!loss || !cursor.skip_past(old ? ", time: " : "iter time: ")) return std::nullopt;
  const auto time = cursor.number();
  cursor.blanks();
  if (!time || !(*time > 0) || !cursor.literal("ms")) return std::nullopt;
  out.loss = *loss;
  out.time_ms = *time;
  out.stepping = cursor.rest().starts_with(" (");
  return out;
}

class LitgptParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  void see_update(std::int64_t iteration, std::int64_t step);
  static bool see_end(const Line& line, RunBuilder& out);

  bool stepping_only_ = true, leaps_ = false;
  std::int64_t update_ = -1, update_iteration_ = 0;  ///< newest line of an update
  std::optional<std::int64_t> accumulation_, said_accumulation_, micro_batch_, devices_;
  bool unsteady_ = false;  ///< its updates are of different lengths
};

// Behind "(step)" the iterations are whole updates; what either counts from differs by release.
void LitgptParser::see_update(std::int64_t iteration, std::int64_t step) {
  const std::int64_t iterations = iteration - update_iteration_;
  const std::int64_t steps = step - update_;
  if (update_ >= 0 && iterations > 0 && steps > 0) {
    const bool whole = iterations % steps == 0;
    const std::int64_t each = iterations / steps;
    unsteady_ = unsteady_ || !whole || (accumulation_ && *accumulation_ != each);
    accumulation_ = each;
  }
  update_iteration_ = iteration;
  update_ = step;
}

bool LitgptParser::parse(const Line& line, RunBuilder& out) {
  if (const auto said = size_after(line, "'gradient_accumulation_iters':")) {
    said_accumulation_ = said;
    micro_batch_ = size_after(line, "'micro_batch_size':");
    devices_ = size_after(line, "'devices':");
    return false;
  }
  if (see_end(line, out)) return true;
  const auto at = read_iteration(line);
  if (!at) return false;
  const RunDraft* open = out.open(WorkKind::training);
  if (open != nullptr && open->last() != nullptr) {
    leaps_ = leaps_ || at->iteration > open->last()->step + 1;
    if (at->iteration < open->last()->step) update_ = -1;  // another run
  }
  if (at->stepping) see_update(at->iteration, at->step);
  stepping_only_ = stepping_only_ && at->stepping;
  Sample sample;
  sample.step = at->iteration;
  sample.iterations = 1;
  sample.seconds = at->time_ms / 1000;
  sample.loss = at->loss;
  sample.line = line.number;
  sample.rank = line.rank;
  RunDraft& draft = out.add(WorkKind::training, sample);
  draft.log.iteration_unit = IterationUnit::micro_step;
  return true;
}

// "Training time: 123.45s"
bool LitgptParser::see_end(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  RunDraft* run = out.open(WorkKind::training);
  if (run == nullptr || !cursor.literal("Training time: ")) return false;
  const auto seconds = cursor.number();
  if (!seconds || !cursor.literal("s")) return false;
  run->log.totals.training_s = *seconds;
  run->ended_well = true;
  run->last_line = line.number;
  return true;
}

void LitgptParser::finish(RunBuilder& out) {
  out.facts.framework.set("pytorch", FactSource::log);
  for (const auto& draft : out.drafts()) {
    Facts& facts = draft->log.facts;
    const auto& each = accumulation_ ? accumulation_ : said_accumulation_;
    if (each && !unsteady_) facts.gradient_accumulation_steps.set(*each, FactSource::log);
    if (micro_batch_) facts.micro_batch_size.set(*micro_batch_, FactSource::log);
    if (devices_) facts.gpus_per_node.set(*devices_, FactSource::log);
    if (leaps_ && draft->count() > 0) {
      draft->log.notices.push_back(foreign_notice(
          0, stepping_only_ ? "a line tells the time of its own iteration only, and only of those "
                              "that step, which take longer: step times are a sample"
                            : "a line tells the time of its own iteration only: step times are a "
                              "sample"));
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
