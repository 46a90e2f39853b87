// A convergence study as table, JSON, CSV, plots and a page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reports/output/plot/figure.h"
#include "reports/output/table.h"
#include "reports/studies/convergence/study.h"

namespace bertbench {

[[nodiscard]] Table study_table(const Study& study);
/// Mean and standard deviation (n - 1) over seeds; no rows when no checkpoint has two.
[[nodiscard]] Table stability_table(const Study& study);

/// "bertbench.convergence/1".
[[nodiscard]] nlohmann::ordered_json study_json(const Study& study);
[[nodiscard]] std::string study_csv(const Study& study);

/// Exact match at the phase-1 checkpoints, at the later ones by the phase-1 checkpoint they went on
/// from, against hours of pre-training, against epochs of fine-tuning: those that have two points.
[[nodiscard]] std::vector<plot::Figure> study_figures(const Study& study);

[[nodiscard]] std::string study_html(const Study& study, const std::string& title);
/// `stem`: of the plots' file names "<stem>-<figure id>.svg"; empty: without plots.
[[nodiscard]] std::string study_markdown(const Study& study, const std::string& title,
                                         const std::string& stem);

}  // namespace bertbench
