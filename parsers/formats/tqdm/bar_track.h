// Track: a progress bar over all its restarts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/tqdm/bar_leaps.h"
#include "parsers/formats/tqdm/bar_times.h"
#include "parsers/formats/tqdm/tqdm_bar.h"

namespace bertbench {

/// The bar of one description (of one total, if unnamed) and rank, over all its restarts.
struct Track {
  RunDraft* draft = nullptr;
  std::int64_t base = 0;  ///< iterations of the bars that ended
  double base_s = 0;      ///< their seconds
  std::int64_t done = 0;  ///< of the bar that runs now
  double elapsed_s = 0;
  double rate = kUnknown;  ///< of its newest redraw
  BarTimes times;          ///< of the bar that runs now
  /// Drawn at 0 with a rate: its counter began at -1, as in Lightning before 1.5, and its rates
  /// count one iteration too many.
  bool one_ahead = false;
  bool looked = false;  ///< whose bar it is was looked for
  std::int64_t total = 0;
  std::int64_t moved_at = 0;   ///< newest line that shows more of it done
  bool progressed = false;     ///< some bar of this track got beyond 0
  std::int64_t created = 0;    ///< bars drawn at 0
  std::int64_t per_start = 0;  ///< ranks that draw the same bar without a label
  std::int64_t starts = 1;     ///< generations begun
  std::int64_t epoch = -1;     ///< in its name, if any
  bool of_epochs = true;  ///< its counter went along with the epoch in its name: 1 at "Epoch 0"
  BarLeaps::First first;
  bool only_ends = true;          ///< no redraw below its total
  bool first_step = false;        ///< its newest bar stood at 0 when the first step was taken
  std::int64_t outer_at_end = 0;  ///< where the bar around it stood
  std::int64_t ends = 1;          ///< bars of which nothing but the end is kept
};

/// A copy of a terminal keeps a bar's last redraw only. True when this one, after one at its
/// total, is of the next epoch's bar: its clock says otherwise, or the bar around it went on. The
/// Trainer's bar, without name and loss, is drawn once more when all is saved: that is the same.
inline bool is_next_end(const Track& track, const TqdmBar& bar, bool named,
                        std::int64_t outer_done) {
  constexpr double kEndGapSeconds = 2, kEndGapShare = 0.02;  // seconds; ranks end together
  if (!track.only_ends || track.created > 0 || track.draft == nullptr || bar.total == 0) {
    return false;
  }
  const double later = bar.elapsed_s - track.elapsed_s;
  if (later < -std::max(kEndGapSeconds, kEndGapShare * track.elapsed_s)) return true;
  if (track.done != bar.total || bar.done != bar.total || !(named || bar.has_loss)) return false;
  return outer_done > track.outer_at_end ||
         later > std::max(kEndGapSeconds, kEndGapShare * track.elapsed_s);
}

inline void fill_ends(const Track& track, RunDraft& draft) {
  if (track.ends < 2) return;
  draft.log.notices.push_back(make_notice(NoticeCode::bars_one_after_other, 0, track.ends));
}

/// How long a bar ran that has ended. Its elapsed field is cut to whole seconds; where its last
/// redraw shows the mean rate, as tqdm's does when a bar is closed, that gives them finer.
struct Ended {
  double seconds = 0, error = 1;
};
inline Ended seconds_of(const Track& track) {
  const double by_rate = (static_cast<double>(track.done) + (track.one_ahead ? 1 : 0)) / track.rate;
  if (!(track.rate > 0) || std::floor(by_rate) != track.elapsed_s) return {track.elapsed_s, 1};
  const double printed = std::max(track.rate, 1 / track.rate);  // it/s or s/it, of two decimals
  return {by_rate, by_rate * 0.005 / printed};
}

}  // namespace bertbench
