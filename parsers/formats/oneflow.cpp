// oneflow: OneFlow's benchmark scripts and LiBai.
//
//   step: 39, total_loss: 10.903, mlm_loss: 10.216, nsp_loss: 0.687, throughput: 121.513 1598.88
//   iter 19, total_loss: 10.98, mlm_loss: 10.2, nsp_loss: 0.6, speed: 0.861(sec/batch),
//       5.806(sentences/sec)                                                  (June 2020 and
//       before)
//   [rank:0] [train], epoch: 0/1, iter: 100/625, loss: 0.8, ..., throughput: 1234.5 | <date time>
//   train: iter 20, loss 12.1, throughput: 345.6                               (insightface)
//   train: epoch 0, iter 200, loss: 6.9, top_1: 0.0, ..., samples/s: 964.6 1598860909.2    (CNNs)
//   [09/19 14:39:40 lb.utils.events]:  eta: 22:07:15  iteration: 87/18660  consumed_samples: 704
//       total_loss: 10.36  time: 4.2893 s/iter  ... total_throughput: 1.87 samples/s  (LiBai)
//
// Throughput is of all devices, over the steps since the line before; DLPerf's revision adds the
// time of day in seconds since 1970. The BERT script counts from 0: "step: 39" is the 40th.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "parsers/assemble/run_builder.h"
#include "parsers/assemble/training_clock.h"
#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {
    ", throughput: ",      ", samples/s: ",  "(sentences/sec)",
    "lb.utils.events",     "lb.evaluation.", "batch_size_per_device = ",
    "gpu_num_per_node = ", "num_nodes = ",   "num_accumulation_steps = "};

/// Where a line of training stands.
struct Place {
  std::int64_t step = 0;  ///< counted from 1; of its epoch, if the line tells one
  std::optional<std::int64_t> epoch, total;
};

// "step: 39, ...", "iter 19, ...", "train: iter 20, ...", "..., epoch: 0/1, iter: 100/625, ...".
std::optional<Place> place_of(const Line& line) {
  const auto has = [&](std::string_view what) {
    return line.text.find(what) != std::string_view::npos;
  };
  if (has("alidat") || has("[eval]")) return std::nullopt;
  Cursor cursor(line);
  Place out;
  const bool from_zero = cursor.literal("step: ") || cursor.literal("iter ");
  if (line.text.starts_with("train: iter ")) {
    cursor.skip_past("train: iter ");
  } else if (!from_zero) {
    if (!has("train")) return std::nullopt;
    if (cursor.skip_past("epoch: ") || cursor.skip_past("epoch ")) out.epoch = cursor.integer();
    if (!cursor.skip_past("iter: ") && !cursor.skip_past(", iter ")) return std::nullopt;
  }
  const auto number = cursor.integer();
  if (!number || *number < 0 || *number > 1'000'000'000'000) return std::nullopt;
  if (cursor.literal("/")) out.total = cursor.integer();
  if (!cursor.literal(",")) return std::nullopt;
  out.step = *number + (from_zero ? 1 : 0);
  return out;
}

// "speed: 0.861(sec/batch), 5.806(sentences/sec)", "throughput: 734.2 | 2022-02-01 10:00:00.1",
// "samples/s: 240.3 [1585712345.2]": the rate, and the clock where there is one.
bool take_rate(const Line& line, Sample& sample) {
  if (const auto sentences = number_after(line, "(sec/batch), ")) {
    sample.rate = *sentences;
    return true;
  }
  Cursor behind(line);
  if (!behind.skip_past(", throughput: ") && !behind.skip_past(", samples/s: ")) return false;
  const auto value = behind.number();
  if (!value) return false;
  sample.rate = *value;
  behind.blanks();
  if (behind.literal("|")) behind.blanks();
  if (behind.rest().starts_with("20")) {
    sample.time_s = date_time(behind.rest()).value_or(kUnknown);
    if (!std::isnan(sample.time_s)) return true;
  }
  behind.literal("[");
  constexpr double kEpoch2001 = 1e9;
  if (const auto stamp = behind.number(); stamp && *stamp > kEpoch2001) sample.time_s = *stamp;
  return true;
}

class OneflowParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool see_header(const Line& line);
  bool see_step(const Line& line, RunBuilder& out);
  bool see_libai(const Line& line, RunBuilder& out);
  RunDraft& put(Sample sample, RunBuilder& out);
  void begin_again(RunBuilder& out);

  std::optional<std::int64_t> batch_, gpus_, nodes_, accumulation_;
  std::optional<std::int64_t> samples_;  ///< consumed, of the line before
  std::int64_t step_ = -1, epoch_ = -1, base_ = 0;
  bool records_ = false;
  TrainingClock clock_;  ///< LiBai's stamps
};

void OneflowParser::begin_again(RunBuilder& out) {
  out.close(WorkKind::training);
  step_ = epoch_ = -1;
  base_ = 0;
  samples_.reset();
  records_ = false;
}

RunDraft& OneflowParser::put(Sample sample, RunBuilder& out) {
  if (step_ >= 0 && sample.step < step_ && sample.rank < 0) begin_again(out);
  const std::int64_t first = std::max<std::int64_t>(1, sample.step);
  sample.iterations = step_ >= 0 ? std::max<std::int64_t>(1, sample.step - step_) : first;
  step_ = std::max(step_, sample.step);
  RunDraft& draft = out.run(WorkKind::training, sample.line);
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  draft.log.rate_unit = RateUnit::sequences_per_second;
  Facts& facts = draft.log.facts;
  const auto set = [](Fact<std::int64_t>& fact, const std::optional<std::int64_t>& value) {
    if (value && !fact.known()) fact.set(*value, FactSource::log);
  };
  set(facts.micro_batch_size, batch_);
  set(facts.gpus_per_node, gpus_);
  set(facts.nodes, nodes_);
  set(facts.gradient_accumulation_steps, accumulation_);
  draft.add(sample);
  records_ = true;
  return draft;
}

bool OneflowParser::see_header(const Line& line) {
  const auto take = [&](std::string_view key, std::optional<std::int64_t>& into) {
    Cursor cursor(line);
    cursor.blanks();
    if (!cursor.literal(key) || !cursor.literal(" = ")) return;
    const auto value = cursor.integer();
    if (value && *value >= 1 && *value < 1'000'000'000) into = *value;
  };
  take("batch_size_per_device", batch_);
  take("gpu_num_per_node", gpus_);
  take("num_nodes", nodes_);
  take("num_accumulation_steps", accumulation_);
  return false;
}

bool OneflowParser::see_step(const Line& line, RunBuilder& out) {
  const auto at = place_of(line);
  Sample sample;
  if (!at || !take_rate(line, sample)) return false;
  sample.step = at->step;
  const bool told = at->epoch && at->total && *at->epoch >= 0 && *at->epoch < 1'000'000 &&
                    *at->total >= 1 && *at->total < 1'000'000'000;
  if (told) {
    sample.step += *at->epoch * *at->total;
  } else if (at->epoch) {
    if (epoch_ >= 0 && *at->epoch > epoch_) base_ = step_;
    epoch_ = *at->epoch;
    sample.step += base_;
  }
  sample.loss = number_after(line, {"loss: ", ", loss "});
  sample.line = line.number;
  sample.rank = line.rank;
  RunDraft& draft = put(sample, out);
  if (!std::isnan(sample.time_s)) {
    draft.log.clock_resolution_s = 1e-6;
    draft.log.clock_is_wall = true;
  }
  return true;
}

// The times of LiBai are medians of the last 20 iterations: good as rates, not to be summed.
bool OneflowParser::see_libai(const Line& line, RunBuilder& out) {
  if (line.text.find("lb.utils.events") == std::string_view::npos) return false;
  Cursor cursor(line);
  if (!cursor.skip_past("iteration: ")) return false;
  const auto step = cursor.integer();
  if (!step || !cursor.literal("/")) return false;
  const auto total = cursor.integer();
  const auto rate = number_after(line, "total_throughput: ");
  if (!total || *step < 0 || *total < 1 || *step > 1'000'000'000'000) return false;
  Sample sample;
  sample.step = *step + 1;
  sample.rate = rate.value_or(kUnknown);
  sample.loss = number_after(line, "total_loss: ");
  sample.line = line.number;
  sample.rank = line.rank;
  // "[09/19 14:39:40 lb.utils.events]": whole seconds of an unnamed year
  Cursor stamp(line);
  if (stamp.skip_past("[")) {
    const auto month = stamp.integer();
    if (month && stamp.literal("/")) {
      const auto day = stamp.integer();
      stamp.blanks();
      const auto clock = stamp.duration();
      if (day && clock && *month >= 1 && *month <= 12 && *day >= 1 && *day <= 31) {
        const auto text = "2020-" + std::string(*month < 10 ? "0" : "") + std::to_string(*month) +
                          "-" + std::string(*day < 10 ? "0" : "") + std::to_string(*day) +
                          " 00:00:00.0";
        if (const auto date = date_time(text)) sample.time_s = *date + *clock;
      }
    }
  }
  const std::int64_t before = step_;
  const double each = before >= 0 ? number_after(line, " time: ").value_or(kUnknown) : kUnknown;
  sample.time_s = clock_.at(sample.time_s, each * static_cast<double>(sample.step - before));
  RunDraft& draft = put(sample, out);
  draft.planned = *total;
  draft.log.clock_resolution_s = 1;
  draft.log.clock_is_wall = true;
  const auto consumed = number_after(line, "consumed_samples: ");
  if (consumed && *consumed >= 1 && *consumed < 1e15) {
    const auto now = static_cast<std::int64_t>(*consumed);
    const std::int64_t steps = sample.step - before;
    if (samples_ && before >= 0 && steps > 0 && now > *samples_ && (now - *samples_) % steps == 0) {
      draft.log.facts.global_batch_size.set((now - *samples_) / steps, FactSource::log);
    }
    samples_ = now;
  }
  return true;
}

bool OneflowParser::parse(const Line& line, RunBuilder& out) {
  if (line.text.find("lb.evaluation.") != std::string_view::npos) {
    clock_.see_evaluation();
    return records_;
  }
  return see_step(line, out) || see_libai(line, out) || see_header(line);
}

void OneflowParser::finish(RunBuilder& out) {
  out.facts.framework.set("oneflow", FactSource::log);
  if (!(clock_.off_s() > 0)) return;
  for (const auto& draft : out.drafts()) {
    draft->log.notices.push_back(foreign_notice(
        0,
        "the time of the evaluations is taken off the clock: an interval that holds one counts "
        "with the time of its iterations"));
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<OneflowParser>(); }

}  // namespace

extern const Format format_oneflow;
const Format format_oneflow = {
    "oneflow", "OneFlow benchmarks (BERT, ResNet, insightface), LiBai",
    "https://github.com/Oneflow-Inc/OneFlow-Benchmark LanguageModeling/BERT; libai/utils/events.py",
    kAnchors, make};

}  // namespace bertbench
