#include "harness/cli/join_restarts.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>

namespace bertbench {
namespace {

/// The runs of a chain, read again; nothing when a log has changed meanwhile.
std::optional<std::vector<RunLog>> read_chain(
    const std::vector<std::pair<std::string, std::size_t>>& parts, const ReadOptions& read) {
  std::vector<RunLog> out;
  for (const auto& [path, run] : parts) {
    auto runs = read_log(path, read);
    if (!runs || run >= runs->size() || !optimizer_step_range((*runs)[run])) return std::nullopt;
    out.push_back(std::move((*runs)[run]));
  }
  return out;
}

}  // namespace

RunSpan restart_span(const MeasuredLog& measured, const RunLog& log, const Input& input) {
  // Logs that were named belong together; those of a folder with those of the same folder. What
  // stdin held is gone, and a tree that numbers its trials says itself what a trial is.
  std::string group = input.named ? "" : std::filesystem::path(log.path).parent_path().string();
  group += '\n' + measured.identity.framework.value_or("") + '\n' + measured.identity.key();
  RunSpan span = span_of(log, group);
  if (log.path == "-" || measured.numbered) span.steps.reset();
  return span;
}

void RestartJoiner::hold(std::size_t log, RunSpan span, std::size_t run) {
  if (!span.steps) return;
  // Few groups have many logs: their number takes no memory of its own.
  const auto number = groups_.emplace(std::move(span.group), groups_.size()).first->second;
  span.group = std::to_string(number);
  spans_.push_back(std::move(span));
  held_.push_back({static_cast<std::uint32_t>(log), static_cast<std::uint32_t>(run)});
}

std::vector<std::vector<std::size_t>> RestartJoiner::join(MeasuredLogs& logs,
                                                          const ReadOptions& read,
                                                          const MeasureOptions& measure) {
  const RestartChains found = find_restarts(spans_);
  const auto path_of = [&](std::size_t i) { return logs.trial(held_[i].log).log; };
  for (const auto& doubt : found.doubts) {
    std::string names;
    for (const std::size_t i : doubt.may_continue) {
      const std::string path = path_of(i);
      if (names.find(path) == std::string::npos) names += " " + path;
    }
    logs.add_notice(held_[doubt.run].log, make_notice(NoticeCode::restart_ambiguous, 0,
                                                      spans_[doubt.run].steps->first, names));
  }
  std::vector<std::vector<std::size_t>> chains;
  for (const auto& chain : found.chains) {
    std::vector<std::pair<std::string, std::size_t>> parts;
    std::vector<std::size_t> numbers;
    for (const std::size_t i : chain) {
      parts.emplace_back(path_of(i), held_[i].run);
      numbers.push_back(held_[i].log);
    }
    auto runs = read_chain(parts, read);
    if (!runs) continue;
    logs.replace(numbers.front(), measure_log(join_restarts(std::move(*runs)), measure));
    for (std::size_t k = 1; k < numbers.size(); ++k) logs.drop(numbers[k]);
    chains.push_back(std::move(numbers));
  }
  held_ = {};
  spans_ = {};
  groups_ = {};
  return chains;
}

}  // namespace bertbench
