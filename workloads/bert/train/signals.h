// Signals: SIGTERM and SIGINT ask for an end at the next step boundary.
#pragma once

namespace bert {

/// SIGTERM and SIGINT end the program at once with status 130 until training_begins(); from then on
/// they set a flag only, and a second SIGINT kills as usual. SIGPIPE is ignored, so that a closed
/// pipe or socket is an error of the write. Call once, before any thread starts.
void catch_stop_signals();
void training_begins();
/// The signal received, 0 if none.
[[nodiscard]] int stop_signal();

}  // namespace bert
