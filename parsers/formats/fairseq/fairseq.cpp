// fairseq: its simple and JSON progress lines.
//
//   2023-06-13 17:31:08 | INFO | train_inner | epoch 143:     85 / 282 loss=3.147, wps=72384.3,
//       ups=1.21, wpb=59997.9, bsz=2186.3, num_updates=40100, train_wall=48, wall=0
//   | epoch 001:   1000 / 2184 loss=8.1, wps=176776, ups=3.1, wpb=56091, bsz=485, ...     (to 0.8)
//   | epoch 010  2000 / 8223 loss=1.27 (1.50), wps=962, wpb=908, bsz=32, lr=0.001, ...  (to 0.4)
//   epoch 001:  10%|#   | 100/1000 [00:50<07:30,  2.00it/s, loss=8.2, wps=58000, ...      (tqdm)
//   ... | INFO | train | epoch 002 | loss 4.1 | wps 72384 | ups 1.21 | wpb 59997.9 | bsz 2186.3 ...
//   [2022-04-08 18:48:05,372][train_inner][INFO] - {"epoch": 1, "update": 0.416, "wps": "58056.1"
//   ... | INFO | train | {"epoch": 2, "train_wps": "7204.7", "train_ups": "2.01", ...     (an
//   epoch)
//
// wps: tokens/s of all workers; wpb and bsz: tokens and sentences per update. ups has two digits,
// so sentences/s = bsz * wps / wpb. Since 0.9 an inner line covers the updates since the one
// before; earlier, and in the lines of an epoch, it is the mean of the epoch. An update is an
// optimizer step: --update-freq is in bsz. Lines of validation have the same keys after `valid`.
// NVIDIA's releases of 2020 (MLPerf 0.7) count bsz of one GPU, wpb of all.
// On TPUs the releases of 2020 count only the update that is logged, so that ups and wps are of one
// update over the time of all ("this causes wps to be misreported", fairseq/trainer.py).
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/core/line.h"
#include "parsers/core/record.h"
#include "parsers/formats/format.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/whole_number.h"

namespace bertbench::format_fairseq {
namespace {

// The progress lines of fairseq: what its keys mean.

struct FairseqFields {
  std::optional<double> updates, wps, ups, wpb, bsz, loss, wall, train_wall;
  std::optional<double> within;   ///< "85 / 282": batches of the epoch so far
  std::optional<double> batches;  ///< of an epoch: its total, else the updates of one in the mean
  bool epoch = false;             ///< mean of an epoch
  bool evaluation = false;
  std::string subset;  ///< that an evaluation is of; may be empty
};

/// `prefix`: of the keys, "valid_".
void read_rates(const Line& line, const std::string& prefix, FairseqFields& out) {
  const auto get = [&](std::string_view key) {
    return number_named(line, prefix + std::string(key));
  };
  out.wps = get("wps");
  out.ups = get("ups");
  out.wpb = get("wpb");
  out.bsz = get("bsz");
  out.loss = get("loss");
}

// "| epoch 001:   1000 / 2184 loss=8.1, wps=176776, ...", "... | epoch 002 | loss 4.1 | wps 72384"
// and bars of tqdm.
std::optional<FairseqFields> read_fairseq_line(const Line& line) {
  Cursor cursor(line);
  const bool old = cursor.literal("| epoch ");
  if (!old && !cursor.literal("epoch ") && !cursor.skip_past(" | epoch ")) return std::nullopt;
  FairseqFields out;
  const auto epoch = cursor.integer();
  if (!epoch) return std::nullopt;
  std::optional<double> counted;
  if (cursor.literal(":") || cursor.literal("  ")) {
    std::int64_t batch = 0, total = 0;
    if (cursor.read(kBlanks, batch, "%|")) cursor.skip_past("| ");
    if (!cursor.read(kBlanks, batch, kBlanks, "/", kBlanks, total)) return std::nullopt;
    out.within = static_cast<double>(batch);
    out.batches = static_cast<double>(total);
    counted = (static_cast<double>(*epoch) - 1) * *out.batches + *out.within;
  } else if (cursor.literal(" | ")) {
    out.epoch = true;
    out.evaluation =
        has(line, " | valid on ") || has(line, "| valid_loss ") || has(line, " | valid | ");
    Cursor subset(line);
    if (subset.skip_past(" | valid on '")) out.subset = subset.until("'").value_or("");
  } else {
    return std::nullopt;
  }
  const std::string prefix = out.evaluation && number_named(line, "valid_wps") ? "valid_" : "";
  out.updates = number_named(line, "num_updates");
  if (!out.updates) out.updates = number_named(line, prefix + "num_updates");
  if (!out.updates) out.updates = counted;  // 2017: a batch is an update
  if (out.epoch && out.updates && *epoch > 0) {
    out.batches = *out.updates / static_cast<double>(*epoch);
  }
  read_rates(line, prefix, out);
  out.wall = number_named(line, "wall");
  out.train_wall = number_named(line, "train_wall");
  return out;
}

// {"epoch": 1, "update": 0.416, "wps": "58056.1", ...
std::optional<FairseqFields> read_fairseq_json(const Line& line) {
  const auto begin = line.text.find("{\"epoch\": ");
  if (begin == std::string_view::npos) return std::nullopt;
  FairseqFields out;
  std::string prefix;
  if (number_named(line, "train_num_updates")) {
    prefix = "train_";
    out.epoch = true;
  } else if (!number_named(line, "num_updates")) {
    // A subset's name stands before its keys: valid_, test_, dev-other_.
    const auto key = line.text.find("_num_updates\": ", begin);
    const auto quote = key == std::string_view::npos ? key : line.text.rfind('"', key);
    if (quote == std::string_view::npos || quote < begin) return std::nullopt;
    prefix = std::string(line.text.substr(quote + 1, key - quote));
    out.epoch = out.evaluation = true;
    out.subset = prefix;
  }
  out.updates = number_named(line, prefix + "num_updates");
  read_rates(line, prefix, out);
  out.wall = number_named(line, prefix + "wall");
  return out;
}

constexpr double kUpdateLimit = 1e15;

/// Lines of updates; means of epochs, for a launch without them; and from kSubsets on the
/// evaluations, of each subset a run.
enum Track { kInner, kEpochs, kSubsets, kSubsetLimit = 8 };

/// Sequences/s where the line has both, else updates/s.
RateUnit take_rate(const FairseqFields& fields, Step& at) {
  const bool words = fields.wps && fields.wpb && *fields.wpb > 0;
  if (words) {
    at.rate = fields.bsz.value_or(1) * *fields.wps / *fields.wpb;
  } else if (fields.ups) {
    at.rate = *fields.ups;
  }
  if (!(at.rate > 0)) at.rate = kUnknown;  // 0 on a run's first line: no time has passed
  return words && fields.bsz ? RateUnit::sequences_per_second : RateUnit::iterations_per_second;
}

struct Fairseq {
  // One update over the time of at least kUpdatesForAVerdict: no rounding and no pause makes a rate
  // that low.
  void count_updates(const FairseqFields& fields, const Step& at) {
    constexpr std::int64_t kUpdatesForAVerdict = 4;
    constexpr double kOneUpdateGap = 0.25;
    const double seconds = at.time_s - std::exchange(inner_time_s, at.time_s);
    const std::int64_t updates = at.step - std::exchange(inner_updates, at.step);
    const bool exact = fields.wps && fields.wpb && *fields.wpb > 0;
    const double rate = exact ? *fields.wps / *fields.wpb : fields.ups.value_or(kUnknown);
    if (!(seconds > 0) || !(rate > 0) || updates < kUpdatesForAVerdict) return;
    ++intervals;
    if (std::abs(rate * seconds - 1) <= kOneUpdateGap) ++of_one;
  }

  // An epoch's mean stands next to the inner lines of the same updates.
  void conclude(Emit emit) {
    if (unit[kInner]) emit(Withdraw{kEpochs, Of::open});
    // A batch that is not the same on all lines is a number of tokens.
    if (low_bsz == high_bsz) emit.fact(&Facts::global_batch_size, whole_near(low_bsz), kInner);
    if (!old && of_one > 0 && 2 * of_one > intervals) {
      emit(Statement{.track = kInner, .rate_unit = RateUnit::unknown});
      emit(Note{make_notice(NoticeCode::ups_of_one_update, 0), kInner});
    }
  }

  void begin_launch(const Line& line, Emit emit) {
    conclude(emit);
    // "2023-06-13 17:31:08 | INFO", "[2022-04-08 18:48:05,372][train_inner]"
    constexpr std::size_t kWholeSeconds = 19;  // bytes
    const auto stamp = front_stamp(line.text);
    wall_clock = stamp.has_value();
    Begin how{.unit = IterationUnit::optimizer_step,
              .clock = {stamp && stamp->length > kWholeSeconds ? 1e-3 : 1, wall_clock},
              .restart = Restart::never,
              .from_zero = !wall_clock,  // `wall` counts from the start of the run
              .without_evaluations = wall_clock,
              .own_facts = true,  // batches of fairseq are sentences or tokens, by option
              .line = line.number};
    for (how.track = kInner; how.track <= kEpochs; ++how.track) emit(how);
    for (std::size_t i = 0; i < subsets.size(); ++i) emit(evaluations(i));
    unit[kInner] = unit[kEpochs] = std::nullopt;
    launch_world = world;
    open = true;
    ended = evaluated = false;
    intervals = of_one = 0;
    inner_time_s = low_bsz = high_bsz = kUnknown;
  }

  static constexpr Begin evaluations(std::size_t subset) {
    return {.track = kSubsets + static_cast<int>(subset),
            .work = WorkKind::evaluation,
            .restart = Restart::never,
            .own_facts = true};
  }

  // bsz times the batches of an epoch are its examples; those that are too long are left out, up to
  // 8 % in MLPerf's logs.
  void take_epoch_size(const FairseqFields& fields) {
    constexpr double kShareGap = 0.2;
    if (fields.evaluation || shares > 1 || !world || *world < 2) return;
    if (!fields.batches || !fields.bsz) return;
    const double counted = *fields.batches * *fields.bsz;
    const auto all = static_cast<double>(*world);
    if (counted > 0 && std::abs(examples / counted / all - 1) <= kShareGap) shares = *world;
  }

  // Old releases mean the epoch so far, so that a line's rate is not that of its own updates.
  bool progress(const Line& line, Emit emit) {
    auto fields = read_fairseq_json(line);
    if (!fields && (fields = read_fairseq_line(line))) old |= line.text.starts_with("| epoch ");
    if (!fields || !fields->updates ||
        !(*fields->updates >= 0 && *fields->updates < kUpdateLimit) ||
        (!fields->wps && !fields->ups)) {
      return false;
    }
    Step at{.step = static_cast<std::int64_t>(*fields->updates), .loss = fields->loss};
    take_epoch_size(*fields);
    if (fields->bsz) *fields->bsz *= static_cast<double>(shares);
    at.rate_unit = take_rate(*fields, at);
    if (fields->evaluation) {
      evaluation(fields->subset, at, emit);
      return true;
    }
    if (!open || at.step < newest) begin_launch(line, emit);
    at.track = fields->epoch ? kEpochs : kInner;
    place(line, *fields, at);
    newest = at.step;
    if (!fields->epoch) leave_evaluation_out(*fields, at, emit);
    emit(at);
    emit.fact(&Facts::world_size, launch_world, at.track);
    emit(Statement{.track = kInner});
    if (fields->epoch) return true;
    count_updates(*fields, at);
    if (fields->bsz) {
      low_bsz = std::fmin(low_bsz, *fields->bsz);
      high_bsz = std::fmax(high_bsz, *fields->bsz);
    }
    return true;
  }

  // From 0.9 on the rates of a line are of all the time since the one before. Of an interval that
  // holds an evaluation `train_wall` shows how long the updates took, in whole seconds.
  void leave_evaluation_out(const FairseqFields& fields, Step& at, Emit emit) {
    if (!std::exchange(evaluated, false) || old || !wall_clock) return;
    at.rate = kUnknown;
    if (!fields.train_wall || !(*fields.train_wall > 0)) return;
    at.own_s = *fields.train_wall;
    emit(Evaluated{kInner});
  }

  void evaluation(const std::string& subset, Step at, Emit emit) {
    evaluated = true;
    const auto found = std::ranges::find(subsets, subset);
    const auto index = static_cast<std::size_t>(found - subsets.begin());
    if (index == kSubsetLimit) return;
    if (found == subsets.end()) {
      subsets.push_back(subset);
      emit(evaluations(index));
    }
    at.track = kSubsets + static_cast<int>(index);
    at.iterations = 1;
    at.last = true;
    emit(at);
  }

  // The clock of a record, and of a run's first one the updates that it covers.
  void place(const Line& line, const FairseqFields& fields, Step& at) {
    auto& unit_of = unit[at.track];
    const bool first = !unit_of;
    if (first) unit_of = at.rate_unit;
    if (at.rate_unit != unit_of) {
      at.rate = kUnknown;
      at.rate_unit = unit_of;
    }
    if (wall_clock) {
      at.time_s = front_time(line.text);
    } else if (fields.wall && *fields.wall > 0) {
      at.time_s = *fields.wall;
    }
    if (first && (at.step > 1000000 || fields.within)) {
      // A resumed run's first line covers what was done since, not all updates.
      const double since = std::min(fields.within.value_or(1), kUpdateLimit);
      at.iterations =
          std::max<std::int64_t>(1, std::min(at.step, static_cast<std::int64_t>(since)));
    }
  }

  // MLPerf's translation benchmark runs fairseq: its official time is that between two of its
  // lines.
  void mlperf(const Line& line, Emit emit) {
    if (!has(line, ":::MLL")) return;
    if (has(line, "\"train_samples\"")) {
      examples = number_after(line, "\"value\":").value_or(kUnknown);
      return;
    }
    const auto time_ms = number_after(line, "\"time_ms\":");
    if (!time_ms) return;
    if (has(line, "\"run_start\"")) {
      official_start_ms = *time_ms;
    } else if (open && !std::isnan(official_start_ms)) {
      end((*time_ms - official_start_ms) / 1000, has(line, "\"success\""), emit);
    }
  }

  void end(double seconds, bool well, Emit emit) {
    ended = well;
    for (const int track : {kInner, kEpochs}) {
      emit(Statement{.track = track, .totals = {.training_s = seconds}});
      emit(End{.track = track, .well = well});
    }
  }

  bool done(const Line& line, Emit emit) {
    double seconds = 0;
    if (!open || !Cursor::after(line).read(seconds)) return false;
    if (!ended) end(seconds, true, emit);  // else MLPerf's official time was printed
    return true;
  }

  // "training on 8 devices (GPUs/TPUs)", "on 8 GPUs"
  void devices(const Line& line) {
    const auto count = size_here(line);
    if (count && (has(line, " devices (GPUs/TPUs)") || has(line, " GPUs"))) world = count;
  }

  void finish(Emit emit) {
    conclude(emit);
    const auto note = [&](const Notice& notice) {
      for (const int track : {kInner, kEpochs}) emit(Note{notice, track, Of::all});
    };
    if (old) {
      note(make_notice(NoticeCode::rate_is_mean_of_window, 0,
                       "the rate of a line of fairseq before 0.9", "its epoch so far"));
    }
    if (shares > 1) note(make_notice(NoticeCode::same_batch_size_assumed, 0, shares));
    emit(Note{make_notice(NoticeCode::times_of_epochs, 0, "means"), kEpochs, Of::all});
  }

  bool open = false, ended = false;  ///< a launch, and whether its end was printed
  bool evaluated = false;            ///< since the newest inner line
  std::optional<RateUnit> unit[2];   ///< of the launch's lines and of its epochs
  std::optional<std::int64_t> world, launch_world;
  std::vector<std::string> subsets;
  double low_bsz = kUnknown, high_bsz = kUnknown;
  double official_start_ms = kUnknown;
  double examples = kUnknown;  ///< of an epoch, as MLPerf's line states it
  std::int64_t shares = 1;     ///< GPUs, where bsz is of one of them
  std::int64_t newest = 0;     ///< update
  bool old = false, wall_clock = false;
  std::int64_t intervals = 0;      ///< inner lines with an earlier one of their run
  std::int64_t of_one = 0;         ///< of these, whose ups is that of one update
  double inner_time_s = kUnknown;  ///< of the newest inner line
  std::int64_t inner_updates = 0;
};

constexpr Row kRows[] = {
    on<&Fairseq::progress>("num_updates"),     on<&Fairseq::progress>(", wpb="),
    on<&Fairseq::mlperf>("\"train_samples\""), on<&Fairseq::mlperf>("\"run_start\""),
    on<&Fairseq::mlperf>("\"run_stop\""),      on<&Fairseq::devices>("training on "),
    on<&Fairseq::done>("done training in "),
};

}  // namespace

extern const Format entry{
    .name = "fairseq",
    .title = "fairseq: simple and JSON progress lines",
    .reference =
        "https://github.com/facebookresearch/fairseq fairseq/logging/progress_bar.py, "
        "fairseq/trainer.py",
    .framework = "pytorch",
    .table = table_of<Fairseq>(kRows)};

}  // namespace bertbench::format_fairseq
