#include "harness/sweep/observe/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/sweep/observe/cgroup.h"
#include "harness/sweep/observe/environment.h"
#include "harness/sweep/plan/doctor.h"
#include "harness/sweep/process/process.h"
#include "harness/sweep/process/program.h"
#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {
using ::testing::HasSubstr;

TEST(Machine, ReadsProcAndSys) {
  test::ScratchFolder root;
  root.put("proc/cpuinfo",
           "processor\t: 0\nmodel name\t: Xeon 9\nphysical id\t: 0\nsiblings\t: 4\ncpu cores\t: 2\n"
           "flags\t\t: fpu avx2 avx512f hypervisor\n\nprocessor\t: 1\nmodel name\t: Xeon 9\n"
           "physical id\t: 1\n");
  root.put("proc/meminfo", "MemTotal:       1024 kB\nMemAvailable:    512 kB\n");
  root.put("proc/loadavg", "1.50 1.0 1.0 1/2 3\n");
  root.put("etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian 12\"\n");
  root.put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  root.put("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
  root.put("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  root.put("sys/fs/cgroup/cpu.max", "50000 100000\n");
  root.put("sys/fs/cgroup/memory.max", "524288\n");
  root.put("proc/1/cgroup", "0::/kubepods/x\n");
  const auto m = look_at_machine(root.path(), false);
  EXPECT_EQ(m.cpu, "Xeon 9");
  EXPECT_EQ(m.cores_online, 2);
  EXPECT_EQ(m.sockets, 2);
  EXPECT_EQ(m.threads_per_core, 2);
  EXPECT_EQ(m.cores_usable, 1) << "half a CPU by the cgroup";
  EXPECT_EQ(m.memory_bytes, 1024 * 1024);
  EXPECT_EQ(m.memory_limit_bytes, 524288);
  EXPECT_EQ(m.os, "Debian 12");
  EXPECT_EQ(m.turbo, false);
  EXPECT_EQ(m.container, "kubepods");
  EXPECT_EQ(m.virtualization, "hypervisor");
  EXPECT_EQ(m.load_1min, 1.5);

  const auto findings = diagnose({m, 1000, {{"ssh", ""}}, {{"OMP_NUM_THREADS", "64"}}});
  std::vector<std::string> warned;
  for (const auto& f : findings) {
    if (f.severity == Severity::warning) {
      warned.push_back(f.subject);
      EXPECT_FALSE(f.advice.empty()) << f.subject;
    }
  }
  EXPECT_THAT(warned, ::testing::UnorderedElementsAre("governor", "clock source", "load", "threads",
                                                      "free disk"));
  EXPECT_EQ(findings.front().severity, Severity::warning);
}

// A job's group has the limits, not the root of the tree; one above it may allow less.
TEST(Machine, HasTheLimitsOfItsOwnGroupAndThoseAbove) {
  test::ScratchFolder root;
  root.put("proc/self/cgroup", "0::/slurm/job_7/step_0\n");
  root.put("sys/fs/cgroup/slurm/job_7/cpu.max", "50000 100000\n");
  root.put("sys/fs/cgroup/slurm/job_7/cpu.stat", "usage_usec 9\nthrottled_usec 210000\n");
  root.put("sys/fs/cgroup/slurm/job_7/step_0/cpu.max", "max 100000\n");
  root.put("sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n");
  root.put("sys/fs/cgroup/slurm/memory.max", "524288\n");
  const CgroupLimits limits = cgroup_limits(root.path());
  EXPECT_EQ(limits.cores, 0.5);
  EXPECT_EQ(limits.memory_bytes, 524288);
  EXPECT_DOUBLE_EQ(limits.stopped_s.value_or(0), 0.21);
  EXPECT_EQ(look_at_machine(root.path(), false).memory_limit_bytes, 524288);
}

TEST(Machine, ReadsGroupsOfTheFirstVersion) {
  test::ScratchFolder root;
  root.put("proc/self/cgroup", "5:memory:/job\n4:cpu,cpuacct:/job\n1:name=systemd:/\n");
  root.put("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "150000\n");
  root.put("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  root.put("sys/fs/cgroup/cpu/job/cpu.stat", "nr_periods 43\nthrottled_time 210000000\n");
  root.put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  root.put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "524288\n");
  root.put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  const CgroupLimits limits = cgroup_limits(root.path());
  EXPECT_EQ(limits.cores, 1.5);
  EXPECT_EQ(limits.memory_bytes, 524288);
  EXPECT_DOUBLE_EQ(limits.stopped_s.value_or(0), 0.21);
}

TEST(Machine, SaysNothingOfWhatTheKernelDoesNotTell) {
  test::ScratchFolder root;
  const auto m = look_at_machine(root.path(), false);
  EXPECT_TRUE(m.cpu.empty());
  EXPECT_FALSE(m.memory_bytes);
  EXPECT_FALSE(m.turbo);
  EXPECT_GE(m.cores_usable, 1);
  EXPECT_FALSE(diagnose({m, std::nullopt, {}, {}}).empty());
}

TEST(Machine, WarnsOfAGpuThatSomeoneElseUses) {
  DoctorInput in;
  Gpu free, busy;
  free.name = busy.name = "H200";
  free.utilisation = 0;
  busy.utilisation = 97;
  in.machine.gpus = {free, busy};
  std::vector<DoctorFinding> gpus;
  for (const auto& f : diagnose(in)) {
    if (f.subject == "GPU") gpus.push_back(f);
  }
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[0].severity, Severity::warning);
  EXPECT_THAT(gpus[0].text, HasSubstr("1: H200, in use: 97 %"));
  EXPECT_EQ(gpus[1].severity, Severity::ok);
}

TEST(Environment, HoldsNoHostNameUnlessAskedFor) {
  const auto plain = capture_environment();
  EXPECT_FALSE(plain.contains("hostname"));
  EXPECT_TRUE(plain.contains("cores"));
  EXPECT_TRUE(plain["bertbench"].contains("version"));
  EXPECT_TRUE(capture_environment({.hostname = true}).contains("hostname"));
  EXPECT_FALSE(doctor(".").empty());
}

// Seen: index.lock left by a `git status` that died with its harness, which stopped the user's git.
TEST(Environment, TheRepositoryIsReadAndNotWritten) {
  if (find_program("git").empty()) GTEST_SKIP() << "git is not installed";
  prepare_to_run_processes();
  for (const char* name : {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"})
    unsetenv(name);  // of a hook
  const test::ScratchFolder repository;
  const auto file = repository.put("train.py", "pass\n");
  const auto git = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"git", "-C", repository.path(), "-c", "user.name=a", "-c",
                                 "user.email=a@b", "-c", "commit.gpgsign=false"});
    return capture_output(words, std::chrono::seconds(60)).has_value();
  };
  ASSERT_TRUE(git({"init", "-q"}));
  ASSERT_TRUE(git({"add", "train.py"}));
  ASSERT_TRUE(git({"commit", "-q", "-m", "first"}));
  // A file of another time has its entry of the index written anew, if anybody may.
  std::filesystem::last_write_time(file,
                                   std::filesystem::last_write_time(file) - std::chrono::hours(1));
  const auto index = test::read_file(repository.path(".git/index"));
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(repository.path());
  const auto environment = capture_environment();
  std::filesystem::current_path(before);
  EXPECT_EQ(environment["git"]["changed"], false);
  EXPECT_EQ(test::read_file(repository.path(".git/index")), index);
}

}  // namespace
}  // namespace bertbench
