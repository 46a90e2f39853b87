// BarUnits: what follows for a run whose bar counts something else than plain iterations.
#pragma once

#include <vector>

#include "parsers/formats/tqdm/tqdm_bar.h"

namespace bertbench {

class RunDraft;

/// A bar of examples ("128.00 examples/s") gives sequences/s, of the process that draws it; one
/// with unit_scale rounds its counter ("3.20k/100k").
class BarUnits {
 public:
  void see(const TqdmBar& bar, int rank, RunDraft& draft);
  void conclude();

 private:
  struct Seen {
    RunDraft* draft = nullptr;
    int rank = -1;
    bool several_ranks = false, examples = false, rounded = false;
  };
  std::vector<Seen> seen_;  ///< drafts of such bars only
};

}  // namespace bertbench
