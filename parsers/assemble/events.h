// Events: what a format reports of its lines, as values. A format reports and cannot ask: what it
// must know later it keeps in a state of its own. The assembler (assembler.h) makes runs of them,
// and it alone decides where a run begins, which lines are copies, and what a record covers.
//
// A format has tracks: kinds of runs that one log may hold at the same time, such as training and
// evaluation, or two writings of the same steps. Each track has at most one open run.
#pragma once

#include <cstdint>
#include <optional>

#include "parsers/assemble/run_builder.h"
#include "parsers/core/run_log.h"

namespace bertbench {

/// Of how many iterations the first record of a run is, where its line does not state it.
enum class FirstInterval : std::uint8_t {
  counter,  ///< as many as its counter shows: the log has the run from its beginning
  one,      ///< one: DeepSpeed's timer, whose counter goes on where the run was resumed
  as_next,  ///< as the record after it, at most its counter: either, in Megatron-LM and Paddle
};

/// Which step begins another run on the track.
enum class Restart : std::uint8_t {
  far_back,  ///< one so much lower that it cannot be a late line of another rank
  back,      ///< any with a smaller counter: trainers of which one rank prints
  never,     ///< none, only Begin does: the format counts over epochs itself
};

/// What a step means after the run has ended well.
enum class AfterEnd : std::uint8_t {
  goes_on,      ///< nothing: the last line may come late, from another stream
  reopens,      ///< it has not ended yet: what ended was an epoch (Keras, Speedometer)
  another_run,  ///< another run begins: Megatron-LM prints its end once
};

/// What a line means whose counter was seen already.
enum class Again : std::uint8_t {
  merged,   ///< the same record, redrawn or of another rank: medians of ranks, newest rate
  ignored,  ///< a copy: trainers whose ranks all print the job's step (Megatron-LM, mmcv)
};

/// Of the clock values of a run.
struct Clock {
  double resolution_s = kUnknown;
  bool wall = false;     ///< time stamps: differences hold across gaps
  bool no_year = false;  ///< stamps name no year: one far before the last is of the next year
};

/// How the runs of a track are put together. As an event: the open run of the track ends, and what
/// follows is another, by these rules.
struct Begin {
  int track = 0;
  WorkKind work = WorkKind::training;
  IterationUnit unit = IterationUnit::unknown;
  RateUnit rate = RateUnit::unknown;
  Clock clock{};
  FirstInterval first = FirstInterval::counter;
  Restart restart = Restart::far_back;
  AfterEnd after_end = AfterEnd::goes_on;
  Again again = Again::merged;
  bool from_zero = false;  ///< the clock counts from the run's start: 0 is its origin
  /// The clock goes on in evaluations (Evaluated): an interval that holds one counts with
  /// Step::own_s. OpenMMLab, Paddle's vision suites.
  bool without_evaluations = false;
  bool own_facts = false;  ///< batches and ranks are the format's: FactRules add none
  /// Where the run begins, if that is before its first step: the line of a table's head, or of a
  /// banner that names the run. Later runs of the same Begin do not have it. 0: at the first step.
  std::int64_t line = 0;
};

/// One line's worth of progress. It begins a run where none is open. NaN and 0 are unknown.
struct Step {
  int track = 0;
  std::int64_t step = 0;        ///< the log's own counter
  std::int64_t iterations = 0;  ///< 0: the difference of the counter to the record before
  /// Of the run's first record, where only this line shows how many it holds.
  std::optional<std::int64_t> first_iterations{};
  bool distinct = false;      ///< a record of its own even if the counter stands still
  double seconds = kUnknown;  ///< of these iterations together
  double each_s = kUnknown;   ///< of one of them, a mean
  double time_s = kUnknown;   ///< clock, any origin that stays the same within the run
  /// With Begin::without_evaluations: what all iterations since the step before took by themselves.
  /// It replaces the clock's difference where an Evaluated came between the two steps and it is
  /// smaller; NaN leaves that as it is.
  double own_s = kUnknown;
  /// Of the whole job, of exactly these iterations. A mean since the start is taken apart by two
  /// lines, as DescribedParser does with Field::rate_so_far.
  double rate = kUnknown;
  std::optional<double> loss{};         ///< NaN is a printed NaN
  std::optional<IterationUnit> unit{};  ///< unless as in Begin; likewise the next two
  std::optional<RateUnit> rate_unit{};
  std::optional<Clock> clock{};
  std::optional<std::int64_t> planned{};  ///< last counter value that the run aims at
  std::optional<std::int64_t> skipped{};  ///< skipped steps that come to those before
  /// Of the whole job, as this line states it. One that differs from those before, or from what the
  /// format's facts() have, leaves the run without a single number.
  std::int64_t global_batch = 0;
  /// The records whose counter is above this one are joined with this step to one, as the line has
  /// the time of all their iterations: an epoch's own (gluon-cv, PaddleVideo), or the next of which
  /// a mean since the start shows anything.
  std::optional<std::int64_t> joins_after{};
  bool last = false;           ///< by its own words, or by the plan, the run's last
  std::int64_t line = 0;       ///< 0: of the line that the handler has, and of its rank
  std::int64_t end_byte = -1;  ///< as Line's
  int rank = -1;
};

/// Which runs an event is of.
enum class Of : std::uint8_t {
  open,   ///< the open run of the track, if there is one
  begun,  ///< the same, begun by this line where there is none
  all,    ///< all of the track so far
};
inline constexpr int kEveryTrack = -1;  ///< with Of::all

/// What a line states of a run next to its steps. Only what is set changes anything. The line is
/// the event's unless `line` or the summary's is set.
struct Statement {
  int track = 0;
  Of of = Of::open;
  std::optional<std::int64_t> planned{};
  std::optional<std::int64_t> reached{};  ///< counter after the last record, by lines that are none
  std::optional<Stated> summary{};        ///< of the whole run, by a closing line
  Totals totals{};
  std::optional<MemoryUse> memory{};
  std::optional<double> loss{};  ///< of the newest record
  std::optional<std::int64_t> nan_step{};
  std::optional<IterationUnit> unit{};
  std::optional<RateUnit> rate_unit{};
  std::int64_t line = 0;
};

/// Facts that lines state, in addition to what the format's state knows of a launch.
struct Known {
  int track = 0;
  Of of = Of::open;  ///< Of::all: of all runs of the log, where nothing else is known
  Facts facts{};
  bool own_facts = false;  ///< as in Begin, from here on
};

/// With Of::all, of the runs to come as well: what depends on a run's own lines is of the open one.
struct Note {
  Notice notice;
  int track = 0;
  Of of = Of::open;
};

/// The run is over: a closing statement, or what the log states of its end.
struct End {
  int track = 0;
  Of of = Of::open;
  bool well = true;
  bool here = true;       ///< this line is the run's; else it shows that the run ended before
  bool official = false;  ///< it holds for the job, whatever format reads its steps
  std::optional<Outcome> outcome{};
};

/// What the parts of the newest step took, by the trainer's own timers; of several steps since the
/// line before, the mean. The line is the event's unless times.line is set.
struct TimedParts {
  int track = 0;
  PartTimes times{};
};

/// Counters of the track's steps that its bar showed within the newest record.
struct Counted {
  int track = 0;
  ThinnedSeries<CounterMark> counters{};
};

/// What a step took one rank before it waited for the others, a mean over the steps first .. last.
struct RankTimed {
  int track = 0;
  std::int64_t rank = 0, first = 0, last = 0;
  double own_s = kUnknown;
};

/// An evaluation ran since the newest step of the track.
struct Evaluated {
  int track = 0;
};

/// Another launch goes on with the open run of the track: its start is not timed.
struct Launched {
  int track = 0;
};

/// The runs of the track are not to be shown: another track has the same steps.
struct Withdraw {
  int track = 0;
  Of of = Of::all;
};

}  // namespace bertbench
