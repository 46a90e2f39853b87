#include "harness/sweep/plan/own_logs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "parsers/core/text.h"

namespace bertbench {
namespace {
namespace fs = std::filesystem;

/// '*' stands for any characters. Linear in `name` for each '*', whatever the pattern.
bool matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, after = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++after;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

fs::file_type type_of(const fs::path& path) {
  std::error_code ec;
  return fs::symlink_status(path, ec).type();
}

void expand(const fs::path& folder, const std::vector<std::string>& parts, std::size_t at,
            std::vector<std::string>& out) {
  if (type_of(folder) != fs::file_type::directory) return;
  std::vector<std::string> names;
  if (parts[at].find('*') == std::string::npos) {
    names = {parts[at]};
  } else {
    std::error_code ec;
    for (const auto& entry : fs::directory_iterator(folder, ec)) {
      const auto name = entry.path().filename().string();
      if (matches(parts[at], name)) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
  }
  for (const auto& name : names) {
    const auto path = folder / name;
    if (at + 1 < parts.size()) {
      expand(path, parts, at + 1, out);
    } else if (type_of(path) == fs::file_type::regular) {
      out.push_back(path.string());
    }
  }
}

bool holds_training(const std::vector<RunLog>& runs) {
  return std::ranges::any_of(runs, [](const RunLog& run) { return !run.records.empty(); });
}

}  // namespace

std::vector<std::string> OwnLogs::find() const { return look(true); }

std::string OwnLogs::first() const {
  const auto found = look(false);
  return found.empty() ? "" : found.front();
}

std::vector<std::string> OwnLogs::look(bool all) const {
  std::vector<std::string> out;
  for (const auto& pattern : patterns) {
    if (!all && !out.empty()) break;
    std::vector<std::string> parts;
    for (const auto part : split(pattern, '/')) {
      if (!part.empty() && part != ".") parts.emplace_back(part);
    }
    if (!parts.empty()) expand(folder, parts, 0, out);
  }
  return out;
}

void add_missing_log(const std::vector<std::string>& patterns, bool found,
                     std::vector<Notice>& notices) {
  if (found || patterns.empty()) return;
  notices.push_back(
      make_notice(NoticeCode::own_log_missing, 0, fmt::format("{}", fmt::join(patterns, ", "))));
}

TrialRuns choose_runs(std::vector<RunLog> own, std::vector<RunLog> printed) {
  TrialRuns out;
  // Where neither holds a step, the longer story is on the terminal.
  out.own = holds_training(own) || (printed.empty() && !own.empty());
  out.runs = out.own ? std::move(own) : std::move(printed);
  if (!out.own) return out;
  for (const auto& run : printed) {
    const auto status = run.outcome.status;
    if (!is_failure(status) || status == Status::truncated || status == Status::no_data) continue;
    out.printed_failure = run.outcome;
  }
  if (out.printed_failure) {
    auto& details = out.printed_failure->details;
    details.insert(details.begin(),
                   make_notice(NoticeCode::printed_in_log_txt, 0, out.printed_failure->line));
    out.printed_failure->line = 0;  // lines of the result are those of the trainer's own log
  }
  return out;
}

}  // namespace bertbench
