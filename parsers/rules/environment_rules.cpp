#include <algorithm>
#include <optional>

#include "parsers/core/text.h"
#include "parsers/lines/cursor.h"
#include "parsers/rules/fact_rules.h"

namespace bertbench {
namespace {

enum class Kind {
  version,  ///< begins with a digit; '+' and what follows belong to it, but not in NCCL's
  number,   ///< a plain number; 0 is stated as well
  word,     ///< letters, digits, '_', in lower case
  fixed,    ///< the anchor alone stands for Rule::value
  flag      ///< an option of a command line that is on, unless "False" or "0" stands after it
};

struct Rule {
  std::string_view anchor;
  std::string_view key;
  Kind kind;
  bool axis = false;
  std::string_view value{};
};

constexpr std::string_view kRecompute = "activation_checkpointing";

// Between anchor and value stand blanks, dots, ':', '=' and quotes. NCCL prints its version (corpus
// megatron/lockclock_nccl_watchdog_timeout.log), torch's collect_env those of PyTorch, CUDA and the
// driver (corpus nvidia-dle-pytorch/lambda_2xa40_gnmt_fp32_oom.log), ds_report those with dots.
constexpr Rule kRules[] = {
    {"NCCL version ", "nccl", Kind::version},
    {"PyTorch version: ", "torch", Kind::version},
    {"PyTorch Version ", "torch", Kind::version},
    {"torch version ....", "torch", Kind::version},
    {"TensorFlow Version ", "tensorflow", Kind::version},
    {"TensorFlow version: ", "tensorflow", Kind::version},
    {"deepspeed info ....", "deepspeed", Kind::version},
    {"CUDA runtime version: ", "cuda", Kind::version},
    {"CUDA used to build PyTorch: ", "cuda", Kind::version},
    {"torch cuda version ....", "cuda", Kind::version},
    {"CUDA Version: ", "cuda_driver", Kind::version},  // nvidia-smi: the newest its driver can do
    {"Driver API Version: ", "cuda_driver", Kind::version},  // Paddle
    {"Runtime API Version: ", "cuda", Kind::version},        // Paddle
    {"CUDA Runtime ", "cuda", Kind::version},                // mmcv
    {" cuda/", "cuda", Kind::version},                       // environment modules
    {"Driver Version: ", "driver", Kind::version},
    {"Nvidia driver version: ", "driver", Kind::version},
    {"DeepSpeed info: version=", "deepspeed", Kind::version},
    {"PyTorch: ", "torch", Kind::version},              // mmcv
    {" nccl/", "nccl", Kind::version},                  // environment modules
    {" cudnn/", "cudnn", Kind::version},                // environment modules
    {"cuDNN Version: ", "cudnn", Kind::version},        // Paddle
    {" CuDNN ", "cudnn", Kind::version},                // mmcv
    {"Loaded cuDNN version ", "cudnn", Kind::version},  // TensorFlow, JAX
    {"libcudnn.so.", "cudnn", Kind::version},           // TensorFlow, torch's collect_env
    {"NVIDIA Release ", "container", Kind::version},    // NGC
    {"Transformers version ", "transformers", Kind::version},
    // A command line, Megatron-LM, an argparse Namespace, NVIDIA's ResNet (corpus
    // nvidia-dle-pytorch/resnet50_v100_amp_gpu8.log), NVIDIA's BERT for TensorFlow.
    {"--optimizer", "optimizer", Kind::word, true},
    {"optimizer ....", "optimizer", Kind::word, true},
    {", optimizer='", "optimizer", Kind::word, true},
    {" optimizer : ", "optimizer", Kind::word, true},
    {"optimizer_type: ", "optimizer", Kind::word, true},
    {"Initializing LAMB Optimizer", "optimizer", Kind::fixed, true,
     "lamb"},  // NVIDIA's, TensorFlow
    {"Initializing ADAM Weight Decay Optimizer", "optimizer", Kind::fixed, true, "adam"},
    // The Hugging Face Trainer and Paddle's scripts, DeepSpeed's configuration and its print,
    // Megatron-LM.
    {"max_grad_norm=", "gradient_clipping", Kind::number, true},
    {"\"gradient_clipping\": ", "gradient_clipping", Kind::number, true},
    {"gradient_clipping ....", "gradient_clipping", Kind::number, true},
    {"clip_grad ....", "gradient_clipping", Kind::number, true},
    {"--clip-grad", "gradient_clipping", Kind::number, true},
    {"optimizer = dict(type=", "optimizer", Kind::word, true},        // mmcv
    {"DeepSpeed Basic Optimizer = ", "optimizer", Kind::word, true},  // DeepSpeed
    {" optim=OptimizerNames.", "optimizer", Kind::word, true},        // the Hugging Face Trainer
    {" optim=", "optimizer", Kind::word, true},  // NVIDIA's Transformer-XL and scripts
    {"bert_lamb_pretraining", "optimizer", Kind::fixed, true, "lamb"},  // NVIDIA's log names
    {"pretraining_lamb", "optimizer", Kind::fixed, true, "lamb"},
    {"clip_norm=", "gradient_clipping", Kind::number, true},     // fairseq, NVIDIA's Transformer
    {"'clip_norm': ", "gradient_clipping", Kind::number, true},  // fairseq's Hydra
    {"'optimizer': {'_name': ", "optimizer", Kind::word, true},  // fairseq's Hydra
    {"use_xla: ", "xla", Kind::word, true},
    {"XLA activated", "xla", Kind::fixed, true, "true"},
    {"global_jit_level: ON_", "xla", Kind::fixed, true, "true"},  // TensorFlow's session
    // That activations are computed again counts where a line states it: the Hugging Face Trainer's
    // arguments, NVIDIA's, bert_train's header, and command lines
    // (quoted/facts.recomputed_activations_are_said_where_they_are_on).
    {"gradient_checkpointing=", kRecompute, Kind::word, true},
    {"checkpoint_activations=", kRecompute, Kind::word, true},
    {"\"activation_checkpointing\":true", kRecompute, Kind::fixed, true, "true"},
    {"--gradient_checkpointing", kRecompute, Kind::flag, true},
    {"--checkpoint_activations", kRecompute, Kind::flag, true},
    {"--checkpoint-activations", kRecompute, Kind::flag, true},
    {"--activation-checkpointing", kRecompute, Kind::flag, true},
};

constexpr std::string_view kGpuAnchors[] = {
    "GPU 0",    "GPU 1: ",  "GPU 2: ",  "GPU 3: ",   "GPU 4: ",
    "GPU 5: ",  "GPU 6: ",  "GPU 7: ",  "GPU 8: ",   "GPU 9: ",
    "GPU 10: ", "GPU 11: ", "GPU 12: ", "GPU 13: ",  "GPU 14: ",
    "GPU 15: ", "| 0000",   " major: ", "; name = ", "physical GPU (device: "};

constexpr std::size_t kMaxStatements = 1024;  // hostile input

/// "true" of a switch at [begin, end); empty where it is off, part of a longer name, or in
/// argparse's usage line ("[--gradient_checkpointing]").
std::string value_of_flag(std::string_view text, std::size_t begin, std::size_t end) {
  if (begin > 0 && text[begin - 1] == '[') return {};
  if (end < text.size() && (is_name_char(text[end]) || text[end] == '-')) return {};
  std::string_view rest = text.substr(end);
  rest.remove_prefix(std::min(rest.find_first_not_of(" =\"',"), rest.size()));
  for (const std::string_view off : {"False", "false", "0", "no"}) {
    if (rest.starts_with(off) && (rest.size() == off.size() || !is_name_char(rest[off.size()])))
      return {};
  }
  return "true";
}

/// The value of a rule after its anchor; empty when there is none.
std::string value_of(const Rule& rule, const Line& line) {
  if (rule.kind == Kind::fixed) return std::string(rule.value);
  const std::size_t at = line.text.find(rule.anchor);
  if (rule.kind == Kind::flag) return value_of_flag(line.text, at, at + rule.anchor.size());
  // "CUDA used to build PyTorch: 11.6" of torch's collect_env names another version
  // (quoted/facts.versions_of_what_a_build_used_are_not_those_of_the_library).
  if (rule.anchor == "PyTorch: " && at > 0) return {};
  // "use_distributed_optimizer ......" of Megatron-LM is another setting.
  if (at > 0 && is_name_char(rule.anchor.front()) && is_name_char(line.text[at - 1])) return {};
  std::string_view rest = line.text.substr(at + rule.anchor.size());
  if (rest.starts_with("', '")) rest.remove_prefix(4);  // an argument vector as Python prints it
  rest.remove_prefix(std::min(rest.find_first_not_of(" .:=\"'"), rest.size()));
  std::size_t end = 0;
  while (end < rest.size() &&
         (is_name_char(rest[end]) || (rule.kind != Kind::word && rest[end] == '.') ||
          (rule.kind == Kind::version && (rest[end] == '-' || rest[end] == '+')))) {
    ++end;
  }
  if (end == rest.size() && line.terminator == 0) return {};
  std::string_view value = rest.substr(0, end);
  while (value.ends_with('.')) value.remove_suffix(1);
  if (value.empty()) return {};
  if (rule.kind == Kind::word) return lower(value);
  if (!is_digit(value.front())) return {};
  if (rule.kind == Kind::number) {
    const auto number = to_double(value);
    return number && *number >= 0 ? shortest(*number) : std::string();
  }
  // "2.7.8+cuda10.2" of NCCL: the CUDA that it was built with is not the one that runs.
  if (rule.key == "nccl") value = value.substr(0, value.find('+'));
  // "2.8.3-1-cuda", "8.0.4.30-cuda-10.2": an environment module's name goes on (corpus
  // megatron/bigscience_megdszero_killed.log).
  if (rule.anchor.ends_with('/')) value = value.substr(0, value.find('-'));
  return std::string(value);
}

/// "Tesla V100-SXM2-32GB", not a word of a sentence.
bool is_gpu_name(std::string_view name) {
  return name.size() >= 3 && name.size() <= 48 && std::ranges::any_of(name, is_digit) &&
         std::ranges::all_of(name, [](char c) {
           return is_name_char(c) || c == ' ' || c == '-' || c == '/' || c == '.';
         });
}

}  // namespace

std::span<const std::string_view> EnvironmentRules::anchors() {
  static const std::vector<std::string_view> list = [] {
    std::vector<std::string_view> out(std::begin(kGpuAnchors), std::end(kGpuAnchors));
    for (const Rule& rule : kRules) out.push_back(rule.anchor);
    return out;
  }();
  return list;
}

void EnvironmentRules::state(const Line& line, std::string_view key, std::string value, bool axis) {
  for (auto it = statements_.rbegin(); it != statements_.rend(); ++it) {
    if (it->key != key) continue;
    if (it->value == value) return;
    break;
  }
  if (statements_.size() < kMaxStatements) {
    statements_.push_back({line.number, key, std::move(value), axis});
  }
}

void EnvironmentRules::see(const Line& line) {
  for (const Rule& rule : kRules) {
    if (!has(line, rule.anchor)) continue;
    std::string value = value_of(rule, line);
    if (value.empty()) continue;
    if (rule.key == kRecompute && value != "true") continue;
    if (rule.key == "xla" && value != "true" && value != "false") continue;
    if (value == "optimizernames" || value == "none") continue;
    if (has(line, "Could not load")) continue;
    state(line, rule.key, std::move(value), rule.axis);
  }
  read_gpu(line);
}

// "GPU 3: NVIDIA A100-SXM4-80GB (UUID: ...)" of nvidia-smi -L and torch's collect_env, "GPU 0,1:
// ..." of mmcv, "|   0  Tesla V100-SXM2...  On   | 0000..." of nvidia-smi, "name: Tesla
// V100-SXM2-32GB major: 7" and "physical GPU (device: 0, name: ..." of TensorFlow, "rank   0: ...;
// name = ..." of fairseq, "Running on device_name=NVIDIA H200 with ..." of modded-nanogpt.
void EnvironmentRules::read_gpu(const Line& line) {
  std::string_view text = trim(line.text);
  std::string_view name;
  std::optional<std::int64_t> last;  // index of the last GPU on the line
  if (text.starts_with("GPU ") && text.size() > 7 && is_digit(text[4])) {
    const auto colon = text.find(": ");
    if (colon == std::string_view::npos) return;
    const std::string_view list = text.substr(4, colon - 4);
    for (const std::string_view index : split(list, ',')) {
      last = to_int(index);
      if (!last) return;
    }
    const auto end = std::min(text.find(" (UUID"), text.size());
    name = trim(text.substr(colon + 2, end - colon - 2));
    if (line.terminator == 0) return;
  } else if (text.starts_with("| ")) {
    Cursor cursor(text.substr(1), false);
    cursor.blanks();
    const auto index = cursor.integer();
    const auto rest = cursor.rest();
    const auto end = std::min(rest.find(" Off "), rest.find(" On "));  // persistence mode
    if (index && end != std::string_view::npos) {
      last = index;
      name = trim(rest.substr(0, end));
      while (name.ends_with('.')) name.remove_suffix(1);
    }
  } else if (text.starts_with("name: ")) {
    const auto end = text.find(" major: ");
    if (end != std::string_view::npos) name = text.substr(6, end - 6);
  } else if (Cursor cursor(line); cursor.skip_past("physical GPU (device: ")) {
    last = cursor.integer();
    if (cursor.skip_past("name: ")) name = cursor.until(",").value_or(std::string_view());
  } else if (Cursor worker(line); worker.skip_past(" rank ")) {
    worker.blanks();
    last = worker.integer();
    if (!worker.literal(": capabilities =") || !worker.skip_past("; name = ")) return;
    name = trim(worker.rest());
  } else if (Cursor device(line); device.literal("Running on device_name=")) {
    const auto end = device.rest().find(" with world_size=");
    if (end != std::string_view::npos) name = device.rest().substr(0, end);
  }
  if (!is_gpu_name(name)) return;
  state(line, "gpu", std::string(name), false);
  if (last && *last >= 0 && *last < 1024) read_gpu_index(line, *last);
}

// GPUs are listed from 0 on: one node's, or all workers' (fairseq,
// quoted/facts.gpus_are_counted_as_they_are_listed). A list more than 1000 lines later is another
// one.
void EnvironmentRules::read_gpu_index(const Line& line, std::int64_t index) {
  if (index + 1 <= gpus_ && line.number - gpu_line_ < 1000) return;  // the same GPUs again
  gpus_ = index + 1;
  gpu_line_ = line.number;
  // One list grows line by line: its last count is the one that holds.
  if (!statements_.empty() && index > 0) {
    for (auto it = statements_.rbegin(); it != statements_.rend(); ++it) {
      if (it->key != "gpu_count") continue;
      it->value = std::to_string(gpus_);
      return;
    }
  }
  state(line, "gpu_count", std::to_string(gpus_), false);
}

void EnvironmentRules::apply(Facts& facts, std::int64_t end_line, std::int64_t first_record) const {
  std::map<std::string_view, const Statement*> known;
  for (const Statement& statement : statements_) {
    if (statement.line >= end_line) continue;
    const Statement*& slot = known[statement.key];
    if (slot == nullptr || statement.line <= first_record) slot = &statement;
  }
  for (const auto& [key, statement] : known) {
    (statement->axis ? facts.axes : facts.versions).emplace(key, statement->value);
  }
}

}  // namespace bertbench
