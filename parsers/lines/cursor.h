// Cursor: reads fields of one candidate line by hand.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "parsers/core/line.h"

namespace bertbench {

/// Every read moves on only when it succeeds. A number that touches the end of a line which was cut
/// by the end of input is no number: its last digits may be missing.
class Cursor {
 public:
  static constexpr std::int64_t kMostCount = 1'000'000'000'000;  ///< above it no count is meant

  explicit Cursor(const Line& line) : text_(line.text), cut_(line.terminator == 0) {}
  Cursor(std::string_view text, bool cut) : text_(text), cut_(cut) {}
  /// Of a handler's line, where what follows its literal begins.
  [[nodiscard]] static Cursor after(const Line& line) {
    Cursor out(line);
    out.at_ = line.end;
    return out;
  }

  struct Blanks {};
  struct Past {
    std::string_view literal;
  };
  struct Word {
    std::string_view text;
  };
  /// Reads one part after the other: texts as they stand, counts (0 to kMostCount) and numbers into
  /// their variables, kBlanks for any number of blanks, Past for all up to the end of a text's next
  /// occurrence, Word for the same of a text that is a name of its own ("loss", not "nll_loss").
  /// False leaves the cursor where it was; the variables of parts before the one that failed are
  /// changed.
  template <class... Parts>
  bool read(Parts&&... parts) {
    const std::size_t begin = at_;
    if ((part(parts) && ...)) return true;
    at_ = begin;
    return false;
  }

  [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }
  [[nodiscard]] std::size_t at() const { return at_; }
  void move_to(std::size_t at) { at_ = at < text_.size() ? at : text_.size(); }

  /// Moves after the next occurrence of `literal`.
  bool skip_past(std::string_view literal);
  /// Moves after `literal` if it stands here.
  bool literal(std::string_view literal);
  void blanks();

  /// Digits with an optional sign, or `nan`, `inf`, `infinity` in letters of any case. Of "1,234"
  /// the 1, as it may be a list; of "1,234.5" nothing.
  std::optional<double> number();
  std::optional<std::int64_t> integer();
  /// "12,500" as Python's `:,` writes it, or plain digits.
  std::optional<std::int64_t> grouped_integer();
  /// [[h:]mm:]ss[.fraction] in seconds; hours may exceed 24. "1 day, 0:27:46", "2 days, ..." of
  /// Python's timedelta as well.
  std::optional<double> duration();
  /// Bytes up to the first of `stops` (not taken) or the end; nullopt when empty.
  std::optional<std::string_view> until(std::string_view stops);

 private:
  bool part(std::string_view text) { return literal(text); }
  bool part(Blanks) {
    blanks();
    return true;
  }
  bool part(Past past) { return skip_past(past.literal); }
  bool part(Word word);
  bool part(std::int64_t& count) {
    const auto value = integer();
    if (!value || *value < 0 || *value > kMostCount) return false;
    count = *value;
    return true;
  }
  bool part(double& value) {
    const auto read = number();
    if (read) value = *read;
    return read.has_value();
  }
  template <class T>
  bool part(std::optional<T>& value) {
    if (part(value.emplace())) return true;
    value.reset();
    return false;
  }
  [[nodiscard]] bool whole(std::size_t end) const { return !(cut_ && end == text_.size()); }

  std::string_view text_;
  std::size_t at_ = 0;
  bool cut_ = false;
};

inline constexpr Cursor::Blanks kBlanks{};
using Past = Cursor::Past;
using Word = Cursor::Word;

/// Whether `what` stands in the line.
[[nodiscard]] bool has(const Line& line, std::string_view what);

/// The number right after `key` (blanks and an opening quote in between allowed), anywhere in the
/// line.
[[nodiscard]] std::optional<double> number_after(const Line& line, std::string_view key);

/// That after the first of the keys, in the order given, which stands in the line with a number.
[[nodiscard]] std::optional<double> number_after(const Line& line,
                                                 std::initializer_list<std::string_view> keys);
/// The number of the value that has this whole name: "loss: 2.1", "loss=2.1", "loss 2.1" and
/// "\"loss\": \"2.1\"", not "nll_loss 2.1"; where the name stands more than once, the first.
[[nodiscard]] std::optional<double> number_named(const Line& line, std::string_view name);
/// A count (0 to Cursor::kMostCount) after `key` and blanks.
[[nodiscard]] std::optional<std::int64_t> count_after(const Line& line, std::string_view key);
/// Only blanks stand before the handler's literal.
[[nodiscard]] bool leads(const Line& line);
/// A size (a batch, ranks, tokens) after `key`: from 1 to below 10^9, its fraction cut off.
[[nodiscard]] std::optional<std::int64_t> size_after(const Line& line, std::string_view key);
/// Such a size after a handler's literal: " .... 4", "='4'" and the like.
[[nodiscard]] std::optional<std::int64_t> size_here(const Line& line);

}  // namespace bertbench
