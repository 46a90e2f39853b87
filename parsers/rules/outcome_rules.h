// OutcomeRules: how a run ended, as its log shows it. Fed by the same anchor pass as the formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/line.h"
#include "parsers/core/outcome.h"
#include "parsers/rules/failure_words.h"

namespace bertbench {

class RunDraft;

/// What scripts, launchers and schedulers print after a training that is over, in any format.
/// Closing statements of one format alone belong to that format. The words of scripts are from logs
/// of loops that people wrote for themselves (tests/data/unseen), those of one program name it.
/// "quoted/NAME" is a log in tests/golden/quoted.
class ClosingWords {
 public:
  /// stated: the line states that a training or its program is over. tested: it has the score of a
  /// test, which a loop that stops before its plan prints as well. implied: it is what a program
  /// prints at its end (the best score, a saved model, a total time, "Done").
  /// begins: another epoch does, which no end was before.
  enum class Kind : std::uint8_t { stated, tested, implied, begins };

  /// Lines without any of these are never looked at.
  [[nodiscard]] static std::span<const std::string_view> anchors();

  /// The line holds the literal of `row`: true when it states or implies that a training is over.
  bool see(const Line& line, std::size_t row);
  /// The first line in (last_record, end) that states that a training is over, or else one of a
  /// weaker kind, down to `weakest`; nothing if there is none. A line whose words stand between the
  /// run's records as well, from `first` on, is printed after each epoch or step
  /// (quoted/closing_words.count_once_after_the_last_record).
  [[nodiscard]] std::optional<std::int64_t> after(std::int64_t first, std::int64_t last_record,
                                                  std::int64_t end, Kind weakest) const;
  /// A line in (last_record, end) announces another epoch.
  [[nodiscard]] bool goes_on(std::int64_t last_record, std::int64_t end) const;
  /// The last line in [begin, end) that states it, or else, of a log without a record, where a
  /// model is saved or a training's time is given once
  /// (quoted/closing_words.a_model_saved_once_ends_a_log_without_steps: XGBoost, Semantic
  /// Segmentation on PyTorch).
  [[nodiscard]] std::optional<std::int64_t> last_stated(std::int64_t begin, std::int64_t end) const;

 private:
  struct Closing {
    std::int64_t line = 0;
    std::size_t words = 0;  ///< hash of the line's words, without its numbers
    Kind kind = Kind::stated;
    bool of_training = false;  ///< a model saved, the time of a training
    bool of_table = false;     ///< it closes the table whose last row is the line before it
  };
  std::vector<Closing> closings_;  ///< in the order of lines; bounded: the oldest are forgotten
};

class OutcomeRules {
 public:
  /// Lines without any of these are never looked at.
  [[nodiscard]] static std::span<const std::string_view> anchors();

  void see(const Line& line);
  /// The strongest sign of trouble, for a log that is still growing; of equals the newest. What
  /// stands before `survived_line` was survived.
  [[nodiscard]] std::optional<Outcome> trouble(std::int64_t survived_line) const;
  /// The newest line whose troubles the run has survived: a tqdm bar is drawn once more after what
  /// ended it, and other ranks go on for a step or two
  /// (quoted/outcome_rules.keep_a_failure_after_which_a_bar_is_drawn_once_more). 0 = none. `last`:
  /// records that may still come.
  [[nodiscard]] static std::int64_t survived_line(const RunDraft& run, std::size_t last = 3);
  /// A failure was named, not only hinted at, or an end stated: enough for a log of no known
  /// format.
  [[nodiscard]] bool names_an_end() const;
  /// Where the log states or implies, after `last_record`, that a training is over.
  [[nodiscard]] std::optional<std::int64_t> end_after(std::int64_t last_record) const;
  /// The log states after the run's newest record that it is over.
  [[nodiscard]] bool is_stated_over(const RunDraft& run) const;
  /// The log ends within this line.
  void cut_at(std::int64_t line) { cut_line_ = line; }
  /// The log states how the job failed.
  [[nodiscard]] bool names_a_failure() const { return named_; }

  /// The outcome of a run that owns the lines [run.first_line, end_line). What the log shows as the
  /// cause wins over what follows from it: out of memory, NaN, a named error, a signal; of equals
  /// the first. An error after which the run still made records was survived and does not count,
  /// unless these are its last few, and of launches of which none came to a step the last that
  /// failed is reported; what the interpreter ignores at exit is none, and a line of success after
  /// an error does not undo it. Without any sign: `completed` when the run reached its plan or
  /// printed a closing statement, or a script, launcher or scheduler printed after it that it is
  /// over, else `truncated`.
  [[nodiscard]] Outcome decide(const RunDraft& run, std::int64_t begin_line,
                               std::int64_t end_line) const;
  /// The first of the strongest failures within the records of the run: RunLog::survived.
  [[nodiscard]] std::optional<Outcome> survived(const RunDraft& run) const;
  /// Where the last launch begins that failed after all that the run printed, if one did.
  [[nodiscard]] std::optional<std::int64_t> failed_launch_after(const RunDraft& run) const;

 private:
  struct Sign {
    std::int64_t line = 0;
    Status status = Status::error;
    int strength = 0;  ///< how near to the cause
    std::string text;  ///< of its line, trimmed
    // What the line is, where a decision rests on it.
    bool collective_timeout = false;  ///< NCCL's watchdog: a rank waited in vain
    bool cancelled = false;    ///< by the scheduler or the launcher, which give the trainer time
    bool task_exited = false;  ///< srun's "Exited with exit code"
    bool rank_killed = false;  ///< torchrun's table: "received by PID"
    bool goes_on = false;      ///< the line states that the run does
    bool of_thread = false;    ///< a traceback of a thread, which the others outlive
    bool names_only = false;   ///< an exception's name, whose message stands on another line
  };
  static Sign make_sign(std::int64_t line, Status status, int strength, std::string_view text);
  enum class Part { other, exception, of_thread, ignored };  ///< what a line is of a traceback
  void add(std::int64_t line, Status status, int strength, std::string_view text);
  Part read_traceback(const Line& line, bool words, std::string_view& exception);
  /// A line right after a failure that the run lives on.
  void survives(const Line& line);
  bool continues_chain(const Line& line, std::string_view exception);
  bool killed_after_failure(const Line& line, bool words);
  struct Launch {
    std::int64_t line = 0;
    bool one = false;  ///< of a job: one line, not one of each node
  };
  /// `first_row`: of the literals of launches.
  void read_launch(const Line& line, std::size_t first_row);
  [[nodiscard]] std::optional<std::int64_t> stated_end(const Sign* failure, std::int64_t begin_line,
                                                       std::int64_t end_line) const;
  [[nodiscard]] std::int64_t last_failed_launch(std::int64_t begin_line,
                                                std::int64_t end_line) const;
  [[nodiscard]] std::int64_t launch_after(const RunDraft& run, bool done,
                                          std::int64_t end_line) const;
  void add_earlier_failure(std::int64_t from, std::int64_t to, std::vector<Notice>& details) const;
  [[nodiscard]] std::optional<std::int64_t> launch_again(std::int64_t failure_line,
                                                         std::int64_t begin_line,
                                                         std::int64_t end_line) const;
  [[nodiscard]] static bool is_traceback(const Sign& sign);
  [[nodiscard]] bool is_done(const RunDraft& run) const;
  [[nodiscard]] static std::size_t records_of_grace_time(const RunDraft& run);
  [[nodiscard]] const Sign* sign_of_end(const RunDraft& run, bool done, std::int64_t from,
                                        std::int64_t end) const;
  [[nodiscard]] const Sign& cause_of(const Sign& best) const;
  [[nodiscard]] std::string whole_text(const Sign& sign) const;
  void add_timeout_after(const Sign& cause, std::int64_t end_line,
                         std::vector<Notice>& details) const;

  ClosingWords closing_;
  FailureWords failing_;
  std::vector<Launch> launches_;         ///< where they begin, or fail of their arguments
  std::vector<Sign> signs_;              ///< bounded: repeats of one kind are dropped
  std::int64_t traceback_line_ = -1000;  ///< newest 'File "..."' or "Traceback" line
  std::int64_t special_line_ = -1000;    ///< newest "Exception ignored in", "Exception in thread"
  Part special_ = Part::exception;       ///< which of them
  Part of_ = Part::exception;            ///< what the open traceback belongs to
  std::int64_t rank_failed_line_ = -20000;  ///< of torchrun's table: a rank that exited by itself
  std::int64_t root_cause_line_ = -1000;
  std::int64_t cut_line_ = 0;  ///< within which the log ends; 0: within none
  bool chained_ = false;       ///< "During handling of the above exception"
  bool named_ = false;
};

}  // namespace bertbench
