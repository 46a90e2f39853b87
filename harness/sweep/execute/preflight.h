// Preflight: every node measures itself at the same time, started by the launcher that a sweep
// would use; what differs from the other nodes is named.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "parsers/core/error.h"

namespace bertbench {

/// A node is an outlier when one of its rates is more than this share below the median of the other
/// nodes. Equal machines differ by less, as equal ranks do (reports/measure/ranks.h).
inline constexpr double kPreflightFloor = 0.10;
/// Seconds by which a node's wall clock must surely differ from this machine's to be an outlier:
/// more than time servers leave, and enough to put log lines in a wrong order.
inline constexpr double kPreflightSkew_s = 0.5;
/// Name of the file of a run folder that keeps a preflight.
inline constexpr const char* kPreflightFile = "preflight.json";

/// What the probe of one node measured (node_probe.h).
struct NodeReading {
  std::int64_t node = 0;
  std::string host;
  double gflops = 0, copy_gb_s = 0;  ///< of one thread
  std::optional<double> clock_mhz;
  /// The node's wall clock minus this machine's, seconds, lies between these. They are as far apart
  /// as starting and ending the node's process took.
  double skew_low_s = 0, skew_high_s = 0;
  std::vector<std::string> findings;  ///< what its own doctor warns of
  std::vector<std::string> outliers;  ///< set by name_outliers()
};

/// What an all-reduce between two neighbouring nodes gave, by bert_train's tcp communicator
/// (workloads/bert/comm/pair_probe.h).
struct PairReading {
  std::int64_t first = 0, second = 0;  ///< nodes
  std::optional<double> gb_s;          ///< bytes of the sum over its median time
  std::string problem;                 ///< in place of it
  std::string outlier;                 ///< set by name_outliers()
};

struct Preflight {
  std::string created;  ///< RFC 3339, UTC
  std::string launcher;
  std::int64_t nodes = 0;             ///< that were started
  std::vector<NodeReading> readings;  ///< of the nodes that answered, in the order of their numbers
  std::vector<std::int64_t> silent;   ///< numbers of the nodes that did not answer
  bool emulated = false;              ///< the nodes are processes of this machine
  bool interrupted = false;  ///< by SIGINT, SIGTERM or SIGHUP, before all nodes had answered
  /// How each process without a reading ended, with its last line.
  std::vector<std::string> unread;
  std::vector<PairReading> pairs;  ///< by first node
  /// Why no pair was measured; empty where some were, and where there is one node.
  std::string pairs_problem;
};

/// Readings of the probes' lines in what a process printed. `started_s` and `ended_s` are the start
/// and end of that process by this machine's wall clock. Empty where no line is a probe's.
[[nodiscard]] std::vector<NodeReading> readings_in(const std::string& printed, double started_s,
                                                   double ended_s);
/// Likewise those of pairs; of a pair with several lines the one that has a rate.
[[nodiscard]] std::vector<PairReading> pairs_in(const std::string& printed);
/// A node is named by its own rates, and by those of its pairs where all of them are that far below
/// the median of the other pairs; a pair by its own.
void name_outliers(std::vector<NodeReading>& readings, std::vector<PairReading>& pairs);

struct PreflightOptions {
  std::string launcher;
  std::vector<std::string> sets;  ///< as --set of a sweep: hosts, ssh, slurm and so on
  std::int64_t nodes = 0;         ///< 0: as many as there are hosts, or nodes of the allocation
};
/// Errors: whatever a sweep would refuse as well, and a launcher that queues jobs. While it runs,
/// SIGINT, SIGTERM and SIGHUP end the processes and the waiting, not this program.
[[nodiscard]] Result<Preflight> run_preflight(const PreflightOptions& options);

/// {"created", "launcher", "emulated", "nodes": [..], "silent": [..], "unread": [..], "pairs":
/// [..], "pairs_problem"}. A value that was not measured has no key.
[[nodiscard]] nlohmann::ordered_json to_json(const Preflight& preflight);

/// For the environment of a result: when and by which launcher it was made, how many nodes answered
/// and which are outliers. Null where `text` is not that of a preflight file.
[[nodiscard]] nlohmann::ordered_json preflight_summary(const std::string& text);

}  // namespace bertbench
