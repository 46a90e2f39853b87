// The options of bert_train that the harness knows by name: any of them may be an axis. A test
// holds this list against `bert_train --help`, as harness and trainer share no code.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bertbench {

enum class OptionOwner {
  grid,     ///< always passed from the cell: model, precision, micro_batch_size ...
  harness,  ///< always passed by the harness: steps, timings, expect_world_size
  user      ///< an axis, or an argument in "args"
};

struct TrainerOption {
  std::string_view name;  ///< long name without dashes in front: "gradient-accumulation-steps"
  OptionOwner owner = OptionOwner::user;
  bool flag = false;        ///< takes no value: true adds it, false leaves it out
  std::string_view values;  ///< allowed values, space separated; empty = the trainer decides
};

std::span<const TrainerOption> trainer_options();
/// By name, with '_' or '-' between the words; null when there is none.
const TrainerOption* find_trainer_option(std::string_view name);
/// "gradient-clipping" -> "gradient_clipping", the form of axes and identities.
std::string axis_name(std::string_view option);
/// Names of all options that may be axes, in the form of axes.
std::vector<std::string> axis_option_names();

}  // namespace bertbench
