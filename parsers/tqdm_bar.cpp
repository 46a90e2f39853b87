#include "parsers/tqdm_bar.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "parsers/byte_search.h"
#include "parsers/core/text.h"
#include "parsers/cursor.h"

namespace bertbench {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Start of the run of digits that ends at `end`.
std::size_t digits_before(std::string_view text, std::size_t end) {
  std::size_t i = end;
  while (i > 0 && is_digit(text[i - 1])) --i;
  return i;
}

// The rate in front of the unit at `unit`: a number, or '?' (unknown). nullopt: not a bar's rate.
struct Rate {
  std::size_t begin = 0;
  double value = kUnknown;
};
std::optional<Rate> rate_before(std::string_view text, std::size_t unit) {
  if (unit == 0) return std::nullopt;
  if (text[unit - 1] == '?') return Rate{unit - 1, kUnknown};
  std::size_t i = unit;
  while (i > 0 && (is_digit(text[i - 1]) || text[i - 1] == '.')) --i;
  const auto value = to_double(text.substr(i, unit - i));
  if (i == unit || !value) return std::nullopt;
  return Rate{i, *value};
}

// Reads leftwards from the bracket: "33%|███▎ | 3655/11057 " or "123it " where no total is known.
bool read_counter(std::string_view text, std::size_t bracket, std::size_t floor, TqdmBar& bar) {
  std::size_t i = bracket;
  while (i > floor && text[i - 1] == ' ') --i;
  if (i >= floor + 2 && text.substr(i - 2, 2) == "it") {
    const std::size_t begin = digits_before(text, i - 2);
    const auto done = to_int(text.substr(begin, i - 2 - begin));
    if (!done || begin < floor) return false;
    bar.done = *done;
    bar.begin = begin;
    return true;
  }
  const std::size_t total = digits_before(text, i);
  if (total <= floor + 1 || total == i || text[total - 1] != '/') return false;
  const std::size_t done = digits_before(text, total - 1);
  if (done < floor || done == total - 1) return false;
  const auto n = to_int(text.substr(done, total - 1 - done));
  const auto m = to_int(text.substr(total, i - total));
  if (!n || !m) return false;
  bar.done = *n;
  bar.total = *m;
  bar.begin = done;
  const auto percent = text.substr(floor, done - floor).rfind('%');
  if (percent == std::string_view::npos) return true;  // its head is cut off
  bar.begin = digits_before(text, floor + percent);
  return true;
}

std::string_view description_before(std::string_view text, std::size_t floor, std::size_t& begin) {
  std::string_view head = trim(text.substr(floor, begin - floor));
  if (!head.ends_with(':')) return {};
  head.remove_suffix(1);
  // "node7: Iteration", "... WARNING: Epoch 1": the words behind the last ": " describe the bar.
  if (const auto colon = head.rfind(": "); colon != std::string_view::npos) {
    const std::string_view number = head.substr(colon + 2);
    const auto before = colon > 0 ? head.rfind(": ", colon - 1) : std::string_view::npos;
    if (number.find_first_not_of("0123456789/ ") != std::string_view::npos) {
      head.remove_prefix(colon + 2);
    } else if (before != std::string_view::npos) {  // "node7: Epoch: 1/3"
      head.remove_prefix(before + 2);
    }
  }
  begin = static_cast<std::size_t>(head.data() - text.data());
  return trim(head);
}

constexpr std::size_t kLongestPostfix = 4096;
constexpr std::size_t kLongestClock = 128;  // "[1000:00:00<2000:00:00, 12.34"

void read_loss(std::string_view text, std::size_t from, std::size_t close, TqdmBar& bar) {
  const std::string_view postfix = text.substr(from, std::min(close - from, kLongestPostfix));
  auto at = postfix.find("loss=");
  // Lightning shows the validation's beside the training's.
  while (at != std::string_view::npos && postfix.substr(0, at).ends_with("val_")) {
    at = postfix.find("loss=", at + 1);
  }
  if (at == std::string_view::npos || close == std::string_view::npos) return;
  Cursor cursor(postfix.substr(at + 5), false);
  if (const auto loss = cursor.number()) {
    bar.loss = *loss;
    bar.has_loss = true;
  }
}

}  // namespace

void find_bars(const Line& line, std::vector<TqdmBar>& bars) {
  bars.clear();
  const std::string_view text = line.text;
  std::size_t floor = 0;  // end of the bar before
  std::size_t from = 0;
  // The next of each in the text. Looked for again only behind it: a line may hold thousands.
  std::size_t per_second = find_text(text, "it/s"), per_iteration = find_text(text, "s/it");
  std::size_t close = 0, open = 0;
  const auto move_on = [&] {
    const auto behind = [&](std::size_t at) { return at != std::string_view::npos && at < from; };
    if (behind(per_second)) per_second = find_text(text, "it/s", from);
    if (behind(per_iteration)) per_iteration = find_text(text, "s/it", from);
    if (behind(close)) close = text.find(']', from);
    if (behind(open)) open = text.find('[', from);
  };
  while (true) {
    const std::size_t unit = std::min(per_second, per_iteration);
    if (unit == std::string_view::npos) return;
    from = unit + 4;
    const bool is_rate = unit == per_second;
    move_on();
    TqdmBar bar;
    const auto rate = rate_before(text, unit);
    if (!rate || rate->begin < floor) continue;
    const std::size_t back = rate->begin - std::min(rate->begin - floor, kLongestClock);
    const auto found = text.substr(back, rate->begin - back).rfind('[');
    if (found == std::string_view::npos) continue;
    const std::size_t bracket = back + found;
    Cursor cursor(text.substr(bracket + 1, rate->begin - bracket - 1), false);
    const auto elapsed = cursor.duration();
    if (!elapsed || !read_counter(text, bracket, floor, bar)) continue;
    bar.elapsed_s = *elapsed;
    if (is_rate) {
      bar.rate = rate->value;
    } else {
      bar.seconds_per_iteration = rate->value;
      if (rate->value > 0) bar.rate = 1 / rate->value;
    }
    bar.description = description_before(text, floor, bar.begin);
    read_loss(text, from, close, bar);
    bar.end = close == std::string_view::npos ? from : close + 1;
    floor = from;
    if (close != std::string_view::npos && open > close) floor = close + 1;
    bars.push_back(bar);
  }
}

namespace {

using Words = std::vector<std::string>;

Words words_of(std::string_view text) {
  constexpr std::size_t kMost = 16;
  Words words(1);
  for (const char c : text) {
    const char low = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if ((low >= 'a' && low <= 'z') || is_digit(low)) {
      words.back().push_back(low);
    } else if (!words.back().empty()) {
      if (words.size() == kMost) break;
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

template <typename List>
bool among(const List& list, std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

bool is_number(std::string_view word) {
  return word.find_first_not_of("0123456789") == std::string_view::npos;
}

// "Epoch 3 [Val]" is of a validation, "Epoch 3, val_loss 0.2" is not.
bool says(const Words& words, std::initializer_list<std::string_view> what) {
  constexpr std::string_view kMetrics[] = {"loss", "acc", "accuracy", "ppl",
                                           "f1",   "auc", "score",    "perplexity"};
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (among(what, words[i]) && (i + 1 == words.size() || !among(kMetrics, words[i + 1]))) {
      return true;
    }
  }
  return false;
}

// Nothing but words of training loops and numbers: "Train Epoch 3", "[Epoch 3/10]".
bool only_of_training(const Words& words) {
  constexpr std::string_view kKnown[] = {"train", "training", "epoch", "step", "iteration",
                                         "iter",  "batch",    "of",    "rank"};
  return std::ranges::all_of(
      words, [&](const std::string& word) { return is_number(word) || among(kKnown, word); });
}

}  // namespace

bool names_an_epoch(std::string_view description) {
  if (description.starts_with("Epoch ")) return true;
  const Words words = words_of(description);
  return among(words, "epoch") && std::ranges::any_of(words, is_number);
}

std::int64_t epoch_of(std::string_view description) {
  const Words words = words_of(description);
  auto word = std::ranges::find(words, "epoch");
  word = std::find_if(word, words.end(), [](const std::string& w) { return is_number(w); });
  return word == words.end() ? -1 : to_int(*word).value_or(-1);
}

BarRole role_of(std::string_view description) {
  if (description.empty()) return BarRole::unnamed;
  std::string word;
  for (const char c : description) {
    word.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  }
  const Words words = words_of(description);
  const bool train = says(words, {"train", "training"});
  const auto has = [&](std::string_view what) { return word.find(what) != std::string::npos; };
  if (has("eval") || has("valid")) return BarRole::evaluation;
  if (says(words, {"val", "dev"})) return train ? BarRole::other : BarRole::evaluation;
  if (has("predict") || has("infer")) return BarRole::inference;
  if (says(words, {"test", "testing"})) return train ? BarRole::other : BarRole::inference;
  // "Epoch ... (1/3)" of Flax scripts keeps its number for the whole run.
  if (word == "epoch" || word == "epochs" || word.starts_with("epoch ...")) return BarRole::outer;
  if (word.starts_with("epoch") || word == "iteration" || word == "iterations" || word == "step" ||
      word == "steps" || word == "train" || word.starts_with("training")) {
    return BarRole::training;
  }
  // "Train Epoch" without a number may count the epochs.
  const bool numbered = !among(words, "epoch") || std::ranges::any_of(words, is_number);
  if ((train || among(words, "epoch")) && numbered && only_of_training(words)) {
    return BarRole::training;
  }
  return BarRole::other;
}

}  // namespace bertbench
