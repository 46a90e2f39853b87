// Known answers of the collected logs: MXNet: gluon-nlp, gluon-cv.
#include "tests/parsers/corpus/answers.h"

namespace bertbench::corpus {

std::vector<Expected> mxnet_answers() {
  return {
      {"mxnet/gluonnlp_bert_base_pretrain.log",
       "gluonnlp",
       3989,
       Status::completed,
       {{"first tks/s", [](const RunLog& r) { return r.records[0].printed_rate; }, 122000, kDigits},
        {"last tks/s", [](const RunLog& r) { return r.records.back().printed_rate; }, 133000,
         kDigits},
        {"sequences per iteration", sequences_per_iteration, 256, 0}},
       "without padding"},
      {"mxnet/gluonnlp_mrpc.log", "gluonnlp", 53, Status::completed, {}, "", 431.65},
      {"mxnet/gluonnlp_squad_large.log",
       "gluonnlp",
       146,
       Status::completed,
       {{"first samples/s", [](const RunLog& r) { return r.records[0].printed_rate; }, 14.33,
         kDigits},
        {"300 batches of 4 over 83.7 s",
         [](const RunLog& r) {
           return 4 * static_cast<double>(r.records[0].iterations) / r.records[0].seconds;
         },
         14.33, 5e-4}},
       "",
       60.01},
      {"mxnet/gluonnlp_transformer_ende.log",
       "gluonnlp",
       1680,
       Status::truncated,
       {},
       "no rate of"},
      {"mxnet/gluonnlp_xlnet_sst.log", "gluonnlp", 1000, Status::completed, {}, "", 92.93},
      {"mxnet/gluoncv_icnet_nan_loss.log", "gluonnlp", 1080, Status::nan, {}, "losses only"},
      {"mxnet/gluoncv_deeplab_nan_restart.log",
       "gluonnlp",
       2,
       Status::nan,
       {},
       "losses only",
       0,
       {kUnknown, kUnknown, kUnknown}},
  };
}

}  // namespace bertbench::corpus
