// What a log's place shows of its cell, and the collector of logs.
#include "reports/cells/result_builder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "parsers/core/each_fact.h"
#include "parsers/core/parallel.h"
#include "parsers/core/text.h"
#include "parsers/core/topology.h"
#include "reports/cells/measured_logs.h"
#include "reports/cells/relations.h"
#include "reports/cells/summarize.h"
#include "reports/measure/deduced_facts.h"
#include "reports/measure/measure.h"
#include "reports/model/cell_source.h"
#include "reports/model/version.h"

namespace bertbench {
namespace {

// Measured logs as cells: grouped, numbered, in the order in which tables read well, summarized. A
// cell is made when it is asked for.

/// Tree of trials whose cell the caller knows.
constexpr std::string_view kSweptTree = "sweep:";

class GroupedCells final : public CellSource {
 public:
  /// `emulated`: CellFacts::name of cells whose GPUs are stand-ins.
  GroupedCells(MeasuredLogs logs, const std::set<std::string>& emulated,
               const SummaryOptions& options, ResultSet head);

  [[nodiscard]] const ResultSet& head() const override { return head_; }
  [[nodiscard]] std::size_t size() const override { return cells_.size(); }
  [[nodiscard]] Cell cell(std::size_t i) const override;
  [[nodiscard]] std::size_t trials(std::size_t i) const override;
  void each_trial(std::size_t i, const std::function<void(const Trial&)>& visit) const override;
  [[nodiscard]] const std::vector<Notice>& notices() const { return found_.notices; }

 private:
  struct Place {
    const CellFacts* facts = nullptr;
    std::uint32_t begin = 0, count = 0;  ///< in members_
    bool emulated = false;
    bool numbered = false;  ///< by the tree, which may hold several attempts at a trial
  };
  void group();
  [[nodiscard]] std::span<const std::uint32_t> members(const Place& place) const;
  /// The trials of a cell whose tree numbers them: all at once, because attempts at one trial are
  /// compared.
  [[nodiscard]] std::vector<Trial> numbered_trials(const Place& place) const;
  [[nodiscard]] Cell summarized(const Place& place) const;

  MeasuredLogs logs_;
  SummaryOptions options_;
  ResultSet head_;
  std::deque<CellFacts> filled_;  ///< of cells whose facts several logs give in parts
  std::vector<std::uint32_t> members_;
  std::vector<Place> cells_;
  std::vector<CellFigures> figures_;
  Relations found_;
};

// No fact known on both sides differs.
bool compatible(const Identity& a, const Identity& b) {
  bool agree = a.axes == b.axes || a.axes.empty() || b.axes.empty();
  for_each_fact(a, b, [&](const char*, const auto& one, const auto& other) {
    agree = agree && (!one || !other || *one == *other);
  });
  return agree;
}

void fill_identity(Identity& to, const Identity& from) {
  for_each_fact(to, from, [](const char*, auto& fact, const auto& other) {
    if (!fact) fact = other;
  });
  if (to.axes.empty()) to.axes = from.axes;
}

// Identity as an ordered value; unknown comes last. The order in which tables read well: model,
// length, batch, precision, then GPUs.
auto order_of(const Identity& id) {
  const auto number = [](const std::optional<std::int64_t>& n) { return n ? *n : INT64_MAX; };
  const auto text = [](const std::optional<std::string>& s) {
    return std::pair(!s.has_value(), s.value_or(""));
  };
  const auto world = id.world_size();
  return std::tuple(text(id.framework), text(id.model), text(id.precision),
                    number(id.sequence_length), id.axes, number(id.micro_batch_size),
                    number(id.gradient_accumulation_steps), number(world), number(id.nodes),
                    number(id.gpus_per_node));
}

// Of several attempts at one trial the last one counts; the others are reported on it.
void keep_last_attempts(std::vector<Trial>& trials) {
  std::map<int, std::size_t> last;
  std::vector<Trial> kept;
  for (Trial& trial : trials) {
    const auto [it, fresh] = last.emplace(trial.trial, kept.size());
    if (fresh) {
      kept.push_back(std::move(trial));
      continue;
    }
    Trial& other = kept[it->second];
    if (trial.attempt == other.attempt) ++trial.attempt;  // begun anew within one log
    if (trial.attempt < other.attempt) std::swap(trial, other);
    trial.notices.push_back(
        make_notice(NoticeCode::earlier_attempt, 0, other.attempt, name(other.outcome.status),
                    other.outcome.details.empty() ? "" : ": " + detail_text(other.outcome)));
    other = std::move(trial);
  }
  trials = std::move(kept);
}

/// Logs of one cell in the order in which they joined it, as a list through `next`.
struct Group {
  const CellFacts* facts = nullptr;
  std::uint32_t first = 0, last = 0, count = 0;
};

class Grouping {
 public:
  Grouping(const MeasuredLogs& logs, std::deque<CellFacts>& filled)
      : logs_(logs), filled_(filled), next_(logs.size()) {
    for (std::uint32_t log = 0; log < logs.size(); ++log) {
      if (!logs.dropped(log)) put(log);
    }
    join_poor();
  }

  [[nodiscard]] const std::vector<Group>& groups() const { return groups_; }
  void each_log(const Group& group, const auto& visit) const {
    std::uint32_t log = group.first;
    for (std::uint32_t n = 0; n < group.count; ++n, log = next_[log]) visit(log);
  }

 private:
  void put(std::uint32_t log) {
    const CellFacts& facts = logs_.facts(log);
    const auto known = home_of_facts_.find(&facts);
    if (known != home_of_facts_.end()) return append(groups_[known->second], log);
    const bool complete = facts.identity.complete();
    const bool joins = complete || !facts.tree.empty();
    std::size_t home = groups_.size();
    if (joins) {
      const std::string name = facts.name + (complete ? std::string() : "\n" + facts.tree);
      home = home_of_.emplace(name, home).first->second;
      home_of_facts_.emplace(&facts, home);
    }
    if (home < groups_.size()) return append(groups_[home], log);
    groups_.push_back({&facts, log, log, 1});
    if (!facts.tree.empty() && facts.tree != kSweptTree) by_tree_[facts.tree].push_back(home);
  }

  void append(Group& group, std::uint32_t log) {
    next_[group.last] = log;
    group.last = log;
    ++group.count;
  }

  // A log that broke off early knows less about itself than its neighbours in the same cell folder.
  void join_poor() {
    for (const auto& [tree, members] : by_tree_) {
      for (const std::size_t poor : members) {
        if (groups_[poor].facts->identity.complete()) continue;
        const auto homes = homes_of(poor, members);
        if (homes.size() != 1) continue;
        // One that knows less may be of another group as well.
        const bool sure =
            groups_[homes[0]].facts->identity.complete() || homes_of(homes[0], members).size() == 1;
        if (sure) join(groups_[homes[0]], groups_[poor]);
      }
    }
  }

  /// Groups of a tree that group `g` may be of.
  [[nodiscard]] std::vector<std::size_t> homes_of(std::size_t g,
                                                  std::span<const std::size_t> tree) const {
    std::vector<std::size_t> out;
    std::ranges::copy_if(tree, std::back_inserter(out), [&](std::size_t other) {
      return other != g && groups_[other].count > 0 &&
             groups_[other].facts->kind == groups_[g].facts->kind &&
             compatible(groups_[other].facts->identity, groups_[g].facts->identity);
    });
    return out;
  }

  void join(Group& home, Group& poor) {
    Identity identity = home.facts->identity;
    fill_identity(identity, poor.facts->identity);
    home.facts = &filled_.emplace_back(std::move(identity), home.facts->kind);
    next_[home.last] = poor.first;
    home.last = poor.last;
    home.count += poor.count;
    poor.count = 0;
  }

  const MeasuredLogs& logs_;
  std::deque<CellFacts>& filled_;
  std::vector<std::uint32_t> next_;
  std::vector<Group> groups_;
  std::unordered_map<std::string, std::size_t> home_of_;
  std::unordered_map<const CellFacts*, std::size_t> home_of_facts_;
  std::map<std::string, std::vector<std::size_t>> by_tree_;
};

/// Places of facts in the order of the result; equal where their cells stay in the order read.
std::unordered_map<const CellFacts*, std::size_t> ranks_of(const std::vector<Group>& groups) {
  std::unordered_map<const CellFacts*, std::size_t> ranks;
  std::vector<const CellFacts*> sorted;
  for (const Group& group : groups) {
    if (ranks.emplace(group.facts, 0).second) sorted.push_back(group.facts);
  }
  const auto before = [](const CellFacts* a, const CellFacts* b) {
    return std::pair(a->kind, order_of(a->identity)) < std::pair(b->kind, order_of(b->identity));
  };
  std::ranges::sort(sorted, before);
  std::size_t rank = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0 && before(sorted[i - 1], sorted[i])) ++rank;
    ranks[sorted[i]] = rank;
  }
  return ranks;
}

GroupedCells::GroupedCells(MeasuredLogs logs, const std::set<std::string>& emulated,
                           const SummaryOptions& options, ResultSet head)
    : logs_(std::move(logs)), options_(options), head_(std::move(head)) {
  group();
  for (Place& place : cells_) place.emulated = emulated.contains(place.facts->name);
  figures_.resize(cells_.size());
  constexpr std::size_t kBlock = 256;
  for_each_index((cells_.size() + kBlock - 1) / kBlock, 4, [&](std::size_t block) {
    for (std::size_t i = block * kBlock; i < std::min(cells_.size(), (block + 1) * kBlock); ++i) {
      const auto& facts = *cells_[i].facts;
      figures_[i] = {summarized(cells_[i]), facts.identity, facts.key};
    }
  });
  found_ = relate(figures_, options_);
  std::ranges::stable_sort(found_.warnings, {}, &std::pair<std::size_t, Notice>::first);
}

void GroupedCells::group() {
  const Grouping grouping(logs_, filled_);
  const std::vector<Group>& groups = grouping.groups();
  const auto ranks = ranks_of(groups);
  std::vector<std::uint32_t> order;
  for (std::uint32_t g = 0; g < groups.size(); ++g) {
    if (groups[g].count > 0) order.push_back(g);
  }
  std::ranges::stable_sort(order, {}, [&](std::uint32_t g) { return ranks.at(groups[g].facts); });
  cells_.reserve(order.size());
  members_.reserve(logs_.size());
  for (const std::uint32_t g : order) {
    Place& place = cells_.emplace_back();
    place.facts = groups[g].facts;
    place.begin = static_cast<std::uint32_t>(members_.size());
    place.count = groups[g].count;
    // Numbers of the tree hold only when each log of the cell has one.
    place.numbered = true;
    const std::string& tree = logs_.facts(groups[g].first).tree;
    grouping.each_log(groups[g], [&](std::uint32_t log) {
      members_.push_back(log);
      place.numbered = place.numbered && logs_.numbered(log) && logs_.facts(log).tree == tree;
    });
  }
}

std::span<const std::uint32_t> GroupedCells::members(const Place& place) const {
  return std::span(members_).subspan(place.begin, place.count);
}

std::vector<Trial> GroupedCells::numbered_trials(const Place& place) const {
  std::vector<Trial> trials;
  for (const std::uint32_t log : members(place)) trials.push_back(logs_.trial(log));
  keep_last_attempts(trials);
  std::ranges::stable_sort(trials, {}, &Trial::trial);
  return trials;
}

Cell GroupedCells::summarized(const Place& place) const {
  Cell out;
  out.identity = place.facts->identity;
  out.kind = place.facts->kind;
  out.emulated = place.emulated;
  std::set<std::string> gpus;
  for (const std::uint32_t log : members(place)) {
    const CellFacts& facts = logs_.facts(log);
    if (!out.stated_world_size) out.stated_world_size = facts.world_size;
    if (!out.stated_global_batch_size) out.stated_global_batch_size = facts.global_batch_size;
    if (!facts.gpu.empty()) gpus.insert(facts.gpu);
  }
  if (gpus.size() == 1) out.gpu = *gpus.begin();
  std::vector<Trial> trials;  // figures may point into them
  std::vector<TrialFigures> figures;
  if (place.numbered) {
    trials = numbered_trials(place);
    for (const Trial& trial : trials) figures.push_back(figures_of(trial));
  } else {
    for (const std::uint32_t log : members(place)) figures.push_back(logs_.figures(log));
  }
  summarize_trials(out, figures, options_.compat_dlperf);
  if (gpus.size() > 1) {
    out.warnings.push_back(
        make_notice(NoticeCode::gpus_differ, 0, fmt::format("{}", fmt::join(gpus, ", "))));
  }
  return out;
}

Cell GroupedCells::cell(std::size_t i) const {
  Cell out = summarized(cells_[i]);
  put_relations(out, figures_[i], figures_, options_.flops_formula);
  const auto its =
      std::ranges::equal_range(found_.warnings, i, {}, &std::pair<std::size_t, Notice>::first);
  for (const auto& [of, warning] : its) out.warnings.push_back(warning);
  return out;
}

std::size_t GroupedCells::trials(std::size_t i) const {
  return cells_[i].numbered ? numbered_trials(cells_[i]).size() : cells_[i].count;
}

void GroupedCells::each_trial(std::size_t i, const std::function<void(const Trial&)>& visit) const {
  if (cells_[i].numbered) {
    for (const Trial& trial : numbered_trials(cells_[i])) visit(trial);
    return;
  }
  int number = 0;
  for (const std::uint32_t log : members(cells_[i])) {
    Trial trial = logs_.trial(log);
    trial.trial = ++number;
    visit(trial);
  }
}

// What the place of a log shows of its cell.
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
  head.created = utc_now();
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
