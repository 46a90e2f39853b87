// FactRules: command lines of launchers, and what Accelerate and Lightning print of theirs.
#include <algorithm>
#include <optional>

#include "parsers/core/text.h"
#include "parsers/lines/argument_text.h"
#include "parsers/lines/cursor.h"
#include "parsers/rules/fact_rules.h"

namespace bertbench {
namespace {

/// Whether a sentence leads up to an option, as in fairseq's "your device may support faster
/// training with --fp16 or --amp" (quoted/facts.an_option_that_is_advised_is_not_given).
bool is_advice(std::string_view before) {
  static constexpr std::string_view kWords[] = {"with", "use", "using",  "or",      "and",
                                                "add",  "set", "pass",   "passing", "via",
                                                "try",  "the", "without"};
  before = trim(before);
  const auto word = before.substr(before.find_last_of(' ') + 1);
  return std::ranges::find(kWords, word) != std::end(kWords);
}

/// A switch without a value: "--fp16 --lr 1", "'--fp16']" of DeepSpeed's argument vector, "--fp16"
/// at the end of the line; not argparse's "usage: a.py [--fp16]"
/// (quoted/facts.command_lines_of_launchers_tell_world_and_precision.17).
bool has_switch(const Line& line, std::string_view name) {
  for (auto at = line.text.find(name); at != std::string_view::npos;
       at = line.text.find(name, at + 1)) {
    if (at > 0 && line.text[at - 1] != ' ' && line.text[at - 1] != '\'') continue;
    if (is_advice(line.text.substr(0, at))) continue;
    const std::string_view rest = line.text.substr(at + name.size());
    if (rest.starts_with(" -") || rest.starts_with(" \\") || rest.starts_with('\'')) return true;
    if (trim(rest).empty()) return line.terminator != 0;
  }
  return false;
}

/// "CUDA_VISIBLE_DEVICES=0 python train.py": one process, which has one GPU. A launcher or a rank
/// on the line starts or is one of several.
bool runs_on_one_gpu(const Line& line) {
  static constexpr std::string_view kOfSeveral[] = {"run ", "launch", "deepspeed", "rank", "mpi"};
  Cursor cursor(line);
  if (!cursor.read(Past{"CUDA_VISIBLE_DEVICES="})) return false;
  const std::string_view rest = cursor.rest();
  const auto end = std::min(rest.find(' '), rest.size());
  return count_of_list(rest.substr(0, end)) == 1 && rest.substr(end).starts_with(" python") &&
         std::ranges::none_of(kOfSeveral, [&](auto word) { return has(line, word); });
}

}  // namespace

void FactRules::read_command(const Line& line) {
  // The ranks of a node and of the job; one rank alone may be a wrapper that starts the others
  // ("mpirun -np 1 ./start_all.sh",
  // quoted/facts.command_lines_of_launchers_tell_world_and_precision.7).
  const auto ranks = [&](std::optional<std::int64_t> all, std::optional<std::int64_t> each) {
    if (all >= 2) state_job(line, *all, each > 1 ? each : std::nullopt);
  };
  if (has(line, "deepspeed ") && (has(line, "--num_gpus") || has(line, "--include"))) {
    state_count(line, Key::gpus_per_node, count_of(line.text, {"--num_gpus"}));
    state_count(line, Key::nodes, count_of(line.text, {"--num_nodes"}));
    Cursor include(line);
    if (include.read(Past{"--include"}, Past{"localhost:"})) {
      const auto gpus = count_of_list(include.until(" '\"").value_or(include.rest()));
      state_count(line, Key::gpus_per_node, gpus);
      if (gpus) state_count(line, Key::nodes, 1);
    }
  }
  if (has(line, "accelerate launch")) {
    const auto machines = count_of(line.text, {"--num_machines"});
    const auto all = count_of(line.text, {"--num_processes"});
    // "--num_machines $N" has no number (the same, .30); without the option there is one.
    const bool stated = machines || !has(line, "--num_machines");
    const std::int64_t nodes = machines.value_or(1);
    const bool even = stated && all && *all % nodes == 0;
    ranks(all, even ? std::optional(*all / nodes) : std::nullopt);
  }
  // Open MPI, MPICH, Intel MPI, Horovod.
  if (has(line, "mpirun ") || has(line, "mpiexec ") || has(line, "mpiexec.hydra ") ||
      has(line, "horovodrun ")) {
    ranks(count_of(line.text, {"-np", "--np", "-n"}),
          count_of(line.text, {"-npernode", "--npernode", "-ppn", "--ntasks-per-node"}));
  }
  if (has(line, "srun ")) {
    const auto nodes = count_of(line.text, {"--nodes", "-N"});
    const auto each = count_of(line.text, {"--ntasks-per-node"});
    if (nodes && each && *each > 1) {
      state_count(line, Key::nodes, nodes);
      state_count(line, Key::gpus_per_node, each);
    }
  }
  if (runs_on_one_gpu(line)) state_job(line, 1, 1);
  state_half(line, "--mixed_precision");
  if (has_switch(line, "--fp16")) state(line, Key::precision, "fp16");
  if (has_switch(line, "--bf16")) state(line, Key::precision, "bf16");
}

void FactRules::state_half(const Line& line, std::string_view option) {
  const auto value = argument(line.text, option);
  if (!value) return;
  for (const std::string_view half : {"fp16", "bf16", "fp8"}) {
    if (value->starts_with(half)) state(line, Key::precision, half);
  }
}

}  // namespace bertbench
