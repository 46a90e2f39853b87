#include <gtest/gtest.h>

#include "reports/measure/measure.h"

namespace bertbench {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

TEST(MemoryOfFailure, OfBertTrainsMessage) {
  const auto memory = memory_of_failure(
      "bert_train: rank 0: out of memory: bert-base at micro-batch 512 and sequence length 128 "
      "needs 23456 MiB of memory, 4096 MiB are available; use a smaller model or micro-batch");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->peak_bytes, 23456 * kMiB);
  EXPECT_EQ(memory->capacity_bytes, 4096 * kMiB);
  EXPECT_EQ(memory->source, "log");
}

TEST(MemoryOfFailure, OfPyTorchUpTo20) {
  const auto memory = memory_of_failure(
      "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.78 GiB total "
      "capacity; 13.50 GiB already allocated; 1.19 GiB free; 13.62 GiB reserved in total by "
      "PyTorch)");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->peak_bytes, 15872 * kMiB);
  EXPECT_EQ(memory->capacity_bytes, 16943645983);
}

TEST(MemoryOfFailure, OfPyTorchFrom21) {
  const auto memory = memory_of_failure(
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total "
      "capacity of 80.00 GiB of which 100.00 MiB is free. Including non-PyTorch memory, this "
      "process has 79.50 GiB memory in use.");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->peak_bytes, 80LL * 1024 * kMiB);
  EXPECT_EQ(memory->capacity_bytes, 80LL * 1024 * kMiB);
}

TEST(MemoryOfFailure, NoneWithoutNumbersAndOfHostileText) {
  for (const char* text :
       {"", "out of memory", "Tried to allocate ", "Tried to allocate 2.00 GiB", " total capacity",
        "needs x MiB of memory, y MiB are available", " needs 9e99 GiB, 1 GiB are available",
        "Tried to allocate 99999999999999999999 GiB (GPU 0; 1 GiB total capacity",
        " needs 1 parsec, 1 MiB are available", " needs 1 MiB of memory",
        " needs 1 MiB, MiB are available", "1 MiB are available",
        "Tried to allocate 2.00 GiB (total capacity"}) {
    EXPECT_EQ(memory_of_failure(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace bertbench
