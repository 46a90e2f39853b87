// How fast this machine is right now, by work that is always the same: what a day, a neighbour or a
// clock does to every trial shows here as well, what a change of the trainer does not.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace bertbench {

/// One thread, which keeps its 16 MiB from probe to probe. A reading is work over wall time, so it
/// holds what the hypervisor and other programs took.
class SpeedProbe {
 public:
  /// {"gflops": of a product of matrices that fit into the first cache, "copy_gb_s": bytes read and
  /// written by a copy}. Takes `seconds`, half for each. After each pass it idles for `handicap`
  /// times what the pass took: a slow machine, for tests.
  [[nodiscard]] nlohmann::ordered_json read(double seconds, double handicap = 0);

 private:
  std::vector<float> from_, to_;
};

}  // namespace bertbench
