#include "parsers/formats/dllogger/dll_line.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <initializer_list>

#include "parsers/core/text.h"
#include "parsers/lines/decimal.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace bertbench {
namespace {

/// A bit for each of up to 64 bytes.
struct ByteBits {
  std::uint64_t quotes = 0;
  std::uint64_t odd = 0;  ///< control characters, backslashes and all that is not ASCII
};

ByteBits bits_of(std::string_view bytes) {
  ByteBits out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto c = static_cast<unsigned char>(bytes[i]);
    out.quotes |= std::uint64_t{c == '"'} << i;
    out.odd |= std::uint64_t{c < 0x20 || c >= 0x80 || c == '\\'} << i;
  }
  return out;
}

constexpr std::size_t kBlock = 64;

ByteBits bits_of_block(const char* p) {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"'), escape = _mm_set1_epi8('\\');
  const __m128i space = _mm_set1_epi8(' ');
  ByteBits out;
  for (unsigned at = 0; at < kBlock; at += 16) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + at));
    // As signed bytes, control characters and all that is not ASCII lie below the blank.
    const __m128i odd = _mm_or_si128(_mm_cmplt_epi8(x, space), _mm_cmpeq_epi8(x, escape));
    const auto quotes = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(x, quote)));
    out.quotes |= std::uint64_t{quotes} << at;
    out.odd |= std::uint64_t{static_cast<unsigned>(_mm_movemask_epi8(odd))} << at;
  }
  return out;
#else
  return bits_of({p, kBlock});
#endif
}

const char* digits_end(const char* p, const char* end) {
#if defined(__SSE2__)
  while (end - p >= 16) {
    // As signed bytes, the digits come to lie below all others.
    const __m128i x = _mm_add_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)),
                                   _mm_set1_epi8(static_cast<char>(0x80 - '0')));
    const auto digits = static_cast<unsigned>(
        _mm_movemask_epi8(_mm_cmplt_epi8(x, _mm_set1_epi8(static_cast<char>(0x80 + 10)))));
    const int count = std::countr_one(digits);
    p += count;
    if (count < 16) return p;
  }
#endif
  while (p != end && is_digit(*p)) ++p;
  return p;
}

/// Where a number that begins at p ends; nullptr where none does.
const char* number_end(const char* p, const char* end) {
  constexpr std::ptrdiff_t kLongest = 40;  // bytes: far from what a double cannot hold
  const char* stop = digits_end(p, end);
  bool plain = stop != p && (stop - p == 1 || *p != '0');
  if (stop != end && *stop == '.') {
    const char* const fraction = stop + 1;
    stop = digits_end(fraction, end);
    plain = plain && stop != fraction;
  }

  const bool exponent = stop != end && (*stop == 'e' || *stop == 'E');
  return plain && !exponent && stop - p <= kLongest ? stop : read_decimal(p, end).stop;
}

// What moves along the line is inlined, so that it stays in registers.
#define BB_INLINE __attribute__((always_inline)) inline

/// The quotes of a line, from left to right.
class Quotes {
 public:
  explicit Quotes(std::string_view text)
      : begin_(text.data()), next_block_(begin_), end_(begin_ + text.size()) {}

  /// nullptr where there is none, or an odd byte stands before it.
  BB_INLINE const char* next() {
    while (quotes_ == 0) {
      if (next_block_ == end_ || !look_at_block()) return nullptr;
    }
    const char* const out = block_ + std::countr_zero(quotes_);
    quotes_ &= quotes_ - 1;
    return out;
  }

 private:
  BB_INLINE bool look_at_block() {
    const auto size = std::min(kBlock, static_cast<std::size_t>(end_ - next_block_));
    block_ = next_block_;
    next_block_ += size;
    ByteBits bits;
    if (size == kBlock) {
      bits = bits_of_block(block_);
    } else if (next_block_ - begin_ >= static_cast<std::ptrdiff_t>(kBlock)) {
      // The last bytes of the line together with those before them, which are shifted out.
      bits = bits_of_block(end_ - kBlock);
      bits.quotes >>= kBlock - size;
      bits.odd >>= kBlock - size;
    } else {
      bits = bits_of({block_, size});
    }
    quotes_ = bits.quotes;
    return bits.odd == 0;
  }

  const char* begin_;
  const char* next_block_;
  const char* end_;
  const char* block_ = nullptr;
  std::uint64_t quotes_ = 0;  ///< of the block, those that were not given yet
};

// A line of JSON, parsed from left to right as far as it is of the usual form.
// Every step returns false where the text is not of the usual form.
class DllWalk {
 public:
  explicit DllWalk(std::string_view text)
      : p_(text.data()), end_(p_ + text.size()), quotes_(text) {}

  BB_INLINE bool take(char c) {
    if (p_ == end_ || *p_ != c) return false;
    ++p_;
    return true;
  }

  BB_INLINE void blanks() {
    while (p_ != end_ && *p_ == ' ') ++p_;
  }
  /// A separator and the blanks after it.
  BB_INLINE bool next(char c) {
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

  /// What the quotes enclose.
  BB_INLINE bool string(std::string_view& out) {
    if (!at('"') || quotes_.next() != p_) return false;
    const char* const close = quotes_.next();
    if (close == nullptr) return false;
    out = {p_ + 1, static_cast<std::size_t>(close - p_ - 1)};
    p_ = close + 1;
    return true;
  }

  /// The text of a number, which read_decimal() reads: the value of most is not asked for.
  BB_INLINE bool number(std::string_view& out) {
    const char* const stop = number_end(p_, end_);
    if (stop == nullptr) return false;
    // "1.2.3", "1e", "12x": the library reports what is wrong with it.
    if (stop != end_ && *stop != ',' && *stop != ' ' && *stop != '}' && *stop != ']') return false;
    out = {p_, static_cast<std::size_t>(stop - p_)};
    p_ = stop;
    return true;
  }

 private:
  const char* p_;
  const char* end_;
  Quotes quotes_;
};

class DllLine {
 public:
  bool read(std::string_view text) {
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

  void put_into(DllStep& out) const {
    // Field by field: a copy of what was just written in parts would have to wait for it.
    double value = 0;
    get(step, out.iteration);
    if (get(skipped, value)) out.skipped = value;
    if (get({timestamp, own_timestamp}, value)) out.time_s = value;
    out.last = has(final_loss);
    if (get({step_loss, average_loss, final_loss, dotted_loss, train_loss}, value))
      out.loss = value;
    if (get(rate, value)) out.rate = value;
  }

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
  /// Of a string: what its quotes enclose.
  struct Value {
    const char* begin;
    const char* end;
    bool is_string;
  };

  // The slot of a key of "data".
  static Slot slot_of(std::string_view key) {
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

  bool read_value(DllWalk& walk, Slot slot) {
    if (has(slot)) return false;  // of a key that stands twice the library takes the last
    std::string_view text;
    const bool is_string = walk.at('"');
    if (!(is_string ? walk.string(text) : walk.number(text))) return false;
    put(slot, text, is_string);
    return true;
  }

  void put(Slot slot, std::string_view text, bool is_string) {
    if (slot == nothing) return;
    found_ |= 1u << slot;
    Value& value = values_[slot];
    value.begin = text.data();
    value.end = text.data() + text.size();
    value.is_string = is_string;
  }

  // One number, or two of which the last one counts. Strings are left to the library.
  bool read_step(DllWalk& walk) {
    std::string_view number;
    if (has(step) || !walk.next('[') || !walk.number(number)) return false;
    if (walk.next(',') && !walk.number(number)) return false;
    put(step, number, false);
    return walk.next(']');
  }

  bool read_data(DllWalk& walk) {
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

  [[nodiscard]] bool has(Slot slot) const { return (found_ >> slot & 1u) != 0; }
  /// False where the slot holds no number.
  bool get(Slot slot, double& out) const {
    if (!has(slot)) return false;
    const Value& value = values_[slot];
    const Decimal plain = read_decimal(value.begin, value.end);
    out = plain.value;
    if (!value.is_string || plain.stop == value.end) return true;
    const auto read = to_double({value.begin, static_cast<std::size_t>(value.end - value.begin)});
    if (read) out = *read;
    return read.has_value();
  }

  /// The first slot's that holds one.
  bool get(std::initializer_list<Slot> candidates, double& out) const {
    return std::ranges::any_of(candidates, [&](Slot slot) { return get(slot, out); });
  }

  std::array<Value, slots> values_;  ///< of a slot that was not found nothing, not even zeros
  std::uint32_t found_ = 0;          ///< a bit for each slot that stands on the line
};

}  // namespace

bool read_dll_line(std::string_view text, DllStep& out) {
  DllLine line;
  if (!line.read(text)) return false;
  out = {};
  line.put_into(out);
  return true;
}

}  // namespace bertbench
