#include "parsers/core/crc32c.h"

#include <array>
#include <cstddef>

namespace bertbench {

std::uint32_t crc32c(std::string_view bytes) {
  // Four bytes at a time: table k is the table of a byte with k bytes of zeros after it.
  static const auto kTables = [] {
    std::array<std::array<std::uint32_t, 256>, 4> tables{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? 0x82F63B78U : 0U);
      tables[0][i] = value;
    }
    for (std::size_t k = 1; k < 4; ++k) {
      for (std::size_t i = 0; i < 256; ++i) {
        const auto before = tables[k - 1][i];
        tables[k][i] = tables[0][before & 255U] ^ (before >> 8);
      }
    }
    return tables;
  }();
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  std::uint32_t crc = ~0U;
  std::size_t i = 0;
  for (; i + 4 <= bytes.size(); i += 4) {
    crc ^= byte(i) | byte(i + 1) << 8 | byte(i + 2) << 16 |
           static_cast<std::uint32_t>(byte(i + 3)) << 24;
    crc = kTables[3][crc & 255U] ^ kTables[2][(crc >> 8) & 255U] ^ kTables[1][(crc >> 16) & 255U] ^
          kTables[0][crc >> 24];
  }
  for (; i < bytes.size(); ++i) crc = kTables[0][(crc ^ byte(i)) & 255U] ^ (crc >> 8);
  return ~crc;
}

}  // namespace bertbench
