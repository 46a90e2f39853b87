#include "parsers/formats/dllogger/dll_line.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "parsers/core/text.h"
#include "parsers/lines/decimal.h"

#if defined(__SSE2__)
#include <emmintrin.h>

#include <bit>
#endif

namespace bertbench {
namespace {

// A line of JSON, parsed from left to right as far as it is of the usual form.
// Every step returns false where the text is not of the usual form.
class DllWalk {
 public:
  explicit DllWalk(std::string_view text) : p_(text.data()), end_(p_ + text.size()) {}

  bool take(char c) {
    if (p_ == end_ || *p_ != c) return false;
    ++p_;
    return true;
  }
  void blanks() {
    while (p_ != end_ && *p_ == ' ') ++p_;
  }
  /// A separator and the blanks after it.
  bool next(char c) {
    blanks();
    if (!take(c)) return false;
    blanks();
    return true;
  }
  [[nodiscard]] bool at(char c) const { return p_ != end_ && *p_ == c; }
  [[nodiscard]] bool done() {
    blanks();
    return p_ == end_;
  }

  bool string(std::string_view& out) {
    if (!take('"')) return false;
    const char* const begin = p_;
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"'), escape = _mm_set1_epi8('\\');
    const __m128i space = _mm_set1_epi8(' ');
    while (end_ - p_ >= 16) {
      const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p_));
      const auto quotes = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(x, quote)));
      // As signed bytes, control characters and all that is not ASCII lie below the blank.
      const auto odd = static_cast<unsigned>(
          _mm_movemask_epi8(_mm_or_si128(_mm_cmplt_epi8(x, space), _mm_cmpeq_epi8(x, escape))));
      if (quotes != 0) {
        const int n = std::countr_zero(quotes);
        if ((odd & ((1u << static_cast<unsigned>(n)) - 1)) != 0) return false;
        out = {begin, static_cast<std::size_t>(p_ + n - begin)};
        p_ += n + 1;
        return true;
      }
      if (odd != 0) return false;
      p_ += 16;
    }
#endif
    for (; p_ != end_; ++p_) {
      const auto c = static_cast<unsigned char>(*p_);
      if (c == '"') {
        out = {begin, static_cast<std::size_t>(p_ - begin)};
        ++p_;
        return true;
      }
      if (c < 0x20 || c >= 0x7f || c == '\\') return false;
    }
    return false;
  }

  bool number(double& out) {
    const Decimal read = read_decimal(p_, end_);
    if (read.stop == nullptr) return false;
    // "1.2.3", "1e", "12x": the library reports what is wrong with it.
    if (read.stop != end_ && *read.stop != ',' && *read.stop != ' ' && *read.stop != '}' &&
        *read.stop != ']') {
      return false;
    }
    out = read.value;
    p_ = read.stop;
    return true;
  }

 private:
  const char* p_;
  const char* end_;
};

class DllLine {
 public:
  bool read(std::string_view text);
  [[nodiscard]] DllStep result() const;

 private:
  /// What counts of a line.
  enum Slot : std::uint8_t {
    nothing,
    timestamp,
    own_timestamp,
    step,
    skipped,
    step_loss,
    average_loss,
    final_loss,
    dotted_loss,
    train_loss,
    rate,
    slots
  };
  struct Value {
    std::string_view text;  ///< of a string: what its quotes enclose
    double number = 0;
    bool is_string = false;
  };

  static Slot slot_of(std::string_view key);
  bool read_value(DllWalk& walk, Slot slot);
  bool read_step(DllWalk& walk);
  bool read_data(DllWalk& walk);
  [[nodiscard]] bool has(Slot slot) const { return (found_ >> slot & 1u) != 0; }
  [[nodiscard]] std::optional<double> get(Slot slot) const;
  /// Of the first slot that holds a number.
  [[nodiscard]] std::optional<double> first_of(std::initializer_list<Slot> candidates) const;

  std::array<Value, slots> values_;
  std::uint32_t found_ = 0;  ///< a bit for each slot that stands on the line
};

// The slot of a key of "data".
DllLine::Slot DllLine::slot_of(std::string_view key) {
  switch (key.size()) {
    case 9:
      return key == "step_loss" ? step_loss : key == "timestamp" ? own_timestamp : nothing;
    case 10:
      if (key == "train_loss") return train_loss;
      return key == "final_loss" ? final_loss : key == "train.loss" ? dotted_loss : nothing;
    case 12:
      return key == "average_loss" ? average_loss : nothing;
    case 13:
      return key == "skipped_steps" ? skipped : nothing;
    case 15:
      return key == "train.total_ips" ? rate : nothing;
    default:
      return nothing;
  }
}

bool DllLine::read_value(DllWalk& walk, Slot slot) {
  Value& value = values_[slot];
  if (has(slot)) return false;  // of a key that stands twice the library takes the last
  if (slot != nothing) found_ |= 1u << slot;
  value.is_string = walk.at('"');
  return value.is_string ? walk.string(value.text) : walk.number(value.number);
}

bool DllLine::read_data(DllWalk& walk) {
  if (!walk.take('{')) return false;
  walk.blanks();
  if (walk.take('}')) return true;
  while (true) {
    std::string_view key;
    if (!walk.string(key) || !walk.next(':') || !read_value(walk, slot_of(key))) return false;
    if (walk.next(',')) continue;
    return walk.take('}');
  }
}

// One number, or two of which the last one counts. Strings are left to the library.
bool DllLine::read_step(DllWalk& walk) {
  double& number = values_[step].number;
  if (has(step) || !walk.next('[') || !walk.number(number)) return false;
  found_ |= 1u << step;
  if (walk.next(',') && !walk.number(number)) return false;
  return walk.next(']');
}

bool DllLine::read(std::string_view text) {
  DllWalk walk(text);
  bool has_data = false;
  if (!walk.next('{')) return false;
  while (true) {
    std::string_view key;
    if (!walk.string(key) || !walk.next(':')) return false;
    if (key == "step") {
      if (!read_step(walk)) return false;
    } else if (key == "data") {
      if (has_data || !read_data(walk)) return false;
      has_data = true;
    } else if (!read_value(walk, key == "timestamp" ? timestamp : nothing)) {
      return false;
    }
    if (walk.next(',')) continue;
    return walk.take('}') && walk.done() && has_data && has(step);
  }
}

std::optional<double> DllLine::get(Slot slot) const {
  if (!has(slot)) return std::nullopt;
  const Value& value = values_[slot];
  if (!value.is_string) return value.number;
  const char* const end = value.text.data() + value.text.size();
  const Decimal plain = read_decimal(value.text.data(), end);
  return plain.stop == end ? plain.value : to_double(value.text);
}

std::optional<double> DllLine::first_of(std::initializer_list<Slot> candidates) const {
  for (const Slot slot : candidates) {
    if (const auto value = get(slot)) return value;
  }
  return std::nullopt;
}

DllStep DllLine::result() const {
  DllStep out;
  out.iteration = *get(step);
  out.skipped = get(skipped);
  out.time_s = first_of({timestamp, own_timestamp}).value_or(kUnknown);
  out.last = has(final_loss);
  out.loss = first_of({step_loss, average_loss, final_loss, dotted_loss, train_loss});
  out.rate = get(rate).value_or(kUnknown);
  return out;
}

}  // namespace

bool read_dll_line(std::string_view text, DllStep& out) {
  DllLine line;
  if (!line.read(text)) return false;
  out = line.result();
  return true;
}

}  // namespace bertbench
