// One config under every launcher, with the real trainer: the same cells, and the right world in
// each trainer's log. The daemons (sshd, Slurm) are started and stopped here.
#include <gmock/gmock.h>

#include <memory>

#include "harness/sweep/config/workload.h"
#include "harness/sweep/process/program.h"
#include "tests/e2e/programs.h"
#include "tests/harness/sweep/slurm_cluster.h"
#include "tests/harness/sweep/ssh_server.h"

namespace bertbench::e2e {
namespace {

using testing::HasSubstr;

struct Way {
  const char* name;
  std::vector<std::string> options;
};

class OneConfigEverywhere : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<Folder>();
    ssh_ = std::make_unique<test::SshServer>();
    slurm_ = std::make_unique<test::SlurmCluster>();
    json config = {{"name", "everywhere"},
                   {"workload", "bert_train"},
                   {"grid",
                    {{"topology", {"1n1g", "1n2g", "2n2g", "4n1g"}},
                     {"model", {"bert-tiny"}},
                     {"precision", {"fp32"}},
                     {"micro_batch_size", {2}},
                     {"sequence_length", {16}}}},
                   {"env", {{"NCCL_P2P_DISABLE", "1"}, {"CUDA_VISIBLE_DEVICES", ""}}},
                   {"hosts", {"127.0.0.1", "127.0.0.1", "127.0.0.1", "127.0.0.1"}},
                   {"ssh", {{"config_file", ssh_->client_config()}}},
                   {"trials", 1},
                   {"steps", 24},  // so that a trial lives long enough to be watched
                   {"window", "steps:2:8"},
                   {"timeout_s", 300},
                   {"stall_timeout_s", 120},
                   {"retries", 1}};
    write_file(*folder_ / "config.json", config.dump());
  }
  static void TearDownTestSuite() {
    slurm_.reset();
    ssh_.reset();
    folder_.reset();
  }
  /// Whoever starts the ranks, the machine that they run on is watched.
  static void expect_watched(const json& trial, const Way& way) {
    const json seen = trial.value("telemetry", json::object());
    EXPECT_GE(seen.value("samples", 0), 1) << way.name << seen;
    EXPECT_GT(seen.value("resident_peak_bytes", 0), 1 << 20) << way.name << seen;
    if (way.options[1] != "ssh" && way.options[1] != "slurm") return;
    // Four nodes that are one machine are watched by many and counted once.
    ASSERT_EQ(seen["nodes"].size(), 1U) << way.name << seen;
    EXPECT_EQ(seen["nodes"][0]["node"], 0);
    EXPECT_FALSE(seen["nodes"][0].contains("missing")) << seen;
    EXPECT_GT(seen["cpu"]["trainer_cores"], 0) << way.name << seen;
  }
  /// Sweeps under one launcher and looks at everything that must be the same under all.
  static void sweep(const Way& way, const std::string& only = "") {
    const std::string run = *folder_ / (std::string("run-") + way.name);
    std::vector<std::string> command{"sweep",   *folder_ / "config.json", "--out", run, "--trainer",
                                     kBertTrain};
    command.insert(command.end(), way.options.begin(), way.options.end());
    if (!only.empty()) command.insert(command.end(), {"--only", only});
    const auto ran = folder_->bertbench(command);
    ASSERT_EQ(ran.status, 0) << way.name << "\n" << ran.err;
    const json set = json::parse(read_file(run + "/results.json"));
    std::set<std::string> keys;
    for (const json& cell : set["cells"]) {
      keys.insert(cell["key"]);
      const json& trial = cell["trials"][0];
      EXPECT_EQ(trial["outcome"]["status"], "completed") << way.name << cell["key"];
      EXPECT_EQ(trial["window"]["covered"], true);
      EXPECT_GT(trial.value("sequences_per_second", 0.0), 0);
      // The trainer's own word in its log, not the plan's.
      const auto log = read_file(run + "/" + trial["log"].get<std::string>());
      const json header =
          json::parse(log.substr(log.find('{'), log.find('\n', log.find('{')) - log.find('{')));
      EXPECT_EQ(header.value("world_size", 0), cell["world_size"])
          << way.name << cell["key"] << header;
      EXPECT_EQ(cell.value("emulated", false), true) << way.name;
      expect_watched(trial, way);
      const auto attempt = run + "/" + trial["log"].get<std::string>();
      const json made = json::parse(read_file(fs::path(attempt).parent_path() / "command.json"));
      EXPECT_EQ(made["launcher"], way.options[1]);
      const auto text = made.dump();
      EXPECT_THAT(text, HasSubstr("NCCL_P2P_DISABLE"));
      EXPECT_THAT(text, HasSubstr("CUDA_VISIBLE_DEVICES"));
      const auto warnings = cell.value("warnings", json::array()).dump();
      if (cell["nodes"] > 1) {
        EXPECT_THAT(warnings, HasSubstr("nodes are emulated"));
      }
    }
    if (only.empty()) {
      std::set<std::string> expected;
      for (const char* topology : {"1n1g", "1n2g", "2n2g", "4n1g"}) {
        expected.insert(std::string("bert-tiny.fp32.s16.b2.a1.") + topology +
                        "+env.CUDA_VISIBLE_DEVICES=+env.NCCL_P2P_DISABLE=1");
      }
      EXPECT_EQ(keys, expected) << way.name;
    }
  }
  static std::unique_ptr<Folder> folder_;
  static std::unique_ptr<test::SshServer> ssh_;
  static std::unique_ptr<test::SlurmCluster> slurm_;
};
std::unique_ptr<Folder> OneConfigEverywhere::folder_;
std::unique_ptr<test::SshServer> OneConfigEverywhere::ssh_;
std::unique_ptr<test::SlurmCluster> OneConfigEverywhere::slurm_;

TEST_F(OneConfigEverywhere, Local) { sweep({"local", {"--launcher", "local"}}); }

TEST_F(OneConfigEverywhere, OpenMpi) {
  if (find_program("mpirun.openmpi").empty()) GTEST_SKIP() << "openmpi-bin is not installed";
  sweep({"openmpi", {"--launcher", "mpi", "--set", "mpi.implementation=openmpi"}});
}

TEST_F(OneConfigEverywhere, OpenMpiWithMpiAsCommunicator) {
  if (find_program("mpirun.openmpi").empty()) GTEST_SKIP() << "openmpi-bin is not installed";
  if (!fs::exists(fs::path(kBertTrain).parent_path() / "bert_mpi.so")) {
    GTEST_SKIP() << "bert_mpi.so was not built (Debian: libopenmpi-dev)";
  }
  sweep({"comm-mpi",
         {"--launcher", "mpi", "--set", "mpi.implementation=openmpi", "--set",
          R"(args=["--comm","mpi"])"}},
        "topology=1n2g");
}

TEST_F(OneConfigEverywhere, Mpich) {
  if (find_program("mpirun.mpich").empty()) GTEST_SKIP() << "mpich is not installed";
  sweep({"mpich", {"--launcher", "mpi", "--set", "mpi.implementation=mpich"}});
}

TEST_F(OneConfigEverywhere, Ssh) {
  if (!ssh_->missing().empty()) GTEST_SKIP() << ssh_->missing();
  sweep({"ssh", {"--launcher", "ssh"}});
}

TEST_F(OneConfigEverywhere, APreflightAsksEachNodeAndEachPair) {
  if (!ssh_->missing().empty()) GTEST_SKIP() << ssh_->missing();
  const auto trainers = fs::path(kBertTrain).parent_path().string();
  setenv("PATH", (trainers + ":" + getenv("PATH")).c_str(), 1);
  const auto ran = folder_->bertbench({"doctor", "--launcher", "ssh", "--set",
                                       R"(hosts=["127.0.0.1","127.0.0.2"])", "--set",
                                       "ssh.config_file=" + ssh_->client_config(), "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const json preflight = json::parse(ran.out).at("preflight");
  EXPECT_EQ(preflight["unread"], json::array());
  EXPECT_EQ(preflight["silent"], json::array());
  ASSERT_EQ(preflight["nodes"].size(), 2U) << preflight;
  EXPECT_GT(preflight["nodes"][1].value("gflops", 0.0), 0);
  EXPECT_EQ(preflight["emulated"], true);
  EXPECT_FALSE(preflight.contains("pairs_problem")) << preflight;
  ASSERT_EQ(preflight.value("pairs", json::array()).size(), 1U) << preflight;
  EXPECT_GT(preflight["pairs"][0].value("gb_s", 0.0), 0) << preflight;
}

TEST_F(OneConfigEverywhere, SlurmJobs) {
  if (!slurm_->missing().empty()) GTEST_SKIP() << slurm_->missing();
  sweep({"slurm", {"--launcher", "slurm"}});
}

TEST_F(OneConfigEverywhere, SlurmInsideAnAllocation) {
  if (!slurm_->missing().empty()) GTEST_SKIP() << slurm_->missing();
  const std::string run = *folder_ / "run-salloc";
  const auto ran = folder_->run({find_program("salloc"), "--nodes=4", "--ntasks-per-node=8",
                                 "--quiet", kBertbench, "sweep", *folder_ / "config.json", "--out",
                                 run, "--trainer", kBertTrain, "--launcher", "slurm"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_FALSE(fs::exists(run + "/jobs"));
  const json set = json::parse(read_file(run + "/results.json"));
  ASSERT_EQ(set["cells"].size(), 4U);
  for (const json& cell : set["cells"]) {
    EXPECT_EQ(cell["trials"][0]["outcome"]["status"], "completed");
    if (cell["nodes"] > 1) {
      EXPECT_THAT(cell.value("warnings", json::array()).dump(), HasSubstr("nodes are emulated"));
    }
  }
}

}  // namespace
}  // namespace bertbench::e2e
