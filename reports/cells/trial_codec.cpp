#include "reports/cells/trial_codec.h"

#include <concepts>
#include <cstring>
#include <type_traits>

namespace bertbench {
namespace {

template <class T, class U>
concept Either = std::same_as<std::remove_const_t<T>, U>;

// One list of members for both ways, so that they cannot drift apart.
template <class Codec, Either<Outcome> T>
void members(Codec& c, T& v) {
  c.all(v.status, v.step, v.line);
  c.own(v.detail);
}
template <class Codec, Either<IterationCounts> T>
void members(Codec& c, T& v) {
  c.all(v.seen, v.dropped, v.used);
}
template <class Codec, Either<WindowUsed> T>
void members(Codec& c, T& v) {
  c.all(v.rule, v.chosen_by, v.covered, v.first_step, v.last_step);
}
template <class Codec, Either<Reconciliation> T>
void members(Codec& c, T& v) {
  c.all(v.sequences, v.training_s, v.wall_s, v.rate, v.gaps);
}
template <class Codec, Either<StepTimes> T>
void members(Codec& c, T& v) {
  c.all(v.p50, v.p90, v.p99);
}
template <class Codec, Either<Interval> T>
void members(Codec& c, T& v) {
  c.all(v.low, v.high, v.coverage);
}
template <class Codec, Either<SteadyRecord> T>
void members(Codec& c, T& v) {
  c.all(v.state, v.first_step, v.change);
}
template <class Codec, Either<PeriodicRecord> T>
void members(Codec& c, T& v) {
  auto& work = v.work;
  c.all(work.period, work.phase, work.count, work.extra_s, work.share,
        v.sequences_per_second_without);
}
template <class Codec, Either<TimeRecord::Span> T>
void members(Codec& c, T& v) {
  c.all(v.part, v.begin_s, v.end_s);
}
template <class Codec, Either<TimeRecord> T>
void members(Codec& c, T& v) {
  c.all(v.total_s, v.parts_s, v.timeline);
}
template <class Codec, Either<MemoryRecord> T>
void members(Codec& c, T& v) {
  c.all(v.peak_bytes, v.capacity_bytes, v.source);
}
template <class Codec, Either<Notice> T>
void members(Codec& c, T& v) {
  c.all(v.line, v.text);
}
template <class Codec, Either<Trial> T>
void members(Codec& c, T& v) {
  c.all(v.trial, v.attempt);
  c.own(v.log);
  c.all(v.format, v.outcome, v.iterations, v.window, v.sequences_per_second,
        v.iterations_per_second, v.estimator, v.estimators, v.resolution, v.reconciliation,
        v.step_time, v.rate_interval, v.steady_state, v.periodic, v.time_parts, v.memory,
        v.energy_j, v.energy_per_sequence_j, v.loss_first, v.loss_last);
  c.own(v.iterations_file);
  c.all(v.notices);
}

class Packer {
 public:
  Packer(Words& words, std::string& out) : words_(words), out_(out) {}

  void all(const auto&... values) { (put(values), ...); }
  /// A text that no other trial has.
  void own(const std::string& text) {
    number(static_cast<std::int64_t>(text.size()));
    out_ += text;
  }

 private:
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
      members(*this, value);
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
  void put(const std::map<std::string, double>& values) {
    number(static_cast<std::int64_t>(values.size()));
    for (const auto& [key, value] : values) all(key, value);
  }

  Words& words_;
  std::string& out_;
};

class Unpacker {
 public:
  Unpacker(const Words& words, std::string_view in) : words_(words), in_(in) {}

  void all(auto&... values) { (take(values), ...); }
  void own(std::string& text) {
    const auto size = static_cast<std::uint64_t>(number());
    if (size > in_.size()) return fail();
    text.assign(in_.substr(0, size));
    in_.remove_prefix(size);
  }
  [[nodiscard]] bool good() const { return good_ && in_.empty(); }

 private:
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
      members(*this, value);
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
  void take(std::map<std::string, double>& values) {
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
  constexpr std::size_t kRoom = 512 << 10;  // bytes of all texts, what they take besides included
  const std::size_t bytes = text.size() + 100;
  if (bytes_ + bytes > kRoom) return -1;
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
  packer.all(trial);
}

bool unpack_trial(std::string_view bytes, const Words& words, Trial& trial) {
  trial = {};
  Unpacker unpacker(words, bytes);
  unpacker.all(trial);
  return unpacker.good();
}

}  // namespace bertbench
