// RankTimes: what a step takes this rank by itself. Ranks wait for each other in every step, so
// that all have the same step time; what is left without the waiting shows which of them is slow.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

namespace bert {

/// Prints a line for every stretch of a run, at most kMostLines of them:
///   rank_time rank=3 node=1:gpu07 steps=11:20 own_s=0.01234
/// own_s: mean seconds of a step from the end of the one before, less what the rank waited inside
/// collectives and for checkpoints. Monotonic clock. The line is read from any log (docs/ranks.md).
class RankTimes {
 public:
  static constexpr std::int64_t kMostLines = 64;

  /// `who` is "rank=3 node=1:gpu07"; null `out`: nothing is measured or printed. Steps first ..
  /// last are to be done. `redrawn`: the log's newest line may be a bar that has no end yet.
  RankTimes(std::string who, std::int64_t first, std::int64_t last, bool redrawn,
            std::ostream* out);

  /// The first step begins.
  void begin();
  /// Seconds that this step waited for others.
  void waited(double seconds) { waited_s_ += seconds; }
  /// Calls `collective`, all of whose time is waiting.
  template <class Collective>
  void wait(Collective&& collective) {
    const double start = now();
    collective();
    waited(now() - start);
  }
  void step_done(std::int64_t step);

 private:
  static double now();  ///< seconds, monotonic

  std::string who_;
  std::int64_t first_, last_, stretch_;
  bool redrawn_;
  std::ostream* out_;
  double begin_s_ = 0;   ///< of the stretch
  double waited_s_ = 0;  ///< within it
};

}  // namespace bert
