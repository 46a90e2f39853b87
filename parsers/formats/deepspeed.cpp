// deepspeed: the throughput timer of the DeepSpeed engine, and DeepSpeed-Chat's end-to-end lines.
//
//   [<date>] [INFO] [timer.py:199:stop] epoch=0/micro_step=20/global_step=10,
//       RunningAvgSamplesPerSec=46.98, CurrSamplesPerSec=50.87, MemAllocated=5.53GB, ...
//   [<date>] [INFO] [timer.py:154:stop] 0/10, SamplesPerSec=12.3 ...                 (before 0.6)
//   bing_bert_progress: step=10, loss=9.28, lr=1e-05, sample_count=640     (the BERT example, in
//       front of the timer's line of this step)
//    At step 20, the throughput is 8.918134 Samples/s      (likewise: of its last 20 micro-steps)
//   |E2E latency=7.99s |Gather latency=... |CurSamplesPerSec=8.01 |AvgSamplesPerSec=8.01
//   End-to-End => Latency: 5.26s, TFLOPs: 1.2, Samples/sec: 12.17, ..., Batch Size: 64, Total Seq.
//   ... Model Parameters: 1.316 B, Latency: 0.53s, TFLOPs: 40.2, Samples/sec: 7.55, Time/seq 0.13s,
//       Batch Size: 4, Sequence Length: 512                              (steps 1 and 2: one GPU)
//   steps: 10 loss: 1.2500 iter time (s): 0.500 samples/sec: 512.000       (engine of pipelines)
//
// Rates are of all ranks. RunningAvg leaves out the first steps and is cumulative; Curr is the last
// step or the last window, by release. CurSamplesPerSec (one r) is another measure: a step of
// reinforcement learning, generation included.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/format.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"
#include "parsers/scan/byte_search.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {"SamplesPerSec=",
                                         "OVERFLOW! Rank 0",
                                         "Grad overflow on iteration",
                                         ", skipped=",
                                         "exits successfully.",
                                         "Samples/sec: ",
                                         "|act_loss: ",
                                         " | Actor Loss: ",
                                         "bing_bert_progress: step=",
                                         "elapsed time per iteration (",
                                         "elapsed_time_per_iteration_ms=",
                                         " iter time (s): ",
                                         "[after training is done]",
                                         "Total optimization steps",
                                         "the throughput is ",
                                         " termination due to max steps limit"};

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
  const auto named = find_text(line.text, "epoch=");
  if (named != std::string_view::npos) {
    out.epoch = integer_after(line, "epoch=");
    out.global_step = integer_after(line, "/global_step=");
    const auto micro = integer_after(line, "/micro_step=");
    if (!out.epoch || !out.global_step || !micro) return std::nullopt;
    out.micro_step = *micro;
  } else {  // "...] 0/10, SamplesPerSec=": epoch and micro-step
    Cursor cursor(line);
    const auto rate = find_text(line.text, "SamplesPerSec=");
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
  // What other processes wrote on the same line may have brackets too.
  for (auto stamp = line.text.find('['); stamp != std::string_view::npos && std::isnan(out.time_s);
       stamp = line.text.find('[', stamp + 1)) {
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
  bool see_chat(const Line& line, RunBuilder& out);
  bool see_progress(const Line& line, RunBuilder& out);
  bool see_throughput(const Line& line);
  void see_samples(std::int64_t step, std::int64_t samples);
  bool see_pipeline(const Line& line, RunBuilder& out);
  bool see_actor_loss(const Line& line) const;
  void add_end_to_end(double seconds, double rate, const Line& line, RunBuilder& out);
  Engine& engine_for(const TimerLine& timer, const Line& line, RunBuilder& out);

  static constexpr std::size_t kMaxEngines = 8;
  std::vector<Engine> engines_;  ///< of the launch that runs now
  std::size_t most_engines_ = 0;
  RunDraft* end_to_end_ = nullptr;
  /// Which of two lines tells the steps of end_to_end_: the engine's or DeepSpeed-Chat's own. Both
  /// may stand in a log, each with a time of its own for the same step.
  bool engine_steps_ = false, chat_steps_ = false;
  std::vector<RunDraft*> pipes_;  ///< of "steps:" lines
  RunDraft* chat_ = nullptr;      ///< DeepSpeed-Chat's lines of steps 1 and 2
  /// Lines of bing_bert: a run for where no engine prints its times.
  RunDraft* progress_ = nullptr;
  struct Progress {
    std::int64_t step = 0, samples = 0, line = 0;
    double loss = kUnknown;
  };
  Progress newest_;                       ///< of its lines
  std::int64_t batch_ = 0;                ///< sequences a step, 0 = not known, -1 = they differ
  std::vector<RunDraft*> progress_runs_;  ///< of which progress_ is the newest
  bool stopped_ = false;                  ///< it has said that it did the steps it was asked for
  std::int64_t stopped_at_ = 0;           ///< their number, 0 = unknown
  std::int64_t skipped_ = 0, skipped_line_ = 0;
  std::int64_t counted_ = 0;  ///< "step=1840, skipped=20, lr=...": the engine's own count
  std::set<std::int64_t> overflows_;
  bool ended_ = false;
  std::optional<std::int64_t> total_;  ///< of the banner that scripts took over from the Trainer
  /// Megatron-DeepSpeed tells time and global batch of the same steps: its lines speak for the log.
  bool beside_megatron_ = false;
  /// "steps: 10 loss: 1.2 iter time (s): 0.5 samples/sec: 512": the engine of pipelines, whose
  /// timer counts optimizer steps under every release.
  bool pipeline_ = false;
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
  const bool counts_updates = engine.draft->log.iteration_unit == IterationUnit::optimizer_step;
  if (counts_updates && newest_.line > 0 && newest_.step == sample.step) {
    engine.draft->set_loss(newest_.loss, newest_.line);
  }
  engine.draft->log.summary = Stated{*timer.running, RateUnit::sequences_per_second, line.number};
  return true;
}

// The mean time of the steps since the line before, and the global batch over it. Where the timer
// or Megatron tells the same steps, these speak.
bool DeepspeedParser::see_pipeline(const Line& line, RunBuilder& out) {
  const auto step = integer_after(line, "steps: ");
  const auto seconds = number_after(line, " iter time (s):");
  const auto rate = number_after(line, " samples/sec:");
  if (!step || *step < 0 || *step > 1'000'000'000'000 || !seconds || !(*seconds > 0) || !rate ||
      !(*rate > 0)) {
    return false;
  }
  if (beside_megatron_) return false;
  const auto newest = [&] { return pipes_.empty() ? nullptr : pipes_.back()->last(); };
  if (newest() == nullptr || *step < newest()->step) {
    pipes_.push_back(&out.extra(WorkKind::training, line.number));
  }
  RunDraft& run = *pipes_.back();
  const Record* before = newest();
  Sample sample;
  sample.step = *step;
  sample.iterations = before != nullptr ? std::max<std::int64_t>(1, *step - before->step) : 1;
  sample.seconds = *seconds * static_cast<double>(sample.iterations);
  sample.rate = *rate;
  sample.loss = number_after(line, " loss:");
  sample.line = line.number;
  sample.rank = line.rank;
  run.log.iteration_unit = IterationUnit::optimizer_step;
  run.log.rate_unit = RateUnit::sequences_per_second;
  const double batch = *seconds * *rate, doubt = batch * (5e-4 / *seconds + 5e-4 / *rate);
  const double near = std::round(batch);
  if (near >= 1 && near < 1e9 && doubt < 0.3 && std::abs(batch - near) <= doubt + 1e-3) {
    run.log.facts.global_batch_size.set(static_cast<std::int64_t>(near), FactSource::log);
  }
  run.add(sample);
  return true;
}

bool DeepspeedParser::see_end_to_end(const Line& line, RunBuilder& out) {
  const auto latency = number_after(line, "|E2E latency=");
  const auto current = number_after(line, "|CurSamplesPerSec=");
  const auto average = number_after(line, "|AvgSamplesPerSec=");
  if (!latency || !current || !average) return false;
  if (chat_steps_) return true;
  engine_steps_ = true;
  add_end_to_end(*latency, *current, line, out);
  end_to_end_->log.summary = Stated{*average, RateUnit::sequences_per_second, line.number};
  return true;
}

// "epoch: 0|step: 12|ppo_ep: 1|act_loss: 0.1|cri_loss: 0.2|unsuper_loss: 0.0" of the step that the
// line in front tells; later releases write it out and put it in front.
bool DeepspeedParser::see_actor_loss(const Line& line) const {
  auto loss = number_after(line, {"|act_loss:", " | Actor Loss:"});
  if (!loss || end_to_end_ == nullptr || end_to_end_->last() == nullptr) return false;
  end_to_end_->set_loss(*loss, line.number);
  return true;
}

void DeepspeedParser::add_end_to_end(double seconds, double rate, const Line& line,
                                     RunBuilder& out) {
  if (end_to_end_ == nullptr) {
    end_to_end_ = &out.extra(WorkKind::training, line.number);
    end_to_end_->log.iteration_unit = IterationUnit::unknown;
    end_to_end_->log.rate_unit = RateUnit::sequences_per_second;
    end_to_end_->log.notices.push_back(make_notice(NoticeCode::end_to_end_steps, line.number));
  }
  Sample sample;
  sample.step = end_to_end_->last() != nullptr ? end_to_end_->last()->step + 1 : 1;
  sample.iterations = 1;
  sample.seconds = seconds;
  sample.rate = rate;
  sample.line = line.number;
  end_to_end_->add(sample);
}

// Rounded to 0.01 s and 0.01/s. In steps 1 and 2 the rate is the batch of one GPU over its time,
// for every micro-step; in step 3 that of all GPUs, but with a batch of 2 by mistake where an
// unsupervised data set is mixed in.
bool DeepspeedParser::see_chat(const Line& line, RunBuilder& out) {
  const auto latency = number_after(line, "Latency: ");
  const auto rate = number_after(line, "Samples/sec: ");
  const auto batch = integer_after(line, "Batch Size: ");
  if (!latency || !rate || !batch || !(*latency > 0) || *batch < 1) return false;
  if (find_text(line.text, "End-to-End => ") != std::string_view::npos) {
    if (engine_steps_) return true;
    chat_steps_ = true;
    add_end_to_end(*latency, *batch == 2 ? kUnknown : *rate, line, out);
    return true;
  }
  const auto length = integer_after(line, "Sequence Length: ");
  if (find_text(line.text, "Model Parameters: ") == std::string_view::npos || !length) return false;
  if (chat_ == nullptr) {
    chat_ = &out.extra(WorkKind::training, line.number);
    chat_->log.iteration_unit = IterationUnit::micro_step;
    chat_->log.facts.micro_batch_size.set(*batch, FactSource::log);
    if (*length >= 1) chat_->log.facts.sequence_length.set(*length, FactSource::log);
    chat_->log.notices.push_back(make_notice(NoticeCode::rate_of_one_process_left_out, line.number,
                                             "Samples/sec of DeepSpeed-Chat's steps 1 and 2"));
  }
  Sample sample;
  sample.step = chat_->last() != nullptr ? chat_->last()->step + 1 : 1;
  sample.iterations = 1;
  sample.seconds = *latency;
  sample.line = line.number;
  chat_->add(sample);
  return true;
}

// The sequences of all ranks since the beginning.
void DeepspeedParser::see_samples(std::int64_t step, std::int64_t samples) {
  constexpr std::int64_t kMost = 1'000'000'000'000;
  if (samples < 1 || samples > kMost || batch_ < 0 || newest_.samples < 1) return;
  const std::int64_t steps = step - newest_.step, more = samples - newest_.samples;
  if (steps < 1) return;
  const std::int64_t each = more > 0 && more % steps == 0 ? more / steps : -1;
  batch_ = batch_ == 0 || batch_ == each ? each : -1;
}

// The timer's line of this step follows it; in the first steps there is none yet.
bool DeepspeedParser::see_progress(const Line& line, RunBuilder& out) {
  const auto step = integer_after(line, "bing_bert_progress: step=");
  const auto loss = number_after(line, ", loss=");
  if (!step || *step < 0 || *step > 1'000'000'000'000 || !loss) return false;
  const auto samples = integer_after(line, ", sample_count=");
  if (samples) see_samples(*step, *samples);
  newest_ = {*step, samples.value_or(0), line.number, *loss};
  for (const Engine& engine : engines_) {  // as bert_train printed it before
    if (engine.draft->last() != nullptr && engine.draft->last()->step == *step) {
      engine.draft->set_loss(*loss, line.number);
      return true;
    }
  }
  if (progress_ != nullptr && progress_->last() != nullptr && *step < progress_->last()->step) {
    progress_ = nullptr;  // another launch
  }
  if (progress_ == nullptr) {
    progress_ = &out.extra(WorkKind::training, line.number);
    progress_->log.iteration_unit = IterationUnit::optimizer_step;
    progress_runs_.push_back(progress_);
  }
  Sample sample;
  sample.step = *step;
  if (progress_->count() == 0) sample.iterations = 1;  // of a run that was resumed
  sample.loss = *loss;
  sample.line = line.number;
  progress_->add(sample);
  return true;
}

// "At step 20, the throughput is 6.691626 Samples/s": of the 20 micro-steps up to there, by the
// times of the steps alone.
bool DeepspeedParser::see_throughput(const Line& line) {
  const auto step = integer_after(line, "At step ");
  const auto rate = number_after(line, "the throughput is ");
  if (!step || *step < 1 || !rate || !(*rate > 0) ||
      find_text(line.text, " Samples/s") == std::string_view::npos) {
    return false;
  }
  if (progress_ == nullptr || progress_->last() == nullptr) return false;
  Sample sample;
  sample.step = progress_->last()->step;
  sample.rate = *rate;
  sample.line = line.number;
  progress_->log.rate_unit = RateUnit::sequences_per_second;
  progress_->add(sample);
  return true;
}

bool DeepspeedParser::parse(const Line& line, RunBuilder& out) {
  if (find_text(line.text, "SamplesPerSec=") != std::string_view::npos) {
    if (find_text(line.text, "|E2E latency=") != std::string_view::npos) {
      return see_end_to_end(line, out);
    }
    const auto timer = timer_line(line);
    return timer && see_timer(*timer, line, out) && !beside_megatron_;
  }
  if (find_text(line.text, "elapsed time per iteration (") != std::string_view::npos ||
      find_text(line.text, "elapsed_time_per_iteration_ms=") != std::string_view::npos) {
    beside_megatron_ = true;
    return false;
  }
  if (find_text(line.text, " iter time (s): ") != std::string_view::npos) {
    pipeline_ |= find_text(line.text, "steps: ") != std::string_view::npos;
    return see_pipeline(line, out);
  }
  if (find_text(line.text, "Samples/sec: ") != std::string_view::npos) return see_chat(line, out);
  if (find_text(line.text, "bing_bert_progress: step=") != std::string_view::npos) {
    return see_progress(line, out);
  }
  if (find_text(line.text, "the throughput is ") != std::string_view::npos) {
    return see_throughput(line);
  }
  if (find_text(line.text, " termination due to max steps limit") != std::string_view::npos) {
    stopped_ = true;
    if (const auto at = number_after(line, {"global_step=", "global step ="})) {
      stopped_at_ = static_cast<std::int64_t>(std::clamp(*at, 0.0, 1e12));
    }
    return false;
  }
  if (see_actor_loss(line)) return true;
  // Megatron's word: the lines of a node without the last stage are the engine's alone.
  if (find_text(line.text, "[after training is done]") != std::string_view::npos) {
    if (!pipes_.empty()) pipes_.back()->ended_well = true;
    return false;
  }
  if (find_text(line.text, "OVERFLOW! Rank 0") != std::string_view::npos) {
    // A line that is left to other formats comes again without the stamps in front of it.
    if (std::exchange(skipped_line_, line.number) != line.number) ++skipped_;
  } else if (const auto at = integer_after(line, "Grad overflow on iteration ");
             at && overflows_.size() < 1'000'000) {
    overflows_.insert(*at);  // each rank says it
  } else if (const auto count = integer_after(line, ", skipped=");
             count && *count >= 0 && find_text(line.text, " step=") != std::string_view::npos) {
    counted_ = std::max(counted_, std::min<std::int64_t>(*count, 1'000'000'000));
  } else if (const auto total = integer_after(line, "Total optimization steps = ");
             total && *total >= 1) {
    total_ = total;
  } else if (find_text(line.text, "exits successfully.") != std::string_view::npos) {
    ended_ = true;
    for (const auto& draft : out.drafts()) draft->last_line = line.number;
  }
  return false;  // the launcher's and the scaler's lines stand in other formats' logs as well
}

void DeepspeedParser::finish(RunBuilder& out) {
  out.facts.framework.set("pytorch", FactSource::log);
  // The engine's own timer is finer, and of all ranks.
  if (chat_ != nullptr && out.drafts().size() > 1) chat_->discard = true;
  for (RunDraft* pipe : pipes_) pipe->discard = beside_megatron_ || most_engines_ > 0;
  for (RunDraft* run : progress_runs_) run->discard = most_engines_ > 0;
  if (batch_ > 0) out.facts.global_batch_size.set(batch_, FactSource::log);
  const std::int64_t reached = std::max(newest_.step, stopped_at_);
  const auto shown =
      std::ranges::count_if(out.drafts(), [](const auto& draft) { return !draft->discard; });
  const auto skipped = std::max({skipped_, counted_, static_cast<std::int64_t>(overflows_.size())});
  for (const auto& draft : out.drafts()) {
    draft->ended_well |= ended_;
    if (draft.get() == end_to_end_) continue;
    // What the steps after the last line of the timer came to.
    const bool newest =
        most_engines_ > 0
            ? std::ranges::any_of(engines_,
                                  [&](const Engine& engine) { return engine.draft == draft.get(); })
            : draft.get() == progress_;
    if (newest && draft->log.iteration_unit == IterationUnit::optimizer_step && reached > 0) {
      draft->reached = reached;
      draft->ended_well |= stopped_;
      if (!std::isfinite(newest_.loss) && newest_.line > 0 && !draft->log.first_nan_step) {
        draft->log.first_nan_step = newest_.step;
      }
    }
    // Some scripts count micro-steps, some updates: either number is reached at the end only.
    draft->ended_well |= total_ && draft->last() != nullptr && draft->last()->step >= *total_;
    if (pipeline_) draft->log.iteration_unit = IterationUnit::optimizer_step;
    if (skipped > 0 && shown == 1) draft->log.totals.skipped_steps = skipped;
    if (most_engines_ > 1 || end_to_end_ != nullptr) {
      draft->log.notices.push_back(make_notice(NoticeCode::several_measures, 0));
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
