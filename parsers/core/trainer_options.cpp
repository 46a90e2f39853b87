#include "parsers/core/trainer_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "parsers/core/text.h"

namespace bertbench {
namespace {
using enum OptionOwner;

/// What the harness adds to an option's description.
struct Use {
  std::string_view name;
  OptionOwner owner;
  std::string_view no_work = {};
  std::string_view in_identity = {};  ///< as TrainerOption::in_identity
};
constexpr std::string_view kLogOnly = "only how its progress is printed";
constexpr Use kUses[] = {
    {"model", grid},
    {"precision", grid},
    {"micro-batch-size", grid},
    {"gradient-accumulation-steps", grid},
    {"sequence-length", grid},
    {"steps", harness},
    {"timings", harness},
    {"expect-world-size", harness},
    {"turn-s", harness},
    {"threads", user,
     "the same work on more or fewer cores; kept with the cell as its context key 'threads'"},
    {"log-style", user, kLogOnly},
    {"log-every", user, kLogOnly},
    {"checkpoint", user,
     "the name of a folder, which is written after the last step; checkpoint-every writes "
     "meanwhile"},
    // The file's name differs from run to run; that algorithms were searched changes the speed.
    {"algorithm-cache", user, {}, "searched"},
    {"evaluate", user, "what is scored after the last step"},
    {"comm-timeout", user, "only how long a dead peer is waited for"},
};

constexpr auto kOptions = [] {
  auto options = std::to_array<TrainerOption>({
#include "parsers/core/trainer_options.inc"
  });
  for (const Use& use : kUses) {
    const auto option = std::find_if(options.begin(), options.end(),
                                     [&](const TrainerOption& o) { return o.name == use.name; });
    // For a name that is no option this is no constant: it fails to compile.
    option->owner = use.owner;
    option->no_work = use.no_work;
    option->in_identity = use.in_identity;
  }
  return options;
}();

/// One spelling for equal numbers: "1e-4" and "0.0001" are one value. Whole numbers stay digit by
/// digit, as a double does not hold every seed.
std::string one_spelling(const std::string& value) {
  const bool digits = !value.empty() && std::ranges::all_of(value, is_digit);
  if (digits) {
    const auto first = value.find_first_not_of('0');
    return first == std::string::npos ? "0" : value.substr(first);
  }
  const auto number = to_double(value);
  return number ? fmt::format("{}", *number) : value;
}

/// The words that CLI11 takes for a flag's value; a number above 0 is yes.
std::string flag_value(std::string value) {
  value = lower(value);
  for (const char* no : {"false", "off", "no", "disable", "0", "f", "n", "-"}) {
    if (value == no) return "false";
  }
  const auto number = to_double(value);
  return number && *number <= 0 ? "false" : "true";
}

std::string value_in(const OptionValues& given, const std::string& axis) {
  const auto it = given.find(axis);
  if (it != given.end()) return it->second;
  return std::string(find_trainer_option(axis)->usual);
}

}  // namespace

std::span<const TrainerOption> trainer_options() { return kOptions; }

std::string axis_name(std::string_view option) {
  std::string text(option);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

const TrainerOption* find_trainer_option(std::string_view name) {
  for (const auto& option : kOptions) {
    if (axis_name(option.name) == axis_name(name)) return &option;
  }
  return nullptr;
}

std::vector<std::string> axis_option_names() {
  std::vector<std::string> names;
  for (const auto& option : kOptions) {
    if (option.owner != harness) names.push_back(axis_name(option.name));
  }
  return names;
}

OptionValues given_options(std::span<const std::string> arguments) {
  OptionValues out;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (!word.starts_with("--")) continue;
    const auto equals = word.find('=');
    const auto* option = find_trainer_option(word.substr(2, equals - 2));
    if (!option) continue;
    const auto axis = axis_name(option->name);
    if (equals != std::string::npos) {
      const auto value = word.substr(equals + 1);
      out[axis] = option->flag() ? flag_value(value) : value;
    } else if (option->flag()) {
      out[axis] = "true";
    } else if (i + 1 < arguments.size()) {
      out[axis] = arguments[++i];
    }
  }
  return out;
}

std::string default_value(const TrainerOption& option, const OptionValues& given) {
  if (option.name == "learning-rate") {
    return value_in(given, "optimizer") == "lamb" ? "2e-3" : "1e-4";
  }
  if (option.name == "gelu") {
    return value_in(given, "model").starts_with("gpt2") ? "tanh" : "erf";
  }
  if (option.name == "decay-steps") return value_in(given, "steps");
  return std::string(option.usual);
}

OptionValues work_options(const OptionValues& given) {
  OptionValues out;
  const bool simulated = simulated_topology(given).has_value();
  for (const auto& option : kOptions) {
    const auto axis = axis_name(option.name);
    const auto it = given.find(axis);
    if (it == given.end() || option.owner != user || !option.no_work.empty()) continue;
    if (simulated && (option.name == "comm" || option.name == "sim-topology")) continue;
    auto value = one_spelling(it->second);
    if (!option.in_identity.empty() && !value.empty()) value = option.in_identity;
    if (value != one_spelling(default_value(option, given))) out.emplace(axis, std::move(value));
  }
  return out;
}

std::optional<std::string> simulated_topology(const OptionValues& given) {
  if (value_in(given, "comm") != "sim") return std::nullopt;
  return value_in(given, "sim_topology");
}

}  // namespace bertbench
