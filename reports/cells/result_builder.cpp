// What a log's place says of its cell, and the collector of logs.
#include "reports/cells/result_builder.h"

#include <chrono>
#include <ctime>
#include <optional>
#include <set>
#include <utility>

#include "parsers/core/text.h"
#include "parsers/core/topology.h"
#include "reports/cells/grouped_cells.h"
#include "reports/cells/summarize.h"
#include "reports/measure/deduced_facts.h"
#include "reports/measure/measure.h"
#include "reports/model/version.h"

namespace bertbench {
namespace {

// What the place of a log says about its cell.
struct Place {
  std::string tree;
  std::optional<int> trial, attempt;
};

std::optional<int> number_of(std::string_view part, std::string_view prefix) {
  if (!part.starts_with(prefix)) return std::nullopt;
  const auto n = to_int(part.substr(prefix.size()));
  return n && *n >= 1 && *n <= 1'000'000 ? std::optional<int>(static_cast<int>(*n)) : std::nullopt;
}

std::string join(const std::vector<std::string_view>& parts, std::size_t n) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += std::string(parts[i]) + "/";
  return out;
}

Place place_of(const std::string& path, const PathFacts& facts) {
  const auto parts = split(path, '/');
  const std::size_t n = parts.size();
  Place place;
  // <cell>/trial_2/log.txt and <cell>/trial_2/attempt_2/log.txt
  for (std::size_t i = n >= 3 ? n - 3 : 0; i + 1 < n; ++i) {
    if (const auto trial = number_of(parts[i], "trial_")) {
      place.trial = trial;
      place.attempt = i + 2 < n ? number_of(parts[i + 1], "attempt_") : std::nullopt;
      place.tree = "run:" + join(parts, i);
      return place;
    }
  }
  // 4n8g/bert_b32_fp16_3.log: the rest of the name is the same for all trials of the cell
  if (n >= 2 && facts.trial && parse_topology(parts[n - 2])) {
    place.trial = facts.trial;
    const std::string_view file = parts[n - 1];
    place.tree = "dlperf:" + join(parts, n - 1) + std::string(file.substr(0, file.rfind('_')));
  }
  return place;
}

std::string now_rfc3339() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  const std::size_t n = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, n};
}

}  // namespace

MeasuredLog measure_log(const RunLog& log, const MeasureOptions& options) {
  const PathFacts path = facts_from_path(log.path);
  std::vector<Notice> notices;
  Facts facts = merge_facts(options.given, log.facts, notices);
  facts = merge_facts(facts, path.facts, notices);

  MeasuredLog entry;
  entry.trial = measure_trial(log, facts, options);
  entry.trial.notices.insert(entry.trial.notices.begin(), notices.begin(), notices.end());
  std::vector<Notice> reported;  // measure_trial has reported them already
  facts = deduce_facts(facts, reported);
  entry.identity = identity_of(facts);
  entry.kind = log.kind;
  entry.world_size = facts.world();
  entry.global_batch_size = facts.sequences_per_optimizer_step();
  for (const char* key : {"gpu", "gpu_name"}) {
    const auto gpu = facts.versions.find(key);
    if (gpu != facts.versions.end()) entry.gpu = gpu->second;
  }
  const Place place = place_of(log.path, path);
  entry.tree = place.tree;
  entry.numbered = place.trial.has_value();
  if (place.trial) entry.trial.trial = *place.trial;
  if (place.attempt) entry.trial.attempt = *place.attempt;
  return entry;
}

struct ResultBuilder::State {
  MeasureOptions options;
  MeasuredLogs logs;
  std::set<std::string> emulated;  // names of their cells
  std::vector<Notice> notices;
};

ResultBuilder::ResultBuilder(MeasureOptions options) : state_(std::make_unique<State>()) {
  state_->options = std::move(options);
}
ResultBuilder::~ResultBuilder() = default;
ResultBuilder::ResultBuilder(ResultBuilder&&) noexcept = default;
ResultBuilder& ResultBuilder::operator=(ResultBuilder&&) noexcept = default;

void ResultBuilder::add_log(const RunLog& log) { add(measure_log(log, state_->options)); }

void ResultBuilder::add_trial(const Identity& identity, WorkKind kind, Trial trial) {
  MeasuredLog log;
  log.identity = identity;
  log.kind = kind;
  log.trial = std::move(trial);
  log.numbered = true;
  log.tree = kSweptTree;
  add(std::move(log));
}

std::size_t ResultBuilder::add(MeasuredLog log) { return state_->logs.add(std::move(log)); }

MeasuredLogs& ResultBuilder::logs() { return state_->logs; }

void ResultBuilder::mark_emulated(const Identity& identity, WorkKind kind) {
  state_->emulated.insert(CellFacts(identity, kind).name);
}

const std::vector<Notice>& ResultBuilder::notices() const { return state_->notices; }

std::unique_ptr<CellSource> ResultBuilder::finish_cells() {
  ResultSet head;
  head.tool.version = tool_version();
  head.tool.commit = tool_commit();
  head.created = now_rfc3339();
  auto cells = std::make_unique<GroupedCells>(
      std::exchange(state_->logs, {}), state_->emulated,
      SummaryOptions{.compat_dlperf = state_->options.compat_dlperf,
                     .base = state_->options.base,
                     .strong_scaling = state_->options.strong_scaling,
                     .flops_formula = state_->options.flops_formula},
      std::move(head));
  state_->notices = cells->notices();
  return cells;
}

ResultSet ResultBuilder::finish() { return finish_cells()->whole(); }

}  // namespace bertbench
