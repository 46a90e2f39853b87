// The file that keeps cuBLASLt's algorithms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scratch_folder.h"
#include "workloads/bert/cuda/products/algorithm_cache.h"

namespace bert::cuda {
namespace {

class AlgorithmFile : public ::testing::Test {
 protected:
  const bertbench::test::ScratchFolder folder_;
  const std::string path_ = folder_.path("algorithms");
};

TEST_F(AlgorithmFile, keeps_what_was_found_and_what_others_add) {
  AlgorithmCache first(path_);
  AlgorithmCache second(path_);
  EXPECT_FALSE(first.find("H200,lt130100,1x2x3"));
  EXPECT_TRUE(first.add("H200,lt130100,1x2x3", {1, 0xdeadbeefULL << 32, 3}));
  EXPECT_TRUE(second.add("A100,other", {7}));
  const AlgorithmCache third(path_);
  EXPECT_EQ(third.size(), 2U);
  EXPECT_THAT(*third.find("H200,lt130100,1x2x3"),
              ::testing::ElementsAre(1, 0xdeadbeefULL << 32, 3));
}

TEST_F(AlgorithmFile, damaged_lines_count_as_not_found) {
  const AlgorithmCache cache(folder_.put("algorithms", "half\nbad 12 zz\ngood 1f\n\n"));
  EXPECT_EQ(cache.size(), 1U);
  EXPECT_THAT(*cache.find("good"), ::testing::ElementsAre(0x1f));
}

TEST_F(AlgorithmFile, a_folder_that_cannot_be_written_is_reported) {
  AlgorithmCache cache("/proc/nothing/here");
  EXPECT_FALSE(cache.add("key", {1}));
  EXPECT_TRUE(cache.find("key")) << "this run keeps it";
}

}  // namespace
}  // namespace bert::cuda
