#include "harness/sweep/plan/doctor.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdlib>

#include "harness/sweep/config/workload.h"
#include "harness/sweep/plan/launcher.h"
#include "harness/sweep/process/program.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

using Findings = std::vector<DoctorFinding>;

double gib(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

void check_clocks(const Machine& m, Findings& out) {
  if (m.governor.empty()) {
    out.push_back({Severity::info, "governor", "the kernel does not show the CPU governor",
                   "usual in virtual machines; the host decides about clocks"});
  } else if (m.governor == "performance") {
    out.push_back({Severity::ok, "governor", "performance", ""});
  } else {
    out.push_back({Severity::warning, "governor", m.governor + ": clocks follow the load",
                   "cpupower frequency-set -g performance"});
  }
  if (m.turbo == true) {
    out.push_back({Severity::info, "turbo", "boost clocks are allowed, so heat changes the speed",
                   "for steady numbers switch boost off, or interleave trials (the default)"});
  } else if (m.turbo == false) {
    out.push_back({Severity::ok, "turbo", "off", ""});
  }
  const bool steady = m.clock_source == "tsc" || m.clock_source == "arch_sys_counter" ||
                      m.clock_source == "kvm-clock";
  if (!m.clock_source.empty()) {
    out.push_back({steady ? Severity::ok : Severity::warning, "clock source", m.clock_source,
                   steady ? ""
                          : "reading this clock is slow; boot with clocksource=tsc if it is "
                            "stable on this CPU"});
  }
}

void check_load(const Machine& m, Findings& out) {
  if (!m.load_1min) return;
  const double share = *m.load_1min / std::max(1, m.cores_online);
  const auto text = fmt::format("{:.2f} on {} cores", *m.load_1min, m.cores_online);
  if (share > 0.1) {
    out.push_back({Severity::warning, "load", text + ": other work takes time from the trainer",
                   "end it, or expect wide intervals"});
  } else {
    out.push_back({Severity::ok, "load", text, ""});
  }
}

void check_cores(const DoctorInput& in, Findings& out) {
  const auto& m = in.machine;
  const auto text = fmt::format("{} of {} usable", m.cores_usable, m.cores_online);
  if (m.cores_usable < m.cores_online) {
    out.push_back({Severity::info, "cores", text + " (affinity or cgroup limit)",
                   "threads per rank follow the usable cores"});
  } else {
    out.push_back({Severity::ok, "cores", text, ""});
  }
  for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "DNNL_NUM_THREADS"}) {
    const auto it = in.variables.find(name);
    if (it == in.variables.end()) continue;
    const auto number = to_int(it->second);
    if (number && *number > m.cores_usable) {
      out.push_back(
          {Severity::warning, "threads",
           fmt::format("{}={} is more than the {} usable cores", name, *number, m.cores_usable),
           fmt::format("unset {}", name)});
    } else {
      out.push_back({Severity::info, "threads", fmt::format("{}={} is set", name, it->second),
                     "bert_train takes --threads from the harness; other trainers obey this"});
    }
  }
  if (m.threads_per_core.value_or(1) > 1) {
    out.push_back({Severity::info, "SMT",
                   fmt::format("{} threads share a core", *m.threads_per_core),
                   "two ranks on one core slow each other down"});
  }
}

void check_memory(const Machine& m, Findings& out) {
  if (!m.memory_available_bytes || !m.memory_bytes) return;
  const auto text = fmt::format("{:.1f} GiB of {:.1f} GiB available",
                                gib(*m.memory_available_bytes), gib(*m.memory_bytes));
  const bool low = *m.memory_available_bytes < *m.memory_bytes / 10;
  out.push_back({low ? Severity::warning : Severity::ok, "memory", text,
                 low ? "end other programs, or trials may swap or be killed" : ""});
  if (m.memory_limit_bytes && *m.memory_limit_bytes < *m.memory_bytes) {
    out.push_back({Severity::info, "memory limit",
                   fmt::format("the cgroup allows {:.1f} GiB", gib(*m.memory_limit_bytes)),
                   "a trainer beyond it is killed by the kernel"});
  }
}

void check_gpus(const DoctorInput& in, Findings& out) {
  const auto& gpus = in.machine.gpus;
  if (gpus.empty()) {
    out.push_back({Severity::info, "GPU", "none seen (neither NVML nor nvidia-smi finds one)",
                   "one CPU rank stands in for a GPU; results state that"});
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const auto& gpu = gpus[i];
    const bool busy =
        gpu.utilisation.value_or(0) > 5 || gpu.used_bytes.value_or(0) > (std::int64_t{1} << 30);
    auto text = fmt::format("{}: {}", i, gpu.name);
    if (busy) {
      text += fmt::format(", in use: {:.0f} %, {:.1f} GiB", gpu.utilisation.value_or(0),
                          gib(gpu.used_bytes.value_or(0)));
    }
    out.push_back({busy ? Severity::warning : Severity::ok, "GPU", text,
                   busy ? "someone else uses it; nvidia-smi names the processes" : ""});
    if (!gpu.throttled.empty()) {
      out.push_back({Severity::warning, "GPU clocks",
                     fmt::format("{}: held down by {}", i, gpu.throttled),
                     "cool it, raise its power limit, or wait; trials would be marked throttled"});
    }
  }
}

void check_rest(const DoctorInput& in, Findings& out) {
  for (const auto& [name, path] : in.programs) {
    out.push_back({path.empty() ? Severity::info : Severity::ok, name,
                   !path.empty()          ? path
                   : name == "bert_train" ? "neither next to bertbench nor on PATH"
                                          : "not on PATH",
                   path.empty() ? (name == "bert_train" ? "build it with scripts/quickstart"
                                                        : "needed only for its launcher")
                                : ""});
  }
  if (in.free_bytes) {
    const bool low = *in.free_bytes < (std::int64_t{1} << 30);
    out.push_back({low ? Severity::warning : Severity::ok, "free disk",
                   fmt::format("{:.1f} GiB", gib(*in.free_bytes)),
                   low ? "logs and results need room; free some or use another --out" : ""});
  }
  if (!in.machine.virtualization.empty() || !in.machine.container.empty()) {
    std::string text = in.machine.virtualization.empty() ? "" : "virtual machine";
    if (!in.machine.container.empty()) {
      text += (text.empty() ? "" : ", ") + ("container (" + in.machine.container + ")");
    }
    out.push_back({Severity::info, "machine", text,
                   "neighbours on the host may take time unseen; use more trials"});
  }
}

}  // namespace

std::string_view name(Severity severity) {
  constexpr std::string_view kNames[] = {"ok", "info", "warning"};
  return kNames[static_cast<std::size_t>(severity)];
}

std::vector<DoctorFinding> diagnose(const DoctorInput& input) {
  Findings out;
  check_clocks(input.machine, out);
  check_load(input.machine, out);
  check_cores(input, out);
  check_memory(input.machine, out);
  check_gpus(input, out);
  check_rest(input, out);
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.severity > b.severity; });
  return out;
}

std::vector<DoctorFinding> doctor(const std::string& path) {
  DoctorInput input;
  input.machine = look_at_machine();
  struct statvfs info {};
  if (statvfs(path.c_str(), &info) == 0) {
    input.free_bytes =
        static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
  }
  if (const auto workload = find_workload("bert_train")) {
    input.programs["bert_train"] = find_program(workload->launch.front().words.front());
  }
  for (const auto* launcher : all_launchers()) {
    if (launcher->program.empty()) continue;
    input.programs[std::string(launcher->program)] = find_program(std::string(launcher->program));
  }
  for (const char* variable : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "DNNL_NUM_THREADS"}) {
    if (const char* value = std::getenv(variable)) input.variables[variable] = value;
  }
  return diagnose(input);
}

}  // namespace bertbench
