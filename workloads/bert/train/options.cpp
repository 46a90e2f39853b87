#include "workloads/bert/train/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>

#include "workloads/bert/comm/sim.h"
#include "workloads/bert/data/answers.h"
#include "workloads/bert/log/log_style.h"
#include "workloads/bert/train/version.h"

namespace bert {
namespace {

constexpr const char* kFooter = R"(
Examples:
  bert_train --model bert-tiny --micro-batch-size 8 --steps 100
  bert_train --model bert-base --log-style tqdm --gradient-accumulation-steps 4
  bert_train --model gpt2 --sequence-length 1024 --micro-batch-size 1 --steps 20
  WORLD_SIZE=2 RANK=0 bert_train & WORLD_SIZE=2 RANK=1 bert_train      two ranks on this machine
  srun -n 16 bert_train --expect-world-size 16                         any launcher works
  bert_train --steps 100 --decay-steps 200 --checkpoint ckpt; bert_train --steps 200 --resume ckpt

Ranks come from the launcher's variables, the first complete set of: torchrun (RANK WORLD_SIZE
LOCAL_RANK LOCAL_WORLD_SIZE), Open MPI (OMPI_COMM_WORLD_*), PMI (PMI_RANK PMI_SIZE), Slurm
(SLURM_PROCID SLURM_NTASKS). Rank 0 serves at MASTER_ADDR:MASTER_PORT (127.0.0.1:29500).
Rank 0 writes the log to standard output; errors of any rank go to standard error.
SIGTERM or SIGINT to any one rank ends the job at the next step boundary, another one 2 s later or
more at once.

Exit status: 0 done; 1 a started run broke (dead peer, full disk); 2 wrong usage or wrong world;
3 no device or module; 12 out of memory; 130 interrupted.
)";

constexpr const char* kExponential = "warmup_linear_decay_exp";  // a schedule

/// Options as they are given, where the run needs them in another form.
struct Given {
  TrainOptions options;
  std::string optimizer = "adamw";
  double learning_rate = 0;
  std::int64_t decay_steps = 0;
  bool no_bias_correction = false;
  std::string schedule = "polynomial";
  std::string topology;  ///< empty: the ranks that run
  std::string matmul_epilogues = "auto";
  std::string attention = "own";
  std::string cuda_graph = "off";
  std::string gelu;  ///< empty: the model's own
  std::string loss_scale = "dynamic";
  std::string handicap;  ///< "2%", "0.02", or "50%@3" for rank 3 alone; empty: none
  double node_gbps = 200, cross_gbps = 11, node_us = 5, cross_us = 20;
};

/// Which values an option takes: one of a list, a number of a range, a name, or any.
struct Rule {
  std::vector<std::string> choices;
  double low = 0, high = 0;
  std::string text;  ///< of a range or a name; empty: none is checked

  template <class Value>
  [[nodiscard]] std::string problem(std::string& given) const {
    if (!choices.empty() && std::find(choices.begin(), choices.end(), given) == choices.end()) {
      return fmt::format("\"{}\" is unknown; there are: {}", given, fmt::join(choices, ", "));
    }
    bool good = text.empty() || !given.empty();
    if constexpr (std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool>) {
      // CLI11 itself takes -1 for 2^64 - 1, 010 for 8, and NaN for a number of any range.
      Value number{};
      const char* end = given.data() + given.size();
      const auto [at, error] = std::from_chars(given.data(), end, number);
      const auto size = static_cast<double>(number);
      good = text.empty() || (error == std::errc() && at == end && size >= low && size <= high);
      if (good && std::is_integral_v<Value>) given = fmt::format("{}", number);
    }
    return good ? "" : fmt::format("\"{}\" is not {}", given, text);
  }
};
Rule one_of(std::vector<std::string> choices) { return {std::move(choices), 0, 0, ""}; }
Rule within(double low, double high, std::string text) { return {{}, low, high, std::move(text)}; }
Rule whole(double low, double high) {
  return within(low, high, fmt::format("a whole number from {} to {}", low, high));
}
Rule number(double low, double high) {
  return within(low, high, fmt::format("a number from {} to {}", low, high));
}
Rule at_least(int low) {
  return within(low, 9e15, fmt::format("a whole number of at least {}, at most 9e15", low));
}
constexpr double kLargest = std::numeric_limits<double>::max();
Rule not_negative() { return within(0, kLargest, "a finite number of at least 0"); }
Rule positive() { return within(1e-300, kLargest, "a finite number above 0"); }
Rule below_one() { return number(0, 0.999999); }
/// Of a path without which the run does something else: an empty one is a variable not set.
Rule named() { return within(0, 0, "a name; give one, or leave the option out"); }
Rule any() { return {}; }

struct Option {
  const char* name;
  std::variant<std::string*, double*, std::int64_t*, std::uint64_t*, int*, bool*> value;
  Rule rule;
  const char* help;
  /// The default depends on other options; the help text states how.
  bool depends = false;
};
struct Group {
  const char* name;
  std::vector<Option> options;
};

std::vector<Group> option_table(Given& given) {
  TrainOptions& o = given.options;
  OptimizerOptions& adam = o.optimizer;
  return {
      {"Work",
       {{"--model", &o.model, one_of(model_names()), "Model"},
        {"--backend", &o.backend, one_of({"cpu", "cuda"}),
         "Where the step runs; cuda needs the module bert_cuda.so"},
        {"--precision", &o.precision, one_of({"fp32", "tf32", "bf16", "fp16", "fp8"}),
         "Of matrix products and activations. cpu: bf16 where the processor multiplies it, fp16 "
         "emulated in fp32, neither tf32 nor fp8"},
        {"--micro-batch-size", &o.micro_batch_size, at_least(1),
         "Sequences per rank per micro-step"},
        {"--gradient-accumulation-steps", &o.gradient_accumulation_steps, at_least(1),
         "Micro-steps per optimizer step"},
        {"--sequence-length", &o.sequence_length, whole(8, 1024),
         "Tokens per sequence, 8 to 512; gpt2 models to 1024"},
        {"--steps", &o.steps, at_least(1), "Last optimizer step; a resumed run goes on up to it"},
        {"--seed", &o.seed, within(0, 1.9e19, "a whole number from 0 to 18446744073709551615"),
         "Of weights, data and dropout"},
        {"--data", &o.data, any(),
         "\"synthetic\", a token file or UTF-8 text; for --task squad a JSON file of SQuAD 1.1, "
         "for classification also a table of labelled sentences (workloads/bert/data/README.md)"},
        {"--vocabulary", &o.vocabulary, any(),
         "WordPiece vocabulary of --data; where there is no such file it is learnt and written"},
        {"--whole-word-masking", &o.whole_word_masking, any(),
         "Mask all pieces of a word together (of --data with a vocabulary)"},
        {"--all-positions", &o.all_positions, any(),
         "cpu: logits at every position, as Hugging Face's BERT has; the loss is the same"},
        {"--task", &o.task, one_of({"pretraining", "squad", "classification"}),
         "squad: find a generated answer's first and last token; classification: is the second "
         "segment the first one's next (as MRPC)"},
        {"--shuffle-labels", &o.shuffle_labels, any(),
         "squad, classification: a control, each sequence has another one's label"},
        {"--evaluate", &o.evaluate, at_least(0),
         "squad, classification: held-out sequences to score at the end"},
        {"--lengths", &o.lengths, one_of({"full", "uniform", "wikipedia"}),
         "Of sequences: all full, uniform from a quarter of that, or the shares of it that "
         "Wikipedia's have at 512 tokens (Krell et al. 2021)"},
        {"--dropout", &o.dropout, number(0, 0.999), "Of hidden layers and attention, 0 to below 1"},
        {"--activation-checkpointing", &o.activation_checkpointing, any(),
         "Recompute activations in backward: less memory, about a third more work"},
        {"--gelu", &given.gelu, one_of({"erf", "tanh"}),
         "Activation of the FFN, tanh being its approximation [erf; gpt2 models tanh]", true},
        {"--unpadded", &o.unpadded, any(), "Compute on no padding (see --lengths)"},
        {"--inference", &o.inference, any(),
         "Forward only, a step being one batch; the summary has its latency"}}},
      {"Optimizer",
       {{"--optimizer", &given.optimizer, one_of({"adamw", "lamb"}), "Optimizer"},
        {"--learning-rate", &given.learning_rate, not_negative(),
         "Peak learning rate [1e-4 for adamw, 2e-3 for lamb]", true},
        {"--warmup-steps", &o.schedule.warmup_steps, at_least(0),
         "Optimizer steps of linear warm-up"},
        {"--decay-steps", &given.decay_steps, at_least(1),
         "Optimizer steps until the rate is zero; of a phase its own [--steps]", true},
        {"--decay-power", &o.schedule.power, not_negative(),
         "Of the polynomial decay; 0 = constant rate"},
        {"--schedule", &given.schedule, one_of({"polynomial", kExponential}),
         "Decay after the warm-up: polynomial to zero, or by --decay-rate (DeepSpeed's bing_bert)"},
        {"--decay-rate", &o.schedule.rate, within(1e-9, 1, "a number above 0, at most 1"),
         "warmup_linear_decay_exp: factor of the rate for each --decay-rate-steps"},
        {"--decay-rate-steps", &o.schedule.rate_steps, at_least(1),
         "warmup_linear_decay_exp: optimizer steps that --decay-rate is for"},
        {"--weight-decay", &adam.weight_decay, not_negative(), "Not on biases and LayerNorm"},
        {"--beta1", &adam.beta1, below_one(), "Decay of the first moment"},
        {"--beta2", &adam.beta2, below_one(), "Decay of the second moment"},
        {"--epsilon", &adam.epsilon, not_negative(), "Added to the root of the second moment"},
        {"--no-bias-correction", &given.no_bias_correction, any(), "As the first BERT code does"},
        {"--gradient-clipping", &o.gradient_clipping, not_negative(),
         "Bound of the global L2 norm, 0 = none"},
        {"--loss-scale", &given.loss_scale, any(),
         "fp16: \"dynamic\", or the constant factor of the loss"},
        {"--loss-scale-initial", &o.loss_scale.initial, number(1, 1e30),
         "fp16: first factor of a dynamic scale"},
        {"--loss-scale-growth-interval", &o.loss_scale.growth_interval, at_least(1),
         "fp16: good steps in a row after which the factor doubles"},
        {"--lamb-pre-normalization", &adam.grad_pre_normalization, any(),
         "LAMB: divide gradients by their global norm first (apex)"},
        {"--lamb-trust-without-decay", &adam.trust_ratio_without_decay, any(),
         "LAMB: trust ratio also on biases and LayerNorm (apex use_nvlamb)"},
        {"--lamb-min-trust", &adam.min_trust, not_negative(),
         "LAMB: lower clip of the trust ratio, 0 = none"},
        {"--lamb-max-trust", &adam.max_trust, not_negative(),
         "LAMB: upper clip of the trust ratio, 0 = none"}}},
      {"Output",
       {{"--log-style", &o.log_style, one_of(log_style_names()), "Whose log to print"},
        {"--log-every", &o.log_every, at_least(1), "Optimizer steps between two log lines"},
        {"--timings", &o.timings, named(), "Write one JSON line per optimizer step: the truth"},
        {"--checkpoint", &o.checkpoint, named(),
         "Folder to save to at the end and when interrupted"},
        {"--checkpoint-every", &o.checkpoint_every, at_least(0),
         "Also every N optimizer steps, 0 = no"},
        {"--resume", &o.resume, named(), "Go on from the newest checkpoint in this folder"},
        {"--init-checkpoint", &o.init_checkpoint, named(),
         "Begin with the weights of the newest checkpoint in this folder, and nothing else of it"},
        {"--new-phase", &o.new_phase, any(),
         "The resumed checkpoint ended a phase: this one may have another sequence length and "
         "batch size, and its schedule begins anew (BERT's phase 2, a re-warmed rate)"}}},
      {"Machine",
       {{"--threads", &o.threads, whole(0, 4096),
         "Compute threads of this rank, 0 = cores / ranks here"},
        {"--deterministic", &o.deterministic, any(), "Same bits for any number of threads"},
        {"--comm", &o.comm, one_of({"auto", "self", "shm", "tcp", "mpi", "nccl", "sim"}),
         "auto = self for one rank, nccl for cuda, shm (shared memory) where all ranks are on one "
         "machine, else tcp"},
        {"--comm-timeout", &o.comm_timeout_s, number(0.1, 1e6),
         "Seconds until a silent peer counts as dead"},
        {"--bucket-mb", &o.bucket_mb, number(0.001, 1e6), "MiB of gradients per all-reduce"},
        {"--zero", &o.zero_stage, one_of({"0", "1"}),
         "1 = each rank keeps the optimizer state of its share (ZeRO-1); cuda: with nccl"},
        {"--algorithm-cache", &o.algorithm_cache, any(),
         "cuda: file that keeps the fastest algorithms by shape and device"},
        {"--matmul-epilogues", &given.matmul_epilogues, one_of({"auto", "on", "off"}),
         "cuda: biases, GELU and their gradients inside matrix products (on), by kernels (off), or "
         "what is faster (auto): timed with --algorithm-cache, else as on an H100"},
        {"--attention", &given.attention, one_of({"own", "cudnn"}),
         "cuda: own kernels, with the CPU backend's dropout masks, or cuDNN's, faster at 512 "
         "tokens"},
        {"--cuda-graph", &given.cuda_graph, one_of({"off", "on", "auto"}),
         "cuda: record a micro-step's work once and replay it as CUDA graphs, to the same bits; "
         "auto = with micro-batches of up to 16"},
        {"--memory-limit-mb", &o.memory_limit_mb, number(0, 1e9),
         "cpu: MiB this rank may plan with, else status 12; 0 = what there is"},
        {"--expect-world-size", &o.expect_world_size, at_least(0),
         "End with status 2 in another world"},
        {"--turn-s", &o.turn_s, number(0, 1e6),
         "Compute for so many seconds, at least a step, and wait for the other trainers of the "
         "sweep that take turns, over a socket at standard input; 0 = no"},
        {"--sim-topology", &given.topology, any(),
         "--comm sim: cluster to simulate, NnGg [the ranks that run]", true},
        {"--sim-node-gbps", &given.node_gbps, positive(), "--comm sim: GB/s inside a node"},
        {"--sim-cross-gbps", &given.cross_gbps, positive(), "--comm sim: GB/s per node across"},
        {"--sim-node-us", &given.node_us, not_negative(), "--comm sim: latency inside a node, us"},
        {"--sim-cross-us", &given.cross_us, not_negative(), "--comm sim: latency across, us"}}}};
}

void add_option(CLI::App& app, const Option& option, const char* group) {
  const auto add = [&](auto* value) {
    if constexpr (std::is_same_v<decltype(value), bool*>) {
      return app.add_flag(option.name, *value, option.help);
    } else {
      return app.add_option(option.name, *value, option.help);
    }
  };
  CLI::Option* added = std::visit(add, option.value)->group(group);
  if (option.depends) added->default_str("");
  if (option.rule.choices.empty() && option.rule.text.empty()) return;
  const auto check = [&](auto* value) {
    return CLI::Validator(
        [rule = option.rule](std::string& given) {
          return rule.problem<std::remove_pointer_t<decltype(value)>>(given);
        },
        fmt::format("{}", fmt::join(option.rule.choices, ", ")));
  };
  added->transform(std::visit(check, option.value));
}

/// For the harness, whose list is this text: a row {name, default, values} an option. The default
/// is empty where it depends on other options, values where they are no list; a flag is true or
/// false.
std::string description_of(const std::vector<Group>& groups) {
  std::string rows;
  for (const Group& group : groups) {
    for (const Option& option : group.options) {
      const bool flag = std::holds_alternative<bool*>(option.value);
      const auto text = [](auto* value) { return fmt::format("{}", *value); };
      rows +=
          fmt::format("{{\"{}\", \"{}\", \"{}\"}},\n", option.name + 2,
                      option.depends ? "" : std::visit(text, option.value),
                      flag ? "true false" : fmt::format("{}", fmt::join(option.rule.choices, " ")));
    }
  }
  return rows;
}

tl::unexpected<Failure> refuse(const std::string& option, const std::string& remedy) {
  return usage_error(fmt::format("{}: {}", option, remedy));
}

/// An option that would change nothing: whoever gives it expects another run.
Result<void> refuse_idle(const CLI::App& app, const Given& given) {
  const struct {
    const char* option;
    std::string_view given, value;
    std::vector<const char*> needed_by;
  } needs[] = {
      {"--precision",
       given.options.precision,
       "fp16",
       {"--loss-scale", "--loss-scale-initial", "--loss-scale-growth-interval"}},
      {"--optimizer",
       given.optimizer,
       "lamb",
       {"--lamb-pre-normalization", "--lamb-trust-without-decay", "--lamb-min-trust",
        "--lamb-max-trust"}},
      {"--comm",
       given.options.comm,
       "sim",
       {"--sim-topology", "--sim-node-gbps", "--sim-cross-gbps", "--sim-node-us",
        "--sim-cross-us"}},
      {"--schedule", given.schedule, "polynomial", {"--decay-power", "--decay-steps"}},
      {"--schedule", given.schedule, kExponential, {"--decay-rate", "--decay-rate-steps"}}};
  for (const auto& need : needs) {
    if (need.given == need.value) continue;
    for (const char* name : need.needed_by) {
      if (app.count(name) == 0) continue;
      return refuse(name, fmt::format("needs {} {}", need.option, need.value));
    }
  }
  return {};
}

Result<void> finish_loss_scale(Given& given) {
  TrainOptions& o = given.options;
  if (given.loss_scale == "dynamic") return {};
  double factor = 0;
  if (!CLI::detail::lexical_cast(given.loss_scale, factor) || !(factor >= 1 && factor <= 1e30)) {
    return refuse("--loss-scale " + given.loss_scale, "not \"dynamic\" or a number of at least 1");
  }
  o.loss_scale.initial = factor;
  o.loss_scale.growth_interval = 0;
  return {};
}

Result<void> finish_handicap(Given& given) {
  if (given.handicap.empty()) return {};
  const std::size_t at = given.handicap.find('@');
  const std::string share = given.handicap.substr(0, at);
  const bool percent = share.ends_with('%');
  const std::string digits = share.substr(0, share.size() - (percent ? 1 : 0));
  double number = 0;
  std::int64_t& rank = given.options.handicapped_rank;
  const bool bad_rank =
      at != std::string::npos &&
      (!CLI::detail::lexical_cast(given.handicap.substr(at + 1), rank) || rank < 0);
  constexpr double kLargestHandicap = 1000;  // times what a step takes
  const bool is_number = CLI::detail::lexical_cast(digits, number);
  if (percent) number /= 100;
  if (bad_rank || !is_number || !(number >= 0 && number <= kLargestHandicap)) {
    return refuse("--handicap " + given.handicap,
                  "not a share of a step, as 2% or 0.02, with @3 of rank 3 alone");
  }
  given.options.handicap = number;
  return {};
}

Result<void> finish_cluster(Given& given) {
  SimulatedCluster& cluster = given.options.cluster;
  if (!given.topology.empty()) {
    auto named = parse_simulated_topology(given.topology);
    if (!named) return tl::unexpected(named.error());
    cluster = *named;
    given.options.cluster_named = true;
  }
  cluster.bandwidth_in_node = given.node_gbps * 1e9;
  cluster.bandwidth_per_node = given.cross_gbps * 1e9;
  cluster.latency_in_node_s = given.node_us / 1e6;
  cluster.latency_across_s = given.cross_us / 1e6;
  return {};
}

/// What contradicts itself, what the named model has no use for or no room, and what only a device
/// backend can serve: each with what to do instead.
Result<void> check_together(const TrainOptions& o) {
  const ModelConfig model = *named_model(o.model);
  const bool next_word = model.objective == Objective::next_word;
  const bool cpu = o.backend == "cpu";
  const bool tuned = o.task != "pretraining";
  const std::string full = o.model +
                           " predicts the next word at every position of full sequences: leave it "
                           "away, or take a bert model";
  const std::pair<bool, std::pair<std::string, std::string>> refused[] = {
      {o.schedule.warmup_steps > o.schedule.decay_steps,
       {fmt::format("--warmup-steps {}", o.schedule.warmup_steps),
        fmt::format("more than the {} steps of the schedule", o.schedule.decay_steps)}},
      {o.optimizer.max_trust > 0 && o.optimizer.min_trust > o.optimizer.max_trust,
       {"--lamb-min-trust", "above --lamb-max-trust: lower it"}},
      {o.checkpoint_every > 0 && o.checkpoint.empty(),
       {"--checkpoint-every", "needs --checkpoint DIR"}},
      {o.all_positions && (!cpu || next_word || tuned),
       {"--all-positions", "is for pre-training of bert models with --backend cpu"}},
      {!cpu && tuned, {"--task " + o.task, "needs --backend cpu"}},
      {next_word && tuned, {"--task " + o.task, "takes a bert model"}},
      {o.task == "squad" && o.sequence_length < kShortestQuestion,
       {fmt::format("--sequence-length {}", o.sequence_length),
        fmt::format("--task squad has questions of at least {}", kShortestQuestion)}},
      {o.task == "squad" && o.lengths != "full",
       {"--lengths " + o.lengths, "questions are as long as they are: leave it out"}},
      {!o.vocabulary.empty() && o.data == "synthetic",
       {"--vocabulary", "generated data has no words: name a file with --data"}},
      {o.whole_word_masking && (next_word || tuned),
       {"--whole-word-masking", "is for pre-training of bert models"}},
      {o.whole_word_masking && o.data == "synthetic",
       {"--whole-word-masking", "generated data has no words: name a text with --data"}},
      {o.shuffle_labels && !tuned, {"--shuffle-labels", "needs --task squad or classification"}},
      {!o.init_checkpoint.empty() && !o.resume.empty(),
       {"--init-checkpoint", "a run that --resume continues has its weights: leave one out"}},
      {o.new_phase && o.resume.empty(), {"--new-phase", "needs --resume DIR"}},
      {o.inference && !(o.checkpoint.empty() && o.gradient_accumulation_steps == 1),
       {"--inference",
        "a step is one batch without an update: leave --checkpoint and "
        "--gradient-accumulation-steps away"}},
      {o.sequence_length > model.max_positions,
       {fmt::format("--sequence-length {}", o.sequence_length),
        fmt::format("{} has {} positions: lower it, or take a model with more (gpt2)", o.model,
                    model.max_positions)}},
      {next_word && o.lengths != "full", {"--lengths " + o.lengths, full}},
      {next_word && o.unpadded, {"--unpadded", full}},
      {next_word && o.log_style == "gluonnlp",
       {"--log-style gluonnlp",
        "its lines are the losses of masked words and next sentences, which " + o.model +
            " does not have: take another style"}},
      {cpu && o.precision == "tf32",
       {"--precision tf32",
        "only NVIDIA's tensor cores multiply tf32: take bf16 or fp32, or --backend cuda"}},
      {cpu && o.precision == "fp8",
       {"--precision fp8", "no CPU multiplies fp8: take bf16 or fp32, or --backend cuda"}},
      {o.all_positions && o.unpadded,
       {"--all-positions", "has a prediction at padding, which --unpadded leaves out"}},
      {cpu && !o.algorithm_cache.empty(),
       {"--algorithm-cache", "the cpu backend searches no algorithms: leave it out"}},
      {cpu && o.matmul_epilogues != Epilogues::automatic,
       {"--matmul-epilogues " + std::string(o.matmul_epilogues == Epilogues::inside ? "on" : "off"),
        "oneDNN has no such choice in the cpu backend: leave it out"}},
      {cpu && o.attention == AttentionBy::cudnn,
       {"--attention cudnn", "cuDNN computes on GPUs: leave it out, or take --backend cuda"}},
      {cpu && o.cuda_graph != CudaGraphs::off,
       {"--cuda-graph", "CUDA graphs are of GPUs: leave it out, or take --backend cuda"}},
      {o.attention == AttentionBy::cudnn && (o.precision == "fp32" || o.precision == "tf32"),
       {"--attention cudnn",
        "cuDNN's attention takes 16-bit numbers: take --precision bf16, fp16 or fp8"}}};
  for (const auto& [wrong, message] : refused) {
    if (wrong) return refuse(message.first, message.second);
  }
  return {};
}

Result<TrainOptions> finished(const CLI::App& app, Given& given) {
  TrainOptions& o = given.options;
  const bool lamb = given.optimizer == "lamb";
  o.optimizer.kind = lamb ? OptimizerOptions::Kind::lamb : OptimizerOptions::Kind::adamw;
  o.optimizer.bias_correction = !given.no_bias_correction;
  o.schedule.peak = app.count("--learning-rate") > 0 ? given.learning_rate : lamb ? 2e-3 : 1e-4;
  o.decay_until_last_step = given.decay_steps == 0;
  o.schedule.decay_steps = o.decay_until_last_step ? o.steps : given.decay_steps;
  o.gelu = given.gelu.empty()     ? named_model(o.model)->gelu
           : given.gelu == "tanh" ? Gelu::tanh
                                  : Gelu::erf;
  o.matmul_epilogues = given.matmul_epilogues == "on"    ? Epilogues::inside
                       : given.matmul_epilogues == "off" ? Epilogues::kernels
                                                         : Epilogues::automatic;
  o.attention = given.attention == "cudnn" ? AttentionBy::cudnn : AttentionBy::kernels;
  o.cuda_graph = given.cuda_graph == "on"     ? CudaGraphs::on
                 : given.cuda_graph == "auto" ? CudaGraphs::automatic
                                              : CudaGraphs::off;
  o.schedule.decay =
      given.schedule == kExponential ? Schedule::Decay::exponential : Schedule::Decay::polynomial;
  return refuse_idle(app, given)
      .and_then([&] { return finish_cluster(given); })
      .and_then([&] { return finish_loss_scale(given); })
      .and_then([&] { return finish_handicap(given); })
      .and_then([&] { return check_together(o); })
      .map([&] { return std::move(o); });
}

}  // namespace

Result<std::variant<TrainOptions, TextAnswer>> parse_options(int argc, const char* const* argv) {
  Given given;
  CLI::App app(
      "bert_train: BERT pre-training (masked words and next sentence), or GPT-2's (the next "
      "word),\n"
      "as a workload to measure.\n"
      "Real forward, backward, all-reduce and optimizer; prints a log and exact step times.",
      "bert_train");
  app.option_defaults()->always_capture_default();
  app.get_formatter()->column_width(38);
  const std::vector<Group> groups = option_table(given);
  const std::string description = description_of(groups);
  for (const Group& group : groups) {
    for (const Option& option : group.options) add_option(app, option, group.name);
  }
  bool describe = false;
  app.add_flag("--describe-options", describe,
               "Print a row {name, default, values} per option and exit");
  // For whoever proves a gate: the same training, slower by a known share. It is no option of the
  // workload, so help, --describe-options and identities have nothing of it.
  app.add_option("--handicap", given.handicap, "Spin this share of each step")->group("");
  // What a preflight asks of two nodes: nothing of it is a training.
  app.add_flag("--probe-pairs", given.options.probe_pairs, "Measure an all-reduce of each pair")
      ->group("");
  app.set_version_flag("--version", version_text());
  app.footer(kFooter);
  given.options.command.assign(argv, argv + argc);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return TextAnswer{app.help()};
  } catch (const CLI::CallForVersion&) {
    return TextAnswer{version_text() + "\n"};
  } catch (const CLI::ParseError& error) {
    return usage_error(fmt::format("{} (bert_train --help explains every option)", error.what()));
  }
  if (describe) return TextAnswer{description};
  auto options = finished(app, given);
  if (!options) return tl::unexpected(options.error());
  return std::move(*options);
}

}  // namespace bert
