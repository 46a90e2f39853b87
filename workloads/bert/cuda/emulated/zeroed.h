// Memory of an emulated device: aligned as cudaMalloc aligns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace bert::emulated {

/// `bytes` zeros (more than 0), for std::free. Throws std::bad_alloc.
inline std::byte* zeroed(std::int64_t bytes) {
  constexpr std::size_t kAlignment = 256;
  const auto rounded = (static_cast<std::size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
  auto* const data = static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded));
  if (data == nullptr) throw std::bad_alloc();
  std::memset(data, 0, rounded);
  return data;
}

}  // namespace bert::emulated
