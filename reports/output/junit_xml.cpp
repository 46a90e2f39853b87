#include "reports/output/junit_xml.h"

#include <fmt/format.h>

#include "reports/output/markup.h"

namespace bertbench {

std::string junit_attribute(std::string_view name, std::string_view value) {
  return fmt::format(" {}=\"{}\"", name, escape_markup(value));
}

std::string junit_output(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string out = "      <system-out>";
  for (const auto& [name, value] : facts) {
    out += (&name == &facts.front().first ? "" : "\n") + escape_markup(name) + ": " +
           escape_markup(value);
  }
  return out + "</system-out>\n";
}

std::string junit_file(std::string_view name, const JunitCounts& counts, std::string_view timestamp,
                       std::string_view cases) {
  const std::string title = junit_attribute("name", name.empty() ? "bertbench" : name);
  const std::string sums = fmt::format(" tests=\"{}\" failures=\"{}\" errors=\"{}\"", counts.tests,
                                       counts.failures, counts.errors);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites{0}{1}>\n  <testsuite{0}{1} "
      "skipped=\"{2}\"{3}>\n{4}  </testsuite>\n</testsuites>\n",
      title, sums, counts.skipped, timestamp.empty() ? "" : junit_attribute("timestamp", timestamp),
      cases);
}

}  // namespace bertbench
