// nanotron: step lines of Hugging Face's nanotron.
//
//   04/02/2025 09:15:07 [INFO|DP=0|PP=0|TP=0|node-3]: iteration: 120 / 5000 | consumed_tokens:
//     126M | elapsed_time_per_iteration_ms: 3.41K | tokens_per_sec: 307K | tokens_per_sec_per_gpu:
//     38.4K | global_batch_size: 256 | lm_loss: 4.02 | lr: 0.0003 | model_tflops_per_gpu: 241 | ...
//
// (one line). The time is that of the line's own step, the batch and tokens_per_sec are of the job.
// Numbers have three digits and a suffix: the number of GPUs follows from the two rates while it is
// small, and a batch of 1000 or more from nothing. Newer releases say "time_per_iteration_ms".
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/format.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kTime = "time_per_iteration_ms: ";
constexpr std::string_view kAnchors[] = {kTime};
constexpr std::int64_t kMost = 1'000'000'000'000;

struct Human {
  double value = 0;
  bool rounded = false;  ///< it has a suffix
};

// "3.41K", "256", "1.02e+03"
std::optional<Human> human_after(const Line& line, std::string_view key) {
  Cursor cursor(line);
  if (!cursor.skip_past(key)) return std::nullopt;
  const auto number = cursor.number();
  if (!number || !(*number > 0)) return std::nullopt;
  double scale = 1;
  for (const auto& [suffix, factor] : {std::pair{"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"B", 1e9}}) {
    if (cursor.literal(suffix)) scale = factor;
  }
  return Human{*number * scale, scale > 1};
}

// "04/02/2025 09:15:07" at the start of the line or behind a launcher's label.
double clock_of(std::string_view text) {
  constexpr std::size_t kDate = 10, kStamp = 19;
  const auto bracket = text.find(" [");
  if (bracket == std::string_view::npos || bracket < kStamp) return kUnknown;
  const std::string_view stamp = text.substr(bracket - kStamp, kStamp);
  if (stamp[2] != '/' || stamp[5] != '/' || stamp[kDate] != ' ') return kUnknown;
  const std::string iso = std::string(stamp.substr(6, 4)) + '-' + std::string(stamp.substr(0, 2)) +
                          '-' + std::string(stamp.substr(3, 2)) + std::string(stamp.substr(kDate));
  return date_time(iso).value_or(kUnknown);
}

class NanotronParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  static void see_facts(const Line& line, const Human& rate, RunDraft& draft);
};

void NanotronParser::see_facts(const Line& line, const Human& rate, RunDraft& draft) {
  constexpr double kFew = 40;  // GPUs that two rates of three digits tell apart
  Facts& facts = draft.log.facts;
  const auto batch = human_after(line, "global_batch_size: ");
  if (batch && !batch->rounded && batch->value < 1000 && batch->value == std::floor(batch->value)) {
    facts.global_batch_size.set(std::llround(batch->value), FactSource::log);
  }
  const auto of_gpu = human_after(line, "tokens_per_sec_per_gpu: ");
  if (!of_gpu) return;
  const double gpus = rate.value / of_gpu->value;
  if (gpus > 0.9 && gpus <= kFew && std::abs(gpus / std::round(gpus) - 1) < 0.011) {
    facts.world_size.set(std::llround(gpus), FactSource::log);
  }
}

bool NanotronParser::parse(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("iteration: ")) return false;
  const auto step = cursor.integer();
  if (!step || *step < 0 || *step > kMost || !cursor.literal(" / ")) return false;
  const auto planned = cursor.integer();
  if (!planned || *planned < *step || *planned > kMost || !cursor.literal(" | ")) return false;
  const auto time = human_after(line, kTime);
  if (!time) return false;
  Sample sample;
  sample.step = *step;
  sample.iterations = 1;
  sample.seconds = time->value / 1000;
  sample.time_s = clock_of(line.text);
  sample.loss = number_after(line, "lm_loss: ");
  sample.line = line.number;
  sample.rank = line.rank;
  const auto rate = human_after(line, "tokens_per_sec: ");
  if (rate) sample.rate = rate->value;
  RunDraft& draft = out.add(WorkKind::training, sample);
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  draft.planned = *planned;
  if (rate) {
    draft.log.rate_unit = RateUnit::tokens_per_second;
    see_facts(line, *rate, draft);
  }
  if (!std::isnan(sample.time_s)) {
    draft.log.clock_is_wall = true;
    draft.log.clock_resolution_s = 1;
  }
  return true;
}

void NanotronParser::finish(RunBuilder& out) {
  out.facts.framework.set("pytorch", FactSource::log);
  for (const auto& draft : out.drafts()) {
    draft->log.notices.push_back(foreign_notice(
        0,
        "nanotron prints three digits: where its times are alike the rate is off by up to 0.5 %"));
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<NanotronParser>(); }

}  // namespace

extern const Format format_nanotron;
const Format format_nanotron = {
    "nanotron", "nanotron: step lines",
    "https://github.com/huggingface/nanotron src/nanotron/trainer.py (train_step_logs)", kAnchors,
    make};

}  // namespace bertbench
