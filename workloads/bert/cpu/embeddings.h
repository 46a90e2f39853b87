// Token, position and segment embeddings with dropout and the LayerNorm over their sum.
#pragma once

#include "workloads/bert/cpu/context.h"

namespace bert {

struct EmbeddingActivations {
  float* sum = nullptr;   ///< [T, h]
  float* mean = nullptr;  ///< [T]
  float* rstd = nullptr;  ///< [T]
};

void embeddings_forward(const Context& context, const Batch& batch, const EmbeddingActivations& act,
                        float* output);

/// Adds to the tables and the LayerNorm. Rows of one token are added in the order of their
/// positions in the batch, so the result does not depend on the threads. `d` is overwritten.
void embeddings_backward(const Context& context, const Batch& batch,
                         const EmbeddingActivations& act, const GradientFlow& d);

}  // namespace bert
