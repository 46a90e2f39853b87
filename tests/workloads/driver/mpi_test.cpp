// --comm mpi under the real mpirun, against --comm tcp.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/workloads/driver/process.h"
#include "tests/workloads/driver/state.h"

namespace bert::testing {
namespace {

using ::testing::HasSubstr;

// Ranks that stand for a job's: as many slots as ranks, however few cores there are.
Finished mpirun(int ranks, const Words& trainer) {
  const auto n = std::to_string(ranks);
  Words words =
      split_words("--allow-run-as-root --bind-to none --host localhost:" + n + " -np " + n);
  words.emplace_back(BERT_TRAIN);
  words.insert(words.end(), trainer.begin(), trainer.end());
  // Containers forbid the copy between processes that Open MPI tries first, and it prints that.
  return Process(words, {{"OMPI_MCA_btl_vader_single_copy_mechanism", "none"}}, "", BERT_MPIRUN)
      .wait();
}

Finished over_tcp(int ranks, const Words& trainer) {
  const int port = free_port();
  std::vector<std::unique_ptr<Process>> others;
  for (int rank = 1; rank < ranks; ++rank) {
    others.push_back(std::make_unique<Process>(trainer, rank_variables(rank, ranks, port)));
  }
  Finished first = run(trainer, rank_variables(0, ranks, port));
  for (auto& other : others) EXPECT_EQ(other->wait().status, 0);
  return first;
}

class Mpi : public ::testing::TestWithParam<int> {};

TEST_P(Mpi, RanksTrainToTheSameWeightsAsOverTcp) {
  const int ranks = GetParam();
  const std::string mpi = temporary_folder("mpi"), tcp = temporary_folder("tcp");
  const auto words = [&](const std::string& comm, const std::string& folder) {
    return small({"--steps", "4", "--bucket-mb", "0.7", "--comm", comm, "--checkpoint", folder,
                  "--expect-world-size", std::to_string(ranks)});
  };
  const Finished one = mpirun(ranks, words("mpi", mpi));
  ASSERT_EQ(one.status, 0) << one.err << one.out;
  const Finished other = over_tcp(ranks, words("tcp", tcp));
  ASSERT_EQ(other.status, 0) << other.err;
  // mpirun mixes the lines of all ranks: another's may be the first.
  const auto begin = one.out.find("{\"type\":\"header\"");
  ASSERT_NE(begin, std::string::npos) << one.out;
  const auto header =
      nlohmann::json::parse(one.out.substr(begin, one.out.find('\n', begin) - begin));
  EXPECT_EQ(header["world_size"], ranks);
  EXPECT_THAT(one.out, HasSubstr("\"mpi, Open MPI"));
  const State a = newest_state(mpi), b = newest_state(tcp);
  ASSERT_EQ(a.values.size(), b.values.size());
  if (ranks == 2) {
    // A sum of two does not depend on their order.
    EXPECT_TRUE(a.values == b.values);
  }
  EXPECT_LE(whole_difference(b, a, 0), 1e-6) << "weights";
  EXPECT_LE(whole_difference(b, a, 1), 1e-5) << "first moments";
}
INSTANTIATE_TEST_SUITE_P(Worlds, Mpi, ::testing::Values(2, 4));

TEST(MpiErrors, AFailingRankEndsTheJobWithItsStatus) {
  // Rank 1 alone is given another seed, which the ranks notice before training.
  auto words = split_words(
      "--allow-run-as-root --host localhost:2 --bind-to none "
      "-np 1 BERT_TRAIN --comm mpi --seed 1 : -np 1 BERT_TRAIN --comm mpi --seed 2");
  std::replace(words.begin(), words.end(), std::string("BERT_TRAIN"), std::string(BERT_TRAIN));
  const Finished done =
      Process(words, {{"OMPI_MCA_btl_vader_single_copy_mechanism", "none"}}, "", BERT_MPIRUN)
          .wait();
  EXPECT_EQ(done.status, 2) << done.err;
  EXPECT_THAT(done.err, HasSubstr("different options"));
}

TEST(MpiErrors, RanksOfNoMpirunAreTold) {
  const Finished done = run(small({"--steps", "2", "--comm", "mpi"}), rank_variables(0, 2, 1));
  EXPECT_NE(done.status, 0);
  EXPECT_THAT(done.err, HasSubstr("start it with the mpirun"));
}

}  // namespace
}  // namespace bert::testing
