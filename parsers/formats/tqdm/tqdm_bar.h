// TqdmBar: one redraw of a tqdm progress bar.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/line.h"
#include "parsers/core/record.h"

namespace bertbench {

/// "Iteration:  33%|███▎      | 3655/11057 [19:17<38:45,  3.18it/s, loss=1.2]"; by rich (tqdm.rich,
/// the progress_bar of stable-baselines3)
/// "100% ━━━━━━━━━ 500,000/500,000  [ 0:17:15 < 0:00:00 , 620 it/s ]".
struct TqdmBar {
  std::string_view description;  ///< without the colon and what other bars left before it
  std::int64_t done = 0;
  std::int64_t total = 0;        ///< 0 = the bar knows none
  double elapsed_s = kUnknown;   ///< whole seconds; torch7's bar has fractions
  double rate = kUnknown;        ///< iterations/s, also where it prints s/it; unknown for "?it/s"
  std::optional<double> loss;    ///< of the postfix, else of the description
  bool counts_examples = false;  ///< its unit is an example, an image ..., not an iteration
  bool counts_epochs = false;    ///< its unit is an epoch
  bool rounded = false;          ///< unit_scale: the counter has three digits ("3.20k/100k")
  bool drawn_once = false;       ///< its end is: find_torch7_bar
  std::size_t begin = 0;         ///< offset of the description in the line
  std::size_t end = 0;           ///< after the closing bracket
};

/// Rich prints whole it/s: a slower rate of its bars is not taken, as half of one is more than 1 %.
inline constexpr double kLeastRateOfRich = 50;

/// All bars of a line, in order: several stand on one when a '\r' got lost or ranks wrote at once.
/// The block characters are not looked at, so one that is cut or not UTF-8 does no harm.
/// `units`: those that are looked for; what cannot stand in the text need not be.
struct UnitsSought {
  bool per_second = true, per_iteration = true;  ///< "it/s", "s/it"
  bool others = true;                            ///< "batch/s", "s/step" ...
};
void find_bars(std::string_view text, UnitsSought units, std::vector<TqdmBar>& bars);

/// A notebook's bar is a widget whose text has the name on a line of its own, and the counter on
/// the next: "Epochs 0/1. Running Loss: 1.0443: 100%", "115/115 [11:22<00:00, 4.47s/it]"
/// (quoted/tqdm.bars_of_a_notebook_whose_names_stand_above_them). The name; empty if it is none.
[[nodiscard]] std::string_view name_above(std::string_view text);
/// Gives the bar its description, and of that the loss where its postfix has none. `name` must
/// outlive the bar.
void name_bar(TqdmBar& bar, std::string_view name);

/// The bar of torch7's xlua, which PyTorch's loops for CIFAR-10 print as well (kuangliu's and their
/// many copies), as a terminal shows it or as it is written; nothing where the line holds none or
/// no time yet. Its rate is the mean
/// (quoted/tqdm.reads_the_bars_of_torch7, .2 and .3, of loops that print by these programs'
/// statements).
///   " [===== 391/391 ====>]  Step: 75ms | Tot: 43s169ms | Loss: 1.806 | Acc: 32.24% (16120/50000)"
///   " [===== 731/731 ====>]  Tot: 42m41s | Step: 3s506ms"
[[nodiscard]] std::optional<TqdmBar> find_torch7_bar(std::string_view text);

/// A bar of Lightning before 2.0: it puts the mean loss before the version ("..., 5.1it/s,
/// loss=0.9, v_num=3]") and goes on through the batches of a validation.
[[nodiscard]] bool of_lightning_1(const TqdmBar& bar, const Line& line);

// BarName: what the description of a progress bar means. "quoted/NAME" is a log in
// tests/golden/quoted, "corpus NAME" one of the collected logs that are not part of the project.

enum class BarRole { training, outer, evaluation, inference, unnamed, other };

struct BarName {
  BarRole role = BarRole::other;
  std::string key;           ///< the same for all bars of one loop: without numbers
  std::int64_t epoch = -1;   ///< -1: it names none
  std::int64_t epochs = -1;  ///< "Epoch 1 of 3"
  /// It is nothing but names of values with fractions, none of them a score: "d: -0.01;gen: 0.2".
  bool values = false;
  bool of_data = false;  ///< it makes data ready: "Tokenizing"

  /// The bar of "Epoch 1 of 3" that stands at 0 or 1 of 3 is the one around the loops
  /// (simpletransformers, quoted/tqdm.tells_the_bar_around_the_epochs_from_theirs).
  [[nodiscard]] bool counts_epochs(std::int64_t done, std::int64_t total) const;
};
[[nodiscard]] BarName name_of(std::string_view description);

/// The epoch, and of how many (-1: not printed), whose begin is all that a line states: "Epoch
/// 3/20", "===== Epoch [3/20] =====", "Starting epoch 3" of scripts whose bars have no names
/// (quoted/tqdm.the_first_bar_after_an_epoch_begins_is_its_training).
struct BegunEpoch {
  std::int64_t epoch = 0;  ///< -1: a whole training begins, "Start training ..."
  std::int64_t epochs = -1;
};
[[nodiscard]] std::optional<BegunEpoch> epoch_that_begins(std::string_view line);
/// What a line states of a whole epoch: "Epoch [29/30] in static KGE | Loss: 5.52" of a script
/// (quoted/tqdm.a_bar_of_the_epochs_of_the_lines), or the loss of training alone, "train loss: 7.1"
/// (quoted/tqdm.a_bar_before_a_loss_that_is_named_of_training).
struct EpochResult {
  std::int64_t epochs = -1;  ///< of how many it is one; -1: not printed
  bool loss = false;         ///< the loss of its training
  bool numbered = false;     ///< the line has the epoch's number
};
[[nodiscard]] std::optional<EpochResult> epoch_result(std::string_view line);
/// What a line with a loss may count: "[TRAIN] Iter: 300 Loss: 0.021", "Step 300: loss = 0.02"; one
/// that begins with the loss counts nothing.
struct LossLine {
  std::vector<std::int64_t> numbers;  ///< whole ones before the loss
  bool epochs = false;                ///< an epoch's stands first
  bool validation = false;            ///< "Validation loss: 4.47"; nothing of it is counted
};
[[nodiscard]] std::optional<LossLine> loss_line(std::string_view line);

/// BarTimes: the moments of a tqdm bar, read back from the smoothed rates that it shows.
///
/// A bar shows its elapsed time in whole seconds and next to it a rate of three digits. At each
/// update that it draws, dn iterations and dt seconds after the one before, tqdm (std.py) computes
///   two_means        rate = E(dn) / E(dt), E the exponential mean of weight 0.3: releases from
///                    4.58 on (the correction for the first calls is the same above and below)
///   mean_of_times    1 / rate = E(dt / dn), which begins with the first value: releases before
///   newest_interval  rate = dn / dt: smoothing=1, as bing_bert has it
///   overall_mean     rate = n / elapsed: smoothing=0, as Lightning has it
/// Each can be solved for dt, as the counters give dn: the smoothing is undone. What the rates'
/// rounding does to single intervals cancels in their sum, which follows every redraw to some
/// thousandths of a step. Which of the four a bar is shows in its own clock: the moments must lie
/// within the seconds that it shows (reports/measure/estimators.h).
///
/// Redraws that are no update (set_postfix, a line written over the bar) repeat the rate. So does
/// an update whose rate did not change, which comes no sooner than tqdm's mininterval of 0.1 s
/// after the one before: what comes sooner is placed by that rate and changes nothing else.
class BarTimes {
 public:
  /// Moments of the redraw at counter `done`; `rate` in iterations/s or unknown, `elapsed_s` as
  /// shown. A bar that was not seen at its beginning starts at the second that it shows first.
  BarSeconds see(std::int64_t done, double rate, double elapsed_s);
  /// The bar was drawn at `done`, where it starts, without a rate.
  void begin(std::int64_t done);

 private:
  [[nodiscard]] BarSeconds at(std::int64_t done, double ahead_s) const;

  bool begun_ = false;
  bool headless_ = false;       ///< what the smoothing held at the first redraw is not known
  std::int64_t done_ = 0;       ///< at the newest update
  double rate_ = kUnknown;      ///< that it showed
  double iterations_ = 0;       ///< E(dn), not corrected for the first calls
  double seconds_ = 0;          ///< E(dt), likewise
  double interval_ = kUnknown;  ///< E(dt / dn)
  double two_means_s_ = 0, mean_of_times_s_ = 0, newest_interval_s_ = 0;
};

}  // namespace bertbench
