// The two forms of GELU.
#pragma once

namespace bert {

/// The activation of the FFN: x * Phi(x), or its tanh approximation (GPT-2, "gelu_new").
enum class Gelu { erf, tanh };

}  // namespace bert
