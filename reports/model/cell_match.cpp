#include "reports/model/cell_match.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "parsers/core/trainer_options.h"
namespace bertbench {
namespace {

using Json = nlohmann::ordered_json;

// Hardware and system: what differs here makes two rates incomparable.
constexpr std::string_view kBlocking[] = {"machine",
                                          "cpu",
                                          "cpus",
                                          "cores",
                                          "cores_usable",
                                          "sockets",
                                          "threads_per_core",
                                          "isa",
                                          "governor",
                                          "turbo",
                                          "virtualization",
                                          "kernel",
                                          "gpu",
                                          "gpus",
                                          "driver",
                                          "cuda_driver"};
// Names the place or the moment and not the speed. "preflight": what a check of the machine found
// before the sweep, with its date and outliers.
constexpr std::string_view kVolatile[] = {
    "time", "date", "created", "captured", "hostname",      "host",     "pid",
    "user", "path", "git",     "command",  "configuration", "preflight"};
// The rule that ended the trials of a cell, which another trials_max or another grid changes. It is
// about how many trials there are, not about what they measured, so cells may differ in it.
constexpr std::string_view kStoppingRule = "stopping";
// Words in the names of values that change from minute to minute ("mhz", "load_1min").
constexpr std::string_view kVolatileParts[] = {
    "mhz", "free", "available", "temperature", "utilization", "used", "power", "uptime", "load"};

bool contains(const auto& list, std::string_view key) {
  return std::ranges::find(list, key) != std::end(list);
}

bool is_volatile(std::string_view key) {
  return std::ranges::any_of(kVolatileParts, [&](std::string_view word) {
    return key.find(word) != std::string_view::npos;
  });
}

// Without parts that change from minute to minute ("mhz", "free_bytes").
Json steady(const Json& value) {
  if (value.is_array()) {
    Json out = Json::array();
    for (const Json& element : value) out.push_back(steady(element));
    return out;
  }
  if (!value.is_object()) return value;
  std::map<std::string, Json> sorted;  // the order of keys is no difference
  for (const auto& [key, part] : value.items()) {
    if (!is_volatile(key)) sorted.emplace(key, steady(part));
  }
  Json out = Json::object();
  for (auto& [key, part] : sorted) out[key] = std::move(part);
  return out;
}

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string cell_name(const Cell& cell) {
  return cell.identity.framework.value_or("?") + "\n" + cell.identity.key() + "\n" +
         std::string(name(cell.kind));
}

std::string key_name(const Cell& cell) { return cell.key + "\n" + std::string(name(cell.kind)); }

std::string joined(const std::set<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

}  // namespace

CellIndex::CellIndex(const ResultSet& results) : results_(results) {
  for (const Cell& cell : results.cells) {
    (cell.identity.simulated() ? simulated_ : measured_) = true;
    by_identity_[cell_name(cell)].push_back(&cell);
    by_key_.emplace(key_name(cell), &cell);
  }
}

const Cell* CellIndex::find(const Cell& cell) const {
  const auto same = by_identity_.find(cell_name(cell));
  if (same == by_identity_.end()) return nullptr;
  if (same->second.size() == 1) return same->second.front();
  const auto keyed = by_key_.find(key_name(cell));
  return keyed == by_key_.end() ? nullptr : keyed->second;
}

CellSample sample_of(const Cell& cell) {
  CellSample out;
  // A trial may lack the facts that the others have: rates of the most specific unit there is.
  std::map<RateUnit, std::vector<double>> values;
  std::set<std::string> estimators;
  std::set<std::string> windows;
  for (const Trial& trial : cell.trials) {
    if (!trial.window.covered || !trial.rate()) continue;
    values[trial.unit()].push_back(*trial.rate());
    estimators.insert(trial.estimator);
    windows.insert(trial.window.rule.substr(0, trial.window.rule.find(" (")));
  }
  out.unit = name(RateUnit::sequences_per_second);
  for (const RateUnit unit : kRateUnits) {
    if (values[unit].empty()) continue;
    out.values = std::move(values[unit]);
    out.unit = name(unit);
    break;
  }
  out.estimator = joined(estimators);
  out.window = joined(windows);
  return out;
}

void add_stated(StatedByTrials& values, const Trial& trial) {
  for (const auto& [key, value] : trial.stated) values[key].push_back(value);
}

std::vector<ContextDifference> context_differences(const nlohmann::ordered_json& a,
                                                   const nlohmann::ordered_json& b) {
  std::map<std::string, std::pair<std::string, std::string>> values;
  for (const auto& [json, first] : {std::pair(&a, true), std::pair(&b, false)}) {
    if (!json->is_object()) continue;
    for (const auto& [key, value] : json->items()) {
      if (contains(kVolatile, key) || is_volatile(key) || value.is_null()) continue;
      Json part = steady(value);
      if (key == "bertbench" && part.is_object()) {  // each commit to be checked is another one
        part.erase("commit");
        part.erase("version");
      }
      auto& pair = values[key];
      (first ? pair.first : pair.second) = text_of(part);
    }
  }
  std::vector<ContextDifference> out;
  for (const auto& [key, pair] : values) {
    if (pair.first == pair.second) continue;
    const bool both = !pair.first.empty() && !pair.second.empty();
    out.push_back({key, pair.first, pair.second, both && contains(kBlocking, key)});
  }
  return out;
}

namespace {

using Words = std::vector<std::string>;

Words words_of(const Json& value) {
  Words out;
  if (!value.is_array()) return {text_of(value)};
  for (const Json& word : value) out.push_back(text_of(word));
  return out;
}

/// Words of `a` that `b` has not, or has less often, in their order.
std::string words_beyond(const Words& a, const Words& b) {
  constexpr std::size_t kMostWords = 12;
  std::map<std::string, int> left;
  for (const std::string& word : b) ++left[word];
  std::string out;
  std::size_t count = 0;
  for (const std::string& word : a) {
    if (left[word]-- > 0) continue;
    if (++count <= kMostWords) out += (out.empty() ? "" : " ") + word;
  }
  if (count > kMostWords) out += " ... (" + std::to_string(count) + " words)";
  return out.empty() ? "none" : out;
}

}  // namespace

std::vector<ContextDifference> context_differences(const Cell& a, const Cell& b) {
  std::vector<ContextDifference> out;
  const Json &mine = *a.context, &others = *b.context;
  for (const auto& [key, value] : mine.items()) {
    if (key == kStoppingRule) continue;
    const auto other = others.find(key);
    if (other == others.end()) {
      out.push_back({key, text_of(value), "", false});
    } else if (value != *other) {
      const Words now = words_of(value), then = words_of(*other);
      ContextDifference difference{key, words_beyond(now, then), words_beyond(then, now), true};
      if (difference.a == difference.b) {  // the same words in another order
        difference.a = text_of(value);
        difference.b = text_of(*other);
      }
      out.push_back(std::move(difference));
    }
  }
  for (const auto& [key, value] : others.items()) {
    if (key != kStoppingRule && !mine.contains(key))
      out.push_back({key, "", text_of(value), false});
  }
  return out;
}

const Cell* CellIndex::simulated_twin(const Cell& cell) const {
  if (!(cell.identity.simulated() ? measured_ : simulated_)) return nullptr;
  const auto measured = [](Identity identity, bool with_topology) {
    identity.axes.erase(kSimulatedAxis);
    if (!with_topology) identity.nodes = identity.gpus_per_node = std::nullopt;
    return identity;
  };
  for (const bool with_topology : {true, false}) {
    const Identity wanted = measured(cell.identity, with_topology);
    for (const Cell& other : results_.cells) {
      if (other.kind == cell.kind && other.identity.simulated() != cell.identity.simulated() &&
          measured(other.identity, with_topology) == wanted) {
        return &other;
      }
    }
  }
  return nullptr;
}

}  // namespace bertbench
