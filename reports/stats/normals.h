// Standard normal numbers that are the same on every system: std::normal_distribution is not.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <random>

namespace bertbench {

class Normals {
 public:
  explicit Normals(std::uint64_t seed) : bits_(seed) {}
  double operator()() {
    if (spare_) {
      const double value = *spare_;
      spare_.reset();
      return value;
    }
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    const double angle = 2 * std::numbers::pi * uniform();
    spare_ = radius * std::sin(angle);
    return radius * std::cos(angle);
  }
  /// In [0, 1).
  double uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 bits_;
  std::optional<double> spare_;
};

}  // namespace bertbench
