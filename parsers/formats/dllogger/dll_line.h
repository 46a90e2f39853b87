// The usual iteration line of DLLogger's JSON, parsed without a JSON library.
#pragma once

#include <string_view>

#include "parsers/formats/dllogger/dll_run.h"

namespace bertbench {

/// Parses the object after "DLLL " of a flat LOG line of one or two step numbers, written as
/// json.dumps does: ASCII, no escapes, no nesting. What it gives is what the JSON library gives
/// (tests/parsers/dll_line_test.cpp), in a fraction of the time. False for any other text, right or
/// wrong: the library decides.
[[nodiscard]] bool read_dll_line(std::string_view text, DllStep& out);

}  // namespace bertbench
