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
// None of these lines has a clock: the only rate is that of the whole run, start-up included. Where
// bars are drawn, the format tqdm tells more. Rates of evaluations stand apart.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "parsers/core/text.h"
#include "parsers/format.h"
#include "parsers/runs/closing_lines.h"
#include "parsers/runs/notebook_bar.h"
#include "parsers/runs/run_builder.h"
#include "parsers/runs/trainer_banner.h"
#include "parsers/runs/trainer_checks.h"
#include "parsers/runs/trainer_evaluations.h"
#include "parsers/text/cursor.h"

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
  bool see_json(const Line& line, RunBuilder& out);
  bool see_compact(const Line& line, RunBuilder& out);
  bool see_dict(const Line& line, RunBuilder& out);
  bool see_total(const Line& line);
  void end_run(RunBuilder& out);
  [[nodiscard]] double steps_per_epoch() const;
  void see_end(const Line& line);
  void conclude(RunBuilder& out);
  void conclude_console(RunDraft& draft);
  void conclude_json(RunDraft& draft);
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
  // JSON.
  bool history_ = false;
  std::int64_t compact_line_ = 0, dict_line_ = 0;  ///< of JSON that stands on one line
  std::optional<double> loss_, global_step_, max_steps_, runtime_, samples_rate_, steps_rate_;
  TrainerChecks checks_;
  TrainerEvaluations evaluations_;
  std::int64_t rate_line_ = 0;
  double entry_step_ = 0;  ///< of the newest entry of the history
  double session_ended_ = 0, session_began_ = 0;
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
  // An overlong line comes in parts, of which only the first has the opening brace.
  if (text.starts_with('{') ? text.starts_with("{\"") : line.number == compact_line_) {
    return see_compact(line, out);
  }
  return text.starts_with('"') ? see_json({text, line.number, line.terminator, line.rank}, out)
                               : see_console(line, out);
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
    if (!total) total = trainer_total(line, key);  // evaluations tell their examples as well
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

// The epoch says which step it is, where the log told both totals; else dicts are counted.
bool HuggingfaceParser::see_dict(const Line& line, RunBuilder& out) {
  const auto loss = number_after(line, "{'loss':");
  if (!loss) return false;
  if (line.text == last_dict_) return true;  // each process prints it
  last_dict_ = std::string(line.text);
  const auto epoch = number_after(line, "'epoch':");
  Sample sample;
  sample.line = line.number;
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

bool HuggingfaceParser::see_console(const Line& line, RunBuilder& out) {
  if (line.text.find("{'loss':") != std::string_view::npos) {
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
  if (!closing_.see(line)) return evaluated;
  run(line, out);
  return true;
}

// trainer_state.json and all_results.json without line breaks: member by member, as if each stood
// on a line.
bool HuggingfaceParser::see_compact(const Line& line, RunBuilder& out) {
  const bool state = line.text.find("\"log_history\": [") != std::string_view::npos;
  const bool results = line.text.find("_runtime\": ") != std::string_view::npos;
  const bool dict = line.number != compact_line_ && loss_of_line(line).has_value();
  if (!state && !results && !dict && line.number != compact_line_) return false;
  if (dict) dict_line_ = line.number;
  compact_line_ = line.number;
  bool known = false;
  for (auto colon = line.text.find("\": "); colon != std::string_view::npos;
       colon = line.text.find("\": ", colon + 3)) {
    const auto quote = colon == 0 ? std::string_view::npos : line.text.rfind('"', colon - 1);
    if (quote == std::string_view::npos || colon - quote > 64) continue;
    const auto comma = line.text.find_first_of(",}]", colon);
    const std::size_t end = comma == std::string_view::npos ? line.text.size() : comma + 1;
    Line member = line;
    member.text = line.text.substr(quote, end - quote);
    member.terminator = comma == std::string_view::npos ? line.terminator : '\n';
    known |= see_json(member, out);
  }
  return known;
}

// Keys stand in the order of the alphabet: a loss comes before its step.
bool HuggingfaceParser::see_json(const Line& line, RunBuilder& out) {
  const auto is = [&](std::string_view key) { return line.text.starts_with(key); };
  if (is("\"log_history\": [")) {
    history_ = true;
    run(line, out);
    return true;
  }
  if (const bool done = is("\"global_step\": "); done || is("\"max_steps\": ")) {
    (done ? global_step_ : max_steps_) = number_after(line, "\":");
    return false;
  }
  if (is("\"train_runtime\": ")) {
    if (runtime_) session_began_ = session_ended_;  // an earlier session's stands in the history
    checks_.end_session(history_);
    session_ended_ = entry_step_;
    runtime_ = number_after(line, "\"train_runtime\":");
    if (runtime_) run(line, out);
    return runtime_.has_value();
  }
  if (evaluations_.see(line, out)) return true;
  if (checks_.see_member(line)) return false;
  if (is("\"train_samples_per_second\": ")) {
    samples_rate_ = number_after(line, "\"train_samples_per_second\":");
    rate_line_ = line.number;
    if (samples_rate_) run(line, out);
    return samples_rate_.has_value();
  }
  if (is("\"train_steps_per_second\": ")) {
    steps_rate_ = number_after(line, "\"train_steps_per_second\":");
    return steps_rate_.has_value();
  }
  if (!history_ && line.number != dict_line_) return false;
  if (is("\"loss\": ")) {
    loss_ = number_after(line, "\"loss\":");
    // Python writes NaN and Infinity in letters that no number reader of ours takes.
    if (!loss_ && line.text.find("NaN") != std::string_view::npos) loss_ = kUnknown;
    return loss_.has_value();
  }
  if (!is("\"step\": ")) return false;
  const auto step = number_after(line, "\"step\":");
  entry_step_ = step.value_or(0);
  if (step && loss_ && *step >= 0 && *step < 1e15) {
    Sample sample;
    sample.step = static_cast<std::int64_t>(*step);
    sample.loss = loss_;
    sample.line = line.number;
    run(line, out);
    out.add(WorkKind::training, sample);
  }
  loss_.reset();
  return step.has_value();
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

void HuggingfaceParser::conclude_json(RunDraft& draft) {
  if (runtime_) {
    draft.log.totals.training_s = runtime_;
    draft.ended_well = true;
  }
  if (max_steps_ && *max_steps_ >= 1 && *max_steps_ < 1e15) {
    draft.planned = static_cast<std::int64_t>(*max_steps_);
    draft.ended_well = draft.ended_well || (global_step_ && *global_step_ >= *max_steps_);
  }
  if (!samples_rate_) return;
  const bool counts_steps = !steps_rate_;
  draft.log.summary = Stated{
      *samples_rate_,
      counts_steps ? RateUnit::iterations_per_second : RateUnit::sequences_per_second, rate_line_};
  if (!counts_steps) {
    if (runtime_) checks_.judge(*runtime_, draft);
    if (global_step_ && max_steps_ && runtime_) {
      mend_planned_rate(*global_step_ - session_began_, 0, *max_steps_, *runtime_, *steps_rate_,
                        draft);
    }
    if (draft.log.summary && draft.log.summary->value == *samples_rate_) {
      draft.log.notices.push_back(
          {rate_line_,
           "train_samples_per_second divides all planned steps by the runtime of the last session: "
           "it is too high if that began at a checkpoint, which this file does not tell"});
    }
    return;
  }
  const bool proved = global_step_ && runtime_ && *runtime_ > 0 &&
                      std::abs(*global_step_ / *runtime_ / *samples_rate_ - 1) < 1e-3;
  const std::string how =
      proved ? fmt::format("{:.0f} steps / {} s", *global_step_, shortest(*runtime_))
             : std::string("the global step over the runtime");
  draft.log.notices.push_back(
      {rate_line_,
       fmt::format("train_samples_per_second = {} is no rate of samples: this old release of "
                   "transformers divided steps ({}), and after a resume the runtime is that of the "
                   "last session only, while the steps are all",
                   shortest(*samples_rate_), how)});
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
  conclude_json(*draft);
  // "train_batch_size" of trainer_state.json is of one process and of one micro-step.
  draft->own_facts = history_;
  if (history_ || (draft->last() != nullptr && std::isnan(draft->last()->seconds))) {
    draft->log.notices.push_back(
        {0, "the Trainer's lines have no clock: step times cannot be had from them"});
  }
  if (!by_epoch_) {
    draft->log.iteration_unit = IterationUnit::unknown;
    draft->log.notices.push_back(
        {0, "the log does not tell the step of its losses: they are counted"});
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
