// paddle: training lines of PaddlePaddle's BERT (PaddleNLP) and lines like them.
//
//   total step: 420, epoch: 0, batch: 419, loss: 10.8, avg_reader_cost: 0.00009 sec,
//       avg_batch_cost: 0.14328 sec, avg_samples: 96.00000, ips: 669.60702 sequences/sec
//   tobal step: 410, epoch: ...                           (so spelt in multi-node revisions)
//   [date] [    INFO] - step_idx: 100, epoch: 0, batch: 100, avg loss: 8.1, ...
//       avg_speed: 6.62 step/s
//   global step 10, epoch: 0, batch: 9, loss: 10.9, ... avg_batch_cost: 0.5 sec, ... ips: ...
//   global step: 10, epoch: 0, batch: 9, ...                          (BERT since PaddleNLP 2.3)
//   global step 100, epoch: 1, batch: 99, loss: 0.5, speed: 2.34 step/s               (fine-tuning)
//   epoch: 1, progress: 1/1, step: 30, loss: 10.5, ..., speed: 0.849662 steps/s, file: ...  (ERNIE)
//   [train][1] progress: 1/1 step: 100, time: 6.095, speed: 16.406 steps/s                 (Knover)
//   [date] [   TRAIN] - step 10 / 231: loss=0.82945 f1=0.37425 [step/sec: 4.88]         (PaddleHub)
//   [date] [   TRAIN] - Epoch=1/3, Step=10/77 loss=0.8 lr=0.000050 step/sec=6.19 | ETA 00:03:46
//   date - INFO - Epoch: 0, using time 345.59 second, ips 15914.49 example/sec.       (PaddleRec)
//
// ips is avg_samples / avg_batch_cost of ONE card. A step is the job's all the same: the printed
// rate is kept as steps/s, so that the sequences of the whole job follow from micro batch and
// cards. A step is a micro-step; with gradient merge every so many of them are slower.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "parsers/assemble/rank_copies.h"
#include "parsers/core/facts.h"
#include "parsers/core/line.h"
#include "parsers/core/record.h"
#include "parsers/formats/format.h"
#include "parsers/lines/argument_text.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/whole_number.h"

namespace bertbench::format_paddle {
namespace {

// Lines of Paddle's scripts that name their speed in steps/s, each script in its own way.

/// steps/s, NaN where its digits give it worse than to 2 %, as "0.04" does.
struct PaddleSpeed {
  double value = kUnknown;
  bool rough = false;
};

struct PaddleSpeedLine {
  std::int64_t step = 0;
  PaddleSpeed speed{};
  double seconds = kUnknown;  ///< of one step, where the line prints it apart from the speed
  std::optional<std::int64_t> planned{};  ///< last step
  /// ERNIE and the BERT of 2019, of which some revisions multiply the speed by the nodes.
  bool ernie = false;
};

// What stands after `key`; nothing where no number does.
std::optional<PaddleSpeed> paddle_speed_after(const Line& line, std::string_view key) {
  constexpr double kMostRounding = 0.02;  // half a last digit, as a share of the value
  Cursor cursor(line);
  if (!cursor.skip_past(key)) return std::nullopt;
  cursor.blanks();
  const auto begin = cursor.at();
  const auto value = cursor.number();
  if (!value) return std::nullopt;
  const auto digits = line.text.substr(begin, cursor.at() - begin);
  const auto dot = digits.find('.');
  const auto decimals = dot == std::string_view::npos ? 0 : digits.size() - dot - 1;
  if (0.5 * std::pow(10.0, -static_cast<double>(decimals)) > kMostRounding * *value) {
    return PaddleSpeed{kUnknown, true};
  }
  return PaddleSpeed{*value, false};
}

// step_idx: 100, epoch: 0, batch: 100, avg loss: 8.1, ..., avg_speed: 6.62 step/s, batch_cost:
// 0.151 sec
std::optional<PaddleSpeedLine> read_transformer(const Line& line) {
  const auto step = count_after(line, "step_idx:");
  const auto speed = paddle_speed_after(line, "avg_speed:");
  if (!step || !speed || !has(line, "step/s")) return std::nullopt;
  PaddleSpeedLine out{.step = *step, .speed = *speed};
  // It has more digits than the speed.
  if (const auto cost = number_after(line, " batch_cost:"); cost && *cost > 0) out.seconds = *cost;
  return out;
}

// The speed is that of the steps since the line before. Knover's time is that of these steps; its
// losses stand on a line of their own.
std::optional<PaddleSpeedLine> read_ernie(const Line& line) {
  const bool knover = line.text.starts_with("[train][");
  const auto speed = paddle_speed_after(line, ", speed:");
  PaddleSpeedLine out{.speed = speed.value_or(PaddleSpeed{}), .ernie = !knover};
  if (!Cursor(line).read(Past{"progress: "}, Past{knover ? " step: " : ", step: "}, out.step) ||
      !speed || !has(line, " steps/s")) {
    return std::nullopt;
  }
  if (knover && speed->value > 0) out.seconds = 1 / speed->value;
  return out;
}

// PaddleHub, whose second release counts the batches of an epoch.
std::optional<PaddleSpeedLine> read_hub(const Line& line) {
  Cursor cursor(line);
  std::int64_t epoch = 1, step = 0, all = 0;
  if (!cursor.skip_past("TRAIN] - ")) return std::nullopt;
  const bool epochs = cursor.read("Epoch=", epoch);
  if (epochs ? !cursor.skip_past(", Step=") : !cursor.literal("step ")) return std::nullopt;
  const auto speed = paddle_speed_after(line, epochs ? " step/sec=" : "[step/sec:");
  constexpr std::int64_t kCountLimit = 1'000'000'000;
  if (!cursor.read(step) || step < 1 || epoch < 1 || epoch > kCountLimit || !speed) {
    return std::nullopt;
  }
  cursor.read(epochs ? "/" : " / ", all);
  const bool fits = all >= step && all <= kCountLimit;
  if (epochs && !fits) return std::nullopt;
  PaddleSpeedLine out{.step = epochs ? (epoch - 1) * all + step : step, .speed = *speed};
  if (!epochs && fits) out.planned = all;
  return out;
}

// A line of the Transformer, of ERNIE or Knover, or of PaddleHub; nothing for any other. What a
// step counts is not stated on them.
std::optional<PaddleSpeedLine> read_paddle_speed_line(const Line& line) {
  if (auto out = read_transformer(line)) return out;
  if (auto out = read_ernie(line)) return out;
  return read_hub(line);
}

// The first line of a log may stand for many steps or, after a resume, for few.
constexpr Begin kRuns[] = {{.first = FirstInterval::as_next, .restart = Restart::back}};

struct Paddle {
  // False: another rank's copy.
  bool counts(Step& at, const Line& line, Emit emit) {
    if (ranks.is_copy(line.rank, at.step <= newest)) return false;
    if (at.step < newest) {
      conclude(emit);
      micro.reset();
    }
    newest = at.step;
    at.rate_unit = RateUnit::iterations_per_second;
    if (!at.planned) at.planned = max_steps;
    return true;
  }

  // Words of a batch without a fixed length are no sequences: what ips counts is reported.
  void take_words(const Line& line, std::optional<double> ips, double each_s) {
    if (!has(line, "words/sec") && !has(line, "word/sec")) return;
    words = true;
    if (!ips || !(*ips > 0 && *ips < 1e12) || !(each_s > 0)) return;
    words_counted += *ips * each_s;
    words_s += each_s;
  }

  bool step(const Line& line, Emit emit) {
    Cursor cursor(line);
    if (cursor.skip_past("[train] epoch: ")) return epoch_batch(cursor, line, emit);
    const bool global = cursor.skip_past("global step ") || cursor.skip_past("global step: ");
    if (!global && !cursor.skip_past("total step: ") && !cursor.skip_past("tobal step: ")) {
      return false;
    }
    Step at{.loss = number_after(line, ", loss:")};
    if (!cursor.read(at.step)) return false;
    const auto samples = number_after(line, "avg_samples:");
    if (global && !samples) return global_step(at.step, line, emit);
    const auto cost = number_after(line, "avg_batch_cost:"), ips = number_after(line, "ips:");
    if (!cost || !samples || !(*samples >= 1 && *samples < 1e9) || !ips) return false;
    const bool sequences =
        has(line, "sequences/sec") || has(line, " sample/sec") || has(line, " samples/sec");
    at.each_s = *cost;
    if (sequences) at.rate = *ips / *samples;
    // PaddleNLP's other scripts count optimizer steps or batches, by script.
    at.unit = global ? IterationUnit::unknown : IterationUnit::micro_step;
    if (!counts(at, line, emit)) return true;
    take_words(line, ips, *cost);
    per_card = true;
    if (sequences && !micro) micro = whole_near(*samples);
    if (micro) {
      printed_samples += *samples;
      batch_samples += static_cast<double>(*micro);
    }
    emit(at);
    return true;
  }

  // Without samples: "speed: 2.34 step/s", in language models next to tokens/s of one card and of
  // all.
  bool global_step(std::int64_t counter, const Line& line, Emit emit) {
    const auto speed = paddle_speed_after(line, ", speed:");
    const auto cost = number_after(line, "avg_batch_cost:");
    const bool steps = speed && (has(line, "step/s") || has(line, "steps/s"));
    if (!cost && !steps) return false;
    Step at{.step = counter,
            .each_s = cost && *cost > 0 ? *cost : kUnknown,
            .rate = steps ? speed->value : kUnknown,
            .loss = number_after(line, "loss:"),
            .unit = IterationUnit::unknown};
    rough |= steps && speed->rough && !(at.each_s > 0);
    if (!counts(at, line, emit)) return true;
    const auto ips = number_after(line, {" ips:", " ips :"});  // the latter the first revision's
    if (!cost && ips && speed && has(line, " sequences/s")) {
      take_batch(*ips, speed->value);
      if (micro) at.unit = IterationUnit::micro_step;
    }
    emit(at);
    return true;
  }

  // BERT of 2020: "speed: 4.23 step/s, ips: 135.26 sequences/s", of one card: the batch follows
  // where the digits leave but one.
  void take_batch(double ips, double speed) {
    constexpr double kHalfDigit = 0.005;
    per_card = true;
    if (micro || !(speed > kHalfDigit) || !(ips > kHalfDigit)) return;
    micro = whole_between((ips - kHalfDigit) / (speed + kHalfDigit),
                          (ips + kHalfDigit) / (speed - kHalfDigit));
  }

  // PaddleFleetX: "[train] epoch: 0, batch: 10, loss: 10.9, avg_batch_cost: 0.50 sec, ...";
  // since 2022 "[train] epoch: [0/1], batch: [10/500000], ...".
  bool epoch_batch(Cursor cursor, const Line& line, Emit emit) {
    const bool of = cursor.literal("[");
    std::int64_t next = 0, epochs = 0, batch = 0;
    if (!cursor.read(next) || (of && !cursor.read("/", epochs, "]")) ||
        !cursor.read(of ? ", batch: [" : ", batch: ", batch)) {
      return false;
    }
    if (next != epoch) base = epoch >= 0 && next > epoch ? std::max<std::int64_t>(0, newest) : 0;
    epoch = next;
    return global_step(base + batch + 1, line, emit);
  }

  // What a step counts is not stated on these lines. The losses of Knover and PaddleHub's second
  // release stand apart or as "loss=".
  bool speed(const Line& line, Emit emit) {
    const auto printed = read_paddle_speed_line(line);
    if (!printed) return false;
    Step at{.step = printed->step,
            .each_s = printed->seconds,
            .rate = printed->speed.value,
            .loss = number_after(line, {"loss:", " loss="}),
            .planned = printed->planned};
    rough |= printed->speed.rough && !(at.each_s > 0);
    if (!counts(at, line, emit)) return true;
    take_words(line, number_after(line, "ips:"), at.each_s);
    ernie |= printed->ernie;
    emit(at);
    return true;
  }

  // The end of an epoch of PaddleRec on parameter servers: its ips is that of all threads of the
  // trainer that prints it, where the lines of batches are of one thread.
  bool epoch_ips(const Line& line, Emit emit) {
    Cursor cursor(line);
    Step at{.iterations = 1, .rate_unit = RateUnit::sequences_per_second};
    if (!cursor.read(Past{"Epoch: "}, at.step, ", using time ")) return false;
    const auto seconds = cursor.number(), ips = number_after(line, " second, ips ");
    if (has(line, "word/sec")) {
      take_words(line, ips, seconds.value_or(kUnknown));
      emit(End{.of = Of::begun});
      return true;
    }
    if (!has(line, " example/sec") || !ips || !(*ips > 0 && *ips < 1e12)) return false;
    if (++at.step <= examples) {
      conclude(emit);
      emit(kRuns[0]);
    }
    const bool first = std::exchange(examples, at.step) == 0;
    if (trainers) at.rate = *ips * static_cast<double>(*trainers);
    emit(at);
    epoch_over = true;
    if (first && trainers) {
      emit.note_here(NoticeCode::rate_of_one_trainer_multiplied, *ips, *trainers);
    } else if (first) {
      emit.note_here(NoticeCode::rate_of_one_trainer_left_out, *ips);
    }
    return true;
  }

  // "Epoch: 0, Batch: 50, ..." of one thread.
  void thread_batch(const Line& line) {
    if (has(line, "Epoch: ") && has(line, ", Batch: ")) epoch_over = false;
  }

  void arguments(const Line& line) {
    if (const auto steps = count_of(line.text, {"max_steps"})) max_steps = steps;
  }

  // The command line stands before the log or, with `set -x` after `tee`, after it.
  void command(const Line& line) {
    arguments(line);
    if (!has(line, "paddle.distributed.")) {
      if (line.text.find("python") < line.at) cards = 1;
      return;
    }
    Cursor gpus(line);
    if (!gpus.skip_past("--gpus=") && !gpus.skip_past("--gpus ")) return;
    if (const auto list = gpus.until(" \t\"'")) cards = count_of_list(*list);
    nodes = 1;
    for (const std::string_view several : {"--ips", "--cluster_node_ips", "--nnodes", "--master"}) {
      if (has(line, several)) nodes.reset();
    }
  }

  // The open run ends.
  void conclude(Emit emit) {
    if (std::exchange(epoch_over, false)) emit(End{.here = false});
    if (!words) return;
    std::string of = "the words of one trainer";
    if (words_s > 0)
      of += fmt::format(", {:.6g} a second over these lines", words_counted / words_s);
    words_counted = words_s = 0;
    emit(Note{make_notice(NoticeCode::counts_tokens, 0, "ips", of,
                          "no rate of sequences is taken from it")});
  }

  /// Cards, nodes and merged gradients, as far as they are stated.
  [[nodiscard]] Facts launched() const {
    Facts out;
    out.gradient_accumulation_steps.set(merge, FactSource::log);
    if (cards == 1) {
      out.world_size.set(1, FactSource::log);
    } else if (cards) {
      out.gpus_per_node.set(*cards, FactSource::log);
      out.nodes.set(nodes, FactSource::log);
    }
    return out;
  }

  void facts(Facts& facts) const {
    facts = merge_facts(launched(), facts);
    facts.micro_batch_size.set(micro, FactSource::log);
  }

  void finish(Emit emit) {
    emit(Statement{.planned = max_steps});
    const Facts late = launched();  // with `set -x` after `tee` the command line stands at the end
    if (per_card && !words && !late.world()) emit.note(NoticeCode::rate_of_one_gpu, "ips");
    if (micro && printed_samples > 0 &&
        std::abs(printed_samples - batch_samples) > 0.01 * batch_samples) {
      emit.note(NoticeCode::samples_vary,
                printed_samples / batch_samples * static_cast<double>(*micro),
                100 * std::abs(batch_samples / printed_samples - 1),
                batch_samples > printed_samples ? "many" : "few");
    }
    if (ernie && late.nodes.value != 1) emit.note(NoticeCode::rate_multiplied_by_nodes);
    if (rough) emit.note(NoticeCode::times_too_coarse, "the speed of some lines");
    conclude(emit);
  }

  std::optional<std::int64_t> cards, nodes, merge;
  std::optional<std::int64_t> max_steps;  ///< planned, counted as the lines count them
  std::optional<std::int64_t> trainers;   ///< of parameter servers
  RankCopies ranks;
  std::int64_t newest = -1;  ///< step of the open run
  std::int64_t epoch = -1, base = 0;
  std::optional<std::int64_t> micro;  ///< of the open run
  double printed_samples = 0,
         batch_samples = 0;  ///< samples of all lines: as printed, and by the micro batch
  double words_counted = 0, words_s = 0;  ///< that ips counts, in the open run
  std::int64_t examples = 0;              ///< epochs of PaddleRec that have a record
  bool epoch_over = false;                ///< no line of a batch after it
  bool per_card = false, words = false, ernie = false, rough = false;
};

constexpr Row kRows[] = {
    on<&Paddle::step>("avg_batch_cost:"),
    on<&Paddle::step>(" step/s"),
    on<&Paddle::step>(" steps/s"),
    on<&Paddle::speed>("avg_speed: "),
    on<&Paddle::speed>(" steps/s"),
    on<&Paddle::speed>("[step/sec: "),
    on<&Paddle::speed>(" step/sec="),
    on<&Paddle::epoch_ips>(" second, ips "),
    on<&Paddle::thread_batch>("avg_batch_cost:"),
    on<&Paddle::command>("run_pretrain.py"),
    on<&Paddle::arguments>("paddle.distributed."),
    on<&Paddle::arguments>("training_script_args: ["),
    on<&Paddle::arguments>("gradient_merge_steps="),
    on<&Paddle::merge>("gradient_merge_steps="),
    on<&Paddle::trainers>("] trainers: "),
    // The launcher's last word, on the other stream: the last steps may stand after it.
    on<[](Paddle&, const Line&, Emit emit) { emit(End{.here = false}); }>(
        "] Local processes completed."),
};

}  // namespace

extern const Format entry{.name = "paddle",
                          .title = "PaddlePaddle, PaddleNLP: ips of one card, steps/s",
                          .reference =
                              "https://github.com/PaddlePaddle/PaddleNLP "
                              "examples/language_model/bert/static/run_pretrain.py",
                          .framework = "paddle",
                          .table = table_of<Paddle>(kRows, kRuns)};

}  // namespace bertbench::format_paddle
