// What stands in the lines of gluon-nlp's scripts; parsers/formats/gluonnlp.cpp makes runs of them.
#pragma once

#include <optional>
#include <string_view>

#include "parsers/core/record.h"
#include "parsers/format.h"

namespace bertbench {

/// A stamp in front of a message: "INFO:root:04:17:43 ...", "2019-12-19 07:06:00,663 - root - ...".
struct GluonStamp {
  double time_s = kUnknown;
  double resolution_s = kUnknown;
  bool has_date = false;
};
[[nodiscard]] GluonStamp gluon_stamp(std::string_view text);

/// The last number of "span/answer/total=0.7/0.1/0.9": the sum of the others.
[[nodiscard]] std::optional<double> last_of_sum(const Line& line, std::string_view key);

}  // namespace bertbench
