// How the fields of a result set are read: shared by the parts of its reader only.
#pragma once

#include "reports/model/json_reader.h"
#include "reports/model/result_set.h"

namespace bertbench {

/// One element of `cells`; an error stays in the reader.
void read_cell(JsonReader& in, Cell& cell);

/// Everything but the cells.
void read_head(JsonReader& in, ResultSet& results);

}  // namespace bertbench
