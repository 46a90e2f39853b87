// Files that are read as one text: results, configurations, tables. Logs are not (parsers/input).
#pragma once

#include <cstddef>
#include <string>

#include "parsers/core/error.h"

namespace bertbench {

/// The bytes of a file, of a pipe, or of stdin for "-". An error where it is a folder, cannot be
/// read to its end, or has more than `most_mib` MiB, so that a wrong path (/dev/zero, a checkpoint)
/// does not take all memory; `hint` is the hint of each of these errors.
[[nodiscard]] Result<std::string> read_whole_file(const std::string& path, std::size_t most_mib,
                                                  const std::string& hint);

}  // namespace bertbench
