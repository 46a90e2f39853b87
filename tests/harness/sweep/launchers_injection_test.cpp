// No text of a config becomes a command, an option or a path outside the run folder, whichever
// launcher takes it: every string of a config x every hostile text x every launcher, for real.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/sweep/plan/launcher.h"
#include "harness/sweep/process/program.h"
#include "tests/harness/sweep/launchers_support.h"
#include "tests/harness/sweep/slurm_cluster.h"
#include "tests/harness/sweep/ssh_server.h"

namespace bertbench {
namespace {

namespace fs = std::filesystem;

/// --set arguments that put a text into each string of a config. {} is the text as JSON.
const std::vector<std::string> kPlaces{"name={}",
                                       "args=[\"--say\",{}]",
                                       "args=[{}]",
                                       "env={{\"FAKE_TEXT\": {}}}",
                                       "env={{{}: \"x\"}}",
                                       "grid.model=[{}]",
                                       "grid.vocabulary=[{}]",
                                       "grid.precision=[{}]",
                                       "grid.optimizer=[{}]",
                                       "grid.env.FAKE_AXIS=[{}]",
                                       "grid.topology=[{}]",
                                       "grid.backend=[{}]",
                                       "exclude=[{{\"model\": {}}}]",
                                       "window={}",
                                       "order={}",
                                       "launcher={}",
                                       "workload={}",
                                       "mpi.implementation={}",
                                       "mpi.bind_to={}",
                                       "ssh.identity_file={}",
                                       "slurm.job={}",
                                       "slurm.account={}",
                                       "slurm.partition={}",
                                       "slurm.qos={}",
                                       "slurm.constraint={}",
                                       "slurm.reservation={}",
                                       "slurm.gres={}",
                                       "slurm.time_limit={}",
                                       "slurm.mpi={}"};
/// Of hosts and how to reach them: what they accept may make the trial fail, so they run alone.
const std::vector<std::string> kHostPlaces{
    "hosts=[{}]", "ssh.config_file={}",
    R"(slurm.container={{"image":{0},"mounts":["a:"],"workdir":{0}}})"};

std::vector<std::string> texts() {
  auto all = test::hostile_texts();
  for (const char* more : {"../x", "../../pwned", "/tmp/pwned", "a/../../pwned", ".", "..",
                           "-oProxyCommand=touch pwned", "|touch pwned", "\n#SBATCH --wrap=x",
                           "$'\\n'touch pwned", "${IFS}touch${IFS}pwned", "%j", "pwned\\n"}) {
    all.emplace_back(more);
  }
  return all;
}

/// Files below `root` but for the run folder, with their sizes: what a run may not change.
std::set<std::string> outside(const std::string& root, const std::string& run) {
  std::set<std::string> out;
  for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator();
       ++it) {
    if (it->path() == run) {
      it.disable_recursion_pending();
      continue;
    }
    out.insert(it->path().string());
  }
  return out;
}

class Injection : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string launcher = GetParam();
    test::use_real_sampler();
    if (launcher == "mpi" && find_program("mpirun").empty()) GTEST_SKIP() << "no mpirun here";
    if (launcher == "ssh") {
      server_ = std::make_unique<test::SshServer>();
      if (!server_->missing().empty()) GTEST_SKIP() << server_->missing();
    }
    if (launcher == "slurm") {
      cluster_ = std::make_unique<test::SlurmCluster>();
      if (!cluster_->missing().empty()) GTEST_SKIP() << cluster_->missing();
    }
    base_ = {"trials=1", "grid.topology=[\"1n2g\"]", "hosts=[\"127.0.0.1\"]", "stall_timeout_s=20"};
    if (server_) base_.push_back("ssh.config_file=" + server_->client_config());
    before_ = fs::current_path();
    begin_folder();
  }
  void TearDown() override {
    if (!before_.empty()) fs::current_path(before_);
  }
  void begin_folder() {
    temp_ = std::make_unique<ScratchFolder>();
    fs::create_directories(temp_->path("cwd"));
    fs::current_path(temp_->path("cwd"));
  }
  /// The plan, when the config, the plan and every command accept these strings.
  std::optional<Plan> accepted(const std::vector<std::string>& sets) {
    auto all = base_;
    all.insert(all.end(), sets.begin(), sets.end());
    const auto config = parse_config(test::small_config(), "t.json", all);
    if (!config) return std::nullopt;
    PlanOptions options;
    options.launcher = GetParam();
    options.trainer = BB_FAKE_TRAINER;
    options.cores = 2;
    const auto plan = make_plan(*config, options);
    if (!plan || !dry_run(*plan, "out")) return std::nullopt;
    return *plan;
  }
  /// In each string of a config that takes it.
  void try_everywhere(const std::string& text) {
    const auto json = nlohmann::json(text).dump();
    // All strings that accept it together in one config; those that do not go together, alone.
    std::vector<std::string> together;
    std::set<std::string> keys;
    for (const auto& place : kPlaces) {
      const auto set = fmt::format(fmt::runtime(place), json);
      const auto alone = accepted({set});
      if (!alone) {
        ++counts_->refused;
        continue;
      }
      ++counts_->taken;
      auto more = together;
      more.push_back(set);
      if (keys.insert(place.substr(0, place.find('='))).second && accepted(more)) {
        together = std::move(more);
      } else {
        run(*alone, set);
      }
    }
    const auto plan = accepted(together);
    ASSERT_TRUE(plan) << json;
    run(*plan, json);
    for (const auto& place : kHostPlaces) {
      if (const auto hosts = accepted({fmt::format(fmt::runtime(place), json)})) run(*hosts, json);
    }
  }
  void run(const Plan& plan, const std::string& what) {
    const auto folder = temp_->path("run");
    const auto there = outside(temp_->path(), folder);
    test::Recorder seen;
    // Refused, failed or completed: all are fine, as long as nothing else happens.
    const auto outcome = run_sweep(plan, test::quick(folder), seen);
    if (outcome && outcome->exit_status == 0) ++counts_->completed;
    EXPECT_EQ(outside(temp_->path(), folder), there) << what;
    for (const auto& entry : fs::recursive_directory_iterator(temp_->path())) {
      EXPECT_NE(entry.path().filename(), "pwned") << entry.path() << what;
    }
    const char* home = getenv("HOME");
    for (const std::string& place :
         {std::string("/tmp"), std::string(home ? home : "/"), std::string("/")}) {
      EXPECT_FALSE(fs::exists(place + "/pwned")) << place << " " << what;
    }
    fs::remove_all(folder);
  }
  std::unique_ptr<test::SshServer> server_;
  std::unique_ptr<test::SlurmCluster> cluster_;
  std::vector<std::string> base_;
  fs::path before_;
  std::unique_ptr<ScratchFolder> temp_;
  /// Of all processes of a test.
  struct Counts {
    std::atomic<int> taken = 0, refused = 0, completed = 0;
  };
  Counts* counts_ =
      new (mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
          Counts;
};

TEST_P(Injection, NoStringOfAConfigRunsOrWritesElsewhere) {
  ASSERT_FALSE(fs::exists("/tmp/pwned")) << "something else made it: remove it first";
  // A job waits for a second until its scheduler looks: each node of the cluster has a share.
  const std::size_t shares = cluster_ ? 4 : 1;
  std::vector<pid_t> children;
  for (std::size_t share = 0; share < shares; ++share) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    (void)temp_.release();  // the parent removes it
    begin_folder();
    for (std::size_t i = share; i < texts().size(); i += shares) try_everywhere(texts()[i]);
    fs::current_path(before_);
    temp_.reset();
    _exit(HasFailure() ? 1 : 0);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "see above";
  }
  // The test would be empty if configs refused everything, or if no trainer ever ran.
  EXPECT_GT(counts_->taken, 100);
  EXPECT_GT(counts_->refused, 100);
  EXPECT_GT(counts_->completed, static_cast<int>(texts().size()) / 2);
}

TEST_P(Injection, FollowsNoLinkPlantedInTheRunFolder) {
  const auto plan = accepted({});
  ASSERT_TRUE(plan);
  const std::string cell = plan->cells.at(0).folder;
  for (const auto& planted :
       {cell, cell + "/trial_1", cell + "/trial_1/log.txt", cell + "/trial_1/command.json",
        cell + "/trial_1/launch.argv", cell + "/trial_1/started", cell + "/trial_1/started.new",
        cell + "/trial_1/ended.new", cell + "/trial_1/telemetry.0.json", cell + "/trial_1/training",
        std::string("jobs"), std::string("results.json")}) {
    const auto run = temp_->path("run");
    const auto away = temp_->path("away");
    fs::create_directories(fs::path(run + "/" + planted).parent_path());
    fs::create_directories(away);
    const bool folder = planted == cell || planted == "jobs" || planted.ends_with("trial_1");
    const auto target = folder ? away : away + "/file";
    if (!folder) test::write_file(target, "untouched");
    fs::create_symlink(target, run + "/" + planted);
    test::Recorder seen;
    const auto swept = run_sweep(*plan, test::quick(run), seen);
    if (planted == cell) {
      ASSERT_FALSE(swept);
      EXPECT_THAT(swept.error().message(),
                  ::testing::HasSubstr("links and files are not followed"));
    }
    if (folder) {
      EXPECT_TRUE(fs::is_empty(away)) << planted;
    } else {
      EXPECT_EQ(test::read_file(target), "untouched") << planted;
    }
    fs::remove_all(run);
    fs::remove_all(away);
  }
}

std::vector<std::string> launchers() {
  std::vector<std::string> out;
  for (const Launcher* launcher : all_launchers()) out.emplace_back(launcher->name);
  return out;
}
INSTANTIATE_TEST_SUITE_P(Under, Injection, ::testing::ValuesIn(launchers()),
                         [](const auto& of) { return of.param; });

}  // namespace
}  // namespace bertbench
