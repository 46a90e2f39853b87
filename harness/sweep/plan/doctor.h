// Doctor: what would spoil a measurement on this machine.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/sweep/observe/machine.h"

namespace bertbench {

enum class Severity { ok, info, warning };

struct DoctorFinding {
  Severity severity = Severity::ok;
  std::string subject;  ///< "governor", "load", "threads", "clock source" ...
  std::string text;     ///< what was found
  std::string advice;   ///< what to do about it; empty when ok
};

std::string_view name(Severity severity);

struct DoctorInput {
  Machine machine;
  std::optional<std::int64_t> free_bytes;        ///< where a sweep would write
  std::map<std::string, std::string> programs;   ///< name -> full path, empty = missing
  std::map<std::string, std::string> variables;  ///< of OMP_*, MKL_*, CUDA_VISIBLE_DEVICES ...
};

/// The findings as a pure function of what was seen, worst first.
std::vector<DoctorFinding> diagnose(const DoctorInput& input);

/// Those of this machine as it is now. `path`: where a sweep would write (free space).
std::vector<DoctorFinding> doctor(const std::string& path = ".");

}  // namespace bertbench
