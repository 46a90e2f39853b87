#include "parsers/generic/line_numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "parsers/core/text.h"
#include "parsers/generic/loop_words.h"
#include "parsers/generic/number_units.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/decimal.h"
#include "parsers/lines/decoration.h"
#include "parsers/lines/spelled_duration.h"

namespace bertbench {
namespace {

constexpr Words kBeginnings({"starting", "start", "begin", "beginning"});
// Words of a time or a rate that is not that of the iterations as they come.
constexpr Words kExtremes({"max", "maximum", "min", "minimum", "best", "worst", "peak", "target",
                           "fastest", "slowest", "std", "decode", "prefill", "gen"});
constexpr Words kInitials({"s", "i", "b", "u"});  // likewise: "e=0 s=20/1200"
// Of those the words of the time until the end.
constexpr Words kLeft({"eta", "remaining", "remain", "left", "剩余", "预计", "残り", "남은",
                       "restante", "reste", "restant", "resta", "falta", "faltan", "осталось",
                       "verbleibend", "rest", "kalan"});
constexpr Words kOneIteration({"step", "iter", "iteration", "it", "batch", "update"});
constexpr Words kOtherTimes({"data",       "load",       "loading", "estimated", "expected",
                             "est",        "save",       "saving",  "finish",    "forward",
                             "backward",   "fwd",        "bwd",     "sampling",  "reset",
                             "io",         "collection", "reader",  "预计",      "saved",
                             "checkpoint", "ckpt",       "warmup",  "timeout",   "gc",
                             "dataloader", "loader",     "idle"});
// Of what stands next to the steps of a training and has a rate as well.
constexpr Words kPartsWithRates({"rollout", "rollouts", "generation", "generate", "generated",
                                 "collect", "env"});
// Of those the passes through the model.
constexpr Words kPasses({"forward", "backward", "fwd", "bwd"});
// Before a place: "[Train 10/1882]".
constexpr Words kProgress({"train", "training", "trained", "progress"});
constexpr Words kRates({"speed", "throughput", "rate", "perf", "performance", "average", "avg",
                        "mean", "running", "current", "at"});

/// "Tokens / " of "Tokens / Sec: 125", which ends before `end`.
bool ends_with_per(std::string_view line, std::size_t end) {
  constexpr std::string_view kPer = " / ";
  return end > kPer.size() && line.substr(end - kPer.size(), kPer.size()) == kPer &&
         is_letter(line[end - kPer.size() - 1]);
}

/// Before the type of "'loss': np.float64(1.42)" and "loss=tensor(1.42, device='cuda:0')", whose
/// number is at `at`; `at` itself where none is printed.
std::size_t before_call(std::string_view line, std::size_t from, std::size_t at) {
  if (at == 0 || line[at - 1] != '(') return at;
  std::size_t begin = at - 1;
  while (begin > from && (is_word(line[begin - 1]) || line[begin - 1] == '.')) --begin;
  const std::string_view before = trim(line.substr(from, begin - from));
  const bool named = before.ends_with(':') || before.ends_with('=');
  return named && begin + 1 < at && is_letter(line[begin]) ? begin : at;
}

/// Where the label of the number at `at` begins, after `from`: its words, with what parts them from
/// the number.
std::size_t label_begin(std::string_view line, std::size_t from, std::size_t at) {
  std::size_t i = before_call(line, from, at);
  // "|    total_timesteps | 2048 |": a name and its value in a box.
  const bool boxed =
      line.find_first_not_of(" \t") == line.find('|') && std::ranges::count(line, '|') == 3;
  const auto back_over = [&](auto&& fits) {
    while (i > from && fits(line[i - 1])) --i;
  };
  const auto wide_mark_ends = [&] {
    constexpr std::size_t kWide = 3;  // bytes
    return i >= from + kWide && wide_mark(line.substr(i - kWide, kWide)) > 0;
  };
  const auto back_over_marks = [&] {
    back_over([boxed](char c) {
      return c == ' ' || c == ':' || c == '=' || c == '~' || c == '#' || c == '\'' || c == '"' ||
             c == '[' || c == '(' || c == '\t' || (c == '|' && boxed);
    });
  };
  back_over_marks();
  while (wide_mark_ends()) {  // "当前Batch：10"
    i -= 3;
    back_over_marks();
  }
  // "Time (mins): ", "Speed (samples/sec) ", "throughput[tok/s] "
  if (i > from && (line[i - 1] == ')' || line[i - 1] == ']')) {
    constexpr std::size_t kLongestUnit = 24;  // bytes, with its brackets
    const auto open = line.rfind(line[i - 1] == ')' ? '(' : '[', i - 1);
    if (open != std::string_view::npos && open > from && i - open < kLongestUnit &&
        is_any_letter(line[open + 1])) {
      i = open;
      back_over([](char c) { return c == ' '; });
    }
  }
  // Words with single blanks between them, up to what parts fields.
  while (i > from && !wide_mark_ends()) {
    const char c = line[i - 1];
    const bool blank = c == ' ' && i - 1 > from && (is_word(line[i - 2]) || ends_with_per(line, i));
    if (!is_word(c) && c != '-' && c != '/' && c != '.' && !blank) break;
    if (c == '-' && i - 1 > from && line[i - 2] == ' ') break;
    --i;
  }
  // The unit of a number before it that was not taken: "1.9s total 3.1s".
  if (i > 0 && is_digit(line[i - 1])) {
    while (i < at && is_any_letter(line[i])) ++i;
  }
  while (i < at && (line[i] == ' ' || line[i] == '-' || line[i] == '.')) ++i;
  return i;
}

struct FoundStamp {
  std::size_t begin = 0;
  Stamp stamp;
};

/// "[INFO][", "INFO: ": a level and marks.
bool is_level(std::string_view text) {
  static constexpr Words kLevels({"info", "warning", "warn", "error", "debug", "critical"});
  const Label label(text);
  return label.count == 1 && label.has(kLevels) && std::ranges::all_of(text, [](char c) {
           return is_letter(c) || std::string_view("[]() :-|").find(c) != std::string_view::npos;
         });
}

/// Of a time between 2001 and 2286, in seconds or milliseconds.
std::optional<double> seconds_since_1970(double value) {
  constexpr double kEarliest_s = 1e9, kLatest_s = 1e10, kMillisecond_s = 1e-3;
  for (const double seconds : {value, value * kMillisecond_s}) {
    if (seconds > kEarliest_s && seconds < kLatest_s) return seconds;
  }
  return std::nullopt;
}

/// "1715700019.123 step 20" and "[1715700019] step 20", seconds or milliseconds since 1970,
/// "[   12.345] step 20", seconds since the start as the kernel prints them, and those of a
/// notebook's log, "28.8s<TAB>16<TAB>step 20": before all text.
std::optional<FoundStamp> seconds_at_front(std::string_view line) {
  const bool bracket = line.starts_with('[');
  const std::size_t begin = std::min(line.find_first_not_of(' ', bracket ? 1 : 0), line.size());
  const std::size_t point = digits_after(line, begin);
  if (point == begin) return std::nullopt;
  const bool fraction = point + 1 < line.size() && line[point] == '.' && is_digit(line[point + 1]);
  const std::size_t end = fraction ? digits_after(line, point + 1) : point;
  const std::string_view rest = line.substr(end);
  const bool of_notebook = rest.starts_with("s\t") && without_transport(line).size() < rest.size();
  const bool closes = bracket ? rest.starts_with(']')
                              : of_notebook || rest.starts_with(' ') || rest.starts_with('\t') ||
                                    rest.starts_with(": ") || rest.starts_with(", ");
  const auto value = closes ? to_double(line.substr(begin, end - begin)) : std::nullopt;
  if (!value) return std::nullopt;
  const auto since_1970 = seconds_since_1970(*value);
  if (!since_1970 && !(bracket && fraction) && !of_notebook) return std::nullopt;
  return FoundStamp{begin, Stamp{since_1970.value_or(*value), true, true, end - begin}};
}

/// The stamp that a logger puts before its text. The time of day alone only at the very front, or
/// after a level.
std::optional<FoundStamp> stamp_in(std::string_view line) {
  if (const auto seconds = seconds_at_front(line)) return seconds;
  constexpr std::size_t kFront = 100;  // bytes in which loggers put their stamps
  for (std::size_t at = 0; at < std::min(line.size(), kFront); ++at) {
    // A digit, or a capital: absl's level, the day of the week.
    if (!is_digit(line[at]) && (line[at] < 'A' || line[at] > 'Z')) continue;
    if (at > 0 && is_word(line[at - 1])) continue;
    if (at > 1 && line[at - 1] == '-' && is_letter(line[at - 2])) continue;  // "bert-2023-11-23"
    const std::string_view text = line.substr(at);
    const bool front = at == 0 || (at == 1 && (line[0] == '[' || line[0] == '(')) ||
                       is_level(line.substr(0, at)) || trim(line.substr(0, at)).ends_with("日");
    for (const bool day_first : {false, true}) {
      const auto stamp = front ? any_stamp_or_time(text, day_first) : any_stamp(text, day_first);
      if (!stamp) continue;
      const std::string_view rest = text.substr(stamp->length);
      const bool closes = rest.find_first_of("]) ") == 0 || wide_mark(rest) > 0;
      if (!stamp->names_day && !closes && !rest.starts_with(": ")) continue;
      return FoundStamp{at, *stamp};
    }
  }
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(std::string_view line, Commas commas = Commas::thousands, bool amounts = false)
      : line_(line), commas_(commas), takes_amounts_(amounts) {}
  /// A number with an unclear comma that is no counter.
  [[nodiscard]] bool left_out() const { return left_out_; }
  /// A number is an amount, whether amounts are taken or not.
  [[nodiscard]] bool has_amounts() const { return has_amounts_; }

  std::vector<LineNumber> read() {
    if (const auto found = stamp_in(line_)) {
      before_stamp(found->begin);
      LineNumber clock;
      clock.meaning = Meaning::clock;
      clock.begin = clock.value_begin = found->begin;
      clock.end = clock.value_end = found->begin + found->stamp.length;
      clock.value = found->stamp.seconds;
      out_.push_back(clock);
      at_ = from_ = clock.end;
      // "2024-05-01T10:00:00Z stdout F step 3": the rest of what a container put there.
      const std::size_t text = line_.size() - without_transport(line_).size();
      at_ = from_ = std::max(at_, text);
    }
    while (at_ < line_.size() && out_.size() < kMostNumbers) {
      const char c = line_[at_];
      const bool digit = is_digit(c);
      const bool inside = at_ > 0 && is_name_char(line_[at_ - 1]);
      if (!digit && (inside || (lower(c) != 'n' && lower(c) != 'i'))) {
        ++at_;
        continue;
      }
      const bool after_mark = at_ >= 3 && wide_mark(line_.substr(at_ - 3)) > 0;
      const bool after_word = at_ > 0 && is_word(line_[at_ - 1]) && !after_mark &&
                              (is_digit(line_[at_ - 1]) || is_latin_at(line_, at_ - 1));
      if (digit && (!after_word || after_counter())) {
        number();
      } else if (after_word || !not_finite()) {
        digit ? skip_word() : void(++at_);
      }
    }
    leave_out_parts();
    take_total_of_parts();
    return std::move(out_);
  }

 private:
  static constexpr std::size_t kMostNumbers = 32;

  /// "rollout tok/s 3011 | train tok/s 30117", "samples/s/gpu 235 | samples/s 941": a rate of a
  /// part goes where the line has one that is of all.
  void leave_out_rates_of_parts() {
    const auto is_rate = [](const LineNumber& number) { return number.meaning == Meaning::rate; };
    if (std::ranges::count_if(out_, is_rate) < 2) return;
    const auto is_of_part = [&](const LineNumber& number) {
      return number.of_part && std::ranges::any_of(out_, [&](const LineNumber& other) {
               return is_rate(other) && !other.of_part;
             });
    };
    const auto is_of_one_gpu = [&](const LineNumber& number) {
      return number.of_one_gpu && std::ranges::any_of(out_, [&](const LineNumber& other) {
               return is_rate(other) && !other.of_one_gpu && !is_of_part(other) &&
                      other.unit == number.unit;
             });
    };
    std::vector<LineNumber> kept;
    std::size_t unit_before = 0;  // of a rate that was left out right before this number
    for (const LineNumber& number : out_) {
      if (is_rate(number) && (is_of_part(number) || is_of_one_gpu(number))) {
        const bool unit_after = number.end > number.value_end && line_[number.value_end] == ' ';
        unit_before = unit_after ? line_.find_first_not_of(' ', number.value_end) : 0;
        continue;
      }
      kept.push_back(number);
      // "3.3k tok/s/gpu | 211.4k tok/s": by its own unit alone it could be the first one as well.
      const std::size_t from = std::exchange(unit_before, 0);
      if (from > 0 && is_rate(number)) kept.back().begin = from;
    }
    out_ = std::move(kept);
  }

  /// "forward 0.015s backward 0.030s step 0.005s": what is shorter than a pass through the model is
  /// another part of an iteration.
  void leave_out_parts() {
    leave_out_rates_of_parts();
    if (longest_pass_s_ == 0) return;
    std::erase_if(out_, [&](const LineNumber& number) {
      const bool time =
          number.meaning == Meaning::duration || number.meaning == Meaning::per_iteration;
      return time && !number.since_start && number.value * number.scale < longest_pass_s_;
    });
  }

  /// "data 0.062 fwd 0.185 bwd 0.308 total 0.615": parts of a step without a unit, among them a
  /// pass through the model, that add up to most of a total: a time, of one step or of several.
  /// Losses add up too ("data 0.4 pde 0.3 total 0.7").
  void take_total_of_parts() {
    constexpr double kLeastShare = 0.8, kRounding = 1.01;  // of the total
    constexpr double kLongest_s = 60;  // more is in milliseconds, as a kernel's timer has them
    const auto total = total_of_parts_;
    if (!total || parts_ < 2 || !any_pass_ || total->value > kLongest_s ||
        !(sum_of_parts_ >= kLeastShare * total->value &&
          sum_of_parts_ <= kRounding * total->value)) {
      return;
    }
    const auto place = std::ranges::upper_bound(out_, total->begin, {}, &LineNumber::begin);
    out_.insert(place, *total)->meaning = Meaning::duration;
  }

  /// A fraction that means nothing by itself may be the total or a part.
  void note_part(const LineNumber& number, const Label& name) {
    static constexpr Words kTotal({"total"});
    if (number.whole || std::isnan(number.value)) return;
    if (name.has(kOtherTimes) || name.has(words::kPartWords)) {
      sum_of_parts_ += number.value;
      ++parts_;
      any_pass_ = any_pass_ || name.has(kPasses);
    } else if (name.has(kTotal) && !total_of_parts_) {
      total_of_parts_ = number;
    }
  }

  /// "step 100 loss 21.1 time 2018-05-02 11:14:37": a stamp at the end, where a counter with a word
  /// of its own stands before it, or a loss. What else stands before stamps is the logger's.
  void before_stamp(std::size_t begin) {
    if (begin == 0) return;
    auto before = Reader(line_.substr(0, begin), commas_, takes_amounts_).read();
    if (std::ranges::any_of(before, [](const LineNumber& number) {
          return number.meaning == Meaning::epoch || number.meaning == Meaning::counter ||
                 number.meaning == Meaning::loss || number.meaning == Meaning::amount;
        })) {
      out_ = std::move(before);
    }
  }

  void skip_word() {
    while (at_ < line_.size() &&
           (is_word(line_[at_]) ||
            (line_[at_] == '.' && at_ + 1 < line_.size() && is_digit(line_[at_ + 1])))) {
      ++at_;
    }
    // The 64 of "np.float64(1.42)" parts no label from its number.
    const std::string_view rest = line_.substr(at_);
    const bool call = rest.size() > 1 && rest[0] == '(' && (is_digit(rest[1]) || rest[1] == '-');
    if (!call) from_ = at_;
  }

  /// "epoch12", "step100", "epoch_012: ": the digits right after a word that counts. In
  /// "model_epoch_12" and "epoch_12.pt" it is a part of a name.
  [[nodiscard]] bool after_counter() const {
    std::size_t begin = at_;
    if (begin > 0 && line_[begin - 1] == '_') {
      const std::size_t end = digits_after(line_, at_);
      if (end < line_.size() &&
          std::string_view(":, ])").find(line_[end]) == std::string_view::npos) {
        return false;
      }
      --begin;
    }
    const std::size_t word_end = begin;
    while (begin > 0 && is_any_letter(line_[begin - 1])) --begin;
    const bool joined = word_end < at_;
    if (begin == word_end || (begin > 0 && is_digit(line_[begin - 1]))) return false;
    if (joined && begin > 0 && line_[begin - 1] != ' ' && line_[begin - 1] != '[') return false;
    // "_Iter1" of a program.
    if (begin > 0 && line_[begin - 1] == '_' && (begin == 1 || !is_any_letter(line_[begin - 2]))) {
      return false;
    }
    std::string word;
    const auto small = word_at(line_, begin, word);
    if (small.size() > 1) {
      // "[rank0] ", "worker0: "
      const std::size_t end = digits_after(line_, at_);
      const bool label = !joined && end < line_.size() && names_process(small) &&
                         std::string_view(":])").find(line_[end]) != std::string_view::npos;
      return label || holds(words::kIterations, small) || holds(words::kEpochs, small);
    }
    // "E003 B0206/0412", "s00010": zeros in front, as of no version or size.
    constexpr std::size_t kDigits = 3;
    return !joined && is_letter_of_counter(small) && line_[at_] == '0' &&
           digits_after(line_, at_) >= at_ + kDigits;
  }

  static bool is_letter_of_counter(std::string_view small) {
    constexpr std::string_view kLetters = "ebis";  // epoch, batch, iteration, step
    return small.size() == 1 && kLetters.find(small) != std::string_view::npos;
  }

  /// "nan", "inf"
  bool not_finite() {
    std::string word;
    const auto small = word_at(line_, at_, word);
    if (small != "nan" && small != "inf" && small != "infinity") return false;
    LineNumber found;
    found.value = std::nan("");
    found.value_begin = at_;
    at_ = found.value_end = at_ + small.size();
    add(found);
    return true;
  }

  void number() {
    LineNumber found;
    found.value_begin = at_;
    std::size_t end = digits_after(line_, at_);
    if (is_date(end)) return skip_date(end);
    if (has_other_thousands(end)) return skip_marked(digits_after(line_, end + 1));
    const bool days = line_.substr(end).starts_with(" day");  // "2 days, 14:13:20"
    if ((days && days_of(found)) || spelled(found)) return;
    if (end + 2 < line_.size() && line_[end] == ':' && is_digit(line_[end + 1]) &&
        is_digit(line_[end + 2])) {
      return time_of(found);
    }
    const auto thousands = [&] {
      return commas_ != Commas::decimal && has_thousands_at(line_, end);
    };
    // "0,099" parts no thousands: no number of a log whose commas do.
    if (line_[at_] == '0' && thousands()) return skip_marked(end);
    while (end - at_ <= 15 && thousands()) end += 4;
    unclear_ = commas_ == Commas::unclear && line_.substr(at_, end - at_).find(',') < end - at_;
    found.whole = true;
    const bool comma = commas_ == Commas::decimal && mark_in_number(end, ',');
    if (comma || mark_in_number(end, '.')) {
      end = digits_after(line_, end + 1);
      found.whole = false;
      // "0,1,2" and "1.234,5" next to decimal commas, where "12.043" may part thousands as well.
      constexpr std::size_t kThousands = 4;  // bytes: of ".043"
      const bool group =
          !comma && line_[at_] != '0' && end > at_ + kThousands && line_[end - kThousands] == '.';
      if (commas_ == Commas::decimal && (group || mark_in_number(end, ','))) {
        return skip_marked(end);
      }
    }
    if (end + 1 < line_.size() && (line_[end] == 'e' || line_[end] == 'E')) {
      std::size_t e = end + 1;
      if (e + 1 < line_.size() && (line_[e] == '-' || line_[e] == '+')) ++e;
      if (is_digit(line_[e])) {
        found.whole = false;
        end = digits_after(line_, e);
      }
    }
    // "6086.5+14.8s": a sum, of which no number is the whole.
    if (!found.whole && mark_in_number(end, '+')) {
      at_ = from_ = std::min(line_.find_first_not_of("0123456789.eE+-", end), line_.size());
      return;
    }
    std::string digits(line_.substr(at_, end - at_));
    if (comma) std::ranges::replace(digits, ',', '.');
    std::erase(digits, ',');
    found.value = to_double(digits).value_or(std::nan(""));
    const bool sign = at_ > from_ && line_[at_ - 1] == '-' && (at_ < 2 || !is_word(line_[at_ - 2]));
    if (sign) {
      found.value = -found.value;
      found.value_begin = at_ - 1;
      found.whole = false;
    }
    // "37.2k": what is rounded so is no counter where the line has another one.
    if (end < line_.size() && std::string_view("kKMB").find(line_[end]) != std::string_view::npos &&
        (end + 1 == line_.size() || !is_word(line_[end + 1]))) {
      found.value *= suffix_scale(line_[end]);
      found.whole = false;
      found.rounded = !comma;
      ++end;
    }
    const bool version = end + 1 < line_.size() && line_[end] == '.' && is_digit(line_[end + 1]);
    if (version) return skip_word();
    if (end < line_.size() && is_any_letter(line_[end])) {
      const Unit unit = unit_at(line_.substr(end));
      if (in_minutes(end, found)) return;
      if (found.whole) suffix_ = counting_suffix(end);
      if (unit.length == 0 && !suffix_ && is_latin_at(line_, end)) return skip_word();
    }
    found.value_end = end;
    at_ = end;
    if (found.whole && pair(found)) return;
    if (found.whole || (takes_amounts_ && found.rounded)) total_of(found);
    // "[3][40/391]", "[train: 3, 40 / 391]": the number before a place is the epoch.
    if (found.whole && !found.has_total() && (before_place() || leads_place(found))) {
      found.meaning = Meaning::epoch;
    }
    add(found);
  }

  /// The "182.3m" at the end of "[36 68000/75400] loss 0.1878 lr 2.21e-05 182.3m", which no word
  /// names, those of "elapsed 4.00m" and "eta: 3.80m", and of "[0.20m<3.80m]": minutes.
  bool in_minutes(std::size_t end, LineNumber& found) {
    const std::size_t begin = found.value_begin;
    const std::string_view rest = line_.substr(end);
    if (found.whole || begin == 0 || rest[0] != 'm' || (rest.size() > 1 && is_word(rest[1]))) {
      return false;
    }
    const std::size_t label = label_begin(line_, from_, begin);
    const bool closes = rest.size() == 1 || rest[1] == ')' || rest[1] == ']';
    const bool at_end = closes && !out_.empty() && line_[begin - 1] == ' ' && label == begin;
    const Label words(line_.substr(label, begin - label));
    const bool named = words.has(words::kTimes) || words.has(kLeft);
    const bool after_mark = line_[begin - 1] == '<';
    const bool of_bar =
        (line_[begin - 1] == '[' && rest.starts_with("m<")) || (after_mark && closes);
    if (!at_end && !named && !of_bar) return false;
    constexpr double kMinute_s = 60;
    found.value *= kMinute_s;
    found.value_end = end + 1;
    found.own_unit = true;
    found.meaning = Meaning::duration;
    at_ = end + 1;
    // What is left of a bar's time has no word that names it so.
    after_mark ? skip_word() : add(found);
    return true;
  }

  /// "12'043", and "12 043 samples/s" where the 12 is no counter: the mark may part thousands, and
  /// may not. `end` is that of the first digits.
  [[nodiscard]] bool has_other_thousands(std::size_t end) const {
    constexpr std::size_t kGroup = 3;  // digits
    if (end - at_ > kGroup || end >= line_.size()) return false;
    const std::size_t last = digits_after(line_, end + 1);
    if (last != end + 1 + kGroup || (last < line_.size() && is_word(line_[last]))) return false;
    if (line_[end] == '\'') return true;
    if (line_[end] != ' ' || unit_at(line_.substr(last)).meaning != Meaning::rate) return false;
    const std::size_t begin = label_begin(line_, from_, at_);
    const Label label(line_.substr(begin, at_ - begin));
    return begin != message_begin() && !names_counter(label.last());
  }

  /// The rest of digits, commas and points from `end` on.
  void skip_marked(std::size_t end) {
    at_ = from_ = std::min(line_.find_first_not_of("0123456789,.", end), line_.size());
  }

  /// A mark with a digit after it.
  [[nodiscard]] bool mark_in_number(std::size_t at, char mark) const {
    return at + 1 < line_.size() && line_[at] == mark && is_digit(line_[at + 1]);
  }

  /// "02/05/2018", "2018-05-02": three numbers with the same mark between them; `end` is that of
  /// the first.
  [[nodiscard]] bool is_date(std::size_t end) const {
    if (end + 1 >= line_.size() || (line_[end] != '/' && line_[end] != '-')) return false;
    const std::size_t second = digits_after(line_, end + 1);
    return second > end + 1 && mark_in_number(second, line_[end]);
  }

  /// With the time of day after it, if any: " 11:51", "T11:51:07.123", "--11:51". In
  /// "2023-11-23-12:00:34" the third mark is none of the date.
  void skip_date(std::size_t end) {
    at_ = digits_after(line_, digits_after(line_, end + 1) + 1);
    constexpr std::string_view kBetween = " -T_";
    std::size_t time = at_;
    while (time < line_.size() && time < at_ + 2 &&
           kBetween.find(line_[time]) != std::string_view::npos)
      ++time;
    const std::size_t colon = digits_after(line_, time);
    if (colon > time && line_.substr(colon).starts_with(':')) {
      at_ = std::min(line_.find_first_not_of("0123456789:.", colon), line_.size());
    } else if (const auto hours = spelled_duration(line_.substr(time))) {  // "2023-03-01 10h00m29s"
      at_ = time + hours->length;
    }
    from_ = at_;
  }

  /// "14epoch", "375batch", but not the plan "for 10epochs".
  [[nodiscard]] std::optional<Unit> counting_suffix(std::size_t end) const {
    std::string word;
    const auto small = word_at(line_, end, word);
    constexpr std::size_t kLeastLetters = 4;  // "it" and "ep" are too short
    if (small.size() < kLeastLetters || small.ends_with('s')) return std::nullopt;
    if (among(words::kEpochs, small)) return Unit{Meaning::epoch, {}, 1, small.size()};
    if (among(words::kIterations, small)) return Unit{Meaning::counter, {}, 1, small.size()};
    return std::nullopt;
  }

  /// "[1,  2000] loss: 0.3", as PyTorch's tutorials print it, "(0, 16) step_loss : 11.5": the epoch
  /// and a place in it.
  bool pair(LineNumber& found) {
    const std::size_t first = found.value_begin - std::min<std::size_t>(found.value_begin, 1);
    const bool after_stamp = out_.size() == 1 && out_[0].meaning == Meaning::clock;
    const bool leads =
        first == message_begin() || (after_stamp && first > 0 && line_[first - 1] == ' ');
    const bool round = line_[first] == '(';
    if ((line_[first] != '[' && !round) || !leads) return false;
    Cursor cursor(line_.substr(at_), false);
    std::int64_t place = 0;
    if (!cursor.read(", ", kBlanks, place, round ? ") " : "] ") || cursor.rest().empty() ||
        !is_any_letter(cursor.rest()[0])) {
      return false;
    }
    found.begin = first;
    found.end = found.value_end;
    found.meaning = Meaning::epoch;
    out_.push_back(found);
    found.begin = found.value_begin = line_.find_first_not_of(' ', at_ + 1);
    found.end = found.value_end = at_ + cursor.at() - 2;
    found.meaning = Meaning::place;
    found.value = static_cast<double>(place);
    out_.push_back(found);
    at_ = from_ = found.end + 1;
    return true;
  }

  [[nodiscard]] bool before_place() const {
    Cursor cursor(line_.substr(at_), false);
    std::int64_t place = 0, total = 0;
    if (cursor.read("][", kBlanks, place, kBlanks, "/")) return true;
    return line_.rfind('[', at_) != line_.npos &&
           cursor.read(", ", kBlanks, place, kBlanks, "/", kBlanks, total, kBlanks, "]");
  }

  /// "   1  100 /  320 whole_loss = 0.65", as DnCNN's scripts and those after them print it: the
  /// epoch at the front, and the place in it.
  [[nodiscard]] bool leads_place(const LineNumber& found) const {
    const std::string_view rest = line_.substr(at_);
    if (found.value_begin != message_begin() || !rest.starts_with(' ')) return false;
    Cursor cursor(rest, false);
    std::int64_t place = 0, total = 0;
    if (!cursor.read(kBlanks, place, kBlanks, "/", kBlanks, total, " ")) return false;
    const std::string_view after = cursor.rest();
    return place <= total && total > 1 && !after.empty() && is_any_letter(after[0]);
  }

  /// "2m 30s", "1h 5m 3s".
  bool spelled(LineNumber& found) {
    const auto duration = spelled_duration(line_.substr(at_));
    if (!duration || is_two_times(line_.substr(at_), duration->length)) return false;
    const bool left = line_.substr(0, at_).ends_with("(- ");  // "(- 19m 0s)"
    found.value = duration->seconds;
    found.own_unit = is_unit_of_latin(line_.substr(at_, duration->length));
    at_ = found.value_end = at_ + duration->length;
    found.meaning = Meaning::duration;
    if (left) {
      skip_word();
    } else {
      add(found);
    }
    return true;
  }

  /// "27s, 136.0 ms/step" and "0.0043s, 136.0 ms": the second is a time of its own.
  static bool is_two_times(std::string_view text, std::size_t length) {
    const std::string_view times = text.substr(0, length), after = text.substr(length);
    const std::size_t comma = times.find(',');
    if (comma != times.npos && times.find('.') < comma) return true;
    std::string word;
    return (comma != times.npos || times.ends_with("ms")) && after.starts_with('/') &&
           among(words::kIterations, word_at(after, 1, word));
  }

  bool days_of(LineNumber& found) {
    const bool with_time = Cursor(line_.substr(at_), false).duration().has_value();
    if (with_time) time_of(found);
    return with_time;
  }

  void time_of(LineNumber& found) {
    Cursor cursor(line_.substr(at_), false);
    const auto seconds = cursor.duration();
    if (!seconds) return skip_word();
    found.value = *seconds;
    const std::string_view before = line_.substr(0, at_);
    at_ = found.value_end = at_ + cursor.at();
    const bool minutes = std::ranges::count(line_.substr(before.size(), cursor.at()), ':') == 1;
    if (is_time_of_day() || ends_with_date(before) || (minutes && ends_with_month(before))) {
      return skip_word();
    }
    found.meaning = Meaning::duration;
    // "[00:12<01:40]", "[00:00<?]" of a bar: the time since it began and what is left of it.
    const std::string_view rest = line_.substr(at_);
    const std::string_view mark = rest.starts_with(" < ") ? " < " : "<";
    const std::size_t left = mark.size();
    found.of_bar =
        rest.starts_with(mark) && rest.size() > left && (is_digit(rest[left]) || rest[left] == '?');
    add(found);
    if (!found.of_bar) return;
    at_ = from_ = std::min(line_.find_first_not_of("0123456789:?", at_ + left), line_.size());
  }

  /// "01-02 " before "10:07"
  static bool ends_with_date(std::string_view text) {
    constexpr std::size_t kDate = 6;  // bytes
    if (text.size() < kDate) return false;
    const std::string_view date = text.substr(text.size() - kDate);
    const bool mark = date[2] == '-' || date[2] == '/' || date[2] == '.';
    return mark && is_digit(date[0]) && is_digit(date[1]) && is_digit(date[3]) &&
           is_digit(date[4]) && date[5] == ' ';
  }

  /// "18 Apr 2022 " and "Apr 18, " before "20:47": whole minutes are too coarse for a clock.
  static bool ends_with_month(std::string_view text) {
    text = text.substr(0, text.find_last_not_of("0123456789 ,.-/") + 1);
    std::size_t begin = text.size();
    while (begin > 0 && is_letter(text[begin - 1])) --begin;
    std::string word = lower(text.substr(begin));
    if (word.empty()) return false;
    constexpr char kToCapital = 'A' - 'a';
    word[0] = static_cast<char>(word[0] + kToCapital);
    return month_named(word) > 0;
  }

  /// "10:07 PM"
  [[nodiscard]] bool is_time_of_day() const {
    std::string word;
    const auto half = word_at(line_, at_ + (line_.substr(at_).starts_with(' ') ? 1 : 0), word);
    return half == "am" || half == "pm";
  }

  /// "/391", " / 391", " of 391", in other languages as well.
  void total_of(LineNumber& found) {
    Cursor cursor(line_.substr(at_), false);
    constexpr std::array kMarks = {"/", "of ", "OF ", "sur ", "von ", "de ", "di ", "из "};
    if (std::ranges::none_of(kMarks, [&](const char* mark) {
          return cursor.read(kBlanks, std::string_view(mark), kBlanks);
        })) {
      return;
    }
    const std::size_t begin = at_ + cursor.at();
    std::size_t end = begin;
    // "2/100,0/151" has two totals.
    while (end < line_.size() && (is_digit(line_[end]) || has_thousands_at(line_, end))) ++end;
    double scale = 1;
    if (takes_amounts_ && end > begin) {  // "10.0B"
      if (mark_in_number(end, '.')) end = digits_after(line_, end + 1);
      scale = end < line_.size() ? suffix_scale(line_[end]) : 1;
      if (scale > 1) ++end;
    }
    // "20 sur 50 000": thousands that no pattern takes.
    const std::size_t group = digits_after(line_, std::min(end + 1, line_.size()));
    constexpr std::size_t kGroup = 4;  // bytes, with the blank
    if (end > begin && line_[begin - 1] == ' ' && group == end + kGroup && line_[end] == ' ')
      return;
    // "20/500步": a word of a script without blanks may follow right away.
    const std::string_view then = line_.substr(end);
    const bool goes_on =
        !then.empty() && ((is_word(then[0]) && !is_beyond_ascii(then[0])) || then[0] == '/' ||
                          (then[0] == '.' && then.size() > 1 && is_digit(then[1])));
    if (end == begin || goes_on) {
      return;
    }
    std::string digits(line_.substr(begin, end - begin - (scale > 1 ? 1 : 0)));
    std::erase(digits, ',');
    found.total = scale * to_double(digits).value_or(0);
    found.total_begin = begin;
    found.total_end = end;
    at_ = end;
  }

  /// The 10 of "AvgSteps(10)=0.60".
  [[nodiscard]] bool is_argument(std::string_view label) const {
    return label.size() > 1 && label.back() == '(' && is_letter(label[label.size() - 2]) &&
           line_.substr(at_).starts_with(")=");
  }

  void add(LineNumber found) {
    const std::size_t from = std::exchange(from_, at_);
    found.begin = label_begin(line_, from, found.value_begin);
    found.end = at_;
    const std::string_view text = line_.substr(found.begin, found.value_begin - found.begin);
    const Label label(text);
    if (label.has(words::kOfEvaluation) || is_argument(text)) {
      unclear_ = false;
      // "val 635.3 img/s train loss 1.42": its unit is no name of the next number.
      // That of "fps inference: 1331 fps total: 916" may be.
      const Unit unit = found.has_total() ? Unit{} : own_unit(found, label);
      const bool ratio = line_.substr(at_, unit.length).find('/') != line_.npos;
      if (unit.meaning == Meaning::rate && ratio) from_ = at_ + unit.length;
      return suffix_.reset();
    }
    judge(found, label, text);
    suffix_.reset();
    const bool counts = found.counts() || found.meaning == Meaning::amount;
    // "0.01h/0.07h": of all, as the program reckons.
    const bool of_all = found.meaning == Meaning::duration && found.value_begin > 0 &&
                        line_[found.value_begin - 1] == '/' && !out_.empty() &&
                        out_.back().meaning == Meaning::duration &&
                        out_.back().end + 1 == found.value_begin;
    if (of_all) found.meaning = Meaning::other;
    const bool unclear = std::exchange(unclear_, false) && !counts;
    if (found.meaning == Meaning::other) {
      if (!unclear) note_part(found, label);
      from_ = std::max(from_, at_ + other_unit_at(line_.substr(at_)));
      if (label.count == 0 && !found.whole) from_ = std::max(from_, at_ + name_before_rate());
      return;
    }
    if (unclear) {
      left_out_ = true;
      at_ = from_ = std::max(at_, found.end);
      return;
    }
    const std::size_t open = std::min(line_.find_first_not_of(' ', found.end), line_.size());
    const bool mean_follows =
        open + 1 < line_.size() && line_[open] == '(' && is_digit(line_[open + 1]);
    from_ = std::max(from_, found.end);
    at_ = std::max(at_, found.end);
    out_.push_back(found);
    const bool timed =
        found.meaning == Meaning::duration || found.meaning == Meaning::per_iteration;
    if (timed && mean_follows) add_mean(found, open + 1);
  }

  /// The number at `begin`, in the brackets after a time. One with another unit, as in
  /// "2.72s (235.3 samples/s)" and "2.72s (20 steps)", is no mean.
  void add_mean(const LineNumber& newest, std::size_t begin) {
    const std::size_t end = std::min(line_.find_first_not_of("0123456789.", begin), line_.size());
    const std::string_view rest = line_.substr(end);
    const Meaning unit = unit_at(rest).meaning;
    std::string word;
    word_at(rest, rest.starts_with(' ') ? 1 : 0, word);
    const bool of_time = unit == Meaning::duration || unit == newest.meaning;
    if ((!word.empty() && !of_time && !among(kRates, word)) || other_unit_at(rest) > 0) return;
    LineNumber mean;
    mean.meaning = Meaning::mean;
    mean.begin = newest.begin;
    mean.value_begin = begin;
    mean.end = mean.value_end = end;
    mean.value = to_double(line_.substr(begin, end - begin)).value_or(0);
    mean.scale = newest.scale;
    if (!(mean.value > 0)) return;
    at_ = from_ = end;
    out_.push_back(mean);
  }

  /// The unit after the number. In "lr=3.00e-04 tok/s=37486" it is the label of the next one, and
  /// in "dt 0.25 samples/s 256" as well.
  [[nodiscard]] Unit own_unit(const LineNumber& found, const Label& label) const {
    const std::string_view rest = line_.substr(at_);
    Unit unit = unit_at(rest);
    if (unit.length == 0) unit = unit_after_spread(rest);
    // "loss 5.38 it/s 4.20", "loss=1.42 s/it 0.136": no rate is the value of a loss.
    const bool of_steps = unit.meaning == Meaning::rate || unit.meaning == Meaning::per_iteration;
    if (of_steps && is_of_learning(label)) return {};
    if (unit.length == 0 || rest[0] != ' ' || unit.length >= rest.size()) return unit;
    if (is_label(unit.length)) return {};
    const std::size_t begin = found.value_begin;
    const bool named = begin > 1 && line_[begin - 1] == ' ' && is_word(line_[begin - 2]);
    const bool of_label = label.has(unit.meaning == Meaning::rate ? kRates : words::kTimes);
    const bool counter = found.whole && of_steps && names_counter(label.last());
    const bool first =
        (named || counter) && !of_label && names_come_first(unit.length, label.count == 0);
    return first ? Unit{} : unit;
  }

  /// " (233.9) img/s", " +- 4.1 img/sec": the unit after the mean or the deviation is that of the
  /// number before it.
  static Unit unit_after_spread(std::string_view rest) {
    Cursor cursor(rest, false);
    cursor.read(kBlanks);
    const bool bracket = cursor.literal("(");
    if (!bracket && !cursor.literal("+-") && !cursor.literal("+/-") && !cursor.literal("±")) {
      return {};
    }
    cursor.read(kBlanks);
    if (cursor.rest().empty() || !is_digit(cursor.rest()[0]) || !cursor.number()) return {};
    if (bracket && !cursor.literal(")")) return {};
    Unit unit = unit_at(cursor.rest());
    const bool of_steps = unit.meaning == Meaning::rate || unit.meaning == Meaning::per_iteration;
    if (!of_steps || unit.apart) return {};
    unit.gap = cursor.at();
    unit.length += unit.gap;
    return unit;
  }

  /// The number after the unit, which ends `length` bytes after this one, has none of its own: no
  /// word follows it, or one that names the next number. "img/s 315 W" and "img/s 1.42 loss" end
  /// with a unit, so that each of them is that of the number before it, as in "it/s 00:12".
  /// `unnamed`: the number before the unit has no name.
  [[nodiscard]] bool names_come_first(std::size_t length, bool unnamed) const {
    std::string_view rest = line_.substr(at_ + length);
    for (bool first = true; rest.starts_with(' '); first = false) {
      const std::size_t number = rest.find_first_not_of(" -+");
      if (number == std::string_view::npos || !is_digit(rest[number])) return false;
      const std::size_t end = rest.find_first_not_of("0123456789.,eE+-", number);
      if (end == std::string_view::npos) return true;
      rest.remove_prefix(end);
      if (first && rest.size() > 1 && rest[0] == ':' && is_digit(rest[1])) return false;
      std::size_t unit = unit_at(rest).length;
      if (unit == 0) unit = other_unit_at(rest);
      if (unit == 0) unit = name_without_value(rest, unnamed);
      // "71C": whatever it is, but a multiple as in "30.1k".
      std::string word;
      const std::size_t letters = word_at(rest, 0, word).size();
      if (unit == 0 && (letters > 1 || !multiple(word))) unit = letters;
      if (unit == 0) return true;
      rest.remove_prefix(unit);
    }
    return false;
  }

  /// Bytes of the " loss" of "1.46 loss 234.6 img/s": no name of a number with the unit of a rate.
  [[nodiscard]] std::size_t name_before_rate() const {
    const std::size_t length = name_without_value(line_.substr(at_));
    const std::size_t number = line_.find_first_not_of(' ', at_ + length);
    if (length == 0 || number == line_.npos || !is_digit(line_[number])) return 0;
    Reader next(line_, commas_);
    next.at_ = std::min(line_.find_first_not_of("0123456789.,eE+-kKM", number), line_.size());
    const Unit unit = unit_at(line_.substr(next.at_));
    const bool of_steps = unit.meaning == Meaning::rate || unit.meaning == Meaning::per_iteration;
    return of_steps && !next.names_come_first(unit.length, true) ? length : 0;
  }

  /// Bytes of " loss", of which no value follows right away but that of a further number, at the
  /// start of `rest`; else 0.
  /// `before_words`: also where a word follows, as in "7.26 it/s 1.35 loss mem 10524 MB".
  static std::size_t name_without_value(std::string_view rest, bool before_words = false) {
    std::string word;
    if (!rest.starts_with(' ')) return 0;
    const std::size_t end = 1 + word_at(rest, 1, word).size();
    if (!is_of_learning(Label(word))) return 0;
    const std::size_t next = rest.find_first_not_of(' ', end);
    if (next == std::string_view::npos) return end;
    constexpr std::string_view kEnds = "|,;)]";
    const bool goes_on =
        next > end && (is_digit(rest[next]) || (before_words && is_any_letter(rest[next])));
    return goes_on || kEnds.find(rest[next]) != kEnds.npos ? end : 0;
  }

  /// The `length` bytes after the number are the label of the next one, or begin it: "
  /// tok/s=37486", " img/sec/core=411.0".
  [[nodiscard]] bool is_label(std::size_t length) const {
    const std::string_view rest = line_.substr(at_);
    while (length < rest.size() && (is_word(rest[length]) || rest[length] == '/')) ++length;
    const std::size_t mark = rest.find_first_not_of(' ', length);
    if (mark == std::string_view::npos || (rest[mark] != '=' && rest[mark] != ':')) return false;
    const std::size_t next = rest.find_first_not_of(' ', mark + 1);
    return next != std::string_view::npos && is_digit(rest[next]);
  }

  /// "3200/60000 samples" and "7862/7840 tok/s;" count no iterations. In "50/391 images/s 812" and
  /// "50/391 tokens_seen 4096" the word begins the label of the next number.
  [[nodiscard]] bool counts_data() const {
    const std::string_view rest = line_.substr(at_);
    std::string thing;
    const std::size_t blank = rest.starts_with(' ') ? 1 : 0;
    const auto work = work_unit(word_at(rest, blank, thing));
    if (!work || *work == RateUnit::iterations_per_second) return false;
    if (const Unit unit = unit_at(rest); unit.meaning == Meaning::rate) {
      const std::size_t next = rest.find_first_not_of(" :=", unit.length);
      return next == std::string_view::npos || !is_digit(rest[next]);
    }
    const std::size_t end = blank + thing.size();
    return !is_label(end) && !rest.substr(end).starts_with('_');
  }

  /// "seen 9.6k imgs", "1.05M tok", "tokens_seen=1048576" count data, and "iter 0.250k" iterations:
  /// the unit after the number, or the last word before it. Digits without a mark after that word,
  /// "12 tokens 4096", make it the label of the next number.
  [[nodiscard]] std::optional<Unit> amount_of(const LineNumber& found, const Label& label,
                                              const Unit& named, const Unit& after) const {
    if (!found.whole && !found.rounded) return std::nullopt;
    if (named.meaning != Meaning::other || after.length > 0) return std::nullopt;
    const auto amount = [&](std::string_view word, std::size_t length) -> std::optional<Unit> {
      const auto work = work_unit(word);
      // The total of "0.017B/4.0B tokens", which is read with the amounts, follows a word "per".
      if (!work || (takes_amounts_ && label.has(words::kPlans))) return std::nullopt;
      if (*work == RateUnit::iterations_per_second && !found.rounded) return std::nullopt;
      return Unit{Meaning::amount, *work, 1, length};
    };
    const std::string_view rest = line_.substr(at_);
    std::string word;
    const std::size_t blank = rest.starts_with(' ') ? 1 : 0;
    const std::size_t end = blank + word_at(rest, blank, word).size();
    const std::size_t next = std::min(rest.find_first_not_of(' ', end), rest.size());
    constexpr std::string_view kEnds = " |,;)]\t";
    const bool closes = end == rest.size() || kEnds.find(rest[end]) != kEnds.npos;
    if (closes && unit_at(rest).length == 0 && !is_label(end) &&
        (next == rest.size() || !is_digit(rest[next]) || next > end + 1)) {
      if (const auto unit = amount(word, end)) return unit;
    }
    if (!rest.empty() && (rest[0] == '%' || is_any_letter(rest[0]))) return std::nullopt;
    static constexpr Words kDone({"seen", "processed", "consumed", "trained"});
    const std::size_t done = label.count > 1 && among(kDone, label.last()) ? 1 : 0;
    return amount(done > 0 ? label.words[label.count - 2] : label.last(), 0);
  }

  /// A number, the words before it, and the units that these and what follows name.
  struct Case {
    LineNumber& found;
    const Label& label;
    std::string_view text;  ///< of the label
    std::string_view last;  ///< word of it
    bool time = false;      ///< by its layout: "0:01:02"
    Unit named, after;
    std::optional<Unit> amount;
    [[nodiscard]] bool has_rate() const {
      return after.meaning == Meaning::rate || named.meaning == Meaning::rate;
    }
  };

  /// What a number means by the first rule that fits it. Later ones may rely on those before.
  void judge(LineNumber& found, const Label& label, std::string_view text) {
    const bool bare = std::isnan(found.value) || found.has_total();
    Case of{found, label, text, label.last(), found.meaning == Meaning::duration, {}, {}, {}};
    of.named = unit_of(label, text);
    if (!bare) of.after = own_unit(found, label);
    of.amount = amount_of(found, label, of.named, of.after);
    has_amounts_ = has_amounts_ || of.amount;
    using Rule = bool (Reader::*)(const Case&);
    static constexpr Rule kRules[] = {&Reader::is_length_of_a_mean,
                                      &Reader::counts_before_its_word,
                                      &Reader::is_of_the_next_time,
                                      &Reader::is_time_of_counted,
                                      &Reader::is_of_other_work,
                                      &Reader::is_rate,
                                      &Reader::is_stamp,
                                      &Reader::is_amount,
                                      &Reader::counts_after_a_word,
                                      &Reader::is_epoch_of_a_place,
                                      &Reader::counts_by_its_name,
                                      &Reader::counts_after_a_loss,
                                      &Reader::is_loss_before_times,
                                      &Reader::is_time,
                                      &Reader::is_rank,
                                      &Reader::is_loss,
                                      &Reader::is_place};
    for (const Rule rule : kRules) {
      if ((this->*rule)(of)) return;
    }
  }

  /// "(avg ms/step over last 50)": of how many.
  bool is_length_of_a_mean(const Case& of) {
    return of.found.whole && (of.last == "last" || of.last == "past");
  }

  /// "14epoch", "375batch"
  bool counts_before_its_word(const Case& of) {
    if (!suffix_) return false;
    of.found.meaning = of.label.has(words::kPlans) ? Meaning::other : suffix_->meaning;
    of.found.end = at_ + suffix_->length;
    return true;
  }

  /// "100 steps take 0.73 seconds", "time for 100 steps 0.73"
  bool is_of_the_next_time(const Case& of) {
    if (!of.found.whole) return false;
    if (is_span()) {
      of.found.meaning = Meaning::span;
      return true;
    }
    if (!(of.found.value > 0) || !divides_time(of)) return false;
    divisor_ = of.found.value;
    after_divisor_ = at_;
    return true;
  }

  /// The 5.77 of "time for 100 steps: 5.77": no other word stands in between.
  bool is_time_of_counted(const Case& of) {
    if (divisor_ == 1) return false;
    const std::size_t begin = of.found.value_begin;
    const Label between(line_.substr(after_divisor_, begin - after_divisor_));
    if (between.count != 1 || !among(words::kIterations, between.last())) return false;
    take_time(of.found, of.label, of.text, of.named, of.after, of.time);
    return true;
  }

  /// "TFLOP/s: 412", "max step time 0.3", "tok/s 10.3 GB", "time per sample: 0.3"
  bool is_of_other_work(const Case& of) {
    return of.named.other_rate || is_extreme(of) ||
           (of.named.meaning == Meaning::rate && of.after.length == 0 && has_other_unit()) ||
           is_time_of_data(of.last, of.named, of.after);
  }

  bool is_rate(const Case& of) {
    if (of.has_rate()) take_rate(of.found, of.label, of.named, of.after);
    return of.has_rate();
  }

  /// "ts", "timestamp", of seconds since 1970.
  bool is_stamp(const Case& of) {
    static constexpr Words kStamps({"ts", "timestamp", "stamp", "unix", "now", "t"});
    const auto seconds = seconds_since_1970(of.found.value);
    if (!seconds || !among(kStamps, of.last)) return false;
    of.found.meaning = Meaning::clock;
    of.found.value = *seconds;
    return true;
  }

  bool is_amount(const Case& of) {
    if (!takes_amounts_ || !of.amount) return false;
    of.found.meaning = Meaning::amount;
    of.found.unit = of.amount->rate;
    of.found.end = at_ + of.amount->length;
    return true;
  }

  /// "After 100 training steps", "第 3 轮"
  bool counts_after_a_word(const Case& of) {
    const auto counted = counted_after(of.found, of.last);
    if (!counted || !of.found.whole) return false;
    of.found.meaning = counted->meaning;
    of.found.end = at_ + counted->length;
    return true;
  }

  /// "e=0", "E003", and epochs by their word.
  [[nodiscard]] static bool names_epochs(const Case& of) {
    const bool by_letter = !of.text.empty() && is_letter(of.text.back());
    const bool alone = of.label.count == 1 && (of.found.has_total() || of.text.ends_with('='));
    return holds(words::kEpochs, of.last) || (of.last == "e" && (by_letter || alone));
  }

  /// "[3][40/391]": the bracket alone, as words before it are not of the epoch.
  bool is_epoch_of_a_place(const Case& of) {
    if (of.found.meaning != Meaning::epoch) return false;
    if (of.found.begin < of.found.value_begin && !names_epochs(of)) {
      of.found.begin = of.found.value_begin - 1;
    }
    return true;
  }

  /// "i     10 L 10.8018": a letter at the front of the message, and blanks.
  [[nodiscard]] bool leads_alone(const Case& of) const {
    return of.label.count == 1 && of.found.begin == message_begin() && of.text.ends_with(' ') &&
           line_.substr(at_).starts_with(' ');
  }

  /// "step 100", "Iterations completed: 50", "s00010". "Up. 4000" is short for updates, "scale up
  /// 2" is not.
  bool counts_by_its_name(const Case& of) {
    const bool epochs = names_epochs(of);
    const bool letter = is_letter_of_counter(of.last) && of.last != "e" && !of.text.empty() &&
                        is_letter(of.text.back());
    const bool counts = holds(words::kIterations, of.last) || joins_counter(of.last) || letter ||
                        (of.last == "i" && (of.found.has_total() || leads_alone(of))) ||
                        (of.last == "up" && trim(of.text).ends_with('.'));
    const bool numbered = of.label.count == 0 && of.text.ends_with('#');  // "#00040"
    if (!of.found.whole || !(epochs || counts || numbered) || of.after.meaning != Meaning::other)
      return false;
    const Label own(without_group(of.text));
    const Meaning counter = epochs ? Meaning::epoch : Meaning::counter;
    of.found.meaning = own.has(words::kPlans) ? Meaning::other : counter;
    of.found.names_total = own.words[0] == "global" || own.words[0] == "total";
    of.found.begins = of.label.has(kBeginnings);
    return true;
  }

  /// "Train loss 313 0.828650"
  bool counts_after_a_loss(const Case& of) {
    if (!of.found.whole || !names_loss(of.label) || of.label.count < 2 ||
        !names_training(of.text) || !fraction_follows()) {
      return false;
    }
    of.found.meaning = Meaning::counter;
    return true;
  }

  /// Also "Time Loss: 0.22"; "loss scale" is none, and no time either.
  bool is_loss_before_times(const Case& of) {
    if (!of.last.starts_with("loss") || of.time || of.after.meaning != Meaning::other) return false;
    if (names_loss(of.label)) of.found.meaning = Meaning::loss;
    return true;
  }

  bool is_time(const Case& of) {
    if (!of.time && of.after.meaning == Meaning::other && of.named.meaning == Meaning::other) {
      return false;
    }
    take_time(of.found, of.label, of.text, of.named, of.after, of.time);
    return true;
  }

  /// "rank 2", "worker 0: ", but not "per rank".
  bool is_rank(const Case& of) {
    const bool rank = of.found.whole && !of.label.has(words::kPlans) &&
                      (of.last == "rank" || labels_process(of.found, of.label));
    if (rank) of.found.meaning = Meaning::rank;
    return rank;
  }

  bool is_loss(const Case& of) {
    if (names_loss(of.label)) of.found.meaning = Meaning::loss;
    return names_loss(of.label);
  }

  bool is_place(const Case& of) {
    take_place(of.found, of.label, of.text);
    return true;
  }

  /// "worker 0: ", "(worker 0) ", "[proc 0] ", "GPU 0: " at the front of the message.
  [[nodiscard]] bool labels_process(const LineNumber& found, const Label& label) const {
    if (label.count != 1 || !(names_process(label.words[0]))) return false;
    const std::size_t first = message_begin(), inside = found.begin - first;
    const std::string_view rest = line_.substr(at_);
    const auto closes = [&](char open, std::string_view close) {
      return inside == 1 && line_[first] == open && rest.starts_with(close);
    };
    return (inside == 0 && rest.starts_with(": ")) || closes('[', "]") || closes('(', ")");
  }

  static bool names_process(std::string_view word) {
    constexpr std::array<std::string_view, 6> kNames = {"rank", "worker",  "proc",
                                                        "gpu",  "process", "replica"};
    return std::ranges::find(kNames, word) != kNames.end();
  }

  /// A unit of something else follows, and does not name the next number.
  [[nodiscard]] bool has_other_unit() const {
    const std::string_view rest = line_.substr(at_);
    const std::size_t length = other_unit_at(rest);
    const std::size_t next = rest.find_first_not_of(' ', length);
    return length > 0 && (next == rest.npos || !is_digit(rest[next]));
  }

  /// A time or a rate: "max step time 0.3", "p99 12ms", "peak 812 tokens/s".
  [[nodiscard]] bool is_extreme(const Case& of) const {
    if (of.named.meaning == Meaning::other && of.after.meaning == Meaning::other) return false;
    constexpr double kMinute_s = 60;
    const bool minutes = of.named.scale == kMinute_s;
    if (std::ranges::any_of(of.label.all(), [&](std::string_view word) {
          return among(kExtremes, word) && !(minutes && word == "min");
        })) {
      return true;
    }
    const std::string_view before = trim(line_.substr(0, of.found.begin));
    const std::size_t digits = before.find_last_not_of("0123456789");
    return digits != before.npos && digits + 1 < before.size() && lower(before[digits]) == 'p' &&
           (digits == 0 || !is_word(before[digits - 1]));
  }

  /// "0.0021 s/img", "time per sample: 0.3", "time to learn 1 sample = 6.7ms"
  static bool is_time_of_data(std::string_view last, const Unit& named, const Unit& after) {
    if (after.meaning == Meaning::other && after.length > 0) return true;
    return is_of_data(last) &&
           (after.meaning == Meaning::duration || named.meaning == Meaning::duration);
  }

  /// The 10 of "time per 10 steps 5.77 s", "time for 10 steps: 5.77", "time (10 steps): 5.77",
  /// "sec/10 it: 5.77".
  [[nodiscard]] bool divides_time(const Case& of) const {
    std::string word;
    const Label& label = of.label;
    const bool of_time = label.has(words::kTimes) ||
                         (label.count > 1 && seconds_in(label.words[label.count - 2]).has_value());
    const bool bracket = of.text.ends_with('(') && among(words::kTimes, of.last);
    return (of.last == "per" || of.last == "for" || bracket) && of_time &&
           line_.substr(at_).starts_with(' ') &&
           among(words::kIterations, word_at(line_, at_ + 1, word));
  }

  /// " train steps in 5.77 secs" after "Ran 499", " steps take 0.726 seconds" and " steps time:
  /// 59.94s" after "100".
  [[nodiscard]] bool is_span() const {
    const auto counted = counted_in_words();
    if (!counted || counted->meaning != Meaning::counter) return false;
    const std::string_view rest = line_.substr(at_ + counted->length);
    return std::ranges::any_of(
        std::array{" in ", " take ", " takes ", " took ", " time: "}, [&](std::string_view verb) {
          const auto begin = verb.size();
          const auto end = std::min(rest.find_first_not_of("0123456789.", begin), rest.size());
          return rest.starts_with(verb) && unit_at(rest.substr(end)).meaning == Meaning::duration;
        });
  }

  /// " training steps" after "After 100", " batches" after "Trained 100": one of the next two
  /// words.
  [[nodiscard]] std::optional<Unit> counted_in_words() const {
    std::size_t begin = at_;
    std::string word;
    for (int words = 0; words < 2 && line_.substr(begin).starts_with(' '); ++words) {
      begin += 1 + word_at(line_, begin + 1, word).size();
      const bool epochs = among(words::kEpochs, word);
      if (!epochs && !among(words::kIterations, word)) continue;
      return Unit{epochs ? Meaning::epoch : Meaning::counter, {}, 1, begin - at_};
    }
    return std::nullopt;
  }

  /// "第 3 轮", "第 100/500 步": the word that counts stands after the number.
  [[nodiscard]] std::optional<Unit> counted_after(const LineNumber& found,
                                                  std::string_view last) const {
    // "Episode 7 ended after 40 timesteps" counts the episodes; "eval @ 120000 steps".
    if ((last == "after" || last == "trained" ||
         trim(line_.substr(0, found.value_begin)).ends_with('@')) &&
        std::ranges::none_of(out_, &LineNumber::counts)) {
      return counted_in_words();
    }
    if (!last.ends_with("第")) return std::nullopt;
    const std::size_t begin = std::min(line_.find_first_not_of(' ', at_), line_.size());
    for (const auto& [list, meaning] : {std::pair(&words::kEpochs, Meaning::epoch),
                                        std::pair(&words::kIterations, Meaning::counter)}) {
      for (const std::string_view word : *list) {
        if (!line_.substr(begin).starts_with(word)) continue;
        return Unit{meaning, {}, 1, begin + word.size() - at_};
      }
    }
    return std::nullopt;
  }

  void take_rate(LineNumber& found, const Label& label, const Unit& named,
                 const Unit& after) const {
    if (found.value < 0 || label.has(kOtherTimes) || label.has(kLeft))
      return;  // "nan" of a first line is one
    const Unit& unit = after.meaning == Meaning::rate ? after : named;
    found.of_one_gpu = label.has(words::kProcessors);
    found.of_part = label.has(kPartsWithRates);
    found.meaning = Meaning::rate;
    found.unit = unit.rate;
    found.scale = unit.scale;
    if (after.meaning == Meaning::rate) {
      found.end = at_ + after.length;
      found.gap = after.gap;
    }
    if (const std::size_t length = of_one_gpu_at(found.end); length > 0) {
      found.of_one_gpu = true;
      found.end += length;
    }
  }

  /// Bytes of "/gpu", " per device", " (per GPU)", " on this rank", " each" at `at`; else 0.
  [[nodiscard]] std::size_t of_one_gpu_at(std::size_t at) const {
    const std::string_view rest = line_.substr(at);
    std::string word;
    for (const std::string_view front :
         {"/", " per ", " (per ", " / ", " on this ", " on each ", " (this "}) {
      if (!rest.starts_with(front)) continue;
      const std::string_view part = word_at(rest, front.size(), word);
      if (!among(words::kProcessors, part)) continue;
      // "941 (per rank 235)" is of all ranks.
      const std::size_t end = front.size() + part.size();
      const std::size_t next = std::min(rest.find_first_not_of(" :=", end), rest.size());
      const bool has_own = front == " (per " && next < rest.size() && is_digit(rest[next]);
      return has_own ? 0 : end;
    }
    constexpr std::string_view kEach = " each";
    if (!rest.starts_with(kEach)) return 0;
    return rest.size() == kEach.size() || !is_word(rest[kEach.size()]) ? kEach.size() : 0;
  }

  void take_time(LineNumber& found, const Label& label, std::string_view text, const Unit& named,
                 const Unit& after, bool by_layout) {
    found.meaning = Meaning::other;
    // "time to learn 1 sample = 0.3ms": the 1 is no time.
    std::string thing;
    const std::size_t next = std::min(at_ + 1, line_.size());
    if (!by_layout && after.meaning == Meaning::other && !word_at(line_, next, thing).empty() &&
        (work_unit(thing) || among(words::kEpochs, thing)) && !labels_next(text, thing)) {
      return;
    }
    const std::string_view then = line_.substr(std::min(line_.size(), at_ + after.length));
    const bool left =
        label.has(kLeft) || then.starts_with(" left") || then.starts_with(" remaining");
    const bool has_unit = after.meaning != Meaning::other;
    if (label.has(kPasses)) {
      longest_pass_s_ =
          std::max(longest_pass_s_, found.value * (has_unit ? after.scale : named.scale));
    }
    if ((label.has(kOtherTimes) && !left) || names_part(text) || std::isnan(found.value)) return;
    if (const auto seconds = seconds_since_1970(found.value)) {
      found.meaning = Meaning::clock;
      found.value = *seconds;
      return;
    }
    // A percentage, a size and the like have a unit of their own.
    if (!by_layout && !has_unit && at_ < line_.size() &&
        (line_[at_] == '%' || is_any_letter(line_[at_]))) {
      return;
    }
    const bool of_span = !out_.empty() && out_.back().meaning == Meaning::span;
    // "iter 413.0 ms": a counter has no unit, so that this is the time of one.
    const bool of_one = after.meaning == Meaning::duration && label.count == 1 &&
                        among(kOneIteration, label.last());
    const bool of_iteration = !of_span && (after.meaning == Meaning::per_iteration || of_one ||
                                           named.meaning == Meaning::per_iteration);
    found.meaning = of_iteration ? Meaning::per_iteration : Meaning::duration;
    if (!by_layout) found.scale = has_unit ? after.scale : named.scale;
    if (has_unit) {
      found.end = at_ + after.length;
      found.gap = after.gap;
    }
    // "took 980us" may be "took 1.05ms" on the next line: each has its own scale.
    if (after.meaning == Meaning::duration && !by_layout && !after.apart &&
        is_unit_of_latin(line_.substr(at_, after.length))) {
      found.value *= std::exchange(found.scale, 1);
      found.value_end = found.end;
      found.own_unit = true;
    }
    std::string following;  // "12 s elapsed"
    const std::size_t blank = then.starts_with(' ') ? 1 : 0;
    if (left) found.meaning = Meaning::left;
    if (const double steps = std::exchange(divisor_, 1); steps > 1) {
      found.meaning = Meaning::per_iteration;
      found.scale /= steps;
    }
    const Label after_it(then.substr(0, then.find_first_of(",|;(")));
    found.of_interval = is_since_last(label) || is_since_last(after_it);
    found.since_start =
        !found.of_interval && (label.has(words::kSinceStart) ||
                               among(words::kSinceStart, word_at(then, blank, following)));
  }

  static bool is_since_last(const Label& label) {
    const auto words = label.all();
    const auto since = std::ranges::find(words, "since");
    return std::find(since, words.end(), "last") != words.end();
  }

  /// "elapsed=2.4 steps/s=0.42": what stands after the value of `label` is the label of the next
  /// number. In "time to learn 1 sample = 6.7ms" no mark parts the 1 from its words.
  [[nodiscard]] bool labels_next(std::string_view label, std::string_view thing) const {
    const std::string_view name = trim(label);
    const Unit unit = unit_at(line_.substr(at_));
    return (unit.meaning == Meaning::rate && is_label(unit.length)) ||
           ((name.ends_with('=') || name.ends_with(':')) && is_label(1 + thing.size()));
  }

  /// "[50/391]", "(50/391)", "50/391", and the 50 of "Epoch: [44][50]", "Epoch 44 [50]",
  /// "[Epoch 44; 50]" and "epoch 44: 50. loss".
  void take_place(LineNumber& found, const Label& label, std::string_view text) const {
    if (counts_data()) return;
    const auto open = text.find_last_of("[(");
    const bool bracket = open != std::string_view::npos;
    const bool named = among(kProgress, label.last());
    const bool own = label.count == 0 || bracket || named || among(kInitials, label.last()) ||
                     places_in_epoch(label);
    if (found.has_total() && found.total >= found.value && own) {
      found.meaning = Meaning::place;
      // Only the bracket is its own; words before it are those of something else.
      if (bracket) found.begin = found.value_begin - (text.size() - open);
      found.of_sequences = bracket && percent_closes();
      return;
    }
    if (found.whole && leads(found)) {
      if (found.meaning == Meaning::other) found.meaning = Meaning::counter;
      return;
    }
    if (found.whole && counts_by_own_word(found, label)) {
      found.meaning = Meaning::place;
      found.of_sequences = work_unit(label.last()) == RateUnit::sequences_per_second;
      return;
    }
    // "Train 100: loss:0.28", "train 100 2.145923e+00 21.446079"
    if (found.whole && !found.has_total() && named &&
        (line_.substr(at_).starts_with(": ") || (label.count == 1 && fraction_follows()))) {
      found.meaning = Meaning::counter;
      return;
    }
    if (!found.whole || label.count > 0 || out_.empty()) return;
    const LineNumber& before = out_.back();
    const std::string_view between = trim(line_.substr(0, found.value_begin).substr(before.end));
    const bool item = between == ":" && line_.substr(at_).starts_with(". ");
    const bool follows = between == "][" || between == "[" || between == ";" || item;
    if (before.meaning == Meaning::epoch && !before.has_total() && follows) {
      found.meaning = Meaning::place;
    }
  }

  /// "Epoch 1/5, Chunk 50/391": any other word before a place in the epoch.
  [[nodiscard]] bool places_in_epoch(const Label& label) const {
    return label.count == 1 && !out_.empty() && out_.back().meaning == Meaning::epoch &&
           !names_no_counter(label);
  }

  /// Parts of a model or a job, settings and scores have numbers as well.
  static bool names_no_counter(const Label& label) {
    static constexpr Words kNoCounters(
        {"seed",  "fold",    "rank",  "gpu",     "worker",  "client", "node",  "layer", "head",
         "job",   "process", "model", "device",  "version", "run",    "trial", "agent", "level",
         "env",   "part",    "stage", "phase",   "class",   "task",   "top",   "total", "best",
         "mean",  "avg",     "count", "size",    "port",    "pid",    "id",    "line",  "page",
         "error", "warning", "cuda",  "num",     "score",   "test",   "val",   "hits",  "correct",
         "wins",  "solved",  "games", "success", "passed",  "matches"});
    return label.has(kNoCounters) || label.has(words::kOfTraining) || label.has(words::kTimes) ||
           label.has(words::kPlans);
  }

  /// "chunk  99 | +56,320 samples | val_loss 1.117e-05": a word of the loop's own before a number
  /// at the front of a line of a training that has no other counter. It must grow, as all do.
  [[nodiscard]] bool counts_by_own_word(const LineNumber& found, const Label& label) const {
    constexpr std::string_view kMarksAfterCounters = "|:,-\t;)(";
    if (label.count != 1 || found.has_total() || found.begin != message_begin() ||
        std::ranges::any_of(out_, &LineNumber::counts) || names_no_counter(label)) {
      return false;
    }
    // Not "base-0: 33 epochs", the name of a model.
    if (std::string_view(" =:[#").find(line_[found.value_begin - 1]) == std::string_view::npos) {
      return false;
    }
    const std::string_view rest = line_.substr(at_);
    const std::size_t mark = std::min(rest.find_first_not_of(' '), rest.size());
    const bool bracket = rest.starts_with("] ");  // not "axs[0].set_title(...)"
    return (bracket || (mark < rest.size() && kMarksAfterCounters.find(rest[mark]) != rest.npos)) &&
           has_value_of_training(rest);
  }

  /// "val_loss 1.117e-05", "reward: -3", and no "return status;" of a program.
  static bool has_value_of_training(std::string_view text) {
    const std::string small = lower(text);
    return std::ranges::any_of(std::array{"loss", "reward", "acc", "ppl"}, [&](const char* word) {
      const auto at = small.find(word);
      if (at == small.npos) return false;
      const auto value = small.find_first_not_of("abcdefghijklmnopqrstuvwxyz_ :=+-", at);
      return value != small.npos && is_digit(small[value]);
    });
  }

  /// " 2.145923e+00"
  [[nodiscard]] bool fraction_follows() const {
    const std::size_t begin = std::min(line_.find_first_not_of(" \t", at_), line_.size());
    const std::size_t point = digits_after(line_, begin);
    return begin > at_ && point > begin && mark_in_number(point, '.');
  }

  /// " (11%)]": what PyTorch's examples print after the samples done of all.
  [[nodiscard]] bool percent_closes() const {
    Cursor cursor(line_.substr(at_), false);
    return cursor.literal(" (") && cursor.read(kBlanks) && cursor.number() && cursor.literal("%)]");
  }

  /// "[50]\tl2: 0.04", "00000017) perceptual - 53.96", "(12) loss 3.2104", "40: 111.17, ",
  /// "300:\tlearn: 0.62", "350, train_loss=0.2587", "333 154 Loss=0.02", after a logger's stamp
  /// "1135 - 56.12 sent/s": a number at the front of the message, or two, with a mark or before a
  /// name, before a value of several digits. The items of a list have none.
  bool leads(LineNumber& found) const {
    const std::size_t first = message_begin();
    const bool inside = first + 1 == found.value_begin;
    const bool bracket = line_[first] == '[' && inside;
    const bool round = line_[first] == '(' && inside;
    const bool second =
        !bracket && !round && found.value_begin > first &&
        line_.substr(first, found.value_begin - first).find_first_not_of("0123456789 ") ==
            std::string_view::npos;
    if (found.has_total() || (first != found.value_begin && !bracket && !round && !second)) {
      return false;
    }
    const std::string_view rest = line_.substr(at_);
    // "0: loss: 0.6" looks like a launcher's label of a rank: columns stand further apart.
    const bool column = rest.starts_with(":\t") || rest.starts_with(":  ");
    const std::size_t value =
        std::min(rest.find_first_not_of(" \t", 1), std::max<std::size_t>(rest.size(), 1) - 1);
    // "[0] " is a rank, but not in "[3] train loss: 0.39" after a logger's stamp.
    const bool marked =
        bracket
            ? rest.starts_with("]\t") || (first > 0 && rest.starts_with("] ") && named(rest, 2) &&
                                          names_training(rest.substr(0, rest.find(':'))))
            : rest.starts_with(") ") ||
                  (rest.starts_with(": ") && rest.size() > 2 && is_digit(rest[2])) ||
                  (column && (named(rest, value) || is_letter(rest[value]))) ||
                  (first > 0 && rest.starts_with(" - ")) ||
                  (rest.starts_with(", ") && named(rest, 2)) || rest.starts_with(" | ") ||
                  rest.starts_with(" : ") || (rest.starts_with(" ") && named(rest, 1));
    const std::size_t point = rest.find('.');
    const bool valued = point != std::string_view::npos && point > 0 && point + 2 < rest.size() &&
                        is_digit(rest[point - 1]) && is_digit(rest[point + 1]) &&
                        is_digit(rest[point + 2]);
    if (!marked || !valued) return false;
    found.meaning = Meaning::place;
    found.begin = bracket || round ? first : found.value_begin;
    found.end = rest.starts_with(" ") ? at_ : at_ + 1;
    return true;
  }

  /// From `at` on "name=0.1" or "name: 0.1", also after one more number.
  static bool named(std::string_view rest, std::size_t at) {
    const std::size_t digits = digits_after(rest, at);
    if (digits > at && digits < rest.size() && rest[digits] == ' ') at = digits + 1;
    if (at >= rest.size() || !is_letter(rest[at])) return false;
    while (at < rest.size() && (is_word(rest[at]) || rest[at] == ' ')) ++at;
    return at < rest.size() && (rest[at] == '=' || rest[at] == ':');
  }

  /// Where the text begins: after a logger's stamp and its level in brackets.
  [[nodiscard]] std::size_t message_begin() const {
    std::size_t at = 0;
    if (!out_.empty() && out_.front().meaning == Meaning::clock) at = out_.front().end;
    // "INFO - 10/04/19 14:41:25 - 0:11:11 - ": the time since the start that a logger adds.
    if (at > 0 && out_.size() == 2 && out_[1].meaning == Meaning::duration &&
        out_[1].begin == out_[1].value_begin) {
      at = std::min(line_.find_first_not_of(" -", out_[1].end), line_.size());
    }
    at = std::min(line_.find_first_not_of(" \t", at), line_.size() - 1);
    // "140023417 train.py:212] [50] loss=6.6": the process and the place of absl and glog.
    if (const std::size_t place = line_.find("] ", at);
        at > 0 && is_digit(line_[at]) && place != line_.npos && is_digit(line_[place - 1]) &&
        line_.substr(at, place - at).find('[') == line_.npos) {
      at = std::min(line_.find_first_not_of(' ', place + 1), line_.size() - 1);
    }
    // "[xla:0](500) Loss=0.43": a device or a name before the bracket of the counter.
    const std::size_t tag = line_.find("](", at);
    if (line_[at] == '[' && tag != std::string_view::npos && is_letter(line_[at + 1]) &&
        line_.substr(at + 1, tag - at - 1).find_first_of(" [") == std::string_view::npos) {
      return tag + 1;
    }
    // "[train] ", "(basic.py | _log_info | 245) " after a stamp.
    for (const bool round : {false, true}) {
      const std::size_t close = line_.find(round ? ") " : "] ", at);
      if (at == 0 || line_[at] != (round ? '(' : '[') || close == line_.npos) continue;
      const std::string_view inside = line_.substr(at + 1, close - at - 1);
      if (round ? is_letter(line_[at + 1]) : std::ranges::all_of(inside, is_letter)) {
        at = std::min(line_.find_first_not_of(' ', close + 1), line_.size() - 1);
      }
    }
    return at;
  }

  std::string_view line_;
  std::size_t at_ = 0;
  std::size_t from_ = 0;        ///< labels begin after it
  std::optional<Unit> suffix_;  ///< of the number that is being read: "14epoch"
  Commas commas_;
  bool unclear_ = false;  ///< the number that is being read has an unclear comma
  bool left_out_ = false;
  bool takes_amounts_, has_amounts_ = false;
  double divisor_ = 1;             ///< iterations that the next time is of
  std::size_t after_divisor_ = 0;  ///< where their number ends
  double longest_pass_s_ = 0;  ///< a time that the line names as that of a pass through the model
  std::optional<LineNumber> total_of_parts_;  ///< as take_total_of_parts() has it
  double sum_of_parts_ = 0;
  int parts_ = 0;
  bool any_pass_ = false;  ///< a part is a pass through the model
  std::vector<LineNumber> out_;
};

/// Counts the numbers of a log that show what its commas are.
class CommaEvidence {
 public:
  /// The digits, commas and points from `at` to `end`.
  void add(std::string_view text, std::size_t at, std::size_t end) {
    const char before = at > 0 ? text[at - 1] : '\n', after = end < text.size() ? text[end] : '\n';
    const std::string_view number = text.substr(at, end - at);
    const auto commas = std::ranges::count(number, ','), points = std::ranges::count(number, '.');
    if (commas + points == 0 || is_word(before)) return;
    const bool in_place = (before == '/' && at > 1 && is_digit(text[at - 2])) ||
                          (after == '/' && end + 1 < text.size() && is_digit(text[end + 1]));
    const bool grouped = is_grouped(number.substr(0, number.find('.')));
    if (commas > 0 && grouped && (commas > 1 || points == 1 || in_place || counts(text, at))) {
      ++thousands_;
      return;
    }
    // A time of day, a date, a list, a pair of a tuple, a row of a table.
    constexpr std::string_view kOther = ":/,-";
    const bool row = before == '\n' && (after == '\n' || after == '\r');
    if (kOther.find(before) != kOther.npos || kOther.find(after) != kOther.npos || row) return;
    if (commas == 0) {
      if (points == 1) ++thousands_;
    } else if (commas == 1 && points == 0) {
      const bool pair = std::string_view("([{").find(before) != std::string_view::npos;
      if (grouped || !pair) ++(grouped ? unclear_ : decimal_);
    } else if (commas == 1 && number.find('.') < number.find(',')) {
      ++decimal_;  // 1.234,5
    }
  }

  [[nodiscard]] Commas decide() const {
    constexpr std::int64_t kNumbersThatShow = 3;  // one or two may be a list of devices
    constexpr std::int64_t kShare = 10;           // of the unclear ones: less are versions
    if (decimal_ >= kNumbersThatShow && decimal_ > thousands_) return Commas::decimal;
    if (decimal_ + unclear_ == 0) return Commas::thousands;
    return thousands_ >= decimal_ && thousands_ > 0 && thousands_ * kShare >= unclear_
               ? Commas::thousands
               : Commas::unclear;
  }

 private:
  /// "1,234", "12,345,678", but not "0,123", "1234,567", "1,23".
  static bool is_grouped(std::string_view whole) {
    constexpr std::size_t kGroup = 3;  // digits
    const auto groups = split(whole, ',');
    return groups.size() > 1 && groups[0].size() <= kGroup && groups[0][0] != '0' &&
           std::all_of(groups.begin() + 1, groups.end(),
                       [](std::string_view group) { return group.size() == kGroup; });
  }

  /// The word before it is that of a counter: "step 1,000".
  static bool counts(std::string_view text, std::size_t at) {
    constexpr std::size_t kReach = 24;  // bytes: a word and what parts it from its number
    const std::string_view label = text.substr(at - std::min(at, kReach), std::min(at, kReach));
    const std::size_t end = label.find_last_not_of(" \t:=#[(");
    if (end == std::string_view::npos || !is_any_letter(label[end])) return false;
    return among(words::kIterations, Label(label.substr(0, end + 1)).last());
  }

  std::int64_t decimal_ = 0, thousands_ = 0, unclear_ = 0;
};

}  // namespace

std::vector<LineNumber> numbers_of(std::string_view line, Commas commas, bool* left_out) {
  Reader reader(line, commas);
  auto out = reader.read();
  if (left_out != nullptr) *left_out = reader.left_out();
  const bool counts = std::ranges::any_of(out, [](const LineNumber& number) {
    return number.counts() && number.meaning != Meaning::epoch;
  });
  return counts || !reader.has_amounts() ? out : Reader(line, commas, true).read();
}

Commas commas_of(std::string_view text) {
  CommaEvidence evidence;
  const auto next_digit = [&](std::size_t at) {
    while (at < text.size() && !is_digit(text[at])) ++at;
    return at;
  };
  for (std::size_t at = next_digit(0); at < text.size();) {
    std::size_t end = at;
    while (end < text.size() &&
           (is_digit(text[end]) || ((text[end] == ',' || text[end] == '.') &&
                                    end + 1 < text.size() && is_digit(text[end + 1])))) {
      ++end;
    }
    evidence.add(text, at, end);
    at = next_digit(end);
  }
  return evidence.decide();
}

}  // namespace bertbench
