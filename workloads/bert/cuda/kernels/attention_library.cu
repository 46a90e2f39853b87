// What a library's attention reads next to the matrices.
#include "workloads/bert/cuda/kernels/device_dropout.h"

namespace bert::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kApart = 256;  ///< bytes that each array is aligned to

struct Arguments {
  Attention attention;
  LibraryInputs inputs;
};

template <bool kReplayed>
__global__ void __launch_bounds__(kThreads) library_inputs_kernel(Arguments arguments) {
  if constexpr (kReplayed) read_values(arguments.attention);
  const Attention& a = arguments.attention;
  const LibraryInputs& to = arguments.inputs;
  const int hidden = a.heads * a.size;
  for (int b = static_cast<int>(threadIdx.x); b < a.sequences; b += kThreads) {
    to.query_lengths[b] = a.starts == nullptr ? a.length : a.lengths[b];
    if (a.starts == nullptr) continue;
    const int rows = a.starts[b];
    to.qkv_starts[b] = rows * 3 * hidden;
    to.output_starts[b] = rows * hidden;
    if (b + 1 < a.sequences) continue;
    to.qkv_starts[b + 1] = (rows + a.lengths[b]) * 3 * hidden;
    to.output_starts[b + 1] = (rows + a.lengths[b]) * hidden;
  }
  if (threadIdx.x != 0 || !a.dropout.on) return;
  const auto first = static_cast<std::uint64_t>(a.dropout.first_sequence);
  const DropoutKey& key = a.dropout.key;
  const auto words = philox_rounds({static_cast<std::uint32_t>(first),
                                    static_cast<std::uint32_t>(first >> 32), key.site, key.step},
                                   key.keys);
  to.seed[0] = static_cast<std::int64_t>(std::uint64_t{words[0]} << 32 | words[1]);
  to.seed[1] = 0;
}

std::int64_t array_bytes(std::int64_t sequences) {
  return ceil_divide(4 * (sequences + 1), kApart) * kApart;
}

}  // namespace

std::int64_t library_inputs_bytes(std::int64_t sequences) {
  return 3 * array_bytes(sequences) + kApart;
}

LibraryInputs library_inputs_at(void* memory, std::int64_t sequences) {
  auto* at = static_cast<std::byte*>(memory);
  LibraryInputs out;
  out.seed = reinterpret_cast<std::int64_t*>(at);
  at += kApart;
  for (std::int32_t** array : {&out.query_lengths, &out.qkv_starts, &out.output_starts}) {
    *array = reinterpret_cast<std::int32_t*>(at);
    at += array_bytes(sequences);
  }
  return out;
}

void library_inputs(const Attention& attention, const LibraryInputs& inputs, Stream stream) {
  launch(attention.values != nullptr ? library_inputs_kernel<true> : library_inputs_kernel<false>,
         dim3(1), dim3(kThreads), 0, stream, Arguments{attention, inputs});
}

}  // namespace bert::cuda
