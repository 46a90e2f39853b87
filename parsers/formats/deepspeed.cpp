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
//   time (ms) | fwd: 25341.72 | bwd: 77707.38 | bwd_inner: 75751.84 | bwd_allreduce: 1955.54 |
//       step: 2218.38                                 (wall_clock_breakdown: of one optimizer step)
//   steps: 10 loss: 1.2500 iter time (s): 0.500 samples/sec: 512.000       (engine of pipelines)
//
// Rates are of all ranks. RunningAvg leaves out the first steps and is cumulative; Curr is the last
// step or the last window, by release. CurSamplesPerSec (one r) is another measure: a step of
// reinforcement learning, generation included.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "parsers/formats/format.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/part_timers.h"
#include "parsers/lines/whole_number.h"

namespace bertbench::format_deepspeed {
namespace {

constexpr RateUnit kSequences = RateUnit::sequences_per_second;

struct TimerLine {
  std::int64_t epoch = 0, micro_step = 0;
  std::optional<std::int64_t> global_step;
  double running = 0, current = kUnknown, time_s = kUnknown;
};

std::optional<TimerLine> timer_line(const Line& line) {
  TimerLine out;
  Cursor cursor(line);
  if (cursor.skip_past("epoch=")) {
    if (!cursor.read(out.epoch, "/micro_step=", out.micro_step, "/global_step=", out.global_step)) {
      return std::nullopt;
    }
  } else {  // "...] 0/10, SamplesPerSec=": epoch and micro-step
    const auto start = line.text.rfind("] ", line.at);
    cursor.move_to(start);
    if (!cursor.read("] ", out.epoch, "/", out.micro_step, ", ")) return std::nullopt;
  }
  const auto running = number_after(line, {"RunningAvgSamplesPerSec=", ", SamplesPerSec="});
  if (!running) return std::nullopt;
  out.running = *running;
  out.current = number_after(line, "CurrSamplesPerSec=").value_or(kUnknown);
  out.time_s = front_time(line.text);
  return out;
}

/// Tracks 0 to 7 are the engines of the launch that runs now.
enum Track { kMaxEngines = 8, kEndToEnd = kMaxEngines, kChat, kPipe, kProgress, kTracks };

struct Engine {
  int track = 0;
  bool global = false;                     ///< it counts optimizer steps
  std::int64_t records = 0, counter = -1;  ///< of its run
  std::int64_t step = 0, base = 0, epoch = 0;
  double running = 0;
};

struct Deepspeed {
  // The engines of one job (actor and critic) print the same counters one after the other: a line
  // whose step the first engine has printed already is the second one's.
  Engine& engine_for(const TimerLine& timer, Emit emit) {
    const bool global = timer.global_step.has_value();
    const std::int64_t step = timer.global_step.value_or(timer.micro_step);
    for (Engine& engine : engines) {
      if (step > engine.step || (!global && timer.epoch > engine.epoch)) return engine;
      if (step == engine.step && timer.running == engine.running) return engine;  // a copy
    }
    // Another launch begins with its first step; another engine prints a step that was just
    // printed.
    const bool another_engine = !launched && !engines.empty() && engines.size() < kMaxEngines &&
                                step == engines.front().step && engines.front().records == 1;
    if (!another_engine) engines.clear();  // counters start over: another launch
    launched = false;
    const int track = static_cast<int>(engines.size());
    emit(Begin{.track = track,
               .unit = global ? IterationUnit::optimizer_step : IterationUnit::micro_step,
               .rate = kSequences,
               .clock = {1e-3, true},
               .first = FirstInterval::one,
               .restart = Restart::never});
    ++runs[0];
    engines.push_back({track, global});
    most_engines = std::max(most_engines, engines.size());
    return engines.back();
  }

  bool timer(const Line& line, Emit emit) {
    const auto timer = timer_line(line);
    if (!timer) return false;
    Engine& engine = engine_for(*timer, emit);
    if (timer->global_step) {
      engine.step = *timer->global_step;
    } else {  // micro-steps begin again with each epoch
      if (timer->epoch > engine.epoch && timer->micro_step <= engine.step) {
        engine.base += engine.step;
      }
      engine.step = timer->micro_step;
    }
    engine.epoch = timer->epoch;
    engine.running = timer->running;
    Step at{.track = engine.track,
            .step = engine.base + engine.step,
            .time_s = timer->time_s,
            .rate = timer->current};
    if (engine.global && newest.line > 0 && newest.step == at.step) at.loss = newest.loss;
    if (std::exchange(engine.counter, at.step) != at.step) ++engine.records;
    emit(at);
    emit(Statement{.track = engine.track, .summary = Stated{timer->running, kSequences}});
    return !beside_megatron;
  }

  // The timer's line of the step, if there is one, came before. With several engines the line does
  // not name its own.
  void breakdown(const Line& line, Emit emit) {
    if (engines.size() < 2) emit(TimedParts{.track = timer_track(), .times = part_times(line)});
  }
  [[nodiscard]] int timer_track() const {
    return engines.empty() ? int{kProgress} : engines.front().track;
  }

  // The mean time of the steps since the line before, and the global batch over it. Where the timer
  // or Megatron prints the same steps, the run is made of these.
  bool pipe(const Line& line, Emit emit) {
    pipeline |= has(line, "steps: ");
    const auto step = count_after(line, "steps: ");
    const auto rate = number_after(line, " samples/sec:");
    Step at{.track = kPipe};
    if (!step || !Cursor::after(line).read(at.each_s) || !(at.each_s > 0) || !rate ||
        !(*rate > 0) || beside_megatron) {
      return false;
    }
    if (*step < pipe_step || pipe_step < 0) ++runs[kPipe];
    at.step = pipe_step = *step;
    at.rate = *rate;
    at.loss = number_after(line, " loss:");
    emit(at);
    constexpr double kHalfDigit = 5e-4;
    const double product = at.each_s * *rate;
    const double doubt = product * (kHalfDigit / at.each_s + kHalfDigit / *rate);
    emit.fact(&Facts::global_batch_size, whole_near(product, doubt), kPipe);
    return true;
  }

  void add_end_to_end(double seconds, double rate, Emit emit) {
    emit(Step{.track = kEndToEnd,
              .step = ++end_to_end_step,
              .iterations = 1,
              .seconds = seconds,
              .rate = rate});
    if (end_to_end_step == 1) {
      ++runs[kEndToEnd];
      emit.note_on(kEndToEnd, NoticeCode::end_to_end_steps);
    }
  }

  bool end_to_end(const Line& line, Emit emit) {
    const auto current = number_after(line, "|CurSamplesPerSec=");
    const auto average = number_after(line, "|AvgSamplesPerSec=");
    double latency = 0;
    if (!Cursor::after(line).read(latency) || !current || !average) return false;
    if (chat_steps) return true;
    engine_steps = true;
    add_end_to_end(latency, *current, emit);
    emit(Statement{.track = kEndToEnd, .summary = Stated{*average, kSequences}});
    return true;
  }

  // "epoch: 0|step: 12|ppo_ep: 1|act_loss: 0.1|cri_loss: 0.2|unsuper_loss: 0.0" is of the step of
  // the line before it; later releases write the words out and put them before that line.
  bool actor_loss(const Line& line, Emit emit) {
    double loss = 0;
    if (end_to_end_step == 0 || !Cursor::after(line).read(kBlanks, loss)) return false;
    emit(Statement{.track = kEndToEnd, .loss = loss});
    return true;
  }

  // Rounded to 0.01 s and 0.01/s. In steps 1 and 2 the rate is the batch of one GPU over its time,
  // for every micro-step; in step 3 that of all GPUs, but with a batch of 2 by mistake where an
  // unsupervised data set is mixed in.
  bool chat(const Line& line, Emit emit) {
    const auto latency = number_after(line, "Latency: ");
    const auto sequences = count_after(line, "Batch Size: ");
    double rate = 0;
    if (!latency || !(*latency > 0) || !sequences || *sequences < 1 ||
        !Cursor::after(line).read(rate)) {
      return false;
    }
    if (has(line, "End-to-End => ")) {
      if (engine_steps) return true;
      chat_steps = true;
      add_end_to_end(*latency, *sequences == 2 ? kUnknown : rate, emit);
      return true;
    }
    const auto length = count_after(line, "Sequence Length: ");
    if (!has(line, "Model Parameters: ") || !length) return false;
    emit(Step{.track = kChat, .step = ++chat_step, .iterations = 1, .seconds = *latency});
    if (chat_step > 1) return true;
    runs[kChat] = 1;
    emit.fact(&Facts::micro_batch_size, *sequences, kChat);
    if (*length >= 1) emit.fact(&Facts::sequence_length, *length, kChat);
    emit.note_on(kChat, NoticeCode::rate_of_one_process_left_out,
                 "Samples/sec of DeepSpeed-Chat's steps 1 and 2");
    return true;
  }

  // The sequences of all ranks since the beginning.
  void read_samples(std::int64_t step, std::int64_t samples) {
    if (samples < 1 || batch < 0 || newest.samples < 1) return;
    const std::int64_t steps = step - newest.step, more = samples - newest.samples;
    if (steps < 1) return;
    const std::int64_t each = more > 0 && more % steps == 0 ? more / steps : -1;
    batch = batch == 0 || batch == each ? each : -1;
  }

  // The timer's line of this step follows it; in the first steps there is none yet.
  bool progress(const Line& line, Emit emit) {
    Step at{.track = kProgress, .loss = number_after(line, ", loss=")};
    if (!Cursor::after(line).read(at.step) || !at.loss) return false;
    const auto samples = count_after(line, ", sample_count=");
    if (samples) read_samples(at.step, *samples);
    newest = {at.step, samples.value_or(0), line.number, *at.loss};
    for (const Engine& engine : engines) {  // as bert_train printed it before
      if (engine.counter != at.step) continue;
      emit(Statement{.track = engine.track, .loss = at.loss});
      return true;
    }
    if (progress_step < 0 || at.step < progress_step) ++runs[kProgress];
    progress_step = at.step;
    emit(at);
    return true;
  }

  // "At step 20, the throughput is 6.691626 Samples/s": of the 20 micro-steps up to there, by the
  // times of the steps alone.
  bool throughput(const Line& line, Emit emit) {
    Step at{.track = kProgress, .step = progress_step, .rate_unit = kSequences};
    if (!has(line, "At step ") || !Cursor::after(line).read(at.rate, " Samples/s") ||
        !(at.rate > 0) || progress_step < 0) {
      return false;
    }
    emit(at);
    return true;
  }

  void limit(const Line& line) {
    stopped = true;
    if (const auto at = number_after(line, {"global_step=", "global step ="})) {
      stopped_at = static_cast<std::int64_t>(std::clamp(*at, 0.0, 1e12));
    }
  }

  // A line that no handler takes comes again without the stamps before it.
  void overflow(const Line& line) {
    if (std::exchange(skipped_line, line.number) != line.number) ++skipped;
  }

  void grad_overflow(const Line& line) {
    std::int64_t at = 0;
    if (!Cursor::after(line).read(at) || overflows.size() >= 1'000'000) return;
    overflows.insert(at);  // each rank prints it
  }

  // "step=1840, skipped=20, lr=...": the engine's own count
  void own_count(const Line& line) {
    std::int64_t count = 0;
    if (!Cursor::after(line).read(count) || !has(line, " step=")) return;
    counted = std::max(counted, std::min<std::int64_t>(count, 1'000'000'000));
  }

  void exits(const Line&, Emit emit) {
    ended = true;
    emit(Statement{.track = kEveryTrack, .of = Of::all});
  }

  // What the steps after the last line of the timer came to.
  void conclude(int track, Emit emit) const {
    const std::int64_t reached = std::max(newest.step, stopped_at);
    if (reached <= 0) return;
    const bool nan = !std::isfinite(newest.loss) && newest.line > 0;
    emit(Statement{.track = track,
                   .reached = reached,
                   .nan_step = nan ? std::optional(newest.step) : std::nullopt});
    if (stopped) emit(End{.track = track});
  }

  void finish(Emit emit) {
    const bool timed = most_engines > 0;
    std::int64_t shown = 0;
    for (const std::int64_t begun : runs) shown += begun;
    const auto withdraw = [&](Track track) {
      emit(Withdraw{track});
      shown -= runs[track];
    };
    // The run is made of what prints the same steps finer, and of all ranks.
    if (shown > 1) withdraw(kChat);
    if (beside_megatron || timed) withdraw(kPipe);
    if (timed) withdraw(kProgress);
    if (batch > 0) emit.log_fact(&Facts::global_batch_size, batch);
    if (ended) emit(End{.track = kEveryTrack, .of = Of::all});
    for (const Engine& engine : engines) {
      if (engine.global) conclude(engine.track, emit);
    }
    if (!timed) conclude(kProgress, emit);
    // Some scripts count micro-steps, some updates: either number is reached at the end only.
    Statement all{.of = Of::all, .planned = total};
    if (pipeline) all.unit = IterationUnit::optimizer_step;
    const auto most = std::max({skipped, counted, static_cast<std::int64_t>(overflows.size())});
    if (most > 0 && shown == 1) all.totals.skipped_steps = most;
    for (all.track = 0; all.track < kTracks; ++all.track) {
      if (all.track == kEndToEnd) continue;
      emit(all);
      if (most_engines > 1 || end_to_end_step > 0) {
        emit(Note{make_notice(NoticeCode::several_measures, 0), all.track, Of::all});
      }
    }
  }

  std::vector<Engine> engines;  ///< of the launch that runs now
  std::size_t most_engines = 0;
  /// Since an engine began a launch failed, or another began: its configuration is printed.
  bool launched = false;
  std::int64_t runs[kTracks] = {};  ///< begun on each track; of all engines on the first
  std::int64_t end_to_end_step = 0, chat_step = 0;
  /// Which of two lines has the end-to-end steps: the engine's or DeepSpeed-Chat's own. Both may
  /// stand in a log, each with a time of its own for the same step.
  bool engine_steps = false, chat_steps = false;
  std::int64_t pipe_step = -1;
  struct Progress {
    std::int64_t step = 0, samples = 0, line = 0;
    double loss = kUnknown;
  };
  Progress newest;                  ///< of bing_bert's lines
  std::int64_t progress_step = -1;  ///< of those that are a run of their own
  std::int64_t batch = 0;           ///< sequences a step, 0 = not known, -1 = they differ
  bool stopped = false;             ///< it has printed that it did the steps it was asked for
  std::int64_t stopped_at = 0;      ///< their number, 0 = unknown
  std::int64_t skipped = 0, skipped_line = 0, counted = 0;
  std::set<std::int64_t> overflows;
  bool ended = false;
  std::optional<std::int64_t> total;  ///< of the banner that scripts took over from the Trainer
  /// Megatron-DeepSpeed prints time and global batch of the same steps: its lines make up the
  /// log.
  bool beside_megatron = false;
  bool pipeline = false;  ///< its timer counts optimizer steps under every release
};

constexpr Row kRows[] = {
    on<&Deepspeed::end_to_end>("|E2E latency="),
    on<&Deepspeed::timer>("SamplesPerSec="),
    on<&Deepspeed::breakdown>(kPartTimers),
    on<&Deepspeed::beside_megatron>("elapsed time per iteration ("),
    on<&Deepspeed::beside_megatron>("elapsed_time_per_iteration_ms="),
    on<&Deepspeed::pipe>(" iter time (s): "),
    on<&Deepspeed::chat>("Samples/sec: "),
    on<&Deepspeed::progress>("bing_bert_progress: step="),
    on<&Deepspeed::throughput>("the throughput is "),
    on<&Deepspeed::limit>(" termination due to max steps limit"),
    on<&Deepspeed::actor_loss>("|act_loss:"),
    on<&Deepspeed::actor_loss>(" | Actor Loss:"),
    // Megatron's word: the lines of a node without the last stage are the engine's alone.
    on<[](Deepspeed&, const Line&, Emit emit) { emit(End{.track = kPipe}); }>(
        "[after training is done]"),
    // The launcher's and the scaler's lines stand in other formats' logs as well.
    on<&Deepspeed::overflow>("OVERFLOW! Rank 0"),
    on<&Deepspeed::grad_overflow>("Grad overflow on iteration "),
    on<&Deepspeed::own_count>(", skipped="),
    on<&Deepspeed::total>("Total optimization steps = "),
    on<&Deepspeed::launched>("DeepSpeedEngine configuration:"),
    on<&Deepspeed::launched>("train_batch_size ..."),
    on<&Deepspeed::launched>(" WORLD INFO DICT: "),
    on<&Deepspeed::launched>("Traceback (most recent call last)"),
    on<&Deepspeed::exits>("exits successfully."),
};

constexpr Begin kRuns[] = {
    {.track = kEndToEnd, .rate = kSequences},
    {.track = kChat, .unit = IterationUnit::micro_step},
    {.track = kPipe,
     .unit = IterationUnit::optimizer_step,
     .rate = kSequences,
     .first = FirstInterval::one,
     .restart = Restart::back},
    {.track = kProgress,
     .unit = IterationUnit::optimizer_step,
     .first = FirstInterval::one,
     .restart = Restart::back},
};

}  // namespace

extern const Format entry{
    .name = "deepspeed",
    .title = "DeepSpeed's throughput timer, old and new; DeepSpeed-Chat's end-to-end lines",
    .reference =
        "https://github.com/microsoft/DeepSpeed deepspeed/utils/timer.py (ThroughputTimer)",
    .framework = "pytorch",
    .table = table_of<Deepspeed>(kRows, kRuns)};

}  // namespace bertbench::format_deepspeed
