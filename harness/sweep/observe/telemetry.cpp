#include "harness/sweep/observe/telemetry.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/sweep/observe/cgroup.h"
#include "harness/sweep/process/proc_fs.h"
#include "harness/sweep/process/process.h"
#include "parsers/core/text.h"
#include "reports/model/json_put.h"

namespace bertbench {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

namespace {

// A trial is marked when others took more than this of what it could have had.
constexpr double kOtherShare = 0.05;
constexpr double kStealShare = 0.02;
// Share of the time in which the power limit held the clocks down. Below it is common and short.
constexpr double kPowerCapShare = 0.1;

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

double used_by(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

/// Highest resident memory so far of a process and of all below it.
std::int64_t resident_bytes(pid_t pid, int depth = 0) {
  std::int64_t sum = proc::resident_peak(pid);
  if (depth >= 4) return sum;
  for (const auto& child : proc::children_of(pid)) sum += resident_bytes(child.pid, depth + 1);
  return sum;
}

std::int64_t core_overheated() {
  std::int64_t sum = 0;
  for (int cpu = 0; cpu < 4096; ++cpu) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}", cpu);
    if (access(folder.c_str(), F_OK) != 0) break;
    const auto text = proc::read_file(folder + "/thermal_throttle/core_throttle_count");
    if (text.empty()) break;  // the kernel counts for all cores or for none
    sum += to_int(trim(text)).value_or(0);
  }
  return sum;
}

/// Over time: looks are not equally far apart.
struct Mean {
  double mean = 0, low = INFINITY, high = -INFINITY;
  double seconds = 0;
  void add(const std::optional<double>& value, double since_s) {
    if (!value) return;
    seconds += since_s;
    mean += (*value - mean) * (since_s / seconds);
    low = std::min(low, *value);
    high = std::max(high, *value);
  }
};

}  // namespace

struct Telemetry::Gpu {
  GpuInfo info;
  Mean utilization, power, training_power, sm_clock, memory_clock, temperature;
  std::int64_t used_peak = 0;
  int others = 0;
  double seconds = 0;
  std::map<std::string, double> throttled;  ///< seconds
  std::optional<double> energy_begin, energy_end;
};

/// The CPU packages' energy since the first look. A counter of microjoules begins again after its
/// range, which takes minutes: looks are seconds apart.
struct Telemetry::Packages {
  explicit Packages(const std::string& powercap) {
    for (int number = 0;; ++number) {
      const std::string zone = fmt::format("{}/intel-rapl:{}/", powercap, number);
      const auto name = proc::read_file(zone + "name");
      if (name.empty()) break;
      if (!name.starts_with("package")) continue;
      const auto range = to_int(proc::read_value(zone + "max_energy_range_uj"));
      counters.push_back({zone + "energy_uj", range.value_or(0)});
    }
    look(false);
    energy_j = 0;
  }
  /// `training`: steps have been logged; from the first such look on power is that of training.
  void look(bool training) {
    for (Counter& counter : counters) {
      // Root alone may read it on most systems.
      const auto now = to_int(proc::read_value(counter.path));
      if (!now || (*now < counter.last && counter.range == 0)) return counters.clear();
      const auto used = *now - counter.last + (*now < counter.last ? counter.range : 0);
      energy_j += 1e-6 * static_cast<double>(used);
      counter.last = *now;
    }
    if (!training || counters.empty()) return;
    training_end = {energy_j, Clock::now()};
    if (!training_begin) training_begin = training_end;
  }
  [[nodiscard]] std::optional<double> training_power_w() const {
    if (!training_begin) return std::nullopt;
    const double seconds =
        std::chrono::duration<double>(training_end.at - training_begin->at).count();
    if (!(seconds > 0)) return std::nullopt;
    return (training_end.energy_j - training_begin->energy_j) / seconds;
  }

  struct Counter {
    std::string path;
    std::int64_t range = 0, last = 0;
  };
  std::vector<Counter> counters;
  double energy_j = 0;
  struct Reading {
    double energy_j = 0;
    Clock::time_point at;
  };
  std::optional<Reading> training_begin;
  Reading training_end;
};

std::vector<int> gpus_in_use(const Nvml& nvml, std::int64_t gpus_per_node,
                             const std::string& visible) {
  std::vector<int> out;
  if (!visible.empty()) {
    for (const auto part : split(visible, ',')) {
      const auto index = to_int(trim(part));
      if (!index) break;  // UUIDs: not followed
      out.push_back(static_cast<int>(*index));
    }
  }
  if (out.empty()) {
    for (const GpuInfo& gpu : nvml.gpus()) out.push_back(gpu.index);
  }
  if (std::cmp_greater(out.size(), gpus_per_node)) {
    out.resize(static_cast<std::size_t>(std::max<std::int64_t>(0, gpus_per_node)));
  }
  return out;
}

Telemetry::Cpu Telemetry::look_at_cpu() {
  Cpu out;
  const std::string text = proc::read_file("/proc/stat");
  const auto line = std::string_view(text).substr(0, text.find('\n'));
  std::vector<double> ticks;  // user nice system idle iowait irq softirq steal
  for (const auto word : split(line, ' ')) {
    if (const auto number = to_int(word)) ticks.push_back(static_cast<double>(*number));
  }
  if (ticks.size() >= 8) {
    const double per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
    out.busy_s = (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) / per_second;
    out.steal_s = ticks[7] / per_second;
  }
  out.reaped_s = used_by(RUSAGE_CHILDREN);
  out.self_s = used_by(RUSAGE_SELF);
  out.quota_s = cgroup_limits().stopped_s.value_or(0);
  out.overheated = core_overheated();
  return out;
}

Telemetry::Telemetry(TelemetryOptions options) : options_(std::move(options)) {
  if (!options_.marker.empty()) elsewhere_.emplace(options_.marker);
  if (options_.nvml != nullptr) {
    for (const GpuInfo& info : options_.nvml->gpus()) {
      if (std::ranges::find(options_.gpus, info.index) == options_.gpus.end()) continue;
      Gpu& gpu = gpus_.emplace_back();
      gpu.info = info;
      // A trainer elsewhere may be on it already; then nobody knows whose process it is.
      const bool early = elsewhere_ && elsewhere_->any_at_first();
      if (!early) gpu.others = options_.nvml->processes(info.index).value_or(0);
      gpu.energy_begin = options_.nvml->sample(info.index).energy_j;
    }
  }
  cpu_ = look_at_cpu();
  packages_ = std::make_unique<Packages>(options_.powercap);
  begin_ = looked_ = Clock::now();
  last_ = begin_ - std::chrono::hours(1);
}

Telemetry::~Telemetry() = default;

void Telemetry::sample(bool training) {
  if (seconds_since(last_) < options_.interval_s) return;
  last_ = Clock::now();
  look(training);
}

void Telemetry::look(bool training) {
  constexpr double kShortest_s = 1e-6;  // a first look right at the begin counts as well
  const auto now = Clock::now();
  const double since_s =
      std::max(kShortest_s, std::chrono::duration<double>(now - looked_).count());
  looked_ = now;
  ++samples_;
  std::int64_t resident = 0;
  for (const pid_t rank : ranks_) resident += resident_bytes(rank);
  if (elsewhere_) {
    const auto seen = elsewhere_->look();
    resident = seen.resident_peak;
    // What they used after the last look at them is lost with them, so the machine's own count
    // is taken up to there as well.
    if (seen.alive > 0) {
      last_cpu_ = look_at_cpu();
      last_cpu_->reaped_s = cpu_.reaped_s + seen.cpu_s;
      last_cpu_at_ = Clock::now();
    }
  }
  resident_peak_ = std::max(resident_peak_, resident);
  packages_->look(training);
  for (Gpu& gpu : gpus_) {
    const GpuSample seen = options_.nvml->sample(gpu.info.index);
    gpu.seconds += since_s;
    gpu.utilization.add(seen.utilization, since_s);
    gpu.power.add(seen.power_w, since_s);
    if (training) gpu.training_power.add(seen.power_w, since_s);
    gpu.sm_clock.add(seen.sm_clock_mhz, since_s);
    gpu.memory_clock.add(seen.memory_clock_mhz, since_s);
    gpu.temperature.add(seen.temperature_c, since_s);
    gpu.used_peak = std::max(gpu.used_peak, seen.used_bytes.value_or(0));
    if (seen.energy_j) gpu.energy_end = seen.energy_j;
    for (const std::string& reason : seen.throttle) gpu.throttled[reason] += since_s;
  }
}

namespace {

/// Why a trial's numbers may not be the machine's own.
void add_mark(Json& marks, const char* kind, std::string text) {
  marks.push_back({{"kind", kind}, {"text", std::move(text)}});
}

}  // namespace

nlohmann::ordered_json Telemetry::summarize_cpu(double seconds, Json& marks) const {
  const Cpu now = last_cpu_ ? *last_cpu_ : look_at_cpu();
  const double watched =
      last_cpu_ ? std::max(1e-3, std::chrono::duration<double>(last_cpu_at_ - begin_).count())
                : seconds;
  const double trainer = (now.reaped_s - cpu_.reaped_s) / watched;
  const double busy = (now.busy_s - cpu_.busy_s) / watched;
  // The kernel counts in ticks, processes to the microsecond: a hundredth of a core is noise.
  const double other = std::max(0.0, busy - trainer - (now.self_s - cpu_.self_s) / watched);
  const double steal = (now.steal_s - cpu_.steal_s) / watched;
  const double quota = now.quota_s - cpu_.quota_s;
  if (other > kOtherShare * options_.cores && other * watched > 0.1) {
    add_mark(
        marks, "shared",
        fmt::format("other processes took {:.2f} of {} cores meanwhile", other, options_.cores));
  }
  if (steal > kStealShare * options_.cores && steal * watched > 0.1) {
    add_mark(
        marks, "shared",
        fmt::format("the hypervisor took {:.2f} of {} cores meanwhile", steal, options_.cores));
  }
  if (quota > 0.01 * seconds) {
    add_mark(marks, "throttled",
             fmt::format("the cgroup's CPU quota stopped it for {:.1f} s", quota));
  }
  if (now.overheated > cpu_.overheated) {
    add_mark(
        marks, "throttled",
        fmt::format("CPU cores slowed down for heat {} times", now.overheated - cpu_.overheated));
  }
  Json out = {{"cores", options_.cores}, {"busy_cores", busy},   {"trainer_cores", trainer},
              {"other_cores", other},    {"steal_cores", steal}, {"quota_stopped_s", quota}};
  if (last_cpu_) out["seconds"] = watched;  // up to the last look at the trainers
  return out;
}

nlohmann::ordered_json Telemetry::summarize_gpu(Gpu& gpu, double seconds, Json& marks) const {
  Json json = {{"index", gpu.info.index}, {"name", gpu.info.name}};
  const auto put = [&](const char* key, const Mean& value, double result) {
    if (value.seconds > 0) json[key] = result;
  };
  put("utilization", gpu.utilization, gpu.utilization.mean);
  if (gpu.used_peak > 0) json["memory_peak_bytes"] = gpu.used_peak;
  if (gpu.info.memory_bytes) json["memory_bytes"] = *gpu.info.memory_bytes;
  put("power_w", gpu.power, gpu.power.mean);
  put("power_max_w", gpu.power, gpu.power.high);
  put("sm_clock_mhz", gpu.sm_clock, gpu.sm_clock.mean);
  put("sm_clock_min_mhz", gpu.sm_clock, gpu.sm_clock.low);
  put("memory_clock_mhz", gpu.memory_clock, gpu.memory_clock.mean);
  put("temperature_max_c", gpu.temperature, gpu.temperature.high);
  const GpuSample last = options_.nvml->sample(gpu.info.index);
  if (last.energy_j) gpu.energy_end = last.energy_j;
  if (gpu.energy_begin && gpu.energy_end) {
    json["energy_j"] = *gpu.energy_end - *gpu.energy_begin;
  } else if (gpu.power.seconds > 0) {
    json["energy_j"] = gpu.power.mean * seconds;  // no counter: mean power x time
  }
  put("training_power_w", gpu.training_power, gpu.training_power.mean);
  for (const auto& [reason, held_s] : gpu.throttled) {
    const double share = held_s / gpu.seconds;
    json["throttle"][reason] = share;
    if (reason == "power_cap" && share <= kPowerCapShare) continue;
    add_mark(marks, "throttled",
             fmt::format("GPU {} held its clocks down ({}) for {:.0f} % of the time",
                         gpu.info.index, reason, 100 * share));
  }
  if (gpu.others > 0) {
    add_mark(marks, "shared",
             fmt::format("{} other process{} computed on GPU {} when it began", gpu.others,
                         gpu.others == 1 ? "" : "es", gpu.info.index));
  }
  return json;
}

nlohmann::ordered_json Telemetry::finish() {
  const double seconds = std::max(1e-3, seconds_since(begin_));
  Json marks = Json::array();
  Json out = {{"samples", samples_}, {"seconds", seconds}};
  out["cpu"] = summarize_cpu(seconds, marks);
  if (resident_peak_ > 0) out["resident_peak_bytes"] = resident_peak_;
  if (options_.memory_bytes) out["memory_bytes"] = *options_.memory_bytes;
  packages_->look(false);
  if (!packages_->counters.empty()) {
    out["cpu"]["energy_j"] = packages_->energy_j;
    if (options_.on_cpu) {
      out["energy_j"] = packages_->energy_j;
      if (const auto power = packages_->training_power_w()) out["training_power_w"] = *power;
    }
  }
  if (!gpus_.empty()) {
    // Of all GPUs or of none: a sum of some would pass for the trial's.
    std::optional<double> energy = 0, training_power = 0;
    const auto add = [](std::optional<double>& sum, const std::optional<double>& one) {
      sum = sum && one ? std::optional(*sum + *one) : std::nullopt;
    };
    out["gpus"] = Json::array();
    for (Gpu& gpu : gpus_) {
      Json one = summarize_gpu(gpu, seconds, marks);
      add(energy, number_at(one, "energy_j"));
      add(training_power, number_at(one, "training_power_w"));
      out["gpus"].push_back(std::move(one));
    }
    if (energy) out["energy_j"] = *energy;
    if (training_power) out["training_power_w"] = *training_power;
  }
  if (!marks.empty()) out["marks"] = std::move(marks);
  return out;
}

namespace {

std::int64_t count_in(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it != json.end() && it->is_number_integer() ? it->get<std::int64_t>() : 0;
}

/// Of the GPU that came nearest to its limit; without GPUs of the trainer's processes.
MemoryRecord memory_of(const Json& telemetry) {
  MemoryRecord best;
  double fullest = -1;
  for (const Json& gpu : telemetry.value("gpus", Json::array())) {
    const MemoryRecord one{count_in(gpu, "memory_peak_bytes"), count_in(gpu, "memory_bytes"),
                           "nvml"};
    const double full = one.capacity_bytes > 0 ? static_cast<double>(one.peak_bytes) /
                                                     static_cast<double>(one.capacity_bytes)
                                               : 0;
    if (one.peak_bytes > 0 && full > fullest) {
      best = one;
      fullest = full;
    }
  }
  if (best.peak_bytes > 0) return best;
  return {count_in(telemetry, "resident_peak_bytes"), count_in(telemetry, "memory_bytes"), "proc"};
}

}  // namespace

void apply_telemetry(Trial& trial, const nlohmann::ordered_json& telemetry) {
  if (!telemetry.is_object()) return;
  trial.telemetry = telemetry;
  const MemoryRecord seen = memory_of(telemetry);
  if (!trial.memory && seen.peak_bytes > 0) {
    trial.memory = seen;
  } else if (trial.memory && trial.memory->capacity_bytes == 0) {
    trial.memory->capacity_bytes = seen.capacity_bytes;
  }
  trial.energy_j = number_at(telemetry, "energy_j");
  const auto power = number_at(telemetry, "training_power_w");
  if (power && trial.sequences_per_second) {
    trial.energy_per_sequence_j = *power / *trial.sequences_per_second;
  }
  for (const Json& mark : telemetry.value("marks", Json::array())) {
    const auto kind = mark.find("kind"), text = mark.find("text");
    if (kind == mark.end() || text == mark.end() || !kind->is_string() || !text->is_string()) {
      continue;
    }
    trial.notices.push_back(make_notice(NoticeCode::machine_mark, 0, kind->get<std::string>(),
                                        text->get<std::string>()));
  }
}

}  // namespace bertbench
