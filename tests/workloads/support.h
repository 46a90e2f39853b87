// Small models, batches and comparisons for the tests of the trainer's arithmetic.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "workloads/bert/core/backend.h"
#include "workloads/bert/model/philox.h"
#include "workloads/bert/reference/reference.h"

namespace bert::testing {

/// Shapes that are multiples of no SIMD width, so every tail loop runs.
inline ModelConfig odd_model(std::int64_t layers = 2) {
  ModelConfig model;
  model.name = "odd";
  model.layers = layers;
  model.hidden = 36;
  model.heads = 3;
  model.intermediate = 70;
  model.vocabulary = 101;
  model.max_positions = 24;
  return model;
}

/// The same as a GPT-2.
inline ModelConfig odd_gpt2(std::int64_t layers = 2) {
  ModelConfig model = *named_model("gpt2-tiny");
  const ModelConfig odd = odd_model(layers);
  model.name = "odd-gpt2";
  model.layers = layers;
  model.hidden = odd.hidden;
  model.heads = odd.heads;
  model.intermediate = odd.intermediate;
  model.vocabulary = odd.vocabulary;
  model.max_positions = odd.max_positions;
  return model;
}

inline std::uint32_t random(std::uint32_t stream, std::int64_t index) {
  return philox({static_cast<std::uint32_t>(index), stream, 0, 0}, {7, 11})[0];
}

/// Every position of full sequences is predicted.
inline Batch make_next_word_batch(const ModelConfig& model, std::int64_t sequences,
                                  std::int64_t length, std::int64_t first_sequence = 0) {
  Batch batch;
  batch.sequences = sequences;
  batch.sequence_length = batch.masked_per_sequence = length;
  batch.first_sequence = first_sequence;
  const auto vocabulary = static_cast<std::uint32_t>(model.vocabulary);
  const auto token = [&](std::int64_t at) {
    return static_cast<std::int32_t>(random(1, at) % vocabulary);
  };
  for (std::int64_t b = 0; b < sequences; ++b) {
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t at = (first_sequence + b) * 1000 + i;
      batch.tokens.push_back(token(at));
      batch.labels.push_back(token(at + 1));
    }
    batch.lengths.push_back(static_cast<std::int32_t>(length));
  }
  return batch;
}

/// A function of the sequence's index in the job alone, as real data are. `masked` is not for
/// models that predict the next word.
inline Batch make_batch(const ModelConfig& model, std::int64_t sequences, std::int64_t length,
                        std::int64_t masked, std::int64_t first_sequence = 0) {
  if (model.objective == Objective::next_word) {
    return make_next_word_batch(model, sequences, length, first_sequence);
  }
  if (model.objective != Objective::masked_words) masked = 0;
  Batch batch;
  batch.sequences = sequences;
  batch.sequence_length = length;
  batch.masked_per_sequence = masked;
  batch.first_sequence = first_sequence;
  const auto vocabulary = static_cast<std::uint32_t>(model.vocabulary);
  for (std::int64_t b = 0; b < sequences; ++b) {
    const std::int64_t index = first_sequence + b;
    const std::int64_t used = length - index % 4;
    for (std::int64_t i = 0; i < length; ++i) {
      const std::uint32_t token = 1 + random(1, index * 1000 + i) % (vocabulary - 1);
      batch.tokens.push_back(i < used ? static_cast<std::int32_t>(token) : 0);
      batch.segments.push_back(i < used / 2 ? 0 : 1);
    }
    batch.lengths.push_back(static_cast<std::int32_t>(used));
    batch.next_sentence.push_back(static_cast<std::int32_t>(random(2, index) % 2));
    if (model.objective == Objective::spans) {
      const auto first = static_cast<std::int32_t>(random(4, index) % (used - 3));
      batch.spans.insert(batch.spans.end(), {first, first + 2});
    }
    for (std::int64_t j = 0; j < masked; ++j) {
      batch.masked.push_back(static_cast<std::int32_t>(b * length + 1 + j * ((used - 1) / masked)));
      batch.labels.push_back(static_cast<std::int32_t>(random(3, index * 100 + j) % vocabulary));
    }
  }
  return batch;
}

/// A batch of sequences of these lengths; a masked position is named twice where one is short.
inline Batch ragged(const ModelConfig& model, std::int64_t padded,
                    const std::vector<int>& lengths) {
  Batch batch = make_batch(model, static_cast<std::int64_t>(lengths.size()), padded, 3);
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    const int length = lengths[b];
    const auto row = static_cast<std::int32_t>(b) * static_cast<std::int32_t>(padded);
    batch.lengths[b] = length;
    for (int i = length; i < padded; ++i) batch.tokens[static_cast<std::size_t>(row + i)] = 0;
    for (int j = 0; j < 3 && !batch.masked.empty(); ++j) {
      batch.masked[3 * b + static_cast<std::size_t>(j)] = row + 5 * j % length;
    }
    if (!batch.spans.empty()) {
      batch.spans[2 * b] = length / 3;
      batch.spans[2 * b + 1] = length / 2;
    }
  }
  return batch;
}

/// The same words of `masked` to predict, and no label at every other position.
inline Batch predicted_everywhere(const Batch& masked) {
  const std::int64_t places = masked.sequences * masked.sequence_length;
  Batch batch = masked;
  batch.masked_per_sequence = masked.sequence_length;
  batch.masked.clear();
  for (std::int64_t i = 0; i < places; ++i) batch.masked.push_back(static_cast<std::int32_t>(i));
  batch.labels.assign(static_cast<std::size_t>(places), -1);
  for (std::size_t i = 0; i < masked.masked.size(); ++i) {
    batch.labels[static_cast<std::size_t>(masked.masked[i])] = masked.labels[i];
  }
  return batch;
}

inline BackendOptions options_for(const ModelConfig& model, std::int64_t sequences,
                                  std::int64_t length, int threads = 2) {
  BackendOptions options;
  options.model = model;
  options.micro_batch_size = sequences;
  options.sequence_length = length;
  options.threads = threads;
  options.seed = 42;
  return options;
}

/// The error of a backend for `batch` when `spoil` has changed it; "" = nothing.
template <class Spoil>
std::string refusal_of(Backend& backend, Batch batch, Spoil spoil) {
  spoil(batch);
  try {
    backend.forward_backward(batch, 1.0, true, 1, {});
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

/// ||a - b|| / ||b|| over one tensor. Key biases have no gradient in theory (softmax does not see
/// a constant), so they are measured against the query bias's gradient, an absolute bound; the bias
/// of a head for spans, of which the same is true, against its weight's.
template <typename A, typename B>
double tensor_error(const std::vector<Parameter>& parameters, std::size_t which, const A* a,
                    const B* b) {
  const Parameter& parameter = parameters[which];
  const auto norm_of = [&](const Parameter& p) {
    double sum = 0;
    for (std::int64_t i = 0; i < p.size; ++i) {
      sum += static_cast<double>(b[p.offset + i]) * static_cast<double>(b[p.offset + i]);
    }
    return std::sqrt(sum);
  };
  double difference = 0;
  for (std::int64_t i = 0; i < parameter.size; ++i) {
    const double d =
        static_cast<double>(a[parameter.offset + i]) - static_cast<double>(b[parameter.offset + i]);
    difference += d * d;
  }
  if (difference == 0) return 0;  // also where a head without use has no gradient
  const double before = which == 0 ? 0 : norm_of(parameters[which - 1]);
  const double own = norm_of(parameter);
  const bool none = parameter.name.ends_with("self.key.bias") || own < 1e-12 * before;
  const double norm = none ? before : own;
  return std::sqrt(difference) / norm;
}

struct Worst {
  double error = 0;
  std::string name;
};

template <typename A, typename B>
Worst worst_error(std::span<const Parameter> parameters, const A* a, const B* b) {
  const std::vector<Parameter> list(parameters.begin(), parameters.end());
  Worst worst;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const double error = tensor_error(list, i, a, b);
    if (!(error <= worst.error)) worst = {error, list[i].name};
  }
  return worst;
}

/// Whether the worst tensor's error is within `bound`; the answer names that tensor.
template <typename A, typename B>
::testing::AssertionResult within(double bound, std::span<const Parameter> parameters, const A& got,
                                  const B& wanted) {
  const Worst worst = worst_error(parameters, got.data(), wanted.data());
  if (worst.error <= bound) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << worst.name << " is off by " << worst.error << ", more than " << bound << " ";
}

inline std::vector<float> copy(std::span<const float> values) {
  return {values.begin(), values.end()};
}

inline std::vector<float> state_of(Backend& backend, StateArray array) {
  std::vector<float> out(static_cast<std::size_t>(backend.parameters().back().offset +
                                                  backend.parameters().back().size));
  backend.read_state(array, 0, out);
  return out;
}

/// Without the loss scale, which those in host memory have in them.
inline std::vector<float> final_gradients(Backend& backend) {
  std::vector<float> gradients = state_of(backend, StateArray::gradients);
  if (backend.gradients().empty()) return gradients;
  const auto scale = static_cast<float>(std::max(1.0, backend.scalar_state().loss_scale));
  for (float& g : gradients) g /= scale;
  return gradients;
}

/// Of the one micro-step since zero_gradients().
inline Loss loss_of(Backend& backend, const Loss& answer) {
  return answer.pending ? backend.pending_losses().at(0) : answer;
}

/// Of one training step.
inline std::vector<float> gradients_of(Backend& backend, const Batch& batch,
                                       double* loss = nullptr) {
  backend.zero_gradients();
  const Loss answer = backend.forward_backward(batch, 1.0, true, 3, {});
  if (loss != nullptr) *loss = loss_of(backend, answer).total();
  return final_gradients(backend);
}

/// The gradients of one training step with dropout, and the weights after LAMB took them.
inline std::vector<std::vector<float>> one_step(Backend& backend, const Batch& batch) {
  std::vector<float> gradients = gradients_of(backend, batch);
  UpdateRequest request;
  request.optimizer.kind = OptimizerOptions::Kind::lamb;
  request.learning_rate = 1e-3;
  backend.update(request);
  return {std::move(gradients), state_of(backend, StateArray::weights)};
}

/// Of a training step with dropout, in double.
inline std::vector<double> reference_gradients(const BackendOptions& options, const Batch& batch,
                                               std::span<const float> weights, std::int64_t step) {
  const std::vector<double> exact(weights.begin(), weights.end());
  return reference_step<double>(options.model, batch, exact, {true, options.seed, step}).gradients;
}

}  // namespace bert::testing
