#include "parsers/formats/tqdm/unnamed_bars.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace bertbench {
namespace {

// Moves to the first bar what was stated about its copy.
void inherit(RunDraft& first, const RunDraft& copy) {
  Totals& totals = first.log.totals;
  const Totals& stated = copy.log.totals;
  if (!stated.training_s && !stated.wall_s && !copy.log.summary) return;
  if (!first.log.summary) first.log.summary = copy.log.summary;
  if (!totals.training_s) totals.training_s = stated.training_s;
  if (!totals.wall_s) totals.wall_s = stated.wall_s;
  first.ended_well = first.ended_well || copy.ended_well;
  const auto& notices = copy.log.notices;
  first.log.notices.insert(first.log.notices.end(), notices.begin(), notices.end());
}

void count_epochs(RunDraft& draft) {
  draft.log.iteration_unit = IterationUnit::epoch;
  draft.log.note(NoticeCode::iterations_are_epochs, 0);
}

}  // namespace

void RepeatedRedraws::see(const TqdmBar& bar) {
  if (!undecided()) return;
  const bool same = bar.done == done_ && bar.elapsed_s == elapsed_s_ && bar.rate == rate_;
  done_ = bar.done;
  elapsed_s_ = bar.elapsed_s;
  rate_ = bar.rate;
  if (!same) {
    copies_ = 0;
    return;
  }
  // tqdm draws any bar twice when it is closed.
  if (bar.done <= 0 || bar.done >= bar.total) return;
  if (++copies_ > 1) {  // ranks that draw it together
    refuted_ = true;
    return;
  }
  if (bar.done == at_) return;
  const std::int64_t apart = bar.done - at_;
  if (times_ == 0) {
    times_ = 1;
  } else if (times_ == 1) {
    every_ = apart;
    times_ = 2;
    refuted_ = every_ < 2 || at_ % every_ != 0;
  } else {
    refuted_ = apart != every_;
    ++times_;
  }
  at_ = bar.done;
}

bool takes_first_step(const TqdmBar& bar, std::string_view text) {
  // transformers' fast tokenizers, its models under gradient checkpointing, its count of FLOPs, and
  // apex.amp; files of PyTorch and transformers that warn.
  constexpr std::string_view kRemarks[] = {
      "You're using a ",  // "... BertTokenizerFast tokenizer. Please note that ..."
      "`use_cache=True` is incompatible with ", "Could not estimate the number of tokens of ",
      "Gradient overflow."};
  constexpr std::string_view kFiles[] = {"torch/utils/checkpoint.py:", "torch/optim/",
                                         "optimization.py:"};
  constexpr std::size_t kTextAfterABar = 300;  // bytes: the path of the file that warns
  if (bar.done != 0 || bar.end >= text.size()) return false;
  const std::string_view after_bar = text.substr(bar.end, kTextAfterABar);
  return std::ranges::any_of(kRemarks, [&](auto what) { return after_bar.starts_with(what); }) ||
         std::ranges::any_of(kFiles,
                             [&](auto file) { return after_bar.find(file) != after_bar.npos; });
}

void UnnamedBars::add(RunDraft& draft, const TqdmBar& bar, std::int64_t line, bool first_step,
                      bool values) {
  if (full()) return;
  bars_.push_back({.draft = &draft,
                   .total = bar.total,
                   .has_loss = bar.has_loss,
                   .line = line,
                   .first_step = first_step,
                   .values = values,
                   .announced = std::exchange(announced_, false),
                   .drawn_once = bar.drawn_once});
}

bool UnnamedBars::holds(const RunDraft& draft) const {
  return std::ranges::any_of(bars_, [&](const Bar& bar) { return bar.draft == &draft; });
}

bool UnnamedBars::update(const RunDraft& draft, const TqdmBar& bar, double elapsed_s,
                         std::int64_t line) {
  if (line != bar_line_) ++lines_of_bars_;
  bar_line_ = line;
  // A bar that has ended shows its mean rate, and so its time below whole seconds.
  const double by_rate = static_cast<double>(bar.done) / bar.rate;
  if (bar.done == bar.total && std::floor(by_rate) == elapsed_s) elapsed_s = by_rate;
  for (auto it = bars_.rbegin(); it != bars_.rend(); ++it) {
    if (it->draft != &draft) continue;
    it->elapsed_s = std::max(it->elapsed_s, elapsed_s);
    it->has_loss |= bar.has_loss;
    newest_ = static_cast<std::size_t>(bars_.rend() - it) - 1;
    if (loss_line_ && bar.done != it->done) {  // tqdm.write() draws the bar again as it stood
      take_count(*it, *loss_line_, it->done - 1, bar.done + 1);
      loss_line_.reset();
    }
    it->done = bar.done;
    it->written.see(bar);
    return !it->written.undecided();
  }
  return true;
}

void UnnamedBars::note_epoch_result(bool loss, std::int64_t epochs, std::int64_t line) {
  // Lines: a blank one, a rule, scores, "saved"; the loop of corpus
  // pytorch-plain/kaggle_deberta_elapsed_remain.log prints its steps, more than these.
  constexpr std::int64_t kOtherLines = 8;
  if (epochs > 0) epochs_ = epochs;
  const auto since = std::span(bars_).subspan(before_result_);
  const std::int64_t others = line - result_line_ - lines_of_bars_ - 1;
  before_result_ = bars_.size();
  result_line_ = line;
  lines_of_bars_ = 0;
  if (!loss || since.empty() || others > kOtherLines) return;
  std::ranges::max_element(since, {}, &Bar::elapsed_s)->of_epoch = true;
}

bool UnnamedBars::take_count(Bar& bar, const LossLine& line, std::int64_t from, std::int64_t to) {
  const auto number = std::ranges::find_if(line.numbers, [&](std::int64_t n) {
    return n >= from && n <= to && n > bar.counted && n <= bar.total;
  });
  if (number == line.numbers.end()) return false;
  bar.counted = *number;
  bar.counts_epochs = line.epochs && number == line.numbers.begin();
  ++bar.counts;
  return true;
}

// A loop of few steps a second prints between two redraws, a fast one many steps after the newest.
void UnnamedBars::note_loss_line(const LossLine& line) {
  if (newest_ >= bars_.size()) return;
  Bar& bar = bars_[newest_];
  loss_line_.reset();
  if (!take_count(bar, line, bar.done - 1, bar.done + 1)) loss_line_ = line;
}

void UnnamedBars::note_loss() {
  if (newest_ >= bars_.size()) return;
  Bar& bar = bars_[newest_];
  if (bar.done <= bar.loss_at || bar.done >= bar.total) return;
  bar.loss_at = bar.done;
  ++bar.losses;
}

template <class Is>
UnnamedBars::Bar* UnnamedBars::longest_of(const std::vector<Bar*>& left, Is is) {
  Bar* longest = nullptr;
  for (Bar* bar : left) {
    if (!is(*bar)) continue;
    if (longest == nullptr || bar->elapsed_s > longest->elapsed_s) longest = bar;
  }
  return longest;
}

UnnamedBars::Bar* UnnamedBars::counted_by_lines(const std::vector<Bar*>& left) {
  constexpr std::int64_t kCounts = 3;  // lines: two numbers may agree by chance
  Bar* longest = longest_of(left, [](const Bar& bar) { return bar.counts >= kCounts; });
  if (longest != nullptr && longest->counts_epochs) count_epochs(*longest->draft);
  return longest;
}

void UnnamedBars::note_agent(std::int64_t step) {
  if (step == agent_step_) return;
  agent_times_ = step > agent_step_ ? agent_times_ + 1 : 1;
  agent_step_ = step;
}

void UnnamedBars::note_other(const TqdmBar& bar, std::int64_t line) {
  if (!(bar.elapsed_s > longest_other_.elapsed_s)) return;
  longest_other_.elapsed_s = bar.elapsed_s;
  longest_other_.line = line;
  if (longest_other_.name != bar.description) longest_other_.name = bar.description;
}

RunDraft* UnnamedBars::longest_since(std::int64_t line) const {
  const Bar* longest = nullptr;
  for (const Bar& bar : bars_) {
    if (bar.line <= line) continue;
    if (longest == nullptr || bar.elapsed_s > longest->elapsed_s) longest = &bar;
  }
  return longest != nullptr ? longest->draft : nullptr;
}

// Ranks without labels, whose output was written one after the other (corpus
// huggingface/bigscience_hf_ds_base_n16.log): the same counters at the same seconds. Only the first
// copy stays. Bars of a few seconds may be alike by chance.
void UnnamedBars::discard_copies() {
  constexpr double kShortestCopy_s = 10;
  for (std::size_t i = 0; i < bars_.size(); ++i) {
    RunDraft& first = *bars_[i].draft;
    if (first.discard || bars_[i].elapsed_s < kShortestCopy_s) continue;
    std::int64_t copies = 0;
    for (std::size_t k = i + 1; k < bars_.size(); ++k) {
      RunDraft& other = *bars_[k].draft;
      if (other.discard || bars_[k].total != bars_[i].total) continue;
      const bool same = std::ranges::equal(
          first.records(), other.records(), [](const Record& a, const Record& b) {
            return a.step == b.step && std::abs(a.time_s - b.time_s) <= 1;
          });
      if (!same) continue;
      other.discard = true;
      inherit(first, other);
      ++copies;
      first.last_line = std::max(first.last_line, other.last_line);
    }
    if (copies > 0) first.log.note(NoticeCode::bars_of_ranks, 0, copies + 1);
  }
}

// A log whose only long bar has a name of its own ("SFT", "Distil") may be that of a training
// (quoted/tqdm.says_that_a_long_bar_of_another_name_was_not_taken).
void UnnamedBars::report_other(RunBuilder& out) const {
  constexpr double kEvidenceSeconds = 30;  // a shorter bar may be of any loop
  constexpr std::size_t kShownBytes = 60;  // bytes of the notice
  if (longest_other_.elapsed_s < kEvidenceSeconds || !out.drafts().empty()) return;
  const std::int64_t line = longest_other_.line;
  out.extra(WorkKind::training, line)
      .log.note(NoticeCode::no_bar_of_training, line, longest_other_.name.substr(0, kShownBytes));
}

// A bar without a name is any loop (tokenizing, downloading) until some line shows a training
// (quoted/tqdm.takes_a_loop_without_a_name_for_training_only_on_evidence).
UnnamedBars::Bar* UnnamedBars::written_over(const std::vector<Bar*>& left) {
  Bar* written = longest_of(left, [](const Bar& bar) { return bar.written.every() > 0; });
  if (written == nullptr) return nullptr;
  written->draft->log.note(NoticeCode::unnamed_bar_written_over, written->line,
                           written->written.every());
  return written;
}

// Before the first such line a bar of the data may be the longest, 5000 steps before 60 a time
// (quoted/tqdm.a_bar_before_the_loss_of_its_epoch); of a training there are more.
UnnamedBars::Bar* UnnamedBars::of_epochs(const std::vector<Bar*>& left) const {
  Bar* longest = longest_of(left, [&](const Bar& bar) {
    if (!bar.of_epoch) return false;
    std::size_t like = 0;
    for (std::size_t i = 0; i < bars_.size(); ++i) {
      const bool of_epoch = bars_[i].of_epoch || i >= before_result_;
      like += of_epoch && bars_[i].total == bar.total ? 1 : 0;
    }
    return like >= 2 || left.size() == 1;
  });
  if (longest == nullptr) return nullptr;
  const Bar* newest = nullptr;
  std::vector<Bar*> epochs;  // the longest of them is the slowest
  for (Bar* bar : left) {
    if (bar->total != longest->total) continue;
    newest = bar;
    if (bar->of_epoch) epochs.push_back(bar);
  }
  const auto middle = epochs.begin() + static_cast<std::ptrdiff_t>(epochs.size() / 2);
  std::ranges::nth_element(epochs, middle, {}, &Bar::elapsed_s);
  longest = *middle;
  longest->draft->ended_well = newest->draft->ended_well;
  longest->draft->last_line = newest->draft->last_line;
  return longest;
}

// The bar may come after all the lines: standard error after a file of standard output
// (quoted/tqdm.a_bar_of_the_epochs_of_the_lines).
UnnamedBars::Bar* UnnamedBars::counts_epochs(const std::vector<Bar*>& left) const {
  const auto bar = std::ranges::find_if(
      left, [&](const Bar* one) { return epochs_ > 1 && one->total == epochs_; });
  if (bar == left.end()) return nullptr;
  count_epochs(*(*bar)->draft);
  return *bar;
}

// A process writes such a remark once, so of several trainings only the first has the sign (.8 of
// the logs in the header). A longer bar without it is another training, or, where the one with it
// never ended, an evaluation in which the log was cut (.7).
UnnamedBars::Bar* UnnamedBars::by_first_step(const std::vector<Bar*>& left, const Bar& longest) {
  Bar* found = longest_of(left, [](const Bar& bar) { return bar.first_step; });
  if (found == nullptr || found == &longest) return found;
  const Record* last = found->draft->last();
  const bool ended = last == nullptr || last->step >= found->total;
  return ended || longest.line < found->line ? nullptr : found;
}

void UnnamedBars::report_first_step(const Bar& first, bool other) {
  first.draft->log.note(NoticeCode::unnamed_bar_before_first_step, first.line,
                        other ? "; a longer one began before it ended, as an evaluation does" : "");
}

void UnnamedBars::report_none(const Bar& first, const Bar& newest, RunBuilder& out) {
  for (const auto& draft : out.drafts()) {
    if (!draft->discard) return;
  }
  RunDraft& run = out.extra(WorkKind::training, first.line);
  run.log.note(NoticeCode::no_unnamed_bar_taken, first.line);
  // Whatever loop the newest bar is of, it was not done: the tail of a fine-tuning's standard error
  // at 58190/125000.
  const Record* last = newest.draft->last();
  if (last == nullptr || last->step >= newest.total) return;
  run.last_line = last->line;
  run.stated_outcome = Outcome{Status::truncated,
                               std::nullopt,
                               last->line,
                               {make_notice(NoticeCode::no_closing_statement, 0)}};
}

RunDraft* UnnamedBars::choose(bool trainer, bool named, RunBuilder& out) {
  discard_copies();
  std::vector<Bar*> left;
  for (Bar& bar : bars_) {
    if (!bar.draft->discard) left.push_back(&bar);
  }
  if (left.empty()) {
    report_other(out);
    return nullptr;
  }
  for (const Bar* bar : left) bar->draft->discard = true;  // whichever is none of training
  if (named) return nullptr;
  Bar* longest = *std::ranges::max_element(
      left, {}, [](const Bar* bar) { return std::pair(bar->elapsed_s, bar->draft->count()); });
  bool sure = trainer || longest->has_loss, reported = false;
  const auto take = [&](Bar* bar) {
    if (bar == nullptr) return;
    longest = bar;
    sure = true;
  };
  const Bar* of_one_epoch = nullptr;  // its end may not be that of the training
  if (Bar* first = by_first_step(left, *longest)) {
    const bool other = first != longest;
    reported = other || !sure;
    if (reported) report_first_step(*first, other);
    take(first);
  }
  if (!sure) {
    Bar* bar = of_epochs(left);
    of_one_epoch = bar;
    take(bar == nullptr || bar->total == epochs_ ? counts_epochs(left) : bar);
  }
  if (!sure) take(counted_by_lines(left));
  if (!sure) take(written_over(left));
  // A sweep measures a training, and who makes an optimizer trains: a log with one loop of bars has
  // no other.
  const bool one_loop =
      std::ranges::all_of(left, [&](const Bar* bar) { return bar->total == longest->total; });
  const bool measured = out.of_training && one_loop, optimizer = optimizer_ && one_loop;
  // What an agent is trained for up to the end of a bar is what that counts.
  constexpr std::int64_t kAgentTimes = 2;  // lines: one alone may be of any loop
  const bool agent = one_loop && agent_times_ >= kAgentTimes && agent_step_ <= longest->total;
  // Loops over data or of one test have a bar of each length.
  const bool repeats = std::ranges::count(bars_, longest->total, &Bar::total) > 1;
  const bool torch7 = longest->drawn_once && repeats;
  const bool inner = within_epochs_ && repeats;
  const auto announced =
      std::ranges::find(left, true, [](const Bar* bar) { return bar->announced; });
  if (!sure && announced != left.end()) longest = *announced;
  constexpr std::int64_t kLosses = 3;  // places: a bar of data may have one before or after it
  const auto around = std::ranges::max_element(left, {}, &Bar::losses);
  const bool with_losses = (*around)->losses >= kLosses;
  if (!sure && !longest->announced && with_losses) longest = *around;
  const char* const why = out.asked_for        ? "this format was asked for"
                          : longest->announced ? "a line before it announces a training"
                          : longest->values    ? "its name is values that may be losses"
                          : with_losses        ? "lines with a loss are printed while it runs"
                          : optimizer          ? "the program made an optimizer"
                          : torch7             ? "a bar of torch7's, it comes again each epoch"
                          : inner              ? "it comes again within a bar of epochs"
                          : agent              ? "lines about an agent count its steps"
                          : measured           ? "a sweep measures this program"
                                               : nullptr;
  if (!sure && why == nullptr) {
    report_none(*left.front(), *left.back(), out);
    return nullptr;
  }
  if (!sure) {
    longest->draft->unproven = !out.asked_for && !longest->values && !longest->announced;
    longest->draft->log.note(NoticeCode::unproven_bar_taken, longest->line, left.size(), why);
  } else if (left.size() > 1 && !reported) {
    longest->draft->log.note(NoticeCode::longest_unnamed_bar_taken, longest->line, left.size());
  }
  RunDraft* chosen = nullptr;
  for (Bar* bar : left) {
    RunDraft& draft = *bar->draft;
    // The Trainer trains several times in one process (folds, seeds) with bars of equal length, or
    // states the runtime of each
    // (quoted/tqdm.gives_each_training_of_one_log_its_own_closing_statement).
    const bool again = bar->total == longest->total || draft.log.summary.has_value();
    if (bar != longest && !(trainer && again)) continue;
    draft.discard = false;
    if (trainer) draft.log.iteration_unit = IterationUnit::optimizer_step;
    const bool goes_on = bar == of_one_epoch && !draft.ended_well;
    const bool several_epochs = draft.last() != nullptr && draft.last()->step > bar->total;
    if (bar->total > 0 && !goes_on && !several_epochs) draft.log.planned = bar->total;
    chosen = &draft;
  }
  return chosen;
}

}  // namespace bertbench
