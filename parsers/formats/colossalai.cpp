// colossalai: step lines of Colossal-AI's examples and its performance evaluator.
//
//   ... INFO: [3/10] Loss:9.953, Step time: 2.031s, TFLOPS: 88.102, FWD time: 0.512s, ...
//   ... INFO: [Epoch 3 / Train]: Loss = 1.1 | LR = 0.1 | Throughput = 512.01          (its Trainer)
//   num_samples: 24, dp_world_size: 8, flop_megatron: 1e15, flop: 1e15, avg_duration: 12.3,
//       avg_throughput: 15.6
//   Throughput: 15.60 samples/sec, TFLOPS per GPU by Megatron: 101.20, TFLOPS per GPU: 99.80
//
// Its logger writes through rich, which wraps at the terminal's width and indents what follows:
//
//   [02/10/23 10:11:12] INFO     colossalai - colossalai - INFO: [3/10] Loss:9.953,
//                                Step time: 2.031s, TFLOPS: 88.102, FWD time:
//                                0.512s, ...
//
// A step's time is that of this step. The evaluator's throughput is num_samples (of one replica)
// times dp_world_size over the mean duration of the ranks, so it is of the whole job, without its
// warm-up steps. The bars of the examples are tqdm's. It needs a GPU and did not run here: the
// lines are those of examples/language/gpt/gemini/train_gpt_demo.py and performance_evaluator.py.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "parsers/assemble/run_builder.h"
#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kLogger = "colossalai - INFO: [";
constexpr std::string_view kAnchors[] = {
    "Step time: ", "avg_throughput: ", " samples/sec, TFLOPS per GPU", "| Throughput = ", kLogger};

class ColossalaiParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool see_step(const Line& line, RunBuilder& out);
  bool see_epoch(const Line& line, RunBuilder& out);
  bool see_wrapped(const Line& line, RunBuilder& out);
  bool see_evaluator(const Line& line, RunBuilder& out);

  std::string begun_;  ///< what stood of a step in front of the line break
  std::int64_t begun_line_ = 0;
  bool evaluator_ = false, epochs_ = false;
};

// "[3/10] Loss:9.953, Step time: 2.031s, TFLOPS: 88.102"
bool ColossalaiParser::see_step(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("] Loss:")) return false;
  const auto loss = cursor.number();
  if (!loss || !cursor.literal(", Step time: ")) return false;
  const auto seconds = cursor.number();
  if (!seconds || !(*seconds > 0) || !cursor.literal("s, TFLOPS")) return false;
  const auto bracket = line.text.rfind('[', line.text.find("] Loss:"));
  if (bracket == std::string_view::npos) return false;
  cursor.move_to(bracket + 1);
  const auto step = cursor.integer();
  if (!step || *step < 0 || !cursor.literal("/")) return false;
  const auto planned = cursor.integer();
  if (!planned || *planned < *step || *planned > 1'000'000'000'000) return false;
  Sample sample;
  sample.step = *step;
  sample.iterations = 1;
  sample.seconds = *seconds;
  sample.loss = *loss;
  sample.line = line.number;
  sample.rank = line.rank;
  RunDraft& draft = out.add(WorkKind::training, sample);
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  draft.planned = *planned;
  return true;
}

// Its Trainer's samples/s of the job over the steps of an epoch. What it says of a test has no
// throughput.
bool ColossalaiParser::see_epoch(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("[Epoch ")) return false;
  const auto epoch = cursor.integer();
  if (!epoch || *epoch < 0 || *epoch > 1'000'000'000 || !cursor.literal(" / Train]: "))
    return false;
  const auto rate = number_after(line, "| Throughput = ");
  if (!rate || !(*rate > 0)) return false;
  Sample sample;
  sample.step = *epoch + 1;
  sample.iterations = 1;
  sample.rate = *rate;
  sample.loss = number_after(line, "Loss = ");
  sample.line = line.number;
  sample.rank = line.rank;
  RunDraft& draft = out.add(WorkKind::training, sample);
  draft.own_facts = true;  // an iteration is an epoch here
  draft.log.rate_unit = RateUnit::sequences_per_second;
  epochs_ = true;
  return true;
}

bool ColossalaiParser::see_wrapped(const Line& line, RunBuilder& out) {
  constexpr std::size_t kWidest = 512;
  const auto logger = line.text.find(kLogger);
  if (logger != std::string_view::npos) {
    const std::string_view text = trim(line.text.substr(logger + kLogger.size() - 1));
    begun_ = text.size() < kWidest ? text : std::string_view();
    begun_line_ = line.number;
    return false;
  }
  if (begun_.empty() || line.number != begun_line_ + 1 || !line.text.starts_with("    ")) {
    return false;
  }
  const std::string_view text = trim(line.text);
  if (text.size() >= kWidest) return false;
  const std::string whole = begun_ + ' ' + std::string(text);
  begun_.clear();
  Line joined = line;
  joined.text = whole;
  return see_step(joined, out) || see_epoch(joined, out);
}

bool ColossalaiParser::see_evaluator(const Line& line, RunBuilder& out) {
  const auto at = line.text.find(" samples/sec, TFLOPS per GPU");
  std::optional<double> rate;
  if (at != std::string_view::npos) {
    rate = number_after(line, "Throughput: ");
  } else if (line.text.find("num_samples: ") != std::string_view::npos &&
             line.text.find("avg_duration: ") != std::string_view::npos) {
    rate = number_after(line, "avg_throughput: ");
  }
  if (!rate || !(*rate > 0)) return false;
  RunDraft& draft = out.run(WorkKind::training, line.number);
  // The exact number stands first, the rounded one behind it.
  const bool exact = at == std::string_view::npos;
  if (exact || !draft.log.summary) {
    draft.log.summary = Stated{*rate, RateUnit::sequences_per_second, line.number};
  }
  if (exact) {
    const auto replicas = number_after(line, "dp_world_size: ");
    const auto samples = number_after(line, "num_samples: ");
    const auto seconds = number_after(line, "avg_duration: ");
    if (replicas && *replicas >= 1 && *replicas < 1e6) {
      draft.log.facts.axes["data_parallel"] = std::to_string(static_cast<std::int64_t>(*replicas));
    }
    if (replicas && samples && seconds && *seconds > 0 && *samples * *replicas < 1e15) {
      draft.log.totals.training_s = *seconds;
      draft.log.totals.sequences = static_cast<std::int64_t>(*samples * *replicas);
    }
  }
  draft.ended_well = true;
  draft.last_line = line.number;
  evaluator_ = true;
  return true;
}

bool ColossalaiParser::parse(const Line& line, RunBuilder& out) {
  return see_step(line, out) || see_epoch(line, out) || see_wrapped(line, out) ||
         see_evaluator(line, out);
}

void ColossalaiParser::finish(RunBuilder& out) {
  out.facts.framework.set("pytorch", FactSource::log);
  if (epochs_) {
    for (const auto& draft : out.drafts()) {
      draft->log.notices.push_back(foreign_notice(
          0, "the Trainer's lines are of whole epochs, their samples/s of the steps alone"));
    }
  }
  if (!evaluator_) return;
  for (const auto& draft : out.drafts()) {
    draft->log.notices.push_back(foreign_notice(
        0, "the evaluator's throughput leaves out its warm-up steps (ignore_steps)"));
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<ColossalaiParser>(); }

}  // namespace

extern const Format format_colossalai;
const Format format_colossalai = {
    "colossalai", "Colossal-AI: step lines of its examples, performance evaluator",
    "https://github.com/hpcaitech/ColossalAI examples/language/gpt/gemini/train_gpt_demo.py, "
    "examples/language/performance_evaluator.py",
    kAnchors, make};

}  // namespace bertbench
