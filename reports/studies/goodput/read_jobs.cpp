#include "reports/studies/goodput/read_jobs.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "parsers/input/input.h"
#include "parsers/lines/clock.h"
#include "parsers/reader/log_reader.h"

namespace bertbench {
namespace {

constexpr std::size_t kLongestLine = 4096;  // bytes of a line that are looked at

std::optional<double> stamp_in(std::string_view line) {
  for (auto at = line.find("20"); at != line.npos; at = line.find("20", at + 1)) {
    if (const auto seconds = date_time(line.substr(at))) return seconds;
  }
  return std::nullopt;
}

/// Calls `see(number, text)` for each line of the source, numbers from 1.
template <class See>
Result<void> for_lines(ByteSource& source, See see) {
  std::array<char, 1 << 16> block;
  std::string line;
  std::int64_t number = 1;
  while (true) {
    const auto got = source.read(block);
    if (!got) return tl::unexpected(got.error());
    if (*got == 0) break;
    std::string_view rest(block.data(), *got);
    while (!rest.empty()) {
      const auto end = rest.find('\n');
      const auto part = rest.substr(0, end);
      line += part.substr(0, kLongestLine - std::min(kLongestLine, line.size()));
      if (end == rest.npos) break;
      see(number++, line);
      line.clear();
      rest.remove_prefix(end + 1);
    }
  }
  if (!line.empty()) see(number, line);
  return {};
}

}  // namespace

Result<std::vector<JobLog>> read_jobs(const std::string& path) {
  auto runs = read_log(path, {});
  if (!runs) return tl::unexpected(runs.error());
  std::vector<JobLog> jobs;
  for (auto& run : *runs) jobs.push_back({std::move(run), {}});
  std::ranges::stable_sort(jobs, {}, [](const JobLog& job) { return job.log.first_line; });
  auto source = open_source(path);
  if (!source) return tl::unexpected(source.error());
  std::size_t next = 0;  // job that has not begun
  const auto done = for_lines(**source, [&](std::int64_t number, std::string_view text) {
    while (next < jobs.size() && (next == 0 || jobs[next].log.first_line <= number)) ++next;
    const auto stamp = stamp_in(text);
    if (!stamp) return;
    auto& [log, wall] = jobs[next - 1];
    if (!wall.begin) wall.begin = stamp;
    wall.end = stamp;
    if (!log.records.empty() && log.records.front().line == number) wall.first_step = stamp;
  });
  if (!done) return tl::unexpected(done.error());
  return jobs;
}

}  // namespace bertbench
