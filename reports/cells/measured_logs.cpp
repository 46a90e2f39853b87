#include "reports/cells/measured_logs.h"

#include <cstring>
#include <functional>
#include <type_traits>
#include <utility>

#include "parsers/core/each_fact.h"
#include "reports/model/fields.h"

namespace bertbench {
namespace {

class Packer {
 public:
  Packer(Words& words, std::string& out) : words_(words), out_(out) {}

  template <class T>
  void operator()(const char*, const T& value, MemberRule rule = {}) {
    if constexpr (std::is_same_v<T, std::string>) {
      if (rule.own_text) return own(value);
    }
    put(value);
  }
  template <class Text>
  void notices(const char*, const char*, const std::vector<Notice>& values, Text&&) {
    put(values);
  }

 private:
  void own(const std::string& text) {
    number(static_cast<std::int64_t>(text.size()));
    out_ += text;
  }
  // Zigzag, seven bits a byte: most numbers are small.
  void number(std::int64_t value) {
    auto left = (static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63);
    for (; left >= 0x80; left >>= 7U) out_ += static_cast<char>(left | 0x80U);
    out_ += static_cast<char>(left);
  }
  void put(double value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out_.append(bytes, sizeof value);
  }
  void put(const NoticeValue& value) {
    out_ += static_cast<char>(value.index());
    std::visit([&](const auto& one) { put(one); }, value);
  }
  void put(const JsonBox&) {}  // few trials have any: MeasuredLogs keeps it apart
  void put(const std::string& text) {
    const std::int64_t word = words_.number_of(text);
    number(word);
    if (word < 0) own(text);
  }
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
      number(static_cast<std::int64_t>(value));
    } else {
      fields(value, *this);
    }
  }
  template <class T>
  void put(const std::optional<T>& value) {
    out_ += value ? '\1' : '\0';
    if (value) put(*value);
  }
  template <class T>
  void put(const std::vector<T>& values) {
    number(static_cast<std::int64_t>(values.size()));
    for (const T& value : values) put(value);
  }
  template <class T>
  void put(const std::map<std::string, T>& values) {
    number(static_cast<std::int64_t>(values.size()));
    for (const auto& [key, value] : values) {
      put(key);
      put(value);
    }
  }

  Words& words_;
  std::string& out_;
};

class Unpacker {
 public:
  Unpacker(const Words& words, std::string_view in) : words_(words), in_(in) {}

  template <class T>
  void operator()(const char*, T& value, MemberRule rule = {}) {
    if constexpr (std::is_same_v<T, std::string>) {
      if (rule.own_text) return own(value);
    }
    take(value);
  }
  template <class Text>
  void notices(const char*, const char*, std::vector<Notice>& values, Text&&) {
    take(values);
  }
  [[nodiscard]] bool good() const { return good_ && in_.empty(); }

 private:
  void own(std::string& text) {
    const auto size = static_cast<std::uint64_t>(number());
    if (size > in_.size()) return fail();
    text.assign(in_.substr(0, size));
    in_.remove_prefix(size);
  }
  void fail() {
    good_ = false;
    in_ = {};
  }
  std::int64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (in_.empty()) break;
      const auto byte = static_cast<unsigned char>(in_.front());
      in_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return static_cast<std::int64_t>((value >> 1U) ^ (~(value & 1U) + 1U));
    }
    fail();
    return 0;
  }
  void take(double& value) {
    if (in_.size() < sizeof value) return fail();
    std::memcpy(&value, in_.data(), sizeof value);
    in_.remove_prefix(sizeof value);
  }
  void take(NoticeValue& value) {
    const std::int64_t which = in_.empty() ? -1 : in_.front();
    in_.remove_prefix(std::min<std::size_t>(1, in_.size()));
    if (which == 0) return take(value.emplace<std::int64_t>());
    if (which == 1) return take(value.emplace<double>());
    if (which == 2) return take(value.emplace<std::string>());
    fail();
  }
  void take(JsonBox&) {}
  void take(std::string& text) {
    const std::int64_t word = number();
    if (word < 0) return own(text);
    text = words_.text_of(word);
  }
  template <class T>
  void take(T& value) {
    if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
      value = static_cast<T>(number());
    } else {
      fields(value, *this);
    }
  }
  template <class T>
  void take(std::optional<T>& value) {
    const bool there = number() != 0;
    if (there) take(value.emplace());
  }
  template <class T>
  void take(std::vector<T>& values) {
    for (std::int64_t n = number(); n > 0 && good_; --n) take(values.emplace_back());
  }
  template <class T>
  void take(std::map<std::string, T>& values) {
    for (std::int64_t n = number(); n > 0 && good_; --n) {
      std::string key;
      take(key);
      take(values[key]);
    }
  }

  const Words& words_;
  std::string_view in_;
  bool good_ = true;
};

}  // namespace

std::int64_t Words::number_of(const std::string& text) {
  const auto known = numbers_.find(text);
  if (known != numbers_.end()) return known->second;
  constexpr std::size_t kMostTextBytes = 512 << 10;  // of all texts and of what holds them
  const std::size_t bytes = text.size() + 100;
  if (bytes_ + bytes > kMostTextBytes) return -1;
  bytes_ += bytes;
  const auto number = static_cast<std::int64_t>(texts_.size());
  texts_.push_back(&numbers_.emplace(text, number).first->first);
  return number;
}

const std::string& Words::text_of(std::int64_t number) const {
  static const std::string none;
  const auto n = static_cast<std::size_t>(number);
  return n < texts_.size() ? *texts_[n] : none;
}

void pack_trial(const Trial& trial, Words& words, std::string& out) {
  Packer packer(words, out);
  fields(trial, packer);
}

bool unpack_trial(std::string_view bytes, const Words& words, Trial& trial) {
  trial = {};
  Unpacker unpacker(words, bytes);
  fields(trial, unpacker);
  return unpacker.good();
}

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
  for_each_fact(id, id, [&](const char*, const auto& fact, const auto&) { hash.add(fact); });
  hash.add(log.world_size);
  hash.add(log.global_batch_size);
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

TrialFigures MeasuredLogs::figures(std::size_t log) const {
  const Entry& entry = entries_[log];
  return {
      entry.unit,           entry.rate,          entry.energy,  static_cast<Status>(entry.status),
      *entry.estimator,     entry.mark,          entry.quality, entry.peak_bytes,
      entry.capacity_bytes, *entry.memory_source};
}

}  // namespace bertbench
