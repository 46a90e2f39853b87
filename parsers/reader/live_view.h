// The state of one run of a log that is still growing.
#pragma once

#include "parsers/reader/log_reader.h"

namespace bertbench {

class RunDraft;

/// All but the facts and the trouble, which are the whole log's.
[[nodiscard]] LiveView view_of(const RunDraft& draft);

}  // namespace bertbench
