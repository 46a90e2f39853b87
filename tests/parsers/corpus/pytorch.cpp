// Known answers of the collected logs: other trainers on PyTorch.
#include "tests/parsers/corpus/answers.h"

namespace bertbench::corpus {

std::vector<Expected> pytorch_answers() {
  return {
      // A table without a clock but the seconds of its ten epochs.
      {"lightning/slm_metrics_v0.csv",
       {{"steps", [](const RunLog& r) { return static_cast<double>(*r.totals.iterations); }, 140740,
         0},
        {"seconds of its epochs", training_seconds, 24278.0, 1e-4}}},
      // Five folds of five epochs; the clocks of an epoch are "8m 14s" and the like.
      {"pytorch-plain/kaggle_deberta_elapsed_remain.log",
       {{"batches of a fold", last_counter, 5 * 782, 0},
        {"elapsed of its epochs", [](const RunLog& r) { return r.records.back().time_s; }, 2455,
         1e-9}}},
      // "train_ups": "0.47", "train_wps": "54547.4", "train_wpb": "115929", "train_bsz": "336"
      {"fairseq/wav2vec2_hydra_train_json.log",
       {{"updates/s by clock",
         [](const RunLog& r) {
           return (last_counter(r) - static_cast<double>(r.records[0].step)) /
                  r.records.back().time_s;
         },
         0.47, 0.02},
        // Of lines without an evaluation; the mean of an epoch, 54547.4, holds one.
        {"sentences/s by wps", printed, 336 * 58163 / 115929.0, 0.02}}},
      // bsz is of one of its 4 GPUs.
      {"fairseq/mlperf_v0.7_dell_c4140_transformer.log",
       {{"run_stop - run_start", training_seconds, 2115.576, kDigits},
        {"sentences/s of the first line", [](const RunLog& r) { return r.records[0].printed_rate; },
         4 * 485 * 176776.0 / 56091, 1e-9}}},
      {"keras/keras_terminal_overwrite.log",
       {{"steps", last_counter, 18750, 0},
        {"seconds of epoch 7", [](const RunLog& r) { return r.records[6].seconds; }, 3, 0}}},
      {"mmseg/hrnet_c32_fp16_mpirun.log",
       {{"median step", median_step_seconds, 1.090, 1e-9},
        {"first interval", [](const RunLog& r) { return r.records[0].seconds; }, 2 * 5.920, 1e-9}}},
  };
}

}  // namespace bertbench::corpus
