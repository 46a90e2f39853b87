// The result sets of tests/data/results, made by hand for the reports; no measurements.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "reports/model/result_io.h"
#include "reports/output/render.h"
#include "tests/read_file.h"

namespace bertbench::result_files {

/// dlperf_mxnet: seven trials of six topologies, the speeds that DLPerf printed for MXNet.
/// failures: out of memory, NaN, a retry, a notice, and a log of which nothing is known.
/// hostile: text that would run in a terminal, a browser or a spreadsheet.
/// quickstart: two models, stand-ins for GPUs. empty: no cells. everything: something for each
/// section of a report: ranks, phases, parts, pairs, heat, a simulated cluster, iterations.
inline constexpr const char* kNames[] = {"dlperf_mxnet", "empty",   "everything",
                                         "failures",     "hostile", "quickstart"};

using test::read_file;

inline std::string path_of(const std::string& name) {
  return std::string(BB_SOURCE_DIR) + "/tests/data/results/" + name + ".json";
}

inline ResultSet read(const std::string& name) {
  auto set = read_result_set(path_of(name));
  EXPECT_TRUE(set) << set.error().message();
  return set ? *set : ResultSet{};
}

inline std::string render(const Report& report, const ResultSet& set) {
  return render_text(report, set, {});
}

inline std::string render(const std::string& report, const ResultSet& set) {
  const auto found = find_report(report);
  EXPECT_TRUE(found) << report;
  return found ? render(**found, set) : std::string();
}

}  // namespace bertbench::result_files
