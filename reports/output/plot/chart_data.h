// A figure as the data that the report's script hands to the chart library.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "reports/output/plot/figure.h"

namespace bertbench::plot {

/// {"id", "title", "x": {"label", "low", "high", "log", "percent", "ticks"}, "y": the same and
/// "rows", "series": [{"name", "colour", "mark", "group", "points": [[x, y, low, high, tip] ...]}],
/// "groups": [name ...], "groups_shown",
/// "bands": [[from, to, label, colour]], "references": [[at, label]]}. Six significant digits.
[[nodiscard]] nlohmann::ordered_json chart_data(Figure figure);

}  // namespace bertbench::plot
