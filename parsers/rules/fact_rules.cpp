#include "parsers/rules/fact_rules.h"

#include <optional>
#include <utility>
#include <vector>

#include "parsers/core/text.h"
#include "parsers/core/topology.h"
#include "parsers/core/trainer_options.h"
#include "parsers/lines/argument_text.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/tf_message.h"

namespace bertbench {
namespace {

constexpr std::size_t kMaxStatements = 4096;  // hostile input
constexpr std::string_view kRecompute = "activation_checkpointing";

}  // namespace

/// What a literal states: `value` or, without one, what stands after it in this form; or `read`
/// finds out, with Line::end after the literal.
struct FactRules::Rule {
  enum When {
    anywhere,
    first,        ///< the line begins with the literal
    in_training,  ///< after "Running evaluation" it is not the training's
  };
  std::string_view literal;
  Key key = Key::count_;
  std::string_view name{};  ///< of a version or an axis
  Form form = Form::size;
  std::string_view value{};
  void (*read)(FactRules&, const Line&) = nullptr;
  When when = anywhere;

  constexpr Rule(std::string_view its_literal, Key its_key, When its_when = anywhere)
      : literal(its_literal), key(its_key), when(its_when) {}
  constexpr Rule(std::string_view its_literal, std::string_view its_name, Form its_form,
                 std::string_view its_value = {}, When its_when = anywhere)
      : literal(its_literal),
        key(its_form == Form::version ? Key::version : Key::axis),
        name(its_name),
        form(its_form),
        value(its_value),
        when(its_when) {}
  constexpr Rule(std::string_view its_literal, Key its_key, std::string_view its_value,
                 When its_when = anywhere)
      : literal(its_literal), key(its_key), value(its_value), when(its_when) {}
  constexpr Rule(std::string_view its_literal, void (*its_read)(FactRules&, const Line&),
                 When its_when = anywhere)
      : literal(its_literal), read(its_read), when(its_when) {}

  static std::span<const Rule> all();
};

std::span<const FactRules::Rule> FactRules::Rule::all() {
  using Of = FactRules&;  // the two arguments of a function that reads a line
  using At = const Line&;
  using enum Form;
  static constexpr Rule kRules[] = {
      {"***** Running", [](Of of, At line) { of.evaluating_ = !has(line, "training"); }},
      // bert_train in styles that have no header of their own, and what it adds to NVIDIA's.
      {"bert_train ", [](Of of, At line) { of.read_bert_train(line); }},
      {"Train batch size per device = ", Key::micro_batch},
      {"Gradient accumulation steps = ", Key::accumulation},
      {"Max sequence length = ", Key::sequence_length},
      {"  Model = ",
       [](Of of, At line) {
         Cursor model = Cursor::after(line);
         const auto name = model.until(", ");
         if (!name || !model.literal(", precision = ")) return;
         of.state(line, Key::model, *name);
         if (const auto precision = model.until(" \t")) of.state(line, Key::precision, *precision);
       }},
      {"Simulated cluster = ", [](Of of, At line) { of.read_simulated_cluster(line); }},
      // DLLogger's arguments, for the formats whose records stand next to them: bars, and those of
      // TensorFlow (corpus nvidia-dle-tensorflow/resnet50_v100_amp_gpu8.log;
      // quoted/facts.takes_the_arguments_of_dllogger).
      {" - PARAMETER ",
       [](Of of, At line) {
         of.state_count(line, Key::micro_batch, size_after(line, "PARAMETER batch_size_per_gpu :"));
         if (has(line, " amp : True")) of.state(line, Key::precision, "fp16");
       }},

      // Ranks and GPUs.
      {"environ({", [](Of of, At line) { of.read_environment(line); }},
      {" nranks ", [](Of of, At line) { of.read_communicator(line); }},
      {"nnodes=",  // DeepSpeed's launcher
       [](Of of, At line) {
         std::int64_t nodes = 0, ranks = 0;
         if (!Cursor::after(line).read(nodes, ", num_local_procs=", ranks)) return;
         if (nodes < 1 || ranks < 1) return;
         of.state_count(line, Key::nodes, nodes);
         of.state_count(line, Key::gpus_per_node, ranks);
       }},
      {"Running on device_name=",  // modded-nanogpt
       [](Of of, At line) {
         const std::string_view name = line.text.substr(line.end);
         of.state_gpu(line, name.substr(0, name.find(" with world_size=")));
       },
       first},
      // ResNet for TensorFlow (corpus nvidia-dle-tensorflow/resnet50_v100_amp_gpu8.log).
      {"Num GPUs ", Key::world, first},
      {"Per-GPU Batch Size ", Key::micro_batch, first},
      {"training on ",  // fairseq, and NVIDIA's Transformer, which came from it
       [](Of of, At line) {
         const bool fairseq = has(line, "devices (GPUs/TPUs)") || has(line, "| training on ");
         if (fairseq) of.state_size(line, Key::world);
       }},
      {"PADDLE_TRAINERS_NUM ", Key::world},
      {"LAUNCH INFO ", [](Of of, At line) { of.read_paddle_launch(line); }},
      {"n_gpu: ", [](Of of, At line) { of.read_process(line); }},
      {" n_gpu ", [](Of of, At line) { of.read_process(line); }},
      {"Num processes: ", [](Of of, At line) { of.state_ranks(line); }},  // Accelerate
      {"training worker group of size ",
       [](Of of, At line) { of.state_ranks(line); }},                  // Ray Train
      {", MEMBER: 1/", [](Of of, At line) { of.state_ranks(line); }},  // Lightning
      // The configuration of TensorFlow's Estimator: workers, how they are distributed, a TPU's.
      // Horovod is not in it.
      {"'_num_worker_replicas': ", Key::estimator_workers},
      {"'_train_distribute': ",
       [](Of of, At line) {
         const bool none = line.text.substr(line.end).starts_with("None");
         of.state(line, Key::estimator_strategy, none ? "None" : "some");
       }},
      {"'_tpu_config': ", Key::estimator_strategy, "some"},

      // Software and precision.
      {"torch.distributed", Key::framework, "pytorch"},
      {"libcudart.so.",  // TensorFlow: "Successfully opened dynamic library libcudart.so.11.0"
       [](Of of, At line) {
         const auto version = Cursor::after(line).until(" ;,'\"");
         if (version) of.state(line, Key::cuda, *version);
       }},
      {"Mixed precision type:",  // Accelerate
       [](Of of, At line) { of.state_half(line, "Mixed precision type:"); }},
      {"Selected optimization level O",  // apex.amp; O0 is pure fp32
       [](Of of, At line) {
         const auto level = Cursor::after(line).integer();
         if (level && *level >= 1 && *level <= 3) of.state(line, Key::precision, "fp16");
       }},
      {"Using 16bit Automatic Mixed Precision", Key::precision, "fp16"},  // Lightning
      {"Using bfloat16 Automatic Mixed Precision", Key::precision, "bf16"},
      {"16-bits training: True", Key::precision, "fp16", in_training},
      {"fp16 activated!", Key::precision, "fp16", in_training},
      {"dtype='float16'", Key::precision, "fp16", in_training},
      {"dtype='float32'", Key::precision, "fp32", in_training},
      // Megatron-LM: "params_dtype .... torch.float16" and "using torch.float16 for
      // parameters ...".
      {"params_dtype ....",
       [](Of of, At line) {
         Cursor type = Cursor::after(line);
         if (type.skip_past(" torch.")) of.state_type(line, type);
       },
       in_training},
      {"using torch.",
       [](Of of, At line) {
         if (has(line, " for parameters ...")) of.state_type(line, Cursor::after(line));
       },
       in_training},

      // The Hugging Face Trainer.
      {"Instantaneous batch size per device", Key::micro_batch, in_training},
      {"distributed & accumulation)", Key::global_batch, in_training},
      {"Gradient Accumulation steps", Key::accumulation, in_training},
      {"Total optimization steps", Key::planned, in_training},
      // Google's and NVIDIA's BERT for TensorFlow print "Batch size" of all devices or of one, by
      // script.
      {"Batch size = ",
       [](Of of, At line) {
         const bool tensorflow = has(line, "INFO:tensorflow:") || has(line, ".py:");
         of.state_size(line, tensorflow ? Key::tf_batch : Key::script_batch);
       },
       in_training},
      // NVIDIA's BERT for TensorFlow: an option a line, the model's shape in the name of the
      // released configuration's folder; "name = input_ids, shape = (96, 128)".
      {"  num_accumulation_steps: ", Key::accumulation, in_training},
      {"  bert_config_file: ",
       [](Of of, At line) {
         if (has(line, "_L-12_H-768_A-12")) of.state(line, Key::model, "bert-base");
         if (has(line, "_L-24_H-1024_A-16")) of.state(line, Key::model, "bert-large");
       },
       in_training},
      {"skipping auto_mixed_precision", Key::no_amp, "fp32", in_training},
      {"name = input_ids, shape = (",
       [](Of of, At line) {
         std::int64_t batch = 0, length = 0;
         if (!Cursor::after(line).read(batch, ", ", length) || batch < 1 || length < 1) return;
         of.state_count(line, Key::micro_batch, batch);
         of.state_count(line, Key::sequence_length, length);
       },
       in_training},
      // The trace (bash -x) of NVIDIA's scripts for BERT (corpus
      // nvidia-dle-pytorch/paddleperf_v100_fp16_gpu8.log).
      {"+ batch_size=", Key::micro_batch, first},
      {"+ num_gpus=", Key::world, first},
      {"+ num_accumulation_steps",  // "_phase1=528"
       [](Of of, At line) {
         Line value = line;
         value.end = line.text.find('=', line.end);
         of.state_size(value, Key::accumulation);
       },
       first},
      {"+ precision=",
       [](Of of, At line) {
         const std::string_view value = line.text.substr(line.end);
         for (const std::string_view known : {"fp32", "tf32", "bf16", "fp16", "fp8"}) {
           if (value == known) of.state(line, Key::precision, known);
         }
       },
       first},
      {"+ bert_model=base", Key::model, "bert-base", first},
      {"+ bert_model=large", Key::model, "bert-large", first},

      // Software: NCCL prints its version (corpus megatron/lockclock_nccl_watchdog_timeout.log),
      // torch's collect_env those of PyTorch, CUDA and the driver (corpus
      // nvidia-dle-pytorch/lambda_2xa40_gnmt_fp32_oom.log), ds_report those with dots.
      {"NCCL version ", "nccl", version},
      {"PyTorch version: ", "torch", version},
      {"PyTorch Version ", "torch", version},
      {"torch version ....", "torch", version},
      {"TensorFlow Version ", "tensorflow", version},
      {"TensorFlow version: ", "tensorflow", version},
      {"deepspeed info ....", "deepspeed", version},
      {"CUDA runtime version: ", "cuda", version},
      {"CUDA used to build PyTorch: ", "cuda", version},
      {"torch cuda version ....", "cuda", version},
      {"CUDA Version: ", "cuda_driver", version},        // nvidia-smi
      {"Driver API Version: ", "cuda_driver", version},  // Paddle
      {"Runtime API Version: ", "cuda", version},        // Paddle
      {"CUDA Runtime ", "cuda", version},                // mmcv
      {" cuda/", "cuda", version},                       // environment modules
      {"Driver Version: ", "driver", version},
      {"Nvidia driver version: ", "driver", version},
      {"DeepSpeed info: version=", "deepspeed", version},
      // mmcv. "CUDA used to build PyTorch: 11.6" of torch's collect_env names another version
      // (quoted/facts.versions_of_what_a_build_used_are_not_those_of_the_library).
      {"PyTorch: ", "torch", version, {}, first},
      {" nccl/", "nccl", version},                  // environment modules
      {" cudnn/", "cudnn", version},                // environment modules
      {"cuDNN Version: ", "cudnn", version},        // Paddle
      {" CuDNN ", "cudnn", version},                // mmcv
      {"Loaded cuDNN version ", "cudnn", version},  // TensorFlow, JAX
      {"libcudnn.so.", "cudnn", version},           // TensorFlow, torch's collect_env
      {"NVIDIA Release ", "container", version},    // NGC
      {"Transformers version ", "transformers", version},

      // GPUs.
      {"| 0000", [](Of of, At line) { of.read_gpu_of_nvidia_smi(line); }},
      {" major: ", [](Of of, At line) { of.read_gpu_of_tensorflow(line); }},
      {"physical GPU (device: ", [](Of of, At line) { of.read_gpu_of_tensorflow(line); }},
      {"; name = ", [](Of of, At line) { of.read_gpu_of_fairseq(line); }},

      // A command line, Megatron-LM, an argparse Namespace, NVIDIA's ResNet (corpus
      // nvidia-dle-pytorch/resnet50_v100_amp_gpu8.log), NVIDIA's BERT for TensorFlow.
      {"--optimizer", "optimizer", word},
      {"optimizer ....", "optimizer", word},
      {", optimizer='", "optimizer", word},
      {" optimizer : ", "optimizer", word},
      {"optimizer_type: ", "optimizer", word},
      {"Initializing LAMB Optimizer", "optimizer", word, "lamb"},  // NVIDIA's, TensorFlow
      {"Initializing ADAM Weight Decay Optimizer", "optimizer", word, "adam"},
      // The Hugging Face Trainer and Paddle's scripts, DeepSpeed's configuration and its print,
      // Megatron-LM.
      {"max_grad_norm=", "gradient_clipping", number},
      {"\"gradient_clipping\": ", "gradient_clipping", number},
      {"gradient_clipping ....", "gradient_clipping", number},
      {"clip_grad ....", "gradient_clipping", number},
      {"--clip-grad", "gradient_clipping", number},
      {"optimizer = dict(type=", "optimizer", word},         // mmcv
      {"DeepSpeed Basic Optimizer = ", "optimizer", word},   // DeepSpeed
      {" optim=OptimizerNames.", "optimizer", word},         // the Hugging Face Trainer
      {" optim=", "optimizer", word},                        // NVIDIA's Transformer-XL and scripts
      {"bert_lamb_pretraining", "optimizer", word, "lamb"},  // NVIDIA's log names
      {"pretraining_lamb", "optimizer", word, "lamb"},
      {"clip_norm=", "gradient_clipping", number},     // fairseq, NVIDIA's Transformer
      {"'clip_norm': ", "gradient_clipping", number},  // fairseq's Hydra
      {"'optimizer': {'_name': ", "optimizer", word},  // fairseq's Hydra
      {"use_xla: ", "xla", word},
      {"XLA activated", "xla", word, "true"},
      {"global_jit_level: ON_", "xla", word, "true"},  // TensorFlow's session
      // That activations are computed again counts where a line states it: the Hugging Face
      // Trainer's arguments, NVIDIA's, bert_train's header, and command lines
      // (quoted/facts.recomputed_activations_are_said_where_they_are_on).
      {"gradient_checkpointing=", kRecompute, on},
      {"checkpoint_activations=", kRecompute, on},
      {"\"activation_checkpointing\":true", kRecompute, word, "true"},
      {"--gradient_checkpointing", kRecompute, option},
      {"--checkpoint_activations", kRecompute, option},
      {"--checkpoint-activations", kRecompute, option},
      {"--activation-checkpointing", kRecompute, option},
  };
  static constexpr std::string_view kListedGpus[] = {
      "GPU 0",   "GPU 1: ", "GPU 2: ",  "GPU 3: ",  "GPU 4: ",  "GPU 5: ",  "GPU 6: ",  "GPU 7: ",
      "GPU 8: ", "GPU 9: ", "GPU 10: ", "GPU 11: ", "GPU 12: ", "GPU 13: ", "GPU 14: ", "GPU 15: "};
  static constexpr std::string_view kWorldSizes[] = {"world_size", "WORLD_SIZE", "world size",
                                                     "World size", "World Size"};
  static constexpr std::string_view kArguments[] = {"train_batch_size",
                                                    "batch_size=",
                                                    "gradient_accumulation_steps",
                                                    "max_seq_len",
                                                    "max_len=",
                                                    "--seq-length",
                                                    "--micro-batch-size",
                                                    "global_batch_size ....",
                                                    " seq_length ....",
                                                    "train_micro_batch_size_per_gpu",
                                                    "bert_model",
                                                    "bert_path",
                                                    "name_or_path",
                                                    "model_name",
                                                    "16-bits training: False",
                                                    "fp16=",
                                                    "bf16=",
                                                    "use_amp=",
                                                    "'fp16': ",
                                                    "fp16_enabled ....",
                                                    "bfloat16_enabled ....",
                                                    "  amp: ",
                                                    "  manual_fp16: ",
                                                    "  use_fp16: ",
                                                    "--fp16",
                                                    "--bf16",
                                                    "gpus='",
                                                    "nproc_per_node",
                                                    "nproc-per-node",
                                                    "--nnodes",
                                                    "--ntasks-per-node=",
                                                    "deepspeed --",
                                                    "CUDA_VISIBLE_DEVICES=",
                                                    "accelerate launch",
                                                    "mpirun ",
                                                    "mpiexec ",
                                                    "mpiexec.hydra ",
                                                    "horovodrun "};
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> out(std::begin(kRules), std::end(kRules));
    const auto add = [&](std::span<const std::string_view> literals, void (*read)(Of, At)) {
      for (const std::string_view literal : literals) out.emplace_back(literal, read);
    };
    add(kListedGpus, [](Of of, At line) { of.read_listed_gpu(line); });
    add(kWorldSizes, [](Of of, At line) { of.read_world_size(line); });
    add(kArguments, [](Of of, At line) { of.read_arguments(line); });
    add(MemoryRules::anchors(), [](Of of, At line) { of.memory_.see(line); });
    add(ScoreRules::anchors(), [](Of of, At line) { of.scores_.see(line); });
    return out;
  }();
  return rules;
}

std::span<const std::string_view> FactRules::anchors() {
  static const std::vector<std::string_view> list = [] {
    std::vector<std::string_view> out;
    for (const Rule& rule : Rule::all()) out.push_back(rule.literal);
    return out;
  }();
  return list;
}

void FactRules::state(const Line& line, Key key, std::string_view value, std::string_view name) {
  // Ranks repeat what rank 0 printed.
  for (auto it = statements_.rbegin(); it != statements_.rend(); ++it) {
    if (it->key != key || it->name != name) continue;
    if (it->value != value) break;
    it->newest_line = line.number;
    return;
  }
  if (statements_.size() < kMaxStatements)
    statements_.push_back({line.number, key, std::string(value), line.number, name});
}

void FactRules::state_count(const Line& line, Key key, std::optional<std::int64_t> count) {
  if (count) state(line, key, std::to_string(*count));
}

void FactRules::state_job(const Line& line, std::int64_t all, std::optional<std::int64_t> each) {
  constexpr std::int64_t kMostRanks = 1'000'000;  // more is a damaged number
  if (all > kMostRanks) return;
  if (!each || all % *each != 0) return state_count(line, Key::world, all);
  state_count(line, Key::gpus_per_node, each);
  state_count(line, Key::nodes, all / *each);
}

void FactRules::see(const Line& line) {
  void (*newest)(FactRules&, const Line&) = nullptr;
  any_row(line, [&](std::uint32_t row, std::size_t at) {
    const Rule& rule = Rule::all()[row];
    if (rule.when == Rule::first && at > 0) return false;
    if (rule.when == Rule::in_training && evaluating_) return false;
    Line here = line;
    here.at = at;
    here.end = at + rule.literal.size();
    if (rule.read != nullptr) {
      // What several literals lead to reads a line once.
      if (rule.read != std::exchange(newest, rule.read)) rule.read(*this, here);
    } else if (!rule.value.empty()) {
      state(here, rule.key, rule.value, rule.name);
    } else if (rule.form == Form::size) {
      state_size(here, rule.key);
    } else {
      state_value(here, rule.name, rule.form);
    }
    return false;
  });
}

void FactRules::state_size(const Line& line, Key key) {
  Cursor cursor(line);
  cursor.move_to(line.text.find_first_not_of(" .:='\"\t", line.end));
  // Newer Hugging Face Trainers group the digits of their totals.
  const auto value = cursor.grouped_integer();
  if (value && count(std::to_string(*value))) state_count(line, key, value);
}

// "world_size=4", "World size: 4", "using world size of 4", "dist_world_size=[4]" of any program.
// What stands in "local_world_size" is of a node; of a list of arguments 1 may be the default.
void FactRules::read_world_size(const Line& line) {
  const std::string_view before = line.text.substr(0, line.at);
  const bool inside = !before.empty() && (is_any_letter(before.back()) || before.back() == '_');
  if (inside && !before.ends_with("dist_")) return;
  const bool listed = before.find('(') != before.npos || before.ends_with("--");
  constexpr std::string_view kMarks = " .:='\"[\t";
  Cursor cursor(line);
  cursor.move_to(line.text.find_first_not_of(kMarks, line.end));
  if (!cursor.literal("of ")) cursor.literal("is ");
  if (cursor.at() == line.end ||
      line.text.substr(line.end, cursor.at() - line.end).find("==") != std::string_view::npos) {
    return;  // "if world_size == 1:" of a program's source
  }
  const auto ranks = cursor.integer();
  if (ranks && *ranks > (listed ? 1 : 0)) state_count(line, Key::world, ranks);
}

// 1 may be a default of the program, next to which a launcher started other ranks.
void FactRules::state_ranks(const Line& line) {
  const auto ranks = Cursor::after(line).integer();
  if (ranks > 1) state_count(line, Key::world, ranks);
}

void FactRules::state_type(const Line& line, Cursor type) {
  const auto name = type.until(" \t,");
  if (name == "float16") state(line, Key::precision, "fp16");
  if (name == "bfloat16") state(line, Key::precision, "bf16");
  if (name == "float32") state(line, Key::precision, "fp32");
}

// The command line that bert_train prints.
void FactRules::read_bert_train(const Line& line) {
  if (!line.text.starts_with("+ ") && line.text.find("command = ") > line.at) return;
  const std::string_view command = line.text.substr(line.at);
  state(line, Key::framework, "bert_train");
  if (const auto model = argument(command, "--model")) state(line, Key::model, *model);
  if (const auto type = argument(command, "--precision")) state(line, Key::precision, *type);
  state_count(line, Key::micro_batch, count_of(command, {"--micro-batch-size"}));
  state_count(line, Key::accumulation, count_of(command, {"--gradient-accumulation-steps"}));
  state_count(line, Key::sequence_length, count_of(command, {"--sequence-length"}));
  state_options(line, command);
}

void FactRules::read_simulated_cluster(const Line& line) {
  const auto topology = parse_topology(line.text.substr(line.end));
  if (!topology) return;
  state_count(line, Key::nodes, topology->nodes);
  state_count(line, Key::gpus_per_node, topology->gpus_per_node);
  if (options_.empty()) options_.push_back({line.number, {}});
  options_.back().axes.emplace(kSimulatedAxis, "true");
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

// gluon-cv's scripts of segmentation and depth print "Namespace(..., batch_size=16, ...,
// ctx=[gpu(0), gpu(1)], ...)": their loader's batch is divided among these GPUs, and each is one
// step (corpus mxnet/gluoncv_deeplab_nan_restart.log).
void FactRules::read_contexts(const Line& line) {
  Cursor cursor(line);
  if (!cursor.skip_past("ctx=[gpu(")) return;
  const auto batch = count_of(line.text, {"batch_size"});
  if (!batch) return;
  std::int64_t gpus = 1;
  while (cursor.integer() && cursor.literal("), gpu(")) ++gpus;
  const bool even = *batch % gpus == 0;
  state(line, Key::framework, "mxnet");
  state_count(line, Key::world, gpus);
  state_count(line, even ? Key::micro_batch : Key::global_batch, even ? *batch / gpus : *batch);
  state_count(line, Key::accumulation, 1);
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
    const bool bert = has_text(name, "bert") || has_text(name, "electra") || has_text(name, "BERT");
    if (bert && !name.ends_with(".json") && !name.ends_with(".txt")) {
      return state(line, Key::model, name);
    }
  }
}

// What lines of arguments hold, each all of it: many options have no literal of their own.
void FactRules::read_arguments(const Line& line) {
  read_launcher(line);
  if (evaluating_) return;
  read_contexts(line);
  const bool shell = line.text.starts_with("+ ");
  if (!shell) read_model(line);
  const auto take = [&](Key key, std::string_view name) {
    state_count(line, key, count_of(line.text, {name}));
  };
  // DeepSpeed's configuration calls the global batch train_batch_size (corpus
  // deepspeed/dschat_step2_dpo_opt350m.log).
  const bool deepspeed = has(line, "\"train_batch_size\"") || has(line, "train_batch_size ...");
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
  // Options of Megatron-LM's (quoted/facts.an_argument_vector_tells_the_options_of_megatron). Where
  // one replica of the model takes several GPUs, the micro batch is not that of one of them.
  take(Key::sequence_length, "--seq-length");
  take(Key::global_batch, "--global-batch-size");
  const bool split = count_of(line.text, {"--tensor-model-parallel-size"}).value_or(1) > 1 ||
                     count_of(line.text, {"--pipeline-model-parallel-size"}).value_or(1) > 1;
  if (!split) take(Key::micro_batch, "--micro-batch-size");
  if (has(line, " ....")) {  // Megatron's list of arguments
    take(Key::sequence_length, "seq_length");
    take(Key::global_batch, "global_batch_size");
  }
  read_precision(line);
}

}  // namespace bertbench
