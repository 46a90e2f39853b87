#include "harness/sweep/execute/preflight.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/sweep/config/config.h"
#include "harness/sweep/config/workload.h"
#include "harness/sweep/execute/node_probe.h"
#include "harness/sweep/execute/open_attempt.h"
#include "harness/sweep/journal/journal.h"
#include "harness/sweep/plan/launcher.h"
#include "harness/sweep/plan/plan.h"
#include "harness/sweep/process/folder.h"
#include "harness/sweep/process/proc_fs.h"
#include "harness/sweep/process/process.h"
#include "harness/sweep/process/program.h"
#include "harness/sweep/process/stop_signals.h"
#include "harness/sweep/process/temporary_folder.h"
#include "parsers/core/median.h"
#include "parsers/core/text.h"
#include "reports/model/json_put.h"

namespace bertbench {
namespace {

using Json = nlohmann::ordered_json;

using Clock = std::chrono::steady_clock;

constexpr double kLongest_s = 120;  // of a node that answers; a probe takes half a second
constexpr int kPairTimeout_s = 10;  // for ranks to meet, and for one all-reduce of 4 MiB
constexpr std::int64_t kMostNodes = 1'000'000;  // their numbers are below it
constexpr std::size_t kMostNamed = 64;          // outliers that a result keeps
constexpr double kGrace_s = 5;  // in which a launcher ends what it started on other nodes

std::optional<NodeReading> reading_of(const Json& json, double started_s, double ended_s) {
  const auto number = [&](const char* key) { return number_at(json, key); };
  const auto gflops = number("gflops"), copy = number("copy_gb_s"), begin_s = number("begin_s"),
             end_s = number("end_s"), node = number("node");
  if (!gflops || !copy || !begin_s || !end_s || !node || !(*gflops > 0) || !(*copy > 0) ||
      !(*node >= 0) || !(*node < kMostNodes)) {
    return std::nullopt;
  }
  NodeReading out;
  out.node = static_cast<std::int64_t>(*node);
  out.host = text_at(json, "host");
  out.gflops = *gflops;
  out.copy_gb_s = *copy;
  out.clock_mhz = number("clock_mhz");
  out.skew_low_s = *end_s - ended_s;
  out.skew_high_s = *begin_s - started_s;
  for (const Json& finding : json.value("findings", Json::array())) {
    if (finding.is_object()) {
      out.findings.push_back(text_at(finding, "subject") + ": " + text_at(finding, "text"));
    }
  }
  return out;
}

/// A sweep of one trial on `nodes` nodes, whose trainer is this command.
Result<Plan> plan_of(const PreflightOptions& options, std::int64_t nodes,
                     std::vector<std::string> command, const std::string& each) {
  OneLine line;
  line.command = std::move(command);
  line.each = each;
  line.grid = {fmt::format("topology={}n1g", nodes)};
  const auto config = parse_config("{}", "", options.sets, line);
  if (!config) return tl::unexpected(config.error());
  PlanOptions how;
  how.launcher = options.launcher;
  how.trials = 1;
  return make_plan(*config, how);
}

/// Nodes that are asked: those that are named, else the hosts, else those of the allocation.
Result<std::int64_t> nodes_of(const PreflightOptions& options, const Launcher& launcher) {
  if (options.nodes > 0) return options.nodes;
  OneLine line;
  line.command = {"true"};
  line.grid = {"topology=1n1g"};
  const auto config = parse_config("{}", "", options.sets, line);
  if (!config) return tl::unexpected(config.error());
  if (!config->hosts.empty()) return static_cast<std::int64_t>(config->hosts.size());
  const std::int64_t allocated = launcher.allocated_nodes ? launcher.allocated_nodes() : 0;
  return std::max<std::int64_t>(1, allocated);
}

/// bert_train as it measures pairs; a handicap as for node_probe.h.
std::vector<std::string> pair_command() {
  std::vector<std::string> out{locate_trainer(), "--probe-pairs", "--comm-timeout",
                               std::to_string(kPairTimeout_s)};
  if (const char* handicap = std::getenv("BERTBENCH_PROBE_HANDICAP")) {
    out.insert(out.end(), {"--handicap", handicap});
  }
  return out;
}

std::string last_line(const std::string& printed) {
  constexpr std::size_t kShown = 200;  // bytes
  std::string_view last;
  for (const std::string_view line : split(printed, '\n')) {
    if (!trim(line).empty()) last = trim(line);
  }
  return std::string(last.substr(0, kShown));
}

/// What a process printed, from when to when by this machine's wall clock, and how it ended.
struct Answer {
  std::string printed;
  double started_s = 0, ended_s = 0;
  std::optional<ExitStatus> status;

  [[nodiscard]] std::string ending() const {
    return fmt::format("{}: {}", status ? status->str() : "still ran at the end",
                       last_line(printed));
  }
};

/// Starts all processes at once and waits for them. A signal, or kLongest_s, ends them.
Result<std::vector<Answer>> ask(const std::vector<ProcessSpec>& specs, const Folder& folder,
                                const StopSignals& signals) {
  ProcessGroup group;
  std::vector<Answer> out(specs.size());
  const auto name = [](std::size_t i) { return fmt::format("{}.txt", i); };
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto log = folder.create_log(name(i));
    if (!log) return tl::unexpected(log.error());
    out[i].started_s = wall_s();
    const auto started = group.start(specs[i], *log);
    if (!started) return tl::unexpected(started.error());
  }
  const auto begin = Clock::now();
  std::optional<Clock::time_point> ending;
  auto members = group.members();  // before they were asked to end; kill_all() forgets them
  while (group.running()) {
    group.wait(std::chrono::milliseconds(500), signals.wake_fd());
    signals.drain();
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (group.members()[i].second && out[i].ended_s == 0) out[i].ended_s = wall_s();
    }
    if (!ending) members = group.members();
    if (ending) {
      if (seconds_since(*ending) > kGrace_s || signals.count() > 1) break;
    } else if (signals.count() > 0 || seconds_since(begin) > kLongest_s) {
      ending = Clock::now();
      group.signal(SIGTERM);
    }
  }
  group.kill_all();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (out[i].ended_s == 0) out[i].ended_s = wall_s();
    out[i].printed = proc::read_file(folder.path_of(name(i)));
    out[i].status = members[i].second;
    folder.remove(name(i));
  }
  return out;
}

/// The answers of one launch of `plan`.
Result<std::vector<Answer>> launch_and_ask(const Launcher& launcher, const Plan& plan,
                                           const Folder& folder, const StopSignals& signals) {
  const LaunchPlace place{folder.path(), free_port(),
                          fmt::format("preflight-{}-{:.0f}", ::getpid(), wall_s())};
  const auto specs = launcher.processes(plan, plan.trials.front(), place);
  if (!specs) return tl::unexpected(specs.error());
  return ask(*specs, folder, signals);
}

void read_nodes(const std::vector<Answer>& answers, Preflight& out) {
  for (const Answer& answer : answers) {
    auto readings = readings_in(answer.printed, answer.started_s, answer.ended_s);
    if (readings.empty()) out.unread.push_back(answer.ending());
    std::ranges::move(readings, std::back_inserter(out.readings));
  }
  std::ranges::stable_sort(out.readings, {}, &NodeReading::node);
  const auto twice = std::ranges::unique(out.readings, {}, &NodeReading::node);
  out.readings.erase(twice.begin(), twice.end());
}

/// Without a pair the ending of the first process that failed is the reason.
void read_pairs(const std::vector<Answer>& answers, Preflight& out) {
  std::string printed;
  for (const Answer& answer : answers) printed += answer.printed + "\n";
  out.pairs = pairs_in(printed);
  if (!out.pairs.empty()) return;
  const auto failed = std::ranges::find_if(
      answers, [](const Answer& answer) { return !answer.status || !answer.status->success(); });
  out.pairs_problem = failed == answers.end() ? "nothing was printed" : failed->ending();
}

}  // namespace

std::vector<NodeReading> readings_in(const std::string& printed, double started_s, double ended_s) {
  std::vector<NodeReading> out;
  for (const std::string_view line : split(printed, '\n')) {
    const auto at = line.find("{\"node_probe\":");
    if (at == line.npos) continue;
    const auto json = Json::parse(line.substr(at), nullptr, false);
    if (!json.is_object()) continue;
    if (auto reading = reading_of(json, started_s, ended_s)) out.push_back(std::move(*reading));
  }
  return out;
}

std::vector<PairReading> pairs_in(const std::string& printed) {
  std::map<std::pair<std::int64_t, std::int64_t>, PairReading> out;
  for (const std::string_view line : split(printed, '\n')) {
    const auto at = line.find("{\"pair_probe\":");
    if (at == line.npos) continue;
    const auto json = Json::parse(line.substr(at), nullptr, false);
    if (!json.is_object()) continue;
    const Json nodes = json.value("nodes", Json());
    const auto is_node = [](const Json& node) {
      return node.is_number_integer() && node >= 0 && node < kMostNodes;
    };
    if (!nodes.is_array() || nodes.size() != 2 || !is_node(nodes[0]) || !is_node(nodes[1])) {
      continue;
    }
    PairReading pair{nodes[0], nodes[1], std::nullopt, {}, {}};
    if (const auto rate = number_at(json, "gb_s"); rate && *rate > 0) pair.gb_s = rate;
    pair.problem = text_at(json, "problem");
    if (!pair.gb_s && pair.problem.empty()) continue;
    PairReading& known = out.try_emplace({pair.first, pair.second}, pair).first->second;
    if (!known.gb_s && pair.gb_s) known = std::move(pair);
  }
  std::vector<PairReading> pairs;
  for (auto& [nodes, pair] : out) pairs.push_back(std::move(pair));
  return pairs;
}

namespace {

/// How far the value is below the median of the others, where there are any and it is too far.
std::optional<double> far_below(double value, const std::vector<double>& others) {
  if (others.empty()) return std::nullopt;
  const double below = 1 - value / median(others);
  return below > kPreflightFloor ? std::optional(below) : std::nullopt;
}

void name_pairs(std::vector<NodeReading>& readings, std::vector<PairReading>& pairs) {
  std::map<std::int64_t, std::pair<int, int>> of_node;  // pairs that were measured, and named
  for (PairReading& pair : pairs) {
    if (!pair.gb_s) continue;
    std::vector<double> others;
    for (const PairReading& other : pairs) {
      if (&other != &pair && other.gb_s) others.push_back(*other.gb_s);
    }
    const auto below = far_below(*pair.gb_s, others);
    if (below) {
      pair.outlier =
          fmt::format("all-reduce {:.0f} % below the median of the other pairs", 100 * *below);
    }
    for (const std::int64_t node : {pair.first, pair.second}) {
      auto& [measured, named] = of_node[node];
      ++measured;
      named += below ? 1 : 0;
    }
  }
  constexpr int kBothNeighbours = 2;
  for (NodeReading& reading : readings) {
    const auto [measured, named] = of_node[reading.node];
    if (measured == kBothNeighbours && named == measured) {
      reading.outliers.emplace_back("all-reduce slow with both neighbours");
    }
  }
}

}  // namespace

void name_outliers(std::vector<NodeReading>& readings, std::vector<PairReading>& pairs) {
  struct Rate {
    const char* name;
    double NodeReading::*value;
  };
  constexpr Rate kRates[] = {{"GEMM", &NodeReading::gflops}, {"memory", &NodeReading::copy_gb_s}};
  for (NodeReading& reading : readings) {
    for (const Rate& rate : kRates) {
      std::vector<double> others;
      for (const NodeReading& other : readings) {
        if (&other != &reading) others.push_back(other.*rate.value);
      }
      if (const auto below = far_below(reading.*rate.value, others)) {
        reading.outliers.push_back(
            fmt::format("{} {:.0f} % below the median of the others", rate.name, 100 * *below));
      }
    }
    if (reading.skew_low_s > kPreflightSkew_s || reading.skew_high_s < -kPreflightSkew_s) {
      const double least = reading.skew_low_s > 0 ? reading.skew_low_s : -reading.skew_high_s;
      reading.outliers.push_back(fmt::format("clock at least {:.1f} s {} this machine's", least,
                                             reading.skew_low_s > 0 ? "before" : "after"));
    }
  }
  name_pairs(readings, pairs);
}

Result<Preflight> run_preflight(const PreflightOptions& options) {
  const auto launcher = find_launcher(options.launcher);
  if (!launcher) return tl::unexpected(launcher.error());
  const auto nodes = nodes_of(options, **launcher);
  if (!nodes) return tl::unexpected(nodes.error());
  const auto plan = plan_of(options, *nodes, {own_program(), "doctor", "--node-probe"}, "node");
  if (!plan) return tl::unexpected(plan.error());
  if ((*launcher)->queue() != nullptr) {
    return fail("launcher " + options.launcher, "would queue jobs, and a preflight is for now",
                "run it inside an allocation: salloc -N NODES bertbench doctor --launcher " +
                    options.launcher);
  }
  if ((*launcher)->check != nullptr) {
    if (auto good = (*launcher)->check(*plan); !good) return tl::unexpected(good.error());
  }
  prepare_to_run_processes();
  const StopSignals signals(true);  // before the folder, which goes while they are still held
  const TemporaryFolder temporary("preflight");
  auto folder = Folder::make_root(temporary.path());
  if (!folder) return tl::unexpected(folder.error());

  Preflight out;
  const auto answers = launch_and_ask(**launcher, *plan, *folder, signals);
  if (!answers) return tl::unexpected(answers.error());
  read_nodes(*answers, out);
  out.created = utc_now();
  out.launcher = options.launcher;
  const PlannedCell& cell = plan->cells[plan->trials.front().cell];
  out.nodes = cell.topology.nodes;
  out.emulated = cell.emulated && out.nodes > 1;
  if (out.nodes > 1 && signals.count() == 0) {
    const auto measured =
        plan_of(options, *nodes, pair_command(), "gpu").and_then([&](const Plan& pairs) {
          return launch_and_ask(**launcher, pairs, *folder, signals);
        });
    if (measured) {
      read_pairs(*measured, out);
    } else {
      out.pairs_problem = measured.error().message();
    }
  }
  out.interrupted = signals.count() > 0;
  std::set<std::int64_t> known;
  for (const NodeReading& reading : out.readings) known.insert(reading.node);
  for (std::int64_t node = 0; node < out.nodes; ++node) {
    if (!known.contains(node)) out.silent.push_back(node);
  }
  name_outliers(out.readings, out.pairs);
  return out;
}

Json to_json(const Preflight& preflight) {
  auto nodes = Json::array();
  for (const NodeReading& reading : preflight.readings) {
    Json node{{"node", reading.node},
              {"host", reading.host},
              {"gflops", reading.gflops},
              {"copy_gb_s", reading.copy_gb_s}};
    if (reading.clock_mhz) node["clock_mhz"] = *reading.clock_mhz;
    node["skew_s"] = {{"low", reading.skew_low_s}, {"high", reading.skew_high_s}};
    node["findings"] = reading.findings;
    node["outliers"] = reading.outliers;
    nodes.push_back(std::move(node));
  }
  Json out{{"created", preflight.created},   {"launcher", preflight.launcher},
           {"emulated", preflight.emulated}, {"nodes", nodes},
           {"silent", preflight.silent},     {"unread", preflight.unread}};
  for (const PairReading& pair : preflight.pairs) {
    Json row{{"nodes", {pair.first, pair.second}}};
    if (pair.gb_s) row["gb_s"] = *pair.gb_s;
    if (!pair.gb_s) row["problem"] = pair.problem;
    if (!pair.outlier.empty()) row["outlier"] = pair.outlier;
    out["pairs"].push_back(std::move(row));
  }
  if (!preflight.pairs_problem.empty()) out["pairs_problem"] = preflight.pairs_problem;
  return out;
}

Json preflight_summary(const std::string& text) {
  const auto json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("nodes") || !json["nodes"].is_array()) return nullptr;
  Json out = Json::object();
  for (const char* key : {"created", "launcher"}) {
    if (json.contains(key) && json[key].is_string()) out[key] = json[key];
  }
  out["nodes"] = json["nodes"].size();
  auto named = Json::array();
  for (const Json& node : json["nodes"]) {
    if (!node.is_object() || !node.value("outliers", Json::array()).is_array()) continue;
    for (const Json& outlier : node.value("outliers", Json::array())) {
      if (!outlier.is_string() || named.size() >= kMostNamed) continue;
      const Json number = node.value("node", Json()), host = node.value("host", Json());
      named.push_back(fmt::format(
          "node {} ({}): {}", number.is_number_integer() ? number.get<std::int64_t>() : -1,
          host.is_string() ? host.get<std::string>() : "?", outlier.get<std::string>()));
    }
  }
  for (const Json& pair : json.value("pairs", Json::array())) {
    if (!pair.is_object() || named.size() >= kMostNamed) continue;
    const Json nodes = pair.value("nodes", Json()), outlier = pair.value("outlier", Json()),
               problem = pair.value("problem", Json());
    if (!nodes.is_array() || nodes.size() != 2) continue;
    std::string why;
    if (outlier.is_string()) why = outlier.get<std::string>();
    if (problem.is_string()) why = "no all-reduce: " + problem.get<std::string>();
    if (!why.empty()) {
      named.push_back(fmt::format("nodes {} and {}: {}", nodes[0].dump(), nodes[1].dump(), why));
    }
  }
  out["outliers"] = named;
  if (json.contains("silent") && json["silent"].is_array() && !json["silent"].empty()) {
    out["silent"] = json["silent"];
  }
  return out;
}

}  // namespace bertbench
