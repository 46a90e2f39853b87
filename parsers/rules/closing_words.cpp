#include "parsers/rules/closing_words.h"

#include <algorithm>

#include "parsers/core/text.h"

namespace bertbench {
namespace {

constexpr std::string_view kWords[] = {
    // Scripts: "Training finished.", "INFO - Finished Training", "Training complete! Saved to ...".
    "raining finished",
    "raining Finished",
    "raining complete",
    "raining Complete",
    "inished training",
    "inished Training",
    "nd of training",
    "TRAINING COMPLETE",
    "训练完成",
    "训练结束",
    // Who watched the process, launched it or gave it its machines.
    "wandb: Find logs at: ",
    "wandb: Program ended successfully",
    " exits successfully.",
    "] Local processes completed.",
    "State: COMPLETED",
    "Successfully completed.",
    "Finished: SUCCESS",
    "Job succeeded",
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Not "Finished training it 640/128028", "training complete for epoch 3", "Training complete: 12%".
bool says_no_more(std::string_view rest) {
  constexpr std::string_view kGoOn[] = {"in", "after", "with", "and", "at", "successfully"};
  if (rest.starts_with('d') || rest.starts_with('D')) rest.remove_prefix(1);  // "completed"
  if (!rest.empty() && is_letter(rest.front())) return false;
  if (rest.find("poch ") != std::string_view::npos || rest.find('%') != std::string_view::npos) {
    return false;
  }
  rest = trim(rest);
  if (rest.empty()) return true;
  std::size_t n = 0;
  while (n < rest.size() && is_letter(rest[n])) ++n;
  if (n == 0) return !is_digit(rest.front());
  return std::ranges::find(kGoOn, rest.substr(0, n)) != std::end(kGoOn);
}

// "Epoch 3: training complete" is said of an epoch.
bool of_a_part(std::string_view front) {
  const auto at = front.rfind("poch ");
  if (at == std::string_view::npos) return false;
  const std::string_view after = trim(front.substr(at + 5));
  return !after.empty() && is_digit(after.front());
}

}  // namespace

std::span<const std::string_view> ClosingWords::anchors() { return kWords; }

bool ClosingWords::see(const Line& line, std::size_t row, std::size_t at) {
  constexpr std::size_t kWordsHeld = 512;
  const std::string_view words = kWords[row];
  const bool names_training = words.find("raining") != std::string_view::npos ||
                              words.find("RAINING") != std::string_view::npos;
  if (names_training &&
      (!says_no_more(line.text.substr(at + words.size())) || of_a_part(line.text.substr(0, at)))) {
    return false;
  }
  // The newest ones tell whether words come again and again.
  if (said_.size() == kWordsHeld) said_.erase(said_.begin(), said_.begin() + kWordsHeld / 2);
  said_.push_back({line.number, row});
  return true;
}

std::optional<std::int64_t> ClosingWords::after(std::int64_t first, std::int64_t last_record,
                                                std::int64_t end) const {
  for (const Said& said : said_) {
    if (said.line <= last_record || said.line >= end) continue;
    const bool again = std::ranges::any_of(said_, [&](const Said& other) {
      return other.words == said.words && other.line >= first && other.line < last_record;
    });
    if (!again) return said.line;
  }
  return std::nullopt;
}

}  // namespace bertbench
