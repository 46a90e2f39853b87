// BarLeaps: bars of resumed runs, which leap from 0 to where the run goes on.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "parsers/formats/tqdm/tqdm_bar.h"

namespace bertbench {

class RunDraft;

/// A resumed run draws its bar at 0 and then leaps: the rate that the bar smooths, its mean and the
/// Hugging Face Trainer's closing rates hold the leap.
class BarLeaps {
 public:
  /// What a bar remembers of its first redraw beyond 0, if that may be a leap.
  struct First {
    std::int64_t done = 0;
    double elapsed_s = 0;
    double rate = 0;       ///< iterations/s as printed
    bool goes_on = false;  ///< more redraws of the same second: batches are skipped one by one
  };
  /// A line that says at which step the run goes on.
  void see_resumed(std::string_view text);
  /// A redraw beyond 0; `fresh` if it is the first one of a bar that was drawn at 0 before.
  void see(bool fresh, const TqdmBar& bar, RunDraft* draft, std::int64_t line, First& first);
  /// Takes what holds a leap out of the runs, with a notice; a total counts from where they begin.
  void conclude();

 private:
  struct Leap {
    RunDraft* draft = nullptr;
    std::int64_t to = 0, line = 0;
    bool drawn = false;  ///< the bar was first drawn there
  };
  void add(const Leap& leap);

  std::vector<Leap> leaps_;
  std::int64_t resumed_at_ = 0;  ///< of the run whose bar did not come yet
};

}  // namespace bertbench
