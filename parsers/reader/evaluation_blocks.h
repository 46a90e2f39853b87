// Evaluations within a training, in the words of training: what the runs of any format become.
#pragma once

#include <vector>

#include "parsers/core/run_log.h"

namespace bertbench {

class MarkRules;

/// A counter that starts over after a line that announces an evaluation counts the
/// evaluation's own steps. Such a block is of kind evaluation, and where the training's counter
/// continues after it (the format may have taken that for a further run, or for the block's) it is
/// the same training; its clock goes back there, so that no rate holds the evaluation's time. The
/// runs stand in order of their first lines.
void part_evaluations(std::vector<RunLog>& runs, const MarkRules& marks);

}  // namespace bertbench
