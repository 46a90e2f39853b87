// What the JUnit files of `check` and of `report --to junit` share. They hold to the schema of
// Jenkins' xunit plugin (junit-10.xsd, that of pytest's "xunit2"), which refuses a file with
// anything beyond it: no <properties> in a test case, no count of skipped ones over all suites.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bertbench {

struct JunitCounts {
  int tests = 0, failures = 0, errors = 0, skipped = 0;
};

/// ` name="value"`, the value escaped.
[[nodiscard]] std::string junit_attribute(std::string_view name, std::string_view value);

/// The facts of a test case, a line `name: value` each, as its <system-out>; nothing for no facts.
[[nodiscard]] std::string junit_output(
    const std::vector<std::pair<std::string, std::string>>& facts);

/// The whole file: one suite around `cases`. `timestamp` (RFC 3339) may be empty.
[[nodiscard]] std::string junit_file(std::string_view name, const JunitCounts& counts,
                                     std::string_view timestamp, std::string_view cases);

}  // namespace bertbench
