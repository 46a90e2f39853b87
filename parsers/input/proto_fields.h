// ProtoFields: the fields of a protobuf message, one after the other. Layout:
// https://protobuf.dev/programming-guides/encoding/
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace bertbench {

struct ProtoField {
  std::uint64_t number = 0;
  unsigned wire = 0;        ///< 0 varint, 1 eight bytes, 2 bytes, 5 four bytes
  std::uint64_t value = 0;  ///< of wire 0, 1 and 5: the bits
  std::string_view bytes;

  [[nodiscard]] bool is(std::uint64_t n, unsigned w) const { return number == n && wire == w; }
  [[nodiscard]] double as_double() const { return std::bit_cast<double>(value); }
  [[nodiscard]] float as_float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(value));
  }
};

class ProtoFields {
 public:
  explicit ProtoFields(std::string_view message) : rest_(message) {}

  /// Nothing at the end, or where no field can be read.
  std::optional<ProtoField> next() {
    const auto key = varint();
    if (!key) return std::nullopt;
    ProtoField out{*key >> 3, static_cast<unsigned>(*key & 7), 0, {}};
    if (out.wire == 0) {
      const auto value = varint();
      if (!value) return std::nullopt;
      out.value = *value;
      return out;
    }
    std::optional<std::uint64_t> size;
    if (out.wire == 1) size = 8;
    if (out.wire == 5) size = 4;
    if (out.wire == 2) size = varint();
    if (!size || *size > rest_.size()) return std::nullopt;
    out.bytes = rest_.substr(0, *size);
    rest_.remove_prefix(*size);
    if (out.wire != 2) std::memcpy(&out.value, out.bytes.data(), out.bytes.size());
    return out;
  }

 private:
  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  std::string_view rest_;
};

}  // namespace bertbench
