// UnnamedBars: progress bars without a description may be training, evaluation or a mere loop
// (tokenizing, downloading). Which one is training is known only at the end of the log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/tqdm/tqdm_bar.h"

namespace bertbench {

/// A bar that something is written over at regular steps: tqdm.write() clears the bar, writes, and
/// draws it again unchanged. The Hugging Face Trainer does so every logging_steps, and the redraws
/// show it where what it wrote went to another file
/// (quoted/tqdm.knows_the_trainers_bar_by_what_is_written_over_it).
class RepeatedRedraws {
 public:
  /// A redraw of the bar, copies of the one before included.
  void see(const TqdmBar& bar);
  /// The steps between two writings, once they were the same several times, else 0.
  [[nodiscard]] std::int64_t every() const {
    return times_ >= kRepeatsForARule && !refuted_ ? every_ : 0;
  }
  /// Another redraw may still decide.
  [[nodiscard]] bool undecided() const { return !refuted_ && times_ < kRepeatsForARule; }

 private:
  static constexpr int kRepeatsForARule = 3;     ///< writings: two distances that agree
  std::int64_t done_ = -1, at_ = 0, every_ = 0;  ///< newest redraw; newest one that was repeated
  double elapsed_s_ = kUnknown, rate_ = kUnknown;
  int copies_ = 0, times_ = 0;
  bool refuted_ = false;
};

/// A bar at 0 after which, on its line, stands what the first step of a training writes: a
/// tokenizer's remark that it pads a batch, gradient checkpointing's, an optimizer's
/// (quoted/tqdm.knows_the_trainers_bar_by_what_the_first_step_writes_after_it). The Hugging Face
/// Trainer draws its bar of training so, that of an evaluation after the first prediction only.
[[nodiscard]] bool takes_first_step(const TqdmBar& bar, std::string_view text);

class UnnamedBars {
 public:
  static constexpr std::size_t kMax = 4096;  ///< hostile input: a new bar on every line

  [[nodiscard]] bool full() const { return bars_.size() >= kMax; }
  /// `first_step`: it stood at 0 when the first step was taken, see takes_first_step().
  /// `values`: its name is values that may be losses, see BarName.
  void add(RunDraft& draft, const TqdmBar& bar, std::int64_t line, bool first_step, bool values);
  /// A line announces a training: the next bar is of it.
  void announce() { announced_ = true; }
  /// A line that a library prints where an optimizer is made or steps: the program trains
  /// (quoted/tqdm.the_only_loop_of_a_program_that_makes_an_optimizer).
  void note_optimizer() { optimizer_ = true; }
  [[nodiscard]] bool holds(const RunDraft& draft) const;
  /// A redraw of the newest bar that fills `draft`, `elapsed_s` after the first of it began. False
  /// while a copy of it could still decide something: whether the bar was written over.
  bool update(const RunDraft& draft, const TqdmBar& bar, double elapsed_s, std::int64_t line);
  /// A bar counts epochs around these.
  void note_epochs() { within_epochs_ = true; }
  /// A line with a loss, which may count the steps of the newest bar
  /// (quoted/tqdm.lines_with_a_loss_count_its_steps).
  void note_loss_line(const LossLine& line);
  /// A line with a loss of the training, before the newest bar is drawn again: one that goes on
  /// through several of them is of the training (quoted/tqdm.lines_with_a_loss_while_a_bar_runs).
  void note_loss();
  /// No bar was drawn that such a line could count.
  [[nodiscard]] bool empty() const { return bars_.empty(); }
  /// An agent has been trained for so many steps.
  void note_agent(std::int64_t step);
  /// A line states the result of an epoch. Where it is the loss, and hardly a line but bars stands
  /// since such a line before, the longest of them may be of its training: other lines may be its
  /// steps (quoted/tqdm.a_bar_before_the_loss_of_its_epoch). `epochs`: of how many it is, or -1; a
  /// bar of that total counts them.
  void note_epoch_result(bool loss, std::int64_t epochs, std::int64_t line);
  /// Such a line followed the newest redraw.
  [[nodiscard]] bool epoch_ended() const { return result_line_ > bar_line_; }
  /// A redraw of a bar whose name does not mean training and that shows no loss.
  void note_other(const TqdmBar& bar, std::int64_t line);

  /// Of the bars that began after `line`, the one that ran longest: what is stated about a run is
  /// about its training, though an evaluation may have drawn since.
  [[nodiscard]] RunDraft* longest_since(std::int64_t line) const;

  /// Discards the drafts that are not training. `trainer`: lines of the Hugging Face Trainer were
  /// seen, such as the "train/global_step" of wandb's summary in corpus
  /// huggingface/trl_sge_stderr.log; `named`: another bar is training by its name. Returns the last
  /// training draft, null if none was taken, which a notice of an empty run then states.
  RunDraft* choose(bool trainer, bool named, RunBuilder& out);

 private:
  struct Bar {
    RunDraft* draft = nullptr;
    std::int64_t total = 0;
    double elapsed_s = 0;
    bool has_loss = false;  ///< in its postfix
    std::int64_t line = 0;
    bool first_step = false;
    RepeatedRedraws written{};
    bool of_epoch = false;    ///< the longest between two lines with losses of epochs
    bool values = false;      ///< its name is values that may be losses
    bool announced = false;   ///< it is the first after a line that announces a training
    bool drawn_once = false;  ///< TqdmBar::drawn_once
    std::int64_t done = 0;    ///< at its newest redraw
    /// Lines with a loss that counted its steps, the newest such count, and whether of epochs.
    std::int64_t counts = 0, counted = -1;
    bool counts_epochs = false;
    /// Places at which a loss was printed while it ran, and the newest of them.
    std::int64_t losses = 0, loss_at = 0;
  };
  /// The longest bar for which `is` holds; null if there is none.
  template <class Is>
  static Bar* longest_of(const std::vector<Bar*>& left, Is is);
  /// The longest bar after which a line stated the loss of its epoch, and of an epoch with a bar of
  /// that length before or after it, which may not have ended: of several epochs the one whose time
  /// is in the middle. Null if there is none. It ends as the newest of them.
  Bar* of_epochs(const std::vector<Bar*>& left) const;
  /// Whether the line counts a step of the bar, from `from` to `to`.
  static bool take_count(Bar& bar, const LossLine& line, std::int64_t from, std::int64_t to);
  /// The longest bar whose steps lines with a loss counted; null if there is none.
  static Bar* counted_by_lines(const std::vector<Bar*>& left);
  void discard_copies();
  void report_other(RunBuilder& out) const;
  /// The bar that is of training where one stood at 0 when the first step was taken, else null.
  static Bar* by_first_step(const std::vector<Bar*>& left, const Bar& longest);
  static void report_first_step(const Bar& first, bool other);
  /// The longest bar that something was written over, with a notice; null if there is none.
  static Bar* written_over(const std::vector<Bar*>& left);
  static void report_none(const Bar& first, const Bar& newest, RunBuilder& out);

  std::vector<Bar> bars_;
  /// The bar that counts the epochs of such lines, where no bar of their batches was taken.
  Bar* counts_epochs(const std::vector<Bar*>& left) const;
  std::int64_t epochs_ = -1;
  std::size_t before_result_ = 0;   ///< bars up to the newest result of an epoch
  std::int64_t result_line_ = 0;    ///< where that stands
  std::int64_t bar_line_ = 0;       ///< newest line with a bar
  std::int64_t lines_of_bars_ = 0;  ///< since the newest result of an epoch
  struct Other {
    std::string name;
    double elapsed_s = 0;
    std::int64_t line = 0;
  };
  Other longest_other_;
  bool announced_ = false;  ///< a training, and no bar was drawn since
  bool optimizer_ = false, within_epochs_ = false;
  std::optional<LossLine> loss_line_;  ///< since the newest redraw, of a step after that
  std::size_t newest_ = 0;             ///< of bars_: redrawn last
  std::int64_t agent_step_ = 0;        ///< newest up to which an agent was trained
  std::int64_t agent_times_ = 0;       ///< lines whose steps grew up to that
};

}  // namespace bertbench
