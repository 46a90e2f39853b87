#include "parsers/formats/tqdm/bar_name.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "parsers/core/text.h"
#include "parsers/lines/decoration.h"

namespace bertbench {
namespace {

using Words = std::vector<std::string>;

Words words_of(std::string_view text) {
  constexpr std::size_t kWordsOfAName = 16;  // a bound for hostile input
  Words words(1);
  for (const char c : text) {
    const char low = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if ((low >= 'a' && low <= 'z') || is_digit(low)) {
      words.back().push_back(low);
    } else if (!words.back().empty()) {
      if (words.size() == kWordsOfAName) break;
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

// "e" of "e12".
std::string letters_of(const std::string& word) {
  return word.substr(0, word.find_last_not_of("0123456789") + 1);
}

bool is_epoch(std::string_view word) { return word == "epoch" || word == "epochs" || word == "ep"; }

// "Epoch 3 [Val]" is of a validation
// (quoted/tqdm.keeps_the_validation_of_each_epoch_out_of_its_training), "Epoch 3, val_loss 0.2" is
// not.
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
    if (!number || one.name.find(' ') != part.npos) return {};
    out.push_back(one);
  }
  return out.size() > 1 ? out : std::vector<NamedValue>{};
}

// Whole numbers count files or errors, and scores are of evaluations as well: neither shows that
// the bar is of training.
bool may_be_losses(const std::vector<NamedValue>& values) {
  constexpr std::string_view kScores[] = {
      "acc",  "accuracy", "f1", "auc",  "score", "iou", "miou", "precision", "recall", "map",
      "psnr", "ssim",     "em", "bleu", "wer",   "cer", "mrr",  "ndcg",      "hits",   "top"};
  return !values.empty() && std::ranges::all_of(values, [&](const NamedValue& one) {
    const auto words = words_of(one.name);
    return !words.empty() && one.value.find('.') != one.value.npos &&
           one.value.find_first_not_of("-.0123456789e") == one.value.npos &&
           std::ranges::none_of(
               words, [&](const std::string& word) { return among(kScores, letters_of(word)); });
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

// "Epoch 3" of Lightning, "[Train] epoch 3/10": the same loop has another name in each epoch.
bool names_an_epoch(std::string_view description, const Words& words) {
  if (description.starts_with("Epoch ")) return true;
  return std::ranges::any_of(words, is_epoch) && std::ranges::any_of(words, is_number);
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
  std::string word;
  for (const char c : description) {
    word.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  }
  if (prepares_data(words)) return BarRole::other;
  const bool train = says(words, {"train", "training", "pretraining", "pretrain", "finetuning"});
  const auto has = [&](std::string_view what) { return word.find(what) != std::string::npos; };
  if (has("eval") || has("valid")) return BarRole::evaluation;
  if (says(words, {"val", "dev"})) return train ? BarRole::other : BarRole::evaluation;
  if (has("predict") || has("infer")) return BarRole::inference;
  if (says(words, {"test", "testing"})) return train ? BarRole::other : BarRole::inference;
  // "Epoch ... (1/3)" of Hugging Face's Flax scripts keeps its number for the whole run
  // (quoted/tqdm.tells_the_epochs_of_flax_scripts_from_their_steps).
  if (word == "epoch" || word == "epochs" || word.starts_with("epoch ...")) return BarRole::outer;
  // "Iteration" of NVIDIA's BERT and the first Hugging Face scripts, "Training" and "Steps" of
  // accelerate's examples, "Epoch 3" of Lightning.
  if (word.starts_with("epoch") || word == "iteration" || word == "iterations" || word == "step" ||
      word == "steps" || word == "iter" || word == "iters" || word == "train" ||
      word.starts_with("training") || word == "fine-tuning") {
    return BarRole::training;
  }
  // "Train Epoch" without a number may count the epochs.
  const bool epoch = std::ranges::any_of(words, is_epoch);
  const bool numbered = !epoch || std::ranges::any_of(words, is_number);
  if ((train || epoch) && numbered && only_of_training(words)) {
    return BarRole::training;
  }
  if (epoch && numbered && !values_only(description).empty()) return BarRole::training;
  return BarRole::other;
}

}  // namespace

BarRole role_of(std::string_view description) {
  return role_of(description, words_of(description));
}

BarName name_of(std::string_view description) {
  description = without_front(description);
  const Words words = words_of(description);
  BarName name;
  name.role = role_of(description, words);
  name.of_data = prepares_data(words);
  name.values = name.role == BarRole::other && may_be_losses(values_only(description));
  if (name.role == BarRole::outer) return name;
  // "Epoch 1", "Epoch 2": one loop, whose bar has another name in each epoch. Losses change, too.
  if (name.role == BarRole::unnamed) return name;
  read_epoch(description, words, name);
  if (names_an_epoch(description, words)) {
    name.key = "Epoch";
    if (name.role == BarRole::inference) name.key += 'i';
    if (name.role == BarRole::evaluation) name.key += 'e';
    if (name.role != BarRole::other) return name;
  }
  for (const std::string& word : words) {
    if (!is_digit(word[0])) name.key += letters_of(word) + ' ';
  }
  return name;
}

bool BarName::counts_epochs(std::int64_t done, std::int64_t total) const {
  return epochs > 0 && total == epochs && done - epoch <= 1 && epoch - done <= 1;
}

std::optional<EpochResult> epoch_result(std::string_view line) {
  constexpr std::size_t kLongest = 300;  // bytes: a line, and no dump
  // "Epoch: [1][10/500]" of PyTorch's ImageNet example, "Epoch 1, step 10": of a step.
  if (line.size() > kLongest || line.find("][") != std::string_view::npos) return std::nullopt;
  const Words words = words_of(without_front(line));
  constexpr std::string_view kFiner[] = {"step", "iter", "iteration", "batch", "it"};
  if (std::ranges::any_of(words, [&](const std::string& word) { return among(kFiner, word); })) {
    return std::nullopt;
  }
  const auto epoch = std::ranges::find_if(words, is_epoch);
  if (words.end() - epoch < 3 || !is_number(epoch[1])) return std::nullopt;
  EpochResult out;
  if (is_number(epoch[2]) && line.find('/') != std::string_view::npos) {
    out.epochs = to_int(epoch[2]).value_or(-1);
  }
  constexpr std::string_view kOthers[] = {"val", "valid", "validation", "test", "eval", "dev"};
  for (auto word = epoch + 2; word + 1 != words.end() && !out.loss; ++word) {
    out.loss = *word == "loss" && is_number(word[1]) && !among(kOthers, word[-1]);
  }
  return out;
}

std::optional<BegunEpoch> epoch_that_begins(std::string_view line) {
  constexpr std::size_t kLongest = 80;  // bytes: a heading, and no sentence
  constexpr std::string_view kWords[] = {"epoch", "starting", "start", "training", "begin", "the",
                                         "train", "running",  "of",    "model",    "loop"};
  if (line.size() > kLongest) return std::nullopt;
  const std::string_view text = without_front(line);
  std::vector<std::int64_t> numbers;
  // "-------第 16 轮训练开始-------"
  bool named = text.find("轮训练开始") != text.npos, starts = text.find("开始训练") != text.npos;
  for (std::size_t at = 0; at < text.size();) {
    const bool digit = is_digit(text[at]);
    if (!digit && !is_letter(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    std::string word;
    while (end < text.size() && (digit ? is_digit(text[end]) : is_letter(text[end]))) {
      word += lower(text[end++]);
    }
    at = end;
    if (!digit) {
      named = named || word == "epoch";
      starts = starts || word == "start" || word == "starting" || word == "begin";
      if (std::ranges::find(kWords, word) == std::end(kWords)) return std::nullopt;
      continue;
    }
    const auto number = to_int(word);
    const bool fraction = end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1]);
    if (!named || !number || fraction || numbers.size() == 2) return std::nullopt;
    numbers.push_back(*number);
  }
  if (numbers.empty()) {
    return starts && !named ? std::optional(BegunEpoch{-1, -1}) : std::nullopt;
  }
  return BegunEpoch{numbers[0], numbers.size() > 1 ? numbers[1] : -1};
}

}  // namespace bertbench
