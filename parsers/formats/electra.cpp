// electra: the progress lines of ELECTRA's TensorFlow scripts (ETAHook) and those made from them.
//
//   100/10000 = 1.0%, SPS: 2.3, ELAP: 43, ETA: 1:11:44 - loss: 30.1234
//   4000/10000 = 40.0%, SPS: 2.4, ELAP: 1 day, 0:27:46, ETA: 12:41:40       (TPU: no loss)
//
// A step is an optimizer step. SPS is the mean since the session began, with one decimal: the clock
// is ELAP, in whole seconds. Evaluations and predictions print the same lines with a counter and a
// total of their own, and without a loss.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/decimal.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {"%, SPS: "};
constexpr std::int64_t kMost = 1'000'000'000'000;

class ElectraParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  std::int64_t step_ = 0, all_ = 0;  ///< of the training
  bool losses_ = false;
};

bool ElectraParser::parse(const Line& line, RunBuilder& out) {
  const auto mark = line.text.find("%, SPS: ");
  const auto equals = mark == std::string_view::npos ? mark : line.text.rfind(" = ", mark);
  if (equals == std::string_view::npos) return false;
  const std::size_t total = digits_before(line.text, equals);
  if (total == equals || total == 0 || line.text[total - 1] != '/') return false;
  Cursor cursor(line);
  cursor.move_to(digits_before(line.text, total - 1));
  const auto step = cursor.integer();
  const auto all = step && cursor.literal("/") ? cursor.integer() : std::nullopt;
  if (!all || *step < 0 || *all < 1 || *step > kMost || *all > kMost) return false;
  const auto mean = cursor.skip_past("%, SPS: ") ? cursor.number() : std::nullopt;
  if (!mean || !cursor.literal(", ELAP: ")) return false;
  const auto clock = cursor.duration();
  if (!clock || !cursor.literal(", ETA: ")) return false;
  const auto loss = number_after(line, "loss:");
  RunDraft* open = out.open(WorkKind::training);
  const bool again = open != nullptr && (*all != all_ || *step < step_);
  // An evaluation's: what was trained goes on behind it, or has ended.
  if (again && !loss && (losses_ || *all != all_)) return true;
  if (again) out.close(WorkKind::training);
  losses_ = losses_ || loss;
  step_ = *step;
  all_ = *all;
  Sample sample;
  sample.step = *step;
  sample.time_s = *clock;
  sample.loss = loss;
  sample.line = line.number;
  sample.rank = line.rank;
  RunDraft& draft = out.run(WorkKind::training, line.number);
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  draft.log.clock_resolution_s = 1;
  draft.planned = *all;
  if (draft.count() == 0) {
    // A resumed session did as many steps as SPS says, to its one decimal.
    constexpr double kFar = 1.5, kHalfDigit = 0.05;
    const double most = std::max(0.0, *mean + kHalfDigit) * (*clock + 1);
    if (static_cast<double>(*step) > kFar * most + 1) {
      sample.iterations = std::max<std::int64_t>(1, std::llround(std::fmin(most, 1e12)));
      draft.begin_at(*step - std::min(*step, sample.iterations));
    }
    draft.set_origin(0);
  }
  draft.add(sample);
  return true;
}

void ElectraParser::finish(RunBuilder& out) {
  out.facts.framework.set("tensorflow", FactSource::log);
  if (losses_) return;
  for (const auto& draft : out.drafts()) {
    draft->log.notices.push_back(foreign_notice(
        0,
        "the lines show no loss, as those of trainings on TPUs and of all evaluations do: which "
        "of the two this is they do not tell"));
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<ElectraParser>(); }

}  // namespace

extern const Format format_electra;
const Format format_electra = {"electra", "ELECTRA for TensorFlow: steps, SPS, ELAP and ETA",
                               "https://github.com/google-research/electra "
                               "util/training_utils.py (ETAHook)",
                               kAnchors, make};

}  // namespace bertbench
