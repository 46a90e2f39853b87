// Known answers of the collected logs: other trainers on PyTorch.
#include "tests/parsers/corpus/answers.h"

namespace bertbench::corpus {

std::vector<Expected> pytorch_answers() {
  return {
      {"pytorch-plain/kaggle_deberta_elapsed_remain.log",
       "tqdm",
       0,
       Status::no_data,
       {},
       "none was taken"},
  };
}

}  // namespace bertbench::corpus
