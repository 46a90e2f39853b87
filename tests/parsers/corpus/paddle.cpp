// Known answers of the collected logs: PaddlePaddle.
#include "tests/parsers/corpus/answers.h"

namespace bertbench::corpus {

std::vector<Expected> paddle_answers() {
  return {
      {"paddle/bert_v100_fp16_gpu32.log",
       {{"printed of 32 cards, first 10 dropped (README)",
         [](const RunLog& r) { return 32 * 96 * printed_without_first_10(r); }, 20054.43,
         kDigits}}},
      {"paddle/bert_v100_fp16_n1c8.log",
       {{"printed of 8 cards, first 5 dropped",
         [](const RunLog& r) { return sequences_per_iteration(r) * printed_without_first(r, 5); },
         8 * 656.60, 1e-5},
        {"README, its rule is unknown",
         [](const RunLog& r) { return sequences_per_iteration(r) * printed_without_first(r, 5); },
         5355.659, 0.03}}},
      {"paddle/bert_a100_fp16_n1c1.log",
       {{"printed, first 5 dropped",
         [](const RunLog& r) { return sequences_per_iteration(r) * printed_without_first(r, 5); },
         1458.2, 5e-5},
        {"README, its rule is unknown",
         [](const RunLog& r) { return sequences_per_iteration(r) * printed_without_first(r, 5); },
         1462.928, 0.03}}},
      {"paddle/bert_v100_fp16_n1c1.log",
       {{"printed, first 5 dropped",
         [](const RunLog& r) { return sequences_per_iteration(r) * printed_without_first(r, 5); },
         664.85, 1e-5}}},
      {"paddle/bert_v100_fp32_n1c1.log",
       {{"printed, first 8 dropped",
         [](const RunLog& r) { return sequences_per_iteration(r) * printed_without_first(r, 8); },
         164.875, 1e-5}}},
  };
}

}  // namespace bertbench::corpus
