// BarName: what the description of a progress bar means. "quoted/NAME" is a log in
// tests/golden/quoted, "corpus NAME" one of the collected logs that are not part of the project.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bertbench {

enum class BarRole { training, outer, evaluation, inference, unnamed, other };
[[nodiscard]] BarRole role_of(std::string_view description);

struct BarName {
  BarRole role = BarRole::other;
  std::string key;           ///< the same for all bars of one loop: without numbers
  std::int64_t epoch = -1;   ///< -1: it names none
  std::int64_t epochs = -1;  ///< "Epoch 1 of 3"
  /// It is nothing but names of values with fractions, none of them a score: "d: -0.01;gen: 0.2".
  bool values = false;
  bool of_data = false;  ///< it makes data ready: "Tokenizing"

  /// The bar of "Epoch 1 of 3" that stands at 0 or 1 of 3 is the one around the loops
  /// (simpletransformers, quoted/tqdm.tells_the_bar_around_the_epochs_from_theirs).
  [[nodiscard]] bool counts_epochs(std::int64_t done, std::int64_t total) const;
};
[[nodiscard]] BarName name_of(std::string_view description);

/// The epoch, and of how many (-1: not printed), whose begin is all that a line states: "Epoch
/// 3/20", "===== Epoch [3/20] =====", "Starting epoch 3" of scripts whose bars have no names
/// (quoted/tqdm.the_first_bar_after_an_epoch_begins_is_its_training).
struct BegunEpoch {
  std::int64_t epoch = 0;  ///< -1: a whole training begins, "Start training ..."
  std::int64_t epochs = -1;
};
/// What a line states of a whole epoch: "Epoch [29/30] in static KGE | Loss: 5.52" of a script
/// (quoted/tqdm.a_bar_of_the_epochs_of_the_lines).
struct EpochResult {
  std::int64_t epochs = -1;  ///< of how many it is one; -1: not printed
  bool loss = false;         ///< the loss of its training
};
[[nodiscard]] std::optional<EpochResult> epoch_result(std::string_view line);

[[nodiscard]] std::optional<BegunEpoch> epoch_that_begins(std::string_view line);

}  // namespace bertbench
