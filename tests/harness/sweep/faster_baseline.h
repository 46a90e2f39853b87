// A baseline that a run has lost against.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tests/harness/sweep/support.h"

namespace bertbench::test {

/// Writes the results of a run to `path`, each trial's rate `times` as high.
inline void write_faster_baseline(const std::string& run_folder, const std::string& path,
                                  double times) {
  auto result = nlohmann::json::parse(read_file(run_folder + "/results.json"));
  for (auto& cell : result["cells"]) {
    for (auto& trial : cell["trials"]) {
      trial["sequences_per_second"] = trial["sequences_per_second"].get<double>() * times;
    }
  }
  write_file(path, result.dump());
}

}  // namespace bertbench::test
