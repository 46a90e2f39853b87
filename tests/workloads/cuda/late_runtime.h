// A stand-in for the CUDA runtime whose streams run late, in orders that a test chooses: whatever
// relies on more than events promise reads what is not there yet or no longer.
#pragma once

#include <functional>

namespace bert::late {

enum class Pace {
  at_once,       ///< after each call, all that can run: what the other stand-in does
  late,          ///< nothing runs until the host waits for it
  oldest_first,  ///< after each call, the stream made first goes as far as it can
  newest_first,  ///< the same of the stream made last
  random,        ///< after each call, a few jobs of any stream
};
/// For all that is queued from now on; streams must be empty.
void set_pace(Pace pace, unsigned seed = 1);

/// What the host does when it waits: streams go on until it is so. Throws when it never will be.
void run_until(const std::function<bool()>& so);

}  // namespace bert::late
