// What stands around a matrix product: which of it a library is asked to do, and kernels for the
// rest.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "workloads/bert/cuda/products/matmul.h"

namespace bert::cuda {

/// Parts of a Product that one call of the library does.
struct Inside {
  bool bias = false, activation = false, sums = false;
  friend auto operator<=>(const Inside&, const Inside&) = default;
};

/// What to ask a library for, best guess first. One is nothing, which can always be had. The rules
/// of cuBLASLt (cublasLt.h 13): the rows of a GELU's input are a multiple of 8 elements apart, and
/// sums have the type of c. So sums of fp16, which overflow where fp32 does not, are left to
/// kernels; and with `deterministic` all sums are, as the order in which the library takes them is
/// not documented.
[[nodiscard]] std::vector<Inside> ways(const Product& product, const MatmulOptions& options);

/// All that stands around the product.
[[nodiscard]] Inside wanted_of(const Product& product);

/// Where the library's call writes its result: aux when the GELU of it follows.
[[nodiscard]] void* target_of(const Product& product, const Inside& inside);

/// Sums that the library takes, in the type of c, wait here for add_rest().
[[nodiscard]] void* sums_of(const Product& product);

/// Everything that was not inside, and sums from sums_of() to their place.
void add_rest(const Product& product, const Inside& inside, Stream stream);

/// "bias and GELU inside", "GELU backward inside, bias gradient by a kernel", "by kernels".
[[nodiscard]] std::string label(const Product& product, const Inside& inside);

/// For the key of an algorithm: "plain", "bias", "bias+gelu", "gelu_backward+sums", "sums".
[[nodiscard]] std::string key_of(Product::Activation activation, const Inside& inside);

}  // namespace bert::cuda
