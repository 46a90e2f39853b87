// Telemetry: GPUs through a simulated driver library, CPU and memory for real.
#include "harness/sweep/observe/telemetry.h"

#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "harness/sweep/observe/machine.h"
#include "harness/sweep/plan/doctor.h"
#include "tests/harness/sweep/support.h"

namespace bertbench::test {
namespace {

using testing::HasSubstr;

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

/// A child that keeps one core busy until it is killed. When this returns it has touched `bytes`.
pid_t busy_child(std::size_t bytes) {
  int ready[2];
  EXPECT_EQ(pipe(ready), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::vector<char> held(bytes);
    for (std::size_t i = 0; i < bytes; i += 4096) held[i] = static_cast<char>(i);
    (void)!write(ready[1], "", 1);
    for (volatile unsigned spin = 0;;) spin = spin + static_cast<unsigned>(held[0]) + 1;
  }
  char touched;
  EXPECT_EQ(read(ready[0], &touched, 1), 1);
  close(ready[0]);
  close(ready[1]);
  return pid;
}

TelemetryOptions often() {
  TelemetryOptions options;
  options.interval_s = 0.02;
  options.cores = 2;
  return options;
}

std::vector<std::string> kinds_of(const nlohmann::ordered_json& telemetry) {
  std::vector<std::string> out;
  for (const auto& mark : telemetry.value("marks", nlohmann::ordered_json::array())) {
    out.push_back(mark["kind"].get<std::string>());
  }
  return out;
}

TEST(Telemetry, MeasuresTheTrainersOwnCpuTimeAndMemory) {
  constexpr std::size_t kHeld = 80 << 20;
  Telemetry telemetry(often());
  const pid_t child = busy_child(kHeld);
  telemetry.watch({child});
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    telemetry.sample(true);
  }
  kill(child, SIGKILL);
  int status = 0;
  rusage used{};
  ASSERT_EQ(wait4(child, &status, 0, &used), child);
  const auto seen = telemetry.finish();
  const double cpu = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                     1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
  EXPECT_GE(seen["samples"], 5);
  EXPECT_NEAR(seen["cpu"]["trainer_cores"].get<double>() * seen["seconds"].get<double>(), cpu,
              1e-3);
  EXPECT_GE(seen["resident_peak_bytes"], static_cast<std::int64_t>(kHeld));
  EXPECT_LT(seen["resident_peak_bytes"], static_cast<std::int64_t>(kHeld + (64 << 20)));
}

TEST(Telemetry, AMachineSharedWithOtherWorkIsMarked) {
  // The other work's time is not of this process's ended children: it is waited for afterwards.
  Telemetry telemetry(often());
  const pid_t other = busy_child(1 << 20);
  std::this_thread::sleep_for(std::chrono::milliseconds(900));
  const auto seen = telemetry.finish();
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  EXPECT_GT(seen["cpu"]["other_cores"], 0.1);
  EXPECT_THAT(kinds_of(seen), testing::Contains("shared"));
}

TEST(Telemetry, GpusAreReadThroughALibraryLoadedAtRunTime) {
  const Variable library("BERTBENCH_NVML", BB_FAKE_NVML);
  const Variable throttle("FAKE_GPU_THROTTLE", "0x44");  // hw_thermal and power_cap
  const Variable processes("FAKE_GPU_PROCESSES", "3");
  const auto nvml = Nvml::open();
  ASSERT_TRUE(nvml);
  EXPECT_EQ(nvml->driver(), "580.00.simulated");
  EXPECT_EQ(nvml->cuda_driver(), "13.0");
  ASSERT_EQ(nvml->gpus().size(), 2U);
  TelemetryOptions options = often();
  options.nvml = nvml.get();
  options.gpus = {0, 1};
  Telemetry telemetry(options);
  telemetry.sample(false);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  telemetry.sample(true);
  const auto seen = telemetry.finish();
  ASSERT_EQ(seen["gpus"].size(), 2U);
  const auto& first = seen["gpus"][0];
  EXPECT_EQ(first["name"], "Simulated GPU");
  EXPECT_EQ(first["utilization"], 0.9);
  EXPECT_EQ(first["memory_peak_bytes"], std::int64_t{4} << 30);
  EXPECT_EQ(first["power_w"], 250);
  EXPECT_EQ(first["sm_clock_mhz"], 1410);
  EXPECT_FALSE(first.contains("throttle")) << "idle is no throttling";
  EXPECT_EQ(seen["gpus"][1]["throttle"]["hw_thermal"], 1);
  EXPECT_EQ(seen["gpus"][1]["throttle"]["power_cap"], 1);
  EXPECT_EQ(seen["training_power_w"], 600);
  EXPECT_GT(seen["energy_j"], 0);
  EXPECT_THAT(kinds_of(seen), testing::IsSupersetOf({"throttled", "shared"}));

  Trial trial;
  trial.sequences_per_second = 1200;
  apply_telemetry(trial, seen);
  ASSERT_TRUE(trial.memory);
  EXPECT_EQ(trial.memory->peak_bytes, std::int64_t{12} << 30) << "of the fuller GPU";
  EXPECT_EQ(trial.memory->capacity_bytes, std::int64_t{16} << 30);
  EXPECT_EQ(trial.memory->source, "nvml");
  EXPECT_DOUBLE_EQ(*trial.energy_per_sequence_j, 0.5);
  EXPECT_GE(trial.notices.size(), 3U);
}

TEST(Telemetry, WithoutAnEnergyCounterEnergyIsMeanPowerTimesTime) {
  const Variable library("BERTBENCH_NVML", BB_FAKE_NVML);
  const Variable old("FAKE_GPU_OLD", "1");
  const auto nvml = Nvml::open();
  ASSERT_TRUE(nvml);
  TelemetryOptions options = often();
  options.nvml = nvml.get();
  options.gpus = {0};
  Telemetry telemetry(options);
  telemetry.sample(true);
  const auto seen = telemetry.finish();
  EXPECT_NEAR(seen["energy_j"].get<double>(), 250 * seen["seconds"].get<double>(), 1e-6);
}

TEST(Telemetry, AMissingOrForeignLibraryMeansNoGpus) {
  for (const char* path : {"off", "/nowhere/libnvidia-ml.so.1", "libc.so.6", "/dev/null"}) {
    const Variable library("BERTBENCH_NVML", path);
    EXPECT_EQ(Nvml::open(), nullptr) << path;
  }
}

TEST(Telemetry, TheGpusOfATrialAreThoseThatItMaySee) {
  const Variable library("BERTBENCH_NVML", BB_FAKE_NVML);
  const auto nvml = Nvml::open();
  ASSERT_TRUE(nvml);
  EXPECT_EQ(gpus_in_use(*nvml, 1, ""), std::vector<int>{0});
  EXPECT_EQ(gpus_in_use(*nvml, 8, ""), (std::vector<int>{0, 1}));
  EXPECT_EQ(gpus_in_use(*nvml, 1, "1,0"), std::vector<int>{1});
  EXPECT_EQ(gpus_in_use(*nvml, 2, "GPU-8f2c"), (std::vector<int>{0, 1}));
}

TEST(Telemetry, DoctorWarnsOfAThrottledGpu) {
  const Variable library("BERTBENCH_NVML", BB_FAKE_NVML);
  const Variable throttle("FAKE_GPU_THROTTLE", "0x40");
  DoctorInput input;
  input.machine = look_at_machine();
  EXPECT_EQ(input.machine.cuda_driver, "13.0");
  bool warned = false;
  for (const auto& finding : diagnose(input)) {
    warned = warned || (finding.severity == Severity::warning && finding.subject == "GPU clocks" &&
                        finding.text.find("hw_thermal") != std::string::npos);
  }
  EXPECT_TRUE(warned);
}

TEST(Telemetry, ALogsOwnPeakStaysAndGetsTheCapacity) {
  Trial trial;
  trial.memory = MemoryRecord{100, 0, "log"};
  apply_telemetry(trial, {{"resident_peak_bytes", 90}, {"memory_bytes", 1000}});
  EXPECT_EQ(trial.memory->peak_bytes, 100);
  EXPECT_EQ(trial.memory->capacity_bytes, 1000);
  EXPECT_EQ(trial.memory->source, "log");
}

TEST(Telemetry, TakesTheEnergyOfTheCpuPackagesWhereThereAreNoGpus) {
  const ScratchFolder folder;
  const auto zone = [&](int number, const std::string& file, const std::string& text) {
    const auto path = folder.path("intel-rapl:" + std::to_string(number));
    std::filesystem::create_directories(path);
    write_file(path + "/" + file, text + "\n");
  };
  for (const int number : {0, 1, 2}) {
    zone(number, "name", number == 1 ? "psys" : "package-" + std::to_string(number));
    zone(number, "max_energy_range_uj", "5000000");
    zone(number, "energy_uj", "1000000");
  }
  auto options = often();
  options.powercap = folder.path("");
  options.on_cpu = true;
  Telemetry telemetry(options);
  zone(0, "energy_uj", "3000000");
  zone(1, "energy_uj", "9000000");  // of the whole board: no package
  telemetry.sample(true);
  std::this_thread::sleep_for(std::chrono::milliseconds(25));
  zone(0, "energy_uj", "500000");  // its range was over
  zone(2, "energy_uj", "1250000");
  telemetry.sample(true);
  zone(2, "energy_uj", "4250000");  // after the last look at the training: no power of it
  const auto seen = telemetry.finish();
  EXPECT_DOUBLE_EQ(seen["energy_j"].get<double>(), 2 + 2.5 + 0.25 + 3);
  EXPECT_EQ(seen["cpu"]["energy_j"], seen["energy_j"]);
  EXPECT_GT(seen["training_power_w"], 0.0);
  EXPECT_LE(seen["training_power_w"], 2.75 / 0.025);

  options.on_cpu = false;
  const auto may_use_gpus = Telemetry(options).finish();
  EXPECT_TRUE(may_use_gpus["cpu"].contains("energy_j"));
  EXPECT_FALSE(may_use_gpus.contains("energy_j")) << "a GPU may have used more";
  options.on_cpu = true;
  options.powercap = folder.path("nothing");
  EXPECT_FALSE(Telemetry(options).finish().contains("energy_j"));
  zone(0, "max_energy_range_uj", "");
  options.powercap = folder.path("");
  Telemetry damaged(options);
  zone(0, "energy_uj", "x");
  EXPECT_FALSE(damaged.finish()["cpu"].contains("energy_j"));
}

TEST(Telemetry, DamagedTelemetryOfAnEarlierStartIsTakenAsFarAsItGoes) {
  for (const char* text : {"null", "3", "[]", R"({"gpus": 3})",
                           R"({"marks": [1, {"text": 2}, {"kind": 4, "text": "x"}]})",
                           R"({"energy_j": "x", "gpus": [1, {"memory_peak_bytes": "y"}]})"}) {
    Trial trial;
    apply_telemetry(trial, nlohmann::ordered_json::parse(text));
    EXPECT_FALSE(trial.energy_j) << text;
    EXPECT_TRUE(trial.notices.empty()) << text;
  }
}

TEST(TelemetryOfASweep, IsInTheResultAndSurvivesAResume) {
  const ScratchFolder folder;
  const Plan plan = plan_of(small_config(R"(, "env": {"FAKE_DELAY_MS": "10"})"));
  Recorder first, again;
  const SweepOutcome outcome = swept(plan, folder, first);
  const Trial trial = outcome.result.cells.at(0).trials.at(0);
  ASSERT_TRUE(trial.telemetry.is_object());
  EXPECT_GT((*trial.telemetry)["seconds"], 0.0);
  const SweepOutcome resumed = swept(plan, folder, again);
  EXPECT_EQ(again.started.size(), 0U);
  EXPECT_EQ(resumed.result.cells.at(0).trials.at(0).telemetry->dump(), trial.telemetry->dump());
  const auto& environment = *resumed.result.environment;
  EXPECT_TRUE(environment.contains("command"));
  EXPECT_EQ(environment["configuration"].get<std::string>().size(), 32U);
  EXPECT_FALSE(environment.contains("hostname"));
}

}  // namespace
}  // namespace bertbench::test
