#include "parsers/rules/fact_rules.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "parsers/core/text.h"
#include "parsers/core/topology.h"
#include "parsers/runs/run_builder.h"
#include "parsers/text/argument_text.h"
#include "parsers/text/cursor.h"

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
                                         "n_gpu: ",
                                         "+ num_gpus=",
                                         "+ precision=",
                                         "+ bert_model=",
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
                                         "LAUNCH INFO "};

constexpr std::size_t kMaxStatements = 4096;

}  // namespace

std::span<const std::string_view> FactRules::anchors() {
  static const std::vector<std::string_view> list = [] {
    std::vector<std::string_view> out(std::begin(kAnchors), std::end(kAnchors));
    for (const auto further : {EnvironmentRules::anchors(), MemoryRules::anchors()}) {
      out.insert(out.end(), further.begin(), further.end());
    }
    return out;
  }();
  return list;
}

void FactRules::state(const Line& line, Key key, std::string_view value) {
  // Ranks repeat what rank 0 said.
  for (auto it = statements_.rbegin(); it != statements_.rend(); ++it) {
    if (it->key != key) continue;
    if (it->value == value) return;
    break;
  }
  if (statements_.size() < kMaxStatements)
    statements_.push_back({line.number, key, std::string(value)});
}

void FactRules::see(const Line& line) {
  if (has(line, "***** Running")) {
    evaluating_ = !has(line, "training");
    return;
  }
  if (memory_.see(line)) return;
  environment_.see(line);
  see_launcher(line);
  see_framework(line);
  see_bert_train(line);
  if (!evaluating_) see_arguments(line);
}

// The command line that bert_train prints in styles which have no header of their own, and the
// lines that it adds to NVIDIA's.
void FactRules::see_bert_train(const Line& line) {
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
    option(Key::world, "--expect-world-size");
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
    }
  }
}

void FactRules::see_arguments(const Line& line) {
  const auto take = [&](Key key, std::string_view name) {
    if (const auto value = argument(line.text, name); value && count(*value)) {
      state(line, key, std::to_string(*count(*value)));
    }
  };
  const bool shell = line.text.starts_with("+ ");
  // DeepSpeed's configuration calls the global batch train_batch_size.
  const bool deepspeed = has(line, "\"train_batch_size\"") || has(line, "train_batch_size ...");
  take(deepspeed ? Key::global_batch : Key::batch_argument, "train_batch_size");
  take(Key::micro_batch, "per_device_train_batch_size");
  take(Key::micro_batch, "train_micro_batch_size_per_gpu");
  take(Key::accumulation, "gradient_accumulation_steps");
  take(Key::sequence_length, "max_seq_length");
  take(Key::sequence_length, "max_seq_len");
  take(Key::sequence_length, "max_len");  // gluon-nlp's fine-tuning
  see_megatron_command(line);
  if (has(line, " ....")) {  // Megatron's list of arguments
    take(Key::sequence_length, "seq_length");
    take(Key::global_batch, "global_batch_size");
  }
  if (shell) {
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
  // TensorFlow's is of all devices or of one, by script.
  const bool tensorflow = has(line, "INFO:tensorflow:") || has(line, ".py:");
  if (!has(line, "Instantaneous"))
    after(tensorflow ? Key::tf_batch : Key::micro_batch, "Batch size");
  after(Key::micro_batch, "Instantaneous batch size per device");
  after(Key::global_batch, "distributed & accumulation)");
  after(Key::accumulation, "Gradient Accumulation steps");
  after(Key::planned, "Total optimization steps");
  see_precision(line);
  Cursor type(line);
  if ((type.skip_past("params_dtype ....") && type.skip_past(" torch.")) ||
      (has(line, " for parameters ...") && type.skip_past("using torch."))) {
    const auto name = type.until(" \t,");
    if (name == "float16") state(line, Key::precision, "fp16");
    if (name == "bfloat16") state(line, Key::precision, "bf16");
    if (name == "float32") state(line, Key::precision, "fp32");
  }
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

// Options of Megatron's. Where one replica of the model takes several GPUs, the micro batch is not
// that of one of them.
void FactRules::see_megatron_command(const Line& line) {
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

void FactRules::see_framework(const Line& line) {
  if (has(line, "torch.distributed")) state(line, Key::framework, "pytorch");
  Cursor cuda(line);
  if (cuda.skip_past("libcudart.so.")) {
    if (const auto version = cuda.until(" ;,'\"")) state(line, Key::cuda, *version);
  }
}

void FactRules::apply(RunDraft& run, std::int64_t begin_line, std::int64_t end_line) const {
  const auto& records = run.records();
  const std::int64_t first_record =
      records.empty() ? end_line : std::min(records.front().line, end_line);
  std::array<const Statement*, static_cast<std::size_t>(Key::count_)> known{};
  for (const Statement& statement : statements_) {
    if (statement.line < begin_line || statement.line >= end_line) continue;
    auto& slot = known[static_cast<std::size_t>(statement.key)];
    if (slot == nullptr || statement.line <= first_record) slot = &statement;
  }
  const auto at = [&](Key key) { return known[static_cast<std::size_t>(key)]; };
  const auto number = [&](Key key) -> std::optional<std::int64_t> {
    return at(key) != nullptr ? count(at(key)->value) : std::nullopt;
  };
  Facts& facts = run.log.facts;
  const auto set = [&](Fact<std::int64_t>& fact, std::optional<std::int64_t> value) {
    if (value && !fact.known()) fact.set(*value, FactSource::log);
  };
  const auto set_text = [&](Fact<std::string>& fact, Key key) {
    if (at(key) != nullptr && !fact.known()) fact.set(at(key)->value, FactSource::log);
  };
  // A format that knows the batches itself may still know nothing of GPUs.
  if (!run.own_facts || !facts.world()) {
    set(facts.gpus_per_node, number(Key::gpus_per_node));
    set(facts.nodes, number(Key::nodes));
    set(facts.world_size, number(Key::world));
  }
  const auto comm = one_communicator(begin_line, end_line);
  if (const auto ranks = comm ? count(comm->value) : std::nullopt; ranks && !facts.world()) {
    facts.world_size.set(*ranks, FactSource::log);
    run.log.notices.push_back(
        {comm->line, "the world size, " + comm->value +
                         ", is that of NCCL's communicators: no other line tells it"});
  }
  const auto each = number(Key::gpus_per_node), nodes = number(Key::nodes);
  if (const auto world = number(Key::world); !run.own_facts && each && nodes && world) {
    if (*world != *each * *nodes) {
      run.log.notices.push_back(
          {at(Key::world)->line, "the world size is " + at(Key::world)->value +
                                     " but the launcher starts " + at(Key::gpus_per_node)->value +
                                     " ranks on each of " + at(Key::nodes)->value +
                                     " nodes; used the latter"});
    }
  }
  set(facts.sequence_length, number(Key::sequence_length));
  set_text(facts.precision, Key::precision);
  set_text(facts.precision, Key::no_half);
  set_text(facts.model, Key::model);
  set_text(facts.framework, Key::framework);
  environment_.apply(facts, begin_line, end_line, first_record);
  if (at(Key::cuda) != nullptr) facts.versions.emplace("cuda", at(Key::cuda)->value);
  if (!run.log.memory && run.log.kind == WorkKind::training) {
    run.log.memory = memory_.most(begin_line, end_line);
  }
  // What is stated of batches is stated of training.
  if (run.log.kind != WorkKind::training || run.own_facts) return;
  set(facts.gradient_accumulation_steps, number(Key::accumulation));
  set(facts.micro_batch_size, number(Key::micro_batch));
  if (const auto argument = number(Key::batch_argument)) {
    const std::int64_t accumulation = facts.gradient_accumulation_steps.value.value_or(1);
    if (!facts.micro_batch_size.known() && *argument % accumulation == 0) {
      facts.micro_batch_size.set(*argument / accumulation, FactSource::log);
    } else if (facts.micro_batch_size.known() && *facts.micro_batch_size.value != *argument &&
               *facts.micro_batch_size.value * accumulation != *argument) {
      run.log.notices.push_back(
          {at(Key::batch_argument)->line,
           "train_batch_size is " + at(Key::batch_argument)->value + " but another line says " +
               std::to_string(*facts.micro_batch_size.value) + " per device; used the latter"});
    }
  }
  if (const auto loader = number(Key::loader_batch); loader && facts.micro_batch_size.known()) {
    const std::int64_t micro = *facts.micro_batch_size.value;
    const std::int64_t accumulation = facts.gradient_accumulation_steps.value.value_or(1);
    if (*loader != micro && *loader != micro * accumulation &&
        loader != facts.sequences_per_micro_step() &&
        loader != facts.sequences_per_optimizer_step()) {
      run.log.notices.push_back(
          {at(Key::loader_batch)->line,
           "the command line's batch is " + std::to_string(*loader) + " but DeepSpeed counts " +
               std::to_string(micro) +
               " per device: if the script loads its own batches, all rates in samples/s are of "
               "another batch"});
    }
  }
  if (const auto batch = number(Key::tf_batch)) {
    if (facts.framework.value == "bert_train") set(facts.global_batch_size, batch);
    if (facts.world() == 1) set(facts.micro_batch_size, batch);
  }
  set(facts.global_batch_size, number(Key::global_batch));
  if (!run.planned && run.log.iteration_unit == IterationUnit::optimizer_step) {
    run.planned = number(Key::planned);
  }
}

Facts FactRules::so_far(const RunDraft& run) const {
  RunDraft copy(run.log.path, run.log.format, run.log.kind, {}, run.log.first_line);
  copy.log.facts = run.log.facts;
  copy.log.iteration_unit = run.log.iteration_unit;
  copy.own_facts = run.own_facts;
  apply(copy, 0, std::numeric_limits<std::int64_t>::max());
  return std::move(copy.log.facts);
}

}  // namespace bertbench
