// Signals: SIGTERM and SIGINT ask for an end at the next step boundary.
#pragma once

namespace bert {

/// From now on SIGTERM and SIGINT only set a flag (a second SIGINT kills as usual); SIGPIPE is
/// ignored, so that a closed pipe is a write error. Call once, before any thread starts.
void catch_stop_signals();
/// The signal received, 0 if none.
[[nodiscard]] int stop_signal();

}  // namespace bert
