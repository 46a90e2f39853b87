// Inputs and comparisons for tests of single kernels on the emulated device.
#pragma once

#include <cmath>
#include <cstdint>
#include <new>
#include <random>
#include <vector>

#include "workloads/bert/cuda/device/numbers.h"
#include "workloads/bert/cuda/kernels/kernels.h"

namespace bert::cuda::testing {

/// Memory as cudaMalloc gives it: vectors of eight floats are loaded from it.
template <typename T>
struct DeviceLike {
  using value_type = T;
  DeviceLike() = default;
  template <typename U>
  explicit DeviceLike(const DeviceLike<U>&) {}
  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{256}));
  }
  void deallocate(T* data, std::size_t) { ::operator delete (data, std::align_val_t{256}); }
  friend bool operator==(DeviceLike, DeviceLike) { return true; }
};
template <typename T>
using Values = std::vector<T, DeviceLike<T>>;

inline Dropout some_dropout(std::int64_t first_sequence = 5) {
  Dropout dropout;
  dropout.key = dropout_key(77, 3, 9, 0, 0.4);
  dropout.first_sequence = first_sequence;
  dropout.on = true;
  return dropout;
}

template <typename T>
Values<T> random_values(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  Values<T> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(from_float<T>(normal(engine)));
  return out;
}

/// |a - b| / |b|, of the arrays as vectors.
template <typename Array>
double difference(const Array& a, const Array& b) {
  double off = 0;
  double norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(to_float(a[i]));
    const double y = static_cast<double>(to_float(b[i]));
    off += (x - y) * (x - y);
    norm += y * y;
  }
  return std::sqrt(off / norm);
}

}  // namespace bert::cuda::testing
