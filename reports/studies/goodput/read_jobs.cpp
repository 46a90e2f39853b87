#include "reports/studies/goodput/read_jobs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "parsers/input/input.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/decoration.h"
#include "parsers/reader/log_reader.h"

namespace bertbench {
namespace {

constexpr std::size_t kLongestLine = 4096;  // bytes of a line that are looked at

/// Of the text's front: "2026-11-21 04:27:42", "[2026-11-21 04:27:42]", "[NeMo I 2026-11-21
/// 04:27:42 train:88]"; of an object the member `time`.
std::optional<double> stamp_of(std::string_view text) {
  constexpr std::size_t kReach = 40;  // bytes from a bracket to the stamp in it
  constexpr std::string_view kTime = "\"time\":";
  while (text.starts_with(' ')) text.remove_prefix(1);
  if (text.starts_with('[')) return date_time_within(text.substr(1, text.find(']')), kReach);
  if (!text.starts_with('{')) return date_time(text);
  const auto at = text.find(kTime);
  if (at == text.npos) return std::nullopt;
  text.remove_prefix(at + kTime.size());
  while (text.starts_with(' ')) text.remove_prefix(1);
  return text.starts_with('"') ? date_time(text.substr(1)) : std::nullopt;
}

/// Of a line, labels and levels before the stamp taken off.
std::optional<double> stamp_at_front(std::string_view line) {
  if (const auto stamp = stamp_of(line)) return stamp;
  for (const std::string_view text : Layers(line)) {
    if (const auto stamp = stamp_of(text)) return stamp;
  }
  return std::nullopt;
}

/// The stamps of one job, in order of lines. One that goes backwards, or that has no neighbour
/// within a day, is of something else that a line is about.
class StampsOfJob {
 public:
  void add(double stamp, bool of_first_step) {
    if (newest_) settle(near(stamp, *newest_));
    newest_ = stamp;
    of_first_step_ = of_first_step;
  }
  [[nodiscard]] WallTimes finish() {
    if (newest_) settle(!before_);
    return times_;
  }

 private:
  static bool near(double a, double b) {
    constexpr double kDay = 86400;  // seconds: no job is silent for longer
    return std::abs(a - b) <= kDay;
  }

  /// Takes the newest stamp in, now that the one after it is known.
  void settle(bool confirmed) {
    confirmed = confirmed || (before_ && near(*before_, *newest_));
    before_ = newest_;
    if (!confirmed || (times_.end && *newest_ < *times_.end)) return;
    if (!times_.begin) times_.begin = newest_;
    times_.end = newest_;
    if (of_first_step_) times_.first_step = newest_;
  }

  WallTimes times_;
  std::optional<double> before_, newest_;
  bool of_first_step_ = false;  ///< the newest
};

/// Calls `visit(number, text)` for each line of the source, numbers from 1.
template <class Visit>
Result<void> for_lines(ByteSource& source, Visit visit) {
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
      visit(number++, line);
      line.clear();
      rest.remove_prefix(end + 1);
    }
  }
  if (!line.empty()) visit(number, line);
  return {};
}

}  // namespace

Result<std::vector<JobLog>> read_jobs(const std::string& path) {
  std::error_code none;
  const auto type = std::filesystem::status(path, none).type();
  const bool missing = type == std::filesystem::file_type::not_found && path != "-";
  if (!missing && type != std::filesystem::file_type::regular) {
    return fail(path, "is no regular file, and the times in a log are read in a second pass",
                "write it to a file and name that");
  }
  auto runs = read_log(path, {});
  if (!runs) return tl::unexpected(runs.error());
  std::vector<JobLog> jobs;
  for (auto& run : *runs) jobs.push_back({std::move(run), {}});
  std::ranges::stable_sort(jobs, {}, [](const JobLog& job) { return job.log.first_line; });
  auto source = open_source(path);
  if (!source) return tl::unexpected(source.error());
  std::size_t next = 0;  // job that has not begun
  std::vector<StampsOfJob> stamps(jobs.size());
  const auto done = for_lines(**source, [&](std::int64_t number, std::string_view text) {
    while (next < jobs.size() && (next == 0 || jobs[next].log.first_line <= number)) ++next;
    const auto stamp = stamp_at_front(text);
    if (!stamp) return;
    const auto& records = jobs[next - 1].log.records;
    stamps[next - 1].add(*stamp, !records.empty() && records.front().line == number);
  });
  if (!done) return tl::unexpected(done.error());
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].wall = stamps[i].finish();
  return jobs;
}

}  // namespace bertbench
