#include "reports/cells/grouped_cells.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "parsers/core/parallel.h"

namespace bertbench {
namespace {

template <class T>
bool agree(const std::optional<T>& a, const std::optional<T>& b) {
  return !a || !b || *a == *b;
}

// No fact known on both sides differs.
bool compatible(const Identity& a, const Identity& b) {
  return agree(a.framework, b.framework) && agree(a.model, b.model) &&
         agree(a.precision, b.precision) && agree(a.sequence_length, b.sequence_length) &&
         agree(a.micro_batch_size, b.micro_batch_size) &&
         agree(a.gradient_accumulation_steps, b.gradient_accumulation_steps) &&
         agree(a.nodes, b.nodes) && agree(a.gpus_per_node, b.gpus_per_node) &&
         (a.axes == b.axes || a.axes.empty() || b.axes.empty());
}

template <class T>
void fill(std::optional<T>& to, const std::optional<T>& from) {
  if (!to) to = from;
}

void fill_identity(Identity& to, const Identity& from) {
  fill(to.framework, from.framework);
  fill(to.model, from.model);
  fill(to.precision, from.precision);
  fill(to.sequence_length, from.sequence_length);
  fill(to.micro_batch_size, from.micro_batch_size);
  fill(to.gradient_accumulation_steps, from.gradient_accumulation_steps);
  fill(to.nodes, from.nodes);
  fill(to.gpus_per_node, from.gpus_per_node);
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
        const Identity& its = groups_[poor].facts->identity;
        if (its.complete()) continue;
        std::size_t home = 0;
        int homes = 0;
        for (const std::size_t rich : members) {
          if (rich == poor || groups_[rich].count == 0 ||
              groups_[rich].facts->kind != groups_[poor].facts->kind ||
              !compatible(groups_[rich].facts->identity, its)) {
            continue;
          }
          home = rich;
          ++homes;
        }
        if (homes == 1) join(groups_[home], groups_[poor]);
      }
    }
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

}  // namespace

GroupedCells::GroupedCells(MeasuredLogs logs, const std::set<std::string>& emulated,
                           const SummaryOptions& options, ResultSet head)
    : logs_(std::move(logs)), options_(options), head_(std::move(head)) {
  group();
  for (Place& place : cells_) place.emulated = emulated.contains(place.facts->name);
  figures_.resize(cells_.size());
  constexpr std::size_t kBlock = 256;
  for_each_index((cells_.size() + kBlock - 1) / kBlock, 4, [&](std::size_t block) {
    for (std::size_t i = block * kBlock; i < std::min(cells_.size(), (block + 1) * kBlock); ++i) {
      const Cell cell = summarized(cells_[i]);
      CellFigures& its = figures_[i];
      its.identity = &cells_[i].facts->identity;
      its.key = &cells_[i].facts->key;
      its.kind = cell.kind;
      its.emulated = cell.emulated;
      its.world = cell.world_size();
      its.global_batch = cell.global_batch_size();
      its.rate = rate_of(cell);
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

}  // namespace bertbench
