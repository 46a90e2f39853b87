#include "parsers/generic/induced_format.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "parsers/core/median.h"
#include "parsers/core/text.h"
#include "parsers/described/description.h"
#include "parsers/described/format_keys.h"
#include "parsers/described/printed_value.h"
#include "parsers/generic/loop_words.h"

namespace bertbench {
namespace {

using Json = nlohmann::ordered_json;

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_plain(char c) { return !is_beyond_ascii(c) && c >= ' '; }

/// An RE2 text for `text`: as many blanks as there are, one or more. Bytes that JSON cannot hold
/// are any byte.
std::string quoted(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_blank(c)) {
      while (i + 1 < text.size() && is_blank(text[i + 1])) ++i;
      out += "[ \\t]+";
    } else if (!is_plain(c)) {
      char32_t code = 0;
      const std::size_t length = c < ' ' && c >= 0 ? 0 : decode_utf8(text.substr(i), code);
      out += length > 0 ? text.substr(i, length) : ".";
      i += length > 0 ? length - 1 : 0;
    } else {
      if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

/// The same with any number of blanks at the end, where a number may be padded.
std::string quoted_before_number(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0 && is_blank(text[end - 1])) --end;
  const bool tab = text.find('\t', end) != std::string_view::npos;
  return quoted(text.substr(0, end)) + (tab ? "[ \\t]*" : " *");
}

/// What of `text` JSON can hold; '?' for the rest.
std::string readable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    char32_t code = 0;
    const std::size_t length = decode_utf8(text, code);
    if (length == 0 || (code < ' ' && code != '\t')) {
      out += '?';
      text.remove_prefix(1);
      continue;
    }
    out += text.substr(0, length);
    text.remove_prefix(length);
  }
  return out;
}

/// From `at` on: letters of any alphabet; empty where there is none.
std::string_view first_word(std::string_view text, std::size_t at) {
  while (at < text.size() && !is_any_letter(text[at])) ++at;
  std::size_t end = at;
  while (end < text.size() && is_any_letter(text[end])) ++end;
  return text.substr(at, end - at);
}

constexpr std::string_view kWhole = "\\d+(?:,\\d{3})*";
constexpr std::string_view kAmount = "\\d+(?:,\\d{3})*(?:\\.\\d+)?[kKMGB]?";
constexpr std::string_view kReal = "[-+]?(?:[\\d.,]*\\d(?:[eE][-+]?\\d+)?[kKMB]?|nan|NaN|inf)";
constexpr std::string_view kTime = "(?:\\d+ days?, )?\\d+:[\\d:]+(?:\\.\\d+)?";
// "980us", "2m 30s", "1 hour, 3 minutes": in any units, as the next line may have others. Of the
// last unit value_pattern() adds the letters alone, and the end.
constexpr std::string_view kWithUnit =
    "(?i:(?:[\\d.,]*\\d {0,2}(?:d(?:ays?)?|h(?:rs?|ours?)?|m(?:ins?|inutes?)?),? ?(?:and )?)*"
    "[\\d.,]*\\d {0,2}(?:(?:[mnu]|µ|μ)?s|[mnu]?secs?|(?:milli|micro)s|(?:milli|micro|nano)?seconds?"
    "|m(?:ins?|inutes?)|h(?:rs?|ours?)|days?"
    // Of other languages.
    "|minut(?:en|os|i)|sekunden|segundos|second(?:es|i)|stunden|horas|heures";
// "(233.9)", "+- 4.1", "± 4.1" between a number and its unit.
constexpr std::string_view kSpread = " *(?:\\( *|\\+/?- *|± *)[\\d.,]+\\)?";
constexpr std::string_view kNoLetters = "[^a-zA-Z\\x80-\\xff]*?";
constexpr std::string_view kSpelledWide = "(?:[\\d.]+ ?[\\x80-\\xff]+ ?)+";  // "2分30秒"

/// `letters`: a unit may be a letter alone that is no second. Else it is the next number's name:
/// "D:0.28" in "L:0.32 D:0.28 316s".
std::string value_pattern(std::string_view text, bool counter, const LineNumber& number,
                          bool letters) {
  if (counter) return std::string(number.meaning == Meaning::amount ? kAmount : kWhole);
  if (number.own_unit) return std::string(kWithUnit) + (letters ? "|[dhm]" : "") + "))\\b";
  const Meaning meaning = number.meaning;
  const bool colons = text.find(':') != std::string_view::npos;
  // "20231123-120034"; seconds since 1970 are digits and a point.
  const bool of_date = text.find_first_not_of("0123456789.") != std::string_view::npos;
  if (meaning == Meaning::clock && of_date) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (is_digit(text[i])) {
        while (i + 1 < text.size() && is_digit(text[i + 1])) ++i;
        out += "\\d+";
      } else if (is_letter(text[i])) {
        out += "[A-Za-z]";
      } else {
        out += quoted(text.substr(i, 1));
        while (is_blank(text[i]) && i + 1 < text.size() && is_blank(text[i + 1])) ++i;  // "May  9"
      }
    }
    return out;
  }
  if (colons) return std::string(kTime);
  return std::string(std::ranges::all_of(text, is_plain) ? kReal : kSpelledWide);
}

/// A number that the pattern takes, by the names of its groups.
struct Taken {
  std::size_t place = 0;         ///< in ShapeLine::key, or in ShapeLine::numbers
  std::string name, total_name;  ///< empty: it stands there, and is not taken
  bool counter = false, of_all_numbers = false;
  [[nodiscard]] const LineNumber& in(const ShapeLine& line) const {
    return of_all_numbers ? line.numbers[place] : line.at(place);
  }
};

/// One rule of the format: its pattern is made of the stretches of numbers, in their order.
class RuleWriter {
 public:
  /// `by_words`: the first word between two numbers counts, where it is the same on each line.
  RuleWriter(const LineShape& shape, std::vector<Taken> taken, bool by_words)
      : shape_(shape),
        first_(shape.examples.front()),
        taken_(std::move(taken)),
        by_words_(by_words) {}

  /// Nothing where no text of its lines is long enough to search for.
  std::optional<Json> write() {
    std::ranges::sort(taken_, {}, [&](const Taken& one) { return one.in(first_).begin; });
    const std::string pattern = shape_.head ? of_row() : of_line();
    if (literal_.size() < kMinLiteral) return std::nullopt;
    Json rule;
    rule["literal"] = literal_;
    rule["pattern"] = pattern;
    Json scale = Json::object();
    for (const Taken& one : taken_) {
      const double factor = one.in(first_).scale;
      if (factor != 1) scale[one.name] = factor;
    }
    if (!scale.empty()) rule["scale"] = scale;
    for (const Taken& one : taken_) {
      if (!one.name.starts_with("rate")) continue;
      const LineNumber& rate = one.in(first_);
      rule["rate"] = {{"unit", name(rate.unit)}, {"per", rate.of_one_gpu ? "gpu" : "job"}};
    }
    if (shape_.head) rule["rows"] = true;
    if (shape_.whole) rule["whole_line"] = true;
    const std::string example = readable(first_.text);
    rule["example"] = shape_.head ? shape_.head->text + '\n' + example : example;
    return rule;
  }

 private:
  std::string of_line() {
    std::string out = front();
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      const std::string word = shape_.evaluation && is_counter(taken_[i]) ? word_before(i) : "";
      if (!word.empty()) {
        // Not in the "5vals" of a path.
        out += ".*?(?:^|[^a-zA-Z0-9])" + word + "(?:[^a-zA-Z].*?)?";
      } else if (i > 0) {
        out += word_.empty() ? between(i) : ".*?";
      }
      out += stretch(taken_[i]);
      if (shape_.after_counter && is_counter(taken_[i]) && word_.empty()) out += evaluation_word(i);
    }
    if (word_.empty() && is_counter(taken_.back())) out += mark_after();
    if (literal_.size() < kMinLiteral) offer_word();
    if (literal_.size() < kMinLiteral) offer_padded();
    // The "2026-" that stamps on lines of their own begin with.
    if (literal_.size() < kMinLiteral) offer(part(first_, 0, kMinLiteral + 1));
    return out;
  }

  static bool is_counter(const Taken& one) { return one.name == "step" || one.name == "epoch"; }

  /// "[eval] step 10" differs from "[train] step 10" by the word before its counter.
  [[nodiscard]] std::string word_before(std::size_t i) const {
    const std::size_t from = i > 0 ? taken_[i - 1].in(first_).end : 0;
    const std::size_t to = taken_[i].in(first_).begin;
    const std::string_view word = word_of_evaluation(part(first_, from, to));
    return word.empty() ? std::string() : quoted(word);
  }

  /// "Epoch 3: testing psnr" differs from "Epoch 3 complete" by the word after its counter.
  std::string evaluation_word(std::size_t i) {
    const std::size_t end = taken_[i].in(first_).end;
    word_ = first_word(first_.text, end);
    return std::string(kNoLetters) + quoted(std::string_view(word_));
  }

  static std::string longest_name(std::string_view head, char mark) {
    std::string_view longest;
    for (const std::string_view name : split(head, mark)) {
      if (trim(name).size() > longest.size()) longest = trim(name);
    }
    return std::string(longest);
  }

  std::string of_row() {
    std::vector<std::string> groups(shape_.head->names.size());
    std::string stamp;  // of a logger, before the row
    for (const Taken& one : taken_) {
      const int column = one.in(first_).column;
      (column < 0 ? stamp : groups[static_cast<std::size_t>(column)]) = stretch(one);
    }
    const std::string& text = shape_.head->text;
    literal_ =
        (shape_.head->varies ? longest_name(text, shape_.head->mark) : text).substr(0, kMaxLiteral);
    const std::string row = row_pattern(*shape_.head, groups);
    return stamp.empty() ? row : stamp + ".*?" + row.substr(1);
  }

  [[nodiscard]] static std::string_view part(const ShapeLine& line, std::size_t begin,
                                             std::size_t end) {
    return std::string_view(line.text).substr(begin, end - begin);
  }

  /// A text of all lines that the pattern has: the longest is what the scan looks for.
  void offer(std::string_view text) {
    for (std::size_t begin = 0; begin < text.size();) {  // bytes that are not UTF-8 part texts
      std::size_t end = begin;
      while (end < text.size() &&
             !(is_blank(text[end]) && end + 1 < text.size() && is_blank(text[end + 1]))) {
        char32_t code = 0;
        const std::size_t length = decode_utf8(text.substr(end), code);
        if (length == 0 || code < ' ') break;
        end += length;
      }
      const std::string_view run = trim(text.substr(begin, end - begin));
      if (run.size() > literal_.size() && stands_everywhere(run)) literal_ = std::string(run);
      begin = end + 1;
    }
  }

  /// Also in the bytes of the log, where a colour may part two words.
  [[nodiscard]] bool stands_everywhere(std::string_view text) const {
    return std::ranges::all_of(shape_.examples, [&](const ShapeLine& line) {
      const std::string& bytes = line.coloured.empty() ? line.text : line.coloured;
      return bytes.find(text) != std::string::npos;
    });
  }

  /// "fps" of "|    fps   | 3374 |" and "it" of "ep 0 it 250/1048 Lc 4.6" are short: with the
  /// blanks around it, a word of all lines may be long enough.
  void offer_padded() {
    for (std::size_t begin = 0; begin < first_.text.size();) {
      const std::size_t end = std::min(first_.text.find(' ', begin), first_.text.size());
      const std::string padded = " " + first_.text.substr(begin, end - begin) + " ";
      begin = end + 1;
      if (padded.size() <= literal_.size() || std::ranges::any_of(padded, is_digit)) continue;
      if (std::ranges::all_of(padded, is_plain) && stands_everywhere(padded)) literal_ = padded;
    }
  }

  /// What stands before the first stretch, if it is the same on each line.
  std::string front() {
    constexpr std::size_t kLinesThatShow = 3, kLongest = 60;
    const auto before = [&](const ShapeLine& line) {
      return part(line, 0, taken_.front().in(line).begin);
    };
    const std::string_view text = before(first_);
    if (shape_.examples.size() < kLinesThatShow || text.size() > kLongest ||
        std::ranges::any_of(text, is_digit) ||
        std::ranges::any_of(shape_.examples,
                            [&](const ShapeLine& line) { return before(line) != text; })) {
      return {};
    }
    offer(text);
    return "^" + (text.empty() ? std::string() : quoted_before_number(text));
  }

  /// Punctuation between two stretches as it stands, else anything.
  [[nodiscard]] std::string between(std::size_t i) const {
    const LineNumber& before = taken_[i - 1].in(first_);
    const LineNumber& after = taken_[i].in(first_);
    const std::string_view text = part(first_, before.end, after.begin);
    const bool plain = text.size() <= 6 && std::ranges::none_of(text, [](char c) {
                         return is_digit(c) || !is_plain(c) || is_letter(c);
                       });
    // Some lines may have a field more there.
    const auto marks = [&](const ShapeLine& line) {
      std::string out(part(line, taken_[i - 1].in(line).end, taken_[i].in(line).begin));
      std::erase_if(out, is_blank);
      return out;
    };
    const std::string same = marks(first_);
    if (!plain || std::ranges::any_of(shape_.examples, [&](const ShapeLine& line) {
          return taken_[i].in(line).begin < taken_[i - 1].in(line).end || marks(line) != same;
        })) {
      return by_words_ ? word_between(i) : ".*?";
    }
    // A log that was pasted may have blanks on some lines and tabs on others.
    constexpr std::string_view kBlanks = "[ \\t]*";
    std::string out(kBlanks);
    for (const char c : text) {
      if (!is_blank(c)) out += quoted(std::string_view(&c, 1)).append(kBlanks);
    }
    return out;
  }

  [[nodiscard]] std::string word_between(std::size_t i) const {
    const auto word_of = [&](const ShapeLine& line) {
      const std::size_t from = taken_[i - 1].in(line).end;
      return first_word(std::string_view(line.text).substr(0, taken_[i].in(line).begin), from);
    };
    const std::string_view word = word_of(first_);
    if (word.empty() || std::ranges::any_of(shape_.examples, [&](const ShapeLine& line) {
          return word_of(line) != word;
        })) {
      return ".*?";
    }
    return std::string(kNoLetters) + quoted(word) + ".*?";
  }

  /// No letter or digit follows the number on any line.
  [[nodiscard]] bool ends_word(const Taken& one) const {
    return std::ranges::all_of(shape_.examples, [&](const ShapeLine& line) {
      const std::size_t end = one.in(line).value_end;
      if (end >= line.text.size()) return true;
      const char c = line.text[end];
      return !is_letter(c) && !is_digit(c) && c != '_';
    });
  }

  std::string stretch(const Taken& one) {
    const LineNumber& number = one.in(first_);
    // The newest value of a meter stands between its name and its mean.
    const bool of_meter = number.meaning == Meaning::mean;
    const std::size_t label_end =
        of_meter ? first_.numbers[one.place - 1].value_begin : number.value_begin;
    const std::string_view label = part(first_, number.begin, label_end);
    const std::string_view value = part(first_, number.value_begin, number.value_end);
    std::string out;
    const bool begins_word =
        label.empty() ? !shape_.head : is_letter(label[0]) || is_digit(label[0]);
    if (begins_word) out += "\\b";
    if (!label.empty()) out += quoted_before_number(label);
    offer(label);
    if (of_meter) out += std::string(kReal) + "[^(]*\\( *";
    const bool of_bar = number.meaning == Meaning::place && first_.has_time_of_bar();
    out += (one.name.empty() ? "(?:" : "(?P<" + one.name + ">") +
           (of_bar ? "[1-9]\\d*" : value_pattern(value, one.counter, number, in_letters(one))) +
           ")";
    if (one.counter && ends_word(one)) out += "\\b";  // not the 1 of "1K"
    if (number.has_total()) {
      const std::string_view slash = part(first_, number.value_end, number.total_begin);
      out += " *" + quoted_before_number(trim(slash));
      const bool amount = number.meaning == Meaning::amount;
      out += one.total_name.empty()
                 ? std::string("[\\d,]+")
                 : "(?P<" + one.total_name + ">" + std::string(amount ? kAmount : kWhole) + ")";
      if (!amount) return out;
    }
    const std::string_view unit =
        part(first_, (number.has_total() ? number.total_end : number.value_end) + number.gap,
             number.end);
    if (number.gap > 0) out += kSpread;
    if (!unit.empty()) {
      out += " *" + quoted(trim(unit)) + (is_letter(unit.back()) ? "\\b" : "");
      offer(unit);
    }
    return out;
  }

  /// "3.5h", "2 m": on some line the unit is such a letter alone.
  [[nodiscard]] bool in_letters(const Taken& one) const {
    return std::ranges::any_of(shape_.examples, [&](const ShapeLine& line) {
      const LineNumber& number = one.in(line);
      const std::string_view value = part(line, number.value_begin, number.value_end);
      const std::size_t n = value.size();
      return n > 1 && std::string_view("dhmDHM").find(value[n - 1]) != std::string_view::npos &&
             !is_letter(value[n - 2]);
    });
  }

  /// "[Epoch 3] saved" differs from "[Epoch 4/ Rank 0] training" by what closes it.
  [[nodiscard]] std::string mark_after() const {
    constexpr std::string_view kClosing = "])}";
    const auto mark = [&](const ShapeLine& line) {
      return std::string_view(line.text).substr(taken_.back().in(line).end, 1);
    };
    const std::string_view closes = mark(first_);
    const bool same = std::ranges::all_of(
        shape_.examples, [&](const ShapeLine& line) { return mark(line) == closes; });
    return same && kClosing.find(closes) != kClosing.npos ? quoted(closes) : std::string();
  }

  /// A word that is on each line.
  void offer_word() {
    for (std::size_t at = 0; at < first_.text.size() && literal_.size() < kMinLiteral;) {
      std::size_t end = at;
      while (end < first_.text.size() && is_letter(first_.text[end])) ++end;
      const std::string word = first_.text.substr(at, end - at);
      if (word.size() >= kMinLiteral && stands_everywhere(word)) literal_ = word;
      at = end + 1;
    }
  }

  const LineShape& shape_;
  const ShapeLine& first_;
  std::vector<Taken> taken_;
  bool by_words_;
  std::string literal_;
  std::string word_;  ///< of evaluation, after the first counter
};

/// Number `at` of all lines means it.
bool all_have(const LineShape& shape, std::size_t at, Meaning meaning) {
  return std::ranges::all_of(shape.examples, [&](const ShapeLine& line) {
    return at < line.numbers.size() && line.numbers[at].meaning == meaning;
  });
}

/// The loss of a line: "loss" itself rather than one of several parts. Every line must have it at
/// the same place among its numbers.
std::optional<std::size_t> loss_of(const LineShape& shape) {
  const ShapeLine& first = shape.examples.front();
  std::optional<std::size_t> found;
  bool exact = false;
  for (std::size_t i = 0; i < first.numbers.size(); ++i) {
    const bool plain =
        words_of(first.label_of(first.numbers[i])) == std::vector<std::string>{"loss"};
    if (!all_have(shape, i, Meaning::loss) || (found && (exact || !plain))) continue;
    found = i;
    exact = plain;
  }
  return found;
}

/// The first number of that meaning, where all lines have it at the same place.
std::optional<std::size_t> number_on_all(const LineShape& shape, Meaning meaning) {
  const auto& numbers = shape.examples.front().numbers;
  const auto found = std::ranges::find(numbers, meaning, &LineNumber::meaning);
  const auto at = static_cast<std::size_t>(found - numbers.begin());
  return all_have(shape, at, meaning) ? std::optional(at) : std::nullopt;
}

re2::RE2 pattern_of(const Json& rule) {
  return re2::RE2(rule["pattern"].get<std::string>(), re2::RE2::Latin1);
}

/// Whether the rule reads its own lines to the numbers that it was made of.
bool reads(const Json& rule, const LineShape& shape, const std::vector<Taken>& taken) {
  const re2::RE2 re2 = pattern_of(rule);
  const auto& names = re2.NamedCapturingGroups();
  std::vector<re2::StringPiece> groups(static_cast<std::size_t>(re2.NumberOfCapturingGroups()) + 1);
  return std::ranges::all_of(shape.examples, [&](const ShapeLine& line) {
    return re2.Match(line.text, 0, line.text.size(), re2::RE2::UNANCHORED, groups.data(),
                     static_cast<int>(groups.size())) &&
           std::ranges::all_of(taken, [&](const Taken& one) {
             return one.name.empty() ||
                    groups[static_cast<std::size_t>(names.at(one.name))].data() ==
                        line.text.data() + one.in(line).value_begin;
           });
  });
}

struct Candidate {
  const LineShape* shape = nullptr;
  ShapeMeaning meaning;
};

void take_times(const ShapeTimes& times, std::vector<Taken>& taken) {
  const auto take = [&](std::optional<std::size_t> place, const char* name) {
    if (place) taken.push_back({*place, name, ""});
  };
  take(times.clock, "clock");
  take(times.elapsed, "elapsed");
  take(times.seconds, "seconds");
  if (times.seconds) take(times.iterations, "iterations");
  take(times.seconds_per_iteration, "seconds_per_iteration");
  take(times.mean_so_far, "mean_so_far");
  take(times.rate, "rate");
  take(times.rate_so_far, "rate_so_far");
}

std::vector<Taken> taken_of(const LineShape& shape, const ShapeMeaning& meaning) {
  const ShapeLine& first = shape.examples.front();
  const bool of_epoch = (meaning.total_is_of_epoch && meaning.epoch) || meaning.wraps;
  const char* total = of_epoch ? "epoch_steps" : "planned";
  std::vector<Taken> out;
  // "Starting epoch 6/6": it begins the last one, the work is not done.
  const auto has_total = [&](std::size_t place) {
    return first.at(place).has_total() && !first.at(place).begins;
  };
  out.push_back({meaning.step, "step", has_total(meaning.step) ? total : "", true});
  if (meaning.epoch) {
    const bool planned = has_total(*meaning.epoch);
    out.push_back({*meaning.epoch, "epoch", planned ? "epochs" : "", true});
  }
  if (meaning.rank) out.push_back({*meaning.rank, "rank", ""});
  take_times(meaning.times, out);
  // "Batch Time 1.203 (3.831)" on the line of an epoch: the newest batch is one of many.
  for (Taken& one : out) {
    if (!meaning.step_is_epoch || one.name != "seconds_per_iteration") continue;
    const bool of_meters = std::ranges::all_of(
        shape.examples, [&](const ShapeLine& line) { return line.is_meter(one.place); });
    if (of_meters)
      one = {.place = first.key[one.place] + 1, .name = one.name, .of_all_numbers = true};
  }
  return out;
}

/// The rule of a shape, with its loss where that can be read.
std::optional<Json> rule_of(const LineShape& shape, std::vector<Taken> taken,
                            std::optional<std::size_t> loss, bool by_words = false) {
  if (loss) {
    std::vector<Taken> with = taken;
    with.push_back({*loss, "loss", "", false, true});
    auto rule = RuleWriter(shape, with, by_words).write();
    if (rule && reads(*rule, shape, with)) return rule;
  }
  if (taken.empty()) return std::nullopt;
  auto rule = RuleWriter(shape, taken, by_words).write();
  if (rule && reads(*rule, shape, taken)) return rule;
  return std::nullopt;
}

/// A rule of literals, each with a line that has it; `flag` is its key that is true.
Json rule_with_examples(
    std::span<const std::pair<std::string_view, std::string_view>> literals_and_lines,
    const std::string& pattern, const char* flag) {
  Json rule;
  rule["literal"] = Json::array();
  rule["pattern"] = pattern;
  rule[flag] = true;
  rule["example"] = Json::array();
  for (const auto& [literal, example] : literals_and_lines) {
    rule["literal"].push_back(literal);
    rule["example"].push_back(example);
  }
  return rule;
}

/// Lines of evaluations, validations and tests, whose time is no training: the same rule for every
/// log, as the first of them may stand after the lines that are looked at.
Json interruptions() {
  constexpr std::pair<std::string_view, std::string_view> kLines[] = {
      {"alid", "Validation"},    {"VALID", "VALIDATION"},  {"valu", "an evaluation"},
      {"VALU", "EVALUATION"},    {"eval", "eval loss"},    {"Eval", "Eval loss"},
      {"EVAL", "EVAL"},          {"val ", "val loss"},     {"val_", "val_loss: 0.3"},
      {"Val ", "Val loss"},      {"Val_", "Val_loss=1"},   {"VAL ", "VAL loss"},
      {"val/", "val/acc: 0.3"},  {"val.", "val.acc: 0.3"}, {"val]", "[val] step 10"},
      {"Val]", "[Val] step 10"}, {"val:", "val: 0.3"},     {"Val:", "Val: 0.3"},
      {"test", "test loss"},     {"Test", "Test loss"},    {"TEST", "TEST"},
      {"验证", "验证"},          {"测试", "测试"},         {"測試", "測試"},
      {"評価", "評価"},          {"検証", "検証"},         {"검증", "검증"},
      {"테스트", "테스트"}};
  const std::string named = "(?:val|valid|validation|eval|evaluation|test|tests|testing)";
  const std::string pattern =
      // A word by itself, or with marks around it: "--- test ---". In "runs/test/a.pt", "test.json"
      // and "bert-test-2" it is a part of a path or name; "latest" and "invalid" are other words.
      R"x((?i)(?:^|[^a-z_./-]|(?:^|[^a-z0-9_./-])[-_.]+))x"
      R"x((?:val|validation|validating|validate|eval|evaluation|evaluating|evaluate|test|testing))x"
      R"x((?:[^a-z_./-]|[-_.]+(?:[^a-z0-9_./-]|$)|$))x"
      // "[valid]", "Valid: ", but not "a valid UTF-8 line".
      R"x(|(?:^|[^a-z_./-])(?:valid|tests)['")\]]*[ \t]*[:=|\[\]])x"
      // A score or a counter after the word or a name with it: "val_loss 0.3", "test_iter [1/9]".
      R"x(|(?:^|[^a-z./-]))x" +
      named +
      R"x((?:[_-][a-z0-9_-]*)?(?:[^a-z0-9_./-].*)?)x"
      R"x((?:[:= ][-+]?\d*\.\d|[^0-9][:=] ?[-+]?\d|\d ?/ ?\d|\bnan\b))x"
      // A score after a name that looks like a path: "eval/loss: 2.3", "val.top1 : 1.2".
      R"x(|(?:^|[^a-z]))x" +
      named +
      R"x([_/.-][a-z0-9_/.-]*['"]?[ \t]*[:=][ \t]*[-+]?\d*\.\d)x"
      // The name of a logger: "d2.evaluation.evaluator".
      R"x(|[a-z0-9]\.evaluation\.[a-z])x"
      "|验证|测试|測試|評価|検証|검증|테스트";
  return rule_with_examples(kLines, pattern, "interrupts");
}

/// Lines between two runs of one file, whose counter came to its total in each: a dump of
/// parameters, a command, "=== run 2 ===", "Training finished".
Json between_runs() {
  constexpr std::pair<std::string_view, std::string_view> kLines[] = {
      {"Namespace(", "Namespace(lr=0.1)"}, {".py ", "$ python train.py --lr 0.1"},
      {"run ", "--- run 2 ---"},           {"Run ", "Run 2/3"},
      {"RUN ", "=== RUN 2 ==="},           {"rial ", "[I] Trial 2 started"},
      {"xperiment ", "Experiment 2"},      {"onfig ", "Config 2: lr=0.1"},
      {"rained", "Model trained."},        {"rain", "Training finished"},
      {"TRAIN", "TRAINING COMPLETE"},
  };
  const std::string pattern =
      R"x(\bNamespace\(|(?:^|[\s$>])python[0-9.]*(?: -\S+)* \S+\.py(?:\s|$))x"
      R"x(|^[^a-zA-Z0-9]*(?:\[I\] )?(?i:(?:starting |begin )?(?:run|trial|experiment|config))x"
      R"x((?:uration)?)[ #:=]+\d+\b)x"
      R"x(|^[^a-zA-Z0-9]*(?i:training(?: is)? (?:finished|completed?|done|ended)|(?:model )?trained)x"
      R"x(|(?:finished|completed|done) training)(?: (?:in|after) [0-9.:hms ]+)?[.! ]*$)x";
  return rule_with_examples(kLines, pattern, "parts_runs");
}

/// "batch_size: 64", "=== lr 0.1 ===": of a run where it is another than before. A learning rate
/// without a frame of marks may be of an epoch.
Json settings_of_runs() {
  constexpr std::pair<std::string_view, std::string_view> kLines[] = {
      {"atch", "batch_size: 64"}, {"ATCH", "BATCH SIZE 64"}, {" bs=", "Config: bs=64"},
      {"--bs", "train --bs 64"},  {"= lr", "== lr=1e-3 =="}, {"- lr", "--- lr 0.1 ---"},
      {"* lr", "** lr 0.1 **"},   {"# lr", "## lr 0.1"},     {"earning", "-- Learning rate: 0.1"}};
  const std::string pattern =
      R"x((?i)(?:(?:^|[^a-z])(?:batch[ _-]?size|bs)['"]?\s*(?:is )?[:= ])x"
      R"x(|^[^a-z0-9]{3,}(?:lr|learning[ _-]rate)\s*[:= ])\s*(?P<setting>\d[\d.e-]*))x";
  return rule_with_examples(kLines, pattern, "parts_runs");
}

class Induction {
 public:
  Induction(const LineShapes& shapes, bool of_training, Commas commas = Commas::thousands)
      : shapes_(shapes), of_training_(of_training), commas_(commas) {}

  std::optional<InducedFormat> run(std::string_view name) {
    name_ = name;
    std::vector<Candidate> candidates, of_one_line, of_evaluations;
    for (const LineShape& shape : shapes_.shapes()) {
      if (!shape.has_counter()) continue;
      if (shape.evaluation) {
        if (auto meaning = counts_training(shape)) of_evaluations.push_back({&shape, *meaning});
        continue;
      }
      auto meaning = meaning_of(shape);
      if (!meaning) continue;
      if (meaning->of_one_line) {
        // It is of a training where it has a loss.
        if (!shape.after_counter && loss_of(shape)) of_one_line.push_back({&shape, *meaning});
        continue;
      }
      if (comes_in_other_units(shape)) {
        const ShapeTimes& all = meaning->times;
        meaning->times = {
            .clock = all.clock, .elapsed = all.elapsed, .mean_so_far = all.mean_so_far};
        meaning->time_is_ambiguous = !meaning->times.any();
      } else if (meaning->time_is_ambiguous && !meaning->times.any_time()) {
        settle_by_epochs(shape, *meaning);
      }
      // Batches a second are more than epochs a second.
      if (meaning->rate_is_of_batches && iterations_of_epoch() == 0) {
        meaning->times = {.rate = meaning->times.rate};
      }
      // "[640/12793 (5%)] ... 9.99 it/s": the counter is of samples, the rate of their batches.
      if (meaning->counts_sequences && has_rate_of_iterations(shape, *meaning)) {
        meaning->times = {.rate = meaning->times.rate};
      }
      meaning->wraps = meaning->wraps || epochs_begin_where_it_goes_back(shape, *meaning);
      if (is_training(shape, *meaning)) candidates.push_back({&shape, *meaning});
    }
    if (candidates.empty() && of_one_line.size() == 1) candidates = std::move(of_one_line);
    if (candidates.empty()) candidates = std::move(of_evaluations);
    std::ranges::stable_sort(
        candidates, [&](const Candidate& a, const Candidate& b) { return worth(a) > worth(b); });
    // Steps without a time come after epochs with theirs.
    std::optional<InducedFormat> untimed;
    for (const Candidate& candidate : candidates) {
      auto format = format_of(candidate);
      if (!format) continue;
      if (format->timed && !format->timed_at_end) return format;
      if (!untimed || (format->timed && !untimed->timed)) untimed = std::move(format);
    }
    if (untimed && untimed->timed) return untimed;
    // No line has another time than some step's own, "time: 0.226, data: 0.002" of each 100th.
    for (Candidate& candidate : candidates) {
      if (!candidate.meaning.before_data_time) continue;
      candidate.meaning.times.seconds_per_iteration = candidate.meaning.before_data_time;
      if (auto format = format_of(candidate)) return format;
    }
    return untimed;
  }

  /// Whether a shape with all its examples is one that no other will replace.
  [[nodiscard]] bool settled() const {
    return std::ranges::any_of(shapes_.shapes(), [&](const LineShape& shape) {
      const bool full = shape.examples.size() >= LineShapes::kExamples && !shape.evaluation;
      const auto meaning = full && shape.counts() ? meaning_of(shape) : std::nullopt;
      return meaning && !meaning->of_one_line && meaning->times.any() && !meaning->step_is_epoch &&
             is_training(shape, *meaning);
    });
  }

  [[nodiscard]] std::optional<UnreadTraining> unread_training() const {
    constexpr std::int64_t kLinesThatShow = 2;  // one may be quoted in any text
    UnreadTraining out;
    std::int64_t lines = 0;
    bool counts = false;
    for (const LineShape& shape : shapes_.shapes()) {
      if (shape.evaluation || shape.after_counter) continue;
      const bool other_work = names_other_work(shape.examples.front().text);
      const bool counted = shape.counts() && !other_work;
      const bool paced =
          !other_work && (shape.has(Meaning::rate) || shape.has(Meaning::per_iteration));
      counts = counts || counted || paced;
      bool nan = false, finite = false;
      for (const ShapeLine& line : shape.examples) {
        for (const LineNumber& number : line.numbers) {
          if (number.meaning == Meaning::loss) (std::isfinite(number.value) ? finite : nan) = true;
        }
      }
      const bool has_loss = nan || finite;
      // Losses of batches that nobody counts.
      constexpr std::int64_t kLossesThatShow = 8;
      counts = counts || (has_loss && !other_work && !shape.head && shape.lines >= kLossesThatShow);
      // Without a loss: a rate next to a word of training, a counter and a time next to one, or
      // epochs that go on.
      const bool learns = (paced || (counted && !shape.head && shape.timed())) &&
                          2 * shape.learning >= shape.examples.size();
      if (!has_loss && !learns && !(counted && counts_epochs(shape))) continue;
      // A line with a counter, a loss and a time is no sentence of a text: it counts twice.
      const bool whole =
          has_loss && !shape.head &&
          (paced || (counted && (shape.timed() || shape.has(Meaning::place) ||
                                 (shape.has(Meaning::epoch) && shape.has(Meaning::counter)))));
      lines += whole ? std::max(kLinesThatShow, shape.lines) : shape.lines;
      if (shape.last_line <= out.last_line) continue;
      out.last_line = shape.last_line;
      if (has_loss) out.nan = nan && !finite;
    }
    if (!counts || lines < kLinesThatShow) {
      if (shapes_.announced() == 0) return std::nullopt;
      out = {.last_line = shapes_.announced()};
    }
    out.nearest = nearest();
    return out;
  }

  [[nodiscard]] std::vector<NearLine> nearest() const {
    constexpr std::size_t kMostLines = 3;
    std::vector<const LineShape*> near;
    for (const LineShape& shape : shapes_.shapes()) {
      if (!shape.evaluation && (shape.timed() || shape.counts())) near.push_back(&shape);
    }
    std::ranges::stable_sort(near, std::greater<>(), [](const LineShape* shape) {
      return std::pair((shape->timed() ? 2 : 0) + (shape->counts() ? 1 : 0), shape->lines);
    });
    if (near.size() > kMostLines) near.resize(kMostLines);
    std::vector<NearLine> out;
    for (const LineShape* shape : near) {
      out.push_back({shape->examples[0].line, shape->examples[0].text, lack_of(*shape)});
    }
    return out;
  }

 private:
  [[nodiscard]] Lack lack_of(const LineShape& shape) const {
    if (!shape.has_counter()) return Lack::counter;
    if (shape.examples.size() < 2) return Lack::lines;
    const auto meaning = meaning_of(shape);
    if (!meaning) return Lack::growth;
    if (meaning->of_one_line) return Lack::lines;
    if (counts_epochs(shape) && !shape.timed()) return Lack::time;
    return is_training(shape, *meaning) ? Lack::text : Lack::training;
  }

  /// "Epoch 493", "Epoch 494", "Epoch 495": no other work has so many.
  static bool counts_epochs(const LineShape& shape) {
    constexpr std::size_t kLinesThatShow = 3;
    if (shape.head || shape.examples.size() < kLinesThatShow) return false;
    const auto meaning = meaning_of(shape);
    return meaning && meaning->step_is_epoch;
  }

  /// "[Validation] Iter 200 | reward 0.70", "[Validation] Iter 400 | ..." with the stamps of a
  /// logger: a counter of the batches of an evaluation would begin again with each, and has a total
  /// ("mmlu batch 20/439").
  [[nodiscard]] std::optional<ShapeMeaning> counts_training(const LineShape& shape) const {
    constexpr std::size_t kLinesThatShow = 4;
    if (!shapes_.of_training() || shape.examples.size() < kLinesThatShow) return std::nullopt;
    auto meaning = meaning_of(shape);
    if (!meaning || !meaning->times.clock) return std::nullopt;
    const LineNumber& counter = shape.examples.front().at(meaning->step);
    if (counter.meaning == Meaning::place || (counter.has_total() && !meaning->step_is_epoch)) {
      return std::nullopt;
    }
    const auto step = [&](const ShapeLine& line) { return line.at(meaning->step).value; };
    const bool grows = std::ranges::adjacent_find(shape.examples, std::greater_equal<>(), step) ==
                       shape.examples.end();
    if (!grows || !(meaning->step_is_epoch || meaning->stride > 1)) return std::nullopt;
    meaning->times = {.clock = meaning->times.clock};
    return meaning;
  }

  /// "Step 5: training", "Step 6: saving", "Step 7: testing": parts of a program, each of which is
  /// named once. Nor are "Step 1 Trained in 6s" to "Step 3 Trained in 11s" steps of one training.
  static bool names_parts(const LineShape& shape, const ShapeMeaning& meaning) {
    constexpr std::size_t kMostParts = 5;  // of a program: a training has more steps
    constexpr std::size_t kParts = 2, kPartsWithTimes = 3;  // names that show it
    // Each of several losses of a step may have a line of its own, of which none is on all lines.
    const auto has_loss = [](const ShapeLine& line) {
      return std::ranges::count(line.numbers, Meaning::loss, &LineNumber::meaning) > 0;
    };
    if (std::ranges::any_of(shape.examples, has_loss)) return false;
    const LineNumber& last = shape.examples.back().at(meaning.step);
    const bool of_step = trim(lower(shape.examples.back().label_of(last))) == "step";
    const bool few = last.value <= kMostParts && !last.has_total() && !meaning.epoch;
    if (of_step && few && !meaning.times.rate && !meaning.times.clock) return true;
    ShapeTimes times = meaning.times;
    times.clock.reset();
    return have_names(shape, meaning, times.any() ? kPartsWithTimes : kParts);
  }

  /// "[1/7] CART train 0.365s", "[2/7] KNN train 0.049s": after each number stands another name
  /// than on the line before, of which there are several.
  static bool have_names(const LineShape& shape, const ShapeMeaning& meaning, std::size_t least) {
    std::set<std::string_view> names;
    std::string_view before;
    for (const ShapeLine& line : shape.examples) {
      const std::string_view name = first_word(line.text, line.at(meaning.step).end);
      if (name.empty() || name == std::exchange(before, name)) return false;
      names.insert(name);
    }
    return names.size() >= least;
  }

  [[nodiscard]] bool is_training(const LineShape& shape, const ShapeMeaning& meaning) const {
    const std::size_t n = shape.examples.size();
    const ShapeLine& first = shape.examples.front();
    if (names_parts(shape, meaning)) return false;
    // "Processed batch 3/300, accuracy so far 90.1, 80.3 img/s" is inference.
    const bool works = names_other_work(first.text) && !loss_of(shape);
    // "640 imgs | acc 70.38 | 301 img/s" as well.
    const bool infers = meaning.amount != RateUnit::unknown && !names_training(first.text, false);
    const bool learns = 2 * shape.learning >= n && !works && !(infers && !loss_of(shape));
    const bool place = first.at(meaning.step).meaning == Meaning::place;
    const std::size_t least =
        meaning.times.any() || has_time_on_other_lines(shape, meaning) ? 2 : 3;
    if (n < least) return false;
    if (learns || (shape.has(Meaning::epoch) && shape.has(Meaning::counter))) return true;
    // The rest of the log shows nothing about a table, nor about batches that are loaded. What
    // comes with a loss each time, "rollout batch 12 generated", is of a training.
    if (shape.head) return false;
    // Data are counted by any work on them as well.
    if (names_other_work(first.text) || meaning.amount != RateUnit::unknown) {
      return n > least && has_loss_on_other_lines(shape);
    }
    if (place && !meaning.epoch) return meaning.times.any() && has_closing_time(shape, meaning);
    if (of_training_) return true;
    // "Epoch: 6020, cost 14.01 s", "fps total: 960 epoch: 3/500"
    const ShapeTimes& times = meaning.times;
    // and "epoch: 18/150" with the stamps of a logger
    const bool timed = times.seconds || times.seconds_per_iteration || times.rate ||
                       (first.at(meaning.step).has_total() && times.clock);
    if (meaning.step_is_epoch && timed && n > least) return true;
    // "Epoch: 85, precision 0.69" with them, "Episode 50 | Score: 22.9 | 10.0s"
    const std::string counter = lower(first.label_of(first.at(meaning.step)));
    const bool goes_on = meaning.step_is_epoch || counter.find("episode") != std::string::npos;
    if (goes_on && times.any() && n > least && names_score(first.text)) return true;
    if (has_loss_on_other_lines(shape)) return true;
    // "round 3: best so far 0.3 (49.2s)" may be of any search.
    if (!times.clock && !times.elapsed && counter.find("round") != std::string::npos) return false;
    return shapes_.of_training() && (times.any() || meaning.step_is_epoch || meaning.epoch ||
                                     has_time_on_other_lines(shape, meaning));
  }

  /// "1.02s/it" on some lines and "1.04it/s" on others: one of the two has the slow steps only.
  [[nodiscard]] bool comes_in_other_units(const LineShape& shape) const {
    constexpr std::int64_t kShare = 10;  // of the lines, one in so many
    return std::ranges::any_of(shapes_.shapes(), [&](const LineShape& other) {
      return &other != &shape && !other.plain_key.empty() && other.plain_key == shape.plain_key &&
             other.lines * kShare >= shape.lines;
    });
  }

  /// Wherever the counter goes back, a line of its own has begun the next epoch or ended one:
  /// "[GPU0] Epoch 1 Training ====", "Epoch 1 done".
  [[nodiscard]] bool epochs_begin_where_it_goes_back(const LineShape& shape,
                                                     const ShapeMeaning& meaning) const {
    if (meaning.epoch || meaning.step_is_epoch || shape.has(Meaning::epoch)) return false;
    bool goes_back = false;
    for (std::size_t k = 1; k < shape.examples.size(); ++k) {
      const ShapeLine &before = shape.examples[k - 1], &now = shape.examples[k];
      if (now.at(meaning.step).value >= before.at(meaning.step).value) continue;
      goes_back = true;
      if (!epoch_begins_between(before.line, now.line)) return false;
    }
    return goes_back;
  }

  [[nodiscard]] bool epoch_begins_between(std::int64_t begin, std::int64_t end) const {
    return std::ranges::any_of(shapes_.shapes(), [&](const LineShape& shape) {
      const auto epoch = shape.place_of(Meaning::epoch);
      if (!epoch || shape.has(Meaning::counter) || shape.has(Meaning::place)) return false;
      constexpr double kNone = -1;
      double newest = kNone;  // before `begin`
      for (const ShapeLine& line : shape.examples) {
        const double value = line.at(*epoch).value;
        if (line.line < begin) newest = value;
        if (line.line < begin || line.line > end) continue;
        // "Epoch 1 done" after its steps is the first such line of all.
        if (value > newest && (newest != kNone || value <= 1)) return true;
      }
      return false;
    });
  }

  /// "Epoch 1 completed in 4730.85s" decides whether a time on lines of each tenth step is of one
  /// step or of ten: as many as an epoch has must not take longer than it did, nor a small part.
  void settle_by_epochs(const LineShape& shape, ShapeMeaning& meaning) const {
    const LineNumber& step = shape.examples.front().at(meaning.step);
    const auto place = shape.place_of(Meaning::duration);
    double steps = step.total;
    for (const ShapeLine& line : shape.examples) {
      steps = std::max(steps, line.at(meaning.step).value);
    }
    const bool within_epochs = meaning.total_is_of_epoch || falls_of(shape, meaning.step) > 0;
    if (!within_epochs || !place) return;
    for (const LineShape& other : shapes_.shapes()) {
      const auto epoch = other.evaluation ? std::nullopt : time_of_epoch(other);
      if (!epoch) continue;
      const double each = median_of(shape, *place) * steps / *epoch;
      const auto fits = [](double share) { return share >= 0.4 && share <= 1.05; };
      const bool of_each = fits(each), of_all = fits(each / meaning.stride);
      // Where the steps of an epoch are not printed, a few single ones show too little of it.
      if (of_each == of_all || (of_each && !step.has_total())) continue;
      (of_each ? meaning.times.seconds_per_iteration : meaning.times.seconds) = place;
      meaning.time_is_ambiguous = false;
      return;
    }
  }

  /// Seconds of an epoch, of lines that have them and no finer counter: "Epoch 3 took 35 s", and
  /// "Epoch time: 35 s" without its number.
  [[nodiscard]] static std::optional<double> time_of_epoch(const LineShape& shape) {
    if (shape.has(Meaning::counter) || shape.has(Meaning::place)) return std::nullopt;
    const ShapeLine& first = shape.examples.front();
    for (std::size_t i = 0; i < first.key.size(); ++i) {
      const LineNumber& number = first.at(i);
      if (number.meaning != Meaning::duration || number.since_start || number.no_unit) continue;
      const std::string label = lower(first.label_of(number));
      if (!shape.has(Meaning::epoch) && label.find("epoch") == label.npos) continue;
      return number.value * number.scale;
    }
    return std::nullopt;
  }

  /// "Epoch 3 / 9", and on a line of its own "Epoch Time: 0:04:42"; "Iteration 900/1564", and
  /// "Time for 100 steps: 21.07".
  [[nodiscard]] bool has_time_on_other_lines(const LineShape& shape,
                                             const ShapeMeaning& meaning) const {
    const bool of_each = counts_by_one(shape, meaning);
    return std::ranges::any_of(shapes_with(shape), [&](const LineShape* other) {
      return companion_times(*other, of_each, first_step_of(shape, meaning)).any();
    });
  }

  /// Those of lines that count nothing and come once with each of `main`.
  [[nodiscard]] std::vector<const LineShape*> shapes_with(const LineShape& main) const {
    std::vector<const LineShape*> out;
    for (const LineShape& shape : shapes_.shapes()) {
      const bool other = &shape != &main && !shape.evaluation && !counts_on(shape);
      if (other && comes_with(shape, main)) out.push_back(&shape);
    }
    return out;
  }

  /// "Iteration: 3", and on a line of its own "Loss: 0.13": as many of the one as of the other.
  [[nodiscard]] bool has_loss_on_other_lines(const LineShape& shape) const {
    return std::ranges::any_of(shapes_.shapes(), [&](const LineShape& other) {
      return !other.evaluation && !other.counts() && comes_with(other, shape) && loss_of(other);
    });
  }

  /// Not "Step 818/818 - Loss: 0.93 | Time Elapsed: 5.9 min" below the line of each epoch.
  static bool counts_on(const LineShape& shape) {
    const auto counts = [](const LineNumber& number) {
      return number.counts() && !(number.has_total() && number.value == number.total);
    };
    return shape.counts() &&
           (!loss_of(shape) || std::ranges::any_of(shape.examples, [&](auto& line) {
             return std::ranges::any_of(line.numbers, counts);
           }));
  }

  /// Its lines come once with each of `main`: but for a cut, a line more at the end. "SPS: 1943"
  /// may come seldom or often, next to "global_step=696, episodic_return=33" of each episode.
  static bool comes_with(const LineShape& shape, const LineShape& main) {
    constexpr double kLeastShare = 0.6, kMostShare = 1.5, kOfRates = 20;
    const double share = static_cast<double>(shape.lines) / static_cast<double>(main.lines);
    const auto& numbers = shape.examples.front().numbers;
    const bool rate_alone = numbers.size() == 1 && numbers[0].meaning == Meaning::rate;
    if (rate_alone &&
        std::ranges::any_of(main.examples.front().numbers, &LineNumber::names_total)) {
      return share >= 1 / kOfRates && share <= kOfRates;
    }
    return share >= kLeastShare && share <= kMostShare && comes_between(shape, main);
  }

  /// Where `main` has several lines, some line of `shape` stands between many of them: not all
  /// after the last one, as those of an evaluation.
  static bool comes_between(const LineShape& shape, const LineShape& main) {
    constexpr double kLeastShare = 0.4;  // of the intervals
    int with = 0, intervals = 0;
    auto next = shape.examples.begin();
    for (std::size_t i = 1; i < main.examples.size(); ++i) {
      const std::int64_t begin = main.examples[i - 1].line, end = main.examples[i].line;
      while (next != shape.examples.end() && next->line < begin) ++next;
      with += next != shape.examples.end() && next->line < end ? 1 : 0;
      ++intervals;
    }
    return with >= kLeastShare * intervals;
  }

  [[nodiscard]] std::pair<int, std::int64_t> worth(const Candidate& candidate) const {
    constexpr std::int64_t kFewLines = 3;
    const ShapeMeaning& meaning = candidate.meaning;
    int rank = meaning.times.any() ? 4 : 0;
    if (meaning.amount != RateUnit::unknown) rank -= 8;  // after all others
    if (!meaning.step_is_epoch) rank += 2;
    if (candidate.shape->lines < kFewLines) rank -= 3;
    if (candidate.shape->after_counter) rank -= 1;
    // "GPU mem step 10: 12 GB, 0.165s" next to "Train step 10: loss 2.84, 4.96s for 10 steps".
    if (loss_of(*candidate.shape)) rank += 1;
    // "| iterations | 112 |" stands in each box that has a time, "| n_updates | 2200 |" in all of
    // them but the first, "| total_timesteps | 5000 |" in those of evaluations as well.
    const bool goes_with_time = std::ranges::any_of(shapes_.shapes(), [&](const LineShape& other) {
      return other.timed() && other.lines == candidate.shape->lines;
    });
    if (is_boxed(candidate.shape->examples.front()) && !goes_with_time) rank -= 1;
    return {rank, candidate.shape->lines};
  }

  std::optional<InducedFormat> format_of(const Candidate& candidate) const {
    const LineShape& shape = *candidate.shape;
    const ShapeMeaning& meaning = candidate.meaning;
    const auto loss = loss_of(shape);
    std::vector<Taken> taken = taken_of(shape, meaning);
    const bool untimed = !meaning.times.any() && !has_time_on_other_lines(shape, meaning);
    const auto left = untimed ? time_left(shape, meaning) : std::nullopt;
    if (left) taken.push_back(*left);
    auto rule = rule_of(shape, taken, loss, others_have_time_left(shape));
    if (!rule) return std::nullopt;
    if (meaning.wraps) (*rule)["wraps"] = true;
    if (meaning.mean_through_epochs) (*rule)["mean_through_epochs"] = true;
    // Of samples each counts its own.
    const bool of_processes = meaning.of_processes || meaning.rank || shape.of_ranks;
    if (of_processes && rule->contains("rate") &&
        (*rule)["rate"]["unit"].get<std::string>() != name(RateUnit::iterations_per_second)) {
      (*rule)["rate"]["per"] = "gpu";
    }
    // "Starting epoch 0/6", "starting step 0": none is done.
    if (!shape.examples[0].at(meaning.step).begins) (*rule)["counts_from"] = "first";
    const std::int64_t batches = meaning.step_is_epoch ? iterations_of_epoch() : 0;
    bool timed = meaning.times.any() || left;
    std::vector<Json> more = companions(candidate, !loss, timed);
    // "0.43 s/batch" on the lines of epochs.
    const auto& each = meaning.times.seconds_per_iteration;
    const bool own_batch = each && shape.examples[0].at(*each).meaning == Meaning::per_iteration;
    const bool of_batch =
        own_batch || meaning.rate_is_of_batches || std::ranges::any_of(more, has_time_of_one);
    const bool of_set = meaning.step_is_epoch && batches == 0 && !of_batch && timed;
    const std::int64_t sequences = of_set ? sequences_of_epoch(meaning) : 0;
    const std::int64_t each_epoch = std::max(batches, sequences);
    if (each_epoch > 0) {
      (*rule)["step_iterations"] = each_epoch;
      if (!own_batch) scale_time(*rule, each_epoch);
    }
    Json format;
    format["schema"] = kFormatSchema;
    format["name"] = name_;
    format["title"] = "lines of one shape that repeats";
    const bool counts_epochs = meaning.step_is_epoch && batches == 0;
    if (counts_epochs && !of_batch) format["iteration"] = sequences > 0 ? "sequence" : "epoch";
    Json notes = Json::array();
    const auto note = [&](bool holds, const std::string& text) {
      if (holds) notes.push_back(text);
    };
    constexpr double kLonger = 1.3;  // times; less is rounding
    note(meaning.times.mean_so_far.has_value(),
         "the printed time is a mean over all iterations so far: what each line adds to it was "
         "taken");
    note(meaning.times.rate_so_far.has_value(),
         "the printed rate is a mean of all so far: what the lines add to it was taken");
    note(
        meaning.called_of_one,
        "the time that the lines call one of an iteration is that of all since the line before, by "
        "the clock, and was taken so; a rate that goes with it was left out");
    note(meaning.outlasts_clock > kLonger,
         "a printed time is longer than an iteration by the clock and was left out: it may be of "
         "several, as of those that a step accumulates");
    note(meaning.clock_without_unit,
         "the column of the time names no unit: as it grows with the steps from their begin on, it "
         "was taken as seconds since the start");
    note(meaning.time_without_unit && !timed,
         "a column of times names no unit and was left out: no clock shows that it is in seconds");
    note(meaning.too_short_for_seconds && !timed,
         "a time that is cut to whole seconds was left out: below 10 s that is too coarse");
    note(sequences > 0 || batches > 0,
         fmt::format("the lines with a time count epochs: each counts as the {} {}, and its time "
                     "may hold an evaluation",
                     each_epoch,
                     sequences > 0 ? "sequences that the log states of the training set"
                                   : "iterations that other lines show of one"));
    note(left.has_value(),
         "only the time that is left is printed: divided by the steps that are left it is taken "
         "as the time of a step, as the program estimates it");
    note(counts_epochs && of_batch,
         "the lines count epochs, and their time or rate is of the iterations of an epoch, whose "
         "number they do not show");
    // A counter of batches goes up by one where each is printed.
    if (meaning.counts_sequences && !counts_by_one(shape, meaning)) {
      const bool of_one = meaning.times.seconds_per_iteration || meaning.times.mean_so_far ||
                          has_rate_of_iterations(shape, meaning);
      if (!of_one) format["iteration"] = "process_sequence";
      note(true, of_one ? "the lines count sequences, and their time or rate is of batches of them"
                        : "the lines count the sequences of one process");
    }
    if (meaning.amount == RateUnit::sequences_per_second) {
      format["iteration"] = of_processes ? "process_sequence" : "sequence";
    }
    if (meaning.amount == RateUnit::tokens_per_second) format["iteration"] = "token";
    note(shape.evaluation,
         "only lines of evaluations count the iterations of the training: the time from one to "
         "the next holds an evaluation");
    if (!notes.empty()) format["notes"] = std::move(notes);
    if (meaning.day_first) format["date_order"] = "day_first";
    if (commas_ == Commas::decimal) format["commas"] = "decimal";
    if (commas_ == Commas::unclear) format["commas"] = "unclear";
    format["lines"] = Json::array();
    for (Json& evaluation : evaluations(*rule, candidate))
      format["lines"].push_back(std::move(evaluation));
    format["lines"].push_back(*rule);
    std::ranges::move(more, std::back_inserter(format["lines"]));
    if (auto plan = plan_of_epochs(candidate)) format["lines"].push_back(std::move(*plan));
    bool timed_at_end = false;
    if (!timed) {
      if (auto closing = closing_time(candidate)) {
        if (batches > 0) (*closing)["step_iterations"] = batches;
        format["lines"].push_back(std::move(*closing));
        timed = timed_at_end = true;
      }
    }
    if (meaning.wraps) {
      format["lines"].push_back(between_runs());
      format["lines"].push_back(settings_of_runs());
    }
    // The time of an epoch is with its evaluation.
    if (timed && !meaning.step_is_epoch && !shape.evaluation) {
      format["lines"].push_back(interruptions());
    }
    // "Using 4 GPUs" next to "samples/s/gpu".
    const bool of_one_gpu = std::ranges::any_of(format["lines"], [](const Json& line) {
      return line.value("/rate/per"_json_pointer, "") == "gpu";
    });
    if (of_one_gpu && shapes_.gpus() > 0) {
      const auto gpus = static_cast<std::int64_t>(shapes_.gpus());
      format["facts"] = {{"world_size", gpus}};
      format["notes"].push_back(
          fmt::format("the printed rate is of one GPU: how many there are, {}, is what a line of "
                      "the log states",
                      gpus));
    }
    InducedFormat out;
    out.json = format.dump(2);
    out.example = shape.examples.front().text;
    out.line = shape.examples.front().line;
    out.lines = shape.lines;
    out.timed = timed;
    out.timed_at_end = timed_at_end;
    out.ambiguous = meaning.time_is_ambiguous && !timed;
    out.commas_unclear = shapes_.left_out();
    return out;
  }

  /// "Epoch 2/10 | Val: 62.36%" next to "Epoch 2 | 7500/7561 batches": of how many epochs it is
  /// one.
  [[nodiscard]] std::optional<Json> plan_of_epochs(const Candidate& main) const {
    const ShapeMeaning& meaning = main.meaning;
    const auto& lines = main.shape->examples;
    const auto own = meaning.step_is_epoch ? std::optional(meaning.step) : meaning.epoch;
    if ((!own && !meaning.wraps) || (own && lines.front().at(*own).has_total()))
      return std::nullopt;
    const LineShape* found = nullptr;
    double total = own ? lines.back().at(*own).value : 1;  // it is no smaller
    for (const LineShape& shape : shapes_.shapes()) {
      const auto epoch = shape.place_of(Meaning::epoch);
      if (&shape == main.shape || shape.head || !epoch) continue;
      for (const ShapeLine& line : shape.examples) {
        const LineNumber& number = line.at(*epoch);
        if (!number.has_total()) continue;
        if (found != nullptr ? number.total != total : number.total < total) return std::nullopt;
        total = number.total;
        found = &shape;
      }
    }
    if (found == nullptr) return std::nullopt;
    const char* name = meaning.step_is_epoch ? "planned" : "epochs";
    // Whether that epoch begins there or ends is not known.
    return rule_of(*found, {{*found->place_of(Meaning::epoch), "", name, true}}, {});
  }

  /// "9.99 it/s"
  [[nodiscard]] static bool has_rate_of_iterations(const LineShape& shape,
                                                   const ShapeMeaning& meaning) {
    const auto& rate = meaning.times.rate;
    return rate && shape.examples[0].at(*rate).unit == RateUnit::iterations_per_second;
  }

  /// "step 100/1072 loss: 0.3 eta: 10.3 min": until the total that the line names, where one epoch
  /// has it, and where it falls as the steps until then do. "[Epoch 0/200] [Batch 1/400] ... ETA:
  /// 4:50:03" is until the end of all epochs where it goes with the steps until then.
  [[nodiscard]] static std::optional<Taken> time_left(const LineShape& shape,
                                                      const ShapeMeaning& meaning) {
    const auto place = number_on_all(shape, Meaning::left);
    const bool totals = std::ranges::all_of(shape.examples, [&](const ShapeLine& line) {
      return line.at(meaning.step).has_total() &&
             (!meaning.epoch || line.at(*meaning.epoch).has_total());
    });
    if (!place || !totals) return std::nullopt;
    const Taken out{.place = *place, .name = "time_left", .of_all_numbers = true};
    const auto seconds = [&](const ShapeLine& line) {
      return out.in(line).value * out.in(line).scale;
    };
    const auto steps = [&](const ShapeLine& line) {
      const LineNumber& step = line.at(meaning.step);
      return step.total - step.value;
    };
    if (meaning.epoch && shape.examples[0].at(*meaning.epoch).total > 1) {
      return is_left_of_all_epochs(shape, meaning, seconds, steps) ? std::optional(out)
                                                                   : std::nullopt;
    }
    // In the second half, as the first line may hold a start.
    const ShapeLine& middle = shape.examples[shape.examples.size() / 2];
    // On the line of the last step none is left.
    const bool ends = steps(shape.examples.back()) <= 0 && shape.examples.size() > 2;
    const ShapeLine& last = shape.examples[shape.examples.size() - (ends ? 2 : 1)];
    const double fell = std::log(seconds(last) / seconds(middle));
    const double expected = std::log(steps(last) / steps(middle));
    constexpr double kApart = 0.5;  // of what is expected: nearer to that than to a time that stays
    const bool as_steps = std::abs(fell - expected) < kApart * std::abs(expected);
    return as_steps ? std::optional(out) : std::nullopt;
  }

  /// `seconds` of a line go with the steps until the end of all epochs, and not with `steps`, those
  /// until the end of its own.
  [[nodiscard]] static bool is_left_of_all_epochs(const LineShape& shape,
                                                  const ShapeMeaning& meaning, const auto& seconds,
                                                  const auto& steps) {
    constexpr std::size_t kLinesThatShow = 16;
    constexpr double kClear = 3;  // times as much that it goes with the one as with the other
    const double first = shape.examples[0].at(*meaning.epoch).value;
    if (first > 1 || shape.examples.size() < kLinesThatShow) return false;
    const auto of_run = [&](const ShapeLine& line) {
      const LineNumber& epoch = line.at(*meaning.epoch);
      return steps(line) + (epoch.total - 1 - (epoch.value - first)) * line.at(meaning.step).total;
    };
    // How much a step takes by it in the last lines, over the same in the first ones.
    const auto drift = [&](const auto& until) {
      std::vector<double> each;
      for (const ShapeLine& line : shape.examples) {
        each.push_back(std::log(seconds(line) / until(line)));
      }
      const auto part = static_cast<std::ptrdiff_t>(each.size() / 4);
      return std::abs(median(std::vector(each.end() - part, each.end())) -
                      median(std::vector(each.begin(), each.begin() + part)));
    };
    return kClear * drift(of_run) < drift(steps);
  }

  /// What a line with a time closes: a stretch of lines that count.
  enum class Closes { nothing, run, epoch };

  /// "Training complete in 5m 30s" after the last line of a training, "Finish epoch 0, time elapsed
  /// 2917.8" after the last one of an epoch: the time of all that was counted.
  [[nodiscard]] std::optional<Json> closing_time(const Candidate& main) const {
    std::optional<Json> out;
    for (const LineShape& shape : shapes_.shapes()) {
      const auto place = shape.place_of(Meaning::duration);
      if (!place || &shape == main.shape || shape.evaluation || shape.head) continue;
      if (shape.is_coarse(*place)) continue;  // "Total training time: 0.2 hours"
      // "took 10m09s, ETA 91m21s": what goes on after it.
      if (number_on_all(shape, Meaning::left)) continue;
      const bool of_training = names_training(shape.examples.front().text);
      if ((out && !of_training) || !names_end(shape, *place)) continue;
      const Closes closes = what_closes(shape, main);
      if (closes == Closes::nothing) continue;
      // A log that begins later may be of a resumed training, or was cut there.
      const bool from_first = main.shape->examples.front().at(main.meaning.step).value <= 1;
      const bool run = closes == Closes::run;
      const bool in_epochs = main.meaning.epoch.has_value() || main.meaning.wraps;
      if (run && (!from_first || restarts_of(main) >= shape.lines)) continue;
      // Of a training in epochs all steps count, not those of the newest one.
      const char* field = run && in_epochs ? "total_seconds" : "counted_seconds";
      auto rule = rule_of(shape, {{*place, field, ""}}, std::nullopt);
      if (!rule) continue;
      if (run) (*rule)["outcome"] = "completed";
      out = std::move(rule);
      if (of_training) break;
    }
    return out;
  }

  /// How often its counter goes back where no epoch ends: to another phase, or another launch.
  [[nodiscard]] static std::int64_t restarts_of(const Candidate& main) {
    if (main.meaning.wraps) return 0;
    return falls_of(*main.shape, main.meaning.epoch.value_or(main.meaning.step));
  }

  /// How often number i is smaller than on the line before.
  [[nodiscard]] static std::int64_t falls_of(const LineShape& shape, std::size_t i) {
    std::int64_t out = 0;
    for (std::size_t k = 1; k < shape.examples.size(); ++k) {
      if (shape.examples[k].at(i).value < shape.examples[k - 1].at(i).value) ++out;
    }
    return out;
  }

  /// "Training complete in 651s" after "640,000/2,000,000 | 212s", which alone may be of any work.
  [[nodiscard]] bool has_closing_time(const LineShape& shape, const ShapeMeaning& meaning) const {
    return std::ranges::any_of(shapes_.shapes(), [&](const LineShape& other) {
      const auto place = other.place_of(Meaning::duration);
      return place && &other != &shape && names_training(other.examples.front().text) &&
             names_end(other, *place) && what_closes(other, {&shape, meaning}) == Closes::run;
    });
  }

  /// Its time is of something that has ended, and not of one of several or of a part: "Average time
  /// per epoch", "data loaded in 3.2 s", "inference took 3.2 s".
  [[nodiscard]] static bool names_end(const LineShape& shape, std::size_t place) {
    constexpr std::string_view kEnds[] = {"train",   "total", "finish", "complet", "exec",
                                          "elapsed", "took",  "takes",  "time"};
    constexpr std::string_view kOfSeveral[] = {"avg",  "average", "mean", " per ", "/",   "step",
                                               "iter", "batch",   "each", "left",  "eta", "remain"};
    constexpr std::string_view kParts[] = {"load",     "prepar",  "infer",  "predict",
                                           "sampling", "save",    "saving", "build",
                                           "compil",   "initial", "warm"};
    const ShapeLine& line = shape.examples.front();
    const LineNumber& number = line.at(place);
    // Of "running time from 1 to 0" nothing shows that it is one.
    if (number.whole && !number.own_unit && number.end == number.value_end) return false;
    const std::string text = lower(line.text);
    const std::string label = lower(line.label_of(number));
    const auto in = [](std::string_view where) {
      return [where](std::string_view word) { return where.find(word) != where.npos; };
    };
    const std::string_view before = std::string_view(text).substr(0, number.value_begin);
    return std::ranges::any_of(kEnds, in(text)) && std::ranges::none_of(kOfSeveral, in(label)) &&
           std::ranges::none_of(kParts, in(before)) && !names_other_work(before) &&
           (names_training(line.text) || !names_evaluation(before));
  }

  /// After each of its lines the counter begins again, or its epoch is another one, or nothing
  /// follows.
  [[nodiscard]] static Closes what_closes(const LineShape& shape, const Candidate& main) {
    const auto& lines = main.shape->examples;
    const ShapeMeaning& meaning = main.meaning;
    const bool all_kept = static_cast<std::int64_t>(lines.size()) == main.shape->lines;
    if (static_cast<std::int64_t>(shape.examples.size()) != shape.lines) return Closes::nothing;
    Closes out = Closes::nothing;
    for (const ShapeLine& closing : shape.examples) {
      const auto after = std::ranges::find_if(
          lines, [&](const ShapeLine& line) { return line.line > closing.line; });
      if (after == lines.begin()) return Closes::nothing;  // before all of them
      const ShapeLine& last = *std::prev(after);
      Closes one = Closes::run;
      if (after != lines.end()) {
        const auto went_back = [&](std::size_t i) { return after->at(i).value < last.at(i).value; };
        const bool next =
            meaning.epoch && after->at(*meaning.epoch).value == last.at(*meaning.epoch).value + 1;
        if (next || (meaning.wraps && went_back(meaning.step))) {
          one = Closes::epoch;
        } else if (!went_back(meaning.epoch ? *meaning.epoch : meaning.step)) {
          return Closes::nothing;
        }
      } else if (!all_kept && closing.line < main.shape->last_line) {
        return Closes::nothing;
      } else if (out == Closes::epoch || lower(closing.text).find("epoch") != std::string::npos) {
        // What was timed at the end of one epoch is timed at the end of the last as well.
        one = meaning.epoch || meaning.wraps ? Closes::epoch : Closes::run;
      }
      if (out != Closes::nothing && one != out) return Closes::nothing;
      out = one;
    }
    return out;
  }

  /// The sequences of the training set, where the log states them and each epoch has a time of its
  /// own: a clock alone goes on through evaluations. 0 where it does not.
  [[nodiscard]] std::int64_t sequences_of_epoch(const ShapeMeaning& meaning) const {
    const ShapeTimes& times = meaning.times;
    const bool by_clock = (times.clock || times.elapsed) && !times.seconds;
    return by_clock ? 0 : static_cast<std::int64_t>(shapes_.training_set());
  }

  /// The iterations of an epoch, where lines without a time show them: "epoch 3, iter 440/448" that
  /// begins again with each epoch, or "Epoch: 3, Steps: 448". 0 where they show none or several.
  [[nodiscard]] std::int64_t iterations_of_epoch() const {
    std::set<double> found;
    for (const LineShape& shape : shapes_.shapes()) {
      // Rows and lines of evaluations have no plain key.
      if (shape.plain_key.empty() || shape.examples.size() < 2) continue;
      auto of_shape = total_of_epoch(shape);
      const auto epoch = shape.place_of(Meaning::epoch), counter = shape.place_of(Meaning::counter);
      if (!of_shape && epoch && counter) of_shape = total_gone_past(shape, *epoch, *counter);
      if (!of_shape && epoch && counter) of_shape = constant_of_epochs(shape, *epoch, *counter);
      if (!of_shape && epoch) of_shape = total_of_first_bars(shape, *epoch);
      if (of_shape) found.insert(*of_shape);
    }
    if (found.empty()) found.insert(shapes_.epoch_steps());
    const double one = found.size() == 1 ? *found.begin() : 0;
    return one > static_cast<double>(kMostStepIterations) ? 0 : static_cast<std::int64_t>(one);
  }

  /// The total of a counter that came to it, but for the lines left out at its end.
  [[nodiscard]] static std::optional<double> total_of_epoch(const LineShape& shape) {
    const auto meaning = meaning_of(shape);
    if (!meaning || !meaning->epoch || !meaning->total_is_of_epoch) return std::nullopt;
    const double total = shape.examples[0].at(meaning->step).total;
    double most = 0, stride = 0, before = 0;
    for (const ShapeLine& line : shape.examples) {
      const LineNumber& number = line.at(meaning->step);
      if (number.total != total) return std::nullopt;
      most = std::max(most, number.value);
      stride = std::max(stride, number.value - std::exchange(before, number.value));
    }
    return total > 1 && most + stride >= total ? std::optional(total) : std::nullopt;
  }

  /// "Epoch[2] Iteration[140/128]" of ignite's examples: the counter goes on, its total does not.
  [[nodiscard]] static std::optional<double> total_gone_past(const LineShape& shape,
                                                             std::size_t epoch,
                                                             std::size_t counter) {
    const double first = shape.examples.front().at(epoch).value;
    const double total = shape.examples.front().at(counter).total;
    const bool fits = std::ranges::all_of(shape.examples, [&](const ShapeLine& line) {
      const double past = line.at(epoch).value - first;
      const LineNumber& number = line.at(counter);
      return number.total == total && number.value > past * total &&
             number.value <= (past + 1) * total;
    });
    const bool goes_on = shape.examples.back().at(epoch).value > first;
    return fits && goes_on && total > 1 ? std::optional(total) : std::nullopt;
  }

  /// "[5/93 00:00<00:03]" of the first bar of each epoch, its training, where bars of other totals
  /// and of the same name follow (fastprogress).
  [[nodiscard]] static std::optional<double> total_of_first_bars(const LineShape& shape,
                                                                 std::size_t epoch) {
    const auto place = shape.place_of(Meaning::place);
    if (!place || !shape.examples.front().has_time_of_bar()) return std::nullopt;
    double before = 0, total = 0;
    for (const ShapeLine& line : shape.examples) {
      if (line.at(epoch).value == std::exchange(before, line.at(epoch).value)) continue;
      if (total > 0 && line.at(*place).total != total) return std::nullopt;
      total = line.at(*place).total;
    }
    return total > 1 ? std::optional(total) : std::nullopt;
  }

  /// "Epoch: 52, Steps: 284": as many on the line of each epoch, in words for several.
  [[nodiscard]] static std::optional<double> constant_of_epochs(const LineShape& shape,
                                                                std::size_t epoch,
                                                                std::size_t counter) {
    const ShapeLine& first = shape.examples[0];
    const LineNumber& steps = first.at(counter);
    std::string_view label = first.label_of(steps);
    while (!label.empty() && !is_letter(label.back())) label.remove_suffix(1);
    if (!label.ends_with('s') || !(steps.value > 1)) return std::nullopt;
    for (std::size_t i = 1; i < shape.examples.size(); ++i) {
      const ShapeLine &before = shape.examples[i - 1], &now = shape.examples[i];
      if (now.at(counter).value != steps.value) return std::nullopt;
      if (!(now.at(epoch).value > before.at(epoch).value)) return std::nullopt;
    }
    return steps.value;
  }

  static bool has_time_of_one(const Json& rule) {
    return rule["pattern"].get<std::string>().find("(?P<seconds_per_iteration>") !=
           std::string::npos;
  }

  /// The time of an epoch as that of one of its iterations.
  static void scale_time(Json& rule, std::int64_t batches) {
    if (!has_time_of_one(rule)) return;
    const double one = rule.value("/scale/seconds_per_iteration"_json_pointer, 1.0);
    rule["scale"]["seconds_per_iteration"] = one / static_cast<double>(batches);
  }

  /// Rules for lines of evaluations that the rule would take for training.
  [[nodiscard]] std::vector<Json> evaluations(const Json& rule, const Candidate& of) const {
    std::vector<Json> out;
    const re2::RE2 re2 = pattern_of(rule);
    for (const LineShape& shape : shapes_.shapes()) {
      const bool evaluation = (shape.evaluation || shape.after_counter) && &shape != of.shape;
      if (!evaluation || !shape.counts() || shape.examples.size() < 2 || out.size() >= 8) continue;
      if (!re2::RE2::PartialMatch(shape.examples.front().text, re2)) continue;
      // "Test: [3/7] iter: 77" with the iteration of the training, which stands still.
      const auto meaning =
          has_numbers_of(shape, *of.shape) ? std::optional(of.meaning) : meaning_of(shape);
      if (!meaning) continue;
      auto evaluated = rule_of(shape, taken_of(shape, *meaning), std::nullopt);
      if (!evaluated) continue;
      (*evaluated)["kind"] = "evaluation";
      out.push_back(std::move(*evaluated));
    }
    return out;
  }

  /// The same kinds of numbers in the same order.
  [[nodiscard]] static bool has_numbers_of(const LineShape& shape, const LineShape& other) {
    const ShapeLine &a = shape.examples.front(), &b = other.examples.front();
    const auto meanings_of = [](const ShapeLine& line) {
      return [&line](std::size_t i) { return line.numbers[i].meaning; };
    };
    return std::ranges::equal(a.key, b.key, {}, meanings_of(a), meanings_of(b));
  }

  /// Other lines have the time that is left, and a rule must not take it for its own: of "Epoch:
  /// 1/6 Train steps: 120 4.9s" next to "Epoch: 1/6 Step: 3/120 ETA: 5.1s".
  [[nodiscard]] bool others_have_time_left(const LineShape& shape) const {
    return std::ranges::any_of(shapes_.shapes(), [&](const LineShape& other) {
      return &other != &shape && number_on_all(other, Meaning::left);
    });
  }

  [[nodiscard]] static double first_step_of(const LineShape& shape, const ShapeMeaning& meaning) {
    return shape.examples.front().at(meaning.step).value;
  }

  /// Most of the steps up are of one; launches and repeated lines part them.
  [[nodiscard]] static bool counts_by_one(const LineShape& shape, const ShapeMeaning& meaning) {
    int one = 0, more = 0;
    for (std::size_t i = 1; i < shape.examples.size(); ++i) {
      const auto value_at = [&](std::size_t line) {
        return shape.examples[line].at(meaning.step).value;
      };
      const double up = value_at(i) - value_at(i - 1);
      if (up > 0) ++(up == 1 ? one : more);
    }
    return one > more;
  }

  /// Median of number i of the lines, in seconds where it is a time.
  static double median_of(const LineShape& shape, std::size_t i) {
    return median(values_of(shape, i));
  }

  /// What the lines that come once with each record show of an iteration's time.
  struct TimesOfCompanions {
    bool elapsed = false;            ///< some have the time since the start
    double longest_s = 0;            ///< of what a record's lines show to have taken in it
    std::vector<double> iterations;  ///< seconds of one, by each that has them
    std::vector<double> by_elapsed;  ///< likewise, by what the time since the start grows by
  };
  [[nodiscard]] TimesOfCompanions times_of_companions(const Candidate& main, bool of_each) const {
    TimesOfCompanions out;
    for (const LineShape* const one : shapes_with(*main.shape)) {
      const LineShape& shape = *one;
      const ShapeTimes times =
          companion_times(shape, of_each, first_step_of(*main.shape, main.meaning));
      out.elapsed = out.elapsed || times.elapsed;
      if (times.elapsed && shape.examples.size() > 1) {
        const std::vector<double> values = values_of(shape, *times.elapsed);
        const double each =
            (values.back() - values.front()) / static_cast<double>(values.size() - 1);
        if (each > 0) out.by_elapsed.push_back(each / main.meaning.stride);
      }
      if (times.seconds) out.longest_s = std::max(out.longest_s, median_of(shape, *times.seconds));
      const auto& each = times.seconds_per_iteration;
      if (each) out.iterations.push_back(median_of(shape, *each));
    }
    return out;
  }

  /// "| time_elapsed | 12 |"
  [[nodiscard]] static bool is_boxed(const ShapeLine& line) {
    return line.text.front() == '|' && std::ranges::count(line.text, '|') == 3;
  }

  /// A rate on a line of its own that counts the steps of a simulation, of which an iteration of
  /// the training has many: "Steps per second: 3100" next to "Iteration time: 0.17s", and
  /// "| fps | 3100 |" next to "| time_elapsed | 12 |".
  [[nodiscard]] static bool is_of_simulation(const LineShape& shape, std::size_t rate,
                                             const TimesOfCompanions& others) {
    constexpr double kLeastProduct = 0.5, kMostProduct = 2;  // of a rate and the time of one
    const ShapeLine& line = shape.examples.front();
    if (is_boxed(line) && others.elapsed) return true;
    if (!is_boxed(line) && line.at(rate).unit != RateUnit::iterations_per_second) return false;
    const double printed = median_of(shape, rate);
    const auto differs = [&](double seconds) {
      return printed * seconds < kLeastProduct || printed * seconds > kMostProduct;
    };
    return std::ranges::any_of(others.iterations, differs) ||
           std::ranges::any_of(others.by_elapsed, differs);
  }

  /// "EnvExecTime 0.36" of epochs that take 4 s by the stamps is of a part.
  [[nodiscard]] static bool fits_clock(const Candidate& main, double seconds) {
    constexpr double kLeastShare = 0.6, kMostShare = 1.3;  // as of a time on the line itself
    constexpr double kCoarse_s = 1;                        // of stamps of whole seconds
    const double interval = main.meaning.clock_interval_s;
    return !(interval > 0) || (seconds >= kLeastShare * (interval - kCoarse_s) &&
                               seconds <= kMostShare * (interval + kCoarse_s));
  }

  /// "Training time: 00:03:19" once with each thousandth iteration is of all of them.
  [[nodiscard]] static bool is_of_interval(const LineShape& shape, const Candidate& main) {
    const auto place = shape.place_of(Meaning::duration);
    return place && median_of(shape, *place) * main.meaning.stride > kLongestInterval_s;
  }

  /// A clock goes on by more than what took a part of each interval; "(0.7s)", "(1.2s)", "(1.9s)"
  /// next to "generated in 147.1s" are of parts that take ever longer.
  [[nodiscard]] static bool has_room_for(const LineShape& shape, std::size_t elapsed,
                                         double longest_s) {
    constexpr double kRounding = 0.7;  // of the longest: both may be of whole seconds
    const auto value = [&](const ShapeLine& line) {
      return line.at(elapsed).value * line.at(elapsed).scale;
    };
    const double span = value(shape.examples.back()) - value(shape.examples.front());
    return span >= kRounding * longest_s * static_cast<double>(shape.examples.size() - 1);
  }

  /// Lines that come once with each record and have what that lacks.
  std::vector<Json> companions(const Candidate& main, bool wants_loss, bool& timed) const {
    const ShapeTimes& own = main.meaning.times;
    ShapeTimes besides = own;
    besides.clock.reset();
    bool wants_time = !besides.any();
    const bool of_each = counts_by_one(*main.shape, main.meaning);
    std::vector<Json> out;
    const TimesOfCompanions others = times_of_companions(main, of_each);
    // Of several times that of the training is nearest to what is asked for, then the total.
    auto shapes = shapes_with(*main.shape);
    const double first = first_step_of(*main.shape, main.meaning);
    const auto rank = [&](const LineShape* shape) {
      const auto time = shape->place_of(Meaning::duration);
      if (!time) return 2;
      const ShapeLine& line = shape->examples.front();
      if (names_training(line.text)) return 0;
      return line.at(*time).since_start && companion_times(*shape, of_each, first).seconds ? 1 : 2;
    };
    std::ranges::stable_sort(shapes, std::less<>(), rank);
    for (const LineShape* const one : shapes) {
      const LineShape& shape = *one;
      const auto loss = wants_loss ? loss_of(shape) : std::nullopt;
      ShapeTimes times;
      if (wants_time) {
        times = companion_times(shape, of_each || is_of_interval(shape, main), first);
      }
      if (own.clock) times.clock.reset();
      if (times.rate && is_of_simulation(shape, *times.rate, others)) times.rate.reset();
      if (times.elapsed && !has_room_for(shape, *times.elapsed, others.longest_s))
        times.elapsed.reset();
      // "Learning time: 0.06s" next to "Iteration time: 0.16s" is of a part.
      if (!others.iterations.empty() && !main.meaning.step_is_epoch) times.seconds.reset();
      if (times.seconds && !fits_clock(main, median_of(shape, *times.seconds))) {
        times.seconds.reset();
      }
      auto& each = times.seconds_per_iteration;
      if (own.clock && !of_each && each &&
          is_meter_of_single_steps(shape, *each, main.meaning.clock_interval_s))
        each.reset();
      std::vector<Taken> taken;
      take_times(times, taken);
      auto rule = rule_of(shape, taken, loss);
      if (!rule) continue;
      (*rule)["continues"] = true;
      timed = timed || times.any();
      wants_time = wants_time && !times.any();
      wants_loss = wants_loss && !loss;
      out.push_back(std::move(*rule));
    }
    return out;
  }

  const LineShapes& shapes_;
  bool of_training_;
  Commas commas_;
  std::string_view name_;
};

}  // namespace

void FormatInducer::feed(std::string_view bytes) {
  if (!decided_) {
    const std::size_t n = std::min(kCommaReach - head_.size(), bytes.size());
    head_ += bytes.substr(0, n);
    bytes.remove_prefix(n);
    if (head_.size() < kCommaReach) return;
    decide_commas();
  }
  look_at(bytes);
}

void FormatInducer::decide_commas() {
  decided_ = true;
  commas_ = commas_of(head_);
  shapes_.set_commas(commas_);
  look_at(std::exchange(head_, {}));
}

void FormatInducer::look_at(std::string_view bytes) {
  constexpr std::size_t kPart = std::size_t{4} << 10;  // so that no block's length decides
  while (!bytes.empty() && !settled_ && bytes_ < kReach) {
    const std::size_t n = std::min(kPart - bytes_ % kPart, bytes.size());
    shapes_.feed(bytes.substr(0, n));
    bytes_ += n;
    bytes.remove_prefix(n);
    if (shapes_.filled()) settled_ = Induction(shapes_, of_training_).settled();
  }
}

std::optional<InducedFormat> FormatInducer::finish(std::string_view name) {
  if (!decided_) decide_commas();
  if (!settled_) shapes_.finish();
  return Induction(shapes_, of_training_, commas_).run(name);
}

std::optional<UnreadTraining> FormatInducer::unread_training() const {
  return Induction(shapes_, of_training_).unread_training();
}

std::string_view lack_text(Lack lack) {
  constexpr std::string_view kTexts[] = {
      "has a time or a rate but no counter",
      "has a counter that does not grow",
      "stands alone",
      "does not show that it is of a training",
      "has a counter but no time and no rate",
      "has no text that all such lines have",
  };
  return kTexts[static_cast<std::size_t>(lack)];
}

std::vector<NearLine> FormatInducer::nearest() const {
  return Induction(shapes_, of_training_).nearest();
}

}  // namespace bertbench
