// What the words of a training loop's lines mean, in the languages that people print: a counter, a
// time, a loss, an evaluation. A further word goes into the list of its meaning.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "parsers/core/text.h"
#include "parsers/lines/evaluation_words.h"

namespace bertbench {

/// A list of words, with the marks of their ends and length, by which most other words are ruled
/// out, in small or capital letters.
class Words {
 public:
  template <std::size_t N>
  explicit constexpr Words(const std::array<std::string_view, N>& words) : size_(N) {
    static_assert(N <= kMostWords);
    std::ranges::copy(words, words_.begin());
    for (const std::string_view word : words) bits_[place_of(word) / kBits] |= bit_of(word);
  }
  template <std::size_t N>
  explicit constexpr Words(const std::string_view (&words)[N]) : Words(std::to_array(words)) {}
  [[nodiscard]] constexpr bool may_have(std::string_view word) const {
    return !word.empty() && (bits_[place_of(word) / kBits] & bit_of(word)) != 0;
  }
  [[nodiscard]] auto begin() const { return words_.begin(); }
  [[nodiscard]] auto end() const { return words_.begin() + static_cast<std::ptrdiff_t>(size_); }

 private:
  static constexpr std::size_t kMostWords = 80, kPlaces = 512, kBits = 64;
  static constexpr std::size_t place_of(std::string_view word) {
    constexpr unsigned kCaseBit = 0x20;  // makes a small letter of a capital one
    const unsigned front = static_cast<unsigned char>(word.front()) | kCaseBit;
    const unsigned back = static_cast<unsigned char>(word.back()) | kCaseBit;
    return (front * 19 + back * 83 + word.size() * 57) % kPlaces;
  }
  static constexpr std::uint64_t bit_of(std::string_view word) {
    return std::uint64_t{1} << (place_of(word) % kBits);
  }

  std::array<std::string_view, kMostWords> words_{};
  std::size_t size_ = 0;
  std::array<std::uint64_t, kPlaces / kBits> bits_{};
};

namespace words {

// What people call an iteration. All lists are of words in small letters.
inline constexpr Words kIterations(
    {"step", "steps", "iter", "iters", "iteration", "iterations", "it", "itr", "its", "batch",
     "batches", "minibatch", "update", "updates", "upd", "updt", "timestep", "timesteps", "episode",
     "episodes", "cycle", "round", "nupdates",
     // Of other languages.
     "iteración", "iteracion", "iteração", "iteracao", "itération", "iterazione", "schritt", "paso",
     "passo", "шаг", "итерация", "Итерация", "Шаг", "эпизод", "Эпизод", "步", "步数", "批", "回合",
     "次迭代", "ステップ", "反復", "反复", "pas", "lote", "lotes", "lot", "lotto", "батч", "étape",
     "étapes", "pasos", "passos", "schritte", "бат", "пакет", "adım", "krok", "stap", "批次",
     "단계", "스텝"});
inline constexpr Words kEpochs(
    {"epoch", "epochs", "ep",
     // Of other languages; a word of a script without blanks may stand anywhere in a label.
     "epoka", "epocha", "epoca", "epoha", "epoche", "época", "Época", "époque", "Époque", "эпоха",
     "Эпоха", "エポック", "에포크", "에폭", "轮", "轮次", "輪"});
inline constexpr Words kTimes({"time",  "elapsed", "took",  "taken", "duration", "cost", "spent",
                               "used",  "runtime", "timer", "耗时",  "用时",     "时间", "時間",
                               "시간",  "tiempo",  "tempo", "temps", "waktu",    "czas", "zeit",
                               "время", "dur",     "已用",  "durée", "dauer"});
inline constexpr Words kSinceStart({"elapsed", "total", "since", "wall", "总", "累计", "已用"});
// Words of a number that is not of the training so far.
inline constexpr Words kPlans({"best", "size", "per", "max", "every", "last", "warmup", "early",
                               "min", "patience", "micro"});
// What one of several processes runs on: a rate may be of that alone.
inline constexpr Words kProcessors({"device", "gpu", "rank", "chip", "worker", "card", "process",
                                    "local", "accelerator", "tpu", "npu", "core"});
// Words for parts of a step. They count only in the name of the time itself: in "optimizer AdamW
// time 0.5s" the time is of the step.
inline constexpr Words kPartWords({"compute", "comm", "optimizer", "optim", "opt", "sync",
                                   "allreduce", "rollout", "collect", "learn"});
inline constexpr Words kOfTraining(
    {"loss",    "losses",  "lr",       "train",      "training", "trained",  "grad",
     "gnorm",   "learn",   "ppl",      "perplexity", "acc",      "accuracy", "reward",
     "rewards", "returns", "return",   "learning",   "kl",       "nll",      "损失",
     "训练",    "損失",    "学習",     "손실",       "학습",     "err",      "elbo",
     "bpd",     "bpc",     "mse",      "rmse",       "perda",    "perte",    "verlust",
     "strata",  "потери",  "обучение", "ce",         "xent",     "episode"});
inline constexpr Words kSequences({"sample", "samples",    "example",   "examples",  "ex",
                                   "seq",    "seqs",       "sequence",  "sequences", "sent",
                                   "sents",  "sentence",   "sentences", "img",       "imgs",
                                   "image",  "images",     "pairs",     "items",     "records",
                                   "frames", "videos",     "instance",  "instances", "utt",
                                   "utts",   "utterances", "docs",      "rows",      "graphs",
                                   "clips",  "im",         "exs"});
inline constexpr Words kTokens({"tok", "toks", "token", "tokens", "word", "words", "tks"});
inline constexpr Words kOfEvaluation(kEvaluationWords);

}  // namespace words

[[nodiscard]] inline bool among(const Words& list, std::string_view word) {
  return list.may_have(word) && std::ranges::find(list, word) != list.end();
}
/// `word` is in the list, or one of another script holds a word of the list: "训练耗时".
[[nodiscard]] bool holds(const Words& list, std::string_view word);
/// "trainbatch", "globalstep"
[[nodiscard]] bool joins_counter(std::string_view word);
/// The word counts iterations or epochs, also joined to another: "globalstep".
[[nodiscard]] bool names_counter(std::string_view word);
/// A part of a word: a letter of any script, a digit, "_".
[[nodiscard]] inline bool is_word(char c) { return is_any_letter(c) || is_digit(c) || c == '_'; }
/// Whether the letter that the byte at `i` is of is one of ASCII, or a Latin one with a mark: "é".
[[nodiscard]] bool is_latin_at(std::string_view text, std::size_t i);
/// Bytes of a mark beyond ASCII at the start of `text`: the punctuation and blanks of Chinese and
/// Japanese texts, U+3000 to U+303F and U+FF00 to U+FF1F, and "≈". 0: something else.
[[nodiscard]] std::size_t wide_mark(std::string_view text);
/// The letters at `at` in small ones, which are put into `small`.
std::string_view word_at(std::string_view text, std::size_t at, std::string& small);

/// The words of a label in small letters; '_', '-', '.', blanks and wide marks part them, and so
/// does a change between ASCII and other letters and a capital inside; "/" is the word "per".
struct Label {
  std::array<std::string, 6> words;  ///< the last ones
  std::size_t count = 0;

  explicit Label(std::string_view text);
  [[nodiscard]] std::span<const std::string> all() const { return {words.data(), count}; }
  [[nodiscard]] bool has(const Words& list) const;
  /// The last word, or the one before "number", "idx", "completed" and the like.
  [[nodiscard]] std::string_view last() const;
};

/// "loss", "train_loss", "Loss_G", "Loss Classification", "TRAIN CROSS ENTROPY", "NLL"; no "loss
/// scale".
[[nodiscard]] bool names_loss(const Label& label);
/// A loss, a learning rate, a norm, a score.
[[nodiscard]] bool is_of_learning(const Label& label);

/// It has a word of evaluation: "Validation: [10/100]".
[[nodiscard]] bool names_evaluation(std::string_view text);
/// The first word of evaluation, as it stands in `text`; empty where there is none.
[[nodiscard]] std::string_view word_of_evaluation(std::string_view text);
/// The next word from `at` on is of evaluation: "Epoch 3: testing psnr = 34.4".
[[nodiscard]] bool evaluation_follows(std::string_view line, std::size_t at);
/// The line has a word of work on data: processed, loading, tokenizing ...
[[nodiscard]] bool names_other_work(std::string_view line);
/// The line has a word or mark by which the head of a table names a counter, also in another sense.
[[nodiscard]] bool may_name_counter(std::string_view line);
/// Likewise, or one for data: "samples", "tokens".
[[nodiscard]] bool may_head_table(std::string_view line);
/// The line has the name of a score: precision, a confusion matrix ...
[[nodiscard]] bool names_score(std::string_view line);
/// The line has a word that only training has: loss, learning rate, train ... `by_accuracy`: also
/// an accuracy, which an inference has as well.
[[nodiscard]] bool names_training(std::string_view line, bool by_accuracy = true);

}  // namespace bertbench
