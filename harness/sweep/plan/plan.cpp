#include "harness/sweep/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <ranges>
#include <set>
#include <utility>

#include "harness/sweep/config/axes.h"
#include "harness/sweep/config/hosts.h"
#include "harness/sweep/config/phases.h"
#include "harness/sweep/config/scaling.h"
#include "harness/sweep/config/secrets.h"
#include "harness/sweep/config/variants.h"
#include "harness/sweep/observe/environment.h"
#include "harness/sweep/plan/launcher.h"
#include "harness/sweep/plan/placement.h"
#include "harness/sweep/plan/template_call.h"
#include "harness/sweep/process/folder.h"
#include "parsers/core/name_hint.h"
#include "parsers/core/text.h"
#include "parsers/core/trainer_options.h"
#include "reports/stats/pairs.h"

namespace bertbench {
namespace {

using Point = std::map<std::string, std::string>;

/// Axes with zipped groups joined: each entry is one loop of the product.
struct Loop {
  std::vector<const Axis*> axes;  // one, or a zipped group
  std::size_t length = 0;
};

std::vector<Loop> loops_of(const SweepConfig& config) {
  std::vector<Loop> loops;
  std::set<std::string> done;
  for (const auto& axis : config.grid) {
    if (done.contains(axis.name)) continue;
    Loop loop{{&axis}, axis.values.size()};
    for (const auto& group : config.zip) {
      if (std::find(group.begin(), group.end(), axis.name) == group.end()) continue;
      loop.axes.clear();
      for (const auto& name : group) loop.axes.push_back(config.axis(name));
    }
    for (const auto* member : loop.axes) done.insert(member->name);
    loops.push_back(std::move(loop));
  }
  return loops;
}

/// Adds what every cell has: topology from nodes and GPUs or back, and the defaults. What a foreign
/// command computes in is not known. An error where the global batch cannot be divided; the point
/// is complete all the same, as it may be excluded.
Result<Topology> complete(Point& point, const Workload& workload) {
  Topology topology;
  if (const auto it = point.find("topology"); it != point.end()) {
    topology = parse_topology(it->second).value_or(Topology{});
  } else {
    topology.nodes = to_int(point["nodes"]).value_or(1);
    topology.gpus_per_node = to_int(point["gpus_per_node"]).value_or(1);
    point["topology"] = topology.str();
  }
  point["nodes"] = std::to_string(topology.nodes);
  point["gpus_per_node"] = std::to_string(topology.gpus_per_node);
  if (!workload.is_command) point.try_emplace("precision", "fp32");
  const auto divided = divide_global_batch(point, topology);
  point.try_emplace("gradient_accumulation_steps", "1");
  if (!divided) return tl::unexpected(divided.error());
  return topology;
}

bool matches(const Point& point, const Exclude& exclude) {
  return std::all_of(exclude.begin(), exclude.end(), [&](const auto& entry) {
    const auto it = point.find(entry.first);
    return it != point.end() &&
           std::find(entry.second.begin(), entry.second.end(), it->second) != entry.second.end();
  });
}

/// What the cell's phase adds; null where it is of none.
const Phase* phase_of(const PlannedCell& cell, const SweepConfig& config) {
  return cell.phase > 0 ? &config.phases[static_cast<std::size_t>(cell.phase) - 1] : nullptr;
}

/// What the trainer is given as options: the cell's axes and what "args" adds to them.
OptionValues options_of(const PlannedCell& cell, const Point& point, const SweepConfig& config) {
  OptionValues given = given_options(config.args);
  if (const Phase* phase = phase_of(cell, config)) {
    for (const auto& [name, value] : given_options(phase->args)) given[name] = value;
  }
  for (const auto& [name, value] : point) given[name] = value;
  given["steps"] = std::to_string(cell.steps);
  if (!config.seed.empty() && !config.seed_per_trial()) given["seed"] = config.seed;
  return given;
}

/// Of a cell on a simulated cluster. With sim_topology given, topology gives the ranks that run;
/// without it topology is what is simulated, by one rank.
void simulate(PlannedCell& cell, Point& point, const OptionValues& given) {
  const auto named = simulated_topology(given);
  if (!named) return;
  Topology cluster = cell.topology;
  if (named->empty()) {
    cell.topology = {1, 1};
    point["sim_topology"] = cluster.str();
  } else {
    cluster = parse_topology(*named).value_or(cluster);
  }
  cell.identity.nodes = cluster.nodes;
  cell.identity.gpus_per_node = cluster.gpus_per_node;
  cell.identity.axes.erase("comm");
  cell.identity.axes.erase("sim_topology");
  cell.identity.axes[kSimulatedAxis] = "true";
  cell.warnings.push_back(make_notice(NoticeCode::simulated_cluster, 0, cluster.str(),
                                      counted(cell.topology.world_size(), "rank")));
}

Identity identity_of_point(const Point& point, const Topology& topology, const Workload& workload) {
  Identity identity;
  const auto text = [&](const char* axis) -> std::optional<std::string> {
    const auto it = point.find(axis);
    return it == point.end() ? std::nullopt : std::optional(it->second);
  };
  const auto number = [&](const char* axis) { return to_int(text(axis).value_or("")); };
  if (!workload.framework.empty()) identity.framework = workload.framework;
  identity.model = text("model");
  identity.precision = text("precision");
  identity.sequence_length = number("sequence_length");
  identity.micro_batch_size = number("micro_batch_size");
  identity.gradient_accumulation_steps = number("gradient_accumulation_steps");
  identity.nodes = topology.nodes;
  identity.gpus_per_node = topology.gpus_per_node;
  const auto& facts = fact_axes();
  for (const auto& [name, value] : point) {
    if (std::find(facts.begin(), facts.end(), name) == facts.end()) identity.axes[name] = value;
  }
  return identity;
}

/// Marks what of the cell is a stand-in: the report shows it.
void label(PlannedCell& cell, const Plan& plan) {
  const auto& workload = plan.workload;
  const RankHosts hosts = plan.launcher->hosts;
  // A trainer with a launcher of its own (deepspeed) finds other machines by itself.
  if (workload.launch[cell.way].each == Each::job && hosts != RankHosts::this_machine) return;
  const auto nodes = cell.topology.nodes;
  // Nodes that a queue chooses are labelled when the trial runs: see placement.h.
  const bool known = hosts != RankHosts::allotted;
  auto names = plan.config.hosts;
  for (auto& host : names) {
    if (is_this_machine(host)) host = "localhost";
  }
  const auto shares = hosts == RankHosts::this_machine
                          ? std::vector<HostShare>{{"localhost", nodes}}
                          : shares_of(names, nodes);
  const auto machines = static_cast<std::int64_t>(shares.size());
  if (known && machines < nodes) {
    cell.emulated = true;
    cell.warnings.push_back(emulated_nodes(nodes, machines));
  }
  if (ranks_are_cpus(cell, workload)) {
    cell.emulated = cell.cpu_stands_in = true;
    cell.warnings.push_back(make_notice(NoticeCode::cpu_stands_in, 0));
  }
  // A rank that drives a GPU needs a core as well. Cores are known of this machine only.
  for (const auto& share : shares) {
    const auto ranks = share.nodes * cell.topology.gpus_per_node;
    if (known && share.host == "localhost" && ranks > plan.cores) {
      cell.warnings.push_back(outnumbered(ranks, plan.cores));
    }
  }
}

/// Threads of a rank as they were chosen: how many, or "auto" for cores / ranks.
std::string threads_chosen(const OptionValues& given, const Plan& plan) {
  if (const auto it = given.find("threads"); it != given.end()) return it->second;
  const auto cpus = plan.launcher->bound_cpus(plan.config);
  return cpus > 0 ? std::to_string(cpus) : "auto";
}

/// Everything by which the cell is known in results; `point` gets what a simulation adds.
void identify(PlannedCell& cell, Point& point, const Plan& plan) {
  const SweepConfig& config = plan.config;
  const Workload& workload = plan.workload;
  cell.identity = identity_of_point(point, cell.topology, workload);
  auto& axes = cell.identity.axes;
  for (const auto& [name, value] : config.env) {
    if (!config.secrets.held_by(value)) axes.emplace("env." + name, value);
  }
  if (config.seed_per_trial() || (!workload.is_bert_train && !config.seed.empty())) {
    axes["seed"] = config.seed;
  }
  if (workload.is_bert_train) {
    const OptionValues given = options_of(cell, point, config);
    axes.merge(work_options(given));
    simulate(cell, point, given);
    cell.threads = threads_chosen(given, plan);
  }
  cell.key = cell.identity.key();
}

/// Cells that a point of the grid has: its variants or its phases, else one.
std::size_t members_of_point(const SweepConfig& config) {
  return std::max<std::size_t>({1, config.variants.size(), config.phases.size()});
}

/// A grid of 10^6 cells takes 2.8 GB to plan, and nobody measures it.
Result<void> check_size(const SweepConfig& config, const std::vector<Loop>& loops) {
  constexpr double kMostTrialsOfASweep = 100'000;
  auto cells = static_cast<double>(members_of_point(config));
  std::string product;
  for (const Loop& loop : loops) {
    cells *= static_cast<double>(loop.length);
    if (loop.length < 2) continue;
    product +=
        fmt::format("{}{} {}", product.empty() ? "" : " x ", loop.length, loop.axes.front()->name);
  }
  const double trials = cells * config.trials;
  if (trials <= kMostTrialsOfASweep) return {};
  if (!config.variants.empty()) product += fmt::format(" x {} variants", config.variants.size());
  if (!config.phases.empty()) product += fmt::format(" x {} phases", config.phases.size());
  return fail(config.source,
              fmt::format("the grid of {} cells ({}) times {} trials is more than {:.0f} trials",
                          cells, product, config.trials, kMostTrialsOfASweep),
              "shorten an axis, lower trials, or split it over several configurations");
}

/// What the cell runs: the configuration's command with what the variant, if it is one, adds.
void give_command(PlannedCell& cell, const SweepConfig& config, const Variant& variant) {
  cell.args = config.args;
  cell.args.insert(cell.args.end(), variant.args.begin(), variant.args.end());
  if (const Phase* phase = phase_of(cell, config)) {
    cell.args.insert(cell.args.end(), phase->args.begin(), phase->args.end());
  }
  cell.env = variant.env;
  cell.env.insert(config.env.begin(), config.env.end());
  cell.trainer = variant.trainer;
}

/// The variant is part of the identity by its name alone: what it changes is what is compared.
void name_variant(PlannedCell& cell, Point& point, const Variant& variant, const Secrets& secrets) {
  if (variant.name.empty()) return;
  cell.identity.axes[kVariantAxis] = point[kVariantAxis] = variant.name;
  cell.key = cell.identity.key();
  auto& words = cell.variant.emplace();
  for (const auto& [name, value] : variant.env) {
    if (!secrets.held_by(value)) words.push_back(fmt::format("{}={}", name, value));
  }
  words.insert(words.end(), variant.args.begin(), variant.args.end());
  const OptionValues own = given_options(variant.args);
  if (const auto it = own.find("threads"); it != own.end()) cell.threads = it->second;
}

/// Takes the cell to phase `index` of the configuration, whose last point of the grid it is of.
void enter_phase(PlannedCell& cell, const SweepConfig& config, std::size_t index) {
  cell.phase = static_cast<int>(index) + 1;
  for (const auto& [axis, value] : config.phases[index].axes) cell.point[axis] = value;
  cell.point[kPhaseAxis] = std::to_string(cell.phase);
  cell.steps = 0;
  for (std::size_t i = 0; i <= index; ++i) cell.steps += config.phases[i].steps;
}

/// `idle`: set to which entries of "exclude" leave nothing out.
Result<std::vector<PlannedCell>> expand(const Plan& plan, std::vector<bool>& idle) {
  const SweepConfig& config = plan.config;
  idle.assign(config.exclude.size(), true);
  const Workload& workload = plan.workload;
  const auto loops = loops_of(config);
  if (auto small = check_size(config, loops); !small) return tl::unexpected(small.error());
  const std::size_t members = members_of_point(config);
  std::vector<PlannedCell> cells;
  std::vector<std::size_t> at(loops.size(), 0);
  for (bool more = true; more;) {
    Point point;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      for (const auto* axis : loops[i].axes) point[axis->name] = axis->values[at[i]];
    }
    for (const auto& [axis, value] : workload.defaults) point.try_emplace(axis, value);
    std::vector<PlannedCell> here;
    Result<void> divided;
    bool excluded = false;
    for (std::size_t member = 0; member < members; ++member) {
      PlannedCell& one = here.emplace_back();
      one.point = point;
      one.steps = config.steps;
      if (!config.phases.empty()) enter_phase(one, config, member);
      const auto topology = complete(one.point, workload);
      if (topology) one.topology = *topology;
      if (!topology && divided) divided = tl::unexpected(topology.error());
      for (std::size_t i = 0; i < config.exclude.size(); ++i) {
        if (!matches(one.point, config.exclude[i])) continue;
        excluded = true;
        idle[i] = false;
      }
    }
    if (!excluded && !divided) return fail(config.source, divided.error().message());
    if (excluded) here.clear();
    for (std::size_t member = 0; member < here.size(); ++member) {
      static const Variant kNone;
      const Variant& variant = config.variants.empty() ? kNone : config.variants[member];
      PlannedCell& one = here[member];
      give_command(one, config, variant);
      identify(one, one.point, plan);
      name_variant(one, one.point, variant, config.secrets);
      one.grid_point = cells.size() / members;
      const auto way = choose_way(workload, one, config.launcher);
      if (!way) return tl::unexpected(way.error());
      one.way = *way;
      if (!workload.is_bert_train) one.command = template_command(config, workload, one);
      label(one, plan);
    }
    std::vector<std::string> phases;
    for (const PlannedCell& one : here) {
      if (one.phase > 0) phases.push_back(one.key);
    }
    for (PlannedCell& one : here) one.phases = phases;
    std::ranges::move(here, std::back_inserter(cells));
    more = false;
    for (std::size_t i = loops.size(); i-- > 0;) {
      if (++at[i] < loops[i].length) {
        more = true;
        break;
      }
      at[i] = 0;
    }
  }
  return cells;
}

/// --only key=v1,v2 over all cells; returns which cells stay. Of phases the earlier ones stay as
/// well: without the checkpoint of phase 1, phase 2 cannot be run.
Result<std::vector<bool>> select(const std::vector<PlannedCell>& cells,
                                 const std::vector<std::string>& only) {
  std::vector<bool> keep(cells.size(), true);
  for (const auto& text : only) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail("--only " + text, "has no value", "write it as --only model=bert-tiny,bert-mini");
    }
    const auto name = canonical_axis(text.substr(0, equals));
    std::vector<std::string> names{"key"};
    for (const auto& [axis, value] : cells.front().point) names.push_back(axis);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return fail("--only " + text, fmt::format("'{}' is no axis of this sweep", name),
                  name_hint(name, names, "axes: "));
    }
    const auto value_of = [&](const PlannedCell& cell) {
      return name == "key" ? cell.key : cell.point.at(name);
    };
    const std::string list = text.substr(equals + 1);
    std::set<std::string> wanted;
    for (const auto value : split(list, ',')) wanted.emplace(value);
    for (const auto& value : wanted) {
      if (std::any_of(cells.begin(), cells.end(),
                      [&](const auto& cell) { return value_of(cell) == value; })) {
        continue;
      }
      std::set<std::string> there;
      for (const auto& cell : cells) there.insert(value_of(cell));
      return fail("--only " + text, fmt::format("no cell has {} = '{}'", name, value),
                  fmt::format("values: {}", fmt::join(there, ", ")));
    }
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!wanted.contains(value_of(cells[i]))) keep[i] = false;
    }
  }
  std::set<std::string> kept;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (keep[i]) kept.insert(cells[i].key);
  }
  for (std::size_t i = 0; i < cells.size(); ++i) keep[i] = needed_for(cells[i], kept);
  return keep;
}

/// Entries of "exclude" that name a variant: the others of their point stay.
void leave_out_variants(const Plan& plan, std::vector<bool>& keep, std::vector<bool>& idle) {
  for (std::size_t e = 0; e < idle.size(); ++e) {
    const Exclude& entry = plan.config.exclude[e];
    if (!entry.contains(kVariantAxis)) continue;
    for (std::size_t i = 0; i < keep.size(); ++i) {
      if (!matches(plan.cells[i].point, entry)) continue;
      keep[i] = false;
      idle[e] = false;
    }
  }
}

/// Options of the command line win over the configuration.
void override_config(SweepConfig& config, const PlanOptions& options) {
  if (options.trials > 0) {
    config.trials = options.trials;
    config.auto_trials = false;
  }
  if (!options.launcher.empty()) config.launcher = options.launcher;
}

void name_folders(std::vector<PlannedCell>& cells) {
  std::vector<std::string> keys;
  for (const auto& cell : cells) keys.push_back(cell.key);
  const auto folders = safe_names(keys);
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i].folder = folders[i];
}

/// The trials of the cells that `keep` names, in the order in which they run. Variants of one point
/// follow each other in each block, whatever the order is, and phases do in theirs.
std::vector<PlannedTrial> order_trials(const SweepConfig& config, const std::vector<bool>& keep) {
  std::vector<PlannedTrial> out;
  const std::size_t members = members_of_point(config);
  const auto add_block = [&](std::size_t point, int trial) {
    std::vector<std::size_t> order(members);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const bool drawn = !config.variants.empty();
    if (drawn) order = order_in_block(config.order_seed, point, trial, members);
    int position = 0;
    for (const std::size_t i : order) {
      ++position;
      const std::size_t cell = point * members + i;
      if (keep[cell]) out.push_back({cell, trial, drawn ? position : 0});
    }
  };
  const std::size_t points = keep.size() / members;
  if (config.order == Order::interleaved) {
    for (int trial = 1; trial <= config.trials; ++trial) {
      for (std::size_t point = 0; point < points; ++point) add_block(point, trial);
    }
  } else {
    for (std::size_t point = 0; point < points; ++point) {
      for (int trial = 1; trial <= config.trials; ++trial) add_block(point, trial);
    }
  }
  return out;
}

/// What is worth a thought before the start; what else warns of a cell is for the report.
std::vector<std::string> notices_of(const Plan& plan, const std::vector<bool>& idle) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < idle.size(); ++i) {
    if (!idle[i]) continue;
    out.push_back(fmt::format("exclude[{}] matches no cell: it leaves nothing out", i));
  }
  std::set<std::string> added;
  for (const auto& trial : plan.trials) {
    for (const auto& warning : plan.cells[trial.cell].warnings) {
      const bool early = warning.code == NoticeCode::nodes_emulated ||
                         warning.code == NoticeCode::ranks_outnumber_cores;
      if (!early) continue;
      if (std::string text = text_of(warning); added.insert(text).second) out.push_back(text);
    }
  }
  if (const RankHosts hosts = plan.launcher->hosts;
      hosts != RankHosts::configured && !plan.config.hosts.empty()) {
    out.push_back(fmt::format(
        "launcher {} {}; 'hosts' is not used", plan.launcher->name,
        std::string_view(hosts == RankHosts::this_machine ? "starts every rank here"
                                                          : "gets its nodes from a queue")));
  }
  if (!plan.config.asks_for_steps()) {
    out.emplace_back(
        "no word of the command holds {steps}: the program decides how many steps a trial has");
  }
  if (plan.config.command && !plan.config.axis("micro_batch_size")) {
    out.emplace_back(
        "the grid has no micro_batch_size: where the log does not name it either, rates are in "
        "iterations/s; --grid micro_batch_size=N names it");
  }
  return out;
}

/// Turns are given to single processes that the harness starts and that ask for them.
Result<void> check_turns(const Plan& plan) {
  if (!(plan.config.turn_s > 0)) return {};
  const char* rule = "is for bert_train, one process a trial, on this machine";
  if (!plan.workload.is_bert_train) {
    return fail("turn_s", fmt::format("{}: {} takes no turns", rule, plan.workload.name),
                "remove it: its variants run one after the other");
  }
  if (plan.launcher->hosts != RankHosts::this_machine) {
    return fail("turn_s",
                fmt::format("{}: launcher {} starts ranks elsewhere", rule, plan.config.launcher),
                "use launcher local, or remove it");
  }
  for (const auto& trial : plan.trials) {
    const auto& cell = plan.cells[trial.cell];
    if (cell.topology.world_size() == 1) continue;
    return fail("turn_s",
                fmt::format("{}: {} has {} ranks", rule, cell.key, cell.topology.world_size()),
                "ranks that wait for each other cannot wait for turns as well");
  }
  return {};
}

}  // namespace

Result<Plan> make_plan(const SweepConfig& config, const PlanOptions& options) {
  Plan plan;
  plan.config = config;
  override_config(plan.config, options);
  if (plan.config.auto_trials && !plan.config.variants.empty() &&
      plan.config.order != Order::interleaved) {
    return fail("order", "must be interleaved where pairs end by \"trials\": \"auto\"",
                "a look at them needs the same blocks of all cells");
  }
  if (!plan.config.variants.empty() && std::cmp_greater(plan.config.trials, kMostPairs)) {
    return fail("trials", fmt::format("must be at most {} in a sweep with variants", kMostPairs),
                "fewer than 100 pairs find 2 % in all but very noisy cells");
  }
  const auto launcher = find_launcher(plan.config.launcher);
  if (!launcher) return tl::unexpected(launcher.error());
  plan.launcher = *launcher;
  if (plan.config.pty && plan.launcher->hosts != RankHosts::this_machine) {
    return fail("pty",
                fmt::format("launcher {} starts ranks where no terminal of this machine is",
                            plan.config.launcher),
                "use it with launcher local; PYTHONUNBUFFERED=1 in env does the same for Python");
  }
  auto workload =
      config.command ? *config.command : find_workload(config.workload, options.trainer);
  if (!workload) return fail(config.source, workload.error().message());
  plan.workload = std::move(*workload);
  plan.cores = options.cores > 0 ? options.cores : usable_cores();

  std::vector<bool> idle;
  auto cells = expand(plan, idle);
  if (!cells) return tl::unexpected(cells.error());
  plan.cells = std::move(*cells);
  if (plan.cells.empty()) {
    return fail(config.source, "the excludes leave no cell of the grid",
                "remove an entry of 'exclude'");
  }
  std::set<std::string> keys;
  for (const auto& cell : plan.cells) {
    if (!keys.insert(cell.key).second) {
      return fail(config.source, fmt::format("the grid holds the cell {} twice", cell.key),
                  "zipped rows must differ");
    }
  }
  name_folders(plan.cells);

  auto keep = select(plan.cells, options.only);
  if (!keep) return tl::unexpected(keep.error());
  leave_out_variants(plan, *keep, idle);
  plan.trials = order_trials(plan.config, *keep);
  if (plan.trials.empty()) {
    return fail("--only", "together these leave no cell", "loosen one of them");
  }
  if (auto good = check_turns(plan); !good) return tl::unexpected(good.error());
  const bool by_hosts = plan.launcher->hosts == RankHosts::configured;
  for (const auto& trial : by_hosts ? plan.trials : std::vector<PlannedTrial>{}) {
    const auto& cell = plan.cells[trial.cell];
    if (auto good = check_slots(plan.config.hosts, plan.config.slots, cell.topology); !good) {
      return tl::unexpected(good.error());
    }
  }
  plan.notices = notices_of(plan, idle);
  if (auto good = check_words(plan); !good) return tl::unexpected(good.error());
  auto missing = missing_needs(plan);
  if (!missing) return tl::unexpected(missing.error());
  plan.missing = std::move(*missing);
  return plan;
}

bool needed_for(const PlannedCell& cell, const std::set<std::string>& keys) {
  if (keys.contains(cell.key)) return true;
  const auto later = cell.phases | std::views::drop(cell.phase);
  return std::ranges::any_of(later, [&](const auto& key) { return keys.contains(key); });
}

void set_micro_batch(Plan& plan, std::size_t index, std::int64_t micro_batch_size) {
  PlannedCell& cell = plan.cells[index];
  cell.identity.micro_batch_size = micro_batch_size;
  cell.point["micro_batch_size"] = std::to_string(micro_batch_size);
  cell.key = cell.identity.key();
  name_folders(plan.cells);
}

std::string batch_group(const Plan& plan, const PlannedTrial& trial) {
  const auto& kind = plan.config.slurm.job;
  const auto nodes = plan.cells[trial.cell].topology.nodes;
  const auto point = plan.cells[trial.cell].grid_point;  // phases of a trial need one order
  if (kind == "nodes") return fmt::format("n{}", nodes);
  if (kind == "cell") return fmt::format("c{}", point);
  return fmt::format("c{}t{}", point, trial.trial);
}

namespace {

/// The job that would hold a trial, with placeholders for what is drawn at the start.
BatchJob job_of_group(const Plan& plan, const PlannedTrial& trial, const std::string& out) {
  BatchJob job;
  const auto group = batch_group(plan, trial);
  job.name = "bb-<run>-" + group;
  job.folder = fmt::format("{}/jobs/{}", out.empty() ? "<out>" : out, job.name);
  job.nodes = process_count(plan, plan.cells[trial.cell]).nodes;
  job.timeout_s = plan.config.timeout_s;
  for (const auto& other : plan.trials) {
    if (batch_group(plan, other) != group) continue;
    const auto& cell = plan.cells[other.cell];
    job.gpus_per_node = std::max(job.gpus_per_node, cell.topology.gpus_per_node);
    job.processes_per_node = std::max(job.processes_per_node, process_count(plan, cell).per_node);
  }
  return job;
}

/// " NAME=VALUE ... ARG ...", quoted. Ranks of one program differ in a few variables only: those
/// are shown as a range, and only one rank is.
std::string text_of(const std::vector<ProcessSpec>& processes) {
  const auto& first = processes.front();
  const auto& last = processes.back();
  const bool same_argv = std::all_of(processes.begin(), processes.end(),
                                     [&](const auto& p) { return p.argv == first.argv; });
  const std::size_t shown = same_argv ? 1 : processes.size();
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& one = processes[i];
    if (i) text += " ;";
    for (std::size_t v = 0; v < one.set.size(); ++v) {
      const auto& [name, value] = one.set[v];
      text += fmt::format(" {}={}", name, shell_quote(value));
      if (!same_argv || v >= last.set.size()) continue;
      const auto& [last_name, last_value] = last.set[v];
      if (last_name == name && last_value != value) text += ".." + shell_quote(last_value);
    }
    for (const auto& arg : one.argv) text += " " + shell_quote(arg);
    if (!one.input.empty()) text += " <";
    for (const auto& word : one.input) text += " " + shell_quote(word);
  }
  return text;
}

}  // namespace

Result<std::vector<std::string>> dry_run(const Plan& plan, const std::string& out) {
  const Launcher& launcher = *plan.launcher;
  std::vector<std::string> lines;
  for (const auto& trial : plan.trials) {
    const auto& cell = plan.cells[trial.cell];
    LaunchPlace place;
    place.directory =
        fmt::format("{}/{}/trial_{}", out.empty() ? "<out>" : out, cell.folder, trial.trial);
    auto processes = launcher.processes(plan, trial, place);
    if (!processes) return tl::unexpected(processes.error());
    std::string line =
        fmt::format("{} trial={} world_size={}{} launcher={}", escape_for_terminal(cell.key),
                    trial.trial, cell.identity.world_size().value_or(0),
                    cell.identity.simulated() ? " simulated" : "", launcher.name);
    if (const auto* queue = launcher.queue()) {
      const auto job = job_of_group(plan, trial, out);
      line += fmt::format(" job={} :", job.name);
      for (const auto& word : queue->submit_command(plan, job)) line += " " + shell_quote(word);
      line += " ; in the job";
    }
    if (processes->size() > 1) line += fmt::format(" processes={}", processes->size());
    line += " :" + text_of(*processes);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace bertbench
