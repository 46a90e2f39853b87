#include "parsers/generic/loop_words.h"

#include <utility>

#include "parsers/core/text.h"

namespace bertbench {
namespace {

/// Whether the letter at `at` and the one before it are of two scripts: "Loss损失", but not
/// "época".
bool changes_script(std::string_view text, std::size_t at) {
  return is_latin_at(text, at) != is_latin_at(text, at - 1);
}

/// "stepTime", "AvgLoss": a capital between small letters begins a word.
bool begins_word_inside(std::string_view text, std::size_t at) {
  const auto is_small = [&](std::size_t i) { return text[i] >= 'a' && text[i] <= 'z'; };
  return at > 0 && at + 1 < text.size() && text[at] >= 'A' && text[at] <= 'Z' && is_small(at - 1) &&
         is_small(at + 1);
}

bool has_in_any_case(const Words& list, std::string_view word) {
  return list.may_have(word) && among(list, lower(word));
}

/// Empty where there is none.
std::string_view word_among(std::string_view text, const Words& list) {
  for (std::size_t i = 0; i < text.size();) {
    if (!is_any_letter(text[i])) {
      ++i;
      continue;
    }
    const bool beyond_ascii = is_beyond_ascii(text[i]);
    std::size_t end = i;
    while (end < text.size() && is_any_letter(text[end]) &&
           is_beyond_ascii(text[end]) == beyond_ascii) {
      ++end;
    }
    const std::string_view word = text.substr(i, end - i);
    // "train_loss" is two words, "trainer" is another one. Other scripts part words without blanks.
    if (beyond_ascii ? holds(list, word) : has_in_any_case(list, word)) return word;
    i = end;
  }
  return {};
}

bool has_word(std::string_view text, const Words& list) { return !word_among(text, list).empty(); }

/// The word at `at` is of the path of a file: "saved to trained_models/samples.npy", but not of the
/// name "train/loss".
bool is_in_path(std::string_view line, std::size_t at) {
  const std::size_t begin = line.find_last_of(" \t'\"(", at) + 1;
  std::string_view token = line.substr(begin, line.find_first_of(" \t'\")", at) - begin);
  while (!token.empty() && !is_any_letter(token.back()) && !is_digit(token.back())) {
    token.remove_suffix(1);
  }
  const std::size_t point = token.rfind('.');
  return token.find('/') != token.npos && point != token.npos && point + 1 < token.size() &&
         is_letter(token[point + 1]);
}

}  // namespace

bool joins_counter(std::string_view word) {
  return std::ranges::any_of(
      std::array<std::string_view, 5>{"train", "training", "global", "current", "cur"},
      [&](std::string_view front) {
        return word.starts_with(front) && among(words::kIterations, word.substr(front.size()));
      });
}

bool names_counter(std::string_view word) {
  return among(words::kIterations, word) || among(words::kEpochs, word) || joins_counter(word);
}

bool holds(const Words& list, std::string_view word) {
  return among(list, word) ||
         (!word.empty() && is_beyond_ascii(word[0]) && std::ranges::any_of(list, [&](auto one) {
           return is_beyond_ascii(one[0]) && word.find(one) != std::string_view::npos;
         }));
}

bool is_latin_at(std::string_view text, std::size_t i) {
  constexpr int kContinuationBytes = 3;  // of a code point, at most
  for (int n = 0; n < kContinuationBytes && i > 0; ++n) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) break;
    --i;
  }
  const auto first = static_cast<unsigned char>(text[i]);
  return first < 0x80 || (first >= 0xC3 && first <= 0xC5);
}

std::size_t wide_mark(std::string_view text) {
  if (text.size() < 3 || !is_beyond_ascii(text[0])) return 0;
  const bool mark = text.starts_with("\xE3\x80") || text.starts_with("≈") ||
                    (text.starts_with("\xEF\xBC") && static_cast<unsigned char>(text[2]) < 0xA0);
  return mark ? 3 : 0;
}

bool names_loss(const Label& label) {
  static constexpr Words kOthers({"scale", "scaling", "scaler", "weight", "weights", "coef",
                                  "coeff", "lambda", "ratio", "factor", "window", "type", "num",
                                  "count"});
  const std::string_view last = label.last();
  static constexpr Words kLosses({"nll", "xent", "cost", "损失", "損失", "손실", "perda", "pérdida",
                                  "perte", "verlust", "strata", "потери"});
  if (holds(kLosses, last)) return true;
  if (last == "entropy") return label.count > 1 && label.words[label.count - 2] == "cross";
  if (label.has(kOthers)) return false;
  return std::ranges::any_of(label.all(), [](std::string_view word) {
    return word.starts_with("loss") || word.ends_with("loss");
  });
}

bool is_of_learning(const Label& label) {
  static constexpr Words kNames(
      {"lr", "acc", "accuracy", "ppl", "perplexity", "norm", "gnorm", "reward", "return"});
  return names_loss(label) || among(kNames, label.last());
}

std::string_view word_at(std::string_view text, std::size_t at, std::string& small) {
  std::size_t end = at;
  small.clear();
  while (end < text.size() && is_any_letter(text[end]) && wide_mark(text.substr(end)) == 0) {
    small += lower(text[end++]);
  }
  return small;
}

Label::Label(std::string_view text) {
  std::string word;
  const auto put = [&] {
    if (word.empty()) return;
    if (count == words.size()) std::rotate(words.begin(), words.begin() + 1, words.end()), --count;
    words[count++] = std::exchange(word, {});
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (const std::size_t mark = wide_mark(text.substr(i)); mark > 0) {
      put();
      i += mark - 1;
      continue;
    }
    if (is_any_letter(c)) {
      if (!word.empty() && (changes_script(text, i) || begins_word_inside(text, i))) put();
      word += lower(c);
      continue;
    }
    put();
    if (c == '/') word = "per", put();
  }
  put();
}

bool Label::has(const Words& list) const {
  return std::ranges::any_of(all(), [&](const std::string& word) { return holds(list, word); });
}

std::string_view Label::last() const {
  static constexpr Words kAfterCounters(
      {"no", "nr", "num", "number", "index", "id", "idx", "i", "count", "completed", "done"});
  if (count == 0) return {};
  if (count > 1 && among(kAfterCounters, words[count - 1])) return words[count - 2];
  return words[count - 1];
}

bool names_evaluation(std::string_view text) { return has_word(text, words::kOfEvaluation); }

std::string_view word_of_evaluation(std::string_view text) {
  return word_among(text, words::kOfEvaluation);
}

bool evaluation_follows(std::string_view line, std::size_t at) {
  while (at < line.size() && !is_any_letter(line[at]) && !is_digit(line[at])) ++at;
  std::string word;
  return holds(words::kOfEvaluation, word_at(line, at, word));
}

bool names_other_work(std::string_view line) {
  static constexpr Words kWork(
      {"processed",  "processing",  "preprocessing", "loaded",     "tokenized", "tokenizing",
       "downloaded", "downloading", "generated",     "generating", "encoded",   "extracted",
       "extracting", "features",    "converted",     "converting", "scanned",   "scanning",
       "处理",       "加载",        "下载",          "生成"});
  return has_word(line, kWork);
}

bool may_name_counter(std::string_view line) {
  if (line.find('#') != std::string_view::npos) return true;  // of a table's steps
  for (std::size_t i = 0; i < line.size();) {
    if (!is_letter(line[i])) {
      ++i;
      continue;
    }
    const std::size_t begin = i++;
    while (i < line.size() && is_letter(line[i]) && !begins_word_inside(line, i)) ++i;
    const std::string_view word = line.substr(begin, i - begin);
    if (has_in_any_case(words::kIterations, word) || has_in_any_case(words::kEpochs, word))
      return true;
  }
  return false;
}

bool may_head_table(std::string_view line) {
  return may_name_counter(line) || has_word(line, words::kSequences) ||
         has_word(line, words::kTokens);
}

bool names_score(std::string_view line) {
  static constexpr Words kScores({"precision", "recall", "auc", "confusion", "iou", "miou", "psnr",
                                  "ssim", "bleu", "mae", "rmse", "score", "scores", "prec"});
  return has_word(line, kScores);
}

bool names_training(std::string_view line, bool by_accuracy) {
  for (std::size_t at = 0; at < line.size();) {
    const std::string_view word = word_among(line.substr(at), words::kOfTraining);
    if (word.empty()) return false;
    const auto begin = static_cast<std::size_t>(word.data() - line.data());
    const bool counts = by_accuracy || !lower(word).starts_with("acc");
    if (counts && !is_in_path(line, begin)) return true;
    at = begin + word.size();
  }
  return false;
}

}  // namespace bertbench
