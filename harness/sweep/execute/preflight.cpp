#include "harness/sweep/execute/preflight.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/sweep/config/config.h"
#include "harness/sweep/execute/attempt_runner.h"
#include "harness/sweep/journal/journal.h"
#include "harness/sweep/observe/node_probe.h"
#include "harness/sweep/plan/launcher.h"
#include "harness/sweep/plan/plan.h"
#include "harness/sweep/process/folder.h"
#include "harness/sweep/process/proc_fs.h"
#include "harness/sweep/process/process.h"
#include "harness/sweep/process/stop_signals.h"
#include "parsers/core/median.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

using Json = nlohmann::ordered_json;

using Clock = std::chrono::steady_clock;

constexpr double kLongest_s = 120;  // of a node that answers; a probe takes half a second
constexpr double kGrace_s = 5;      // in which a launcher ends what it started on other nodes

std::optional<NodeReading> reading_of(const Json& json, double started_s, double ended_s) {
  const auto number = [&](const char* key) {
    const auto at = json.find(key);
    return at != json.end() && at->is_number() ? std::optional(at->get<double>()) : std::nullopt;
  };
  const auto gflops = number("gflops"), copy = number("copy_gb_s"), begin_s = number("begin_s"),
             end_s = number("end_s"), node = number("node");
  if (!gflops || !copy || !begin_s || !end_s || !node || !(*gflops > 0) || !(*copy > 0) ||
      !(*node >= 0) || *node > 1e6) {
    return std::nullopt;
  }
  NodeReading out;
  out.node = static_cast<std::int64_t>(*node);
  const auto text = [](const Json& object, const char* key) {
    const auto at = object.find(key);
    return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  out.host = text(json, "host");
  out.gflops = *gflops;
  out.copy_gb_s = *copy;
  out.clock_mhz = number("clock_mhz");
  out.skew_low_s = *end_s - ended_s;
  out.skew_high_s = *begin_s - started_s;
  for (const Json& finding : json.value("findings", Json::array())) {
    if (finding.is_object()) {
      out.findings.push_back(text(finding, "subject") + ": " + text(finding, "text"));
    }
  }
  return out;
}

/// Nodes of the allocation around this process; 0: there is none.
std::int64_t allocated_nodes() {
  const char* nodes = std::getenv("SLURM_JOB_NUM_NODES");
  return to_int(nodes != nullptr ? nodes : "").value_or(0);
}

/// A sweep of one trial, whose trainer is this program's own probe on every node.
Result<Plan> plan_of(const PreflightOptions& options) {
  std::error_code ec;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ec);
  OneLine line;
  line.command = {self.string(), "doctor", "--node-probe"};
  line.each = "node";
  line.grid = {"topology=1n1g"};
  auto config = parse_config("{}", "", options.sets, line);
  if (!config) return tl::unexpected(config.error());
  std::int64_t nodes = options.nodes;
  if (nodes == 0) nodes = static_cast<std::int64_t>(config->hosts.size());
  if (nodes == 0 && options.launcher == "slurm") nodes = allocated_nodes();
  if (nodes == 0) nodes = 1;
  line.grid = {fmt::format("topology={}n1g", nodes)};
  config = parse_config("{}", "", options.sets, line);
  if (!config) return tl::unexpected(config.error());
  PlanOptions how;
  how.launcher = options.launcher;
  how.trials = 1;
  return make_plan(*config, how);
}

/// A folder that goes when this does.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const auto base = (std::filesystem::temp_directory_path() / "preflight-XXXXXX").string();
    path_ = base;
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ec;
    if (!path_.empty()) std::filesystem::remove_all(path_, ec);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string last_line(const std::string& printed) {
  constexpr std::size_t kShown = 200;  // bytes
  std::string_view last;
  for (const std::string_view line : split(printed, '\n')) {
    if (!trim(line).empty()) last = trim(line);
  }
  return std::string(last.substr(0, kShown));
}

/// Starts all processes at once and waits for them: the readings that they printed, and what else
/// there is to say, into `out`. A signal, or kLongest_s, ends them.
Result<void> ask(const std::vector<ProcessSpec>& specs, const Folder& folder,
                 const StopSignals& signals, Preflight& out) {
  ProcessGroup group;
  std::vector<double> started_s, ended_s(specs.size(), 0);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto log = folder.create_log(fmt::format("{}.txt", i));
    if (!log) return tl::unexpected(log.error());
    started_s.push_back(wall_s());
    const auto started = group.start(specs[i], *log);
    ::close(*log);
    if (!started) return tl::unexpected(started.error());
  }
  const auto begin = Clock::now();
  std::optional<Clock::time_point> ending;
  auto members = group.members();  // before they were asked to end; kill_all() forgets them
  while (group.running()) {
    group.wait(std::chrono::milliseconds(500), signals.wake_fd());
    signals.drain();
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (group.members()[i].second && ended_s[i] == 0) ended_s[i] = wall_s();
    }
    if (!ending) members = group.members();
    if (ending) {
      if (seconds_since(*ending) > kGrace_s || signals.count() > 1) break;
    } else if (signals.count() > 0 || seconds_since(begin) > kLongest_s) {
      ending = Clock::now();
      group.signal(SIGTERM);
    }
  }
  out.interrupted = signals.count() > 0;
  group.kill_all();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const double end_s = ended_s[i] == 0 ? wall_s() : ended_s[i];
    const auto printed = proc::read_file(folder.path_of(fmt::format("{}.txt", i)));
    auto readings = readings_in(printed, started_s[i], end_s);
    if (readings.empty()) {
      const auto& status = members[i].second;
      out.unread.push_back(fmt::format("{}: {}", status ? status->str() : "still ran at the end",
                                       last_line(printed)));
    }
    std::ranges::move(readings, std::back_inserter(out.readings));
  }
  std::ranges::stable_sort(out.readings, {}, &NodeReading::node);
  const auto twice = std::ranges::unique(out.readings, {}, &NodeReading::node);
  out.readings.erase(twice.begin(), twice.end());
  return {};
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

void name_outliers(std::vector<NodeReading>& readings) {
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
      if (others.empty()) continue;
      const double below = 1 - reading.*rate.value / median(others);
      if (below > kPreflightFloor) {
        reading.outliers.push_back(
            fmt::format("{} {:.0f} % below the median of the others", rate.name, 100 * below));
      }
    }
    if (reading.skew_low_s > kPreflightSkew_s || reading.skew_high_s < -kPreflightSkew_s) {
      const double least = reading.skew_low_s > 0 ? reading.skew_low_s : -reading.skew_high_s;
      reading.outliers.push_back(fmt::format("clock at least {:.1f} s {} this machine's", least,
                                             reading.skew_low_s > 0 ? "before" : "after"));
    }
  }
}

Result<Preflight> run_preflight(const PreflightOptions& options) {
  const auto launcher = find_launcher(options.launcher);
  if (!launcher) return tl::unexpected(launcher.error());
  const auto plan = plan_of(options);
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
  const TemporaryFolder temporary;
  auto folder = Folder::make_root(temporary.path());
  if (!folder) return tl::unexpected(folder.error());
  const LaunchPlace place{temporary.path(), 29500,
                          fmt::format("preflight-{}-{:.0f}", ::getpid(), wall_s())};
  const auto specs = (*launcher)->processes(*plan, plan->trials.front(), place);
  if (!specs) return tl::unexpected(specs.error());

  Preflight out;
  if (auto asked = ask(*specs, *folder, signals, out); !asked) return tl::unexpected(asked.error());
  out.created = utc_now();
  out.launcher = options.launcher;
  const PlannedCell& cell = plan->cells[plan->trials.front().cell];
  out.nodes = cell.topology.nodes;
  out.emulated = cell.emulated && out.nodes > 1;
  std::set<std::int64_t> known;
  for (const NodeReading& reading : out.readings) known.insert(reading.node);
  for (std::int64_t node = 0; node < out.nodes; ++node) {
    if (!known.contains(node)) out.silent.push_back(node);
  }
  name_outliers(out.readings);
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
  return {{"created", preflight.created},   {"launcher", preflight.launcher},
          {"emulated", preflight.emulated}, {"nodes", nodes},
          {"silent", preflight.silent},     {"unread", preflight.unread}};
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
      if (!outlier.is_string() || named.size() >= 64) continue;
      const Json number = node.value("node", Json()), host = node.value("host", Json());
      named.push_back(fmt::format(
          "node {} ({}): {}", number.is_number_integer() ? number.get<std::int64_t>() : -1,
          host.is_string() ? host.get<std::string>() : "?", outlier.get<std::string>()));
    }
  }
  out["outliers"] = named;
  if (json.contains("silent") && json["silent"].is_array() && !json["silent"].empty()) {
    out["silent"] = json["silent"];
  }
  return out;
}

}  // namespace bertbench
