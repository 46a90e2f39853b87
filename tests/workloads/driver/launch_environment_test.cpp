#include "workloads/bert/core/launch_environment.h"

#include <gmock/gmock.h>

#include <map>

namespace bert {
namespace {

using ::testing::HasSubstr;

Result<LaunchEnvironment> read(const std::map<std::string, std::string>& variables) {
  return read_launch_environment([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(LaunchEnvironment, NoVariablesAreAWorldOfOne) {
  const auto env = read({});
  ASSERT_TRUE(env);
  EXPECT_EQ(env->source, "none");
  EXPECT_EQ(env->rank, 0);
  EXPECT_EQ(env->world_size, 1);
}

TEST(LaunchEnvironment, TorchrunGivesNodesAndMaster) {
  const auto env = read({{"RANK", "9"},
                         {"WORLD_SIZE", "16"},
                         {"LOCAL_RANK", "1"},
                         {"LOCAL_WORLD_SIZE", "8"},
                         {"MASTER_ADDR", "node7"},
                         {"MASTER_PORT", "4711"}});
  ASSERT_TRUE(env);
  EXPECT_EQ(env->source, "torchrun");
  EXPECT_EQ(env->rank, 9);
  EXPECT_EQ(env->local_rank, 1);
  EXPECT_EQ(env->nodes(), 2);
  EXPECT_EQ(env->master_address, "node7");
  EXPECT_EQ(env->master_port, 4711);
}

TEST(LaunchEnvironment, TorchrunsAgentKeepsItsOwnPort) {
  const auto env = read({{"RANK", "0"},
                         {"WORLD_SIZE", "2"},
                         {"MASTER_PORT", "29500"},
                         {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  ASSERT_TRUE(env);
  EXPECT_EQ(env->master_port, 29501);
}

TEST(LaunchEnvironment, OpenMpiOnOneNodeNeedsNoMaster) {
  const auto env = read({{"OMPI_COMM_WORLD_RANK", "3"},
                         {"OMPI_COMM_WORLD_SIZE", "4"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "3"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}});
  ASSERT_TRUE(env);
  EXPECT_EQ(env->source, "openmpi");
  EXPECT_EQ(env->master_address, "127.0.0.1");
}

TEST(LaunchEnvironment, OpenMpiOnSeveralNodesAsksForTheMaster) {
  const auto env = read({{"OMPI_COMM_WORLD_RANK", "3"},
                         {"OMPI_COMM_WORLD_SIZE", "4"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  ASSERT_FALSE(env);
  EXPECT_EQ(env.error().status, ExitStatus::usage);
  EXPECT_THAT(env.error().message, HasSubstr("MASTER_ADDR"));
}

TEST(LaunchEnvironment, PmiIsReadWithoutLocalVariables) {
  const auto env = read({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}});
  ASSERT_TRUE(env);
  EXPECT_EQ(env->source, "pmi");
  EXPECT_EQ(env->local_world_size, 2);
}

TEST(LaunchEnvironment, SlurmStepNamesItsMasterAndTasksPerNode) {
  const auto env = read({{"SLURM_PROCID", "5"},
                         {"SLURM_NTASKS", "99"},
                         {"SLURM_STEP_NUM_TASKS", "6"},
                         {"SLURM_LOCALID", "1"},
                         {"SLURM_NODEID", "1"},
                         {"SLURM_STEP_TASKS_PER_NODE", "4,2"},
                         {"SLURM_STEP_NODELIST", "gpu[07-08]"},
                         {"SLURM_JOB_ID", "123"}});
  ASSERT_TRUE(env) << env.error().message;
  EXPECT_EQ(env->source, "slurm");
  EXPECT_EQ(env->world_size, 6);
  EXPECT_EQ(env->local_world_size, 2);
  EXPECT_EQ(env->master_address, "gpu07");
  EXPECT_EQ(env->master_port, 29623);
}

TEST(LaunchEnvironment, AnAllocationShellIsNotALaunch) {
  const auto env = read({{"SLURM_NTASKS", "8"}, {"SLURM_JOB_NODELIST", "n[1-2]"}});
  ASSERT_TRUE(env);
  EXPECT_EQ(env->world_size, 1);
}

TEST(LaunchEnvironment, TheInnermostLauncherWins) {
  const auto env = read({{"RANK", "1"},
                         {"WORLD_SIZE", "2"},
                         {"OMPI_COMM_WORLD_RANK", "0"},
                         {"OMPI_COMM_WORLD_SIZE", "1"},
                         {"SLURM_PROCID", "0"},
                         {"SLURM_NTASKS", "1"}});
  ASSERT_TRUE(env);
  EXPECT_EQ(env->source, "torchrun");
  EXPECT_EQ(env->world_size, 2);
}

TEST(LaunchEnvironment, HalfSetsAndImpossibleNumbersAreErrorsThatNameTheVariable) {
  using Variables = std::map<std::string, std::string>;
  const std::pair<Variables, const char*> cases[] = {
      {{{"RANK", "1"}}, "WORLD_SIZE"},
      {{{"WORLD_SIZE", "2"}}, "RANK"},
      {{{"RANK", "2"}, {"WORLD_SIZE", "2"}}, "RANK=2"},
      {{{"RANK", "-1"}, {"WORLD_SIZE", "2"}}, "RANK=-1"},
      {{{"RANK", "1x"}, {"WORLD_SIZE", "2"}}, "RANK=1x"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "0"}}, "WORLD_SIZE=0"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "4"}}, "contradict"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "2"}, {"LOCAL_WORLD_SIZE", "2"}},
       "contradict"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "70000"}}, "MASTER_PORT"},
      {{{"OMPI_COMM_WORLD_SIZE", "2"}}, "OMPI_COMM_WORLD_RANK"},
      {{{"SLURM_PROCID", "0"}}, "SLURM_NTASKS"},
  };
  for (const auto& [variables, expected] : cases) {
    const auto env = read(variables);
    ASSERT_FALSE(env) << expected;
    EXPECT_EQ(env.error().status, ExitStatus::usage);
    EXPECT_THAT(env.error().message, HasSubstr(expected));
  }
}

TEST(SlurmLists, FirstHostOfEveryForm) {
  EXPECT_EQ(first_slurm_host("gpu3"), "gpu3");
  EXPECT_EQ(first_slurm_host("gpu3,gpu4"), "gpu3");
  EXPECT_EQ(first_slurm_host("gpu[003-005,9],login"), "gpu003");
  EXPECT_EQ(first_slurm_host("r1n[7]-ib"), "r1n7-ib");
  EXPECT_EQ(first_slurm_host("gpu["), "");
}

TEST(SlurmLists, TasksOfANode) {
  EXPECT_EQ(slurm_tasks_on_node("4(x2),3", 1), 4);
  EXPECT_EQ(slurm_tasks_on_node("4(x2),3", 2), 3);
  EXPECT_EQ(slurm_tasks_on_node("4(x2),3", 3), std::nullopt);
  EXPECT_EQ(slurm_tasks_on_node("4(x2", 0), std::nullopt);
  EXPECT_EQ(slurm_tasks_on_node("", 0), std::nullopt);
}

}  // namespace
}  // namespace bert
