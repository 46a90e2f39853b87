#include "parsers/assemble/assembler.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace bertbench {
namespace {

template <class T>
void overwrite(std::optional<T>& to, const std::optional<T>& from) {
  if (from) to = from;
}

void overwrite(Totals& to, const Totals& from) {
  overwrite(to.training_s, from.training_s);
  overwrite(to.wall_s, from.wall_s);
  overwrite(to.iterations, from.iterations);
  overwrite(to.optimizer_steps, from.optimizer_steps);
  overwrite(to.skipped_steps, from.skipped_steps);
  overwrite(to.first_optimizer_step, from.first_optimizer_step);
  overwrite(to.last_optimizer_step, from.last_optimizer_step);
  overwrite(to.sequences, from.sequences);
}

void set_clock(RunLog& log, const Clock& clock) {
  if (!std::isnan(clock.resolution_s)) log.clock_resolution_s = clock.resolution_s;
  log.clock_is_wall = clock.wall;
}

Sample sample_of(const Step& step) {
  Sample out;
  out.step = step.step;
  out.iterations = step.iterations;
  out.distinct = step.distinct;
  out.seconds =
      std::isnan(step.each_s) ? step.seconds : step.each_s * static_cast<double>(step.iterations);
  out.time_s = step.time_s;
  out.rate = step.rate;
  out.loss = step.loss;
  out.line = step.line;
  out.end_byte = step.end_byte;
  out.rank = step.rank;
  return out;
}

}  // namespace

Assembler::Assembler(RunBuilder& out, std::span<const Begin> tracks,
                     std::function<void(Facts&)> facts)
    : out_(out), facts_(std::move(facts)) {
  for (const Begin& how : tracks) track(how.track).how = how;
}

Assembler::Track& Assembler::track(int id) {
  const auto at = static_cast<std::size_t>(id);
  while (tracks_.size() <= at) {
    Track& fresh = tracks_.emplace_back();
    fresh.how.track = static_cast<int>(tracks_.size()) - 1;
  }
  return tracks_[at];
}

/// The open run, begun on `line` where there is none.
RunDraft& Assembler::run(Track& of, std::int64_t line) {
  if (of.open != nullptr) return *of.open;
  const Begin& how = of.how;
  const std::int64_t head = std::exchange(of.how.line, 0);
  of.open = &out_.extra(how.work, head > 0 ? head : line);
  of.runs.push_back(of.open);
  RunLog& log = of.open->log;
  log.iteration_unit = how.unit;
  log.rate_unit = how.rate;
  set_clock(log, how.clock);
  of.open->own_facts = how.own_facts;
  if (how.from_zero) of.open->set_origin(0);
  return *of.open;
}

/// The first step goes into the run, of as many iterations as up to the counter `next`.
void Assembler::release(Track& of, std::optional<std::int64_t> next) {
  if (!of.held) return;
  Step step = *std::move(of.held);
  of.held.reset();
  const std::int64_t distance = next.value_or(step.step) - step.step;
  step.iterations = std::max<std::int64_t>(1, std::min(step.step, distance));
  of.open->add(sample_of(step));
}

void Assembler::close(Track& of) {
  release(of, std::nullopt);
  of.open = nullptr;
  of.newest = -1;
  of.batch_changes = false;
}

void Assembler::set_batch(Track& of, const Step& step, RunDraft& run) {
  auto& batch = run.log.facts.global_batch_size;
  if (of.batch_changes) batch = {};  // the format's facts may state the first one again
  if (step.global_batch < 1 || batch.value == step.global_batch) return;
  if (batch.known()) {
    run.log.note(NoticeCode::global_batch_changes, step.line, *batch.value, step.global_batch);
    batch = {};
    of.batch_changes = true;
  } else if (of.newest < 0) {
    batch.set(step.global_batch, FactSource::log);
  }
}

bool Assembler::is_copy(const Track& of, const Step& step) {
  return of.how.again == Again::ignored && of.open != nullptr && step.step == of.newest;
}

double Assembler::read_clock(Track& of, Step& step) {
  if (std::isnan(step.time_s)) return 0;
  const bool names_year = !step.clock.value_or(of.how.clock).no_year;
  step.time_s = of.year.at({step.time_s, names_year});
  const double before_s = of.clock.off_s();
  if (of.how.without_evaluations) step.time_s = of.clock.at(step.time_s, step.own_s);
  return of.clock.off_s() - before_s;
}

void Assembler::take(TimedParts parts, std::int64_t line) {
  if (!parts.times.known()) return;
  if (parts.times.line == 0) parts.times.line = line;
  each(parts.track, Of::open, line, [&](RunDraft& draft) {
    // A line that no handler takes is seen again without the labels before it.
    const auto& known = draft.log.parts.items();
    if (known.empty() || known.back().line != parts.times.line) draft.log.parts.add(parts.times);
  });
}

void Assembler::take(const Counted& counted, std::int64_t line) {
  each(counted.track, Of::open, line, [&](RunDraft& draft) {
    for (const CounterMark& mark : counted.counters.items()) draft.log.counters.add(mark);
  });
}

void Assembler::take(const RankTimed& timed, std::int64_t line) {
  each(timed.track, Of::open, line, [&](RunDraft& draft) {
    draft.log.rank_times.add(timed.rank, "", timed.first, timed.last, timed.own_s);
  });
}

void Assembler::take(const Evaluated& evaluated, std::int64_t) {
  track(evaluated.track).clock.note_evaluation();
}

void Assembler::take(const Launched& launched, std::int64_t) {
  Track& of = track(launched.track);
  if (of.open != nullptr) of.open->begin_launch();
}

void Assembler::take(Step&& step, std::int64_t) {
  Track& of = track(step.track);
  if (is_copy(of, step)) return;
  const double off_s = read_clock(of, step);
  if (of.open != nullptr) {
    const Restart by = of.how.restart;
    const bool restarted = by == Restart::back || (by == Restart::far_back && of.held)
                               ? of.newest >= 0 && step.step < of.newest
                               : by == Restart::far_back && of.open->goes_back(sample_of(step));
    const bool over = of.open->ended_well && of.how.after_end == AfterEnd::another_run;
    if (restarted || over) close(of);
  }
  // What comes before the first step of a run is not of its time.
  if (of.newest >= 0) of.open->log.leave_out(step.line, off_s);
  add(of, step);
}

void Assembler::add(Track& of, Step& step) {
  RunDraft& draft = run(of, step.line);
  facts_(draft.log.facts);
  if (step.unit) draft.log.iteration_unit = *step.unit;
  if (step.rate_unit) draft.log.rate_unit = *step.rate_unit;
  if (step.clock) set_clock(draft.log, *step.clock);
  if (step.planned) draft.log.planned = step.planned;
  if (step.skipped) {
    auto& skipped = draft.log.totals.skipped_steps;
    skipped = skipped.value_or(0) + *step.skipped;
  }
  if (step.last || of.how.after_end == AfterEnd::reopens) draft.ended_well = step.last;
  set_batch(of, step, draft);
  const bool first = of.newest < 0;
  const std::int64_t before = std::exchange(of.newest, step.step);
  if (first && step.iterations == 0 && of.how.first == FirstInterval::as_next) {
    draft.last_line = std::max(draft.last_line, step.line);
    of.held = std::move(step);
    return;
  }
  if (of.held && step.step == before) return;  // another rank's, or doubled
  release(of, step.step);
  if (step.iterations == 0) {
    if (first && of.how.first == FirstInterval::one) {
      step.iterations = 1;
    } else if (!std::isnan(step.each_s)) {
      step.iterations = std::max<std::int64_t>(1, step.step - (first ? 0 : before));
    }
  }
  if (step.first_iterations) draft.set_first_iterations(*step.first_iterations);
  if (step.joins_after) {  // what the records have of times and rates is of parts
    Step joined = step;
    joined.seconds = joined.rate = kUnknown;
    draft.add(sample_of(joined));
    draft.join_records_after(*step.joins_after);
  }
  draft.add(sample_of(step));
}

void Assembler::take(const Begin& begin, std::int64_t) {
  Track& of = track(begin.track);
  close(of);
  of.how = begin;
  of.clock = {};
}

void Assembler::each(int id, Of which, std::int64_t line,
                     const std::function<void(RunDraft&)>& change) {
  if (which == Of::all) {
    for (Track& of : tracks_) {
      if (id != kEveryTrack && of.how.track != id) continue;
      for (RunDraft* draft : of.runs) change(*draft);
    }
    return;
  }
  Track& of = track(id);
  if (of.open == nullptr && which == Of::open) return;
  RunDraft& draft = run(of, line);
  facts_(draft.log.facts);
  change(draft);
}

void Assembler::take(const Statement& statement, std::int64_t line) {
  if (statement.line > 0) line = statement.line;
  const std::int64_t stated =
      statement.summary && statement.summary->line > 0 ? statement.summary->line : line;
  if (statement.line == 0) line = stated;
  each(statement.track, statement.of, line, [&](RunDraft& draft) {
    draft.last_line = std::max(draft.last_line, line);
    overwrite(draft.log.planned, statement.planned);
    overwrite(draft.reached, statement.reached);
    overwrite(draft.log.summary, statement.summary);
    if (statement.summary) draft.log.summary->line = stated;
    overwrite(draft.log.totals, statement.totals);
    overwrite(draft.log.memory, statement.memory);
    if (statement.loss) {
      const auto of = std::ranges::find(tracks_, &draft, &Track::open);
      if (of != tracks_.end() && of->held) {
        of->held->loss = statement.loss;
      } else {
        draft.set_loss(*statement.loss, line);
      }
    }
    if (statement.nan_step && !draft.log.first_nan_step)
      draft.log.first_nan_step = statement.nan_step;
    if (statement.unit) draft.log.iteration_unit = *statement.unit;
    if (statement.rate_unit) draft.log.rate_unit = *statement.rate_unit;
  });
}

void Assembler::take(const Known& known, std::int64_t line) {
  const auto overlay = [&](Facts& facts) { facts = merge_facts(known.facts, facts); };
  if (known.of == Of::all) return overlay(out_.facts);
  each(known.track, known.of, line, [&](RunDraft& draft) {
    overlay(draft.log.facts);
    draft.own_facts = draft.own_facts || known.own_facts;
  });
}

void Assembler::take(Note note, std::int64_t line) {
  if (note.of == Of::all) {
    notes_.push_back(std::move(note));
    return;
  }
  each(note.track, note.of, line,
       [&](RunDraft& draft) { draft.log.notices.push_back(note.notice); });
}

bool Assembler::noted(NoticeCode code) const {
  return std::ranges::any_of(notes_, [&](const Note& note) { return note.notice.code == code; });
}

void Assembler::take(const End& end, std::int64_t line) {
  each(end.track, end.of, line, [&](RunDraft& draft) {
    if (end.well) draft.ended_well = true;
    draft.official_end = draft.official_end || end.official;
    if (end.outcome) draft.stated_outcome = end.outcome;
    if (end.here) draft.last_line = std::max(draft.last_line, line);
  });
}

void Assembler::take(const Withdraw& withdraw, std::int64_t) {
  each(withdraw.track, withdraw.of, 0, [](RunDraft& draft) { draft.discard = true; });
  Track& of = track(withdraw.track);
  of.held.reset();
  close(of);
}

void Assembler::finish(std::string_view framework) {
  for (Track& of : tracks_) release(of, std::nullopt);
  if (!framework.empty()) out_.facts.framework.set(std::string(framework), FactSource::log);
  if (out_.drafts().empty()) facts_(out_.facts);  // it failed before its first step
  for (const Note& note : notes_) {
    each(note.track, Of::all, 0,
         [&](RunDraft& draft) { draft.log.notices.push_back(note.notice); });
  }
  for (const Track& of : tracks_) {
    for (RunDraft* draft : of.runs) {
      if (draft->log.off_clock.empty()) continue;
      draft->log.note(NoticeCode::evaluations_off_the_clock, 0);
    }
  }
}

}  // namespace bertbench
