// tqdm: progress bars of PyTorch trainers, above all NVIDIA's BERT (DeepLearningExamples) and the
// Hugging Face Trainer, with the lines that stand between their bars.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parsers/assemble/closing_lines.h"
#include "parsers/assemble/run_builder.h"
#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/formats/tqdm/bar_leaps.h"
#include "parsers/formats/tqdm/bar_name.h"
#include "parsers/formats/tqdm/bar_track.h"
#include "parsers/formats/tqdm/bar_units.h"
#include "parsers/formats/tqdm/step_lines.h"
#include "parsers/formats/tqdm/tqdm_anchors.h"
#include "parsers/formats/tqdm/tqdm_bar.h"
#include "parsers/formats/tqdm/unnamed_bars.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

using namespace tqdm_anchors;

class TqdmParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  [[nodiscard]] bool settled() const override { return settled_; }
  void finish(RunBuilder& out) override;

 private:
  /// What a description, rank and total lead to: redraws come one after the other.
  struct Known {
    std::string description;
    int rank = -1;
    std::int64_t total = 0;
    bool has_loss = false;
    BarName name;
    Track* track = nullptr;
  };

  bool see_bars(const Line& line, RunBuilder& out);
  const Known& known_for(const TqdmBar& bar, int rank);
  struct Outer {
    std::int64_t done = 0, total = 0;
    double elapsed_s = kUnknown, seconds_per_iteration = kUnknown;
    bool seen = false;
  };

  void see_bar(const TqdmBar& bar, const Line& line, RunBuilder& out);
  bool start_over(const Known& known, const TqdmBar& bar, RunBuilder& out);
  void settle_closing(std::int64_t line);
  void end_session(std::int64_t line);
  void discard_epochs();
  bool of_last_epoch(const BarName& name);
  void next_generation(Track& track, BarRole role, RunBuilder& out);
  RunDraft& draft_for(Track& track, BarRole role, const TqdmBar& bar, const Line& line,
                      RunBuilder& out);
  bool see_loss(const Line& line);
  void read_epoch(std::string_view text);
  [[nodiscard]] std::string_view after_bars(std::string_view text) const;
  void name_by_epoch(BarName& name, const TqdmBar& bar);

  std::map<std::string, Track> tracks_;
  BarLeaps leaps_;
  BarUnits units_;
  std::optional<Known> known_;
  bool settled_ = false;
  bool decided_ = true;  ///< a copy of the newest redraw decides nothing
  UnnamedBars unnamed_;
  /// Of the newest line that says that an epoch begins.
  struct {
    std::optional<BegunEpoch> of;
    bool begins = false;      ///< no bar was drawn since
    std::int64_t total = 0;   ///< of its first bar
    RunDraft* run = nullptr;  ///< of bars that are training by such lines alone
  } epoch_;
  Outer outer_;
  RunDraft* newest_ = nullptr;  ///< training draft that made the last record
  ClosingLines closing_;
  std::int64_t first_epoch_ = -1;              ///< least that a bar's name of "Epoch 1/3" shows
  std::optional<std::int64_t> planned_steps_;  ///< "Total optimization steps"
  std::int64_t failed_at_ = 0;                 ///< newest line about a failure
  const RunDraft* given_ = nullptr;            ///< got its statement from end_session()
  std::int64_t settled_at_ = 0;  ///< line after which bars without a name are of another run
  std::vector<TqdmBar> bars_;
  bool lightning1_ = false;        ///< a bar of Lightning before 2.0
  bool named_training_ = false;    ///< a bar that says it is training made a record
  bool trainer_evidence_ = false;  ///< a line of the Hugging Face Trainer was seen
  /// bing_bert prints its steps; DeepSpeed's timer prints them with a finer clock.
  bool progress_lines_ = false;
  std::int64_t timer_lines_ = 0;
  double clock_error_ = 0;  ///< seconds that the ended bars of the training run leave open
  StepLines steps_;
};

constexpr std::size_t kMaxTracks = 4096;  // hostile input: a new description on every line

// A redraw and nothing else is nearly every line.
bool TqdmParser::see_bars(const Line& line, RunBuilder& out) {
  decided_ = true;
  for (const TqdmBar& bar : bars_) see_bar(bar, line, out);
  settled_ = bars_.size() == 1 && bars_[0].done > 0 && decided_;  // bars drawn at 0 are counted
  if (bars_.empty()) return false;
  // fairseq's: its format reads the sentences of an update from them.
  return !bars_[0].has_loss || line.text.find(", wpb=") == std::string_view::npos;
}

bool TqdmParser::parse(const Line& line, RunBuilder& out) {
  const std::uint32_t kinds = kinds_of(line);
  const auto any = [&](std::uint32_t of) { return (kinds & of) != 0; };
  constexpr std::uint32_t kOthers = ~(kBars | kEpochLine);
  find_bars(line.text, {any(kPerSecond), any(kPerIteration), any(kOthers)}, bars_);
  if (any(kEpochLine) && bars_.empty()) read_epoch(line.text);
  if (any(kEpochLine)) {
    if (const auto result = epoch_result(after_bars(line.text))) {
      unnamed_.see_epoch_result(result->loss, result->epochs, line.number);
    }
  }
  if (!any(kOthers)) return see_bars(line, out);
  settled_ = false;
  if (any(kFailures)) failed_at_ = line.number;
  progress_lines_ |= any(kProgress);
  if (any(kTimer)) ++timer_lines_;
  if (any(kResumed)) leaps_.see_resumed(line.text);
  if (any(kPlan)) planned_steps_ = size_after(line, "Total optimization steps =");
  const bool step_line = any(kStepLine);
  const auto step = step_line ? line.text.find("Step:") : std::string_view::npos;
  const bool step_first = step != std::string_view::npos && !bars_.empty() && step < bars_[0].begin;
  bool known = false;
  if (step_first) known = steps_.see(line, newest_);
  for (const TqdmBar& bar : bars_) see_bar(bar, line, out);
  known |= !bars_.empty();
  if (!step_first && step_line) known |= steps_.see(line, newest_);
  trainer_evidence_ |= any(kTrainer) && says_trainer(line);
  known |= any(kLosses) && see_loss(line);
  if (any(kStopped) && newest_ != nullptr) newest_->ended_well = true;
  if (any(kClosing) && closing_.unlike(line)) end_session(line.number);
  if (any(kClosing) && closing_.see(line)) {
    known = true;
    if (closing_.of_trainer()) trainer_evidence_ = true;
    if (newest_ != nullptr) newest_->last_line = line.number;
  }
  return known;
}

/// What the program printed where its bar stood, or the line itself.
std::string_view TqdmParser::after_bars(std::string_view text) const {
  return bars_.empty() ? text : text.substr(std::min(bars_.back().end, text.size()));
}

void TqdmParser::read_epoch(std::string_view text) {
  const auto begins = epoch_that_begins(text);
  if (!begins) return;
  epoch_.of = begins;
  epoch_.begins = true;
  known_.reset();
}

// A bar without a name that is the first after "Epoch 3/20" is of that epoch's training; one of
// another length after it is of an evaluation.
void TqdmParser::name_by_epoch(BarName& name, const TqdmBar& bar) {
  if (name.role == BarRole::evaluation || name.role == BarRole::training) epoch_.begins = false;
  if (name.role != BarRole::unnamed || !bar.description.empty() || !epoch_.of) return;
  if (std::exchange(epoch_.begins, false)) epoch_.total = bar.total;
  if (bar.total <= 1 || bar.total != epoch_.total) return;
  name.role = BarRole::training;
  name.key = "epoch";
  name.epoch = epoch_.of->epoch;
  name.epochs = epoch_.of->epochs;
}

bool TqdmParser::see_loss(const Line& line) {
  const auto loss = loss_of_line(line);
  if (!loss) return false;
  if (newest_ != nullptr) newest_->set_loss(*loss, line.number);
  return true;
}

RunDraft& TqdmParser::draft_for(Track& track, BarRole role, const TqdmBar& bar, const Line& line,
                                RunBuilder& out) {
  if (track.draft != nullptr) return *track.draft;
  const WorkKind kind = role == BarRole::evaluation  ? WorkKind::evaluation
                        : role == BarRole::inference ? WorkKind::inference
                                                     : WorkKind::training;
  if (role == BarRole::unnamed) {
    track.draft = &out.extra(kind, line.number);
    unnamed_.add(*track.draft, bar, line.number, std::exchange(track.first_step, false));
  } else {
    track.draft = &out.run(kind, line.number);
    named_training_ |= kind == WorkKind::training;
    if (bar.description.empty()) epoch_.run = track.draft;
    if (bar.description == "Iteration") track.draft->log.iteration_unit = IterationUnit::micro_step;
    // Of diffusers and accelerate's examples; a bar of another name may be of one epoch.
    if (bar.description == "Steps" && planned_steps_ && bar.total == *planned_steps_) {
      track.draft->log.iteration_unit = IterationUnit::optimizer_step;
    }
  }
  track.draft->set_origin(0);
  track.draft->log.rate_unit = RateUnit::iterations_per_second;
  track.draft->log.clock_resolution_s = 1;
  return *track.draft;
}

void TqdmParser::next_generation(Track& track, BarRole role, RunBuilder& out) {
  const bool failed =
      track.draft != nullptr && track.done < track.total && failed_at_ > track.moved_at;
  const Ended ended = seconds_of(track);
  track.base += track.done;
  track.base_s += ended.seconds;
  track.done = 0;
  track.elapsed_s = 0;
  track.rate = kUnknown;
  track.times = BarTimes{};
  ++track.starts;
  if (role == BarRole::training) clock_error_ += ended.error;
  // An unnamed bar that starts over is another loop; a named one continues, one per data file or
  // epoch, unless the run has said that it is over or has failed and was started again.
  const bool over = track.draft != nullptr && (failed || closing_.said_for(*track.draft));
  if (role == BarRole::unnamed || over) {
    if (over && role != BarRole::unnamed) {
      closing_.give_to(*track.draft);
      out.close(track.draft->log.kind);
      for (auto& [key, other] : tracks_) {
        if (&other != &track && other.draft == track.draft) other = Track{};
      }
      newest_ = nullptr;
      clock_error_ = 0;
      steps_.start_over();
    }
    track.draft = nullptr;
    track.base = 0;
    track.base_s = 0;
  }
}

// True when the redraw shows no progress: a new bar, or a rank that lags.
bool TqdmParser::start_over(const Known& known, const TqdmBar& bar, RunBuilder& out) {
  Track& track = *known.track;
  const BarRole role = known.name.role;
  if (bar.done == 0) {
    ++track.created;
    track.one_ahead |= bar.rate > 0;
    if (!track.progressed) {
      // Ranks step together: before the first step of any, each has drawn its bar.
      track.per_start = track.created;
      track.times.begin(0);
    } else if (track.created >= track.per_start * (track.starts + 1)) {
      next_generation(track, role, out);
      track.times.begin(0);
    }
    return true;
  }
  // Where few redraws are kept, the next epoch's first one may be as far on as the last one's.
  if (track.epoch >= 0 && known.name.epoch > track.epoch && bar.done <= track.done) {
    next_generation(track, role, out);
    return false;
  }
  const bool named = role == BarRole::training;
  if ((named || role == BarRole::unnamed) && is_next_end(track, bar, named, outer_.done)) {
    if (named) ++track.ends;
    next_generation(track, role, out);
    return false;
  }
  if (bar.done >= track.done) return false;
  if (track.draft != nullptr && closing_.said_for(*track.draft)) {
    next_generation(track, role, out);
    return false;
  }
  const bool earlier = bar.elapsed_s + 1 < track.elapsed_s || track.elapsed_s <= 1;
  if (bar.done * 2 < track.done && earlier) {
    next_generation(track, role, out);
    return false;
  }
  return true;
}

const TqdmParser::Known& TqdmParser::known_for(const TqdmBar& bar, int rank) {
  // A bar of another name that shows a loss may be of training; without one it is any loop.
  if (known_ && known_->rank == rank && known_->total == bar.total &&
      known_->description == bar.description && known_->has_loss == bar.has_loss) {
    return *known_;
  }
  Known found{std::string(bar.description), rank,   bar.total, bar.has_loss,
              name_of(bar.description),     nullptr};
  name_by_epoch(found.name, bar);
  BarRole& role = found.name.role;
  if (role == BarRole::other && bar.has_loss) role = BarRole::unnamed;
  if (role != BarRole::outer && role != BarRole::other) {
    std::string key = std::to_string(rank) + '|' + found.name.key;
    if (role == BarRole::unnamed) key += '|' + std::to_string(bar.total);
    if (tracks_.contains(key) || tracks_.size() < kMaxTracks) found.track = &tracks_[key];
  }
  known_ = std::move(found);
  return *known_;
}

// "Epoch 2/3" is the last one where they are counted from 0: where the log shows no first one, it
// may be.
bool TqdmParser::of_last_epoch(const BarName& name) {
  if (name.epochs <= 0) return true;
  if (first_epoch_ < 0 || name.epoch < first_epoch_) first_epoch_ = name.epoch;
  return name.epoch >= name.epochs - (first_epoch_ == 1 ? 0 : 1);
}

void TqdmParser::see_bar(const TqdmBar& bar, const Line& line, RunBuilder& out) {
  const Known& known = known_for(bar, line.rank);
  const BarRole role = known.name.role;
  // Examples without a name are those that a data set is made of, unless they have a loss.
  if (role == BarRole::unnamed && bar.counts_examples && !bar.has_loss) return;
  if (role == BarRole::outer || known.name.counts_epochs(bar.done, bar.total)) {
    outer_ = {bar.done, bar.total, bar.elapsed_s, bar.seconds_per_iteration, true};
    return;
  }
  if (role == BarRole::other || known.track == nullptr) return unnamed_.see_other(bar, line.number);
  Track& track = *known.track;
  track.first_step |= takes_first_step(bar, line.text);
  if (start_over(known, bar, out)) return;
  if (role == BarRole::unnamed && track.draft == nullptr) {
    if (unnamed_.full()) return;
    settle_closing(line.number);
  }
  const bool fresh = !track.progressed && track.created > 0;
  track.progressed = true;
  track.epoch = known.name.epoch;
  track.of_epochs &= track.epoch >= 0 && std::abs(bar.done - track.epoch) <= 1;
  if (bar.done > track.done) track.moved_at = line.number;
  track.only_ends &= bar.done == bar.total;
  track.outer_at_end = outer_.done;
  track.done = bar.done;
  track.elapsed_s = std::max(track.elapsed_s, bar.elapsed_s);
  track.rate = bar.rate;
  track.total = bar.total;
  RunDraft& draft = draft_for(track, role, bar, line, out);
  leaps_.see(fresh, bar, &draft, line.number, track.first);
  Sample sample;
  sample.step = track.base + bar.done;
  // A batch must not multiply a counter of examples: it has no clock.
  if (!bar.counts_examples) sample.time_s = track.base_s + bar.elapsed_s;
  if (bar.has_loss && !track.looked) {  // the first redraws have no postfix
    track.looked = true;
    const bool lightning = role == BarRole::training && of_lightning_1(bar, line);
    lightning1_ |= lightning;
    // The redraw at 0 may be lost: then the elapsed time fits one more only.
    const auto fits = [&](double done) { return std::floor(done / bar.rate) == bar.elapsed_s; };
    const auto done = static_cast<double>(bar.done);
    track.one_ahead |= lightning && fits(done + 1) && !fits(done);
  }
  sample.rate = bar.rate;
  if (track.one_ahead) {
    const auto done = static_cast<double>(bar.done);
    sample.rate *= done / (done + 1);
  }
  if (!bar.counts_examples && !bar.rounded) {
    sample.bar_s = track.times.see(bar.done, sample.rate, bar.elapsed_s);
    for (float& s : sample.bar_s) s += static_cast<float>(track.base_s);
  }
  if (bar.has_loss) sample.loss = bar.loss;
  sample.line = line.number;
  sample.end_byte = line.end_byte;
  sample.rank = line.rank;
  units_.see(bar, line.rank, draft);
  draft.add(sample);
  if (role == BarRole::unnamed) decided_ = unnamed_.update(draft, bar, line.number);
  draft.ended_well = bar.total > 0 && bar.done == bar.total &&
                     (draft.log.kind != WorkKind::training || of_last_epoch(known.name));
  if (draft.log.kind == WorkKind::training) newest_ = &draft;
}

// What was stated before a new bar is about the run that was drawn since the statement before.
void TqdmParser::settle_closing(std::int64_t line) {
  RunDraft* run = named_training_ ? nullptr : unnamed_.longest_since(settled_at_);
  if (run == nullptr || !closing_.said_for(*run)) return;
  closing_.give_to(*run);
  settled_at_ = line - 1;
}

// The Trainer states a second runtime, and of the first run's bars, or of the next one's, only ends
// are kept: what was stated is about the longest bar so far, and redraws are of other bars now.
void TqdmParser::end_session(std::int64_t line) {
  RunDraft* run = named_training_ ? nullptr : unnamed_.longest_since(settled_at_);
  if (run == nullptr) return;
  closing_.give_to(*run);
  settled_at_ = line - 1;
  given_ = run;
  for (auto& [key, track] : tracks_) {
    if (track.draft != nullptr && unnamed_.holds(*track.draft)) track = Track{};
  }
}

// "Epoch 0: 1/3", "Epoch 1: 2/3": the bar around loops whose bars have no name, or a poor one.
void TqdmParser::discard_epochs() {
  RunDraft* epochs = nullptr;
  for (const auto& [key, track] : tracks_) {
    if (track.draft == nullptr || track.draft->log.kind != WorkKind::training) continue;
    if (unnamed_.holds(*track.draft)) continue;
    if (!track.of_epochs || track.done < 2) return;
    epochs = track.draft;
  }
  if (epochs == nullptr) return;
  epochs->discard = true;
  named_training_ = false;
}

void TqdmParser::finish(RunBuilder& out) {
  discard_epochs();
  settle_closing(std::numeric_limits<std::int64_t>::max());
  constexpr std::int64_t kFewTimers = 2;  // a clock needs two
  const bool progress = progress_lines_ && timer_lines_ < kFewTimers;
  if (epoch_.run != nullptr && timer_lines_ >= kFewTimers) {
    epoch_.run->discard = true;
    named_training_ = false;
  }
  RunDraft* chosen = unnamed_.choose(trainer_evidence_ || progress, named_training_, out);
  if (chosen != nullptr && progress) {  // it counts what its data loader gives
    chosen->log.iteration_unit = IterationUnit::micro_step;
    chosen->log.planned.reset();  // which is more than the steps that are asked for
  }
  if (chosen != nullptr) newest_ = chosen;
  // A bar that was no training may have drawn last: the statements are of the one that was.
  if (newest_ != nullptr && newest_->discard) newest_ = out.open(WorkKind::training);
  if (newest_ != nullptr && newest_->discard) newest_ = nullptr;
  if (newest_ == nullptr) return;
  RunDraft& draft = *newest_;
  steps_.conclude(draft, out.facts);
  for (const auto& [key, track] : tracks_) {
    if (track.draft == &draft) fill_ends(track, draft);
  }
  if (lightning1_ && out.open(WorkKind::evaluation) != nullptr) {
    draft.log.notices.push_back(make_notice(NoticeCode::time_includes, 0,
                                            "the bar of Lightning before 2.0",
                                            "the batches of the validation"));
  }
  if (const Record* last = draft.last(); last != nullptr && !std::isnan(last->time_s)) {
    constexpr double kLongStep = 20, kFewSteps = 100;
    const auto steps = static_cast<double>(last->step);
    draft.log.totals.iterations = last->step;
    if (!trainer_evidence_ && steps <= kFewSteps && last->time_s >= kLongStep * steps) {
      draft.log.notices.push_back(make_notice(NoticeCode::bar_may_count_epochs, last->line,
                                              std::llround(last->time_s / steps)));
    }
  }
  draft.log.clock_resolution_s = 1 + clock_error_;
  if (outer_.seen && outer_.total > 0) {
    draft.ended_well = outer_.done == outer_.total;
    const double seconds = static_cast<double>(outer_.done) * outer_.seconds_per_iteration;
    // tqdm's last redraw shows the mean, others a smoothed rate: only the mean fits the elapsed
    // time. Of bars without a name one epoch's was taken.
    if (draft.ended_well && chosen == nullptr && std::floor(seconds) == outer_.elapsed_s)
      draft.log.totals.training_s = seconds;
  }
  if (&draft != given_) closing_.give_to(draft);
  leaps_.conclude();
  units_.conclude();
}

std::unique_ptr<LineParser> make() { return std::make_unique<TqdmParser>(); }

std::size_t redraw_end(const Line& line) {
  const std::uint32_t kinds = kinds_of(line);
  if ((kinds & kBars) == 0) return 0;
  thread_local std::vector<TqdmBar> bars;  // keeps its memory from line to line
  find_bars(line.text,
            {(kinds & kPerSecond) != 0, (kinds & kPerIteration) != 0, (kinds & ~kBars) != 0}, bars);
  return bars.empty() ? 0 : bars.back().end;
}

}  // namespace

extern const Format format_tqdm;
const Format format_tqdm = {
    "tqdm",
    "tqdm progress bars: NVIDIA BERT for PyTorch, Hugging Face Trainer, bert_train --log-style "
    "tqdm",
    "https://github.com/tqdm/tqdm (std.py, format_meter); NVIDIA DeepLearningExamples "
    "PyTorch/LanguageModeling/BERT",
    kAnchors,
    make,
    redraw_end};

}  // namespace bertbench
