// CRC-32C, the checksum of our journals and of TensorBoard's event files.
#pragma once

#include <cstdint>
#include <string_view>

namespace bertbench {

[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);

}  // namespace bertbench
