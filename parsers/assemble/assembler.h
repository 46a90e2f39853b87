// Assembler: the events of one format over one log become its runs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "parsers/assemble/events.h"
#include "parsers/assemble/training_clock.h"
#include "parsers/core/line.h"
#include "parsers/lines/clock.h"

namespace bertbench {

class Assembler {
 public:
  /// `tracks`: how their runs are put together until a Begin changes it. `facts` sets what the
  /// format's state knows of the launch.
  Assembler(RunBuilder& out, std::span<const Begin> tracks, std::function<void(Facts&)> facts);

  /// `line` is where the event comes from, 0 at the end of input.
  void take(const Begin& begin, std::int64_t line);
  void take(Step&& step, std::int64_t line);
  void take(const Statement& statement, std::int64_t line);
  void take(const Known& known, std::int64_t line);
  void take(Note note, std::int64_t line);
  void take(const End& end, std::int64_t line);
  void take(TimedParts parts, std::int64_t line);
  void take(const Counted& counted, std::int64_t line);
  void take(const RankTimed& timed, std::int64_t line);
  void take(const Evaluated& evaluated, std::int64_t line);
  void take(const Launched& launched, std::int64_t line);
  void take(const Withdraw& withdraw, std::int64_t line);
  /// Whether a note of this code is already one of all runs.
  [[nodiscard]] bool noted(NoticeCode code) const;

  /// End of input; `framework`: that of the format where the log names none, may be empty.
  void finish(std::string_view framework);

 private:
  struct Track {
    Begin how;
    RunDraft* open = nullptr;
    std::optional<Step> held;    ///< the first step of the open run, until the next one comes
    std::int64_t newest = -1;    ///< counter of the open run's newest line, below 0: none
    bool batch_changes = false;  ///< that of the open run has no single number
    std::vector<RunDraft*> runs;
    TrainingClock clock;
    YearClock year;  ///< of stamps that name none
  };
  Track& track(int id);
  RunDraft& run(Track& of, std::int64_t line);
  void release(Track& of, std::optional<std::int64_t> next);
  void close(Track& of);
  static void set_batch(Track& of, const Step& step, RunDraft& run);
  static bool is_copy(const Track& of, const Step& step);
  /// What the clock of the training leaves out before this step.
  static double read_clock(Track& of, Step& step);
  void add(Track& of, Step& step);
  void each(int id, Of of, std::int64_t line, const std::function<void(RunDraft&)>& change);

  RunBuilder& out_;
  std::vector<Track> tracks_;
  std::function<void(Facts&)> facts_;
  std::vector<Note> notes_;  ///< of all runs
};

/// Where a handler puts its events. It cannot be asked.
class Emit {
 public:
  Emit(Assembler& to, std::int64_t line, std::int64_t end_byte, int rank)
      : to_(to), line_(line), end_byte_(end_byte), rank_(rank) {}

  /// A step whose line is not set is of this line and its rank.
  void operator()(const Step& step) const {
    Step copy = step;
    (*this)(std::move(copy));
  }
  void operator()(Step&& step) const {
    if (step.line == 0) {
      step.line = line_;
      step.end_byte = end_byte_;
      step.rank = rank_;
    }
    to_.take(std::move(step), line_);
  }
  template <class E>
  requires(!std::is_same_v<std::remove_cvref_t<E>, Step>) void operator()(E&& event) const {
    to_.take(std::forward<E>(event), line_);
  }

  /// A notice of all runs of the log, those to come included; each code once.
  template <class... Values>
  void note(NoticeCode code, Values&&... values) const {
    if (to_.noted(code)) return;
    to_.take(Note{.notice = make_notice(code, 0, std::forward<Values>(values)...),
                  .track = kEveryTrack,
                  .of = Of::all},
             line_);
  }
  /// A notice of the open run, on this line.
  template <class... Values>
  void note_here(NoticeCode code, Values&&... values) const {
    note_on(0, code, std::forward<Values>(values)...);
  }
  template <class... Values>
  void note_on(int track, NoticeCode code, Values&&... values) const {
    to_.take(Note{make_notice(code, line_, std::forward<Values>(values)...), track}, line_);
  }
  /// A fact of the open run, and one of the log that holds where nothing else is known. A value
  /// may be an optional that has none: then there is no fact.
  template <class T, class Value>
  void fact(Fact<T> Facts::*which, const Value& value, int track = 0) const {
    Known known{.track = track};
    (known.facts.*which).set(value, FactSource::log);
    if ((known.facts.*which).known()) to_.take(known, line_);
  }
  template <class T, class Value>
  void log_fact(Fact<T> Facts::*which, const Value& value) const {
    Known known{.of = Of::all};
    (known.facts.*which).set(value, FactSource::log);
    to_.take(known, line_);
  }

 private:
  Assembler& to_;
  std::int64_t line_, end_byte_;
  int rank_;
};

}  // namespace bertbench
