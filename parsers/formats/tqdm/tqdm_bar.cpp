#include "parsers/formats/tqdm/tqdm_bar.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "parsers/core/text.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/decimal.h"
#include "parsers/lines/decoration.h"
#include "parsers/lines/evaluation_words.h"
#include "parsers/lines/spelled_duration.h"
#include "parsers/rules/mark_rules.h"
#include "parsers/scan/byte_search.h"

namespace bertbench {
namespace {

template <typename List>
bool among(const List& list, std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

// Where the digits before `end` begin, with the groups of "500,000" that rich prints.
std::size_t grouped_digits_before(std::string_view text, std::size_t end) {
  std::size_t begin = digits_before(text, end);
  while (end - begin == 3 && begin > 1 && text[begin - 1] == ',' && is_digit(text[begin - 2])) {
    end = begin - 1;
    begin = digits_before(text, end);
    if (end - begin > 3) return end + 1;  // "1234,567" are two numbers
  }
  return begin;
}

// Where the digits and the point before `end` begin.
std::size_t begin_of_number(std::string_view text, std::size_t end) {
  while (end > 0 && (is_digit(text[end - 1]) || text[end - 1] == '.')) --end;
  return end;
}

// The rate before the unit at `unit`: a number, or '?' (unknown). nullopt: not a bar's rate.
struct Rate {
  std::size_t begin = 0;
  double value = kUnknown;
};
std::optional<Rate> rate_before(std::string_view text, std::size_t unit) {
  if (unit > 0 && text[unit - 1] == ' ') {  // unit=" examples" of Hugging Face's datasets
    --unit;
    // rich: "1,620 it/s"
    const std::size_t begin = grouped_digits_before(text, unit);
    if (begin < unit && text[begin - (begin > 0)] == ' ') {
      const auto whole = Cursor(text.substr(begin, unit - begin), false).grouped_integer();
      return whole ? std::optional(Rate{begin, static_cast<double>(*whole)}) : std::nullopt;
    }
  }
  if (unit == 0) return std::nullopt;
  if (text[unit - 1] == '?') return Rate{unit - 1, kUnknown};
  const double scale = suffix_scale(text[unit - 1]);  // unit_scale's
  if (scale > 1) --unit;
  const std::size_t i = begin_of_number(text, unit);
  const Decimal plain = read_plain_decimal(text.data() + i, text.data() + unit);
  if (plain.stop == text.data() + unit) return Rate{i, plain.value * scale};
  const auto value = to_double(text.substr(i, unit - i));
  if (!value) return std::nullopt;
  return Rate{i, *value * scale};
}

// The count that ends at `end`, with unit_scale's "3.20k" and "32.0".
struct Count {
  std::size_t begin = 0;
  std::int64_t value = 0;
  bool rounded = false;
};
std::optional<Count> count_before(std::string_view text, std::size_t end) {
  Count count;
  count.begin = digits_before(text, end);
  if (const auto grouped = grouped_digits_before(text, end); grouped < count.begin) {
    const auto value = Cursor(text.substr(grouped, end - grouped), false).grouped_integer();
    constexpr std::int64_t kLargestCount = 1'000'000'000'000'000;  // more is a damaged number
    if (!value || *value > kLargestCount) return std::nullopt;
    return Count{grouped, *value, false};
  }
  const bool point = count.begin > 0 && text[count.begin - 1] == '.';
  const double scale = end > 0 ? suffix_scale(text[end - 1]) : 1;
  if (count.begin < end && !point) {
    constexpr std::size_t kFits = 18;  // digits of an int64
    if (end - count.begin > kFits) return std::nullopt;
    count.value = to_int(text.substr(count.begin, end - count.begin)).value_or(0);
    return count;
  }
  const std::size_t digits = scale > 1 ? end - 1 : end;
  count.begin = begin_of_number(text, digits);
  const auto value = to_double(text.substr(count.begin, digits - count.begin));
  if (!value || !(*value < 1e9)) return std::nullopt;
  count.value = std::llround(*value * scale);
  count.rounded = scale > 1;
  return count;
}

// Lightning's bar over data of unknown length: "Epoch 0: |          | 5/? ". `end` is after it.
bool read_endless(std::string_view text, std::size_t end, std::size_t floor, TqdmBar& bar) {
  const auto done = count_before(text, end - 2);
  if (!done || done->begin < floor || done->begin == end - 2) return false;
  bar.done = done->value;
  bar.rounded = done->rounded;
  bar.begin = done->begin;
  const std::string_view head = text.substr(floor, done->begin - floor);
  const auto right = head.find_last_not_of(' ');
  if (right == std::string_view::npos || head[right] != '|' || right == 0) return true;
  const auto left = head.rfind('|', right - 1);
  if (left != std::string_view::npos) bar.begin = floor + left;
  return true;
}

// Reads leftwards from the bracket: "33%|███▎ | 3655/11057 " or "123it " where no total is known.
bool read_counter(std::string_view text, std::size_t bracket, std::size_t floor,
                  std::string_view unit, TqdmBar& bar) {
  std::size_t i = bracket;
  while (i > floor && text[i - 1] == ' ') --i;
  if (text.substr(floor, i - floor).ends_with(unit)) {
    std::size_t end = i - unit.size();
    if (end > floor && text[end - 1] == ' ') --end;
    const auto done = count_before(text, end);
    if (!done || done->begin < floor) return false;
    bar.done = done->value;
    bar.rounded = done->rounded;
    bar.begin = done->begin;
    return true;
  }
  if (text.substr(floor, i - floor).ends_with("/?")) return read_endless(text, i, floor, bar);
  const auto total = count_before(text, i);
  if (!total || total->begin <= floor + 1 || text[total->begin - 1] != '/') return false;
  const auto done = count_before(text, total->begin - 1);
  if (!done || done->begin < floor) return false;
  bar.done = done->value;
  bar.total = total->value;
  bar.rounded = done->rounded;
  bar.begin = done->begin;
  const auto percent = text.substr(floor, done->begin - floor).rfind('%');
  if (percent == std::string_view::npos) return true;  // its head is cut off
  bar.begin = digits_before(text, floor + percent);
  return true;
}

// "1/3", "-0.1;gen", "3.05e+00 lr", "loss 1.2": no name by itself, but the rest of one, as in
// "Training loss: 3.05e+00 lr: 6.25e-05"
// (quoted/tqdm.joins_epochs_whose_number_stands_after_a_colon).
bool continues_name(std::string_view piece) {
  const bool negative = piece.size() > 1 && piece[0] == '-' && is_digit(piece[1]);
  return piece.empty() || is_digit(piece[0]) || negative || piece.starts_with("loss") ||
         piece.starts_with("Loss") || piece.starts_with("nan");
}

std::string_view description_before(std::string_view text, std::size_t floor, std::size_t& begin) {
  std::string_view head = trim(text.substr(floor, begin - floor));
  if (!head.ends_with(':')) return {};
  head.remove_suffix(1);
  // "node7: Iteration", "... WARNING: Epoch 1": the words after the last ": " describe the bar, or
  // those before it as well ("node7: Epoch: 1/3", "Training loss: 3.05e+00 lr: 6.25e-05").
  constexpr int kMostPieces = 6;  // a bound for hostile input
  auto colon = head.rfind(": ");
  for (int n = 0; n < kMostPieces && colon != std::string_view::npos && colon > 0; ++n) {
    if (!continues_name(trim(head.substr(colon + 2)))) {
      head.remove_prefix(colon + 2);
      break;
    }
    colon = head.rfind(": ", colon - 1);
  }
  if (head.starts_with("^M")) head.remove_prefix(2);  // '\r' as less and vi show it
  begin = static_cast<std::size_t>(head.data() - text.data());
  return trim(head);
}

// tqdm.rich puts no colon after it.
std::string_view rich_description(std::string_view text, std::size_t floor, std::size_t& begin) {
  std::string_view head = trim(text.substr(floor, begin - floor));
  if (head.ends_with(':')) head.remove_suffix(1);
  if (!head.empty()) begin = static_cast<std::size_t>(head.data() - text.data());
  return trim(head);
}

constexpr std::size_t kLongestPostfix = 4096;  // a bound for hostile input
constexpr std::size_t kLongestClock = 128;     // "[1000:00:00<2000:00:00, 12.34"

// "loss=1.25" of a postfix, "train_loss: 1.5", "Loss 1.5" of one that scripts set as a text
// (quoted/tqdm.takes_a_bar_of_another_name_for_training_when_it_shows_a_loss.2); "Training loss:
// 3.05e+00 lr: 6.25e-05" in a name, of the first OpenAI GPT scripts. Not the loss of a validation,
// which Lightning shows next to the training's, nor "loss_scale".
std::optional<double> loss_in(std::string_view text) {
  for (auto at = text.find("oss"); at != std::string_view::npos; at = text.find("oss", at + 1)) {
    if (at == 0 || (text[at - 1] != 'l' && text[at - 1] != 'L')) continue;
    const auto comma = text.rfind(',', at);
    const auto begin = comma == std::string_view::npos ? 0 : comma;
    const std::string_view front = text.substr(begin, at - begin);
    const auto holds = [&](std::string_view what) { return front.find(what) != front.npos; };
    if (holds("val") || holds("Val") || holds("VAL") || holds("test") || holds("dev")) continue;
    Cursor cursor(text.substr(at + 3), false);
    const bool blank = cursor.literal(" ");
    cursor.blanks();
    if (!cursor.literal(":") && !cursor.literal("=") && !blank) continue;
    cursor.blanks();
    if (const auto loss = cursor.number()) return loss;
  }
  return std::nullopt;
}

std::string_view postfix_of(std::string_view text, std::size_t from, std::size_t close) {
  if (close == std::string_view::npos) return {};
  return text.substr(from, std::min(close - from, kLongestPostfix));
}

/// Iterations/s: below it two decimals give a rate to no better than 2 %. Lightning's bars.
constexpr double kRoughRate = 0.25;

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

/// What a bar counts.
enum class UnitOf : std::uint8_t { iterations, examples, epochs };

// The unit of a rate that tqdm's `unit` names: "batch/s", "s/batch", and where it stands.
struct Unit {
  std::size_t at = std::string_view::npos;
  std::size_t end = 0;
  std::string_view word;
  bool per_second = false;
  UnitOf counted = UnitOf::iterations;
};

// Nothing of a unit that no bar of a training has.
std::optional<UnitOf> counted_in(std::string_view word) {
  constexpr std::string_view kIterations[] = {"batch", "batches", "ba", "step",    "steps",
                                              "iter",  "iters",   "ep", "episode", "episodes"};
  constexpr std::string_view kExamples[] = {"example", "examples", "ex",        "sample",
                                            "samples", "img",      "imgs",      "images",
                                            "seq",     "seqs",     "sequences", "sentences"};
  if (among(kIterations, word)) return UnitOf::iterations;
  if (word == "epoch" || word == "epochs") return UnitOf::epochs;
  if (!among(kExamples, word)) return std::nullopt;
  return UnitOf::examples;
}

// The next unit that is not "it".
Unit other_unit(std::string_view text, std::size_t from) {
  for (auto slash = text.find('/', from); slash != std::string_view::npos;
       slash = text.find('/', slash + 1)) {
    const auto after = [&](std::size_t n) {
      return slash + n < text.size() ? text[slash + n] : ' ';
    };
    if (slash == 0 || !is_lower(text[slash - 1])) continue;
    std::size_t begin = slash, end = slash + 1;
    if (after(1) == 's' && !is_lower(after(2))) {
      while (begin > from && is_lower(text[begin - 1])) --begin;
      // "3.10kbatch/s"
      if (slash - begin > 4 && text[begin] == 'k') ++begin;
      const std::string_view word = text.substr(begin, slash - begin);
      if (const auto counted = counted_in(word)) return {begin, slash + 2, word, true, *counted};
    }
    if (text[slash - 1] == 's' && (slash < 2 || !is_lower(text[slash - 2]))) {
      if (end < text.size() && text[end] == ' ') ++end;
      const std::size_t start = end;
      while (end < text.size() && is_lower(text[end])) ++end;
      const std::string_view word = text.substr(start, end - start);
      if (const auto counted = counted_in(word)) return {slash - 1, end, word, false, *counted};
    }
  }
  return {};
}

}  // namespace

void find_bars(std::string_view text, UnitsSought units, std::vector<TqdmBar>& bars) {
  bars.clear();
  if (text.find('[') == std::string_view::npos) return;  // that of the clock
  std::size_t floor = 0;                                 // end of the bar before
  std::size_t from = 0;
  // The next of each in the text. Looked for again only after it: a line may hold thousands.
  const auto first = [&](bool sought, std::string_view unit) {
    return sought ? find_text(text, unit) : std::string_view::npos;
  };
  std::size_t per_second = first(units.per_second, "it/s");
  std::size_t per_iteration = first(units.per_iteration, "s/it");
  std::size_t close = 0, open = 0;
  Unit other = units.others ? other_unit(text, 0) : Unit{};
  const auto move_on = [&] {
    const auto after = [&](std::size_t at) { return at != std::string_view::npos && at < from; };
    if (after(per_second)) per_second = find_text(text, "it/s", from);
    if (after(per_iteration)) per_iteration = find_text(text, "s/it", from);
    if (after(other.at)) other = other_unit(text, from);
    if (after(close)) close = text.find(']', from);
    if (after(open)) open = text.find('[', from);
  };
  while (true) {
    Unit unit{std::min(per_second, per_iteration), 0, "it", per_second < per_iteration};
    unit.end = unit.at + 4;
    if (other.at < unit.at) unit = other;
    if (unit.at == std::string_view::npos) return;
    from = unit.end;
    move_on();
    TqdmBar bar;
    const auto rate = rate_before(text, unit.at);
    if (!rate || rate->begin < floor) continue;
    const std::size_t back = rate->begin - std::min(rate->begin - floor, kLongestClock);
    const auto found = text.substr(back, rate->begin - back).rfind('[');
    if (found == std::string_view::npos) continue;
    const std::size_t bracket = back + found;
    Cursor cursor(text.substr(bracket + 1, rate->begin - bracket - 1), false);
    const bool of_rich = cursor.literal(" ");
    const auto elapsed = cursor.duration();
    if (!elapsed || !read_counter(text, bracket, floor, unit.word, bar)) continue;
    bar.elapsed_s = *elapsed;
    bar.counts_examples = unit.counted == UnitOf::examples;
    bar.counts_epochs = unit.counted == UnitOf::epochs;
    // The rate that rich prints is of the newest seconds, in whole iterations: that of a bar which
    // has run for longer is its counter over its time, whose seconds are cut.
    constexpr double kRichsNewest_s = 30, kCut_s = 0.5;
    if (of_rich && !(bar.elapsed_s < kRichsNewest_s)) {
      bar.rate = static_cast<double>(bar.done) / (bar.elapsed_s + kCut_s);
    } else if (of_rich && !(rate->value >= kLeastRateOfRich)) {
      bar.rate = kUnknown;
    } else if (unit.per_second) {
      // Lightning's "0.01it/s" is no better than half of it; tqdm would print s/it.
      if (!(rate->value > 0 && rate->value < kRoughRate)) bar.rate = rate->value;
    } else if (rate->value > 0) {
      bar.rate = 1 / rate->value;
    }
    bar.loss = loss_in(postfix_of(text, from, close));
    name_bar(bar, of_rich ? rich_description(text, floor, bar.begin)
                          : description_before(text, floor, bar.begin));
    bar.end = close == std::string_view::npos ? from : close + 1;
    floor = from;
    if (close != std::string_view::npos && open > close) floor = close + 1;
    bars.push_back(bar);
  }
}

std::string_view name_above(std::string_view text) {
  constexpr std::string_view kEnd = ": 100%";  // a notebook keeps the end of a bar alone
  constexpr std::size_t kLongest = 200;        // bytes of a name; a longer line is text
  text = trim(text);
  if (!text.ends_with(kEnd) || text.size() > kLongest) return {};
  return text.substr(0, text.size() - kEnd.size());
}

void name_bar(TqdmBar& bar, std::string_view name) {
  bar.description = name;
  if (!bar.loss) bar.loss = loss_in(name);
}

namespace {

// "43s169ms", "2m5s", "1D3h", "36ms".
std::optional<double> printed_duration(std::string_view text) {
  if (const auto spelled = spelled_duration(text)) return spelled->seconds;
  Cursor cursor(text, false);
  const auto value = cursor.number();
  if (!value) return std::nullopt;
  const std::string unit = lower(cursor.rest().substr(0, 3));
  const auto letters = std::ranges::find_if_not(unit, is_letter) - unit.begin();
  const auto seconds = seconds_of_unit(unit.substr(0, static_cast<std::size_t>(letters)));
  return seconds ? std::optional(*value * *seconds) : std::nullopt;
}

}  // namespace

std::optional<TqdmBar> find_torch7_bar(std::string_view text) {
  constexpr std::int64_t kMostSteps = 1'000'000'000'000;  // more is a damaged number
  constexpr std::string_view kTotal = "Tot: ", kDrawn = "=>.";
  const auto open = text.find('[');
  if (open == text.npos) return std::nullopt;
  TqdmBar bar;
  Cursor cursor(text, false);
  auto close = text.find_first_not_of(kDrawn, open + 1);
  if (close == text.npos) return std::nullopt;
  // The counter is written last, after backspaces to the middle of the bar.
  const bool drawn = text[close] == ']';
  const auto back = text.rfind('\b');
  if (drawn && back == text.npos) return std::nullopt;
  cursor.move_to(drawn ? back + 1 : close);
  if (!cursor.read(kBlanks, bar.done, "/", bar.total, kBlanks)) return std::nullopt;
  if (!drawn) close = std::min(text.find_first_not_of(kDrawn, cursor.at()), text.size());
  const bool closed = drawn ? cursor.rest().empty() : text.substr(close).starts_with(']');
  if (!closed || bar.done < 1 || bar.done > bar.total || bar.total > kMostSteps) {
    return std::nullopt;
  }
  const auto total = text.find(kTotal, close);
  if (total == text.npos) return std::nullopt;
  const auto seconds = printed_duration(text.substr(total + kTotal.size()));
  if (!seconds) return std::nullopt;
  // The clock starts when the first step is done: before the second it shows nothing.
  if (bar.done > 1 && *seconds > 0) {
    bar.rate = static_cast<double>(bar.done - 1) / *seconds;
    bar.elapsed_s = static_cast<double>(bar.done) / bar.rate;
  } else if (bar.total > 1) {
    return std::nullopt;
  } else {
    bar.elapsed_s = 0;
  }
  bar.drawn_once = true;
  bar.begin = open;
  bar.end = text.size();
  bar.loss = loss_in(postfix_of(text, close, text.size()));
  return bar;
}

bool of_lightning_1(const TqdmBar& bar, const Line& line) {
  if (!bar.description.starts_with("Epoch ")) return false;
  const std::string_view text = line.text.substr(bar.begin, bar.end - bar.begin);
  const auto loss = text.find("it, loss="), loss_s = text.find("it/s, loss=");
  const auto version = text.find(", v_num=");
  return version != std::string_view::npos && std::min(loss, loss_s) < version;
}

namespace {

using Words = std::vector<std::string>;

constexpr std::size_t kWordsOfAName = 16;  // a bound for hostile input

Words words_of(std::string_view text, std::size_t most = kWordsOfAName) {
  Words words(1);
  for (const char c : text) {
    if (is_letter(c) || is_digit(c)) {
      words.back().push_back(lower(c));
    } else if (!words.back().empty()) {
      if (words.size() == most) break;
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

bool is_number(std::string_view word) {
  return word.find_first_not_of("0123456789") == std::string_view::npos;
}

// "e" of "e12".
std::string letters_of(const std::string& word) {
  return word.substr(0, word.find_last_not_of("0123456789") + 1);
}

bool is_epoch(std::string_view word) { return word == "epoch" || word == "epochs" || word == "ep"; }

// "Epoch 3 [Val]" is of a validation
// (quoted/tqdm.keeps_the_validation_of_each_epoch_out_of_its_training), "Epoch 3, val_loss 0.2" is
// not.
bool has_any_word(const Words& words, std::initializer_list<std::string_view> what) {
  constexpr std::string_view kMetrics[] = {"loss", "acc", "accuracy", "ppl",
                                           "f1",   "auc", "score",    "perplexity"};
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (among(what, words[i]) && (i + 1 == words.size() || !among(kMetrics, words[i + 1]))) {
      return true;
    }
  }
  return false;
}

// Nothing but words of training loops and numbers: "Train Epoch 3", "[Epoch 3/10]", "train 1/2"
// (quoted/tqdm.counts_epochs_that_are_named_by_a_number_alone).
bool only_of_training(const Words& words) {
  constexpr std::string_view kKnown[] = {
      "train", "training", "pretraining", "pretrain", "finetuning", "epoch",     "epochs",
      "ep",    "e",        "step",        "steps",    "iter",       "iteration", "batch",
      "fold",  "of",       "rank",        "running",  "progress",   "total"};
  return std::ranges::all_of(words, [&](const std::string& word) {
    return is_number(word) || among(kKnown, letters_of(word));
  });
}

struct NamedValue {
  std::string_view name, value;
};

// "L: 2011.79, L_crf: 43.19, epoch: 0/50", "d: -0.001;gen: 0.2": the names with their values, where
// there are several and nothing else.
std::vector<NamedValue> values_only(std::string_view description) {
  const char separator = description.find(';') == description.npos ? ',' : ';';
  std::vector<NamedValue> out;
  for (const std::string_view part : split(description, separator)) {
    const auto mark = part.find_first_of(":=");
    if (mark == part.npos) return {};
    const NamedValue one{trim(part.substr(0, mark)), trim(part.substr(mark + 1))};
    const bool number = !one.value.empty() && (is_digit(one.value[0]) || one.value[0] == '-');
    if (!number || std::ranges::count(one.name, ' ') > 1) return {};
    out.push_back(one);
  }
  return out.size() > 1 ? out : std::vector<NamedValue>{};
}

// Whole numbers count files or errors, and scores are of evaluations as well: neither shows that
// the bar is of training, but for "train acc: 0.98".
bool may_be_losses(const std::vector<NamedValue>& values) {
  constexpr std::string_view kScores[] = {
      "acc",  "accuracy", "f1", "auc",  "score", "iou", "miou", "precision", "recall", "map",
      "psnr", "ssim",     "em", "bleu", "wer",   "cer", "mrr",  "ndcg",      "hits",   "top"};
  const auto has = [](const NamedValue& one, const auto& list) {
    return std::ranges::any_of(words_of(one.name),
                               [&](const auto& word) { return among(list, letters_of(word)); });
  };
  const bool trains = std::ranges::any_of(values, [&](const NamedValue& one) {
    return has(one, std::to_array<std::string_view>({"train", "training"}));
  });
  return !values.empty() && std::ranges::all_of(values, [&](const NamedValue& one) {
    return !words_of(one.name).empty() && one.value.find('.') != one.value.npos &&
           one.value.find_first_not_of("-.0123456789e") == one.value.npos &&
           (trains || !has(one, kScores));
  });
}

// "Generating test split" of Hugging Face's datasets, "Truncating eval dataset" of TRL, "Loading
// eval data": a data set is made ready, whichever one
// (quoted/tqdm.a_bar_over_a_data_set_is_no_training_and_no_evaluation). Predictions are generated,
// too.
bool prepares_data(const Words& words) {
  constexpr std::string_view kAlways[] = {
      "map",        "filter",     "downloading", "extracting", "resolving",   "fetching",
      "loading",    "tokenizing", "flattening",  "casting",    "grouping",    "saving",
      "converting", "caching",    "preparing",   "building",   "reading",     "preprocessing",
      "truncating", "packing",    "applying",    "adding",     "encoding",    "chunking",
      "splitting",  "shuffling",  "sharding",    "verifying",  "parsing",     "scanning",
      "indexing",   "copying",    "processing",  "tokenize",   "tokenization"};
  constexpr std::string_view kUses[] = {"evaluating", "evaluation", "eval",      "validating",
                                        "testing",    "predicting", "inference", "training"};
  if (words.empty()) return false;
  if (words.front() == "generating" || words.front() == "creating") {
    return among(words, "split") || among(words, "dataset") || among(words, "data");
  }
  if (among(kAlways, words.front()) || among(words, "tokenizer")) return true;
  return among(words, "dataset") && !among(kUses, words.front());
}

// The number of the epoch and that of all epochs.
void read_epoch(std::string_view description, const Words& words, BarName& name) {
  auto word = std::ranges::find_if(words, is_epoch);
  // "train 3/10", but not "Training loss 0.25".
  if (word == words.end() && description.find('.') == std::string_view::npos) word = words.begin();
  word = std::find_if(word, words.end(), is_number);
  if (word == words.end()) return;
  name.epoch = to_int(*word).value_or(-1);
  if (++word != words.end() && *word == "of") ++word;
  if (word != words.end() && is_number(*word)) name.epochs = to_int(*word).value_or(-1);
}

BarRole role_of(std::string_view description, const Words& words) {
  if (description.empty()) return BarRole::unnamed;
  const std::string word = lower(description);
  if (prepares_data(words)) return BarRole::other;
  const bool train =
      has_any_word(words, {"train", "training", "pretraining", "pretrain", "finetuning"});
  const auto has = [&](std::string_view what) { return word.find(what) != std::string::npos; };
  if (has("eval") || has("valid")) return BarRole::evaluation;
  if (has_any_word(words, {"val", "dev"})) return train ? BarRole::other : BarRole::evaluation;
  if (has("predict") || has("infer")) return BarRole::inference;
  if (has_any_word(words, {"test", "testing"})) return train ? BarRole::other : BarRole::inference;
  // "训练 第3轮", "학습 중", "Treinando": training in the languages of logs that people wrote for
  // themselves (quoted/tqdm.names_of_bars_in_other_languages).
  constexpr std::string_view kOfData[] = {"数据",   "训练集", "加载",   "读取",  "下载",  "处理",
                                          "データ", "読み込", "데이터", "данны", "dados", "datos"};
  constexpr std::string_view kEvaluations[] = {"验证", "驗證", "评估",  "評価", "検証",
                                               "검증", "평가", "валид", "Валид"};
  constexpr std::string_view kTests[] = {"测试", "測試", "テスト", "테스트", "推理", "预测"};
  constexpr std::string_view kTrainings[] = {
      "训练",   "訓練",      "学習",        "학습",       "훈련",         "обучен",
      "Обучен", "treinando", "treinamento", "entrenando", "entrenamiento"};
  const auto has_any = [&](const auto& list) { return std::ranges::any_of(list, has); };
  if (has_any(kOfData)) return BarRole::other;
  if (has_any(kEvaluations)) return BarRole::evaluation;
  if (has_any(kTests)) return BarRole::inference;
  if (has_any(kTrainings)) return BarRole::training;
  // "Epoch ... (1/3)" of Hugging Face's Flax scripts keeps its number for the whole run
  // (quoted/tqdm.tells_the_epochs_of_flax_scripts_from_their_steps).
  if (word == "epoch" || word == "epochs" || word.starts_with("epoch ...")) return BarRole::outer;
  // "Iteration" of NVIDIA's BERT and the first Hugging Face scripts, "Training" and "Steps" of
  // accelerate's examples, "Epoch 3" of Lightning.
  constexpr std::string_view kLoops[] = {"iteration", "iterations", "step",  "steps",
                                         "iter",      "iters",      "train", "fine-tuning"};
  if (word.starts_with("epoch") || word.starts_with("training") || among(kLoops, word)) {
    return BarRole::training;
  }
  const bool epoch = std::ranges::any_of(words, is_epoch);
  const bool numbered = !epoch || std::ranges::any_of(words, is_number);
  if ((train || epoch) && numbered && only_of_training(words)) return BarRole::training;
  // "Total epochs", but "Train Epoch" may be of the steps of one.
  if (epoch && !train && only_of_training(words)) return BarRole::outer;
  if (epoch && numbered && !values_only(description).empty()) return BarRole::training;
  return BarRole::other;
}

}  // namespace

BarName name_of(std::string_view description) {
  description = without_front(description);
  const Words words = words_of(description);
  BarName name;
  name.role = role_of(description, words);
  name.of_data = prepares_data(words);
  name.values = name.role == BarRole::other && may_be_losses(values_only(description));
  read_epoch(description, words, name);
  // "Epoch 3" of Lightning, "[Train] epoch 3/10": one loop, whose bar has another name in each
  // epoch. Losses change, too.
  if (std::ranges::any_of(words, is_epoch) && std::ranges::any_of(words, is_number)) {
    name.key = "Epoch" + std::to_string(static_cast<int>(name.role));
    if (name.role != BarRole::other) return name;
  }
  for (const std::string& word : words) {
    if (!is_digit(word[0])) name.key += letters_of(word) + ' ';
  }
  // Letters of other languages, but no signs: U+2000 to U+2FFF and emoji may turn in a spinner.
  bool letter = false;
  for (const char c : description) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0xc0) letter = byte != 0xe2 && byte < 0xf0;
    if (byte >= 0x80 && letter) name.key += c;
  }
  return name;
}

bool BarName::counts_epochs(std::int64_t done, std::int64_t total) const {
  return epochs > 0 && total == epochs && done - epoch <= 1 && epoch - done <= 1;
}

namespace {

// "train loss: 7.1298", "Training Loss 0.52 | Validation Loss 0.61": which epoch it is of is on
// another line, if anywhere.
bool names_loss_of_training(const Words& words) {
  constexpr std::string_view kTraining[] = {"train", "training"};
  bool train = false;  // also "TRAIN-(tfn) [4/12/1] >> loss: 0.53"
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "loss" && train && is_number(words[i + 1])) return true;
    train = among(kTraining, words[i]) || (train && !is_evaluation_word(words[i]));
  }
  // spaCy's update() fills "Losses {'ner': 0.0466}".
  return words.size() > 2 && words[0] == "losses" && std::ranges::any_of(words, is_number);
}

}  // namespace

std::optional<EpochResult> epoch_result(std::string_view line) {
  constexpr std::size_t kLongest = 300;  // bytes: a line, and no dump
  // "Epoch: [1][10/500]" of PyTorch's ImageNet example, "Epoch 1, step 10": of a step.
  if (line.size() > kLongest || line.find("][") != std::string_view::npos) return std::nullopt;
  const Words words = words_of(without_front(line));
  constexpr std::string_view kFiner[] = {"step", "iter", "iteration", "batch", "it"};
  if (std::ranges::find_first_of(words, kFiner) != words.end()) return std::nullopt;
  const auto epoch = std::ranges::find_if(words, is_epoch);
  if (words.end() - epoch < 3 || !is_number(epoch[1])) {
    if (names_loss_of_training(words)) return EpochResult{.loss = true};
    // "[ Valid | 003/100 ] loss = 1.34661, acc = 0.40302"
    const bool validation = words.size() > 3 && is_evaluation_word(words[0]) &&
                            is_number(words[1]) && is_number(words[2]) &&
                            line.find('/') != std::string_view::npos;
    if (!validation) return std::nullopt;
    return EpochResult{.epochs = to_int(words[2]).value_or(-1), .numbered = true};
  }
  EpochResult out{.numbered = true};
  if (is_number(epoch[2]) && line.find('/') != std::string_view::npos) {
    out.epochs = to_int(epoch[2]).value_or(-1);
  }
  for (auto word = epoch + 2; word + 1 != words.end() && !out.loss; ++word) {
    out.loss = *word == "loss" && is_number(word[1]) && !is_evaluation_word(word[-1]);
  }
  // "The training loss for Epoch 1 is 7.3978"
  const auto before = std::find(words.begin(), epoch, "loss");
  const bool other = before != words.begin() && is_evaluation_word(before[-1]);
  out.loss = out.loss || (before != epoch && !other && is_number(words.back()));
  return out;
}

std::optional<LossLine> loss_line(std::string_view line) {
  constexpr std::size_t kLongest = 300, kNumbers = 4;  // bytes: a line, and no dump
  if (line.size() > kLongest) return std::nullopt;
  const std::string_view text = without_front(line);
  const std::string small = lower(text);
  const auto loss = small.find("loss");
  if (loss == small.npos) return std::nullopt;
  const std::string_view head = std::string_view(small).substr(0, loss);
  LossLine out;
  out.validation = std::ranges::any_of(words_of(head, kLongest), is_evaluation_word);
  if (out.validation) return out;
  for (std::size_t at = 0; at < head.size() && out.numbers.size() < kNumbers;) {
    if (!is_digit(head[at])) {
      ++at;
      continue;
    }
    const std::size_t end = digits_after(head, at);
    const char before = at > 0 ? head[at - 1] : ' ', after = end < head.size() ? head[end] : ' ';
    const bool alone = !is_letter(before) && before != '.' && !is_letter(after) && after != '.';
    const auto number = to_int(head.substr(at, end - at));
    if (alone && number) {
      if (out.numbers.empty()) out.epochs = head.substr(0, at).find("epoch") != head.npos;
      out.numbers.push_back(*number);
    }
    at = end;
  }
  // "loss: 2.147" alone: the line is of nothing else.
  const bool alone =
      std::ranges::all_of(head, [](char c) { return is_letter(c) || c == '_' || c == ' '; });
  return out.numbers.empty() && !alone ? std::nullopt : std::optional(std::move(out));
}

std::optional<BegunEpoch> epoch_that_begins(std::string_view line) {
  constexpr std::size_t kLongest = 80;  // bytes: a heading, and no sentence
  constexpr std::string_view kWords[] = {"epoch", "starting", "start", "training", "begin", "the",
                                         "train", "running",  "of",    "model",    "loop"};
  if (line.size() > kLongest) return std::nullopt;
  const std::string_view text = without_front(line);
  std::vector<std::int64_t> numbers;
  // "-------第 16 轮训练开始-------"
  bool named = text.find("轮训练开始") != text.npos;
  for (std::size_t at = 0; at < text.size();) {
    const bool digit = is_digit(text[at]);
    if (!digit && !is_letter(text[at])) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < text.size() && (digit ? is_digit(text[at]) : is_letter(text[at]))) ++at;
    const std::string word = lower(text.substr(begin, at - begin));
    if (!digit) {
      named = named || word == "epoch";
      if (!among(kWords, word)) {
        const bool announces = numbers.empty() && !named && announces_training(text);
        return announces ? std::optional(BegunEpoch{-1, -1}) : std::nullopt;
      }
      continue;
    }
    const auto number = to_int(word);
    const bool fraction = at + 1 < text.size() && text[at] == '.' && is_digit(text[at + 1]);
    if (!named || !number || fraction || numbers.size() == 2) return std::nullopt;
    numbers.push_back(*number);
  }
  if (numbers.empty()) {
    return announces_training(text) && !named ? std::optional(BegunEpoch{-1, -1}) : std::nullopt;
  }
  return BegunEpoch{numbers[0], numbers.size() > 1 ? numbers[1] : -1};
}

namespace {

constexpr double kNewestWeight =
    0.3;  ///< tqdm's default `smoothing`: the weight of the newest value
constexpr double kOlderWeight = 1 - kNewestWeight;
/// Less than tqdm's default `mininterval` of 0.1 s by what steps differ: no update draws so soon.
constexpr double kShortestRedraw_s = 0.09;

}  // namespace

BarSeconds BarTimes::at(std::int64_t done, double ahead_s) const {
  BarSeconds out;
  out[two_means] = static_cast<float>(two_means_s_ + ahead_s);
  out[mean_of_times] = static_cast<float>(mean_of_times_s_ + ahead_s);
  out[newest_interval] = static_cast<float>(newest_interval_s_ + ahead_s);
  out[overall_mean] = static_cast<float>(static_cast<double>(done) / rate_);
  return out;
}

void BarTimes::begin(std::int64_t done) {
  *this = BarTimes{};
  begun_ = true;
  done_ = done;
}

BarSeconds BarTimes::see(std::int64_t done, double rate, double elapsed_s) {
  const bool known = rate > 0 && std::isfinite(rate);
  if (!begun_) {
    if (!known) {
      if (elapsed_s == 0) begin(done);  // tqdm(initial=500)
      return kNoBarSeconds;
    }
    begin(done);
    headless_ = true;
    rate_ = rate;
    two_means_s_ = mean_of_times_s_ = newest_interval_s_ = elapsed_s;
    interval_ = 1 / rate;
    return at(done, 0);
  }
  if (!known || done < done_) return kNoBarSeconds;
  const auto more = static_cast<double>(done - done_);
  const bool too_soon = more / rate < kShortestRedraw_s;
  if (done == done_ || (rate == rate_ && too_soon)) {
    return std::isnan(rate_) ? kNoBarSeconds : at(done, more / rate_);
  }
  if (headless_) {  // a log without its head: all updates until then as the next
    iterations_ = more;
    seconds_ = more / rate_;
    headless_ = false;
  }
  iterations_ = kNewestWeight * more + kOlderWeight * iterations_;
  const double seconds = iterations_ / rate;
  two_means_s_ += (seconds - kOlderWeight * seconds_) / kNewestWeight;
  seconds_ = seconds;
  const double interval = 1 / rate;
  mean_of_times_s_ +=
      more *
      (std::isnan(interval_) ? interval : (interval - kOlderWeight * interval_) / kNewestWeight);
  interval_ = interval;
  newest_interval_s_ += more * interval;
  done_ = done;
  rate_ = rate;
  return at(done, 0);
}

}  // namespace bertbench
