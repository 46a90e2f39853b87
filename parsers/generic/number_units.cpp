#include "parsers/generic/number_units.h"

#include <algorithm>
#include <span>
#include <string>

#include "parsers/core/text.h"
#include "parsers/lines/decimal.h"
#include "parsers/lines/spelled_duration.h"

namespace bertbench {
namespace {

constexpr Words kSeconds({"s", "sec", "secs", "second", "seconds"});

constexpr double kThousand = 1e3, kMillion = 1e6;

/// Of a word that names a rate by itself.
std::optional<RateUnit> rate_named(std::string_view word) {
  if (word == "fps") return RateUnit::sequences_per_second;
  if (word == "sps") return RateUnit::iterations_per_second;
  if (word == "tps" || word == "wps") return RateUnit::tokens_per_second;
  return std::nullopt;
}

struct Work {
  RateUnit unit = RateUnit::unknown;
  double scale = 1;
};

/// "tokens", "ktok", "Msamples"; in small letters.
std::optional<Work> work_of(std::string_view word) {
  if (const auto unit = work_unit(word)) return Work{*unit, 1};
  if (word.empty()) return std::nullopt;
  const auto scale = multiple(word.substr(0, 1));
  const auto unit = work_unit(word.substr(1));
  return scale && unit ? std::optional(Work{*unit, *scale}) : std::nullopt;
}

/// At the start of `text`: " (ms)", "[sec]", " in ms".
Unit unit_apart(std::string_view text) {
  for (const std::string_view open : {" (", "(", " [", "[", " in "}) {
    if (!text.starts_with(open)) continue;
    std::string word;
    const auto seconds = seconds_in(word_at(text, open.size(), word));
    const std::size_t end = open.size() + word.size();
    const std::string_view rest = text.substr(end);
    const std::string_view close = open.back() == '(' ? ")" : open.back() == '[' ? "]" : "";
    const bool closes =
        rest.starts_with(close) && (!close.empty() || rest.empty() || !is_word(rest[0]));
    if (seconds && closes) return {Meaning::duration, {}, *seconds, end + close.size(), true};
  }
  return {};
}

/// " K tokens/s", " Ktps"; `first` is the word at `at`, in small letters.
Unit unit_of_thousands(std::string_view text, std::size_t at, const std::string& first) {
  const auto scale = first.empty() ? std::nullopt : multiple(std::string_view(first).substr(0, 1));
  if (!scale || text[at] == 'm') return {};
  if (const auto rate = rate_named(std::string_view(first).substr(1))) {
    return {Meaning::rate, *rate, *scale, at + first.size()};
  }
  constexpr std::size_t kLetterAndBlank = 2;  // bytes
  const std::string_view rest = text.substr(std::min(at + 1, text.size()));
  if (first.size() > 1 || !rest.starts_with(' ') || rest.starts_with("  ")) return {};
  Unit unit = unit_at(rest);
  if (unit.meaning != Meaning::rate) return {};
  unit.scale *= *scale;
  unit.length += at + kLetterAndBlank - 1;
  return unit;
}

/// "s/iter", "s/b" of a batch.
bool is_iteration_of_time(std::string_view word) {
  return word == "b" || among(words::kIterations, word);
}

/// "time cost", and not "cost= 2.29" of a loss.
bool is_no_cost(std::string_view word) { return word != "cost" && among(words::kTimes, word); }

/// What is done in a time, by the words of a label around the word "per" at `per`: "samples/s",
/// "kTok/s", "samples/GPU/s", "tokens/s (k)", "steps/hour". What is no work of a training, as
/// "TFLOP/s", is an other_rate.
Unit rate_of_words(std::span<const std::string> words, std::size_t per) {
  Unit out;
  std::size_t thing = per - 1;
  if (thing > 1 && among(words::kProcessors, words[thing]) && words[thing - 1] == "per") thing -= 2;
  const auto work = work_of(words[thing]);
  const auto per_s = seconds_in(words[per + 1]);
  out.other_rate = !work || !per_s;
  if (out.other_rate) return out;
  out.meaning = Meaning::rate;
  out.rate = work->unit;
  out.scale = work->scale / *per_s;
  if (thing > 0) out.scale *= multiple(words[thing - 1]).value_or(1);
  if (per + 3 == words.size()) out.scale *= multiple(words[per + 2]).value_or(1);
  return out;
}

}  // namespace

std::optional<RateUnit> work_unit(std::string_view word) {
  if (among(words::kIterations, word)) return RateUnit::iterations_per_second;
  if (among(words::kSequences, word)) return RateUnit::sequences_per_second;
  if (among(words::kTokens, word)) return RateUnit::tokens_per_second;
  return std::nullopt;
}

std::optional<double> multiple(std::string_view word) {
  if (word == "k" || word == "kilo" || word == "thousand" || word == "thousands") return kThousand;
  if (word == "m" || word == "mega" || word == "million" || word == "millions") return kMillion;
  return std::nullopt;
}

std::optional<double> seconds_in(std::string_view word) {
  if (word == "m" || word == "d" || word == "分") return std::nullopt;
  return seconds_of_unit(word);
}

std::string_view without_group(std::string_view text) {
  const std::size_t slash = text.rfind('/');
  if (slash == text.npos) return text;
  const Label words(text.substr(0, slash));
  const bool of_a_ratio =
      words.has(words::kPlans) || names_loss(words) ||
      std::ranges::any_of(words.all(), [](std::string_view word) {
        return work_unit(word) || among(words::kEpochs, word) || seconds_in(word);
      });
  return of_a_ratio ? text : text.substr(slash + 1);
}

bool is_unit_of_latin(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_beyond_ascii(text[i])) continue;
    const std::string_view sign = text.substr(i, 2);
    if (sign != "µ" && sign != "μ") return false;
    ++i;
  }
  return true;
}

std::size_t other_unit_at(std::string_view text) {
  static constexpr Words kUnits({"kb",     "mb",     "gb",   "tb",    "kib",   "mib",    "gib",
                                 "tib",    "w",      "kw",   "flops", "gflop", "gflops", "tflop",
                                 "tflops", "pflops", "gbps", "mbps",  "mhz",   "ghz"});
  std::size_t end = std::min(text.find_first_not_of(' '), text.size());
  if (text.substr(end).starts_with('%')) {
    ++end;
  } else {
    std::string word;
    end += word_at(text, end, word).size();
    if (!among(kUnits, word)) return 0;
    if (text.substr(end).starts_with('/')) {
      const std::size_t per = word_at(text, end + 1, word).size();
      if (!among(kSeconds, word)) return 0;
      end += 1 + per;
    }
  }
  const std::size_t next = std::min(text.find_first_not_of(' ', end), text.size());
  const bool labels = next < text.size() && (text[next] == '=' || text[next] == ':');
  constexpr std::string_view kEnds = " |,;)]\t";
  const bool closes = end == text.size() || kEnds.find(text[end]) != kEnds.npos;
  return closes && !labels ? end : 0;
}

bool is_of_data(std::string_view word) {
  const auto work = work_unit(word);
  return work && *work != RateUnit::iterations_per_second && !word.ends_with('s');
}

Unit unit_at(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && text[at] == ' ' && at < 2) ++at;
  std::string first, second;
  if (word_at(text, at, first).empty() || text.starts_with(" in ")) return unit_apart(text);
  const std::size_t after_first = at + first.size();
  if (text.substr(after_first).starts_with('@')) return {};  // "0.51  HR@20: 0.69", a hit rate
  std::size_t next = 0;
  for (const std::string_view per : {"/", " per ", "_per_", " / ", " for "}) {
    const std::string_view rest = text.substr(after_first);
    if (!rest.starts_with(per)) continue;
    const bool of_words = per == " for " && !is_digit(rest.substr(0, per.size() + 1).back());
    if (!of_words) next = after_first + per.size();
  }
  const auto time = seconds_in(first);
  // "sec/100 iters", "sec for 50 iters". Digits that no iteration follows are the next number:
  // "41s/410s".
  if (const std::size_t digits = text.find_first_not_of("0123456789", next);
      time && next != 0 && digits != std::string_view::npos && digits > next) {
    const double of_how_many = to_double(text.substr(next, digits - next)).value_or(0);
    const std::size_t word = digits + (text[digits] == ' ' ? 1 : 0);
    if (of_how_many > 0 && among(words::kIterations, word_at(text, word, second))) {
      return {Meaning::per_iteration, {}, *time / of_how_many, word + second.size()};
    }
  }
  const bool two = next != 0 && !word_at(text, next, second).empty();
  if (two && time && is_of_data(second)) return {Meaning::other, {}, 1, next + second.size()};
  if (!two) {
    if (const auto rate = rate_named(first)) return {Meaning::rate, *rate, 1, after_first};
    if (const Unit unit = unit_of_thousands(text, at, first); unit.length > 0) return unit;
    return time ? Unit{Meaning::duration, RateUnit::unknown, *time, after_first} : Unit{};
  }
  const std::size_t end = next + second.size();
  if (time && is_iteration_of_time(second)) return {Meaning::per_iteration, {}, *time, end};
  if (time && among(words::kEpochs, second)) return {Meaning::duration, {}, *time, end};
  const auto work = work_of(first);
  const auto per_s = seconds_in(second);  // "samples/hour" too
  if (work && per_s) return {Meaning::rate, work->unit, work->scale / *per_s, end};
  return {};
}

bool names_part(std::string_view text) {
  while (!text.empty()) {
    const std::size_t blank = text.find_last_of(" \t");
    const Label last(blank == std::string_view::npos ? text : text.substr(blank + 1));
    if (last.has(words::kPartWords)) return true;
    if (std::ranges::any_of(last.all(), [](std::string_view word) {
          return !among(words::kTimes, word) && !among(words::kIterations, word) &&
                 !seconds_in(word);
        })) {
      return false;
    }
    text = text.substr(0, blank == std::string_view::npos ? 0 : blank);
  }
  return false;
}

Unit unit_of(const Label& label, std::string_view text) {
  const auto words = label.all();
  Unit out;
  double scale = 1;
  bool time = label.has(words::kTimes);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i + 2 < words.size() && words[i + 1] == "per") {
      // "time/s" is a time in seconds.
      if (seconds_in(words[i + 2]) && !among(words::kTimes, words[i]))
        return rate_of_words(words, i + 1);
      const auto seconds = seconds_in(words[i]);
      if (seconds && is_iteration_of_time(words[i + 2])) {
        return {Meaning::per_iteration, {}, *seconds, 0};
      }
    }
    if (const auto rate = rate_named(words[i])) return {Meaning::rate, *rate};
    // "min" next to other words is a minimum, unless it stands in brackets or next to a word of a
    // time since the start; "loss_s" may stand next to "loss_m" and "loss_l".
    // Hours have a word of time with them: "elapsed_h", but not the entropy "nca_h".
    const bool no_unit =
        (words[i] == "s" && names_loss(label)) || (words[i] == "h" && !label.has(words::kTimes));
    const bool minimum = words[i] == "min" && !label.has(words::kSinceStart) &&
                         text.find("(min") == text.npos && text.find("[min") == text.npos;
    if (i + 1 == words.size() && words.size() > 1 && !minimum && !no_unit) {
      if (const auto seconds = seconds_in(words[i])) {
        scale = *seconds;
        time = true;
      }
    }
  }
  if (words.size() == 1 && among(kSeconds, words[0]) && words[0].size() > 1) time = true;
  // "t_total", "t_step" next to "t_gen", "t_update".
  static constexpr Words kWholes({"total", "step", "iter", "iteration"});
  if (words.size() == 2 && words[0] == "t" && among(kWholes, words[1])) time = true;
  if (words.size() == 1 && words[0] == "dt") return {Meaning::per_iteration, {}, 1, 0};
  if (!words.empty() && words.back() == "cost" && std::ranges::none_of(words, is_no_cost))
    time = false;
  if (!time) return out;
  out.scale = scale;
  const bool of_epoch = label.has(words::kEpochs);
  out.meaning =
      label.has(words::kIterations) && !of_epoch ? Meaning::per_iteration : Meaning::duration;
  return out;
}

}  // namespace bertbench
