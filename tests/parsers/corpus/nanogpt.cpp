// Known answers of the collected logs: nanoGPT, llm.c, modded-nanogpt.
#include "tests/parsers/corpus/answers.h"

namespace bertbench::corpus {

std::vector<Expected> nanogpt_answers() {
  return {
      {"nanogpt/bob_llama_stopiteration.log",
       "nanogpt",
       623,
       Status::error,
       {{"last step", last_counter, 622, 0}},
       ""},
      {"nanogpt/llmc_main.log", "nanogpt", 19560, Status::completed, {}, "no throughput"},
      {"nanogpt/modded_adamw.log", "nanogpt", 9536, Status::completed, {}, "no throughput"},
      {"nanogpt/modded_muon.log",
       "nanogpt",
       6200,
       Status::completed,
       {{"step_avg behind step 10", [](const RunLog& r) { return seconds_per_step(r, 10); },
         0.21633, 3e-5}},
       ""},
      {"nanogpt/modded_soda_fade.log",
       "nanogpt",
       28,
       Status::completed,
       {{"step_avg", [](const RunLog& r) { return seconds_per_step(r, 0); }, 0.35588, 3e-5}},
       ""},
      {"nanogpt/nanogpt_5000iter.log",
       "nanogpt",
       501,
       Status::truncated,
       {{"last step", last_counter, 5000, 0}},
       "its own iteration only"},
      {"nanogpt/paramgolf_naive_baseline.log",
       "nanogpt",
       286,
       Status::completed,
       {{"step_avg", [](const RunLog& r) { return seconds_per_step(r, 0); }, 0.04354, 3e-4},
        {"sequences per iteration", sequences_per_iteration, 512, 0}},
       ""},
  };
}

}  // namespace bertbench::corpus
