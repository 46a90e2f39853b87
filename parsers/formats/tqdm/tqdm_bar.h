// TqdmBar: one redraw of a tqdm progress bar.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "parsers/core/line.h"
#include "parsers/core/record.h"

namespace bertbench {

/// "Iteration:  33%|███▎      | 3655/11057 [19:17<38:45,  3.18it/s, loss=1.2]"
struct TqdmBar {
  std::string_view description;  ///< without the colon and what other bars left before it
  std::int64_t done = 0;
  std::int64_t total = 0;       ///< 0 = the bar knows none
  double elapsed_s = kUnknown;  ///< whole seconds
  double rate = kUnknown;       ///< iterations/s, also where it prints s/it; unknown for "?it/s"
  double seconds_per_iteration = kUnknown;  ///< as printed, only where it prints s/it
  double loss = kUnknown;                   ///< of the postfix; see has_loss
  bool has_loss = false;
  bool counts_examples = false;  ///< its unit is an example, an image ..., not an iteration
  bool rounded = false;          ///< unit_scale: the counter has three digits ("3.20k/100k")
  std::size_t begin = 0;         ///< offset of the description in the line
  std::size_t end = 0;           ///< after the closing bracket
};

/// All bars of a line, in order: several stand on one when a '\r' got lost or ranks wrote at once.
/// The block characters are not looked at, so one that is cut or not UTF-8 does no harm.
/// `units`: those that are looked for; what cannot stand in the text need not be.
struct UnitsSought {
  bool per_second = true, per_iteration = true;  ///< "it/s", "s/it"
  bool others = true;                            ///< "batch/s", "s/step" ...
};
void find_bars(std::string_view text, UnitsSought units, std::vector<TqdmBar>& bars);

/// A bar of Lightning before 2.0: it puts the mean loss before the version ("..., 5.1it/s,
/// loss=0.9, v_num=3]") and goes on through the batches of a validation.
[[nodiscard]] bool of_lightning_1(const TqdmBar& bar, const Line& line);
}  // namespace bertbench
