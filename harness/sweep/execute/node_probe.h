// NodeProbe: what one node prints of itself when a preflight asks all of them at once.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace bertbench {

/// {"node_probe": 1, "node": its number by the launcher's variables, "host", "gflops", "copy_gb_s"
/// (medians of readings of one thread, speed_probe.h), "clock_mhz" of the fastest core after them,
/// where the kernel shows it, "begin_s", "end_s": its wall clock around all that, seconds since
/// 1970 UTC, "findings": what its own doctor warns of, as {"subject", "text"}}. Takes half a
/// second. The variable BERTBENCH_PROBE_HANDICAP, "300%@2", makes node 2 idle three times as long
/// as it works: to test a preflight.
nlohmann::ordered_json probe_node();

/// Seconds since 1970 UTC by this machine's wall clock.
double wall_s();

}  // namespace bertbench
