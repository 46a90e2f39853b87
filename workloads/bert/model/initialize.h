// Initial weights.
#pragma once

#include <cstdint>

#include "workloads/bert/model/parameters.h"

namespace bert {

/// As Parameter::initial states. BERT (Devlin et al. 2018, modeling.py): matrices and tables from a
/// normal distribution of deviation initializer_range, truncated at two deviations. GPT-2 (Radford
/// et al. 2019; transformers): not truncated, and what adds to the stream divided by sqrt(2
/// layers). Both: biases 0, LayerNorm 1 and 0. A function of the seed, the tensor's place in the
/// list and the element alone.
void initialize_weights(const ParameterLayout& layout, std::uint64_t seed, int threads,
                        float* weights);

}  // namespace bert
