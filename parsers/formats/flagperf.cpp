// flagperf: the events that BAAI's FlagPerf prints.
//
//   [PerfLog] {"event": "SUBMIT_INFO", "value": {"vendor": "nvidia", "model": "bert", "config":
//       {"train_batch_size": 27, "gradient_accumulation_steps": 1, "n_gpu": 8, ...
//   [PerfLog] {"event": "STEP_END", "value": {"loss": 2.68, "epoch": 0, "global_steps": 50,
//       "num_trained_samples": 10584, "seq/s": 496.1}, "metadata": {..., "time_ms": 1682, ...
//   [PerfLog] {"event": "FINISHED", "value": {"e2e_time": 4895.6, "raw_train_time": 4848.557,
//       "training_sequences_per_second": 494.99, "converged": true, ...}, "metadata": {...}}
//
// Every rank prints the events, its number stands in the metadata. A step of BERT is a micro-step;
// its seq/s is that of the one optimizer step in front of the line, of all devices. The closing
// rate is global batch x steps over the time of the training, evaluations included.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/format.h"
#include "parsers/lines/argument_text.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {"[PerfLog] {"};

class FlagperfParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  void see_settings(const Line& line);
  void see_step(const Line& line, double time_ms, RunBuilder& out);
  void see_end(const Line& line, RunBuilder& out);

  Facts facts_;
  double start_ms_ = kUnknown;  ///< of the training
  bool bert_ = false, rates_ = false;
};

void FlagperfParser::see_settings(const Line& line) {
  bert_ = has(line, "\"model\": \"bert\"");
  facts_ = {};
  start_ms_ = kUnknown;
  const auto tell = [&](Fact<std::int64_t>& fact, std::string_view key) {
    if (const auto size = size_after(line, key)) fact.set(*size, FactSource::log);
  };
  tell(facts_.micro_batch_size, "\"train_batch_size\":");
  tell(facts_.gradient_accumulation_steps, "\"gradient_accumulation_steps\":");
  tell(facts_.world_size, "\"n_gpu\":");
  tell(facts_.sequence_length, "\"max_seq_length\":");
}

void FlagperfParser::see_step(const Line& line, double time_ms, RunBuilder& out) {
  const auto step = number_after(line, "\"global_steps\":");
  if (!step || !(*step >= 0 && *step < 1e12)) return;
  Sample sample;
  sample.step = static_cast<std::int64_t>(*step);
  const auto rate = number_after(line, "\"seq/s\":");
  if (rate && *rate > 0) sample.rate = *rate;
  rates_ = rates_ || !std::isnan(sample.rate);
  sample.loss = number_after(line, "\"loss\":");
  sample.time_s = time_ms / 1000;
  sample.line = line.number;
  const auto rank = number_after(line, "\"rank\":");
  sample.rank = rank && *rank >= 0 && *rank < 1e6 ? static_cast<int>(*rank) : line.rank;
  RunDraft& draft = out.add(WorkKind::training, sample);
  draft.log.facts = facts_;
  draft.own_facts = true;  // its train_batch_size is that of one device
  draft.log.iteration_unit = bert_ ? IterationUnit::micro_step : IterationUnit::unknown;
  draft.log.rate_unit = RateUnit::sequences_per_second;
  draft.log.clock_is_wall = true;
  draft.log.clock_resolution_s = 1e-3;
}

void FlagperfParser::see_end(const Line& line, RunBuilder& out) {
  RunDraft& draft = out.run(WorkKind::training, line.number);
  auto rate = number_after(
      line, {"\"training_sequences_per_second\":", "\"training_samples_per_second\":"});
  if (rate && *rate > 0) {
    draft.log.summary = Stated{*rate, RateUnit::sequences_per_second, line.number};
  }
  const auto seconds = number_after(line, "\"raw_train_time\":");
  const auto whole = number_after(line, "\"e2e_time\":");
  if (seconds && *seconds > 0) draft.log.totals.training_s = *seconds;
  if (whole && *whole > 0) draft.log.totals.wall_s = *whole;
  if (draft.count() == 0) draft.log.facts = facts_;
  draft.own_facts = true;
  draft.ended_well = true;
  draft.last_line = line.number;
  out.close(WorkKind::training);
}

bool FlagperfParser::parse(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past(kAnchors[0]) || !cursor.skip_past("\"event\": \"")) return false;
  const auto event = cursor.until("\"");
  if (!event) return false;
  const double time_ms = number_after(line, "\"time_ms\":").value_or(kUnknown);
  if (*event == "SUBMIT_INFO") {
    see_settings(line);
  } else if (*event == "STEP_END") {
    see_step(line, time_ms, out);
  } else if (*event == "TRAIN_START") {
    if (std::isnan(start_ms_)) start_ms_ = time_ms;
  } else if (*event == "TRAIN_END") {
    RunDraft* run = out.open(WorkKind::training);
    if (run != nullptr && time_ms > start_ms_) {
      run->log.totals.training_s = (time_ms - start_ms_) / 1000;
      run->last_line = line.number;
    }
  } else if (*event == "FINISHED") {
    see_end(line, out);
  }
  return true;
}

void FlagperfParser::finish(RunBuilder& out) {
  if (!rates_) return;
  for (const auto& draft : out.drafts()) {
    draft->log.notices.push_back(foreign_notice(
        0,
        "seq/s is that of the one optimizer step in front of the line, not of all since the line "
        "before: printed rates are a sample"));
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<FlagperfParser>(); }

}  // namespace

extern const Format format_flagperf;
const Format format_flagperf = {"flagperf", "BAAI FlagPerf: events of its benchmarks",
                                "https://github.com/FlagOpen/FlagPerf "
                                "training/benchmarks/driver/perf_logger.py",
                                kAnchors, make};

}  // namespace bertbench
