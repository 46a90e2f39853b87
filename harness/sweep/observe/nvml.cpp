#include "harness/sweep/observe/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace bertbench {
namespace {

// The few declarations that are needed, as in nvml.h (stable since driver 450): handles are
// pointers, return codes are int, 0 is success.
using Device = void*;
struct Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned int gpu, memory;
};
struct ProcessInfo {  // nvmlProcessInfo_v2_t
  unsigned int pid;
  unsigned long long used;
  unsigned int gpu_instance, compute_instance;
};
constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;
constexpr int kSmClock = 1, kMemoryClock = 2, kGpuTemperature = 0;

// nvmlClocksThrottleReason* of nvml.h that slow a GPU down.
constexpr std::pair<std::uint64_t, const char*> kReasons[] = {
    {0x04, "power_cap"},  {0x08, "hw_slowdown"}, {0x20, "sw_thermal"},
    {0x40, "hw_thermal"}, {0x80, "power_brake"},
};

template <class... Arguments>
using Call = int (*)(Arguments...);

}  // namespace

struct Nvml::Library {
  void* handle;
  bool ready = false;
  std::vector<GpuInfo> gpus;
  std::vector<Device> devices;
  std::string driver, cuda_driver;

  Call<> init = find("nvmlInit_v2"), shutdown = find("nvmlShutdown");
  Call<unsigned int*> count = find("nvmlDeviceGetCount_v2");
  Call<unsigned int, Device*> by_index = find("nvmlDeviceGetHandleByIndex_v2");
  Call<Device, char*, unsigned int> name = find("nvmlDeviceGetName");
  Call<Device, Memory*> memory = find("nvmlDeviceGetMemoryInfo");
  Call<Device, Utilization*> utilization = find("nvmlDeviceGetUtilizationRates");
  Call<Device, unsigned int*> power = find("nvmlDeviceGetPowerUsage");                     // mW
  Call<Device, unsigned long long*> energy = find("nvmlDeviceGetTotalEnergyConsumption");  // mJ
  Call<Device, int, unsigned int*> clock = find("nvmlDeviceGetClockInfo");                 // MHz
  Call<Device, int, unsigned int*> temperature = find("nvmlDeviceGetTemperature");  // Celsius
  Call<Device, unsigned long long*> reasons =
      find("nvmlDeviceGetCurrentClocksThrottleReasons",
           "nvmlDeviceGetCurrentClocksEventReasons");  // its name from driver 535 on
  Call<Device, unsigned int*, ProcessInfo*> processes =
      find("nvmlDeviceGetComputeRunningProcesses_v3");
  Call<char*, unsigned int> driver_version = find("nvmlSystemGetDriverVersion");
  Call<int*> cuda_version = find("nvmlSystemGetCudaDriverVersion_v2");

  explicit Library(const char* path) : handle(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (init == nullptr || count == nullptr || by_index == nullptr || init() != kSuccess) return;
    ready = true;
    list();
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (ready && shutdown != nullptr) shutdown();
    if (handle != nullptr) dlclose(handle);
  }

  struct Symbol {
    void* address;
    template <class... Arguments>
    operator Call<Arguments...>() const {
      return reinterpret_cast<Call<Arguments...>>(address);
    }
  };
  [[nodiscard]] Symbol find(const char* name_of_it, const char* other = "") const {
    if (handle == nullptr) return {nullptr};
    void* const address = dlsym(handle, name_of_it);
    return {address != nullptr ? address : dlsym(handle, other)};
  }

  void list() {
    std::array<char, 96> text{};
    if (driver_version != nullptr && driver_version(text.data(), text.size()) == kSuccess) {
      driver = text.data();
    }
    int version = 0;
    if (cuda_version != nullptr && cuda_version(&version) == kSuccess) {
      cuda_driver = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
    }
    unsigned int n = 0;
    if (count(&n) != kSuccess) return;
    for (unsigned int i = 0; i < n; ++i) {
      Device device = nullptr;
      if (by_index(i, &device) != kSuccess) continue;
      GpuInfo info;
      info.index = static_cast<int>(i);
      text.fill('\0');
      if (name != nullptr && name(device, text.data(), text.size() - 1) == kSuccess) {
        info.name = text.data();
      }
      Memory bytes{};
      if (memory != nullptr && memory(device, &bytes) == kSuccess) {
        info.memory_bytes = static_cast<std::int64_t>(bytes.total);
      }
      gpus.push_back(std::move(info));
      devices.push_back(device);
    }
  }

  [[nodiscard]] Device device(int index) const {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      if (gpus[i].index == index) return devices[i];
    }
    return nullptr;
  }
};

Nvml::Nvml(std::unique_ptr<Library> library) : library_(std::move(library)) {}
Nvml::~Nvml() = default;

std::unique_ptr<Nvml> Nvml::open() {
  const char* named = std::getenv("BERTBENCH_NVML");
  const std::string path = named != nullptr && *named != '\0' ? named : "libnvidia-ml.so.1";
  if (path == "off") return nullptr;
  auto library = std::make_unique<Library>(path.c_str());
  if (library->gpus.empty()) return nullptr;
  return std::unique_ptr<Nvml>(new Nvml(std::move(library)));
}

const std::vector<GpuInfo>& Nvml::gpus() const { return library_->gpus; }
const std::string& Nvml::driver() const { return library_->driver; }
const std::string& Nvml::cuda_driver() const { return library_->cuda_driver; }

GpuSample Nvml::sample(int index) const {
  GpuSample out;
  const Library& nvml = *library_;
  const Device device = nvml.device(index);
  if (device == nullptr) return out;
  if (Utilization used{}; nvml.utilization && nvml.utilization(device, &used) == kSuccess) {
    out.utilization = used.gpu / 100.0;
  }
  if (Memory bytes{}; nvml.memory && nvml.memory(device, &bytes) == kSuccess) {
    out.used_bytes = static_cast<std::int64_t>(bytes.used);
  }
  const auto number = [&](auto function, auto... before) -> std::optional<double> {
    unsigned int value = 0;
    if (function == nullptr || function(device, before..., &value) != kSuccess) return std::nullopt;
    return value;
  };
  if (const auto milliwatts = number(nvml.power)) out.power_w = *milliwatts / 1000;
  out.temperature_c = number(nvml.temperature, kGpuTemperature);
  out.sm_clock_mhz = number(nvml.clock, kSmClock);
  out.memory_clock_mhz = number(nvml.clock, kMemoryClock);
  unsigned long long wide = 0;
  if (nvml.energy != nullptr && nvml.energy(device, &wide) == kSuccess) {
    out.energy_j = static_cast<double>(wide) / 1000;
  }
  wide = 0;
  if (nvml.reasons != nullptr && nvml.reasons(device, &wide) == kSuccess) {
    for (const auto& [bit, name] : kReasons) {
      if ((wide & bit) != 0) out.throttle.emplace_back(name);
    }
  }
  return out;
}

std::optional<int> Nvml::processes(int index) const {
  const Device device = library_->device(index);
  if (device == nullptr || library_->processes == nullptr) return std::nullopt;
  unsigned int n = 0;
  const int code = library_->processes(device, &n, nullptr);
  if (code != kSuccess && code != kInsufficientSize) return std::nullopt;
  return static_cast<int>(n);
}

}  // namespace bertbench
