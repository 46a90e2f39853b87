// A statement of MLPerf's logs from round 0.7 on.
#pragma once

#include <cstdint>
#include <string>

namespace bertbench {

/// `value` and the members of `metadata` as JSON.
inline std::string mllog(std::int64_t time_ms, const std::string& key,
                         const std::string& value = "null",
                         const std::string& metadata = "\"lineno\": 1") {
  return ":::MLLOG {\"namespace\": \"\", \"time_ms\": " + std::to_string(time_ms) +
         ", \"event_type\": \"POINT_IN_TIME\", \"key\": \"" + key + "\", \"value\": " + value +
         ", \"metadata\": {" + metadata + "}}\n";
}

}  // namespace bertbench
