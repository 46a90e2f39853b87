#include "harness/sweep/execute/node_probe.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/observe/speed_probe.h"
#include "harness/sweep/plan/doctor.h"
#include "harness/sweep/process/proc_fs.h"
#include "parsers/core/median.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

constexpr int kReadings = 5;
constexpr double kReading_s = 0.1;

std::int64_t node_number() {
  for (const char* name : {"NODE_RANK", "SLURM_NODEID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    if (const char* value = std::getenv(name)) {
      if (const auto number = to_int(value)) return *number;
    }
  }
  return 0;
}

double handicap_of(std::int64_t node) {
  const char* text = std::getenv("BERTBENCH_PROBE_HANDICAP");
  const std::string_view given = text != nullptr ? text : "";
  const std::size_t percent = given.find("%@");
  if (percent == given.npos || to_int(given.substr(percent + 2)) != node) return 0;
  return static_cast<double>(to_int(given.substr(0, percent)).value_or(0)) / 100;
}

/// Of the fastest core now; a virtual machine shows what the host's nominal clock is.
std::optional<double> clock_mhz() {
  std::optional<double> most;
  const std::string cpuinfo = proc::read_file("/proc/cpuinfo");
  for (const std::string_view line : split(cpuinfo, '\n')) {
    if (!line.starts_with("cpu MHz")) continue;
    const double mhz = to_double(trim(line.substr(line.find(':') + 1))).value_or(0);
    if (mhz > most.value_or(0)) most = mhz;
  }
  return most;
}

}  // namespace

double wall_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

nlohmann::ordered_json probe_node() {
  const double begin_s = wall_s();
  const std::int64_t node = node_number();
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  SpeedProbe probe;
  std::vector<double> gflops, copies;
  for (int i = 0; i < kReadings; ++i) {
    const auto reading = probe.read(kReading_s, handicap_of(node));
    gflops.push_back(reading.at("gflops").get<double>());
    copies.push_back(reading.at("copy_gb_s").get<double>());
  }
  nlohmann::ordered_json out{{"node_probe", 1},
                             {"node", node},
                             {"host", host},
                             {"gflops", median(gflops)},
                             {"copy_gb_s", median(copies)}};
  if (const auto mhz = clock_mhz()) out["clock_mhz"] = *mhz;
  auto findings = nlohmann::ordered_json::array();
  for (const DoctorFinding& finding : doctor()) {
    if (finding.severity != Severity::warning) continue;
    findings.push_back({{"subject", finding.subject}, {"text", finding.text}});
  }
  out["findings"] = findings;
  out["begin_s"] = begin_s;
  out["end_s"] = wall_s();
  return out;
}

}  // namespace bertbench
