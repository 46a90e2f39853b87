// neuron: BERT and GPT pretraining of AWS Neuron's samples (torch-neuronx).
//
//   LOG Thu Jun 29 05:44:10 2023 - (0, 12) step_loss : 9.8125 learning_rate : 2.40e-06
//       throughput : 1234.50 grad-norm : 1.25
//   Epoch 0 step 100 file index 1 end Thu Jun 29 05:50:02 2023 loss 8.1 perf 1236.2 seq/sec
//       (at train microstep 3200 time 1688017802.1 from beginning time 1688017410.2)
//
// A step is an optimizer step. throughput is of all workers, over up to ten steps in front of the
// line; its rate is right, but of a few lines each tells the others' time again.
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/format.h"
#include "parsers/lines/argument_text.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {
    " throughput : ", "grad_accum_usteps=", " seq/sec (at train microstep "};
constexpr double kMost = 1e12;

// "Thu Jun 29 05:44:10 2023" of C's asctime, whose days below ten begin with a blank.
std::optional<double> asctime(std::string_view text) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  if (text.size() < 24 || text[3] != ' ' || text[7] != ' ' || text[19] != ' ') return std::nullopt;
  const auto month = kMonths.find(text.substr(4, 3));
  if (month == std::string_view::npos || month % 3 != 0) return std::nullopt;
  std::array<char, 19> stamp{};
  const auto put = [&](std::size_t at, std::string_view part) {
    for (const char c : part) stamp[at++] = c == ' ' ? '0' : c;
  };
  const auto number = static_cast<int>(month / 3) + 1;
  put(0, text.substr(20, 4));
  stamp[4] = stamp[7] = '-';
  stamp[5] = static_cast<char>('0' + number / 10);
  stamp[6] = static_cast<char>('0' + number % 10);
  put(8, text.substr(8, 2));
  put(11, text.substr(11, 8));
  stamp[10] = ' ';
  return date_time({stamp.data(), stamp.size()});
}

class NeuronParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool see_step(const Line& line, RunBuilder& out);
  bool see_shard(const Line& line, RunBuilder& out);

  std::optional<std::int64_t> batch_, accumulation_, steps_, length_;
};

bool NeuronParser::see_step(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.literal("LOG ")) return false;
  const auto time = asctime(cursor.rest());
  if (!cursor.skip_past(" - (") || !cursor.integer() || !cursor.literal(", ")) return false;
  const auto step = cursor.integer();
  if (!step || *step < 0 || !cursor.literal(") step_loss : ")) return false;
  const auto loss = cursor.number();
  const auto rate = number_after(line, " throughput :");
  if (!loss || !rate) return false;
  Sample sample;
  sample.step = *step;
  sample.loss = *loss;
  if (*rate > 0) sample.rate = *rate;
  if (time) sample.time_s = *time;
  sample.line = line.number;
  sample.rank = line.rank;
  RunDraft& draft = out.add(WorkKind::training, sample);
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  draft.log.rate_unit = RateUnit::sequences_per_second;
  draft.log.clock_is_wall = true;
  draft.log.clock_resolution_s = 1;
  if (steps_) {
    draft.planned = *steps_;
    draft.ended_well = *step >= *steps_;
  }
  return true;
}

// A file of the data set ends; the times stand from the beginning of the training on.
bool NeuronParser::see_shard(const Line& line, RunBuilder& out) {
  const auto micro = number_after(line, "(at train microstep ");
  const auto step = number_after(line, " step ");
  const auto now = number_after(line, " time ");
  const auto begin = number_after(line, " from beginning time ");
  RunDraft* run = out.open(WorkKind::training);
  if (!micro || !step || !now || !begin || run == nullptr) return false;
  if (!accumulation_ && *step >= 1 && *micro >= *step && *micro < kMost) {
    const double each = *micro / *step;
    if (each == std::floor(each)) accumulation_ = static_cast<std::int64_t>(each);
  }
  if (*now > *begin) run->log.totals.training_s = *now - *begin;
  run->last_line = line.number;
  return true;
}

bool NeuronParser::parse(const Line& line, RunBuilder& out) {
  if (see_step(line, out) || see_shard(line, out)) return true;
  if (!has(line, "grad_accum_usteps=")) return false;
  batch_ = size_after(line, " batch_size=");
  if (!batch_) batch_ = size_after(line, "(batch_size=");
  accumulation_ = size_after(line, "grad_accum_usteps=");
  steps_ = size_after(line, "steps_this_run=");
  length_ = size_after(line, "seq_len=");
  return false;
}

void NeuronParser::finish(RunBuilder& out) {
  out.facts.framework.set("pytorch", FactSource::log);
  for (const auto& draft : out.drafts()) {
    Facts& facts = draft->log.facts;
    if (batch_) facts.micro_batch_size.set(*batch_, FactSource::log);
    if (accumulation_) facts.gradient_accumulation_steps.set(*accumulation_, FactSource::log);
    if (length_) facts.sequence_length.set(*length_, FactSource::log);
    draft->log.notices.push_back(foreign_notice(
        0, "throughput is a mean of up to ten steps: neighbouring lines tell much the same"));
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<NeuronParser>(); }

}  // namespace

extern const Format format_neuron;
const Format format_neuron = {"neuron", "AWS Neuron's samples of pretraining: throughput of all",
                              "https://github.com/aws-neuron/aws-neuron-samples torch-neuronx/"
                              "training/dp_bert_hf_pretrain",
                              kAnchors, make};

}  // namespace bertbench
