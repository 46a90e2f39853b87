// The roles that a column can have, and the headings that name them. To teach the audit a heading,
// add its lower-case form (without precision words, units in parentheses, '_' and '-') to the list
// of its role.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "parsers/core/name_hint.h"
#include "reports/studies/audit/columns.h"

namespace bertbench::audit {
namespace {

struct RoleRow {
  Role role;
  std::string_view name;
  bool count;
  bool apart;
  std::vector<std::string_view> synonyms;
};

const std::vector<RoleRow>& roles() {
  static const std::vector<RoleRow> rows = {
      {Role::none, "none", false, false, {}},
      {Role::ignore,
       "ignore",
       false,
       false,
       {"line", "seed line", "source line", "row", "no.", "#", "note", "notes", "comment",
        "comments", "remark", "remarks", "last", "link", "log"}},
      {Role::nodes,
       "nodes",
       true,
       false,
       {"node num", "num node", "num nodes", "nodes", "node", "nnodes", "number of nodes",
        "# nodes", "#nodes", "n nodes", "machines", "hosts"}},
      {Role::gpus,
       "gpus",
       true,
       false,
       {"gpu num", "num gpu", "num gpus", "gpus", "gpu", "gpu count", "# gpus", "#gpus", "# gpu",
        "#gpu", "number of gpus", "n gpus", "cards", "card num", "devices", "device num",
        "num devices", "accelerators"}},
      {Role::gpus_per_node,
       "gpus_per_node",
       true,
       false,
       {"gpus/node", "gpu/node", "gpus per node", "gpu num per node", "gpu per node",
        "gpus per machine", "cards per node", "num gpus per node", "device num per node"}},
      {Role::world_size,
       "world_size",
       true,
       false,
       {"world size", "total gpus", "total gpu", "world", "ranks", "gpus total", "total cards"}},
      {Role::topology, "topology", false, false, {"topology", "layout", "cell"}},
      {Role::batch_size,
       "batch_size",
       true,
       true,
       {"batch size",
        "batch",
        "batchsize",
        "bs",
        "bsz",
        "bz",
        "batch size/gpu",
        "batch size per gpu",
        "batch/gpu",
        "micro batch size",
        "micro batch",
        "batch size per device",
        "per device batch size",
        "local batch size",
        "train micro batch size per gpu",
        "batch per gpu",
        "batch/device",
        "per gpu batch size",
        "per device train batch size",
        "micro batch size per gpu",
        "mini batch size/gpu"}},
      {Role::accumulation,
       "accumulation",
       true,
       false,
       {"accumulation", "accumulation steps", "agg size", "aggregation size",
        "gradient accumulation", "gradient accumulation steps", "grad accum", "accum",
        "accumulation size", "gas", "num accumulation steps"}},
      {Role::accumulated_batch,
       "accumulated_batch",
       true,
       false,
       {"accumulated batch size/gpu", "accumulated batch size per gpu", "accumulated batch/gpu",
        "accumulated batch size", "accumulated batch"}},
      {Role::global_batch,
       "global_batch",
       true,
       false,
       {"global batch size", "global batch", "global agg size", "total batch size", "gbs",
        "effective batch size", "effective batch", "train batch size", "total batch"}},
      {Role::sequence_length,
       "sequence_length",
       true,
       true,
       {"sequence length", "seq len", "seq length", "seqlen", "last seq len", "max seq length",
        "max seq len", "seq", "sequence len"}},
      {Role::model, "model", false, true, {"model", "network", "model name"}},
      {Role::precision,
       "precision",
       false,
       true,
       {"precision", "dtype", "fp mode", "data type", "amp", "math"}},
      {Role::framework, "framework", false, true, {"framework", "implementation", "library"}},
      {Role::checkpointing,
       "checkpointing",
       false,
       true,
       {"checkpointing", "grad ckpt", "activation checkpointing", "gradient checkpointing",
        "recompute"}},
      {Role::variant,
       "variant",
       false,
       true,
       {"optimizer", "optim", "xla", "dataset", "phase", "hardware", "gpu type", "system",
        "dgx system", "platform", "configuration", "config", "p2p"}},
      {Role::iterations_per_second,
       "iterations_per_second",
       false,
       false,
       {"it/s", "its/s", "iter/s", "iterations/s", "iterations/sec", "it/sec",
        "iterations per second", "steps/s", "step/s", "steps/sec", "steps per second", "iter/sec"}},
      {Role::step_time,
       "step_time",
       false,
       false,
       {"step time", "time per step", "s/it", "sec/it", "s/step", "ms/step", "ms/it",
        "iteration time", "time/step", "ms/batch", "latency", "time per iteration", "step time ms",
        "iter time"}},
      {Role::throughput,
       "throughput",
       false,
       false,
       {"throughput",
        "samples/s",
        "samples/sec",
        "sequences/s",
        "sequences/sec",
        "seq/s",
        "seq/sec",
        "seqs/s",
        "seqs/sec",
        "sentences/s",
        "sentences/sec",
        "images/s",
        "images/sec",
        "img/s",
        "global seq/sec",
        "global seq/s",
        "samples per second",
        "sequences per second",
        "examples/s",
        "examples/sec",
        "speed",
        "# samples per second",
        "global throughput",
        "total throughput",
        "items/s",
        "items/sec",
        "median speed",
        "average speed",
        "median throughput"}},
      {Role::per_gpu,
       "per_gpu",
       false,
       false,
       {"seq/sec/gpu", "seq/s/gpu", "samples/s/gpu", "samples/sec/gpu", "per gpu", "throughput/gpu",
        "throughput per gpu", "sequences/s/gpu", "sequences/sec/gpu", "seq/s per gpu",
        "samples/s per gpu", "images/s/gpu", "sequences per second per gpu", "per gpu throughput",
        "seqs/s/gpu"}},
      {Role::tokens_per_second,
       "tokens_per_second",
       false,
       false,
       {"tokens/s", "tokens/sec", "tok/s", "tokens per second", "token/s"}},
      {Role::steps,
       "steps",
       true,
       false,
       {"total steps", "steps", "num steps", "training steps", "iterations", "iteration count",
        "max steps", "optimizer steps", "number of steps", "step count", "global steps",
        "stepping"}},
      {Role::epochs,
       "epochs",
       true,
       false,
       {"epochs", "epoch", "num epochs", "fine tuning epochs"}},
      {Role::calculated_time,
       "calculated_time",
       false,
       false,
       {"calc total time", "calculated time", "calc time", "calculated total time", "calc total"}},
      {Role::corrected_time,
       "corrected_time",
       false,
       false,
       {"corrected p2 time", "corrected time", "corrected phase 2 time", "corrected"}},
      {Role::train_time,
       "train_time",
       false,
       false,
       {"time to train", "training time", "train time", "total time", "time to solution",
        "total duration", "duration", "wall time", "time"}},
      {Role::sequences,
       "sequences",
       true,
       false,
       {"total seq", "total sequences", "sample count", "samples", "sequences", "total samples",
        "number of samples", "num samples"}},
      {Role::speedup,
       "speedup",
       false,
       false,
       {"speedup", "speed up", "scaling", "scaling factor", "acceleration",
        "\xE5\x8A\xA0\xE9\x80\x9F\xE6\xAF\x94"}},
      {Role::precision_speedup,
       "precision_speedup",
       false,
       false,
       {"throughput speedup", "precision speedup", "mixed precision speedup", "amp speedup"}},
      {Role::time_speedup,
       "time_speedup",
       false,
       false,
       {"time to train speedup", "time speedup", "training time speedup"}},
      {Role::weak_scaling, "weak_scaling", false, false, {"weak scaling"}},
      {Role::strong_scaling, "strong_scaling", false, false, {"strong scaling"}},
      {Role::efficiency,
       "efficiency",
       false,
       false,
       {"efficiency", "scaling efficiency", "eff", "parallel efficiency", "weak scaling efficiency",
        "strong scaling efficiency", "scaling eff"}},
      {Role::tflops,
       "tflops",
       false,
       false,
       {"tflops", "tflops/gpu", "tflop/s", "tflops per gpu", "tflop/s/gpu", "per gpu tflops",
        "measured tflops", "measured per gpu tflops", "tflop/s per gpu", "model tflops", "tflops/s",
        "tflops/s/gpu"}},
      {Role::flops_per_sequence,
       "flops_per_sequence",
       false,
       false,
       {"tflop per sample", "flops per sequence", "flop per sample", "tflop/sample",
        "tflops per sample", "flop/sequence", "tflop per sequence"}},
      {Role::peak_tflops, "peak_tflops", false, false, {"peak tflops", "peak", "peak tflop/s"}},
      {Role::mfu, "mfu", false, false, {"mfu", "hfu", "model flops utilization", "utilization"}},
      {Role::metric, "metric", false, false, {"metric", "accuracy metric", "measure", "quantity"}},
      {Role::replicate, "replicate", false, false, {}},
      {Role::mean, "mean", false, false, {"mean", "average", "avg", "avg."}},
      {Role::median, "median", false, false, {"median"}},
      {Role::deviation,
       "deviation",
       false,
       false,
       {"standard deviation", "std", "stddev", "std dev", "sd", "std. dev.", "stdev",
        "std deviation"}},
      {Role::score,
       "score",
       false,
       false,
       {"loss", "final loss", "train loss", "training loss", "eval loss", "validation loss",
        "perplexity", "accuracy", "acc", "acc.", "f1", "f1 score", "exact match", "em",
        "mlm accuracy"}},
      {Role::memory,
       "memory",
       false,
       false,
       {"memory", "gpu memory", "peak memory", "peak gpu memory", "memory used", "used memory",
        "memory usage", "gpu memory usage", "used gpu memory", "total used gpu memory",
        "max memory", "gpu mem", "mem", "peak mem"}},
  };
  return rows;
}

}  // namespace

Role role_of_words(std::string_view text) {
  static const std::unordered_map<std::string_view, Role> known = [] {
    std::unordered_map<std::string_view, Role> out;
    for (const RoleRow& row : roles()) {
      for (const std::string_view words : row.synonyms) out.emplace(words, row.role);
    }
    return out;
  }();
  const auto at = known.find(text);
  return at == known.end() ? Role::none : at->second;
}

std::vector<std::string_view> known_words() {
  std::vector<std::string_view> out;
  for (const RoleRow& row : roles())
    out.insert(out.end(), row.synonyms.begin(), row.synonyms.end());
  return out;
}

std::string_view name(Role role) {
  for (const RoleRow& row : roles()) {
    if (row.role == role) return row.name;
  }
  return "none";
}

std::vector<std::string> role_names() {
  std::vector<std::string> names;
  for (const RoleRow& row : roles()) names.emplace_back(row.name);
  return names;
}

Result<Role> role_from_name(std::string_view text) {
  for (const RoleRow& row : roles()) {
    if (row.name == text) return row.role;
  }
  return fail(std::string(text), "no such role of a column",
              name_hint(text, role_names(), "roles are "));
}

bool is_count(Role role) {
  for (const RoleRow& row : roles()) {
    if (row.role == role) return row.count;
  }
  return false;
}

bool holds_numbers(Role role) {
  switch (role) {
    case Role::none:
    case Role::ignore:
    case Role::topology:
    case Role::model:
    case Role::precision:
    case Role::framework:
    case Role::checkpointing:
    case Role::variant:
    case Role::metric:
      return false;
    default:
      return true;
  }
}

bool distinguishes(Role role) {
  for (const RoleRow& row : roles()) {
    if (row.role == role) return row.apart;
  }
  return false;
}

}  // namespace bertbench::audit
