// Where the fingerprint of each literal lies, and in which of the scanner's eight buckets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bertbench {

struct Placement {
  std::uint32_t at = 0;  ///< offset of the fingerprint in the literal
  std::size_t bucket = 0;
  std::size_t nibble_bucket = 0;  ///< for the kernel that looks up nibbles
};

/// Only speed depends on it. The literals of our formats were placed by a search over logs
/// (parsers/bench/place_anchors.cpp); any others, a user's or those of a format that was added
/// since, get the part and the bucket that let the fewest more places of a built-in sample pass.
/// Literals shorter than a fingerprint get {0, 0, 0}. The count of false candidates on a generated
/// log is held by a test.
[[nodiscard]] std::vector<Placement> place_fingerprints(const std::vector<std::string>& literals);

/// By which a literal is found in the table of places.
[[nodiscard]] std::uint32_t key_of(std::string_view literal);

}  // namespace bertbench
