// maxtext: step lines of Google's MaxText and MaxDiffusion (JAX).
//
//   Config param global_batch_size_to_train_on: 32
//   Config param max_target_length: 2048
//   Config param steps: 150
//   completed step: 7, seconds: 0.512, TFLOP/s/device: 120.123, Tokens/s/device: 4000.0,
//       total_weights: 65536, loss: 9.871                                     (one line)
//
// A line stands for one optimizer step, counted from 0; its seconds are those since the step before
// was completed. All hosts print it. Before 2024 it says "TFLOP/s" and no tokens; while the batch
// is ramped up it shows neither. Tokens/s are of one device, whose number no line tells.
#include <optional>
#include <string_view>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {"completed step: ", "Config param "};

class MaxtextParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  void see_setting(const Line& line);

  std::optional<std::int64_t> batch_, length_, steps_;
  bool coarse_ = false;
};

void MaxtextParser::see_setting(const Line& line) {
  const auto take = [&](std::string_view key, std::optional<std::int64_t>& value) {
    if (const auto size = size_after(line, key)) value = size;
  };
  take("Config param global_batch_size_to_train_on:", batch_);
  take("Config param max_target_length:", length_);
  take("Config param steps:", steps_);
}

bool MaxtextParser::parse(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("completed step: ")) {
    see_setting(line);
    return false;
  }
  const auto step = cursor.integer();
  constexpr std::int64_t kMost = 1'000'000'000'000;
  if (!step || *step < 0 || *step > kMost || !cursor.literal(", seconds: ")) return false;
  const auto seconds = cursor.number();
  if (!seconds || !(*seconds >= 0 && *seconds < 1e7)) return false;
  Sample sample;
  sample.step = *step + 1;
  sample.iterations = 1;
  constexpr double kFine = 0.05;  // printed to the millisecond
  coarse_ = coarse_ || *seconds < kFine;
  if (*seconds >= kFine) sample.seconds = *seconds;
  sample.loss = number_after(line, " loss:");
  sample.line = line.number;
  sample.rank = line.rank;
  RunDraft& draft = out.add(WorkKind::training, sample);
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  if (steps_) draft.planned = *steps_;
  if (batch_) draft.log.facts.global_batch_size.set(*batch_, FactSource::log);
  if (length_) draft.log.facts.sequence_length.set(*length_, FactSource::log);
  return true;
}

void MaxtextParser::finish(RunBuilder& out) {
  out.facts.framework.set("jax", FactSource::log);
  if (!coarse_) return;
  for (const auto& draft : out.drafts()) {
    draft->log.notices.push_back(foreign_notice(
        0,
        "the seconds of a step have three decimals: those below 0.05 are left out, as they tell "
        "it worse than to 1 %"));
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<MaxtextParser>(); }

}  // namespace

extern const Format format_maxtext;
const Format format_maxtext = {"maxtext", "MaxText and MaxDiffusion: step lines",
                               "https://github.com/AI-Hypercomputer/maxtext "
                               "src/maxtext/common/metric_logger.py",
                               kAnchors, make};

}  // namespace bertbench
