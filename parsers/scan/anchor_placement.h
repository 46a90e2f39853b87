// Where the fingerprint of each literal lies, and in which of the scanner's sixteen buckets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bertbench {

struct Placement {
  std::uint32_t at = 0;  ///< offset of the fingerprint in the literal
  std::size_t bucket = 0;
  std::size_t nibble_bucket = 0;  ///< for the kernel that looks up nibbles
};

/// Only speed depends on it. The literals of our formats and rules are placed by a search at the
/// build (parsers/bench/place_anchors.cpp); any others, those of a user's format file, get the part
/// and the bucket that let the fewest more places of a built-in sample pass.
/// Literals shorter than a fingerprint get {0, 0, 0}. The count of false candidates on a generated
/// log is held by a test.
[[nodiscard]] std::vector<Placement> place_fingerprints(const std::vector<std::string>& literals);

/// By which a literal is found in the table of places.
[[nodiscard]] std::uint32_t key_of(std::string_view literal);

struct PlacedLiteral {
  std::uint32_t key;  ///< key_of() the literal
  std::uint8_t at, bucket, nibble_bucket;
};

/// In order of their keys. Defined by a file that the build makes; empty in place_anchors itself.
[[nodiscard]] std::span<const PlacedLiteral> placed_literals();

}  // namespace bertbench
