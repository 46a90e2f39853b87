// Goodput as tables, JSON and a picture.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "reports/output/plot/figure.h"
#include "reports/output/table.h"
#include "reports/studies/goodput/goodput.h"

namespace bertbench {

/// A row a part that took time, with its share.
[[nodiscard]] Table goodput_table(const Goodput& goodput);
/// A row a job.
[[nodiscard]] Table goodput_jobs_table(const Goodput& goodput);
/// A row a job, at most kMostJobsShown of them, with its stretches over time.
[[nodiscard]] plot::Figure goodput_figure(const Goodput& goodput);
inline constexpr std::size_t kMostJobsShown = 60;
/// "bertbench.goodput/1".
[[nodiscard]] nlohmann::ordered_json goodput_json(const Goodput& goodput);
[[nodiscard]] std::string goodput_html(const Goodput& goodput, const std::string& title);

}  // namespace bertbench
