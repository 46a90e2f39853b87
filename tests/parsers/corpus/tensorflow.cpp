// Known answers of the collected logs: TensorFlow: Estimator, TPUEstimator, NVIDIA DLE.
#include "tests/parsers/corpus/answers.h"

namespace bertbench::corpus {

std::vector<Expected> tensorflow_answers() {
  return {
      {"nvidia-dle-tensorflow/paddleperf_a100_fp16_gpu1.log",
       {{"printed (README)", printed, 981.301, kDigits},
        {"log_summary", log_summary, 862.99, kDigits},
        {"sequences per iteration", sequences_per_iteration, 128 * 528, 0}}},
      {"nvidia-dle-tensorflow/paddleperf_v100_fp16_gpu32_mpirun.log",
       {{"printed, first 10 dropped (README)", printed_without_first_10, 16142.922, kDigits}}},
      {"nvidia-dle-tensorflow/paddleperf_v100_fp16_gpu8.log",
       {{"printed (README)", printed, 4042.83, 2e-6},
        {"log_summary", log_summary, 3353.67, kDigits},
        {"sequences per iteration", sequences_per_iteration, 96 * 88 * 8, 0}}},
      {"nvidia-dle-tensorflow/paddleperf_v100_fp32_gpu8.log",
       {{"printed (README)", printed, 1218.31, 5e-6},
        {"log_summary", log_summary, 1238.02, kDigits}}},
      {"nvidia-dle-tensorflow/resnet50_v100_amp_gpu8.log",
       {{"log_summary", log_summary, 9421.358, kDigits}}},
      {"tensorflow/google_bert_ch_ner_nohup.log",
       {{"steps x batch over stamps",
         [](const RunLog& r) {
           return (last_counter(r) - 1) * static_cast<double>(*r.facts.micro_batch_size.value) /
                  r.records.back().time_s;
         },
         687 * 32 / 391.77443, 1e-5},
        {"steps", last_counter, 688, 0}}},
  };
}

}  // namespace bertbench::corpus
