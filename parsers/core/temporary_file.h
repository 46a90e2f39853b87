#pragma once

#include <cstdio>
#include <memory>

namespace bertbench {

using FileHandle = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

/// A file without a name in $TMPDIR or /tmp, which is gone when it is closed; child processes do
/// not get it. Null where none can be made.
[[nodiscard]] FileHandle open_temporary_file();

}  // namespace bertbench
