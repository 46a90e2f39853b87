// A stand-in for libnvidia-ml.so.1, loaded as the real one is (BERTBENCH_NVML names it): two GPUs
// whose figures come from the environment. Simulated: it shows how bertbench reads a driver, not
// what a GPU does.
//   FAKE_GPU_THROTTLE   bits of the throttle reasons of GPU 1 (default 0)
//   FAKE_GPU_PROCESSES  processes that compute on GPU 0 (default 0)
//   FAKE_GPU_OLD        set: no energy counter, only the older name of the throttle reasons
#include <cstdio>
#include <cstdlib>

namespace {

struct Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned int gpu, memory;
};

constexpr int kSuccess = 0, kInvalid = 2, kNotSupported = 3, kInsufficientSize = 7;
int gpus[2] = {0, 1};
unsigned long long energy_mj = 5'000'000;
bool started = false;

unsigned long number(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::strtoul(value, nullptr, 0) : 0;
}
bool old() { return std::getenv("FAKE_GPU_OLD") != nullptr; }
int index_of(void* device) { return *static_cast<int*>(device); }

}  // namespace

extern "C" {
int nvmlInit_v2() {
  started = true;
  return kSuccess;
}
int nvmlShutdown() {
  started = false;
  return kSuccess;
}
int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = 2;
  return started ? kSuccess : kInvalid;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void** device) {
  if (index > 1) return kInvalid;
  *device = &gpus[index];
  return kSuccess;
}
int nvmlDeviceGetName(void*, char* name, unsigned int length) {
  std::snprintf(name, length, "Simulated GPU");
  return kSuccess;
}
int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  memory->total = 16ULL << 30;
  memory->used = (index_of(device) == 0 ? 4ULL : 12ULL) << 30;
  memory->free = memory->total - memory->used;
  return kSuccess;
}
int nvmlDeviceGetUtilizationRates(void*, Utilization* used) {
  used->gpu = 90;
  used->memory = 40;
  return kSuccess;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned int* milliwatts) {
  *milliwatts = index_of(device) == 0 ? 250'000 : 350'000;
  return kSuccess;
}
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* millijoules) {
  if (old()) return kNotSupported;
  *millijoules = energy_mj += 100'000;  // 100 J from one look to the next
  return kSuccess;
}
int nvmlDeviceGetClockInfo(void*, int clock, unsigned int* mhz) {
  *mhz = clock == 1 ? 1410 : 1215;
  return kSuccess;
}
int nvmlDeviceGetTemperature(void*, int, unsigned int* celsius) {
  *celsius = 65;
  return kSuccess;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  *reasons = index_of(device) == 1 ? number("FAKE_GPU_THROTTLE") : 1;  // 1 = idle
  return kSuccess;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned int* count, void*) {
  *count = index_of(device) == 0 ? static_cast<unsigned int>(number("FAKE_GPU_PROCESSES")) : 0;
  return *count > 0 ? kInsufficientSize : kSuccess;
}
int nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  std::snprintf(version, length, "580.00.simulated");
  return kSuccess;
}
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 13000;
  return kSuccess;
}
}
