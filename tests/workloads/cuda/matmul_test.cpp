// How products reach cuBLASLt, and the file that keeps its algorithms. No GPU, no cuBLASLt.
#include "workloads/bert/cuda/products/matmul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "workloads/bert/cuda/products/algorithm_cache.h"

namespace bert::cuda {
namespace {

float element(const StoredMatrix& matrix, bool transpose, std::int64_t i, std::int64_t j) {
  const std::int64_t row = transpose ? j : i;
  const std::int64_t column = transpose ? i : j;
  EXPECT_TRUE(row < matrix.rows && column < matrix.columns);
  return static_cast<const float*>(matrix.data)[column * matrix.ld + row];
}

/// The definition of a BLAS product.
void blas(const ColumnMajorProduct& p, std::int64_t k, float* d) {
  for (std::int64_t i = 0; i < p.d.rows; ++i) {
    for (std::int64_t j = 0; j < p.d.columns; ++j) {
      float sum = 0;
      for (std::int64_t inner = 0; inner < k; ++inner) {
        sum += element(p.a, p.transpose_a, i, inner) * element(p.b, p.transpose_b, inner, j);
      }
      d[j * p.d.ld + i] = sum;
    }
  }
}

TEST(CudaMatmul, a_row_major_product_is_the_same_by_columns) {
  constexpr std::int64_t m = 3, n = 5, k = 4;
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      Product p;
      p.transpose_a = transpose_a;
      p.transpose_b = transpose_b;
      p.m = m;
      p.n = n;
      p.k = k;
      p.lda = (transpose_a ? m : k) + 1;  // rows further apart than they are long
      p.ldb = (transpose_b ? k : n) + 2;
      p.ldc = n + 3;
      std::vector<float> a(64), b(64), c(64), d(64);
      for (std::size_t i = 0; i < a.size(); ++i) {
        a[i] = static_cast<float>(i * 7 % 11);
        b[i] = static_cast<float>(i * 5 % 13);
      }
      p.a = a.data();
      p.b = b.data();
      p.c = c.data();
      make_matmul({})->run(p, nullptr);
      const ColumnMajorProduct by_columns = column_major(p);
      EXPECT_GE(by_columns.a.ld, by_columns.a.rows);
      EXPECT_GE(by_columns.b.ld, by_columns.b.rows);
      blas(by_columns, k, d.data());
      EXPECT_EQ(c, d) << transpose_a << transpose_b;
    }
  }
}

class AlgorithmFile : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ =
        std::filesystem::path(::testing::TempDir()) /
        ("bert_algorithms_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
         ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::filesystem::path path_;
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
  std::ofstream(path_) << "half\nbad 12 zz\ngood 1f\n\n";
  const AlgorithmCache cache(path_);
  EXPECT_EQ(cache.size(), 1U);
  EXPECT_THAT(*cache.find("good"), ::testing::ElementsAre(0x1f));
}

TEST_F(AlgorithmFile, a_folder_that_cannot_be_written_is_told) {
  AlgorithmCache cache("/proc/nothing/here");
  EXPECT_FALSE(cache.add("key", {1}));
  EXPECT_TRUE(cache.find("key")) << "this run keeps it";
}

}  // namespace
}  // namespace bert::cuda
