// The keys of a format file, once for the checks and for the JSON schema.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bertbench {

inline constexpr std::string_view kFormatSchema = "bertbench.format/1";
inline constexpr std::size_t kMaxRules = 64;
inline constexpr std::size_t kMinLiteral = 4;  ///< the scan's fingerprint
inline constexpr std::size_t kMaxLiteral = 200;

struct FormatKey {
  std::string_view name;
  std::string_view schema;  ///< of its value, as JSON
  std::string_view meaning;
  bool required = false;
};
/// Of the file, and of one of its lines.
[[nodiscard]] std::span<const FormatKey> format_keys();
[[nodiscard]] std::span<const FormatKey> line_keys();
[[nodiscard]] std::vector<std::string> names_of(std::span<const FormatKey> keys);
/// What `outcome` may be.
[[nodiscard]] std::vector<std::string> outcome_names();

/// configs/schema/format.schema.json
[[nodiscard]] std::string format_schema();

}  // namespace bertbench
