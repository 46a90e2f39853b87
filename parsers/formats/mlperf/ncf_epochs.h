// NcfEpochs: what round 0.5's recommendation of MLPerf states of its epochs.
//
//   :::MLPv0.5.0 ncf 1541731860.568300724 (ncf.py:257) input_size: 19861770
//   :::MLPv0.5.0 ncf 1541731878.902678490 (ncf.py:379) train_epoch: 10
//   :::MLPv0.5.0 ncf 1541731878.903059721 (ncf.py:380) input_hp_num_neg: 4
//   :::MLPv0.5.0 ncf 1541731879.928722382 (ncf.py:438) eval_start
//
// An epoch trains on each interaction and on as many negative ones as are drawn for it.
#pragma once

#include <optional>
#include <string>

#include "parsers/assemble/run_builder.h"

namespace bertbench {

class NcfEpochs {
 public:
  /// A record where the statement ends the training of an epoch: samples/s of the job.
  [[nodiscard]] std::optional<Sample> see(const std::string& key, std::optional<double> value,
                                          double time_ms);

 private:
  std::optional<double> interactions_, negatives_, epoch_;
  double begun_ms_ = kUnknown;
};

}  // namespace bertbench
