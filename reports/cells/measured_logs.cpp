#include "reports/cells/measured_logs.h"

#include <functional>
#include <utility>

namespace bertbench {

namespace {

class Hash {
 public:
  void add(const std::string& text) { mix(std::hash<std::string>{}(text)); }
  void add(std::int64_t number) { mix(std::hash<std::int64_t>{}(number)); }
  template <class T>
  void add(const std::optional<T>& value) {
    mix(value ? 1 : 0);
    if (value) add(*value);
  }
  [[nodiscard]] std::size_t value() const { return value_; }

 private:
  void mix(std::size_t more) { value_ = (value_ ^ more) * 0x9E3779B97F4A7C15U + 1; }
  std::size_t value_ = 0;
};

std::size_t hash_of(const MeasuredLog& log) {
  const Identity& id = log.identity;
  Hash hash;
  hash.add(id.framework);
  hash.add(id.model);
  hash.add(id.precision);
  for (const auto& number :
       {id.sequence_length, id.micro_batch_size, id.gradient_accumulation_steps, id.nodes,
        id.gpus_per_node, log.world_size, log.global_batch_size}) {
    hash.add(number);
  }
  for (const auto& [axis, value] : id.axes) {
    hash.add(axis);
    hash.add(value);
  }
  hash.add(log.gpu);
  hash.add(log.tree);
  return hash.value();
}

bool states(const CellFacts& facts, const MeasuredLog& log) {
  return facts.kind == log.kind && facts.world_size == log.world_size &&
         facts.global_batch_size == log.global_batch_size && facts.gpu == log.gpu &&
         facts.tree == log.tree && facts.identity == log.identity;
}

}  // namespace

CellFacts::CellFacts(Identity its_identity, WorkKind its_kind)
    : identity(std::move(its_identity)), kind(its_kind), key(identity.key()) {
  name = identity.framework.value_or("?") + '\n' + key + '\n' + std::string(bertbench::name(kind));
}

std::uint32_t MeasuredLogs::facts_number(MeasuredLog& log) {
  const std::size_t hash = hash_of(log);
  const auto [begin, end] = facts_by_hash_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    if (states(facts_[at->second], log)) return at->second;
  }
  const auto number = static_cast<std::uint32_t>(facts_.size());
  facts_by_hash_.emplace(hash, number);
  CellFacts& facts = facts_.emplace_back(std::move(log.identity), log.kind);
  facts.world_size = log.world_size;
  facts.global_batch_size = log.global_batch_size;
  facts.gpu = std::move(log.gpu);
  facts.tree = std::move(log.tree);
  return number;
}

MeasuredLogs::Entry MeasuredLogs::packed(MeasuredLog log) {
  Entry out;
  const TrialFigures figures = figures_of(log.trial);
  out.rate = figures.rate;
  out.energy = figures.energy;
  out.quality = figures.quality;
  out.unit = figures.unit;
  out.mark = figures.mark;
  out.status = static_cast<std::uint8_t>(figures.status);
  const auto kept = [&](std::string_view text) {
    const auto found = names_.find(text);
    return found == names_.end() ? &*names_.emplace(text).first : &*found;
  };
  out.estimator = kept(figures.estimator);
  out.peak_bytes = figures.peak_bytes;
  out.capacity_bytes = figures.capacity_bytes;
  out.memory_source = kept(figures.memory_source);
  out.numbered = log.numbered;
  out.facts = facts_number(log);
  bytes_.clear();
  pack_trial(log.trial, words_, bytes_);
  out.at = spool_.add(bytes_);
  out.size = static_cast<std::uint32_t>(bytes_.size());
  if (!log.trial.telemetry.is_null()) telemetry_[out.at] = std::move(log.trial.telemetry);
  return out;
}

std::size_t MeasuredLogs::add(MeasuredLog log) {
  entries_.push_back(packed(std::move(log)));
  return entries_.size() - 1;
}

void MeasuredLogs::replace(std::size_t log, MeasuredLog by) {
  reported_.erase(log);
  entries_[log] = packed(std::move(by));
}

Trial MeasuredLogs::trial(std::size_t log) const {
  const Entry& entry = entries_[log];
  std::string bytes;
  Trial out;
  if (!spool_.read(entry.at, entry.size, bytes) || !unpack_trial(bytes, words_, out)) {
    out = {};
    out.notices.push_back(make_notice(NoticeCode::figures_lost, 0));
  }
  if (const auto reported = reported_.find(log); reported != reported_.end()) {
    out.notices.insert(out.notices.end(), reported->second.begin(), reported->second.end());
  }
  if (!telemetry_.empty()) {
    if (const auto found = telemetry_.find(entry.at); found != telemetry_.end()) {
      out.telemetry = found->second;
    }
  }
  return out;
}

MeasuredLog MeasuredLogs::get(std::size_t log) const {
  const CellFacts& its = facts(log);
  return {its.identity,          its.kind, trial(log), numbered(log), its.tree, its.world_size,
          its.global_batch_size, its.gpu};
}

TrialFigures MeasuredLogs::figures(std::size_t log) const {
  const Entry& entry = entries_[log];
  return {
      entry.unit,           entry.rate,          entry.energy,  static_cast<Status>(entry.status),
      *entry.estimator,     entry.mark,          entry.quality, entry.peak_bytes,
      entry.capacity_bytes, *entry.memory_source};
}

}  // namespace bertbench
