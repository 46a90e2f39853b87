// The launch templates of workloads/external, built into the program so that it needs no data
// folder at run time. Generated from the files.
#pragma once

#include <span>
#include <string_view>

namespace bertbench {

struct BuiltinTemplate {
  std::string_view name;
  std::string_view text;  ///< JSON with comments
};

std::span<const BuiltinTemplate> builtin_templates();

}  // namespace bertbench
