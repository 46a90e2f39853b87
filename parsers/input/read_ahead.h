// Unpacking next to the scan.
#pragma once

#include <memory>

#include "parsers/input/input.h"

namespace bertbench {

/// The same bytes, read by a thread of its own into a few blocks, if `source` is slow; else
/// `source` itself. At most 1 MiB waits.
[[nodiscard]] std::unique_ptr<ByteSource> read_ahead(std::unique_ptr<ByteSource> source);

}  // namespace bertbench
