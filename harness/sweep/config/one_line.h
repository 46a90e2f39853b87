// The one-line form of a sweep, `bertbench sweep --grid AXIS=V1,V2 --each gpu --file NAME=PATH --
// PROGRAM ARG...`, as members of a configuration: above those of a file, or without one.
#pragma once

#include <string>
#include <vector>

#include "parsers/core/error.h"

namespace bertbench {

struct Override;  // parsers/core/config_reader.h

struct OneLine {
  std::vector<std::string> grid;     ///< "AXIS=V1,V2": takes the place of that axis
  std::vector<std::string> files;    ///< "NAME=PATH"; PATH is read now
  std::string each;                  ///< gpu, node, job; empty: not given
  std::vector<std::string> command;  ///< PROGRAM ARG...; empty: not given
};

Result<std::vector<Override>> overrides_of(const OneLine& line);

}  // namespace bertbench
