#include "workloads/bert/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "workloads/bert/log_styles/log_style.h"
#include "workloads/bert/model_config.h"
#include "workloads/bert/option_rules.h"
#include "workloads/bert/version.h"

namespace bert {
namespace {

constexpr const char* kFooter = R"(
Examples:
  bert_train --model bert-tiny --micro-batch-size 8 --steps 100
  bert_train --model bert-base --log-style tqdm --gradient-accumulation-steps 4
  bert_train --model gpt2 --sequence-length 1024 --micro-batch-size 1 --steps 20
  WORLD_SIZE=2 RANK=0 bert_train & WORLD_SIZE=2 RANK=1 bert_train      two ranks on this machine
  srun -n 16 bert_train --expect-world-size 16                         any launcher works
  bert_train --steps 100 --checkpoint ckpt; bert_train --steps 200 --resume ckpt

Ranks come from the launcher's variables, the first complete set of: torchrun (RANK WORLD_SIZE
LOCAL_RANK LOCAL_WORLD_SIZE), Open MPI (OMPI_COMM_WORLD_*), PMI (PMI_RANK PMI_SIZE), Slurm
(SLURM_PROCID SLURM_NTASKS). Rank 0 serves at MASTER_ADDR:MASTER_PORT (127.0.0.1:29500).
Rank 0 writes the log to standard output; errors of any rank go to standard error.
SIGTERM or SIGINT to any one rank ends the job at the next step boundary.

Exit status: 0 done; 1 a started run broke (dead peer, full disk); 2 wrong usage or wrong world;
3 no device or module; 12 out of memory; 130 interrupted.
)";

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

// One rule for every named choice: the message lists what exists.
CLI::Validator one_of(std::vector<std::string> names) {
  return CLI::Validator(
      [names](std::string& value) -> std::string {
        if (std::find(names.begin(), names.end(), value) != names.end()) {
          return "";
        }
        return fmt::format("\"{}\" is unknown; there are: {}", value, joined(names));
      },
      joined(names), "choice");
}

// NaN and infinity pass CLI11's own range checks in places; here they never do.
CLI::Validator within(double low, double high, const std::string& text) {
  return CLI::Validator(
      [=](std::string& value) -> std::string {
        double number = 0;
        if (!CLI::detail::lexical_cast(value, number) || !(number >= low && number <= high)) {
          return fmt::format("{} is not {}", value, text);
        }
        return "";
      },
      "", "range");
}

CLI::Validator at_least(std::int64_t low) {
  return within(static_cast<double>(low), 9e15, fmt::format("a whole number of at least {}", low));
}
CLI::Validator not_negative() { return within(0, 1e300, "a number of at least 0"); }

struct Raw {
  TrainOptions options;
  std::string optimizer = "adamw";
  double learning_rate = 0;
  std::int64_t decay_steps = 0;
  bool no_bias_correction = false;
  std::string topology;  // empty: the ranks that run
  std::string matmul_epilogues = "auto";
  std::string gelu;  // empty: the model's own
  std::string loss_scale = "dynamic";
  double node_gbps = 0, cross_gbps = 0, node_us = 0, cross_us = 0;
};

void add_work(CLI::App& app, Raw& raw) {
  const char* const group = "Work";
  TrainOptions& o = raw.options;
  app.add_option("--model", o.model, "Model")->check(one_of(model_names()))->group(group);
  app.add_option("--backend", o.backend, "Where the step runs; cuda needs the module bert_cuda.so")
      ->check(one_of({"cpu", "cuda"}))
      ->group(group);
  app.add_option("--precision", o.precision, "Of matrix products and activations")
      ->check(one_of({"fp32", "tf32", "bf16", "fp16", "fp8"}))
      ->group(group);
  app.add_option("--micro-batch-size", o.micro_batch_size, "Sequences per rank per micro-step")
      ->check(at_least(1))
      ->group(group);
  app.add_option("--gradient-accumulation-steps", o.gradient_accumulation_steps,
                 "Micro-steps per optimizer step")
      ->check(at_least(1))
      ->group(group);
  app.add_option("--sequence-length", o.sequence_length,
                 "Tokens per sequence, 8 to 512; gpt2 models to 1024")
      ->check(within(8, 1024, "a whole number from 8 to 1024"))
      ->group(group);
  app.add_option("--steps", o.steps, "Last optimizer step; a resumed run goes on up to it")
      ->check(at_least(1))
      ->group(group);
  app.add_option("--seed", o.seed, "Of weights, data and dropout")->group(group);
  app.add_option("--data", o.data, "\"synthetic\" or a token file (workloads/bert/data/README.md)")
      ->group(group);
  app.add_flag("--variable-lengths", o.variable_lengths,
               "Sequences of a quarter to the full length, instead of all full");
  app.get_option("--variable-lengths")->group(group);
  app.add_option("--dropout", o.dropout, "Of hidden layers and attention, 0 to below 1")
      ->check(within(0, 0.999, "a number from 0 to 0.999"))
      ->group(group);
  app.add_flag("--activation-checkpointing", o.activation_checkpointing,
               "Recompute activations in backward: less memory, about a third more work")
      ->group(group);
  app.add_option("--gelu", raw.gelu,
                 "Activation of the FFN, tanh being its approximation [erf; gpt2 models tanh]")
      ->check(one_of({"erf", "tanh"}))
      ->group(group)
      ->default_str("");
  app.add_flag("--unpadded", o.unpadded, "cuda: compute on no padding (with --variable-lengths)")
      ->group(group);
  app.add_flag("--inference", o.inference, "cuda: forward only; a step is then one batch")
      ->group(group);
}

void add_optimizer(CLI::App& app, Raw& raw) {
  const char* const group = "Optimizer";
  OptimizerOptions& o = raw.options.optimizer;
  Schedule& s = raw.options.schedule;
  app.add_option("--optimizer", raw.optimizer, "Optimizer")
      ->check(one_of({"adamw", "lamb"}))
      ->group(group);
  app.add_option("--learning-rate", raw.learning_rate,
                 "Peak learning rate [1e-4 for adamw, 2e-3 for lamb]")
      ->check(not_negative())
      ->group(group)
      ->default_str("");
  app.add_option("--warmup-steps", s.warmup_steps, "Optimizer steps of linear warm-up")
      ->check(at_least(0))
      ->group(group);
  app.add_option("--decay-steps", raw.decay_steps,
                 "Optimizer steps until the rate is zero [--steps]")
      ->check(at_least(1))
      ->group(group)
      ->default_str("");
  app.add_option("--decay-power", s.power, "Of the polynomial decay; 0 = constant rate")
      ->check(not_negative())
      ->group(group);
  app.add_option("--weight-decay", o.weight_decay, "Not on biases and LayerNorm")
      ->check(not_negative())
      ->group(group);
  app.add_option("--beta1", o.beta1, "Decay of the first moment")
      ->check(within(0, 0.999999, "below 1"))
      ->group(group);
  app.add_option("--beta2", o.beta2, "Decay of the second moment")
      ->check(within(0, 0.999999, "below 1"))
      ->group(group);
  app.add_option("--epsilon", o.epsilon, "Added to the root of the second moment")
      ->check(not_negative())
      ->group(group);
  app.add_flag("--no-bias-correction", raw.no_bias_correction, "As the first BERT code does")
      ->group(group);
  app.add_option("--gradient-clipping", raw.options.gradient_clipping,
                 "Bound of the global L2 norm, 0 = none")
      ->check(not_negative())
      ->group(group);
  app.add_option("--loss-scale", raw.loss_scale,
                 "fp16: \"dynamic\", or the constant factor of the loss")
      ->group(group);
  app.add_option("--loss-scale-initial", raw.options.loss_scale.initial,
                 "fp16: first factor of a dynamic scale")
      ->check(within(1, 1e30, "a number of at least 1"))
      ->group(group);
  app.add_option("--loss-scale-growth-interval", raw.options.loss_scale.growth_interval,
                 "fp16: good steps in a row after which the factor doubles")
      ->check(at_least(1))
      ->group(group);
  app.add_flag("--lamb-pre-normalization", o.grad_pre_normalization,
               "LAMB: divide gradients by their global norm first (apex)")
      ->group(group);
  app.add_flag("--lamb-trust-without-decay", o.trust_ratio_without_decay,
               "LAMB: trust ratio also on biases and LayerNorm (apex use_nvlamb)")
      ->group(group);
  app.add_option("--lamb-min-trust", o.min_trust, "LAMB: lower clip of the trust ratio, 0 = none")
      ->check(not_negative())
      ->group(group);
  app.add_option("--lamb-max-trust", o.max_trust, "LAMB: upper clip of the trust ratio, 0 = none")
      ->check(not_negative())
      ->group(group);
}

void add_output(CLI::App& app, TrainOptions& o) {
  const char* const group = "Output";
  app.add_option("--log-style", o.log_style, "Whose log to print")
      ->check(CLI::Validator(
          [](std::string& name) { return find_log_style(name) ? "" : unknown_log_style(name); },
          joined(log_style_names()), "style"))
      ->group(group);
  app.add_option("--log-every", o.log_every, "Optimizer steps between two log lines")
      ->check(at_least(1))
      ->group(group);
  app.add_option("--timings", o.timings, "Write one JSON line per optimizer step: the truth")
      ->group(group);
  app.add_option("--checkpoint", o.checkpoint, "Folder to save to at the end and when interrupted")
      ->group(group);
  app.add_option("--checkpoint-every", o.checkpoint_every, "Also every N optimizer steps, 0 = no")
      ->check(at_least(0))
      ->group(group);
  app.add_option("--resume", o.resume, "Go on from the newest checkpoint in this folder")
      ->group(group);
}

void add_machine(CLI::App& app, Raw& raw) {
  const char* const group = "Machine";
  TrainOptions& o = raw.options;
  app.add_option("--threads", o.threads, "Compute threads of this rank, 0 = cores / ranks here")
      ->check(within(0, 4096, "a whole number from 0 to 4096"))
      ->group(group);
  app.add_flag("--deterministic", o.deterministic, "Same bits for any number of threads")
      ->group(group);
  app.add_option("--comm", o.comm, "auto = self for one rank, nccl for cuda, else tcp")
      ->check(one_of({"auto", "self", "tcp", "mpi", "nccl", "sim"}))
      ->group(group);
  app.add_option("--comm-timeout", o.comm_timeout_s, "Seconds until a silent peer counts as dead")
      ->check(within(0.1, 1e6, "a number of at least 0.1"))
      ->group(group);
  app.add_option("--bucket-mb", o.bucket_mb, "MiB of gradients per all-reduce")
      ->check(within(0.001, 1e6, "a number of at least 0.001"))
      ->group(group);
  app.add_option("--zero", o.zero_stage,
                 "cuda and nccl: 1 = each rank keeps the optimizer state of its share (ZeRO-1)")
      ->check(within(0, 1, "0 or 1"))
      ->group(group);
  app.add_option("--algorithm-cache", o.algorithm_cache,
                 "cuda: file that keeps the fastest algorithms by shape and device")
      ->group(group);
  app.add_option("--matmul-epilogues", raw.matmul_epilogues,
                 "cuda: biases, GELU and their gradients inside matrix products, where cuBLASLt "
                 "can; off = by kernels")
      ->check(one_of({"auto", "off"}))
      ->group(group);
  app.add_option("--memory-limit-mb", o.memory_limit_mb,
                 "cpu: MiB this rank may plan with, else status 12; 0 = what there is")
      ->check(within(0, 1e9, "a number of at least 0"))
      ->group(group);
  app.add_option("--expect-world-size", o.expect_world_size, "End with status 2 in another world")
      ->check(at_least(0))
      ->group(group);
  app.add_option("--sim-topology", raw.topology,
                 "--comm sim: cluster to simulate, NnGg [the ranks that run]")
      ->group(group)
      ->default_str("");
  app.add_option("--sim-node-gbps", raw.node_gbps, "--comm sim: GB/s inside a node [200]")
      ->check(not_negative())
      ->group(group)
      ->default_str("");
  app.add_option("--sim-cross-gbps", raw.cross_gbps, "--comm sim: GB/s per node across [11]")
      ->check(not_negative())
      ->group(group)
      ->default_str("");
  app.add_option("--sim-node-us", raw.node_us, "--comm sim: latency inside a node, us [5]")
      ->check(not_negative())
      ->group(group)
      ->default_str("");
  app.add_option("--sim-cross-us", raw.cross_us, "--comm sim: latency across, us [20]")
      ->check(not_negative())
      ->group(group)
      ->default_str("");
}

Result<void> finish_loss_scale(CLI::App& app, Raw& raw) {
  for (const char* name :
       {"--loss-scale", "--loss-scale-initial", "--loss-scale-growth-interval"}) {
    if (app.count(name) > 0 && raw.options.precision != "fp16") {
      return usage_error(fmt::format("{} is for --precision fp16; {} needs no scale", name,
                                     raw.options.precision));
    }
  }
  if (raw.loss_scale == "dynamic") {
    return {};
  }
  double factor = 0;
  if (!CLI::detail::lexical_cast(raw.loss_scale, factor) || !(factor >= 1 && factor <= 1e30)) {
    return usage_error(
        fmt::format("--loss-scale {}: not \"dynamic\" or a number of at least 1", raw.loss_scale));
  }
  raw.options.loss_scale.initial = factor;
  raw.options.loss_scale.growth_interval = 0;
  return {};
}

Result<TrainOptions> finished(CLI::App& app, Raw& raw) {
  TrainOptions& o = raw.options;
  const bool lamb = raw.optimizer == "lamb";
  o.optimizer.kind = lamb ? OptimizerOptions::Kind::lamb : OptimizerOptions::Kind::adamw;
  o.optimizer.bias_correction = !raw.no_bias_correction;
  o.schedule.peak = app.count("--learning-rate") > 0 ? raw.learning_rate : lamb ? 2e-3 : 1e-4;
  o.schedule.decay_steps = raw.decay_steps > 0 ? raw.decay_steps : o.steps;
  if (o.schedule.warmup_steps > o.schedule.decay_steps) {
    return usage_error(fmt::format("--warmup-steps {} exceeds the {} steps of the schedule",
                                   o.schedule.warmup_steps, o.schedule.decay_steps));
  }
  if (o.checkpoint_every > 0 && o.checkpoint.empty()) {
    return usage_error("--checkpoint-every needs --checkpoint DIR");
  }
  if (!raw.topology.empty()) {
    auto cluster = parse_simulated_topology(raw.topology);
    if (!cluster) {
      return tl::unexpected(cluster.error());
    }
    o.cluster = *cluster;
    o.cluster_named = true;
  }
  const auto set = [](double value, double unit, double& target) {
    target = value > 0 ? value * unit : target;
  };
  set(raw.node_gbps, 1e9, o.cluster.bandwidth_in_node);
  set(raw.cross_gbps, 1e9, o.cluster.bandwidth_per_node);
  set(raw.node_us, 1e-6, o.cluster.latency_in_node_s);
  set(raw.cross_us, 1e-6, o.cluster.latency_across_s);
  o.gelu = raw.gelu.empty()     ? named_model(o.model)->gelu
           : raw.gelu == "tanh" ? Gelu::tanh
                                : Gelu::erf;
  o.matmul_epilogues = raw.matmul_epilogues != "off";
  if (auto scale = finish_loss_scale(app, raw); !scale) {
    return tl::unexpected(scale.error());
  }
  if (o.inference && !(o.checkpoint.empty() && o.gradient_accumulation_steps == 1)) {
    return usage_error(
        "--inference: a step is one batch without an update: leave --checkpoint and "
        "--gradient-accumulation-steps away");
  }
  if (auto known = check_model_options(o); !known) {
    return tl::unexpected(known.error());
  }
  if (auto served = o.backend == "cpu" ? check_cpu_options(o) : Result<void>(); !served) {
    return tl::unexpected(served.error());
  }
  return std::move(o);
}

}  // namespace

Result<std::variant<TrainOptions, TextAnswer>> parse_options(int argc, const char* const* argv) {
  Raw raw;
  CLI::App app(
      "bert_train: BERT pre-training (masked words and next sentence), or GPT-2's (the next "
      "word),\n"
      "as a workload to measure.\n"
      "Real forward, backward, all-reduce and optimizer; prints a log and exact step times.",
      "bert_train");
  app.option_defaults()->always_capture_default();
  app.get_formatter()->column_width(38);
  add_work(app, raw);
  add_optimizer(app, raw);
  add_output(app, raw.options);
  add_machine(app, raw);
  app.set_version_flag("--version", version_text());
  app.footer(kFooter);
  raw.options.command.assign(argv, argv + argc);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return TextAnswer{app.help()};
  } catch (const CLI::CallForVersion&) {
    return TextAnswer{version_text() + "\n"};
  } catch (const CLI::ParseError& error) {
    return usage_error(fmt::format("{} (bert_train --help explains every option)", error.what()));
  }
  auto options = finished(app, raw);
  if (!options) {
    return tl::unexpected(options.error());
  }
  return std::move(*options);
}

}  // namespace bert
