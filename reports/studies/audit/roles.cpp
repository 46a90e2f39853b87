// The roles that a column can have, and the headings that name them. To teach the audit a heading,
// add its lower-case form (without precision words, units in parentheses, '_' and '-') to the list
// of its role.
#include <unordered_map>

#include "parsers/core/name_hint.h"
#include "parsers/core/text.h"
#include "reports/studies/audit/columns.h"

namespace bertbench::audit {
namespace {

enum Trait : unsigned {
  kPlain = 0,
  kCount = 1,  ///< whole numbers
  kApart = 2,  ///< rows that differ in it are of different configurations
  kText = 4    ///< its cells need not hold numbers
};

struct RoleRow {
  Role role;
  std::string_view name;
  unsigned traits;
  std::string_view headings;  ///< separated by commas
};

// In the order of Role.
constexpr RoleRow kRoles[] = {
    {Role::none, "none", kText, ""},
    {Role::ignore, "ignore", kText,
     "line, seed line, source line, row, no., #, note, notes, comment, comments, remark, "
     "remarks, last, link, log"},
    {Role::nodes, "nodes", kCount,
     "node num, num node, num nodes, nodes, node, nnodes, number of nodes, # nodes, #nodes, "
     "n nodes, machines, hosts"},
    {Role::gpus, "gpus", kCount,
     "gpu num, num gpu, num gpus, gpus, gpu, gpu count, # gpus, #gpus, # gpu, #gpu, "
     "number of gpus, n gpus, cards, card num, devices, device num, num devices, accelerators"},
    {Role::gpus_per_node, "gpus_per_node", kCount,
     "gpus/node, gpu/node, gpus per node, gpu num per node, gpu per node, gpus per machine, "
     "cards per node, num gpus per node, device num per node"},
    {Role::world_size, "world_size", kCount,
     "world size, total gpus, total gpu, world, ranks, gpus total, total cards"},
    {Role::topology, "topology", kText, "topology, layout, cell"},
    {Role::batch_size, "batch_size", kCount | kApart,
     "batch size, batch, batchsize, bs, bsz, bz, batch size/gpu, batch size per gpu, batch/gpu, "
     "micro batch size, micro batch, batch size per device, per device batch size, "
     "local batch size, train micro batch size per gpu, batch per gpu, batch/device, "
     "per gpu batch size, per device train batch size, micro batch size per gpu, "
     "mini batch size/gpu"},
    {Role::accumulation, "accumulation", kCount,
     "accumulation, accumulation steps, agg size, aggregation size, gradient accumulation, "
     "gradient accumulation steps, grad accum, accum, accumulation size, gas, "
     "num accumulation steps"},
    {Role::accumulated_batch, "accumulated_batch", kCount,
     "accumulated batch size/gpu, accumulated batch size per gpu, accumulated batch/gpu, "
     "accumulated batch size, accumulated batch"},
    {Role::global_batch, "global_batch", kCount,
     "global batch size, global batch, global agg size, total batch size, gbs, "
     "effective batch size, effective batch, train batch size, total batch"},
    {Role::sequence_length, "sequence_length", kCount | kApart,
     "sequence length, seq len, seq length, seqlen, last seq len, max seq length, max seq len, "
     "seq, sequence len"},
    {Role::model, "model", kApart | kText, "model, network, model name"},
    {Role::precision, "precision", kApart | kText,
     "precision, dtype, fp mode, data type, amp, math"},
    {Role::framework, "framework", kApart | kText, "framework, implementation, library"},
    {Role::checkpointing, "checkpointing", kApart | kText,
     "checkpointing, grad ckpt, activation checkpointing, gradient checkpointing, recompute"},
    {Role::variant, "variant", kApart | kText,
     "optimizer, optim, xla, dataset, phase, hardware, gpu type, system, dgx system, platform, "
     "configuration, config, p2p"},
    {Role::iterations_per_second, "iterations_per_second", kPlain,
     "it/s, its/s, iter/s, iterations/s, iterations/sec, it/sec, iterations per second, "
     "steps/s, step/s, steps/sec, steps per second, iter/sec"},
    {Role::step_time, "step_time", kPlain,
     "step time, time per step, s/it, sec/it, s/step, ms/step, ms/it, iteration time, "
     "time/step, ms/batch, latency, time per iteration, step time ms, iter time"},
    {Role::throughput, "throughput", kPlain,
     "throughput, samples/s, samples/sec, sequences/s, sequences/sec, seq/s, seq/sec, seqs/s, "
     "seqs/sec, sentences/s, sentences/sec, images/s, images/sec, img/s, global seq/sec, "
     "global seq/s, samples per second, sequences per second, examples/s, examples/sec, speed, "
     "# samples per second, global throughput, total throughput, items/s, items/sec, "
     "median speed, average speed, median throughput"},
    {Role::per_gpu, "per_gpu", kPlain,
     "seq/sec/gpu, seq/s/gpu, samples/s/gpu, samples/sec/gpu, per gpu, throughput/gpu, "
     "throughput per gpu, sequences/s/gpu, sequences/sec/gpu, seq/s per gpu, samples/s per gpu, "
     "images/s/gpu, sequences per second per gpu, per gpu throughput, seqs/s/gpu"},
    {Role::tokens_per_second, "tokens_per_second", kPlain,
     "tokens/s, tokens/sec, tok/s, tokens per second, token/s"},
    {Role::steps, "steps", kCount,
     "total steps, steps, num steps, training steps, iterations, iteration count, max steps, "
     "optimizer steps, number of steps, step count, global steps, stepping"},
    {Role::epochs, "epochs", kCount, "epochs, epoch, num epochs, fine tuning epochs"},
    {Role::calculated_time, "calculated_time", kPlain,
     "calc total time, calculated time, calc time, calculated total time, calc total"},
    {Role::corrected_time, "corrected_time", kPlain,
     "corrected p2 time, corrected time, corrected phase 2 time, corrected"},
    {Role::train_time, "train_time", kPlain,
     "time to train, training time, train time, total time, time to solution, total duration, "
     "duration, wall time, time"},
    {Role::sequences, "sequences", kCount,
     "total seq, total sequences, sample count, samples, sequences, total samples, "
     "number of samples, num samples"},
    {Role::speedup, "speedup", kPlain,
     "speedup, speed up, scaling, scaling factor, acceleration, "
     "\xE5\x8A\xA0\xE9\x80\x9F\xE6\xAF\x94"},
    {Role::precision_speedup, "precision_speedup", kPlain,
     "throughput speedup, precision speedup, mixed precision speedup, amp speedup"},
    {Role::time_speedup, "time_speedup", kPlain,
     "time to train speedup, time speedup, training time speedup"},
    {Role::weak_scaling, "weak_scaling", kPlain, "weak scaling"},
    {Role::strong_scaling, "strong_scaling", kPlain, "strong scaling"},
    {Role::efficiency, "efficiency", kPlain,
     "efficiency, scaling efficiency, eff, parallel efficiency, weak scaling efficiency, "
     "strong scaling efficiency, scaling eff"},
    {Role::tflops, "tflops", kPlain,
     "tflops, tflops/gpu, tflop/s, tflops per gpu, tflop/s/gpu, per gpu tflops, "
     "measured tflops, measured per gpu tflops, tflop/s per gpu, model tflops, tflops/s, "
     "tflops/s/gpu"},
    {Role::flops_per_sequence, "flops_per_sequence", kPlain,
     "tflop per sample, flops per sequence, flop per sample, tflop/sample, tflops per sample, "
     "flop/sequence, tflop per sequence"},
    {Role::peak_tflops, "peak_tflops", kPlain, "peak tflops, peak, peak tflop/s"},
    {Role::mfu, "mfu", kPlain, "mfu, hfu, model flops utilization, utilization"},
    {Role::metric, "metric", kText, "metric, accuracy metric, measure, quantity"},
    {Role::replicate, "replicate", kPlain, ""},
    {Role::mean, "mean", kPlain, "mean, average, avg, avg."},
    {Role::median, "median", kPlain, "median"},
    {Role::deviation, "deviation", kPlain,
     "standard deviation, std, stddev, std dev, sd, std. dev., stdev, std deviation"},
    {Role::score, "score", kPlain,
     "loss, final loss, train loss, training loss, eval loss, validation loss, perplexity, "
     "accuracy, acc, acc., f1, f1 score, exact match, em, mlm accuracy"},
    {Role::memory, "memory", kPlain,
     "memory, gpu memory, peak memory, peak gpu memory, memory used, used memory, memory usage, "
     "gpu memory usage, used gpu memory, total used gpu memory, max memory, gpu mem, mem, "
     "peak mem"},
};

const RoleRow& row_of(Role role) { return kRoles[static_cast<std::size_t>(role)]; }

template <class Take>
void each_heading(Take take) {
  for (const RoleRow& row : kRoles) {
    for (const std::string_view words : split(row.headings, ',')) {
      if (!words.empty()) take(trim(words), row.role);
    }
  }
}

}  // namespace

Role role_of_words(std::string_view text) {
  static const std::unordered_map<std::string_view, Role> known = [] {
    std::unordered_map<std::string_view, Role> out;
    each_heading([&](std::string_view words, Role role) { out.emplace(words, role); });
    return out;
  }();
  const auto at = known.find(text);
  return at == known.end() ? Role::none : at->second;
}

std::vector<std::string_view> known_words() {
  std::vector<std::string_view> out;
  each_heading([&](std::string_view words, Role) { out.push_back(words); });
  return out;
}

std::string_view name(Role role) { return row_of(role).name; }

std::vector<std::string> role_names() {
  std::vector<std::string> names;
  for (const RoleRow& row : kRoles) names.emplace_back(row.name);
  return names;
}

Result<Role> role_from_name(std::string_view text) {
  const auto* const row = std::ranges::find(kRoles, text, &RoleRow::name);
  if (row != std::end(kRoles)) return row->role;
  return fail(std::string(text), "no such role of a column",
              name_hint(text, role_names(), "roles are "));
}

bool is_count(Role role) { return (row_of(role).traits & kCount) != 0; }
bool holds_numbers(Role role) { return (row_of(role).traits & kText) == 0; }
bool distinguishes(Role role) { return (row_of(role).traits & kApart) != 0; }

}  // namespace bertbench::audit
