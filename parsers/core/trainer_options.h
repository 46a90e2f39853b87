// The options of bert_train as its command line gives them: which may be axes of a sweep, and which
// change the work, so that two runs that differ in them are two cells. Trainer and harness share no
// code: trainer_options.inc is what `bert_train --describe-options` prints, and a test compares.
#pragma once

#include <map>
#include <optional>
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
  std::string_view name;  ///< long name without its dashes: "gradient-accumulation-steps"
  /// Its value where it is not given; empty where the trainer takes it from other options, see
  /// default_value().
  std::string_view usual;
  std::string_view values;  ///< allowed values, space separated; empty = the trainer decides
  OptionOwner owner = OptionOwner::user;
  /// Why two runs that differ in it did the same work; empty: it is part of the identity.
  std::string_view no_work = {};
  /// What stands for any value of it in the identity; empty: the value itself.
  std::string_view in_identity = {};
  /// Takes no value: true adds it, false leaves it out.
  [[nodiscard]] constexpr bool flag() const { return values == "true false"; }
};

std::span<const TrainerOption> trainer_options();
/// By name, with '_' or '-' between the words; null when there is none.
const TrainerOption* find_trainer_option(std::string_view name);
/// "gradient-clipping" -> "gradient_clipping", the form of axes and identities.
std::string axis_name(std::string_view option);
/// Names of all options that may be axes, in the form of axes.
std::vector<std::string> axis_option_names();

/// Values by the option's name in the form of axes.
using OptionValues = std::map<std::string, std::string>;

/// What arguments give, as bert_train reads them: "--name value", "--name=value", flags as "true"
/// or "false"; of an option that is given twice the last value. Words that are no option are left
/// out.
OptionValues given_options(std::span<const std::string> arguments);

/// The value that the trainer takes for an option that is not in `given`: of
/// learning_rate that of the optimizer, of gelu that of the model, of decay_steps the steps.
std::string default_value(const TrainerOption& option, const OptionValues& given);

/// The part of the identity that lies in options: those of `given` that are no fact of every cell,
/// change the work and differ from their default, a number in one spelling ("0.1" for "0.10"). The
/// simulated communicator is not among them: see simulated_topology().
OptionValues work_options(const OptionValues& given);

/// With --comm sim the cluster that is simulated as the options name it, empty where they do not;
/// nothing without a simulation.
std::optional<std::string> simulated_topology(const OptionValues& given);

/// Further identity of a run on a simulated cluster, whose communication lasts as a model computes:
/// its value is "true".
inline constexpr const char* kSimulatedAxis = "simulated";

}  // namespace bertbench
