#include "parsers/formats/tqdm/bar_leaps.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "parsers/assemble/run_builder.h"
#include "parsers/lines/cursor.h"

namespace bertbench {

void BarLeaps::see_resumed(std::string_view text) {
  Cursor cursor(text, false);
  if (cursor.skip_past("global step ")) resumed_at_ = cursor.grouped_integer().value_or(0);
}

void BarLeaps::add(const Leap& leap) {
  constexpr std::size_t kMostLeaps = 64;  // hostile input
  const bool known =
      std::ranges::any_of(leaps_, [&](const Leap& other) { return other.draft == leap.draft; });
  if (leap.draft != nullptr && !known && leaps_.size() < kMostLeaps) leaps_.push_back(leap);
}

void BarLeaps::see(bool fresh, const TqdmBar& bar, RunDraft* draft, std::int64_t line,
                   First& first) {
  constexpr std::int64_t kFirstUpdates = 10, kLaterUpdates = 20;
  if (resumed_at_ > 0 && draft != nullptr && draft->count() == 0 && bar.done >= resumed_at_ &&
      bar.total > resumed_at_) {
    add({draft, resumed_at_, line, false});
    resumed_at_ = 0;
  }
  // "500/1000 [00:00<?, ?it/s]": tqdm(initial=500), whose rates are right.
  if (!fresh && bar.elapsed_s == 0 && std::isnan(bar.rate) && draft != nullptr &&
      draft->count() == 0) {
    add({draft, bar.done, line, true});
    return;
  }
  if (fresh) {
    if (bar.done >= kFirstUpdates) first = {bar.done, bar.elapsed_s, bar.rate};
    return;
  }
  if (first.done == 0 || bar.done <= first.done) return;
  const auto before = static_cast<double>(first.done);
  const auto steps = static_cast<double>(bar.done - first.done);
  const double seconds = bar.elapsed_s - first.elapsed_s;
  // Not a log whose lines between were left out.
  const bool wide = before >= 20 * steps && first.elapsed_s <= 5;
  // In the first second the elapsed time says nothing, but the printed rate knows it better.
  const double sure_rate = before / std::max(first.elapsed_s, 1.0);
  const double printed_rate = first.elapsed_s <= 1 && first.done >= kLaterUpdates ? first.rate : 0;
  const double after = 5 * steps / seconds;
  const bool fast = seconds >= 1 && (sure_rate > after || printed_rate > after);
  // Where many batches were skipped, the run goes on somewhere before this redraw.
  if (wide || fast) add({draft, first.goes_on ? bar.done : first.done, line, false});
  first.goes_on = first.goes_on || (2 * steps >= before && bar.rate > 0.8 * first.rate);
  if (wide || seconds >= 1) first = {};
}

void BarLeaps::conclude() {
  for (const Leap& leap : leaps_) {
    RunLog& log = leap.draft->log;
    const Record* last = leap.draft->last();
    if (last != nullptr && last->step > leap.to) {
      Totals& totals = log.totals;
      totals.iterations = last->step - leap.to;
      const auto& records = leap.draft->records();
      const auto landed = std::ranges::find(records, leap.to, &Record::step);
      const double since = landed != records.end() ? landed->time_s : 0;
      if (!totals.training_s && !totals.wall_s && last->time_s > since) {
        totals.training_s = last->time_s - since;
      }
    }
    leap.draft->begin_at(leap.to);
    if (leap.drawn) continue;
    log.rate_unit = RateUnit::unknown;
    log.summary.reset();
    log.notices.push_back(make_notice(NoticeCode::bar_leaps, leap.line, leap.to));
  }
}

}  // namespace bertbench
