// megatron: iteration lines of Megatron-LM and Megatron-DeepSpeed.
//
//    iteration        2/    1000 | consumed samples:         2048 | elapsed time per iteration
//    (ms): 129028.8 | learning rate: ... | global batch size:  1024 | lm loss: 1.2E+01 | ... |
//    number of skipped iterations:   1 | number of nan iterations:   0 | samples per second: 0.821
//    | ...
//    [2024-09-03 15:54:54] iteration       10/  500000 | consumed samples: 10240 | elapsed time per
//    iteration (ms): 13035.3 | throughput per GPU (TFLOP/s/GPU): 812.5 | ...      (core 0.4 and
//    later)
//    iteration    12695/  115311 | ... | elapsed time per iteration (s): 105.22 | ...  (BigScience)
//    samples/sec: 12.3 | iteration      100/  320000 | elapsed time per iteration (ms): 1300.2 |
//    ... | lm_loss: 1.05E+01 | ...                                               (GPT-NeoX)
//    [<date>][INFO][training:1251] -  iteration=       2/  317892 | consumed_samples=         512 |
//    ... | elapsed_time_per_iteration_ms=16030.6 | ... | global_batch_size=  256 | lm loss=11.2 |
//    ... | samples_per_second=15.969 | ...                                (Argonne's fork)
//   time (ms) | forward-compute: 306.62 | backward-compute: 575.17 | ... | optimizer: 94.69 | ...
//   (min, max) time across ranks (ms):                             (core; or one number)
//       forward-compute ................................: (306.62, 310.01)
//   times across ranks (ms):                                       (--timing-log-option all)
//     forward-compute:
//        rank  0: 306.62
//        rank  1: 310.01
//   steps: 1 loss: 12.6706 iter time (s): 20.110 samples/sec: 0.796     (pipeline engine:
//       the same step)
//
// A loss that is not above zero, as NaN, is left out: a line without one, when lines before it had
// one (or with a gradient of NaN) and no iteration was skipped, means a NaN. The milliseconds are
// the mean of the iterations since the line before. The global batch is of the whole job; micro
// batch x GPUs is not, where tensor or pipeline parallelism splits one replica.
//
// What a step takes a rank before it waits is its forward and backward computation
// (--timing-log-level 2): forward-backward ends after the gradients of all ranks are summed. With
// --overlap-grad-reduce the timer of the backward computation waits for these as well, and the
// forward computation alone is compared. The stages of a pipeline have unequal work: none is
// compared.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/part_timers.h"

namespace bertbench::format_megatron {
namespace {

constexpr std::string_view kElapsedMs = "elapsed_time_per_iteration_ms=";

/// What the ranks took for their own part of the newest interval, by the blocks of timers.
struct RankTimers {
  /// Seconds of the forward and of the backward computation; NaN: not printed.
  struct Own {
    double forward = kUnknown, backward = kUnknown;
    /// Without the backward computation where it waits for other ranks.
    [[nodiscard]] double seconds(bool forward_only) const {
      return forward_only ? forward : forward + backward;
    }
    void set(StepPart part, double seconds) {
      if (part == StepPart::forward) forward = seconds;
      if (part == StepPart::backward) backward = seconds;
    }
  };
  std::map<std::int64_t, Own> ranks;  ///< of --timing-log-option all
  Own least, most;                    ///< over the ranks, of minmax
};

struct Megatron {
  bool iteration(const Line& line, Emit emit) {
    const bool equals = line.text.substr(line.at).starts_with(kElapsedMs);
    Cursor time = Cursor::after(line), count(line);
    const bool ms = equals || time.literal("ms):");
    Step at;
    if ((!ms && !time.literal("s):")) || !time.read(kBlanks, at.each_s) || !(at.each_s > 0) ||
        !count.read(Past{equals ? "iteration=" : "iteration "}, kBlanks, at.step, kBlanks, "/",
                    kBlanks, at.planned)) {
      return false;
    }
    if (ms) at.each_s /= 1000;
    at.time_s = front_time(line.text);
    if (!std::isnan(at.time_s)) {  // whole seconds, or microseconds in the newest
      at.clock = Clock{at.time_s == std::floor(at.time_s) ? 1 : 1e-6, true};
    }
    at.rate = number_after(line, {"samples per second:", "samples/sec:", "samples_per_second="})
                  .value_or(at.step == engine_step ? engine_rate : kUnknown);
    if (!std::isnan(at.rate)) at.rate_unit = RateUnit::sequences_per_second;
    // 2019's has no colon, and prints NaN.
    at.loss = number_after(
        line, {"lm loss:", "lm_loss:", "lm-loss:", "lm-loss-training:", "lm loss=", "| lm loss "});
    at.skipped = count_after(
        line, equals ? "number_of_skipped_iterations=" : "number of skipped iterations:");
    auto batch = count_after(line, equals ? "global_batch_size=" : "global batch size:");
    if (!batch) batch = count_after(line, "gloabl batch size:");  // ModelLink, Ascend
    at.global_batch = batch.value_or(engine_batch);
    // A loss that is not above zero is left out by the trainer: NaN, where there was one before.
    const bool printed = at.loss && !std::isnan(*at.loss);
    if (!at.loss && at.step > newest && at.skipped == 0 && line.terminator != 0 &&
        (had_loss || has(line, "| grad norm: nan |"))) {
      at.loss = kUnknown;
    }
    emit_block(emit);
    emit_ranks(emit, at.step);
    const bool begins = std::exchange(ended, false) || at.step < newest;
    had_loss = (had_loss && !begins) || printed;
    if (begins || at.step != newest) before = begins ? -1 : newest;
    newest = at.step;
    emit(at);
    if (begins && replicas && world && *replicas != *world) {
      emit.note_here(NoticeCode::replica_of_several_gpus, *world, *replicas);
    }
    return true;
  }

  // "steps: 1 loss: 12.6706 iter time (s): 20.110 samples/sec: 0.796"
  bool engine(const Line& line) {
    const auto step = count_after(line, "steps:");
    double rate = 0;
    if (!step || !Cursor::after(line).read(rate) || !has(line, "iter time (s):")) return false;
    engine_step = *step;
    engine_rate = rate;
    return true;
  }

  void timers(const Line& line, Emit emit) { emit(TimedParts{.times = part_times(line)}); }

  // A block of timers, a line each: what the slowest rank took of it.
  void block_of_timers(const Line& line, Emit emit) {
    if (block.line == line.number) return;
    emit_block(emit);
    block.line = line.number;
  }
  void timer_of_block(const Line& line) {
    if (block.line == 0 || line.number - block.line > kMostTimers) return;
    if (std::exchange(timer_line, line.number) == line.number) return;  // seen again
    const auto blank = line.text.find(" ...", line.at);
    const auto space = line.text.find_last_of(" \t", blank - 1);
    const auto begin = space == std::string_view::npos ? 0 : space + 1;
    const auto part = part_of_timer(line.text.substr(begin, blank - begin));
    Cursor value = Cursor::after(line);
    double least = 0, most = 0;
    if (!part || !value.skip_past(": ")) return;
    const bool both = value.read("(", least, ", ", most, ")");
    if (!both && !value.read(most)) return;
    if (!(most > 0)) return;
    block.add(*part, most / 1000);
    if (!both) return;
    of_ranks.least.set(*part, least / 1000);
    of_ranks.most.set(*part, most / 1000);
  }

  // Of --timing-log-option all: the lines of a timer's ranks follow its name at once.
  void timer_of_ranks(const Line& line) {
    if (block.line == 0 || timer_line == line.number) return;
    const std::string_view name = trim(line.text);
    const auto part = name.ends_with(':') ? part_of_timer(name.substr(0, name.size() - 1))
                                          : std::optional<StepPart>();
    if (!part) return;
    add_slowest();
    rank_part = *part;
    timer_line = line.number;
  }
  void rank_of_timer(const Line& line) {
    std::int64_t rank = 0;
    double ms = 0;
    if (!rank_part || line.number != timer_line + 1) return;
    if (!Cursor::after(line).read(kBlanks, rank, ": ", ms) || !(ms > 0)) return;
    timer_line = line.number;
    slowest_ms = std::max(slowest_ms, ms);
    if (of_ranks.ranks.size() < RankTimes::kMostRanks) {
      of_ranks.ranks[rank].set(*rank_part, ms / 1000);
    }
  }
  void add_slowest() {
    if (rank_part && slowest_ms > 0) block.add(*rank_part, slowest_ms / 1000);
    rank_part.reset();
    slowest_ms = 0;
  }

  void emit_block(Emit emit) {
    add_slowest();
    emit(TimedParts{.times = std::exchange(block, {})});
  }

  // The block is of the interval before it: of as many steps as those that precede or follow.
  void emit_ranks(Emit emit, std::optional<std::int64_t> next) {
    const RankTimers of = std::exchange(of_ranks, {});
    if (stages > 1 || newest < 1) return;
    std::int64_t steps = newest;
    if (before >= 0) {
      steps = newest - before;
    } else if (next && *next > newest) {
      steps = std::min(newest, *next - newest);
    }
    for (const auto& [rank, own] : of.ranks) {
      const double own_s = own.seconds(overlap);
      if (!(own_s > 0)) continue;
      emit(RankTimed{.rank = rank, .first = newest - steps + 1, .last = newest, .own_s = own_s});
    }
    const double least = of.least.seconds(overlap), most = of.most.seconds(overlap);
    // The first interval holds what is compiled and allocated once.
    if (!(least > 0) || before < 0) return;
    least_s += least;
    most_s += most;
  }

  // "(min, max)" shows by how much ranks differ, and not which is the slow one.
  void note_spread(Emit emit) {
    if (least_s > 0) emit.note_here(NoticeCode::slowest_rank_unnamed, 100 * (most_s / least_s - 1));
    least_s = most_s = 0;
  }

  void finish(Emit emit) {
    emit_block(emit);
    emit_ranks(emit, std::nullopt);
    note_spread(emit);
  }

  bool end(const Line&, Emit emit) {
    emit_ranks(emit, std::nullopt);
    note_spread(emit);
    micro_steps.reset();
    ended = true;
    emit(End{});
    return true;
  }

  // --exit-duration-in-mins and --exit-interval end a run as it was asked to.
  bool exits(const Line& line, Emit emit) {
    return has(line, "] datetime: ") && !has(line, "receiving") && end(line, emit);
  }

  // A launch that fails before its first iteration has printed this much.
  bool launch(const Line& line) {
    std::int64_t ranks = 0;
    if (!Cursor::after(line).read(kBlanks, ranks) || ranks < 1) return true;
    world = ranks;
    micro_steps.reset();
    replicas = count_after(line, "data-parallel-size:");
    if (!replicas) replicas = count_after(line, "data-parallel size:");  // 2023
    stages = count_after(line, "pipeline-model-parallel size:").value_or(1);
    return true;
  }

  // "decoder_seq_length ..." and the like are other settings.
  void seq_length(const Line& line) {
    if (has(line, "_seq_length ")) return;
    if (const auto length = size_here(line)) sequence_length = length;
  }

  void overlaps(const Line& line) { overlap = has(line, " True"); }

  void batch_of_one(const Line& line) {
    if (has(line, "gpu")) return;
    if (const auto batch = size_here(line)) micro_batch = batch;
  }

  // Where one replica of the model takes several GPUs, the micro batch is not that of one of them.
  void facts(Facts& facts) const {
    facts.world_size.set(world, FactSource::log);
    facts.sequence_length.set(sequence_length, FactSource::log);
    if (micro_steps && replicas) {
      facts.gradient_accumulation_steps.set(*micro_steps, FactSource::log);
    }
    if (micro_batch && world && replicas == world) {
      facts.micro_batch_size.set(*micro_batch, FactSource::log);
    } else if (replicas && world && *replicas != *world) {
      facts.axes["data_parallel"] = std::to_string(*replicas);
    }
  }

  std::optional<std::int64_t> world, replicas, micro_batch, sequence_length;
  std::optional<std::int64_t> micro_steps;  ///< of an iteration, while the batch does not grow
  std::int64_t engine_batch = 0;            ///< DeepSpeed's train_batch_size: of the whole job
  std::int64_t newest = 0;                  ///< iteration
  std::int64_t before = -1;                 ///< the one printed before it; below 0: none
  bool had_loss = false;                    ///< an iteration line of this run had a loss
  bool ended = true;                        ///< the next iteration line begins a run
  static constexpr std::int64_t kMostTimers = 64;  ///< lines of a block
  std::int64_t timer_line = 0;                     ///< the newest of one
  PartTimes block;                                 ///< of the block of timers that was begun last
  std::optional<StepPart> rank_part;               ///< of the timer whose ranks are printed
  double slowest_ms = 0;                           ///< of these
  RankTimers of_ranks;                             ///< since the newest iteration line
  double least_s = 0, most_s = 0;  ///< of the fastest and the slowest rank, sums over intervals
  std::int64_t stages = 1;         ///< of a pipeline
  bool overlap = false;            ///< the backward computation waits for other ranks
  std::int64_t engine_step = -1;   ///< of a "steps:" line, for the next iteration line
  double engine_rate = kUnknown;
};

constexpr Row kRows[] = {
    on<&Megatron::iteration>("elapsed time per iteration ("),
    on<&Megatron::iteration>(kElapsedMs),
    on<&Megatron::timers>(kPartTimers),
    on<&Megatron::block_of_timers>("time across ranks (ms):"),
    on<&Megatron::block_of_timers>("times across ranks (ms):"),
    on<&Megatron::rank_of_timer>("     rank "),
    on<&Megatron::timer_of_ranks>("forward-compute:"),
    on<&Megatron::timer_of_ranks>("backward-compute:"),
    on<&Megatron::timer_of_ranks>("grads-sync:"),
    on<&Megatron::timer_of_ranks>("grads-all-reduce:"),
    on<&Megatron::timer_of_ranks>("optimizer:"),
    on<&Megatron::timer_of_ranks>("batch-generator:"),
    on<&Megatron::timer_of_block>("forward-compute ...."),
    on<&Megatron::timer_of_block>("backward-compute ...."),
    on<&Megatron::timer_of_block>("grads-sync ...."),
    on<&Megatron::timer_of_block>("grads-all-reduce ...."),
    on<&Megatron::timer_of_block>("optimizer ...."),
    on<&Megatron::timer_of_block>("batch-generator ...."),
    on<&Megatron::engine>("samples/sec: "),
    on<&Megatron::end>("[after training is done]"),
    on<&Megatron::exits>("[exiting program a"),
    on<&Megatron::launch>("using world size:"),
    on<&Megatron::micro_steps>("batches to constant "),
    on<&Megatron::seq_length>("seq_length ...."),
    on<&Megatron::overlaps>("overlap_grad_reduce ...."),
    on<&Megatron::batch_of_one>("micro_batch_size ...."),
    on<&Megatron::engine_batch>("train_batch_size ...."),
};

constexpr Begin kRuns[] = {{.unit = IterationUnit::optimizer_step,
                            .first = FirstInterval::as_next,
                            .restart = Restart::back,
                            .after_end = AfterEnd::another_run,
                            .again = Again::ignored,
                            .own_facts = true}};

}  // namespace

extern const Format entry{
    .name = "megatron",
    .title = "Megatron-LM and Megatron-DeepSpeed",
    .reference = "https://github.com/NVIDIA/Megatron-LM megatron/training (training_log)",
    .framework = "pytorch",
    .table = table_of<Megatron>(kRows, kRuns)};

}  // namespace bertbench::format_megatron
