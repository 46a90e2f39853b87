// Preflight: every node measures itself at the same time, started by the launcher that a sweep
// would use; what differs from the other nodes is named.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "parsers/core/error.h"

namespace bertbench {

/// A node is named when a rate of it is more than this below the median of the others': as for
/// ranks (reports/stats/stragglers.h), less is what equal machines differ by.
inline constexpr double kPreflightFloor = 0.10;
/// Seconds by which a node's wall clock surely differs from this machine's before that is named:
/// more than time servers leave, and enough to put log lines in a wrong order.
inline constexpr double kPreflightSkew_s = 0.5;
/// What a run folder keeps of it.
inline constexpr const char* kPreflightFile = "preflight.json";

/// What one node said (observe/node_probe.h).
struct NodeReading {
  std::int64_t node = 0;
  std::string host;
  double gflops = 0, copy_gb_s = 0;  ///< of one thread
  std::optional<double> clock_mhz;
  /// Its wall clock less this machine's lies between these, seconds: by when its process was
  /// started and ended here, so the width is what starting and ending it took.
  double skew_low_s = 0, skew_high_s = 0;
  std::vector<std::string> findings;  ///< what its own doctor warns of
  std::vector<std::string> outliers;  ///< set by name_outliers()
};

struct Preflight {
  std::string created;  ///< RFC 3339, UTC
  std::string launcher;
  std::int64_t nodes = 0;             ///< that were asked
  std::vector<NodeReading> readings;  ///< of those that answered, by number
  std::vector<std::int64_t> silent;   ///< the others
  bool emulated = false;              ///< the nodes share this machine
  bool interrupted = false;  ///< by SIGINT, SIGTERM or SIGHUP: what is missing was not waited for
  /// Of processes without a reading: how each ended, and its last line.
  std::vector<std::string> unread;
};

/// The line of a probe in what a process printed, from its start to its end by this machine's wall
/// clock. Nothing where there is none.
[[nodiscard]] std::vector<NodeReading> readings_in(const std::string& printed, double started_s,
                                                   double ended_s);
void name_outliers(std::vector<NodeReading>& readings);

struct PreflightOptions {
  std::string launcher;
  std::vector<std::string> sets;  ///< as --set of a sweep: hosts, ssh, slurm ...
  std::int64_t nodes = 0;         ///< 0: as many as there are hosts, or nodes of the allocation
};
/// Errors: what a sweep would refuse as well; a launcher that would queue jobs. Holds SIGINT,
/// SIGTERM and SIGHUP meanwhile: they end the processes and the waiting.
[[nodiscard]] Result<Preflight> run_preflight(const PreflightOptions& options);

/// {"created", "launcher", "emulated", "nodes": [..], "silent": [..], "unread": [..]}; what is not
/// measured has no key.
[[nodiscard]] nlohmann::ordered_json to_json(const Preflight& preflight);

/// For the environment of a result: when, by which launcher, how many nodes answered and what was
/// named. Null where the text is no preflight's.
[[nodiscard]] nlohmann::ordered_json preflight_summary(const std::string& text);

}  // namespace bertbench
