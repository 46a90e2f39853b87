// Bytes of tracker files, made by hand; and such files read from memory.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "parsers/core/crc32c.h"
#include "parsers/input/tracker_source.h"

namespace bertbench {

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}
  Result<std::size_t> read(std::span<char> buffer) override {
    const std::size_t n = bytes_.copy(buffer.data(), buffer.size());
    bytes_.remove_prefix(n);
    return n;
  }

 private:
  std::string_view bytes_;
};

struct TrackerText {
  std::string lines, problem;
};
inline TrackerText tracker_text(std::string_view bytes, std::size_t buffer_size = 4096) {
  const auto source = open_tracker(tracker_of(bytes.substr(0, kTrackerHead)),
                                   std::make_unique<MemorySource>(bytes));
  TrackerText out;
  std::string buffer(buffer_size, '\0');
  for (;;) {
    const auto got = source->read(buffer);
    if (!got) return {out.lines, got.error().message()};
    if (*got == 0) break;
    out.lines.append(buffer, 0, *got);
  }
  return {out.lines, source->problem()};
}

template <class T>
std::string little_endian(T value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(0x80 | (value & 0x7f));
  return out + static_cast<char>(value);
}
inline std::string proto(std::uint64_t number, std::string_view bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}
inline std::string proto(std::uint64_t number, std::uint64_t value) {
  return varint(number << 3) + varint(value);
}
inline std::string proto(std::uint64_t number, double value) {
  return varint(number << 3 | 1) + little_endian(value);
}
inline std::string proto(std::uint64_t number, float value) {
  return varint(number << 3 | 5) + little_endian(value);
}

/// One record of an event file.
inline std::string event_record(std::string_view event) {
  const auto masked = [](std::string_view bytes) {
    const std::uint32_t crc = crc32c(bytes);
    return little_endian<std::uint32_t>(((crc >> 15) | (crc << 17)) + 0xa282ead8U);
  };
  const std::string length = little_endian<std::uint64_t>(event.size());
  return length + masked(length) + std::string(event) + masked(event);
}

/// A whole .wandb file of these records.
template <class Records>
std::string wandb_file(const Records& records) {
  constexpr std::size_t kBlock = 32768, kHead = 7;
  std::string out(":W&B\xe1\xbe\0", 7);
  for (std::string_view rest : records) {
    for (bool first = true; first || !rest.empty(); first = false) {
      std::size_t left = kBlock - out.size() % kBlock;
      if (left < kHead) {
        out.append(left, '\0');
        left = kBlock;
      }
      const std::string_view part = rest.substr(0, left - kHead);
      rest.remove_prefix(part.size());
      const char type = rest.empty() ? (first ? '\1' : '\4') : (first ? '\2' : '\3');
      const std::string body = type + std::string(part);
      const auto crc =
          crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
      out += little_endian(static_cast<std::uint32_t>(crc)) +
             little_endian(static_cast<std::uint16_t>(part.size())) + body;
    }
  }
  return out;
}

}  // namespace bertbench
