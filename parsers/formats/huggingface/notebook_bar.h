// The bar that the Hugging Face Trainer draws in notebooks, as a saved or copied one shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "parsers/core/line.h"
#include "parsers/core/record.h"

namespace bertbench {

class RunDraft;

///   [1200/1200 09:31, Epoch 3/3]
///   [ 400/1200 03:10 < 06:22, 2.09 it/s, Epoch 1.00/3]
///
/// It is drawn first after step 1, where its clock begins, and shows one step more than were done
/// until the training is over. Evaluations are in the clock.
struct NotebookBar {
  static constexpr std::string_view kAnchor = ", Epoch ";

  std::int64_t shown = 0, total = 0;
  double elapsed_s = 0, rate = kUnknown;
  std::int64_t line = 0;
  int rank = -1;

  [[nodiscard]] static std::optional<NotebookBar> read(const Line& line);
  /// Drawn later for the same training.
  [[nodiscard]] bool goes_on_from(const NotebookBar& before) const {
    return total == before.total && shown > before.shown;
  }
  /// For a run of which nothing else gives a rate.
  void give_to(RunDraft& run) const;
};

}  // namespace bertbench
