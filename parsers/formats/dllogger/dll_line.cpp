#include "parsers/formats/dllogger/dll_line.h"

#include <initializer_list>
#include <utility>

#include "parsers/core/text.h"
#include "parsers/lines/decimal.h"

#if defined(__SSE2__)
#include <emmintrin.h>

#include <bit>
#endif

namespace bertbench {

// A line of JSON, parsed from left to right as far as it is of the usual form.
// Every step returns false where the text is not of the usual form.
class DllWalk {
 public:
  explicit DllWalk(std::string_view text)
      : begin_(text.data()), p_(text.data()), end_(p_ + text.size()) {}

  [[nodiscard]] std::uint32_t offset() const { return static_cast<std::uint32_t>(p_ - begin_); }
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
    // "1.2.3", "1e", "12x": the library says what is wrong with it.
    if (read.stop != end_ && *read.stop != ',' && *read.stop != ' ' && *read.stop != '}' &&
        *read.stop != ']') {
      return false;
    }
    out = read.value;
    p_ = read.stop;
    return true;
  }

 private:
  const char* begin_;
  const char* p_;
  const char* end_;
};

namespace {
constexpr std::size_t kMostValues = 200;  // of a line that is parsed here
}  // namespace

DllLineReader::Slot DllLineReader::slot_of(std::string_view key) {
  constexpr std::pair<std::string_view, Slot> kKeys[] = {
      {"step_loss", step_loss},    {"average_loss", average_loss}, {"final_loss", final_loss},
      {"train.loss", dotted_loss}, {"train_loss", train_loss},     {"train.total_ips", rate},
      {"skipped_steps", skipped},  {"timestamp", own_timestamp}};
  for (const auto& [name, slot] : kKeys) {
    if (key == name) return slot;
  }
  return nothing;
}

bool DllLineReader::read_value(DllWalk& walk, Slot slot) {
  Value value;
  value.slot = slot;
  value.is_string = walk.at('"');
  value.begin = walk.offset();
  if (value.is_string) {
    std::string_view text;
    if (!walk.string(text)) return false;
    ++value.begin;
    value.end = walk.offset() - 1;
  } else {
    if (!walk.number(value.number)) return false;
    value.end = walk.offset();
  }
  if (values_.size() >= kMostValues) return false;
  values_.push_back(value);
  if (slot == nothing) return true;
  const bool first = place_[slot] == 0;
  place_[slot] = static_cast<std::uint8_t>(values_.size());
  return first;  // of a key that stands twice the library takes the last
}

bool DllLineReader::read_data(DllWalk& walk) {
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
bool DllLineReader::read_step(DllWalk& walk) {
  if (!walk.next('[') || walk.at('"') || !read_value(walk, nothing)) return false;
  if (walk.next(',') && (walk.at('"') || !read_value(walk, nothing))) return false;
  values_.back().slot = step;
  place_[step] = static_cast<std::uint8_t>(values_.size());
  return walk.next(']');
}

bool DllLineReader::read_object(std::string_view text) {
  DllWalk walk(text);
  values_.clear();
  place_ = {};
  bool has_data = false;
  if (!walk.next('{')) return false;
  while (true) {
    std::string_view key;
    if (!walk.string(key) || !walk.next(':')) return false;
    if (key == "step") {
      if (place_[step] != 0 || !read_step(walk)) return false;
    } else if (key == "data") {
      if (has_data || !read_data(walk)) return false;
      has_data = true;
    } else if (!read_value(walk, key == "timestamp" ? timestamp : nothing)) {
      return false;
    }
    if (walk.next(',')) continue;
    return walk.take('}') && walk.done() && has_data && place_[step] != 0;
  }
}

DllStep DllLineReader::result(std::string_view text) const {
  DllStep out;
  const auto get = [&](Slot slot) -> std::optional<double> {
    if (place_[slot] == 0) return std::nullopt;
    const Value& value = values_[place_[slot] - 1u];
    if (!value.is_string) return value.number;
    const std::string_view string = text.substr(value.begin, value.end - value.begin);
    const Decimal plain = read_decimal(string.data(), string.data() + string.size());
    if (plain.stop == string.data() + string.size()) return plain.value;
    return to_double(string);
  };
  const auto first_of = [&](std::initializer_list<Slot> candidates) -> std::optional<double> {
    for (const Slot slot : candidates) {
      if (const auto value = get(slot)) return value;
    }
    return std::nullopt;
  };
  out.iteration = *get(step);
  out.skipped = get(skipped);
  out.time_s = first_of(kTimes).value_or(kUnknown);
  out.last = place_[final_loss] != 0;
  out.loss = first_of(kLosses);
  out.rate = get(rate).value_or(kUnknown);
  return out;
}

bool DllLineReader::read(std::string_view text, DllStep& out) {
  if (!read_object(text)) return false;
  out = result(text);
  return true;
}

}  // namespace bertbench
