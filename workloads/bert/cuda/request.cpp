#include "workloads/bert/cuda/request.h"

#include <stdexcept>
#include <string>

#include "workloads/bert/cuda/kernels/kernels.h"
#include "workloads/bert/model/checks.h"

namespace bert::cuda {

DType type_of(const std::string& precision) {
  if (precision == "fp32" || precision == "tf32") return DType::f32;
  if (precision == "bf16") return DType::bf16;
  if (precision == "fp16") return DType::f16;
  throw std::invalid_argument("--precision " + precision +
                              ": the cuda backend computes in fp32, tf32, bf16 and fp16");
}

void check_request(const BackendRequest& request) {
  const BackendOptions& options = request.options;
  check_options(options);
  if (options.model.objective == Objective::next_word && options.unpadded) {
    throw std::invalid_argument("model " + options.model.name +
                                ": --unpadded has no use where all sequences are full");
  }
  if (options.model.hidden > kWidestNorm) {
    throw std::invalid_argument("model " + options.model.name +
                                ": the cuda backend takes hidden sizes up to " +
                                std::to_string(kWidestNorm));
  }
  if (options.micro_batch_size > kMostSequences) {
    throw std::invalid_argument("the cuda backend takes micro-batches of up to " +
                                std::to_string(kMostSequences) +
                                " sequences; more by --gradient-accumulation-steps");
  }
  const bool whole_h = options.model.hidden % 8 == 0;
  const bool whole_i = options.model.intermediate % 8 == 0;
  if (whole_h != whole_i || (!whole_h && type_of(request.precision) != DType::f32)) {
    // Vector loads and tensor cores want every row and every tensor at a multiple of 8 elements.
    throw std::invalid_argument("model " + options.model.name +
                                ": the cuda backend takes hidden and intermediate sizes that are "
                                "multiples of 8 (in fp32 and tf32 also both not)");
  }
}

}  // namespace bert::cuda
