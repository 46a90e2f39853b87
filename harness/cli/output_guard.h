// What a command may overwrite: only what this program can have written, and nothing that the same
// command reads.
#pragma once

#include <string>
#include <vector>

#include "parsers/core/error.h"

namespace bertbench {

/// Refuses `path`, the value of `option`, where a file is there that is one of the command's other
/// `arguments` (by any name or link), one that a sweep keeps in its run folder, or one whose ending
/// and beginning are those of no report. What does not exist, is empty, or is no regular file
/// passes.
[[nodiscard]] Result<void> guard_output(const std::string& option, const std::string& path,
                                        const std::vector<std::string>& arguments);

}  // namespace bertbench
