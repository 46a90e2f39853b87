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
//   steps: 1 loss: 12.6706 iter time (s): 20.110 samples/sec: 0.796     (pipeline engine:
//       the same step)
//
// A loss that is not above zero, as NaN, is left out: a line without one, when lines before it had
// one (or with a gradient of NaN) and no iteration was skipped, tells a NaN. The milliseconds are
// the mean of the iterations since the line before. The global batch is of the whole job; micro
// batch x GPUs is not, where tensor or pipeline parallelism splits one replica.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/format.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kElapsedMs = "elapsed_time_per_iteration_ms=";

constexpr std::string_view kAnchors[] = {"batches to constant ",
                                         "elapsed time per iteration (",
                                         kElapsedMs,
                                         "samples/sec: ",
                                         "using world size:",
                                         "[after training is done]",
                                         "[exiting program a",
                                         "seq_length ....",
                                         "micro_batch_size ....",
                                         "train_batch_size ...."};

std::optional<std::int64_t> count_after(const Line& line, std::string_view key) {
  Cursor cursor(line);
  if (!cursor.skip_past(key)) return std::nullopt;
  cursor.blanks();
  const auto value = cursor.integer();
  return value && *value >= 0 && *value < 1'000'000'000'000 ? value : std::nullopt;
}

/// An iteration's line as it stands; what it means follows from those in front of it.
struct IterationLine {
  Sample sample;  ///< step, stamp, printed rate, loss
  double seconds = 0;
  std::int64_t planned = 0;
  std::optional<std::int64_t> skipped, batch;
};

std::optional<IterationLine> read_iteration(const Line& line) {
  const bool equals = line.text.find(kElapsedMs) != std::string_view::npos;
  const std::string_view name = equals ? "iteration=" : "iteration ";
  Cursor cursor(line);
  if (!cursor.skip_past(name)) return std::nullopt;
  cursor.blanks();
  const auto step = cursor.integer();
  cursor.blanks();
  if (!step || *step < 0 || !cursor.literal("/")) return std::nullopt;
  cursor.blanks();
  const auto planned = cursor.integer();
  auto seconds = number_after(line, "elapsed time per iteration (s):");
  if (const auto ms = number_after(line, {"elapsed time per iteration (ms):", kElapsedMs})) {
    seconds = *ms / 1000;
  }
  if (!planned || !seconds || !(*seconds > 0)) return std::nullopt;
  IterationLine out;
  out.seconds = *seconds;
  out.planned = *planned;
  out.sample.step = *step;
  out.sample.line = line.number;
  out.sample.rank = line.rank;
  // The fork's logger names a line of its source behind the date.
  const auto bracket =
      equals ? line.text.find('[') : line.text.rfind('[', line.text.find("iteration "));
  if (bracket != std::string_view::npos) {
    out.sample.time_s = date_time(line.text.substr(bracket + 1)).value_or(kUnknown);
  }
  out.sample.rate =
      number_after(line, {"samples per second:", "samples/sec:", "samples_per_second="})
          .value_or(kUnknown);
  // 2019's has no colon, and prints NaN.
  out.sample.loss = number_after(
      line, {"lm loss:", "lm_loss:", "lm-loss:", "lm-loss-training:", "lm loss=", "| lm loss "});
  out.skipped =
      count_after(line, equals ? "number_of_skipped_iterations=" : "number of skipped iterations:");
  out.batch = count_after(line, equals ? "global_batch_size=" : "global batch size:");
  if (!out.batch) out.batch = count_after(line, "gloabl batch size:");  // ModelLink, Ascend
  return out;
}

class MegatronParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override { put_first(0, out); }

 private:
  struct Setting {
    std::optional<std::int64_t> world, replicas, micro_batch, sequence_length;
    std::optional<std::int64_t> engine_batch;  ///< DeepSpeed's train_batch_size: of the whole job
    std::optional<std::int64_t> micro_steps;   ///< of an iteration, while the batch does not grow
  };
  bool see_iteration(const Line& line, RunBuilder& out);
  void see_loss(const Line& line, IterationLine& at);
  void put(IterationLine& at, RunDraft& draft, RunBuilder& out);
  void see_setting(const Line& line);
  RunDraft& run(std::int64_t line, RunBuilder& out);
  void put_first(std::int64_t next_step, RunBuilder& out);
  void see_global_batch(RunDraft& draft, std::int64_t batch, std::int64_t line) const;

  Setting setting_;
  /// The first line of a run waits for the second: how many iterations it covers is their distance.
  std::optional<Sample> first_;
  double mean_s_ = 0;  ///< of first_
  std::int64_t last_step_ = 0;
  bool had_loss_ = false;          ///< an iteration line of this run told its loss
  std::int64_t engine_step_ = -1;  ///< of a "steps:" line, for the iteration line behind it
  double engine_rate_ = kUnknown;
};

RunDraft& MegatronParser::run(std::int64_t line, RunBuilder& out) {
  const bool fresh = out.open(WorkKind::training) == nullptr;
  RunDraft& draft = out.run(WorkKind::training, line);
  if (!fresh) return draft;
  draft.own_facts = true;
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  Facts& facts = draft.log.facts;
  facts.framework.set("pytorch", FactSource::log);
  if (setting_.world) facts.world_size.set(*setting_.world, FactSource::log);
  if (setting_.sequence_length) {
    facts.sequence_length.set(*setting_.sequence_length, FactSource::log);
  }
  if (setting_.micro_steps && setting_.replicas) {
    facts.gradient_accumulation_steps.set(*setting_.micro_steps, FactSource::log);
  }
  if (setting_.micro_batch && setting_.world && setting_.replicas == setting_.world) {
    facts.micro_batch_size.set(*setting_.micro_batch, FactSource::log);
  } else if (setting_.replicas && setting_.world && *setting_.replicas != *setting_.world) {
    facts.axes["data_parallel"] = std::to_string(*setting_.replicas);
    draft.log.notices.push_back(make_notice(NoticeCode::replica_of_several_gpus, line,
                                            *setting_.world, *setting_.replicas));
  }
  return draft;
}

void MegatronParser::put_first(std::int64_t next_step, RunBuilder& out) {
  if (!first_) return;
  Sample sample = *first_;
  first_.reset();
  sample.iterations = 1;
  if (next_step > sample.step) sample.iterations = std::min(sample.step, next_step - sample.step);
  sample.iterations = std::max<std::int64_t>(1, sample.iterations);
  sample.seconds = mean_s_ * static_cast<double>(sample.iterations);
  run(sample.line, out).add(sample);
}

// A batch that grows (ramp-up) has no single number of sequences per iteration.
void MegatronParser::see_global_batch(RunDraft& draft, std::int64_t batch,
                                      std::int64_t line) const {
  auto& fact = draft.log.facts.global_batch_size;
  if (batch < 1 || fact.value == batch) return;
  if (!fact.known() && draft.count() == 0) {
    fact.set(batch, FactSource::log);
  } else if (fact.known()) {
    draft.log.notices.push_back(
        make_notice(NoticeCode::global_batch_changes, line, *fact.value, batch));
    fact = {};
  }
}

// A loss that is not above zero is left out by the trainer: NaN, where there was one before.
void MegatronParser::see_loss(const Line& line, IterationLine& at) {
  if (at.sample.loss) {
    had_loss_ = true;
  } else if (at.sample.step > last_step_ && at.skipped == 0 && line.terminator != 0 &&
             (had_loss_ || line.text.find("| grad norm: nan |") != std::string_view::npos)) {
    at.sample.loss = kUnknown;
  }
}

bool MegatronParser::see_iteration(const Line& line, RunBuilder& out) {
  auto at = read_iteration(line);
  if (!at) return false;
  Sample& sample = at->sample;
  if (std::isnan(sample.rate) && engine_step_ == sample.step) sample.rate = engine_rate_;
  see_loss(line, *at);
  const RunDraft* open = out.open(WorkKind::training);
  const bool copy = sample.step == last_step_ && open != nullptr && !first_;
  if (copy) return true;  // another rank's
  if (first_ && sample.step == first_->step) return true;
  if (open != nullptr && (sample.step < last_step_ || open->ended_well)) {
    put_first(0, out);
    out.close(WorkKind::training);
    had_loss_ = sample.loss && !std::isnan(*sample.loss);
  }
  put(*at, run(line.number, out), out);
  return true;
}

void MegatronParser::put(IterationLine& at, RunDraft& draft, RunBuilder& out) {
  Sample& sample = at.sample;
  if (draft.count() == 0 && !first_) {
    first_ = sample;
    mean_s_ = at.seconds;
  } else {
    put_first(sample.step, out);
    sample.iterations = std::max<std::int64_t>(1, sample.step - last_step_);
    sample.seconds = at.seconds * static_cast<double>(sample.iterations);
    draft.add(sample);
  }
  last_step_ = sample.step;
  draft.planned = at.planned;
  draft.last_line = sample.line;
  if (!std::isnan(sample.rate)) draft.log.rate_unit = RateUnit::sequences_per_second;
  if (!std::isnan(sample.time_s)) {
    draft.log.clock_is_wall = true;
    // Whole seconds, or microseconds in the newest.
    draft.log.clock_resolution_s = sample.time_s == std::floor(sample.time_s) ? 1 : 1e-6;
  }
  if (const auto batch = at.batch ? at.batch : setting_.engine_batch) {
    see_global_batch(draft, *batch, sample.line);
  }
  if (at.skipped) {
    draft.log.totals.skipped_steps = draft.log.totals.skipped_steps.value_or(0) + *at.skipped;
  }
}

void MegatronParser::see_setting(const Line& line) {
  if (const auto world = count_after(line, "using world size:"); world && *world >= 1) {
    setting_.world = world;
    setting_.micro_steps.reset();
    setting_.replicas = count_after(line, "data-parallel-size:");
    if (!setting_.replicas) setting_.replicas = count_after(line, "data-parallel size:");  // 2023
  }
  for (const std::string_view said :
       {"number of micro-batches to constant", "number of microbatches to constant"}) {
    if (const auto steps = count_after(line, said); steps && *steps >= 1) {
      setting_.micro_steps = steps;
    }
  }
  const auto argument = [&](std::string_view name) -> std::optional<std::int64_t> {
    Cursor cursor(line);
    if (!cursor.skip_past(name)) return std::nullopt;
    const auto end = line.text.find_first_not_of(". ", cursor.at());
    if (end == std::string_view::npos) return std::nullopt;
    cursor.move_to(end);
    const auto value = cursor.integer();
    return value && *value >= 1 ? value : std::nullopt;
  };
  // "decoder_seq_length ..." and the like are other settings.
  if (line.text.find("_seq_length ") == std::string_view::npos) {
    if (const auto length = argument("seq_length ....")) setting_.sequence_length = length;
  }
  if (const auto batch = argument("train_batch_size ....")) setting_.engine_batch = batch;
  if (line.text.find("gpu") == std::string_view::npos) {
    if (const auto batch = argument("micro_batch_size ....")) setting_.micro_batch = batch;
  }
}

bool MegatronParser::parse(const Line& line, RunBuilder& out) {
  if (line.text.find("elapsed time per iteration (") != std::string_view::npos ||
      line.text.find(kElapsedMs) != std::string_view::npos) {
    return see_iteration(line, out);
  }
  if (line.text.find("samples/sec: ") != std::string_view::npos) {
    const auto step = count_after(line, "steps:");
    const auto rate = number_after(line, "samples/sec:");
    if (!step || !rate || line.text.find("iter time (s):") == std::string_view::npos) return false;
    engine_step_ = *step;
    engine_rate_ = *rate;
    return true;
  }
  // --exit-duration-in-mins and --exit-interval end a run as it was asked to.
  if (line.text.find("[after training is done]") != std::string_view::npos ||
      (line.text.find("[exiting program a") != std::string_view::npos &&
       line.text.find("] datetime: ") != std::string_view::npos &&
       line.text.find("receiving") == std::string_view::npos)) {
    put_first(0, out);
    setting_.micro_steps.reset();
    if (RunDraft* draft = out.open(WorkKind::training)) {
      draft->ended_well = true;
      draft->last_line = line.number;
    }
    return true;
  }
  see_setting(line);
  // A launch that fails before its first iteration has said this much.
  return line.text.find("using world size:") != std::string_view::npos;
}

std::unique_ptr<LineParser> make() { return std::make_unique<MegatronParser>(); }

}  // namespace

extern const Format format_megatron;
const Format format_megatron = {
    "megatron", "Megatron-LM and Megatron-DeepSpeed",
    "https://github.com/NVIDIA/Megatron-LM megatron/training (training_log)", kAnchors, make};

}  // namespace bertbench
