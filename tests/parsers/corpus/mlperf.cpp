// Known answers of the collected logs: MLPerf.
#include "tests/parsers/corpus/answers.h"

namespace bertbench::corpus {

std::vector<Expected> mlperf_answers() {
  return {
      {"mlperf/v0.7_google_tpu8192_jax_result1.log",
       {{"run_stop - run_start", training_seconds, 23.931, kDigits},
        {"steps of its blocks x batch", log_summary, 9 * 62 * 8192 / 23.931, kDigits}}},
      {"mlperf/v0.7_google_v100_tf2_result1.log",
       {{"run_stop - run_start", training_seconds, 11720.669, kDigits},
        {"steps of its blocks x batch", log_summary, 6 * 1137 * 440 / 11720.669, kDigits}}},
      {"mlperf/v0.7_nvidia_dgx2h_aborted.log",
       {{"run_stop - run_start", training_seconds, 3038.978, kDigits},
        {"rates stated", [](const RunLog& r) { return 1.0 + (r.summary ? 1 : 0); }, 1, 0}}},
      {"mlperf/v0.7_nvidia_dgx2h_n32_result1.log",
       {{"run_stop - run_start", training_seconds, 228.873, kDigits},
        {"log_summary", log_summary, 24039.323118061107, kDigits},
        {"skipped", [](const RunLog& r) { return double(*r.totals.skipped_steps); }, 9, 0},
        {"steps, skipped ones included", last_counter, 597 + 9, 0}}},
      {"mlperf/v1.0_graphcore_pod16_popart_result1.log",
       {{"run_stop - run_start", training_seconds, 1872.369, kDigits},
        {"log_summary", log_summary, 1309.2, 5e-5}}},
      {"mlperf/v1.0_nvidia_dgxa100_n8_result1.log",
       {{"run_stop - run_start", training_seconds, 195.521, kDigits},
        {"log_summary", log_summary, 16120.375816408468, 5e-5}}},
      {"mlperf/v2.0_azure_nd96_n8_result1.log",
       {{"run_stop - run_start", training_seconds, 186.903, kDigits},
        {"log_summary", log_summary, 16863.7, 5e-6}}},
      {"mlperf/v2.1_habana_gaudi2_tf_result1.log",
       {{"run_stop - run_start", training_seconds, 976.389, kDigits},
        {"log_summary", log_summary, 2613.1, 5e-5}}},
      {"mlperf/v2.1_intel_spr16_result1.log",
       {{"run_stop - run_start", training_seconds, 2846.287, kDigits},
        {"log_summary", log_summary, 1045.8, 5e-5}}},
      {"mlperf/v2.1_mosaicml_methods_result1.log",
       {{"run_stop - run_start", training_seconds, 450.668, kDigits},
        {"rates stated", [](const RunLog& r) { return 1.0 + (r.summary ? 1 : 0); }, 1, 0}}},
      {"mlperf/v3.1_clemson_16xr750_result1.log",
       {{"run_stop - run_start", training_seconds, 553.313, kDigits},
        {"log_summary", log_summary, 6641.99, 5e-5}}},
      {"mlperf/v3.1_nvidia_eos_n434_result1.log",
       {{"run_stop - run_start", training_seconds, 7.537, kDigits},
        {"log_summary", log_summary, 756964.4, kDigits}}},
      {"mlperf/v5.0_cisco_hpf_n8_result0.log",
       {{"run_stop - run_start", training_seconds, 52.69, kDigits},
        {"log_summary", log_summary, 53163.17, kDigits}}},
      {"mlperf/v5.0_tinycorp_mi300x_result0.log",
       {{"run_stop - run_start", training_seconds, 6658.465, kDigits},
        {"log_summary", log_summary, 494.0, 1e-4}}},
      {"mlperf/v2.0_azure_maskrcnn_tqdm_nonutf8.log",
       {{"run_stop - run_start", training_seconds, 2647.335, kDigits},
        {"last tracked_stats", log_summary, 625.75, 1e-5}}},
  };
}

}  // namespace bertbench::corpus
