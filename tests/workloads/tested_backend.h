// What every_backend_test is compiled with: the CPU backend in one program, CUDA's in others.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "workloads/bert/core/backend.h"

namespace bert::testing {

struct Precision {
  const char* name;
  /// Bounds of the worst tensor's gradient: against the reference, where sums are taken in another
  /// order, and of a batch without its padding against the padded one.
  double gradient, reordered, unpadded;
};
/// ctest shows it in the test's name, which must not change from run to run.
inline void PrintTo(const Precision& one, std::ostream* out) { *out << one.name; }

std::vector<Precision> tested_precisions();
/// Why this machine has none of that precision; "" = it has.
std::string reason_without(const std::string& precision);
std::unique_ptr<Backend> tested_backend(const BackendOptions& options,
                                        const std::string& precision);
/// A BERT and a GPT-2 whose shapes the backend takes in that precision.
std::vector<ModelConfig> tested_models(const std::string& precision, std::int64_t layers = 2);

}  // namespace bert::testing
