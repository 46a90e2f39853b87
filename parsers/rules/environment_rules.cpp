// FactRules: software, GPUs, and options that programs print in words of their own.
#include <algorithm>
#include <array>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>

#include "parsers/core/text.h"
#include "parsers/lines/cursor.h"
#include "parsers/rules/fact_rules.h"

namespace bertbench {
namespace {

/// Whether an option is on: not where it is part of a longer name, or in argparse's usage line
/// ("[--gradient_checkpointing]").
bool is_on(const Line& option) {
  const std::string_view text = option.text;
  if (option.at > 0 && text[option.at - 1] == '[') return false;
  std::string_view rest = text.substr(option.end);
  if (!rest.empty() && (is_name_char(rest[0]) || rest[0] == '-')) return false;
  rest.remove_prefix(std::min(rest.find_first_not_of(" =\"',"), rest.size()));
  return std::ranges::none_of(
      std::to_array<std::string_view>({"False", "false", "0", "no"}), [&](std::string_view off) {
        return rest.starts_with(off) &&
               (rest.size() == off.size() || !is_name_char(rest[off.size()]));
      });
}

/// "Tesla V100-SXM2-32GB", not a word of a sentence.
bool is_gpu_name(std::string_view name) {
  return name.size() >= 3 && name.size() <= 48 && std::ranges::any_of(name, is_digit) &&
         std::ranges::all_of(name, [](char c) {
           return is_name_char(c) || c == ' ' || c == '-' || c == '/' || c == '.';
         });
}

}  // namespace

// Between a literal and its value stand blanks, dots, ':', '=' and quotes.
void FactRules::state_value(const Line& line, std::string_view name, Form form) {
  if (form == Form::option) {
    if (is_on(line)) state(line, Key::axis, "true", name);
    return;
  }
  // "use_distributed_optimizer ......" of Megatron-LM is another setting.
  if (line.at > 0 && is_name_char(line.text[line.at]) && is_name_char(line.text[line.at - 1])) {
    return;
  }
  std::string_view rest = line.text.substr(line.end);
  if (rest.starts_with("', '")) rest.remove_prefix(4);  // an argument vector as Python prints it
  rest.remove_prefix(std::min(rest.find_first_not_of(" .:=\"'"), rest.size()));
  std::size_t end = 0;
  while (end < rest.size() &&
         (is_name_char(rest[end]) || (form != Form::word && rest[end] == '.') ||
          (form == Form::version && (rest[end] == '-' || rest[end] == '+')))) {
    ++end;
  }
  if (end == rest.size() && line.terminator == 0) return;
  std::string_view value = rest.substr(0, end);
  while (value.ends_with('.')) value.remove_suffix(1);
  if (value.empty()) return;
  if (form == Form::word || form == Form::on) {
    const std::string word = lower(value);
    const bool counts =
        form == Form::on ? word == "true" : word != "none" && word != "optimizernames";
    if (counts) state(line, Key::axis, word, name);
    return;
  }
  if (!is_digit(value.front()) || has(line, "Could not load")) return;
  if (form == Form::number) {
    const auto number = to_double(value);
    if (number) state(line, Key::axis, shortest(*number), name);
    return;
  }
  // "2.7.8+cuda10.2" of NCCL: the CUDA that it was built with is not the one that runs.
  if (name == "nccl") value = value.substr(0, value.find('+'));
  // "2.8.3-1-cuda", "8.0.4.30-cuda-10.2": an environment module's name goes on (corpus
  // megatron/bigscience_megdszero_killed.log).
  if (line.text[line.end - 1] == '/') value = value.substr(0, value.find('-'));
  state(line, Key::version, value, name);
}

// "GPU 3: NVIDIA A100-SXM4-80GB (UUID: ...)" of nvidia-smi -L and torch's collect_env, "GPU 0,1:
// ..." of mmcv.
void FactRules::read_listed_gpu(const Line& line) {
  const std::string_view text = trim(line.text);
  const auto colon = text.find(": ");
  if (!leads(line) || colon == std::string_view::npos || line.terminator == 0) return;
  constexpr std::size_t kIndex = std::string_view("GPU ").size();
  std::optional<std::int64_t> last;
  for (const std::string_view index : split(text.substr(kIndex, colon - kIndex), ',')) {
    last = to_int(index);
    if (!last) return;
  }
  const auto end = std::min(text.find(" (UUID"), text.size());
  state_gpu(line, trim(text.substr(colon + 2, end - colon - 2)), last);
}

// "|   0  Tesla V100-SXM2...  On   | 0000...": with its persistence mode.
void FactRules::read_gpu_of_nvidia_smi(const Line& line) {
  Cursor cursor(line);
  std::int64_t index = 0;
  if (!cursor.read(kBlanks, "| ", kBlanks, index)) return;
  const auto rest = cursor.rest();
  const auto end = std::min(rest.find(" Off "), rest.find(" On "));
  if (end == std::string_view::npos) return;
  std::string_view name = trim(rest.substr(0, end));
  while (name.ends_with('.')) name.remove_suffix(1);
  state_gpu(line, name, index);
}

// "name: Tesla V100-SXM2-32GB major: 7", "physical GPU (device: 0, name: ...".
void FactRules::read_gpu_of_tensorflow(const Line& line) {
  const std::string_view text = trim(line.text);
  if (text.starts_with("name: ")) return state_gpu(line, text.substr(6, text.find(" major: ") - 6));
  Cursor cursor = Cursor::after(line);
  const auto index = cursor.integer();
  if (cursor.skip_past("name: ")) state_gpu(line, cursor.until(",").value_or(""), index);
}

// "rank   0: capabilities =  7.0  ; total memory = 31.749 GB ; name = Tesla V100-SXM2-32GB".
void FactRules::read_gpu_of_fairseq(const Line& line) {
  std::int64_t rank = 0;
  if (Cursor(line).read(Past{" rank "}, kBlanks, rank, ": capabilities =")) {
    state_gpu(line, trim(line.text.substr(line.end)), rank);
  }
}

// GPUs are listed from 0 on: one node's, or all workers' (fairseq,
// quoted/facts.gpus_are_counted_as_they_are_listed). A list more than 1000 lines later is another
// one.
void FactRules::state_gpu(const Line& line, std::string_view name,
                          std::optional<std::int64_t> index) {
  if (!is_gpu_name(name)) return;
  state(line, Key::version, name, "gpu");
  if (!index || *index < 0 || *index >= 1024) return;
  if (*index + 1 <= gpus_ && line.number - gpu_line_ < 1000) return;  // the same GPUs again
  gpus_ = *index + 1;
  gpu_line_ = line.number;
  const std::string count = std::to_string(gpus_);
  // One list grows line by line: its last count is the one that holds.
  for (Statement& statement : statements_ | std::views::reverse) {
    if (*index == 0 || statement.name != "gpu_count") continue;
    statement.value = count;
    return;
  }
  state(line, Key::version, count, "gpu_count");
}

}  // namespace bertbench
