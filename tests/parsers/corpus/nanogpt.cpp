// Known answers of the collected logs: nanoGPT, llm.c, modded-nanogpt.
#include "tests/parsers/corpus/answers.h"

namespace bertbench::corpus {

std::vector<Expected> nanogpt_answers() {
  return {
      {"nanogpt/bob_llama_stopiteration.log", {{"last step", last_counter, 622, 0}}},
      {"nanogpt/modded_muon.log",
       {{"step_avg after step 10", [](const RunLog& r) { return seconds_per_step(r, 10); }, 0.21633,
         3e-5}}},
      {"nanogpt/modded_soda_fade.log",
       {{"step_avg", [](const RunLog& r) { return seconds_per_step(r, 0); }, 0.35588, 3e-5}}},
      {"nanogpt/nanogpt_5000iter.log", {{"last step", last_counter, 5000, 0}}},
      {"nanogpt/paramgolf_naive_baseline.log",
       {{"step_avg", [](const RunLog& r) { return seconds_per_step(r, 0); }, 0.04354, 3e-4},
        {"sequences per iteration", sequences_per_iteration, 512, 0}}},
  };
}

}  // namespace bertbench::corpus
