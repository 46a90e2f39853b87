// Groups trials into cells and numbers them.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <deque>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "parsers/core/text.h"
#include "parsers/core/topology.h"
#include "reports/deduce.h"
#include "reports/measure.h"
#include "reports/version.h"

namespace bertbench {
namespace {

// Tree of trials whose cell the caller knows.
constexpr std::string_view kSweep = "sweep:";

// Equal for equal identities of a kind; the key leaves the framework out.
std::string text_of(const Identity& identity, WorkKind kind) {
  return identity.framework.value_or("?") + "\n" + identity.key() + "\n" + std::string(name(kind));
}

using Entry = MeasuredLog;

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

std::string now_rfc3339() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  const std::size_t n = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, n};
}

// Of several attempts at one trial the last one counts; the others are told on it.
void keep_last_attempts(Cell& cell) {
  std::map<int, std::size_t> last;
  std::vector<Trial> kept;
  for (Trial& trial : cell.trials) {
    const auto [it, fresh] = last.emplace(trial.trial, kept.size());
    if (fresh) {
      kept.push_back(std::move(trial));
      continue;
    }
    Trial& other = kept[it->second];
    if (trial.attempt == other.attempt) ++trial.attempt;  // begun anew within one log
    if (trial.attempt < other.attempt) std::swap(trial, other);
    std::string text = "attempt " + std::to_string(other.attempt) + " ended as " +
                       std::string(name(other.outcome.status));
    if (!other.outcome.detail.empty()) text += ": " + other.outcome.detail;
    trial.notices.push_back({0, std::move(text)});
    other = std::move(trial);
  }
  cell.trials = std::move(kept);
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
  std::vector<Notice> told;  // measure_trial has told them already
  facts = deduce_facts(facts, told);
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
  std::deque<Entry> entries;       // of 100,000 logs: none is copied as they grow
  std::set<std::string> emulated;  // text_of their cells
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
  Entry entry;
  entry.identity = identity;
  entry.kind = kind;
  entry.trial = std::move(trial);
  entry.numbered = true;
  entry.tree = kSweep;
  state_->entries.push_back(std::move(entry));
}

void ResultBuilder::add(MeasuredLog log) { state_->entries.push_back(std::move(log)); }

std::vector<MeasuredLog> ResultBuilder::take() {
  std::vector<MeasuredLog> out(std::make_move_iterator(state_->entries.begin()),
                               std::make_move_iterator(state_->entries.end()));
  state_->entries.clear();
  return out;
}

void ResultBuilder::mark_emulated(const Identity& identity, WorkKind kind) {
  state_->emulated.insert(text_of(identity, kind));
}

const std::vector<Notice>& ResultBuilder::notices() const { return state_->notices; }

ResultSet ResultBuilder::finish() {
  struct Group {
    Cell cell;
    std::string tree;
    std::vector<Entry*> entries;
  };
  std::deque<Group> groups;
  std::unordered_map<std::string, Group*> home_of;
  std::map<std::string, std::vector<Group*>> by_tree;
  for (Entry& entry : state_->entries) {
    const bool complete = entry.identity.complete();
    Group* home = nullptr;
    const std::string key =
        text_of(entry.identity, entry.kind) + (complete ? std::string() : "\n" + entry.tree);
    const bool joins = complete || !entry.tree.empty();
    if (joins) {
      const auto it = home_of.find(key);
      if (it != home_of.end()) home = it->second;
    }
    if (home == nullptr) {
      home = &groups.emplace_back();
      home->cell.identity = entry.identity;
      home->cell.kind = entry.kind;
      home->tree = entry.tree;
      if (joins) home_of.emplace(key, home);
      if (!entry.tree.empty() && entry.tree != kSweep) by_tree[entry.tree].push_back(home);
    }
    home->entries.push_back(&entry);
  }
  // A log that broke off early knows less about itself than its neighbours in the same cell folder.
  for (auto& [tree, members] : by_tree) {
    for (Group* poor : members) {
      if (poor->cell.identity.complete()) continue;
      Group* home = nullptr;
      int homes = 0;
      for (Group* rich : members) {
        if (rich == poor || rich->entries.empty() || rich->cell.kind != poor->cell.kind ||
            !compatible(rich->cell.identity, poor->cell.identity)) {
          continue;
        }
        home = rich;
        ++homes;
      }
      if (homes != 1) continue;
      fill_identity(home->cell.identity, poor->cell.identity);
      home->entries.insert(home->entries.end(), poor->entries.begin(), poor->entries.end());
      poor->entries.clear();
    }
  }
  std::erase_if(groups, [](const Group& group) { return group.entries.empty(); });

  for (Group& group : groups) {
    // Numbers of the tree hold only when each log of the cell has one.
    const bool numbered = std::ranges::all_of(group.entries, &Entry::numbered);
    std::set<std::string> trees;
    for (const Entry* entry : group.entries) trees.insert(entry->tree);
    const bool keep = numbered && trees.size() == 1;
    int number = 0;
    for (Entry* entry : group.entries) {
      if (!keep) entry->trial.trial = ++number;
      if (!group.cell.stated_world_size) group.cell.stated_world_size = entry->world_size;
      if (!group.cell.stated_global_batch_size) {
        group.cell.stated_global_batch_size = entry->global_batch_size;
      }
      if (group.cell.gpu.empty()) group.cell.gpu = entry->gpu;
      group.cell.trials.push_back(std::move(entry->trial));
    }
    if (keep) keep_last_attempts(group.cell);
    std::ranges::stable_sort(group.cell.trials, {}, &Trial::trial);
    group.cell.emulated = state_->emulated.contains(text_of(group.cell.identity, group.cell.kind));
  }
  state_->entries = {};
  std::vector<Cell*> sorted;
  for (Group& group : groups) sorted.push_back(&group.cell);
  std::ranges::stable_sort(sorted, [](const Cell* a, const Cell* b) {
    return std::pair(a->kind, order_of(a->identity)) < std::pair(b->kind, order_of(b->identity));
  });

  ResultSet results;
  results.tool_version = tool_version();
  results.tool_commit = tool_commit();
  results.created = now_rfc3339();
  results.cells.reserve(sorted.size());
  for (Cell* cell : sorted) results.cells.push_back(std::move(*cell));
  groups.clear();
  state_->notices = summarize(results, {state_->options.compat_dlperf, state_->options.base});
  return results;
}

}  // namespace bertbench
