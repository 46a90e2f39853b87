// Libraries of the CUDA toolkit that are loaded when they are first used.
#pragma once

#include <string>

namespace bert::cuda {

/// dlopen() of `name`: where the loader looks, then in the toolkit's folders (CUDA_HOME, CUDA_PATH,
/// /usr/local/cuda). NoDevice with a remedy where it is in none: `option` is what needs it,
/// `product` the library's name for people.
[[nodiscard]] void* open_library(const std::string& name, const std::string& option,
                                 const std::string& product);

}  // namespace bert::cuda
