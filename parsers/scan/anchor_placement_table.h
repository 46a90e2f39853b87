// The places that parsers/bench/place_anchors.cpp found for the literals of all formats.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace bertbench {

struct PlacedLiteral {
  std::uint32_t key;  ///< key_of() the literal
  std::uint8_t at, bucket, nibble_bucket;
};

/// In order of their keys.
[[nodiscard]] std::span<const PlacedLiteral> placed_literals();

}  // namespace bertbench
