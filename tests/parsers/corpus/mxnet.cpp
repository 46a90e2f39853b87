// Known answers of the collected logs: MXNet: gluon-nlp, gluon-cv.
#include "tests/parsers/corpus/answers.h"

namespace bertbench::corpus {

std::vector<Expected> mxnet_answers() {
  return {
      {"mxnet/gluonnlp_bert_base_pretrain.log",
       {{"first tks/s", [](const RunLog& r) { return r.records[0].printed_rate; }, 122000, kDigits},
        {"last tks/s", [](const RunLog& r) { return r.records.back().printed_rate; }, 133000,
         kDigits},
        {"sequences per iteration", sequences_per_iteration, 256, 0}}},
      {"mxnet/gluonnlp_squad_large.log",
       {{"first samples/s", [](const RunLog& r) { return r.records[0].printed_rate; }, 14.33,
         kDigits},
        {"300 batches of 4 over 83.7 s",
         [](const RunLog& r) {
           return 4 * static_cast<double>(r.records[0].iterations) / r.records[0].seconds;
         },
         14.33, 5e-4}}},
  };
}

}  // namespace bertbench::corpus
