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

void RestartJoiner::hold(MeasuredLog measured, RunSpan span, std::size_t run) {
  spans_.push_back(std::move(span));
  held_.push_back({std::move(measured), run});
}

std::vector<std::vector<std::size_t>> RestartJoiner::hand_on(ResultBuilder& builder,
                                                             const ReadOptions& read) {
  const RestartChains found = find_restarts(spans_);
  for (const auto& doubt : found.doubts) {
    std::string names;
    for (const std::size_t i : doubt.may_continue) {
      if (names.find(held_[i].measured.trial.log) == std::string::npos)
        names += " " + held_[i].measured.trial.log;
    }
    held_[doubt.run].measured.trial.notices.push_back(
        {0, fmt::format("begins behind step {}, as if it went on where another log ended, but more "
                        "than one choice fits (of{}): not joined; `bertbench reconcile` takes the "
                        "logs of one run",
                        spans_[doubt.run].steps->first, names)});
  }
  std::vector<bool> joined(held_.size(), false);
  std::vector<std::vector<std::size_t>> chains;
  for (const auto& chain : found.chains) {
    std::vector<std::pair<std::string, std::size_t>> parts;
    for (const std::size_t i : chain) parts.emplace_back(held_[i].measured.trial.log, held_[i].run);
    auto logs = read_chain(parts, read);
    if (!logs) continue;
    builder.add_log(join_restarts(std::move(*logs)));
    auto measured = builder.take();
    held_[chain.front()].measured = std::move(measured.front());
    for (std::size_t k = 1; k < chain.size(); ++k) joined[chain[k]] = true;
    chains.push_back(chain);
  }
  for (const bool part_of_another : joined) {
    if (!part_of_another) builder.add(std::move(held_.front().measured));
    held_.pop_front();
  }
  spans_.clear();
  return chains;
}

}  // namespace bertbench
