// The word embedding as decoder, with the cross entropy over the vocabulary.
#pragma once

#include "workloads/bert/cpu/context.h"

namespace bert {

struct Decoder {
  std::int64_t rows = 0;
  const float* input = nullptr;                  ///< [rows, h]
  const std::int32_t* labels = nullptr;          ///< [rows]
  std::int64_t bias = ParameterLayout::kAbsent;  ///< [V] offset of the parameter, if there is one
  double scale = 1;                              ///< of the gradient of one row's loss
  bool accumulate = false;   ///< the word embedding's gradient is added to (else written)
  float* logits = nullptr;   ///< [rows, V] scratch
  float* d_input = nullptr;  ///< [rows, h]
};

/// Forward and backward at once. Returns the sum of the rows' losses; adds to the bias's gradient.
double decode(const Context& context, const Decoder& decoder);

}  // namespace bert
