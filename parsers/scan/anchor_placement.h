// Where the fingerprint of each literal lies, and in which of the scanner's eight buckets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bertbench {

struct Placement {
  std::uint32_t at = 0;  ///< offset of the fingerprint in the literal
  std::size_t bucket = 0;
};

/// Only speed depends on it. A literal's fingerprint is its part that is rarest in ordinary lines
/// of training logs (a sample of such lines is built in); then each literal goes to the bucket that
/// lets the fewest more random places through, common literals first. Literals shorter than a
/// fingerprint get {0, 0}. The count of false candidates on a generated log is held by a test.
[[nodiscard]] std::vector<Placement> place_fingerprints(const std::vector<std::string>& literals);

}  // namespace bertbench
