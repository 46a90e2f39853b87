#include "parsers/rules/fact_rules.h"

#include <optional>

#include "parsers/core/text.h"
#include "parsers/core/topology.h"
#include "parsers/core/trainer_options.h"
#include "parsers/lines/argument_text.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/tf_message.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {"train_batch_size",
                                         "batch_size=",
                                         "Batch size = ",
                                         "gradient_accumulation_steps",
                                         "num_accumulation_steps",
                                         "Gradient Accumulation steps",
                                         "max_seq_len",
                                         "--seq-length",
                                         "--micro-batch-size",
                                         "num_local_procs=",
                                         "using torch.",
                                         " nranks ",
                                         "nproc_per_node",
                                         "nproc-per-node",
                                         "--nnodes",
                                         "n_gpu: ",
                                         " n_gpu ",
                                         "+ num_gpus=",
                                         "+ precision=",
                                         "bert_model",
                                         "bert_path",
                                         "name_or_path",
                                         "model_name",
                                         "***** Running",
                                         "Instantaneous batch size per device",
                                         "Total train batch size",
                                         "Total optimization steps",
                                         "fp16=",
                                         "bf16=",
                                         "use_amp=",
                                         "dtype=\'float",
                                         "fp16 activated!",
                                         "fp16_enabled ....",
                                         "bfloat16_enabled ....",
                                         "16-bits training: False",
                                         "using world size: ",
                                         "dist_world_size=",
                                         "world size: ",
                                         "world_size:",
                                         "'fp16': ",
                                         "global_batch_size ....",
                                         " seq_length ....",
                                         "max_len=",
                                         "WORLD_SIZE=",
                                         "--ntasks-per-node=",
                                         "gpus=\'",
                                         "Num GPUs ",
                                         "Per-GPU Batch Size ",
                                         "training on ",
                                         "params_dtype ....",
                                         "16-bits training: True",
                                         "Selected optimization level O",
                                         "name = input_ids, shape = (",
                                         "libcudart.so.",
                                         "deepspeed --",
                                         "accelerate launch",
                                         "mpirun ",
                                         "mpiexec ",
                                         "mpiexec.hydra ",
                                         "horovodrun ",
                                         "--fp16",
                                         "--bf16",
                                         " world_size=",
                                         "Num processes: ",
                                         "training worker group of size ",
                                         "GLOBAL_RANK: ",
                                         "Mixed precision type:",
                                         "Automatic Mixed Precision",
                                         "torch.distributed",
                                         "train_micro_batch_size_per_gpu",
                                         "bert_train ",
                                         "World size = ",
                                         "Train batch size per device = ",
                                         "radient accumulation steps = ",
                                         "Max sequence length = ",
                                         "Model = ",
                                         "Simulated cluster = ",
                                         "PADDLE_TRAINERS_NUM ",
                                         "LAUNCH INFO ",
                                         "Running on device_name=",
                                         "'_num_worker_replicas': ",
                                         "'_train_distribute': ",
                                         "'_tpu_config': ",
                                         " - PARAMETER ",
                                         "environ({",
                                         "  amp: ",
                                         "  manual_fp16: ",
                                         "  use_fp16: ",
                                         "  bert_config_file: ",
                                         "skipping auto_mixed_precision"};

constexpr std::size_t kMaxStatements = 4096;  // hostile input

}  // namespace

std::span<const std::string_view> FactRules::anchors() {
  static const std::vector<std::string_view> list = [] {
    std::vector<std::string_view> out(std::begin(kAnchors), std::end(kAnchors));
    for (const auto further :
         {EnvironmentRules::anchors(), MemoryRules::anchors(), ScoreRules::anchors()}) {
      out.insert(out.end(), further.begin(), further.end());
    }
    return out;
  }();
  return list;
}

void FactRules::state(const Line& line, Key key, std::string_view value) {
  // Ranks repeat what rank 0 printed.
  for (auto it = statements_.rbegin(); it != statements_.rend(); ++it) {
    if (it->key != key) continue;
    if (it->value != value) break;
    it->newest_line = line.number;
    return;
  }
  if (statements_.size() < kMaxStatements)
    statements_.push_back({line.number, key, std::string(value), line.number});
}

void FactRules::see(const Line& line) {
  if (has(line, "***** Running")) {
    evaluating_ = !has(line, "training");
    return;
  }
  if (memory_.see(line)) return;
  scores_.see(line);
  environment_.see(line);
  read_launcher(line);
  read_framework(line);
  read_bert_train(line);
  read_dll_parameter(line);
  if (!evaluating_) read_arguments(line);
}

// The command line that bert_train prints in styles which have no header of their own, and the
// lines that it adds to NVIDIA's.
void FactRules::read_bert_train(const Line& line) {
  const auto program = line.text.find("bert_train ");
  if (program != std::string_view::npos &&
      (line.text.starts_with("+ ") || line.text.find("command = ") < program)) {
    state(line, Key::framework, "bert_train");
    const auto option = [&](Key key, std::string_view name) {
      const auto value = argument(line.text.substr(program), name);
      if (value && (key == Key::model || key == Key::precision || count(*value))) {
        state(line, key, *value);
      }
    };
    option(Key::model, "--model");
    option(Key::precision, "--precision");
    option(Key::micro_batch, "--micro-batch-size");
    option(Key::accumulation, "--gradient-accumulation-steps");
    option(Key::sequence_length, "--sequence-length");
    state_options(line, line.text.substr(program));
    return;
  }
  const auto after = [&](Key key, std::string_view what) {
    const auto value = number_after(line, what);
    if (value && *value >= 1 && *value < 1e9) {
      state(line, key, std::to_string(static_cast<std::int64_t>(*value)));
    }
  };
  after(Key::world, "World size = ");
  after(Key::micro_batch, "Train batch size per device = ");
  after(Key::accumulation, "Gradient accumulation steps = ");
  after(Key::sequence_length, "Max sequence length = ");
  Cursor model(line);
  if (model.skip_past("  Model = ")) {
    const auto name = model.until(", ");
    if (name && model.literal(", precision = ")) {
      state(line, Key::model, *name);
      if (const auto precision = model.until(" \t")) state(line, Key::precision, *precision);
    }
  }
  Cursor cluster(line);
  if (cluster.skip_past("Simulated cluster = ")) {
    const auto topology = parse_topology(cluster.rest());
    if (topology) {
      state(line, Key::nodes, std::to_string(topology->nodes));
      state(line, Key::gpus_per_node, std::to_string(topology->gpus_per_node));
      if (options_.empty()) options_.push_back({line.number, {}});
      options_.back().axes.emplace(kSimulatedAxis, "true");
    }
  }
}

void FactRules::state_options(const Line& line, std::string_view command) {
  std::vector<std::string> words;
  for (const auto word : split(command, ' ')) words.emplace_back(word);
  const OptionValues given = given_options(words);
  const auto simulated = simulated_topology(given);
  // Of a simulated job that option counts the ranks that run.
  const auto ranks = given.find("expect_world_size");
  if (!simulated && ranks != given.end() && count(ranks->second)) {
    state(line, Key::world, ranks->second);
  }
  if (options_.size() >= kMaxStatements) return;
  OptionStatement statement{line.number, work_options(given)};
  if (simulated) statement.axes.emplace(kSimulatedAxis, "true");
  options_.push_back(std::move(statement));
}

// Arguments in DLLogger's lines, for the formats whose records stand next to them: bars, and those
// of TensorFlow (corpus nvidia-dle-tensorflow/resnet50_v100_amp_gpu8.log;
// quoted/facts.takes_the_arguments_of_dllogger).
void FactRules::read_dll_parameter(const Line& line) {
  if (!has(line, " - PARAMETER ")) return;
  const auto batch = number_after(line, "PARAMETER batch_size_per_gpu :");
  if (batch && *batch >= 1 && *batch < 1e9) {
    state(line, Key::micro_batch, std::to_string(static_cast<std::int64_t>(*batch)));
  }
  if (has(line, " amp : True")) state(line, Key::precision, "fp16");
}

// gluon-cv's scripts of segmentation and depth print "Namespace(..., batch_size=16, ...,
// ctx=[gpu(0), gpu(1)], ...)": their loader's batch is divided among these GPUs, and each is one
// step (corpus mxnet/gluoncv_deeplab_nan_restart.log).
void FactRules::read_contexts(const Line& line) {
  Cursor cursor(line);
  if (!cursor.skip_past("ctx=[gpu(")) return;
  const auto batch = argument(line.text, "batch_size");
  if (!batch || !count(*batch)) return;
  std::int64_t gpus = 1;
  while (cursor.integer() && cursor.literal("), gpu(")) ++gpus;
  const bool even = *count(*batch) % gpus == 0;
  state(line, Key::framework, "mxnet");
  state(line, Key::world, std::to_string(gpus));
  state(line, even ? Key::micro_batch : Key::global_batch,
        std::to_string(even ? *count(*batch) / gpus : *count(*batch)));
  state(line, Key::accumulation, "1");
}

// "--model_name_or_path google/bert_uncased_L-2_H-128_A-2", "bert_path='./chinese_roberta'": the
// name that the line gives to an option, without its folders; empty where it is no name. An
// argument vector, as DeepSpeed prints it, has "'name', 'value'".
std::string_view model_name(std::string_view text, std::string_view option) {
  constexpr std::string_view kWord = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (auto at = text.find(option); at != std::string_view::npos; at = text.find(option, at + 1)) {
    if (at > 0 && kWord.find(text[at - 1]) != std::string_view::npos) continue;
    constexpr std::size_t kLongestPath = 4096;  // bytes: bounds the work on hostile lines
    std::string_view value = text.substr(at + option.size(), kLongestPath);
    if (value.starts_with("', '")) value.remove_prefix(4);
    const auto begin = value.find_first_not_of(" =:\"'");
    if (begin == 0 || begin == std::string_view::npos) continue;
    value.remove_prefix(begin);
    value = value.substr(0, value.find_first_of(" \t,;\"')]"));
    while (value.ends_with('/')) value.remove_suffix(1);
    value.remove_prefix(value.rfind('/') + 1);  // all of it where there is no folder
    constexpr std::size_t kLongestName = 80;    // bytes: a name, and no sentence
    if (value.size() <= kLongestName && value.find_first_of("{}<>$%=\\*") == value.npos)
      return value;
  }
  return {};
}

// An option that is for BERT or for any model, by hub name or path. With a configuration file, as
// NVIDIA's scripts have, --bert_model chooses the vocabulary alone (LambdaLabs' runs of bert-base
// print bert-large-uncased): the model is known where the file's folder names it.
void FactRules::read_model(const Line& line) {
  for (const std::string_view file : {"config_file", "bert_config_path"}) {
    if (model_name(line.text, file).empty()) continue;
    if (has(line, "/bert_base/bert_config.json")) state(line, Key::model, "bert-base");
    if (has(line, "/bert_large/bert_config.json")) state(line, Key::model, "bert-large");
    return;
  }
  for (const std::string_view option :
       {"model_name_or_path", "_name_or_path", "bert_model", "bert_path", "model_name"}) {
    const std::string_view name = model_name(line.text, option);
    // Options of these names are of other models and of checkpoints as well ("model_name='xlnet'"
    // of gluon-nlp).
    const bool bert = name.find("bert") != name.npos || name.find("electra") != name.npos ||
                      name.find("BERT") != name.npos;
    if (bert && !name.ends_with(".json") && !name.ends_with(".txt")) {
      return state(line, Key::model, name);
    }
  }
}

void FactRules::read_arguments(const Line& line) {
  read_contexts(line);
  const bool shell = line.text.starts_with("+ ");
  if (!shell) read_model(line);
  const auto take = [&](Key key, std::string_view name) {
    if (const auto value = argument(line.text, name); value && count(*value)) {
      state(line, key, std::to_string(*count(*value)));
    }
  };
  // DeepSpeed's configuration calls the global batch train_batch_size (corpus
  // deepspeed/dschat_step2_dpo_opt350m.log).
  const bool deepspeed = has(line, "\"train_batch_size\"") || has(line, "train_batch_size ...");
  read_nvidia_options(line);
  // In NVIDIA's BERT for TensorFlow, which prints an option a line, it is of one micro-step of one
  // GPU (corpus nvidia-dle-tensorflow/paddleperf_v100_fp16_gpu8.log).
  const bool option = has(line, "  train_batch_size: ") && tf_message(line.text);
  take(deepspeed ? Key::global_batch
       : option  ? Key::micro_batch
                 : Key::batch_argument,
       "train_batch_size");
  take(Key::micro_batch, "per_device_train_batch_size");
  take(Key::micro_batch, "train_micro_batch_size_per_gpu");
  take(Key::accumulation, "gradient_accumulation_steps");
  take(Key::sequence_length, "max_seq_length");
  take(Key::sequence_length, "max_seq_len");
  take(Key::sequence_length, "max_len");  // gluon-nlp's fine-tuning
  read_megatron_command(line);
  if (has(line, " ....")) {  // Megatron's list of arguments
    take(Key::sequence_length, "seq_length");
    take(Key::global_batch, "global_batch_size");
  }
  if (shell) {
    // The trace (bash -x) of NVIDIA's scripts for BERT (corpus
    // nvidia-dle-pytorch/paddleperf_v100_fp16_gpu8.log).
    if (line.text.starts_with("+ batch_size=")) take(Key::micro_batch, "batch_size");
    if (line.text.starts_with("+ num_gpus=")) take(Key::world, "num_gpus");
    if (line.text.starts_with("+ num_accumulation_steps")) {
      const auto equals = line.text.find('=');
      if (equals != std::string_view::npos && count(line.text.substr(equals + 1))) {
        state(line, Key::accumulation, line.text.substr(equals + 1));
      }
    }
    for (const std::string_view precision : {"fp32", "tf32", "bf16", "fp16", "fp8"}) {
      if (line.text == "+ precision=" + std::string(precision)) {
        state(line, Key::precision, precision);
      }
    }
    if (line.text == "+ bert_model=base") state(line, Key::model, "bert-base");
    if (line.text == "+ bert_model=large") state(line, Key::model, "bert-large");
  }
  const auto after = [&](Key key, std::string_view what) {
    Cursor cursor(line);
    if (!cursor.skip_past(what)) return;
    cursor.blanks();
    if (!cursor.literal("=")) return;
    cursor.blanks();
    // Newer Hugging Face Trainers group the digits of their totals.
    if (const auto value = cursor.grouped_integer(); value && *value >= 1) {
      state(line, key, std::to_string(*value));
    }
  };
  // Google's and NVIDIA's BERT for TensorFlow print "Batch size" of all devices or of one, by
  // script.
  const bool tensorflow = has(line, "INFO:tensorflow:") || has(line, ".py:");
  if (!has(line, "Instantaneous"))
    after(tensorflow ? Key::tf_batch : Key::script_batch, "Batch size");
  after(Key::micro_batch, "Instantaneous batch size per device");
  after(Key::global_batch, "distributed & accumulation)");
  after(Key::accumulation, "Gradient Accumulation steps");
  after(Key::planned, "Total optimization steps");
  read_precision(line);
  // Megatron-LM: "params_dtype .... torch.float16" and "using torch.float16 for parameters ...".
  Cursor type(line);
  if ((type.skip_past("params_dtype ....") && type.skip_past(" torch.")) ||
      (has(line, " for parameters ...") && type.skip_past("using torch."))) {
    const auto name = type.until(" \t,");
    if (name == "float16") state(line, Key::precision, "fp16");
    if (name == "bfloat16") state(line, Key::precision, "bf16");
    if (name == "float32") state(line, Key::precision, "fp32");
  }
  // The features of NVIDIA's BERT for TensorFlow: "name = input_ids, shape = (96, 128)".
  Cursor shape(line);
  if (shape.skip_past("name = input_ids, shape = (")) {
    const auto batch = shape.integer();
    const bool pair = shape.literal(", ");
    const auto length = pair ? shape.integer() : std::nullopt;
    if (batch && length && *batch >= 1 && *length >= 1) {
      state(line, Key::micro_batch, std::to_string(*batch));
      state(line, Key::sequence_length, std::to_string(*length));
    }
  }
}

// "INFO:tensorflow:  num_accumulation_steps: 4": options as NVIDIA's scripts for TensorFlow print
// them. The shape of the model stands in the name of the released configuration's folder.
void FactRules::read_nvidia_options(const Line& line) {
  if (has(line, "  num_accumulation_steps: ")) {
    const auto steps = size_after(line, "  num_accumulation_steps: ");
    if (steps) state(line, Key::accumulation, std::to_string(*steps));
  }
  if (has(line, "  bert_config_file: ")) {
    if (has(line, "_L-12_H-768_A-12")) state(line, Key::model, "bert-base");
    if (has(line, "_L-24_H-1024_A-16")) state(line, Key::model, "bert-large");
  }
  if (has(line, "skipping auto_mixed_precision graph optimizer")) {
    state(line, Key::no_amp, "fp32");
  }
}

// Options of Megatron-LM's (quoted/facts.an_argument_vector_tells_the_options_of_megatron). Where
// one replica of the model takes several GPUs, the micro batch is not that of one of them.
void FactRules::read_megatron_command(const Line& line) {
  const auto option = [&](std::string_view name) -> std::optional<std::int64_t> {
    const auto value = argument(line.text, name);
    return value ? count(*value) : std::nullopt;
  };
  const auto take = [&](Key key, std::string_view name) {
    if (const auto value = option(name)) state(line, key, std::to_string(*value));
  };
  take(Key::sequence_length, "--seq-length");
  const bool split = option("--tensor-model-parallel-size").value_or(1) > 1 ||
                     option("--pipeline-model-parallel-size").value_or(1) > 1;
  if (!split) take(Key::micro_batch, "--micro-batch-size");
  take(Key::global_batch, "--global-batch-size");
}

void FactRules::read_framework(const Line& line) {
  if (has(line, "torch.distributed")) state(line, Key::framework, "pytorch");
  Cursor cuda(line);
  // TensorFlow's dynamic loader: "Successfully opened dynamic library libcudart.so.11.0".
  if (cuda.skip_past("libcudart.so.")) {
    if (const auto version = cuda.until(" ;,'\"")) state(line, Key::cuda, *version);
  }
}

}  // namespace bertbench
