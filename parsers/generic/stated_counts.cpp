#include "parsers/generic/stated_counts.h"

#include <algorithm>
#include <array>
#include <string>

#include "parsers/core/text.h"
#include "parsers/generic/loop_words.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/decimal.h"

namespace bertbench {
namespace {

/// A whole number of a text, with the words around it.
struct CountInText {
  std::string_view line;
  std::size_t begin = 0, end = 0;  ///< of its digits
  double value = 0;
  Label label;                ///< words between the number before it and this one
  std::string first, second;  ///< words after it

  CountInText(std::string_view text, std::size_t from, std::size_t at)
      : line(text),
        begin(at),
        end(std::min(text.find_first_not_of("0123456789,", at), text.size())),
        label(text.substr(from, at - from)) {
    std::string digits(line.substr(at, end - at));
    std::erase(digits, ',');
    value = to_double(digits).value_or(0);
    const std::size_t word = end + (line.substr(end).starts_with(' ') ? 1 : 0);
    const std::size_t next = word + word_at(line, word, first).size() + 1;
    if (next < line.size()) word_at(line, next, second);
  }
  /// What stands after the first word.
  [[nodiscard]] std::string_view after_first() const {
    const std::size_t word = end + (line.substr(end).starts_with(' ') ? 1 : 0);
    return line.substr(std::min(word + first.size(), line.size()));
  }
  /// No letter, fraction or total belongs to its digits.
  [[nodiscard]] bool ends() const {
    return end == line.size() || std::string_view(" ,;|)]\t").find(line[end]) != line.npos;
  }
};

constexpr Words kTrainingSet({"train", "training", "trainset"});
// Words of another number: of a part of the set, of one sequence, of what works on it.
constexpr Words kOfNoSet({"batch",  "batches", "minibatch", "step",       "steps",      "iter",
                          "iters",  "epoch",   "epochs",    "iteration",  "iterations", "per",
                          "max",    "min",     "class",     "classes",    "token",      "tokens",
                          "seed",   "time",    "length",    "shape",      "dim",        "width",
                          "height", "seen",    "fold",      "resolution", "workers",    "worker",
                          "id",     "rank",    "port"});

/// "Train dataset size: 67349", "[train] 23560 samples", "Loaded 5000 training images"
bool names_training_set(const CountInText& count) {
  static constexpr Words kSets(
      {"dataset", "datasets", "set", "data", "x"});  // "X_train (60000, 784)"
  static constexpr Words kSize({"size"});            // of an image, where no set is named
  const Label& label = count.label;
  const bool after_training = among(kTrainingSet, count.first);
  const std::string_view thing = after_training ? count.second : count.first;
  const bool trains = after_training || label.has(kTrainingSet);
  const bool counted = among(words::kSequences, thing) || thing == "segments";
  const bool named = label.has(kSets) || (label.has(words::kSequences) && !label.has(kSize));
  const bool evaluates =
      label.has(words::kOfEvaluation) || among(words::kOfEvaluation, count.first);
  return trains && (counted || named) && !evaluates && !label.has(kOfNoSet) && count.ends();
}

/// "Train: 22500 | Val: 2500 | Test: 25000": that of an evaluation follows.
bool stands_next_to_others(const CountInText& count) {
  constexpr double kMostPercent = 100;  // "Train: 95, Val: 93" may be accuracies
  return among(kTrainingSet, count.label.last()) && !count.label.has(kOfNoSet) && count.ends() &&
         count.value > kMostPercent && evaluation_follows(count.line, count.end);
}

/// The first of a line's counts that is one; 0 where none is.
template <class Is>
double first_count(std::string_view line, Is is) {
  constexpr std::string_view kScript = ".py";
  const std::size_t script = line.rfind(kScript);  // a logger's "train.py:45"
  std::size_t from = script == line.npos ? 0 : script + kScript.size();
  for (std::size_t at = from; at < line.size();) {
    if (!is_digit(line[at]) || (at > 0 && (is_word(line[at - 1]) || line[at - 1] == '.'))) {
      ++at;
      continue;
    }
    const CountInText count(line, from, at);
    if (is(count)) return count.value;
    from = at = count.end;
  }
  return 0;
}

/// "391 iters per epoch", "450 it/epoch", "312 batches of 256 rows", "steps per epoch: 391",
/// "n_batches = 469", "1エポック = 781 ステップ".
bool names_epoch_steps(const CountInText& count) {
  const Label& label = count.label;
  if (label.has(words::kOfEvaluation) || among(words::kOfEvaluation, count.first)) return false;
  if (among(words::kIterations, count.first)) {
    const std::string_view rest = count.after_first();
    const auto follows = [&](std::string_view front) {
      std::string word;
      return rest.starts_with(front) && among(words::kEpochs, word_at(rest, front.size(), word));
    };
    constexpr std::string_view kOf = " of ";
    const bool of_size = rest.starts_with(kOf) && is_digit(rest.substr(0, kOf.size() + 1).back());
    // "Epoch 2 step 100" states none: the counts of a statement are equal.
    const bool equal = trim(count.line.substr(0, count.begin)).ends_with('=');
    constexpr std::array kPer = {" per ", "/", " / ", " pro ", " por ", " par "};
    return std::ranges::any_of(kPer, follows) || of_size ||
           (equal && label.has(words::kEpochs) && label.count == 1);
  }
  static constexpr Words kPer({"per"}), kNumber({"n", "num", "number", "train", "training"});
  const bool per_epoch =
      label.has(kPer) && label.has(words::kEpochs) && label.has(words::kIterations);
  return count.ends() && (per_epoch || (label.last() == "batches" && label.has(kNumber)));
}

}  // namespace

double epoch_steps_of(std::string_view line) {
  return first_count(line, [](const CountInText& count) {
    constexpr double kLeastSteps = 2;
    return count.value >= kLeastSteps && names_epoch_steps(count);
  });
}

namespace {

/// The 4 of "rank 0/4", as each process states.
double ranks_of(std::string_view line) {
  constexpr std::string_view kRank = "rank ";
  const std::size_t at = lower(line).find(kRank);
  if (at == line.npos || (at > 0 && line[at - 1] == '_')) return 0;
  Cursor cursor(line.substr(at + kRank.size()), false);
  std::int64_t rank = 0, ranks = 0;
  return cursor.read(rank, "/", ranks) && rank < ranks ? static_cast<double>(ranks) : 0;
}

}  // namespace

double gpus_of(std::string_view line) {
  static constexpr Words kGpus({"gpu", "gpus", "processes", "devices", "ranks", "accelerators"}),
      kData({"data", "dataset", "loader", "dataloader"});
  static constexpr Words kUses({"using", "use", "on", "with", "across", "over", "uses"});
  constexpr double kMostGpus = 100'000;
  const double gpus = first_count(line, [](const CountInText& count) {
    return among(kGpus, count.first) && among(kUses, count.label.last()) && !count.label.has(kData);
  });
  if (gpus == 0) return ranks_of(line);
  return gpus <= kMostGpus && !names_other_work(line) ? gpus : 0;
}

double training_set_of(std::string_view line) {
  return first_count(line, [](const CountInText& count) {
    // Sequences: fewer are files, parts or folds; more is more than kMostStepIterations.
    constexpr double kSmallestSet = 50, kLargestSet = 1e9;
    return count.value >= kSmallestSet && count.value <= kLargestSet &&
           (names_training_set(count) || stands_next_to_others(count));
  });
}

}  // namespace bertbench
