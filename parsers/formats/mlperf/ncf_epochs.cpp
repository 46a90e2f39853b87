#include "parsers/formats/mlperf/ncf_epochs.h"

namespace bertbench {

std::optional<Sample> NcfEpochs::see(const std::string& key, std::optional<double> value,
                                     double time_ms) {
  if (key == "input_size") interactions_ = value;
  if (key == "input_hp_num_neg") negatives_ = value;
  if (key == "train_epoch") {
    epoch_ = value;
    begun_ms_ = time_ms;
  }
  if (key != "eval_start" || !epoch_ || !interactions_ || !negatives_) return std::nullopt;
  const double seconds = (time_ms - begun_ms_) / 1000;
  const double samples = *interactions_ * (1 + *negatives_);
  Sample out;
  const bool sound = *epoch_ >= 0 && *epoch_ < 1e9 && samples > 0 && samples < 1e15;
  if (sound) out.step = static_cast<std::int64_t>(*epoch_) + 1;
  epoch_.reset();
  if (!sound || !(seconds > 0)) return std::nullopt;
  out.iterations = 1;
  out.rate = samples / seconds;
  return out;
}

}  // namespace bertbench
