// huggingface: what the Hugging Face Trainer says besides its bars.
//
//   {'loss': 1.6612, 'grad_norm': 0.56, 'learning_rate': 2.1e-06, 'epoch': 0.02}     console
//   {"loss": 1.6612, "learning_rate": 2.1e-06, "epoch": 0.02, "step": 50}     until 3.0
//   {'train_runtime': 273.0148, 'train_samples_per_second': 3.663, ...}     (quoted since 5.0)
//     train_runtime            = 0:14:31.66                                  table of log_metrics
//   "log_history": [ { "epoch": 0.22, "loss": 0.4605, "step": 100 }, ...     trainer_state.json
//   "train_samples_per_second": 979.773                     train_results.json, all_results.json
//   {"epoch": 3.0, "global_step": 30, "log_history": [{"loss": 0.46, "step": 10}, ... (one line)
//
// None of these lines has a clock, but where a script adds one (trainer_progress.h): the only rate
// is that of the whole run, start-up included. Where bars are drawn, the format tqdm gives more.
// Rates of evaluations stand apart.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "parsers/assemble/closing_lines.h"
#include "parsers/assemble/run_builder.h"
#include "parsers/assemble/trainer_banner.h"
#include "parsers/assemble/trainer_checks.h"
#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/formats/huggingface/notebook_bar.h"
#include "parsers/formats/huggingface/trainer_evaluations.h"
#include "parsers/formats/huggingface/trainer_files.h"
#include "parsers/formats/huggingface/trainer_progress.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {
    "{'loss':",
    "_runtime':",
    "train_runtime ",
    TrainerEvaluations::kAnchor,
    "train_steps_per_second ",
    "Total optimization steps = ",
    "Num Epochs = ",
    "Num examples = ",
    "Num update steps per epoch = ",
    "Total train batch size (w. parallel, distributed & accumulation) = ",
    "Continuing training from global step ",
    "Resuming training from checkpoint with epoch ",
    "***** Running training",
    TrainerBanner::kAnchor,
    TrainerBanner::kDone,
    NotebookBar::kAnchor,
    "\"log_history\": [",
    "\"loss\": ",
    "  \"step\": ",  // indented: not within a line of DLLogger or MLPerf
    "\"global_step\": ",
    "\"max_steps\": ",
    "_runtime\": ",
    "\"epoch\": ",
    "\"train_samples\": ",
    "\"train_steps_per_second\": "};

class HuggingfaceParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool see_console(const Line& line, RunBuilder& out);
  bool see_dict(const Line& line, RunBuilder& out);
  bool see_progress(const TrainerProgress& at, const Line& line, RunBuilder& out);
  bool see_total(const Line& line);
  void end_run(RunBuilder& out);
  [[nodiscard]] double steps_per_epoch() const;
  void see_end(const Line& line);
  void conclude(RunBuilder& out);
  void conclude_console(RunDraft& draft);
  RunDraft& run(const Line& line, RunBuilder& out);

  ClosingLines closing_;
  std::optional<NotebookBar> bar_;
  TrainerBanner banner_;
  std::optional<double> epochs_, steps_, per_epoch_, examples_, batch_, resumed_at_;
  struct Session {
    double done = 0, slack = 0, planned = 0, runtime = 0, steps_rate = 0;
    bool resumed = false;
  };
  std::optional<Session> session_;  ///< of the closing dict
  std::string last_dict_;
  std::int64_t dicts_ = 0;
  bool by_epoch_ = true;  ///< every dict's step followed from its epoch
  TrainerFiles files_;
  TrainerEvaluations evaluations_;
  EvaluationsBetween between_;
  double elapsed_s_ = 0;  ///< of the newest step that states it
};

RunDraft& HuggingfaceParser::run(const Line& line, RunBuilder& out) {
  RunDraft& draft = out.run(WorkKind::training, line.number);
  draft.last_line = line.number;
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  return draft;
}

bool HuggingfaceParser::parse(const Line& line, RunBuilder& out) {
  const std::string_view text = trim(line.text);
  if (const auto bar = NotebookBar::read(line)) {
    if (bar_ && !bar->goes_on_from(*bar_)) end_run(out);
    bar_ = bar;
    run(line, out);
    return true;
  }
  if (text.starts_with("{\"")) {
    const auto at = TrainerProgress::read(line);
    // ms-swift adds its keys to an evaluation and to the closing line as well.
    if (at && (at->loss || text.starts_with("{\"current_steps")))
      return see_progress(*at, line, out);
    between_.see(line);
  }
  if (text.starts_with('{') ? text.starts_with("{\"") : files_.goes_on(line)) {
    return files_.see_compact(line, evaluations_, out);
  }
  if (!text.starts_with('"')) return see_console(line, out);
  Line member = line;
  member.text = text;
  member.literals = {};
  return files_.see_member(member, evaluations_, out);
}

void HuggingfaceParser::end_run(RunBuilder& out) {
  RunDraft* open = out.open(WorkKind::training);
  if (open == nullptr) return;
  closing_.give_to(*open);
  conclude_console(*open);
  out.close(WorkKind::training);
}

// Totals that the Trainer prints when it begins.
bool HuggingfaceParser::see_total(const Line& line) {
  const auto take = [&](std::string_view key, std::optional<double>& total) {
    if (line.text.find(key) == std::string_view::npos) return false;
    if (!total) total = trainer_total(line, key);  // evaluations print their examples as well
    return true;
  };
  if (line.text.find("Resuming training from checkpoint with epoch ") != std::string_view::npos) {
    resumed_at_ = trainer_total(line, " and global step ");
    return true;
  }
  return take("Num Epochs = ", epochs_) || take("Total optimization steps = ", steps_) ||
         take("Num examples = ", examples_) || take("Num update steps per epoch = ", per_epoch_) ||
         take("Total train batch size (w. parallel, distributed & accumulation) = ", batch_) ||
         take("Continuing training from global step ", resumed_at_);
}

// With --max_steps the last epoch is not a whole one, and the number of epochs is rounded up.
double HuggingfaceParser::steps_per_epoch() const {
  if (per_epoch_ && *per_epoch_ >= 1) return *per_epoch_;
  const double whole = *steps_ / *epochs_;
  if (!examples_ || !batch_ || !(*batch_ >= 1) || !(*examples_ >= 1)) return whole;
  const double by_examples = *examples_ / *batch_;
  return std::abs(whole - by_examples) > 1 ? by_examples : whole;
}

// The epoch says which step it is, where the log has both totals; else dicts are counted.
bool HuggingfaceParser::see_dict(const Line& line, RunBuilder& out) {
  const auto loss = number_after(line, "{'loss':");
  if (!loss) return false;
  if (const auto at = TrainerProgress::read(line)) return see_progress(*at, line, out);
  if (line.text == last_dict_) return true;  // each process prints it
  last_dict_ = std::string(line.text);
  const auto epoch = number_after(line, "'epoch':");
  Sample sample;
  sample.line = line.number;
  sample.end_byte = line.end_byte;
  sample.rank = line.rank;
  sample.loss = *loss;
  sample.step = ++dicts_;
  // A stream of data has no end: the Trainer then prints 2^63 - 1 epochs.
  const bool known = epoch && epochs_ && steps_ && *epochs_ > 0 && *epochs_ < 1e9 &&
                     *steps_ < 1e12 && *epoch >= 0 && *epoch <= *epochs_;
  if (known && by_epoch_) {
    const double at = std::min(*epoch * steps_per_epoch(), *steps_);
    sample.step = std::max<std::int64_t>(1, std::llround(at));
  } else {
    by_epoch_ = false;
  }
  RunDraft* open = out.open(WorkKind::training);
  if (open != nullptr && closing_.said_for(*open)) {
    end_run(out);
    if (!by_epoch_) sample.step = dicts_ = 1;
  }
  run(line, out);
  out.add(WorkKind::training, sample);
  return true;
}

bool HuggingfaceParser::see_progress(const TrainerProgress& at, const Line& line, RunBuilder& out) {
  if (line.text == last_dict_) return true;  // each process prints it
  last_dict_ = std::string(line.text);
  RunDraft* open = out.open(WorkKind::training);
  constexpr double kApart_s = 5;  // of processes that print the same step
  const bool after = open != nullptr && open->last() != nullptr &&
                     (at.step < open->last()->step || at.elapsed_s < elapsed_s_ - kApart_s);
  if (open != nullptr && (after || closing_.said_for(*open))) end_run(out);
  RunDraft& draft = run(line, out);
  draft.log.planned = at.planned;
  draft.ended_well = at.step == at.planned;
  if (!at.loss) {
    between_.see(line);
    return true;
  }
  between_.step();
  elapsed_s_ = at.elapsed_s;
  Sample sample;
  sample.step = at.step;
  sample.time_s = at.elapsed_s;
  sample.loss = at.loss;
  sample.line = line.number;
  sample.end_byte = line.end_byte;
  sample.rank = line.rank;
  draft.log.clock_is_wall = true;  // does not stop between the lines
  draft.log.clock_resolution_s = std::fmax(draft.log.clock_resolution_s, at.resolution_s);
  out.add(WorkKind::training, sample);
  return true;
}

/// "Epoch 9: {'loss': 3.19}": a loop that counts before its dictionary and has none of the
/// Trainer's other keys.
bool counts_before_dict(std::string_view text) {
  const std::string_view before = text.substr(0, text.find("{'loss':"));
  const auto has = [](std::string_view in, std::string_view word) {
    return in.find(word) != std::string_view::npos;
  };
  return (has(before, "poch ") || has(before, "tep ") || has(before, "teration ")) &&
         !has(text, "'epoch':") && !has(text, "'learning_rate':");
}

bool HuggingfaceParser::see_console(const Line& line, RunBuilder& out) {
  if (line.text.find("{'loss':") != std::string_view::npos) {
    if (counts_before_dict(line.text)) return false;
    // tf-models prints the statistics of its run like that.
    return line.text.find("'step_timestamp_log'") == std::string_view::npos &&
           line.text.find("steps_per_second: ") == std::string_view::npos && see_dict(line, out);
  }
  if (line.text.find("***** Running training") != std::string_view::npos) {
    epochs_ = steps_ = per_epoch_ = examples_ = batch_ = resumed_at_ = std::nullopt;
    by_epoch_ = true;
    dicts_ = 0;
    return false;  // NVIDIA's scripts say so as well
  }
  if (banner_.see(line)) return true;
  if (see_total(line)) return false;
  // Trainings without a loss between their statements.
  if (closing_.unlike(line)) end_run(out);
  if (line.text.find("'train_runtime':") != std::string_view::npos) see_end(line);
  const bool evaluated = evaluations_.see(line, out);
  if (evaluated) between_.see(line);
  if (!closing_.see(line)) return evaluated;
  run(line, out);
  return true;
}

// The next run's totals may follow before this one is concluded.
void HuggingfaceParser::see_end(const Line& line) {
  const auto epoch = number_after(line, "'epoch':");
  const auto runtime = number_after(line, "'train_runtime':");
  const auto steps_rate = number_after(line, "'train_steps_per_second':");
  const bool known =
      epoch && runtime && steps_rate && epochs_ && steps_ && *epochs_ > 0 && *epochs_ < 1e9;
  if (!known) return;
  const double per_epoch = steps_per_epoch();
  session_ = {*epoch * per_epoch - resumed_at_.value_or(0),
              0.006 * per_epoch,
              *steps_,
              *runtime,
              *steps_rate,
              resumed_at_.has_value()};
}

void HuggingfaceParser::conclude_console(RunDraft& draft) {
  if (bar_) bar_->give_to(draft);
  bar_.reset();
  between_.conclude(draft);
  if (!session_) return;
  mend_planned_rate(session_->done, session_->slack, session_->planned, session_->runtime,
                    session_->steps_rate, draft);
  // The runtime is this session's, the steps are counted from the run's beginning.
  if (session_->resumed && session_->done >= 1 && session_->done <= session_->planned &&
      session_->slack <= 0.01 * session_->done && session_->done < 1e15) {
    draft.log.totals.iterations = std::llround(session_->done);
  }
  session_.reset();
}

void HuggingfaceParser::finish(RunBuilder& out) {
  out.facts.framework.set(banner_.of_other() ? "paddle" : "pytorch", FactSource::log);
  conclude(out);
  banner_.conclude(out);
}

void HuggingfaceParser::conclude(RunBuilder& out) {
  RunDraft* draft = out.open(WorkKind::training);
  if (draft == nullptr) return;
  closing_.give_to(*draft);
  conclude_console(*draft);
  files_.conclude(*draft);
  // "train_batch_size" of trainer_state.json is of one process and of one micro-step.
  draft->own_facts = files_.history();
  const Record* last = draft->last();
  const bool clock = last != nullptr && !(std::isnan(last->seconds) && std::isnan(last->time_s));
  if (files_.history() || (last != nullptr && !clock)) {
    draft->log.notices.push_back(make_notice(NoticeCode::no_step_times, 0));
  }
  if (!by_epoch_) {
    draft->log.iteration_unit = IterationUnit::unknown;
    draft->log.notices.push_back(make_notice(NoticeCode::steps_counted, 0));
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<HuggingfaceParser>(); }

}  // namespace

extern const Format format_huggingface;
const Format format_huggingface = {
    "huggingface",
    "Hugging Face Trainer: console dicts and table, trainer_state.json, train_results.json",
    "https://github.com/huggingface/transformers src/transformers/trainer_callback.py, "
    "trainer_utils.py (speed_metrics)",
    kAnchors, make};

}  // namespace bertbench
