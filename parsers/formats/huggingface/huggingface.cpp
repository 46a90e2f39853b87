// huggingface: what the Hugging Face Trainer prints in addition to its bars.
//
//   {'loss': 1.6612, 'grad_norm': 0.56, 'learning_rate': 2.1e-06, 'epoch': 0.02}     console
//   {"loss": 1.6612, "learning_rate": 2.1e-06, "epoch": 0.02, "step": 50}     until 3.0
//   {'train_runtime': 273.0148, 'train_samples_per_second': 3.663, ...}     (quoted since 5.0)
//     train_runtime            = 0:14:31.66                                  table of log_metrics
//   "log_history": [ { "epoch": 0.22, "loss": 0.4605, "step": 100 }, ...     trainer_state.json
//   "train_samples_per_second": 979.773                     train_results.json, all_results.json
//   {"epoch": 3.0, "global_step": 30, "log_history": [{"loss": 0.46, "step": 10}, ... (one line)
//
// None of these lines has a clock, but where a script adds one (TrainerProgress): the only rate
// is that of the whole run, start-up included. Where bars are drawn, the format tqdm gives more.
// Rates of evaluations stand apart.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/assemble/closing_lines.h"
#include "parsers/assemble/trainer_banner.h"
#include "parsers/core/line.h"
#include "parsers/core/record.h"
#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/spelled_duration.h"

namespace bertbench::format_huggingface {
namespace {

enum Track { kTraining, kEvaluation, kInference, kCut };

constexpr double kMostSteps = 1e15;  ///< more is a damaged number

constexpr Begin kRuns[] = {
    {.track = kTraining, .unit = IterationUnit::optimizer_step},
    {.track = kEvaluation, .work = WorkKind::evaluation, .rate = RateUnit::sequences_per_second},
    {.track = kInference, .work = WorkKind::inference, .rate = RateUnit::sequences_per_second},
    {.track = kCut, .unit = IterationUnit::optimizer_step}};

// TrainerEvaluations: the rates of evaluation and prediction that the Hugging Face Trainer states.
//
//   {'eval_loss': 0.70, 'eval_runtime': 131.5, 'eval_samples_per_second': 2298.3, 'epoch': 1.0}
//     eval_samples_per_second  =   2298.333         table of log_metrics, which repeats a dict
//   "eval_samples_per_second": 133.354,             trainer_state.json, eval_results.json ...
//
// Each states samples/s of the job over its own runtime. Those of one training, epoch by epoch, are
// records of one run; one that trains nothing in between begins another.

// What stands before the anchor: "eval", "eval_mnli-mm", "test", "train".
std::string_view key_before(std::string_view text, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0 && text[begin - 1] != '\'' && text[begin - 1] != '"' && text[begin - 1] != ' ') {
    --begin;
  }
  return text.substr(begin, end - begin);
}

std::optional<Track> track_of(std::string_view key) {
  if (key.starts_with("eval")) return kEvaluation;
  if (key.starts_with("test") || key.starts_with("predict")) return kInference;
  return std::nullopt;
}

enum class Form { dict, json, table };

class TrainerEvaluations {
 public:
  /// True when the line states the rate of an evaluation (`eval_`, with or without the data set's
  /// name) or of a prediction (`test_`, `predict_`, of kind inference).
  bool see(const Line& line, Emit emit) {
    constexpr std::string_view kKey = "_samples_per_second";
    Cursor cursor(line);
    if (!cursor.skip_past(kKey)) return false;
    const std::string_view key = key_before(line.text, cursor.at() - kKey.size());
    const auto track = track_of(key);
    if (!track) return false;
    const Form form = cursor.literal("':")    ? Form::dict
                      : cursor.literal("\":") ? Form::json
                                              : Form::table;
    if (form == Form::table && !cursor.read(kBlanks, "=")) return false;
    cursor.blanks();
    cursor.literal("'");  // values are quoted since 5.0
    const auto rate = cursor.number();
    if (!rate || !(*rate > 0) || !(*rate < 1e12)) return false;

    const auto epoch = form == Form::dict ? number_after(line, "'epoch':") : std::nullopt;
    // The table rounds to three digits what the dict holds; each process prints its dict.
    const bool again =
        key == key_ && (form == Form::table
                            ? std::abs(*rate - rate_) <= 6e-4
                            : line.text == text_ ||
                                  (epoch && epoch == epoch_ && std::abs(*rate / rate_ - 1) < 0.05));
    if (again && form != Form::json) return true;
    const bool goes_on = form == Form::json || (epoch && epoch_ && *epoch >= *epoch_);
    std::int64_t& count = counts_[*track];
    if (form != Form::table && !goes_on) {
      emit(kRuns[*track]);
      count = 0;
    }
    key_ = key;
    text_ = line.text;
    rate_ = *rate;
    epoch_ = epoch;
    emit(Step{.track = *track, .step = ++count, .iterations = 1, .rate = *rate, .last = true});
    return true;
  }

 private:
  std::string key_, text_;  ///< of the newest
  double rate_ = 0;
  std::optional<double> epoch_;
  std::int64_t counts_[std::size(kRuns)] = {};  ///< in the open run of each track
};

// TrainerProgress: the step and the clock that scripts around the Hugging Face Trainer put into
// what it logs.
//
//   {'loss': 1.47, ..., 'global_step/max_steps': '5/94', 'elapsed_time': '1m 3s',
//    'remaining_time': '9m 36s', 'train_speed(iter/s)': 0.154297}          ms-swift; as JSON too
//   {"current_steps": 10, "total_steps": 1350, "loss": 3.80, ..., "elapsed_time": "0:00:07",
//    "remaining_time": "0:16:43"}                  trainer_log.jsonl of LLaMA-Factory
//
// The speed of ms-swift is the global step over the seconds since the session began: the two give
// these seconds with six digits.

struct TrainerProgress {
  std::int64_t step = 0, planned = 0;
  double elapsed_s = 0, resolution_s = 1;  ///< since the session began
  std::optional<double> loss;              ///< none in the last line and in an evaluation's

  [[nodiscard]] static std::optional<TrainerProgress> read(const Line& line);
};

// At the value of `key`, after its quote if it has one.
std::optional<Cursor> value_of(const Line& line, std::string_view key) {
  Cursor cursor(line);
  if (!cursor.skip_past(key)) return std::nullopt;
  if (!cursor.literal("': ") && !cursor.literal("\": ")) return std::nullopt;
  if (!cursor.literal("'")) cursor.literal("\"");
  return cursor;
}

std::optional<double> number_of(const Line& line, std::string_view key) {
  auto at = value_of(line, key);
  return at ? at->number() : std::nullopt;
}

// "0:16:43", "1 day, 0:16:43", or "2d 22h 37m 44s", "1m 3s".
std::optional<double> seconds_of(Cursor cursor) {
  Cursor clock = cursor;
  if (const auto whole = clock.duration(); whole && clock.literal("\"")) return whole;
  if (const auto spelled = spelled_duration(cursor.rest())) return spelled->seconds;
  const auto seconds = cursor.number();
  return cursor.literal("s") ? seconds : std::nullopt;
}

bool read_steps(const Line& line, TrainerProgress& out) {
  if (auto at = value_of(line, "global_step/max_steps")) {
    if (!at->read(out.step, "/", out.planned)) return false;
  } else {
    auto now = value_of(line, "\"current_steps"), total = value_of(line, "\"total_steps");
    if (!now || !total || !now->read(out.step) || !total->read(out.planned)) return false;
  }
  return out.step >= 1 && out.step <= out.planned;
}

// The seconds of 'elapsed_time' are whole ones, cut off.
void refine(const Line& line, TrainerProgress& out) {
  constexpr double kCutOff = 1.5, kDigit = 1e-6, kSmallestDoubt = 1e-3;
  const auto steps = static_cast<double>(out.step);
  double seconds = kUnknown, doubt = kUnknown;
  if (const auto speed = number_of(line, "train_speed(iter/s)")) {
    seconds = steps / *speed;
    doubt = seconds * kDigit / *speed;
  } else if (const auto slow = number_of(line, "train_speed(s/it)")) {
    seconds = steps * *slow;
    doubt = steps * kDigit;
  }
  if (!(seconds > 0) || !(doubt < 1) || std::abs(seconds - out.elapsed_s) > kCutOff) return;
  out.elapsed_s = seconds;
  out.resolution_s = std::max(doubt, kSmallestDoubt);
}

std::optional<TrainerProgress> TrainerProgress::read(const Line& line) {
  TrainerProgress out;
  const auto at = value_of(line, "elapsed_time");  // first: most dicts have none of the keys
  const auto seconds = at ? seconds_of(*at) : std::nullopt;
  if (!seconds || !read_steps(line, out)) return std::nullopt;
  out.elapsed_s = *seconds;
  refine(line, out);
  out.loss = number_after(line, {"{'loss':", "\"loss\":"});
  return out;
}

/// The evaluations that stand between two steps which print the clock: it goes on meanwhile.
class EvaluationsBetween {
 public:
  /// On a line that may report an evaluation.
  void see(const Line& line) {
    if (!any_step_ || line.text == last_ || !number_of(line, "eval_loss")) return;
    last_ = std::string(line.text);
    const double seconds = number_of(line, "eval_runtime").value_or(0);
    if (!(seconds > 0)) ++pending_.untimed;
    pending_.seconds += std::fmax(seconds, 0);
  }

  /// Seconds of the clock, up to this step, that evaluations took.
  double step() {
    all_.untimed += pending_.untimed;
    all_.seconds += pending_.seconds;
    any_step_ = true;
    pending_ = {};
    return all_.seconds;
  }

  /// Adds notices of what the run's times hold, and begins anew.
  void conclude(std::vector<Notice>& notices) {
    if (all_.seconds > 0) {
      notices.push_back(make_notice(NoticeCode::evaluations_off_the_clock, 0));
    }
    if (all_.untimed > 0) {
      notices.push_back(make_notice(NoticeCode::evaluations_between_steps, 0,
                                    counted(all_.untimed, "evaluation")));
    }
    *this = {};
  }

 private:
  struct Sum {
    int untimed = 0;     ///< evaluations whose time is not stated
    double seconds = 0;  ///< of the others
  };
  Sum pending_, all_;  ///< since the newest step, up to it
  bool any_step_ = false;
  std::string last_;  ///< each process prints it
};

/// A session of a training, by its closing statement.
struct Session {
  double done = 0;   ///< steps
  double slack = 0;  ///< what rounding leaves open in them
  double planned = 0, runtime = 0, steps_rate = 0;
  bool resumed = false;
  [[nodiscard]] bool sure() const { return done > 0 && slack <= 0.01 * done; }
};

/// transformers 4 and 5.0 divide all planned samples and steps by the runtime, also where the
/// session began at a checkpoint or stopped early: the rates are then those of work that was not
/// done
/// (quoted/huggingface.takes_the_share_of_a_session_that_began_at_a_checkpoint_or_stopped_early).
void mend_planned_rate(const Session& of, Closing& closing) {
  auto& rate = closing.summary;
  if (!rate || !(of.runtime > 0) || !(of.steps_rate > 0) || !(of.planned >= 1)) return;
  const double counted = of.steps_rate * of.runtime;
  // 3 decimals, or 4 digits since 5.0
  const double rounding = std::max(5e-4 / of.steps_rate, 6e-4);
  const bool all = std::abs(counted / of.planned - 1) <= 2 * rounding + 1e-3;
  if (!all || of.done + of.slack >= 0.98 * of.planned) return;
  closing.notices.push_back(make_notice(NoticeCode::closing_rate_of_planned_steps, rate->line,
                                        shortest(rate->value), of.planned, std::max(of.done, 0.0),
                                        of.sure() ? "their share is taken" : "it is not taken"));
  if (of.sure()) {
    rate->value *= of.done / of.planned;
  } else {
    rate.reset();
  }
}

// TrainerFiles: trainer_state.json, train_results.json and all_results.json of Hugging Face's
// Trainer, and losses that it logs as JSON.

/// The number of the member, where the line begins with it.
std::optional<double> member(const Line& line, std::string_view key) {
  Cursor cursor(line);
  if (!cursor.read("\"", key, "\": ")) return std::nullopt;
  cursor.literal("\"");
  return cursor.number();
}

/// The open run of training, as far as the format knows it.
struct Training {
  bool open = false;
  std::int64_t line = 0;         ///< newest that is of it
  std::int64_t record_line = 0;  ///< of the newest record, 0: it has none
  std::int64_t step = 0;         ///< of that
  bool timed = false;            ///< that has a time

  /// The line is of the run, which it begins where none is open.
  void take(const Line& of, Emit emit) {
    emit(Statement{.of = Of::begun});
    open = true;
    line = of.number;
  }
  void take(const Line& of, Step at, Emit emit) {
    emit(at);
    open = true;
    timed = !std::isnan(at.time_s);
    step = at.step;
    line = record_line = of.number;
  }
};

/// Members of such files, one by one: keys stand in the order of the alphabet, a loss before
/// its step.
class TrainerFiles {
 public:
  /// A member on a line of its own: "\"loss\": 0.46,". True when it is one that is known.
  bool read_member(const Line& line, TrainerEvaluations& evaluations, Training& run, Emit emit) {
    if (line.text.starts_with("\"log_history\": [")) {
      history_ = true;
      run.take(line, emit);
      return true;
    }
    if (const auto done = member(line, "global_step")) global_step_ = done;
    if (const auto planned = member(line, "max_steps")) max_steps_ = planned;
    if (const auto runtime = member(line, "train_runtime")) {
      if (runtime_) session_began_ = session_ended_;  // an earlier session's stands in the history
      checks_.end_session(history_);
      session_ended_ = entry_step_;
      runtime_ = runtime;
      run.take(line, emit);
      return true;
    }
    if (evaluations.see(line, emit)) return true;
    if (checks_.read_member(line)) return history_;  // what is not taken comes again, unindented
    return read_rate(line, run, emit) || read_entry(line, run, emit);
  }

  /// A file, or a dict, without line breaks: member by member, as if each stood on a line.
  bool read_compact(const Line& line, TrainerEvaluations& evaluations, Training& run, Emit emit) {
    const bool state = has(line, "\"log_history\": [");
    const bool results = has(line, "_runtime\": ");
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
      known |= read_member(member, evaluations, run, emit);
    }
    return known;
  }

  /// An overlong line comes in parts, of which only the first has the opening brace.
  [[nodiscard]] bool goes_on(const Line& line) const { return line.number == compact_line_; }

  /// "log_history" was seen, of trainer_state.json.
  [[nodiscard]] bool history() const { return history_; }
  /// What the files state of the whole run, with notices on their rates.
  void conclude(Closing& closing) const {
    const auto note = [&](auto... of) { closing.notices.push_back(make_notice(of...)); };
    const bool outlasted = runtime_ && checks_.outlast(*runtime_);
    if (runtime_) {
      if (!outlasted) closing.totals.training_s = runtime_;
      closing.ended = true;
    }
    if (planned()) closing.ended = closing.ended || (global_step_ && *global_step_ >= *max_steps_);
    if (!samples_rate_) return;
    if (!steps_rate_) {
      fill_old_rate(closing);
      return;
    }
    if (outlasted) {
      note(NoticeCode::closing_rate_of_all_sessions, rate_line_, shortest(*samples_rate_),
           checks_.evaluated_s(), *runtime_);
      return;
    }
    closing.summary = Stated{*samples_rate_, RateUnit::sequences_per_second, rate_line_};
    if (!closing.batch) {
      closing.batch = TrainerChecks::sequences_per_step(*samples_rate_, *steps_rate_);
    }
    if (runtime_) checks_.judge(*runtime_, closing.summary, closing.notices);
    if (global_step_ && max_steps_ && runtime_) {
      mend_planned_rate({*global_step_ - session_began_, 0, *max_steps_, *runtime_, *steps_rate_},
                        closing);
    }
    if (closing.summary && closing.summary->value == *samples_rate_) {
      note(NoticeCode::closing_rate_may_be_resumed, rate_line_);
    }
  }
  [[nodiscard]] std::optional<std::int64_t> planned() const {
    if (!max_steps_ || !(*max_steps_ >= 1 && *max_steps_ < kMostSteps)) return std::nullopt;
    return static_cast<std::int64_t>(*max_steps_);
  }

 private:
  bool read_rate(const Line& line, Training& run, Emit emit) {
    if (const auto rate = member(line, "train_steps_per_second")) {
      steps_rate_ = rate;
      return true;
    }
    const auto rate = member(line, "train_samples_per_second");
    if (!rate) return false;
    samples_rate_ = rate;
    rate_line_ = line.number;
    run.take(line, emit);
    return true;
  }

  // The loss of an entry of the history, or its step.
  bool read_entry(const Line& line, Training& run, Emit emit) {
    if (!history_ && line.number != dict_line_) return false;
    if (const auto loss = member(line, "loss")) {
      loss_ = loss;
      return true;
    }
    const auto step = member(line, "step");
    if (!step) return false;
    entry_step_ = *step;
    if (loss_ && *step >= 0 && *step < kMostSteps) {
      run.take(line, Step{.step = static_cast<std::int64_t>(*step), .loss = loss_}, emit);
    }
    loss_.reset();
    return true;
  }

  // Old releases know no train_steps_per_second, and what they call samples are steps.
  void fill_old_rate(Closing& closing) const {
    closing.summary = Stated{*samples_rate_, RateUnit::iterations_per_second, rate_line_};
    const bool proved = global_step_ && runtime_ && *runtime_ > 0 &&
                        std::abs(*global_step_ / *runtime_ / *samples_rate_ - 1) < 1e-3;
    const std::string how =
        proved ? fmt::format("{:.0f} steps / {} s", *global_step_, shortest(*runtime_))
               : std::string("the global step over the runtime");
    closing.notices.push_back(make_notice(NoticeCode::closing_rate_is_of_steps, rate_line_,
                                          shortest(*samples_rate_), how));
  }

  bool history_ = false;
  std::int64_t compact_line_ = 0, dict_line_ = 0;  ///< of JSON that stands on one line
  std::optional<double> loss_, global_step_, max_steps_, runtime_, samples_rate_, steps_rate_;
  TrainerChecks checks_;
  std::int64_t rate_line_ = 0;
  double entry_step_ = 0;  ///< of the newest entry of the history
  double session_ended_ = 0, session_began_ = 0;
};

// The bar that the Hugging Face Trainer draws in notebooks, as a saved or copied one shows it.

///   [1200/1200 09:31, Epoch 3/3]
///   [ 400/1200 03:10 < 06:22, 2.09 it/s, Epoch 1.00/3]
///
/// It is drawn first after step 1, where its clock begins, and shows one step more than were done
/// until the training is over. Evaluations are in the clock.
struct NotebookBar {
  static constexpr std::string_view kAnchor = ", Epoch ";

  std::int64_t shown = 0, total = 0;
  double elapsed_s = 0, rate = kUnknown;
  std::int64_t line = 0;
  int rank = -1;

  [[nodiscard]] static std::optional<NotebookBar> read(const Line& line) {
    const auto epoch = line.text.find(kAnchor);
    const auto bracket = epoch == std::string_view::npos ? epoch : line.text.rfind('[', epoch);
    if (bracket == std::string_view::npos) return std::nullopt;
    NotebookBar out{.line = line.number, .rank = line.rank};
    Cursor cursor(line);
    cursor.move_to(bracket + 1);
    if (!cursor.read(kBlanks, out.shown, "/", out.total, " ") || out.shown < 1 || out.total < 1) {
      return std::nullopt;
    }
    const auto elapsed = cursor.duration();
    if (!elapsed) return std::nullopt;
    out.elapsed_s = *elapsed;
    if (cursor.literal(" < ") && !(cursor.duration() && cursor.read(", ", out.rate, " it/s"))) {
      return std::nullopt;
    }
    double at = 0, epochs = 0;
    if (!cursor.read(kAnchor, at, "/", epochs, "]")) return std::nullopt;
    return out;
  }

  /// The steps between the first redraw and this one; none: it shows no more than one.
  [[nodiscard]] std::optional<Step> steps() const {
    Step at{
        .step = shown == total ? shown : shown - 1, .planned = total, .line = line, .rank = rank};
    at.iterations = at.step - 1;
    if (at.iterations < 1) return std::nullopt;
    if (elapsed_s > 0) at.seconds = elapsed_s;
    // The rate has two decimals: the clock gives a slow one better.
    constexpr double kLeastRate = 0.25;  // iterations/s
    if (rate >= kLeastRate) {
      at.rate = rate;
      at.rate_unit = RateUnit::iterations_per_second;
    }
    return at;
  }
};

/// "Epoch 9: {'loss': 3.19}", "{'loss': 2.97, 'step': 10, 'time': 2.01}": a loop that counts before
/// its dictionary or in it, and has none of the Trainer's other keys.
bool is_of_other_loop(std::string_view text) {
  const std::string_view before = text.substr(0, text.find("{'loss':"));
  const auto has = [](std::string_view in, std::string_view word) {
    return in.find(word) != std::string_view::npos;
  };
  const bool counts_before =
      has(before, "poch ") || has(before, "tep ") || has(before, "teration ");
  const bool counts_inside = has(text, "'step':") || has(text, "'iter':") ||
                             has(text, "'iteration':") || has(text, "'global_step':");
  return !has(text, "'learning_rate':") &&
         (counts_inside || (counts_before && !has(text, "'epoch':")));
}

struct Huggingface {
  bool notebook(const Line& line, Emit emit) {
    const auto redraw = NotebookBar::read(line);
    if (!redraw) return false;
    if (bar && (redraw->total != bar->total || redraw->shown <= bar->shown)) end_run(emit);
    bar = redraw;
    run.take(line, emit);
    return true;
  }

  bool json(const Line& line, Emit emit) {
    Line member = line;
    member.text = trim(line.text);
    if (member.text.starts_with('"')) return files.read_member(member, evaluations, run, emit);
    if (member.text.starts_with("{\"")) {
      const auto at = TrainerProgress::read(line);
      // ms-swift adds its keys to an evaluation and to the closing line as well.
      if (at && (at->loss || member.text.starts_with("{\"current_steps")))
        return progress(*at, line, emit);
      between.see(line);
    } else if (member.text.starts_with('{') || !files.goes_on(line)) {
      return false;
    }
    return files.read_compact(line, evaluations, run, emit);
  }

  // The epoch gives the step, where the log has both totals; else dicts are counted.
  bool dict(const Line& line, Emit emit) {
    // tf-models prints the statistics of its run like that.
    if (is_of_other_loop(line.text) || has(line, "'step_timestamp_log'") ||
        has(line, "steps_per_second: ")) {
      return false;
    }
    const auto loss = number_after(line, "{'loss':");
    if (!loss) return false;
    if (const auto at = TrainerProgress::read(line)) return progress(*at, line, emit);
    if (line.text == last_dict) return true;  // each process prints it
    last_dict = std::string(line.text);
    const auto epoch = number_after(line, "'epoch':");
    Step at{.step = ++dicts, .loss = loss};
    // The time so far, of runs that print it with each loss.
    const auto so_far = number_after(line, "'train_runtime':");
    has_clock = has_clock || so_far;
    // A stream of data has no end: the Trainer then prints 2^63 - 1 epochs.
    const bool known = epoch && epochs && steps && *epochs > 0 && *epochs < 1e9 && *steps < 1e12 &&
                       *epoch >= 0 && *epoch <= *epochs;
    if (known && by_epoch) {
      at.step =
          std::max<std::int64_t>(1, std::llround(std::min(*epoch * steps_per_epoch(), *steps)));
      if (so_far) {
        constexpr double kLastDigit_s = 1e-4;
        at.time_s = *so_far - between.step();
        at.clock = Clock{kLastDigit_s, true};
      }
    } else {
      by_epoch = false;
    }
    if (stated_for_run()) {
      end_run(emit);
      if (!by_epoch) at.step = dicts = 1;
    }
    run.take(line, at, emit);
    return true;
  }

  bool progress(const TrainerProgress& at, const Line& line, Emit emit) {
    if (line.text == last_dict) return true;  // each process prints it
    last_dict = std::string(line.text);
    constexpr double kPrintedApart_s = 5;  // of processes that print the same step
    const bool after =
        run.record_line > 0 && (at.step < run.step || at.elapsed_s < elapsed_s - kPrintedApart_s);
    if (after || stated_for_run()) end_run(emit);
    const bool last = at.step == at.planned;
    if (!at.loss) {
      run.take(line, emit);
      emit(Statement{.planned = at.planned});
      if (last) emit(End{});
      between.see(line);
      return true;
    }
    const double evaluated_s = between.step();
    elapsed_s = at.elapsed_s;
    resolution_s = std::fmax(resolution_s, at.resolution_s);
    run.take(line,
             Step{.step = at.step,
                  .time_s = at.elapsed_s - evaluated_s,
                  .loss = at.loss,
                  .clock = Clock{resolution_s, true},  // does not stop between the lines
                  .planned = at.planned,
                  .last = last},
             emit);
    return true;
  }

  void begins(const Line&) {  // NVIDIA's scripts print it as well
    epochs = steps = per_epoch = examples = batch = resumed_at = std::nullopt;
    by_epoch = true;
    dicts = 0;
  }

  bool banner_line(const Line& line) { return banner.see(line); }

  // Totals that the Trainer prints when it begins. Newer ones group the digits.
  template <std::optional<double> Huggingface::*total>
  void take_total(const Line& line) {
    // Evaluations print their examples as well.
    if (!(this->*total)) this->*total = Cursor::after(line).grouped_integer();
  }
  void resumed(const Line& line) {
    Cursor cursor(line);
    resumed_at = cursor.skip_past(" and global step ") ? cursor.grouped_integer() : std::nullopt;
  }

  bool closing_line(const Line& line, Emit emit) {
    // Trainings without a loss between their statements.
    if (closing.unlike(line)) end_run(emit);
    if (ClosingLines::runtime_of_dict(line)) read_end(line);
    const bool evaluated = evaluations.see(line, emit);
    if (evaluated) between.see(line);
    if (!closing.see(line)) return evaluated;
    run.take(line, emit);
    return true;
  }

  /// What is stated of a whole run was seen after the records of this one.
  [[nodiscard]] bool stated_for_run() const {
    return run.record_line > 0 && closing.after(run.record_line);
  }

  // With --max_steps the last epoch is not a whole one, and the number of epochs is rounded up.
  [[nodiscard]] double steps_per_epoch() const {
    if (per_epoch && *per_epoch >= 1) return *per_epoch;
    const double whole = *steps / *epochs;
    if (!examples || !batch || !(*batch >= 1) || !(*examples >= 1)) return whole;
    const double by_examples = *examples / *batch;
    return std::abs(whole - by_examples) > 1 ? by_examples : whole;
  }

  // The next run's totals may follow before this one is concluded.
  void read_end(const Line& line) {
    const auto epoch = number_after(line, "'epoch':");
    const auto runtime = number_after(line, "'train_runtime':");
    const auto steps_rate = number_after(line, "'train_steps_per_second':");
    const bool known =
        epoch && runtime && steps_rate && epochs && steps && *epochs > 0 && *epochs < 1e9;
    if (!known) return;
    const double each = steps_per_epoch();
    session = {*epoch * each - resumed_at.value_or(0),
               0.006 * each,
               *steps,
               *runtime,
               *steps_rate,
               resumed_at.has_value()};
  }

  void end_run(Emit emit) {
    if (!run.open) return;
    conclude(close_console(emit), emit);
    emit(kRuns[kTraining]);
    run = {};
    resolution_s = kUnknown;
  }

  Closing close_console(Emit emit) {
    Closing of = closing.take();
    if (bar && !of.summary && !of.totals.training_s && run.record_line == 0) {
      if (const auto at = bar->steps()) {
        emit(*at);
        run.record_line = at->line;
        run.timed = !std::isnan(at->seconds);
        of.notices.push_back(make_notice(NoticeCode::notebook_bar, at->line));
      }
    }
    bar.reset();
    between.conclude(of.notices);
    if (!session) return of;
    mend_planned_rate(*session, of);
    // The runtime is this session's, the steps are counted from the run's beginning.
    if (session->resumed && session->sure() && session->done >= 1 &&
        session->done <= std::min(session->planned, kMostSteps)) {
      of.totals.iterations = std::llround(session->done);
    }
    session.reset();
    return of;
  }

  void conclude(const Closing& of, Emit emit) const {
    emit(Statement{.planned = files.planned(),
                   .summary = of.summary,
                   .totals = of.totals,
                   .line = std::max(run.line, of.line)});
    if (of.ended) emit(End{.here = false});
    emit.fact(&Facts::global_batch_size, of.batch);
    for (const Notice& notice : of.notices) emit(Note{.notice = notice});
  }

  void finish(Emit emit) {
    emit.log_fact(&Facts::framework, banner.of_other() ? "paddle" : "pytorch");
    if (run.open) {
      Closing of = close_console(emit);
      files.conclude(of);
      // "train_batch_size" of trainer_state.json is of one process and of one micro-step.
      emit(Known{.own_facts = files.history()});
      const auto note = [&](auto... what) { of.notices.push_back(make_notice(what...)); };
      if (files.history() || (run.record_line > 0 && !run.timed && !has_clock)) {
        note(NoticeCode::no_step_times, 0);
      }
      if (!by_epoch) {
        emit(Statement{.unit = IterationUnit::unknown, .line = run.line});
        note(NoticeCode::steps_counted, 0);
      }
      conclude(of, emit);
    }
    banner.conclude(run.line, kRuns[kCut], emit);
  }

  Training run;
  ClosingLines closing;
  std::optional<NotebookBar> bar;
  TrainerBanner banner;
  std::optional<double> epochs, steps, per_epoch, examples, batch, resumed_at;
  std::optional<Session> session;  ///< of the closing dict
  std::string last_dict;
  std::int64_t dicts = 0;
  bool by_epoch = true;    ///< every dict's step followed from its epoch
  bool has_clock = false;  ///< some dict has the time so far
  TrainerFiles files;
  TrainerEvaluations evaluations;
  EvaluationsBetween between;
  double elapsed_s = 0;            ///< of the newest step that states it
  double resolution_s = kUnknown;  ///< of these, in the run
};

constexpr Row kRows[] = {
    on<&Huggingface::notebook>(NotebookBar::kAnchor),
    on<&Huggingface::json>("\"log_history\": ["),
    on<&Huggingface::json>("\"loss\": "),
    on<&Huggingface::json>("  \"step\": "),  // indented: not within a line of DLLogger or MLPerf
    on<&Huggingface::json>("\"global_step\": "),
    on<&Huggingface::json>("\"max_steps\": "),
    on<&Huggingface::json>("_runtime\": "),
    on<&Huggingface::json>("\"epoch\": "),
    on<&Huggingface::json>("\"train_samples\": "),
    on<&Huggingface::json>("\"train_steps_per_second\": "),
    on<&Huggingface::json>("_samples_per_second\": "),
    on<&Huggingface::dict>("{'loss':"),
    on<&Huggingface::begins>("***** Running training"),
    on<&Huggingface::banner_line>(TrainerBanner::kAnchor),
    on<&Huggingface::banner_line>(TrainerBanner::kDone),
    on<&Huggingface::take_total<&Huggingface::steps>>("Total optimization steps = "),
    on<&Huggingface::take_total<&Huggingface::epochs>>("Num Epochs = "),
    on<&Huggingface::take_total<&Huggingface::examples>>("Num examples = "),
    on<&Huggingface::take_total<&Huggingface::per_epoch>>("Num update steps per epoch = "),
    on<&Huggingface::take_total<&Huggingface::batch>>(
        "Total train batch size (w. parallel, distributed & accumulation) = "),
    on<&Huggingface::take_total<&Huggingface::resumed_at>>("Continuing training from global step "),
    on<&Huggingface::resumed>("Resuming training from checkpoint with epoch "),
    on<&Huggingface::closing_line>("_runtime':"),
    on<&Huggingface::closing_line>("train_runtime "),
    on<&Huggingface::closing_line>("_samples_per_second':"),
    on<&Huggingface::closing_line>("_samples_per_second "),
    on<&Huggingface::closing_line>("train_steps_per_second ")};

}  // namespace

extern const Format entry{
    .name = "huggingface",
    .title =
        "Hugging Face Trainer: console dicts and table, trainer_state.json, train_results.json",
    .reference =
        "https://github.com/huggingface/transformers src/transformers/trainer_callback.py, "
        "trainer_utils.py (speed_metrics)",
    .table = table_of<Huggingface>(kRows, kRuns)};

}  // namespace bertbench::format_huggingface
