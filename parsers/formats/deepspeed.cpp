// deepspeed: the throughput timer of the DeepSpeed engine, and DeepSpeed-Chat's end-to-end lines.
//
//   [<date>] [INFO] [timer.py:199:stop] epoch=0/micro_step=20/global_step=10,
//       RunningAvgSamplesPerSec=46.98, CurrSamplesPerSec=50.87, MemAllocated=5.53GB, ...
//   [<date>] [INFO] [timer.py:154:stop] 0/10, SamplesPerSec=12.3 ...                 (before 0.6)
//   |E2E latency=7.99s |Gather latency=... |CurSamplesPerSec=8.01 |AvgSamplesPerSec=8.01
//
// Rates are of all ranks. RunningAvg leaves out the first steps and is cumulative; Curr is the last
// step or the last window, by release. CurSamplesPerSec (one r) is another measure: a step of
// reinforcement learning, generation included.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "parsers/clock.h"
#include "parsers/cursor.h"
#include "parsers/format.h"
#include "parsers/run_builder.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {"SamplesPerSec=", "OVERFLOW! Rank 0",
                                         "Grad overflow on iteration", "exits successfully."};

struct TimerLine {
  std::optional<std::int64_t> epoch, global_step;
  std::int64_t micro_step = 0;
  std::optional<double> running, current;
  double time_s = kUnknown;
};

std::optional<std::int64_t> integer_after(const Line& line, std::string_view key) {
  Cursor cursor(line);
  if (!cursor.skip_past(key)) return std::nullopt;
  return cursor.integer();
}

std::optional<TimerLine> timer_line(const Line& line) {
  TimerLine out;
  const auto named = line.text.find("epoch=");
  if (named != std::string_view::npos) {
    out.epoch = integer_after(line, "epoch=");
    out.global_step = integer_after(line, "/global_step=");
    const auto micro = integer_after(line, "/micro_step=");
    if (!out.epoch || !out.global_step || !micro) return std::nullopt;
    out.micro_step = *micro;
  } else {  // "...] 0/10, SamplesPerSec=": epoch and micro-step
    Cursor cursor(line);
    const auto rate = line.text.find("SamplesPerSec=");
    const auto start = line.text.rfind("] ", rate);
    if (start == std::string_view::npos) return std::nullopt;
    cursor.move_to(start + 2);
    out.epoch = cursor.integer();
    if (!out.epoch || !cursor.literal("/")) return std::nullopt;
    const auto micro = cursor.integer();
    if (!micro || !cursor.literal(", ")) return std::nullopt;
    out.micro_step = *micro;
  }
  out.running = number_after(line, "RunningAvgSamplesPerSec=");
  out.current = number_after(line, "CurrSamplesPerSec=");
  if (!out.running) out.running = number_after(line, ", SamplesPerSec=");
  constexpr std::int64_t kMost = 1'000'000'000'000;
  const std::int64_t global = out.global_step.value_or(0);
  if (!out.running || *out.epoch < 0 || out.micro_step < 0 || global < 0 ||
      out.micro_step > kMost || global > kMost) {
    return std::nullopt;
  }
  const auto stamp = line.text.find('[');
  if (stamp != std::string_view::npos) {
    out.time_s = date_time(line.text.substr(stamp + 1)).value_or(kUnknown);
  }
  return out;
}

class DeepspeedParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  struct Engine {
    RunDraft* draft = nullptr;
    std::int64_t step = 0, base = 0, epoch = 0;
    double running = 0;
  };
  bool see_timer(const TimerLine& timer, const Line& line, RunBuilder& out);
  bool see_end_to_end(const Line& line, RunBuilder& out);
  Engine& engine_for(const TimerLine& timer, const Line& line, RunBuilder& out);

  static constexpr std::size_t kMaxEngines = 8;
  std::vector<Engine> engines_;  ///< of the launch that runs now
  std::size_t most_engines_ = 0;
  RunDraft* end_to_end_ = nullptr;
  std::int64_t skipped_ = 0;
  std::set<std::int64_t> overflows_;
  bool ended_ = false;
};

// The engines of one job (actor and critic) print the same counters one after the other: a line
// whose step the first engine has printed already is the second one's.
DeepspeedParser::Engine& DeepspeedParser::engine_for(const TimerLine& timer, const Line& line,
                                                     RunBuilder& out) {
  const bool global = timer.global_step.has_value();
  const std::int64_t step = global ? *timer.global_step : timer.micro_step;
  for (Engine& engine : engines_) {
    if (step > engine.step || (!global && *timer.epoch > engine.epoch)) return engine;
    if (step == engine.step && *timer.running == engine.running) return engine;  // a copy
  }
  // Another launch begins with its first step; another engine prints a step that was just printed.
  const bool beside = !engines_.empty() && engines_.size() < kMaxEngines &&
                      step == engines_.front().step && engines_.front().draft->count() == 1;
  if (!beside && !engines_.empty()) engines_.clear();  // counters start over: another launch
  Engine engine;
  engine.draft = &out.extra(WorkKind::training, line.number);
  RunLog& log = engine.draft->log;
  log.iteration_unit = global ? IterationUnit::optimizer_step : IterationUnit::micro_step;
  log.rate_unit = RateUnit::sequences_per_second;
  log.clock_resolution_s = 1e-3;
  log.clock_is_wall = true;
  engines_.push_back(engine);
  most_engines_ = std::max(most_engines_, engines_.size());
  return engines_.back();
}

bool DeepspeedParser::see_timer(const TimerLine& timer, const Line& line, RunBuilder& out) {
  Engine& engine = engine_for(timer, line, out);
  Sample sample;
  if (timer.global_step) {
    sample.step = *timer.global_step;
    engine.step = sample.step;
  } else {  // micro-steps begin again with each epoch
    if (*timer.epoch > engine.epoch && timer.micro_step <= engine.step) engine.base += engine.step;
    sample.step = engine.base + timer.micro_step;
    engine.step = timer.micro_step;
  }
  engine.epoch = *timer.epoch;
  engine.running = *timer.running;
  // The first line may come late in a run that was resumed: how many steps it covers is not said.
  if (engine.draft->count() == 0) sample.iterations = 1;
  sample.time_s = timer.time_s;
  sample.rate = timer.current.value_or(kUnknown);
  sample.line = line.number;
  engine.draft->add(sample);
  engine.draft->log.summary = Stated{*timer.running, RateUnit::sequences_per_second, line.number};
  return true;
}

bool DeepspeedParser::see_end_to_end(const Line& line, RunBuilder& out) {
  const auto latency = number_after(line, "|E2E latency=");
  const auto current = number_after(line, "|CurSamplesPerSec=");
  const auto average = number_after(line, "|AvgSamplesPerSec=");
  if (!latency || !current || !average) return false;
  if (end_to_end_ == nullptr) {
    end_to_end_ = &out.extra(WorkKind::training, line.number);
    end_to_end_->log.iteration_unit = IterationUnit::unknown;
    end_to_end_->log.rate_unit = RateUnit::sequences_per_second;
    end_to_end_->log.notices.push_back(
        {line.number,
         "steps of reinforcement learning from end to end, generation included: "
         "CurSamplesPerSec, not the engines' CurrSamplesPerSec"});
  }
  Sample sample;
  sample.step = end_to_end_->last() != nullptr ? end_to_end_->last()->step + 1 : 1;
  sample.iterations = 1;
  sample.seconds = *latency;
  sample.rate = *current;
  sample.line = line.number;
  end_to_end_->add(sample);
  end_to_end_->log.summary = Stated{*average, RateUnit::sequences_per_second, line.number};
  return true;
}

bool DeepspeedParser::parse(const Line& line, RunBuilder& out) {
  if (line.text.find("SamplesPerSec=") != std::string_view::npos) {
    if (line.text.find("|E2E latency=") != std::string_view::npos) {
      return see_end_to_end(line, out);
    }
    const auto timer = timer_line(line);
    return timer && see_timer(*timer, line, out);
  }
  if (line.text.find("OVERFLOW! Rank 0") != std::string_view::npos) {
    ++skipped_;
  } else if (const auto at = integer_after(line, "Grad overflow on iteration ");
             at && overflows_.size() < 1'000'000) {
    overflows_.insert(*at);  // each rank says it
  } else if (line.text.find("exits successfully.") != std::string_view::npos) {
    ended_ = true;
    for (const auto& draft : out.drafts()) draft->last_line = line.number;
  }
  return false;  // the launcher's and the scaler's lines stand in other formats' logs as well
}

void DeepspeedParser::finish(RunBuilder& out) {
  out.facts.framework.set("pytorch", FactSource::log);
  const auto skipped = std::max(skipped_, static_cast<std::int64_t>(overflows_.size()));
  for (const auto& draft : out.drafts()) {
    draft->ended_well = ended_;
    if (draft.get() == end_to_end_) continue;
    if (skipped > 0 && out.drafts().size() == 1) draft->log.totals.skipped_steps = skipped;
    if (most_engines_ > 1 || end_to_end_ != nullptr) {
      draft->log.notices.push_back(
          {0,
           "the log holds several measures of one job (engines, steps from end to end): their "
           "rates stand apart and do not add up"});
    }
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<DeepspeedParser>(); }

}  // namespace

extern const Format format_deepspeed;
const Format format_deepspeed = {
    "deepspeed", "DeepSpeed's throughput timer, old and new; DeepSpeed-Chat's end-to-end lines",
    "https://github.com/microsoft/DeepSpeed deepspeed/utils/timer.py (ThroughputTimer)", kAnchors,
    make};

}  // namespace bertbench
