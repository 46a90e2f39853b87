// Gives what a log states of facts to its runs.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "parsers/assemble/run_builder.h"
#include "parsers/lines/argument_text.h"
#include "parsers/rules/fact_rules.h"

namespace bertbench {

struct FactRules::Stated {
  std::array<const Statement*, static_cast<std::size_t>(Key::count_)> of{};
  std::map<std::string_view, const Statement*> versions, axes;  ///< by name

  [[nodiscard]] const Statement* at(Key key) const { return of[static_cast<std::size_t>(key)]; }
  [[nodiscard]] std::optional<std::int64_t> number(Key key) const {
    return at(key) != nullptr ? count(at(key)->value) : std::nullopt;
  }

  void fill_ranks(RunDraft& run, const std::optional<Statement>& communicator) const;
  void fill_names(Facts& facts) const;
  void fill_implied(RunDraft& run) const;
  void fill_batches(RunDraft& run) const;
  [[nodiscard]] std::optional<std::int64_t> per_gpu(std::optional<std::int64_t> batch) const;
  void fill_batch_argument(RunLog& log) const;
  void fill_loader_batch(RunLog& log) const;
  void fill_estimator(RunDraft& run) const;
};

namespace {

/// Known, and not only seen to follow.
template <class T>
bool is_stated(const Fact<T>& fact) {
  return fact.known() && fact.source != FactSource::unknown;
}

void set(Fact<std::int64_t>& fact, std::optional<std::int64_t> value) {
  if (value && !is_stated(fact)) fact.set(*value, FactSource::log);
}

/// The line that the head of a run ends with; where it has no records, all before the next.
std::int64_t first_record_line(const RunDraft& run, std::int64_t end_line) {
  const auto& records = run.records();
  return records.empty() ? end_line : std::min(records.front().line, end_line);
}

}  // namespace

void FactRules::Stated::fill_ranks(RunDraft& run,
                                   const std::optional<Statement>& communicator) const {
  Facts& facts = run.log.facts;
  const auto each = number(Key::gpus_per_node), nodes = number(Key::nodes);
  const auto world = number(Key::world);
  const bool world_known = (each && nodes) || world || communicator;
  if (world_known && !is_stated(facts.world_size)) facts.world_size = {};
  // A format that knows the batches itself may still know nothing of GPUs, or of nodes.
  const bool agrees = each && nodes && facts.world() == *each * *nodes;
  if (!run.own_facts || !facts.world() || agrees) {
    set(facts.gpus_per_node, each);
    set(facts.nodes, nodes);
    set(facts.world_size, world);
  }
  const auto ranks = communicator ? count(communicator->value) : std::nullopt;
  if (ranks && !facts.world()) {
    facts.world_size.set(*ranks, FactSource::log);
    run.log.note(NoticeCode::world_size_of_communicators, communicator->line, communicator->value);
  }
  if (!run.own_facts && each && nodes && world && *world != *each * *nodes) {
    run.log.note(NoticeCode::world_size_of_launcher, at(Key::world)->line, at(Key::world)->value,
                 at(Key::gpus_per_node)->value, at(Key::nodes)->value);
  }
}

void FactRules::Stated::fill_names(Facts& facts) const {
  const auto name = [&](Fact<std::string>& fact, Key key) {
    if (at(key) != nullptr && !is_stated(fact)) fact.set(at(key)->value, FactSource::log);
  };
  name(facts.precision, Key::precision);
  name(facts.precision, Key::no_half);
  name(facts.model, Key::model);
  name(facts.framework, Key::framework);
}

// What no line states, but follows for a format (FactSource::unknown) holds where nothing else was
// found: a job of NVIDIA's BERT for TensorFlow whose lines name no Horovod has one GPU, and one
// whose lines print a loss scale computes in fp16
// (quoted/tf_updates.half_precision_is_what_the_lines_scale_and_what_the_machine_can: .4 has no GPU
// that can).
void FactRules::Stated::fill_implied(RunDraft& run) const {
  Facts& facts = run.log.facts;
  const bool alone = facts.world_size.known() && facts.world_size.source == FactSource::unknown;
  if (alone && run.log.kind == WorkKind::training) {
    run.log.note(NoticeCode::world_size_without_horovod, run.log.first_line);
  }
  for (auto* fact : {&facts.world_size, &facts.nodes, &facts.gpus_per_node}) {
    if (fact->known() && fact->source == FactSource::unknown) fact->source = FactSource::log;
  }
  if (facts.precision.known()) facts.precision.source = FactSource::log;
  const Statement* left_out = at(Key::no_amp);
  if (left_out == nullptr || facts.precision.value != "fp16") return;
  facts.precision.set("fp32", FactSource::log);
  run.log.note(NoticeCode::precision_left_out, left_out->line);
}

// A script's batch, of which each GPU of its process has a part (torch's DataParallel,
// quoted/facts.one_process_divides_its_batch_among_its_gpus).
std::optional<std::int64_t> FactRules::Stated::per_gpu(std::optional<std::int64_t> batch) const {
  const std::int64_t gpus = number(Key::process_gpus).value_or(1);
  return batch && *batch % gpus == 0 ? std::optional(*batch / gpus) : std::nullopt;
}

// The argument of scripts that divide it by the accumulation (NVIDIA's BERT for PyTorch, the first
// Hugging Face scripts), compared with a device's batch that other lines state.
void FactRules::Stated::fill_batch_argument(RunLog& log) const {
  const auto argument = per_gpu(number(Key::batch_argument));
  if (!argument) return;
  Fact<std::int64_t>& micro = log.facts.micro_batch_size;
  const std::int64_t accumulation = log.facts.gradient_accumulation_steps.value.value_or(1);
  if (!micro.known()) {
    if (*argument % accumulation == 0) micro.set(*argument / accumulation, FactSource::log);
    return;
  }
  if (*micro.value == *argument || *micro.value * accumulation == *argument) return;
  log.note(NoticeCode::batch_of_device_line, at(Key::batch_argument)->line,
           at(Key::batch_argument)->value, *micro.value);
}

// The batch of a command line next to which DeepSpeed counts by a configuration of its own
// (quoted/facts.deepspeeds_launcher_tells_nodes_and_its_command_the_batch: --batchsize 128 and
// train_micro_batch_size_per_gpu 32).
void FactRules::Stated::fill_loader_batch(RunLog& log) const {
  const Facts& facts = log.facts;
  const auto loader = number(Key::loader_batch);
  if (!loader || !facts.micro_batch_size.known()) return;
  const std::int64_t micro = *facts.micro_batch_size.value;
  const std::int64_t accumulation = facts.gradient_accumulation_steps.value.value_or(1);
  if (*loader == micro || *loader == micro * accumulation ||
      loader == facts.sequences_per_micro_step() ||
      loader == facts.sequences_per_optimizer_step()) {
    return;
  }
  log.note(NoticeCode::batch_of_loader_differs, at(Key::loader_batch)->line, *loader, micro);
}

// An Estimator of TensorFlow whose configuration has one worker without a strategy, and whose lines
// print no examples: the script's batch is that of a step
// (quoted/tf.an_estimator_of_one_worker_has_its_scripts_batch; corpus
// tensorflow/google_bert_ch_ner_nohup.log). Horovod would start several of them.
void FactRules::Stated::fill_estimator(RunDraft& run) const {
  Facts& facts = run.log.facts;
  const Statement* strategy = at(Key::estimator_strategy);
  const auto batch = number(Key::tf_batch);
  if (strategy == nullptr || strategy->value != "None" || number(Key::estimator_workers) != 1 ||
      !batch || facts.world() || facts.global_batch_size.known() ||
      run.log.rate_unit != RateUnit::iterations_per_second) {
    return;
  }
  facts.world_size.set(1, FactSource::log);
  facts.global_batch_size.set(*batch, FactSource::log);
  run.log.note(NoticeCode::world_size_of_estimator, at(Key::estimator_workers)->line);
}

void FactRules::Stated::fill_batches(RunDraft& run) const {
  Facts& facts = run.log.facts;
  fill_estimator(run);
  set(facts.gradient_accumulation_steps, number(Key::accumulation));
  set(facts.micro_batch_size, number(Key::micro_batch));
  set(facts.micro_batch_size, per_gpu(number(Key::script_batch)));
  fill_batch_argument(run.log);
  fill_loader_batch(run.log);
  if (const auto batch = number(Key::tf_batch)) {
    if (facts.framework.value == "bert_train") set(facts.global_batch_size, batch);
    if (facts.world() == 1) set(facts.micro_batch_size, batch);
  }
  set(facts.global_batch_size, number(Key::global_batch));
  if (!run.log.planned && run.log.iteration_unit == IterationUnit::optimizer_step) {
    run.log.planned = number(Key::planned);
  }
}

// Several launches in one file (run_squad.py of NVIDIA on one GPU and then with
// torch.distributed.launch, quoted/facts.of_several_launches_in_one_file_each_has_its_own): one
// that states its ranks, or its precision, states all of it, so that the statements of an earlier
// one do not hold any more. And what stands after a run before the next one is the head of that, if
// it states what the run's own head has stated.
FactRules::Stated FactRules::stated_of(const RunDraft& run, std::int64_t before_line,
                                       std::int64_t end_line) const {
  enum Group : std::uint8_t { ranks, precision, batches, none };
  constexpr std::size_t kGroups = 3;
  const auto group_of = [](Key key) {
    switch (key) {
      case Key::gpus_per_node:
      case Key::nodes:
      case Key::world:
      case Key::process_gpus:
        return ranks;
      case Key::precision:
      case Key::no_half:
      case Key::no_amp:
        return precision;
      case Key::batch_argument:
      case Key::micro_batch:
      case Key::script_batch:
      case Key::global_batch:
      case Key::tf_batch:
      case Key::accumulation:
        return batches;
      default:
        return none;
    }
  };
  const std::int64_t first_record = first_record_line(run, end_line);
  const bool last_run = end_line == std::numeric_limits<std::int64_t>::max();
  std::array<bool, kGroups> in_head{}, in_run{};  // stated there
  for (const Statement& statement : statements_) {
    const Group group = group_of(statement.key);
    if (group == none || statement.line >= end_line) continue;
    in_head[group] |= statement.line <= first_record && statement.newest_line > before_line;
    in_run[group] |= statement.line <= run.last_line;
  }
  Stated stated;
  for (const Statement& statement : statements_) {
    if (statement.line >= end_line) continue;
    const Group group = group_of(statement.key);
    const bool of_before = before_line > 0 && (group == ranks || group == precision) &&
                           in_head[group] && statement.newest_line <= before_line;
    const bool of_next =
        !last_run && group != none && in_run[group] && statement.line > run.last_line;
    if (of_before || of_next) continue;
    const Statement*& slot = statement.key == Key::version ? stated.versions[statement.name]
                             : statement.key == Key::axis
                                 ? stated.axes[statement.name]
                                 : stated.of[static_cast<std::size_t>(statement.key)];
    if (slot == nullptr || statement.line <= first_record) slot = &statement;
  }
  return stated;
}

/// The newest command line before the run's first record; of the run before it none.
const FactRules::OptionStatement* FactRules::options_of(const RunDraft& run,
                                                        std::int64_t before_line,
                                                        std::int64_t end_line) const {
  const std::int64_t first_record = first_record_line(run, end_line);
  const OptionStatement* found = nullptr;
  for (const OptionStatement& statement : options_) {
    if (statement.line > before_line && statement.line <= first_record) found = &statement;
  }
  return found;
}

void FactRules::apply(RunDraft& run, std::int64_t before_line, std::int64_t end_line) const {
  const Stated stated = stated_of(run, before_line, end_line);
  Facts& facts = run.log.facts;
  stated.fill_ranks(run, one_communicator(end_line));
  set(facts.sequence_length, stated.number(Key::sequence_length));
  stated.fill_names(facts);
  const OptionStatement* options = options_of(run, before_line, end_line);
  if (options != nullptr) facts.axes = options->axes;
  // The command line of our own trainer has every option; lines that repeat some add nothing.
  if (options == nullptr && run.log.format != "native") {
    for (const auto& [name, statement] : stated.axes) facts.axes.emplace(name, statement->value);
  }
  for (const auto& [name, statement] : stated.versions) {
    facts.versions.emplace(name, statement->value);
  }
  if (const Statement* cuda = stated.at(Key::cuda)) facts.versions.emplace("cuda", cuda->value);
  const bool trains = run.log.kind == WorkKind::training;
  if (run.log.scores.empty()) run.log.scores = scores_.last(run.log.first_line, end_line);
  if (trains && !run.log.memory) {
    memory_.set_memory(run.log, first_record_line(run, end_line), end_line);
  }
  // What is stated of batches is stated of training.
  if (trains && !run.own_facts) stated.fill_batches(run);
  stated.fill_implied(run);
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
