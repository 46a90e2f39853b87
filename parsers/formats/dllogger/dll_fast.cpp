#include "parsers/formats/dllogger/dll_fast.h"

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "parsers/core/text.h"
#include "parsers/formats/dllogger/dll_walk.h"
#include "parsers/lines/decimal.h"
#include "parsers/scan/number_blind.h"

#if defined(__SSE2__)
#include <emmintrin.h>

#include <bit>
#endif

namespace bertbench {
namespace {

// memcmp of the short texts between values, in line.
bool same_bytes(const char* a, const char* b, std::size_t n) {
#if defined(__SSE2__)
  constexpr std::size_t kWidth = 16;
  if (n >= kWidth) {
    const auto equal = [&](std::size_t at) {
      const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a + at));
      const __m128i y = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b + at));
      return _mm_movemask_epi8(_mm_cmpeq_epi8(x, y)) == 0xffff;
    };
    for (std::size_t i = 0; i + kWidth < n; i += kWidth) {
      if (!equal(i)) return false;
    }
    return equal(n - kWidth);  // looks back
  }
#else
  if (n > 16) return std::memcmp(a, b, n) == 0;
#endif
  std::uint64_t x = 0, y = 0;
  if (n >= sizeof x) {
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    if (x != y) return false;
    std::memcpy(&x, a + n - sizeof x, sizeof x);
    std::memcpy(&y, b + n - sizeof y, sizeof y);
    return x == y;
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

constexpr std::size_t kMostValues = 200;  // of a line that is read here

// `actual`, but through a branch that is right nearly always when it equals `expected`: what
// depends on it need not wait until it is known. The values of a line follow one another, and each
// length would else wait for the one in front of it.
std::size_t speculate(std::size_t actual, std::size_t& expected) {
  if (actual != expected) [[unlikely]] {
#if defined(__GNUC__)
    asm volatile("" : "+r"(actual));  // or the branch would become a move
#endif
    expected = actual;
  }
  return expected;
}

}  // namespace

// The number at `at`, [-]digits[.digits], behind which `at` moves. One that does not count may have
// an exponent: a learning rate gets one as it falls.
bool DllReader::find_number(std::string_view text, Part& part, std::size_t& at) {
  part.negative = at < text.size() && text[at] == '-';
  std::size_t p = at + (part.negative ? 1 : 0);
  part.first = p;
  const std::size_t whole = speculate(maps_.digits(p), part.whole);
  if (whole == 0 || whole > ByteMaps::kReach) return false;
  p += whole;
  if (p < text.size() && text[p] == '.') {
    const std::size_t fraction = speculate(maps_.digits(p + 1), part.fraction);
    if (fraction == 0 || fraction > ByteMaps::kReach) return false;
    p += 1 + fraction;
  } else {
    part.fraction = 0;
  }
  if (p < text.size() && (text[p] == 'e' || text[p] == 'E') && part.use == nullptr) {
    ++p;
    const bool small = p < text.size() && text[p] == '-';
    if (small || (p < text.size() && text[p] == '+')) ++p;
    const std::size_t digits = maps_.digits(p);
    // The library takes no number that is too large for a double.
    if (digits == 0 || digits > (small ? ByteMaps::kReach : 2)) return false;
    p += digits;
  }
  at = p;
  return true;
}

// The number of a part that was found, or was found in the line before.
void DllReader::read_number(std::string_view text, const Part& part, DllValues& values) {
  const std::size_t size = part.whole + part.fraction + (part.fraction > 0 ? 1 : 0);
  const char* const first = text.data() + part.first;
  const double value = part.first >= kReadInFrontOfDecimal
                           ? counted_decimal(first + size, part.whole, part.fraction)
                           : read_decimal(first, first + size).value;
  values.*part.use = part.negative ? -value : value;
}

DllReader::Slot DllReader::slot_of(std::string_view key) {
  constexpr std::pair<std::string_view, Slot> kKeys[] = {
      {"step_loss", step_loss},    {"average_loss", average_loss}, {"final_loss", final_loss},
      {"train.loss", dotted_loss}, {"train_loss", train_loss},     {"train.total_ips", rate},
      {"skipped_steps", skipped},  {"timestamp", own_timestamp}};
  for (const auto& [name, slot] : kKeys) {
    if (key == name) return slot;
  }
  return nothing;
}

bool DllReader::read_value(DllWalk& walk, Slot slot) {
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

bool DllReader::read_data(DllWalk& walk) {
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
bool DllReader::read_step(DllWalk& walk) {
  if (!walk.next('[') || walk.at('"') || !read_value(walk, nothing)) return false;
  if (walk.next(',') && (walk.at('"') || !read_value(walk, nothing))) return false;
  values_.back().slot = step;
  place_[step] = static_cast<std::uint8_t>(values_.size());
  return walk.next(']');
}

bool DllReader::read_object(std::string_view text) {
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

// What a line's value becomes, keys that go before it considered.
double DllValues::*DllReader::use_of(Slot slot) const {
  const auto first_of = [&](std::initializer_list<Slot> candidates) {
    for (const Slot candidate : candidates) {
      if (place_[candidate] != 0) return candidate == slot;
    }
    return false;
  };
  if (slot == nothing) return nullptr;
  if (slot == step) return &DllValues::iteration;
  if (slot == skipped) return &DllValues::skipped;
  if (slot == rate) return &DllValues::rate;
  if (first_of(kTimes)) return &DllValues::time_s;
  return first_of(kLosses) ? &DllValues::loss : nullptr;
}

void DllReader::learn(std::string_view text) {
  shape_.clear();
  std::size_t from = 0;
  for (const Value& value : values_) {
    Part& part = shape_.emplace_back();
    part.literal = text.substr(from, value.begin - from);
    part.is_string = value.is_string;
    part.use = use_of(value.slot);
    from = value.end;
  }
  tail_ = text.substr(from);
  shape_last_ = place_[final_loss] != 0;
}

// Numbers that are not plain (an exponent, "nan" in a string) are left to the walk. `alike_only`:
// strings that do not count must be those of the line before but for their numbers.
bool DllReader::read_by_shape(std::string_view text, bool alike_only, DllValues& out) {
  const bool placed = std::exchange(placed_, false);
  if (shape_.empty() || !maps_.fill(text)) return false;
  const std::size_t alike = placed ? maps_.alike() : 0;
  DllValues values;
  std::size_t at = 0;
  for (Part& part : shape_) {
    const bool is_number = !part.is_string || part.use != nullptr;
    if (part.end >= alike) {  // else it stands where it stood in the line before
      if (text.size() - at < part.literal.size() ||
          !same_bytes(text.data() + at, part.literal.data(), part.literal.size())) {
        return false;
      }
      at += part.literal.size();
      std::size_t end = 0;  // of a string
      if (part.is_string) {
        const std::size_t size = speculate(maps_.to_quote(at), part.size);
        if (size > ByteMaps::kReach) return false;
        end = at + size;
      }
      if (!is_number) {
        const std::string_view value = text.substr(at, end - at);
        if (!alike_only) {
          part.text = value;
        } else if (!same_but_numbers(part.text, value)) {
          return false;
        }
        at = end;
      } else if (!find_number(text, part, at) || (part.is_string && at != end)) {
        return false;
      }
      part.end = at;
    }
    at = part.end;
    if (!is_number) continue;
    if (part.whole > 1 && text[part.first] == '0') return false;
    if (part.use != nullptr) read_number(text, part, values);
  }
  if (text.substr(at) != tail_) return false;
  values.last = shape_last_;
  out = values;
  placed_ = true;
  size_ = text.size();
  return true;
}

DllStep DllReader::step_of(const DllValues& values) {
  DllStep out;
  out.iteration = values.iteration;
  if (!std::isnan(values.skipped)) out.skipped = values.skipped;
  if (!std::isnan(values.loss)) out.loss = values.loss;
  out.time_s = values.time_s;
  out.rate = values.rate;
  out.last = values.last;
  return out;
}

// `text` was read by its shape; `alike`: and is of the kind of the line before.
void DllReader::remember(std::string_view text, bool alike) {
  constexpr std::size_t kShortLog = 128;  // lines that it would not pay for
  if (shaped_ < kShortLog) {
    ++shaped_;
    return;
  }
  if (!layouts_.worthwhile()) {
    layouts_.clear();
    kind_.clear();
    return;
  }
  if (!alike || kind_.empty()) {
    std::string kind = blind_to_numbers(text);
    if (kind != kind_) layouts_.clear();
    kind_ = std::move(kind);
  }
  std::vector<DllNumber> numbers;
  for (const Part& part : shape_) {
    if (part.is_string && part.use == nullptr) continue;
    numbers.push_back({part.first, part.whole, part.fraction, part.negative, part.use});
  }
  layouts_.remember(text, numbers, shape_last_);
}

void DllReader::result(std::string_view text, DllStep& out) const {
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
}

// The object at the front of `text`, in front of a '\n', of the kind of the one read before: its
// size, 0 if it is not.
std::size_t DllReader::read_alike(std::string_view text, DllValues& out) {
  if (!placed_) return 0;
  // Mostly the numbers are as long as before. That no other line break stands in front of this one
  // is what the maps find out.
  std::size_t size = size_;
  if (size >= text.size() || text[size] != '\n') {
    size = text.substr(0, ByteMaps::kLongest + 1).find('\n');
    if (size == std::string_view::npos) return 0;
  }
  if (!read_by_shape(text.substr(0, size), true, out)) return 0;
  missed_ = false;
  remember(text.substr(0, size), true);
  return size;
}

std::size_t DllReader::read_lines(std::string_view text, std::span<DllLine> out) {
  std::size_t at = 0, count = 0;
  while (alike_ && count < out.size()) {
    const std::string_view rest = text.substr(at);
    const std::size_t more = layouts_.read_lines(rest, out.subspan(count));
    for (DllLine& line : out.subspan(count, more)) line.begin += static_cast<std::uint32_t>(at);
    count += more;
    if (more > 0) {
      at = out[count - 1].begin + out[count - 1].size + 1;
      continue;
    }
    DllLine line;
    const std::size_t size =
        rest.starts_with(kDllFront) ? read_alike(rest.substr(kDllFront.size()), line.values) : 0;
    if (size == 0) break;
    line.begin = static_cast<std::uint32_t>(at);
    line.size = static_cast<std::uint32_t>(kDllFront.size() + size);
    out[count++] = line;
    at += line.size + 1;
  }
  return count;
}

bool DllReader::read(std::string_view text, DllStep& out) {
  DllValues values;
  const bool laid_out = layouts_.read_whole(text, values);
  if (laid_out || read_by_shape(text, false, values)) {
    missed_ = false;
    alike_ = true;
    out = step_of(values);
    if (!laid_out) remember(text, false);
    return true;
  }
  alike_ = false;
  if (!read_object(text)) return false;
  // One line of another kind in between (a checkpoint's, an evaluation's) is not yet a new shape.
  if (shape_.empty() || missed_) learn(text);
  missed_ = !missed_;
  result(text, out);
  return true;
}

}  // namespace bertbench
