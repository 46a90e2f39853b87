#include "reports/cells/trial_codec.h"

#include <concepts>
#include <cstring>
#include <type_traits>

namespace bertbench {
namespace {

template <class T, class U>
concept Either = std::same_as<std::remove_const_t<T>, U>;

// One list of members for both ways, so that they cannot drift apart. Structured bindings name all
// members of a type: one that is added does not compile before it is listed here.
template <class Codec, Either<Outcome> T>
void members(Codec& c, T& v) {
  auto& [status, step, line, details] = v;
  c.all(status, step, line, details);
}
template <class Codec, Either<IterationCounts> T>
void members(Codec& c, T& v) {
  auto& [seen, dropped, used] = v;
  c.all(seen, dropped, used);
}
template <class Codec, Either<WindowUsed> T>
void members(Codec& c, T& v) {
  auto& [rule, chosen_by, covered, first_step, last_step] = v;
  c.all(rule, chosen_by, covered, first_step, last_step);
}
template <class Codec, Either<Reconciliation> T>
void members(Codec& c, T& v) {
  auto& [sequences, training_s, wall_s, rate, gaps] = v;
  c.all(sequences, training_s, wall_s, rate, gaps);
}
template <class Codec, Either<StepTimes> T>
void members(Codec& c, T& v) {
  auto& [p50, p90, p99] = v;
  c.all(p50, p90, p99);
}
template <class Codec, Either<Interval> T>
void members(Codec& c, T& v) {
  auto& [low, high, coverage] = v;
  c.all(low, high, coverage);
}
template <class Codec, Either<SteadyRecord> T>
void members(Codec& c, T& v) {
  auto& [state, first_step, change] = v;
  c.all(state, first_step, change);
}
template <class Codec, Either<PeriodicWork> T>
void members(Codec& c, T& v) {
  auto& [period, phase, count, extra_s, share] = v;
  c.all(period, phase, count, extra_s, share);
}
template <class Codec, Either<PeriodicRecord> T>
void members(Codec& c, T& v) {
  auto& [work, sequences_per_second_without] = v;
  c.all(work, sequences_per_second_without);
}
template <class Codec, Either<TimeRecord::Span> T>
void members(Codec& c, T& v) {
  auto& [part, begin_s, end_s] = v;
  c.all(part, begin_s, end_s);
}
template <class Codec, Either<TimeRecord> T>
void members(Codec& c, T& v) {
  auto& [total_s, parts_s, timeline] = v;
  c.all(total_s, parts_s, timeline);
}
template <class Codec, Either<MemoryRecord> T>
void members(Codec& c, T& v) {
  auto& [peak_bytes, capacity_bytes, source] = v;
  c.all(peak_bytes, capacity_bytes, source);
}
template <class Codec, Either<Notice> T>
void members(Codec& c, T& v) {
  auto& [code, line, values, log] = v;
  c.all(code, line, values, log);
}
template <class Codec, Either<Trial> T>
void members(Codec& c, T& v) {
  auto& [trial, attempt, log, format, outcome, iterations, skipped_steps, window,
         sequences_per_second, iterations_per_second, estimator, estimators, resolution,
         expected_error, reconciliation, step_time, rate_interval, steady_state, periodic,
         time_parts, memory, telemetry, energy_j, energy_per_sequence_j, loss_first, loss_last,
         simulated, seed, scores, iterations_file, notices] = v;
  c.all(trial, attempt);
  c.own(log);
  c.all(format, outcome, iterations, skipped_steps, window, sequences_per_second,
        iterations_per_second, estimator, estimators, resolution, expected_error, reconciliation,
        step_time, rate_interval, steady_state, periodic, time_parts, memory, energy_j,
        energy_per_sequence_j, loss_first, loss_last, simulated, seed, scores);
  c.own(iterations_file);
  c.all(notices);
  (void)telemetry;  // few trials have any: MeasuredLogs keeps it apart
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
  void put(const NoticeValue& value) {
    out_ += static_cast<char>(value.index());
    std::visit([&](const auto& one) { put(one); }, value);
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
  void take(NoticeValue& value) {
    const std::int64_t which = in_.empty() ? -1 : in_.front();
    in_.remove_prefix(std::min<std::size_t>(1, in_.size()));
    if (which == 0) return take(value.emplace<std::int64_t>());
    if (which == 1) return take(value.emplace<double>());
    if (which == 2) return take(value.emplace<std::string>());
    fail();
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
