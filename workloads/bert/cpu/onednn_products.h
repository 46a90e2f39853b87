// What products by oneDNN have in common, in fp32 and in bf16.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

namespace bert {

/// Products that are kept ready. A training has some 20; with --unpadded nearly every batch has
/// another number of rows, and without a bound they would pile up.
inline constexpr std::size_t kProductsHeld = 256;

/// std::bad_alloc, or std::runtime_error with the product's shape, where oneDNN failed.
inline void check_product(dnnl_status_t status, std::int64_t m, std::int64_t n, std::int64_t k) {
  if (status == dnnl_success) return;
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  throw std::runtime_error("oneDNN refused a product of " + std::to_string(m) + " x " +
                           std::to_string(n) + " x " + std::to_string(k) + " (status " +
                           std::to_string(status) + ")");
}

}  // namespace bert
