#include "parsers/rules/failure_words.h"

#include <algorithm>
#include <array>
#include <functional>

#include "parsers/core/text.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/decoration.h"

namespace bertbench {
namespace {

// Each place of a literal costs a look at its line: rare words, and endings that the closing words
// search for as well.
constexpr std::string_view kLiterals[] = {
    "topping", "borting",  "erminating",    "xiting",   "xit code", "xit status", "exitcode",
    "Error: ", "ERROR",    "rror occurred", "FATAL",    "CRITICAL", "rashed",     "SIGTERM",
    "Ctrl",    "nterrupt", "by user",       "kipping ", "ontinuing"};

using View = std::span<const std::string_view>;

bool is_in(View list, std::string_view word) { return std::ranges::find(list, word) != list.end(); }

/// The words of a line in lower case; what is neither letter nor digit stands between them.
struct WordList {
  std::string text;
  std::vector<std::string_view> words;

  WordList(const WordList&) = delete;  // its words lie in its text
  WordList& operator=(const WordList&) = delete;
  explicit WordList(std::string_view line) : text(lower(line)) {
    const auto inner = [](char c) { return is_letter(c) || is_digit(c); };
    for (std::size_t at = 0; at < text.size(); ++at) {
      std::size_t end = at;
      while (end < text.size() && inner(text[end])) ++end;
      if (end > at) words.push_back(std::string_view(text).substr(at, end - at));
      at = end;
    }
  }
  [[nodiscard]] bool has(View list) const {
    return std::ranges::any_of(words, [&](auto word) { return is_in(list, word); });
  }
  [[nodiscard]] bool has(std::string_view word) const { return is_in(words, word); }
  [[nodiscard]] bool starts(View beginnings) const {
    return std::ranges::any_of(words, [&](auto word) {
      return std::ranges::any_of(beginnings, [&](auto begin) { return word.starts_with(begin); });
    });
  }
};

// Conditions, settings, advice and counts: "abort on NaN loss: True", "0 errors", "Press Ctrl-C to
// stop".
constexpr std::string_view kUnreal[] = {
    "if",       "when",    "unless", "will",     "would",   "may",     "might", "should",
    "can",      "press",   "hit",    "use",      "true",    "false",   "none",  "handler",
    "handlers", "enabled", "never",  "disabled", "counter", "patience"};
constexpr std::string_view kGoesOn[] = {"skip",     "retry",   "continuing", "ignor",   "default",
                                        "fallback", "falling", "instead",    "recover", "resum"};
constexpr std::size_t kLongest = 400;  // bytes: no dump of a configuration
constexpr std::size_t kMostWords = 40;

bool goes_on(const WordList& line) { return line.starts(kGoesOn) || line.has("proceeding"); }

bool is_nan_loss(const WordList& line) {
  constexpr std::string_view kLosses[] = {"loss", "losses", "objective"};
  constexpr std::string_view kNan[] = {"nan", "nans", "inf", "infinite", "nonfinite"};
  const bool not_finite = line.has("finite") && (line.has("not") || line.has("non"));
  return line.has(kLosses) && (line.has(kNan) || not_finite);
}

// What a number after "exit code" is: 0 is no failure, 137 a kill.
std::optional<Status> read_exit(const WordList& line) {
  constexpr std::string_view kCodes[] = {"code", "status", "exitcode"};
  constexpr std::string_view kOthers[] = {"worker", "workers", "loader", "dataloader", "rank"};
  constexpr std::string_view kExits[] = {"exit", "exited", "exits", "exiting"};
  constexpr std::array<std::int64_t, 3> kKills = {2, 9, 15};
  const View words = line.words;
  if (line.has(kOthers)) return std::nullopt;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const bool code = is_in(kCodes, words[i]) &&
                      (words[i] == "exitcode" || (i > 0 && is_in(kExits, words[i - 1])));
    if (!code) continue;
    Cursor cursor(words[i + 1], false);
    const auto number = cursor.integer();
    if (!number || !cursor.rest().empty() || *number == 0) continue;
    if (*number == 124) return Status::timeout;
    const bool kill =
        std::ranges::any_of(kKills, [&](std::int64_t signal) { return *number == 128 + signal; });
    return kill ? Status::killed : Status::error;
  }
  return std::nullopt;
}

// "SIGTERM received, saving checkpoint", "Training stopped by user (Ctrl+C)", "Keyboard interrupt
// detected.".
bool is_interrupt(const WordList& line) {
  constexpr std::string_view kSignals[] = {"sigterm", "sigint", "sigusr1", "sigusr2"};
  constexpr std::string_view kHappens[] = {"received",   "got",       "caught",   "saving",
                                           "exiting",    "stopping",  "detected", "terminating",
                                           "requeueing", "requeuing", "shutting", "pressed"};
  constexpr std::string_view kStops[] = {"stopped",  "terminated", "aborted", "cancelled",
                                         "canceled", "killed",     "ended",   "interrupted"};
  constexpr std::string_view kTraining[] = {"training", "train",  "run",  "job",
                                            "was",      "saving", "saved"};
  if (line.has(kSignals)) return line.has(kHappens);
  const auto follow = [&](std::string_view first, std::string_view second) {
    for (std::size_t i = 0; i + 1 < line.words.size(); ++i) {
      if (line.words[i] == first && line.words[i + 1] == second) return true;
    }
    return false;
  };
  if (follow("ctrl", "c")) return line.has(kHappens) || line.has(kStops);
  if (follow("keyboard", "interrupt")) return true;
  if (follow("scancel", "terminating")) return true;
  if (follow("by", "user")) return line.has(kStops);
  if (line.has("preempted")) return line.has(kHappens);
  if (line.words.size() == 2 && follow("saved", "interrupt")) return true;
  return line.has("interrupted") && line.has(kTraining) && !follow("not", "interrupted");
}

// A level of a logger, in capitals, as the first word or between the signs of a front: "FATAL: ",
// "2026-03-01 11:00:00,000 - CRITICAL - ", "[ERROR] ".
bool has_level(std::string_view text) {
  for (const std::string_view level : {"FATAL", "CRITICAL", "ERROR"}) {
    const auto at = text.find(level);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = text.substr(at + level.size());
    const bool ends = rest.starts_with(':') || rest.starts_with(']') || rest.starts_with(" -") ||
                      rest.starts_with(" (") || trim(rest).starts_with('|');
    // Only stamps and signs may stand before it.
    const std::string_view front = text.substr(0, at);
    const bool begins = std::ranges::none_of(front, [](char c) { return c >= 'a' && c <= 'z'; });
    if (ends && begins) return true;
  }
  return false;
}

// "0 errors", "no error occurred"
bool counts_none(const WordList& line) {
  constexpr std::string_view kCounts[] = {"0", "no", "without", "zero"};
  for (std::size_t i = 0; i + 1 < line.words.size(); ++i) {
    if (is_in(kCounts, line.words[i]) && line.words[i + 1].starts_with("error")) return true;
  }
  return false;
}

bool is_error(const WordList& line, std::string_view text) {
  // What fails at the end of a good run, too.
  constexpr std::string_view kAside[] = {
      "wandb", "upload", "uploading", "push",        "pushing",  "sync",         "email",
      "mail",  "slack",  "plot",      "tensorboard", "telegram", "notification", "rate"};
  if (line.has(kAside) || counts_none(line)) return false;
  constexpr std::string_view kTraining[] = {"training", "train", "run", "job", "script", "program"};
  if (line.has("crashed") && line.words.size() > 1) return line.has(kTraining);
  if (line.has("aborting") || line.has("aborted")) {
    return line.has(kTraining) || line.words.back() == "aborting";
  }
  if (text.starts_with("Error: ") || has_level(text)) return true;
  return line.has("occurred") && (line.has("error") || line.has("exception"));
}

std::optional<Status> read(const WordList& line, std::string_view text) {
  if (line.words.empty()) return std::nullopt;
  if (line.has(kUnreal) || goes_on(line)) return std::nullopt;
  if (is_interrupt(line)) return Status::killed;
  if (const auto status = read_exit(line)) return status;
  if (is_error(line, text)) return Status::error;
  // PyTorch's example of a word language model, when it is interrupted.
  if (text == "Exiting from training early") return Status::killed;
  return std::nullopt;
}

}  // namespace

std::span<const std::string_view> FailureWords::anchors() { return kLiterals; }

bool words_go_on(std::string_view text) {
  return text.size() <= kLongest && goes_on(WordList(text));
}

bool stops_at_nan(std::string_view text) {
  constexpr std::string_view kStops[] = {"stop", "abort", "terminat", "exit", "halt", "quit"};
  if (text.size() > kLongest) return false;
  const WordList line(text);
  if (line.words.size() > kMostWords || line.has(kUnreal) || goes_on(line)) return false;
  for (std::size_t i = 0; i + 1 < line.words.size(); ++i) {
    if (line.words[i] == "on" && line.words[i + 1] == "nan") return false;
  }
  return is_nan_loss(line) && line.starts(kStops);
}

bool names_nan_loss(std::string_view text) {
  const auto colon = text.find(": ");
  if (colon == std::string_view::npos || text.size() > kLongest) return false;
  return is_nan_loss(WordList(text.substr(colon)));
}

void FailureWords::see(const Line& line) {
  constexpr std::size_t kHeld = 128;  // lines
  if (line.text.size() > kLongest) return;
  const std::string_view text = trim(line.text);
  const WordList words(text);
  if (words.words.size() > kMostWords) return;
  const auto status = read(words, text);
  if (!status) return;
  std::string shape = words.text;
  std::erase_if(shape, is_digit);
  if (words_.size() == kHeld) words_.erase(words_.begin(), words_.begin() + kHeld / 2);
  words_.push_back({line.number, *status, std::hash<std::string>()(shape), std::string(text)});
}

const FailureWords::Words* FailureWords::after(std::int64_t last_record, std::int64_t end) const {
  for (const Words& words : words_) {
    if (words.line <= last_record || words.line >= end) continue;
    const bool survived = std::ranges::any_of(words_, [&](const Words& other) {
      return other.line < last_record && other.shape == words.shape;
    });
    if (!survived) return &words;
  }
  return nullptr;
}

}  // namespace bertbench
