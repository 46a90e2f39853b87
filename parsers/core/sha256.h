// SHA-256 of FIPS 180-4: distinguishes texts without holding them. To find damage
// CRC-32C is enough (crc32c.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bertbench {

class Sha256 {
 public:
  void add(std::string_view bytes);
  /// 64 lower-case hex digits of all that was added; call it once.
  [[nodiscard]] std::string hex();

 private:
  void take_block(const unsigned char* block);
  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> block_{};
  std::size_t filled_ = 0;  // bytes of block_
  std::uint64_t bytes_ = 0;
};

[[nodiscard]] std::string sha256(std::string_view text);

}  // namespace bertbench
