// FactRules: how a job was launched, and its switches of half precision.
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "parsers/core/text.h"
#include "parsers/lines/argument_text.h"
#include "parsers/lines/cursor.h"
#include "parsers/rules/fact_rules.h"

namespace bertbench {

namespace {

// Whether a line is dated, as logging's "%m/%d/%Y", in a year in which the Hugging Face Trainer had
// bf16: it has since the end of 2021, and its example scripts print fp16 alone as "16-bits
// training" (quoted/facts.sixteen_bits_that_are_off_say_fp32_only_before_the_trainers_bf16).
bool dated_since_bf16(const Line& line) {
  std::int64_t month = 0, day = 0, year = 0;
  return Cursor(line).read(kBlanks, month, "/", day, "/", year) && year >= 2022 && year < 10'000;
}

// The value of torchrun's --nnodes (argparse takes --nnode too), no number where that is a variable
// or a range; nullopt: no such option. A range of one number ("2:2") is that number.
std::optional<std::string_view> node_argument(std::string_view text) {
  constexpr std::string_view kName = "nnode";
  const auto at = text.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t end = at + kName.size() + (text.substr(at).starts_with("nnodes") ? 1 : 0);
  const auto begin = text.find_first_not_of(" =:,\"'", end);
  if (begin == std::string_view::npos) return std::string_view();
  const std::string_view value =
      text.substr(begin, text.find_first_of(" \t\"',)}];\\", begin) - begin);
  const auto colon = value.find(':');
  const bool one =
      colon != std::string_view::npos && value.substr(0, colon) == value.substr(colon + 1);
  return one ? value.substr(0, colon) : value;
}

}  // namespace

// Switches of half precision. One that is off means fp32 only where no other one is on: arguments
// stand on lines of their own, and a log may switch one on and leave the other off
// (quoted/facts.a_precision_is_a_switch_of_its_own_name_only.3). DeepSpeed's switch of bf16 shows
// nothing without that of fp16, which stands in another place of its list
// (quoted/deepspeed.ends_where_the_banners_total_is_reached).
void FactRules::read_precision(const Line& line) {
  bool off = has(line, "16-bits training: False") &&
             !(has(line, "Process rank: ") && dated_since_bf16(line));
  constexpr std::pair<const char*, const char*> kSwitches[] = {
      {"fp16", "fp16"},     {"bf16", "bf16"},          {"use_amp", "fp16"},
      {"amp", "fp16"},      {"use_pure_fp16", "fp16"}, {"manual_fp16", "fp16"},
      {"use_fp16", "fp16"}, {"fp16_enabled", "fp16"},  {"bfloat16_enabled", "bf16"}};
  bool unclear = false;  // "use_amp='O1'", "mixed_precision=..."
  for (const auto& [name, precision] : kSwitches) {
    const auto value = argument(line.text, name);
    if (!value) continue;
    if (*value == "True" || *value == "true" || *value == "1") {
      state(line, Key::precision, precision);
    } else if (*value == "False" || *value == "false" || *value == "0") {
      const std::string_view key = name;
      off =
          off || key.starts_with('f') || key == "bf16" || key == "use_amp" || key == "manual_fp16";
    } else if (*value != "None") {
      unclear = true;
    }
  }
  if (unclear || has(line, "mixed_precision=")) off = false;
  if (off) state(line, Key::no_half, "fp32");
}

// paddle.distributed.launch prints a table of what it sets, and since 2.3 its settings, one a line
// (quoted/several_runs.of_paddle_have_the_cards_of_their_command_line).
void FactRules::read_paddle_launch(const Line& line) {
  Cursor nodes(line), devices(line);
  if (nodes.skip_past(" nnodes: ")) state_count(line, Key::nodes, count(trim(nodes.rest())));
  if (devices.skip_past(" devices: ")) {
    state_count(line, Key::gpus_per_node, count_of_list(devices.rest()));
  }
}

// "comm 0x7f4c rank 0 nranks 32 cudaDev 0 ... - Init COMPLETE" of NCCL (corpus
// megatron/bigscience_megds3d_old_nccl_info.log). A communicator with a device of its node beyond
// its ranks is of some ranks only (quoted/facts.communicators_of_one_size_tell_the_world.3).
void FactRules::read_communicator(const Line& line) {
  std::int64_t ranks = 0, device = 0;
  if (has(line, "NCCL INFO comm ") && Cursor::after(line).read(ranks, Past{" cudaDev "}, device) &&
      ranks >= 1) {
    state_count(line, Key::communicator, device < ranks ? ranks : 0);
  }
}

// The ranks of all communicators, when all have as many.
std::optional<FactRules::Statement> FactRules::one_communicator(std::int64_t end_line) const {
  std::optional<Statement> found;
  for (const Statement& statement : statements_) {
    if (statement.key != Key::communicator || statement.line >= end_line) continue;
    if (statement.value == "0" || (found && found->value != statement.value)) return std::nullopt;
    if (!found) found = statement;
  }
  return found;
}

// torchrun and torch.distributed.launch run on one node unless they are started otherwise;
// "--nnodes=$NODES" and "--nnodes=1:4" have no number. A script that was printed has the options of
// a command on lines of their own
// (quoted/facts.command_lines_of_launchers_tell_world_and_precision.18 to .29).
void FactRules::read_torch_launch(const Line& line) {
  constexpr std::int64_t kCommand = 8;  // lines that a command may take
  const auto nodes = node_argument(line.text);
  const bool number = nodes && count(*nodes);
  const auto ranks = count_of(line.text, {"nproc_per_node", "nproc-per-node"});
  state_count(line, Key::gpus_per_node, ranks);
  if (ranks && !nodes && line.number - nodes_line_ > kCommand) {
    state(line, Key::nodes, "1");
    one_node_line_ = line.number;
  }
  if (!nodes || (!ranks && !has(line, "--nnode"))) return;
  nodes_line_ = line.number;
  if (number) {
    state(line, Key::nodes, *nodes);
  } else if (line.number - one_node_line_ <= kCommand) {
    state(line, Key::nodes, "?");
  }
}

// "environ({'LANG': 'C.UTF-8', 'OMPI_COMM_WORLD_SIZE': '2', ...})": Python's print of what Open
// MPI, Horovod, MPICH, Intel MPI or torchrun set for its ranks.
void FactRules::read_environment(const Line& line) {
  const auto first =
      [&](std::initializer_list<std::string_view> names) -> std::optional<std::int64_t> {
    for (const std::string_view name : names) {
      const auto value = size_after(line, std::string("'") + std::string(name) + "': ");
      if (value) return value;
    }
    return std::nullopt;
  };
  const auto all = first({"OMPI_COMM_WORLD_SIZE", "HOROVOD_SIZE", "PMI_SIZE", "WORLD_SIZE"});
  const auto each = first(
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "HOROVOD_LOCAL_SIZE", "MPI_LOCALNRANKS", "LOCAL_WORLD_SIZE"});
  if (all) state_job(line, *all, each);
}

void FactRules::read_launcher(const Line& line) {
  // DeepSpeed's launcher: "cmd = ... train.py --batchsize 128".
  if (has(line, "deepspeed.launcher")) {
    state_count(line, Key::loader_batch,
                count_of(line.text, {"--batch_size", "--batch-size", "--batchsize"}));
  }
  // Slurm's srun; tasks of one a node do other work, such as clearing caches (MLPerf logs of
  // NVIDIA, corpus mlperf/v0.7_nvidia_dgx2h_n32_result1.log).
  const auto tasks = count_of(line.text, {"--ntasks"});
  const auto per_node = count_of(line.text, {"--ntasks-per-node"});
  if (tasks && per_node > 1 && *tasks % *per_node == 0) state_job(line, *tasks, per_node);
  // MXNet's scripts print gpus='0,1,2,3', of one worker where there are several
  // (quoted/gluonnlp.takes_no_world_from_the_list_of_gpus_that_horovod_does_not_use). The SQuAD
  // script of gluon-nlp calls it gpu (quoted/facts.the_squad_script_of_gluon_tells_its_gpus).
  const bool fine_tuning = has(line, " bert_dataset='");
  const std::string_view key = fine_tuning ? " gpu='" : " gpus='";
  const auto list = line.text.find(key);
  if (list != std::string_view::npos && !has(line, "='horovod'") && !has(line, "='dist")) {
    const auto begin = list + key.size();
    state_count(line, Key::world,
                count_of_list(line.text.substr(begin, line.text.find('\'', begin) - begin)));
  }
  // Without quotes it is the number of the one GPU that gluon-nlp's fine-tuning scripts take (.3).
  Cursor which(line);
  if (fine_tuning && which.skip_past(" gpu=") && which.integer().value_or(-1) >= 0) {
    state(line, Key::world, "1");
  }
  read_torch_launch(line);
  read_command(line);
}

// "device: cuda n_gpu: 4, distributed training: False" of the Hugging Face scripts and NVIDIA's:
// one process drives them all and divides its batch among them. The scripts of 2018 print no colons
// (quoted/facts.one_process_divides_its_batch_among_its_gpus).
void FactRules::read_process(const Line& line) {
  if (!has(line, "distributed training: False") && !has(line, "distributed training False")) return;
  const auto gpus = Cursor::after(line).integer();
  if (!gpus || *gpus < 1 || *gpus > 1024) return;
  state_count(line, Key::gpus_per_node, gpus);
  state_count(line, Key::nodes, 1);
  state_count(line, Key::process_gpus, gpus);
}

}  // namespace bertbench
