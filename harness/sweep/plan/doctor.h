// The findings of `bertbench doctor` as a pure function of what was seen.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/observe/environment.h"
#include "harness/sweep/observe/machine.h"

namespace bertbench {

struct DoctorInput {
  Machine machine;
  std::optional<std::int64_t> free_bytes;        ///< where a sweep would write
  std::map<std::string, std::string> programs;   ///< name -> full path, empty = missing
  std::map<std::string, std::string> variables;  ///< of OMP_*, MKL_*, CUDA_VISIBLE_DEVICES ...
};

std::vector<DoctorFinding> diagnose(const DoctorInput& input);

}  // namespace bertbench
