// The progress lines of fairseq: what its keys mean.
#pragma once

#include <optional>
#include <string>

#include "parsers/core/line.h"

namespace bertbench {

struct FairseqFields {
  std::optional<double> updates, wps, ups, wpb, bsz, loss, wall;
  std::optional<double> within;   ///< "85 / 282": batches of the epoch so far
  std::optional<double> batches;  ///< of an epoch: its total, else the updates of one in the mean
  bool epoch = false;             ///< mean of an epoch
  bool evaluation = false;
  std::string subset;  ///< that an evaluation is of; may be empty
};

/// "| epoch 001:   1000 / 2184 loss=8.1, wps=176776, ...", "... | epoch 002 | loss 4.1 | wps 72384"
/// and bars of tqdm.
[[nodiscard]] std::optional<FairseqFields> read_fairseq_line(const Line& line);

/// {"epoch": 1, "update": 0.416, "wps": "58056.1", ...
[[nodiscard]] std::optional<FairseqFields> read_fairseq_json(const Line& line);

}  // namespace bertbench
