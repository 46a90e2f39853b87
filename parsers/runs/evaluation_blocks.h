// Evaluations within a training, in the words of training: what the runs of any format become.
#pragma once

#include <vector>

#include "parsers/core/run_log.h"

namespace bertbench {

class MarkRules;

/// A counter that begins anew behind a line that says that an evaluation does counts the
/// evaluation's own steps. Such a block is of kind evaluation, and where the training's counter
/// goes on behind it (the format may have taken that for a further run, or for the block's) it is
/// the same training; its clock goes back there, so that no rate holds the evaluation's time. The
/// runs stand in order of their first lines.
void part_evaluations(std::vector<RunLog>& runs, const MarkRules& marks);

}  // namespace bertbench
