// What most log styles do: a line every --log-every steps, about the steps since the last line.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <ostream>
#include <utility>

#include "workloads/bert/log/log_style.h"

namespace bert {

/// Means over steps; those of no step are not defined.
struct MeanLosses {
  void add(const StepFacts& facts) {
    ++steps;
    loss_ += facts.loss;
    masked_lm_ += facts.masked_lm;
    next_sentence_ += facts.next_sentence;
  }
  [[nodiscard]] double loss() const { return loss_ / static_cast<double>(steps); }
  [[nodiscard]] double masked_lm() const { return masked_lm_ / static_cast<double>(steps); }
  [[nodiscard]] double next_sentence() const { return next_sentence_ / static_cast<double>(steps); }
  std::int64_t steps = 0;

 private:
  double loss_ = 0, masked_lm_ = 0, next_sentence_ = 0;
};

class IntervalStyle : public LogStyle {
 public:
  explicit IntervalStyle(std::ostream& out) : out_(out) {}
  void begin(const RunFacts& facts, Stamp now) final {
    facts_ = facts;
    started_ = last_line_ = now;
    header(now);
    out_.flush();
  }
  void step(const StepFacts& facts, Stamp now) final {
    interval_.add(facts);
    run_.add(facts);
    skipped_steps_ += facts.skipped ? 1 : 0;
    every_step(facts, now);
    if (!is_due(facts.step)) return;
    line(facts, now);
    out_.flush();
    interval_ = {};
    last_line_ = now;
  }
  void end(const RunEnd& end, Stamp now) final {
    footer(end, now);
    if (end.scores.sequences > 0) scores(end.scores);
    out_.flush();
  }

 protected:
  virtual void header(Stamp now) = 0;  ///< facts_ are set
  /// Of each step, before its line; interval_ and run_ include it.
  virtual void every_step(const StepFacts& /*facts*/, Stamp /*now*/) {}
  /// Whether this optimizer step has a line.
  virtual bool is_due(std::int64_t step) const { return step % facts_.log_every == 0; }
  virtual void line(const StepFacts& facts, Stamp now) = 0;  ///< interval_ has at least one step
  virtual void footer(const RunEnd& end, Stamp now) = 0;     ///< interval_: steps without a line

  /// After the log, as SQuAD's evaluate-v1.1.py and GLUE's scripts print theirs.
  virtual void scores(const Scores& scores) {
    if (scores.accuracy >= 0) {
      return print("***** Eval results *****\n  acc = {}\n", scores.accuracy / 100);
    }
    print("{{\"exact_match\": {}, \"f1\": {}}}\n", scores.exact_match, scores.f1);
  }

  template <typename... Values>
  void print(fmt::format_string<Values...> format, Values&&... values) {
    out_ << fmt::format(format, std::forward<Values>(values)...);
  }
  /// Since the last line: seconds, and the sequences of its steps over all ranks.
  [[nodiscard]] double seconds(Stamp now) const { return now.seconds - last_line_.seconds; }
  [[nodiscard]] double sequences() const {
    return static_cast<double>(interval_.steps * facts_.global_batch_size());
  }

  std::ostream& out_;
  RunFacts facts_;
  Stamp started_, last_line_;
  MeanLosses interval_, run_;       ///< since the last line, since the start
  std::int64_t skipped_steps_ = 0;  ///< since the start, without an update (fp16)
};

template <class Style>
std::unique_ptr<LogStyle> make_style(std::ostream& out) {
  return std::make_unique<Style>(out);
}

}  // namespace bert
