// The phases of a training, which are cells of their own: one after the other, and together.
#pragma once

#include "reports/model/cell_source.h"
#include "reports/output/table.h"

namespace bertbench {

/// For each run of one or several in a result, and each trial of its cells with the context key
/// "phases" a row each phase, then one of all together: optimizer steps, sequences, seconds (of the
/// process, else of the training) and what they give in sequences/s, from the trials'
/// reconciliation. A sum is empty where a phase lacks the figure. Without rows where no cell is a
/// phase.
[[nodiscard]] Table phases_table(const CellSource& cells);

}  // namespace bertbench
