#include "harness/sweep/launch/slurm_jobs.h"

#include <fmt/format.h>

#include <cstdlib>
#include <set>
#include <tuple>

#include "harness/sweep/plan/placement.h"
#include "harness/sweep/process/process.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

using std::chrono::seconds;

// $1: folder of the job, $2: seconds that an attempt may take. Nothing of a config is part of this
// text: what to run is read as NUL-ended words and never looked at by the shell again.
constexpr std::string_view kScript = R"sh(#!/bin/bash
# A job of bertbench: runs the attempts named in JOB/trials one after the other, and leaves marks
# in their folders (see docs/launchers.md). The same text for every job.
job=$1 limit=${2%.*}
set -u -o noclobber
umask 022
uptime() { local now; read -r now _ </proc/uptime; echo "$now"; }
# A mark is whole or not there, and never written through a link.
mark() {
  rm -f "$1.new"
  printf '%s\n' "$2" >"$1.new" && sync "$1.new" && mv -fT "$1.new" "$1"
}
void() { [ -e "$job/void" ]; }
aborted='^srun: (error: Node failure|Job step aborted)'
cancelled=
holder=
trap 'cancelled=1; [ -z "$holder" ] || kill "$holder" 2>/dev/null' TERM INT
nodes=$(scontrol show node "$SLURM_JOB_NODELIST" --oneliner 2>/dev/null | sed -n \
  's/^NodeName=\([^ ]*\) .* NodeHostName=\([^ ]*\) .*/\1 \2/p')
mapfile -d '' -t attempts <"$job/trials"
for dir in "${attempts[@]}"; do
  void && exit 0
  [ -n "$cancelled" ] && exit 0
  # Of an earlier start of this job, before Slurm queued it again.
  [ -e "$dir/ended" ] && continue
  [ -e "$dir/cancel" ] && continue
  # Given to another job since.
  owner=
  read -r owner 2>/dev/null <"$dir/job" || continue
  [ "$owner" = "${job##*/}" ] || continue
  if [ -L "$dir" ] || [ -L "$dir/log.txt" ] || [ ! -f "$dir/log.txt" ]; then continue; fi
  mapfile -d '' -t bertbench_variables <"$dir/launch.env"
  mapfile -d '' -t bertbench_words <"$dir/launch.argv"
  begin=$(uptime)
  mark "$dir/nodes" "$nodes"
  mark "$dir/started" "$SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0} $begin"
  cause=exited
  rm -f "$dir/over"
  # The end of this pipe is the order to stop: see the supervisor of a rank.
  exec 4< <(exec sleep 2147483647)
  holder=$!
  # No program env, whose arguments everybody on the node could read.
  (
    exec 4<&-
    while [ "${bertbench_variables[0]-}" = -u ]; do
      unset "${bertbench_variables[1]}"
      bertbench_variables=("${bertbench_variables[@]:2}")
    done
    [ "${#bertbench_variables[@]}" -eq 0 ] || export "${bertbench_variables[@]}"
    exec "${bertbench_words[@]}"
  ) <&4 >>"$dir/log.txt" 2>&1 &
  step=$!
  exec 4<&-
  (
    while sleep 1; do
      now=$(uptime)
      if [ -e "$dir/cancel" ] || void; then break; fi
      if [ $((${now%.*} - ${begin%.*})) -gt "$limit" ]; then mark "$dir/over" timeout; break; fi
    done
    kill "$holder"
    sleep 20
    kill -KILL "$step"
  ) 2>/dev/null &
  watch=$!
  while :; do
    wait "$step"
    status=$?
    kill -0 "$step" 2>/dev/null || break
  done
  end=$(uptime)
  kill "$watch" "$holder" 2>/dev/null
  # Where Slurm itself ended the ranks (a node lost, the job cancelled), it ends this script too:
  # then the attempt has no end of its own. srun may give 0 for a trainer that ended on its signal.
  if [ "$status" -ne 0 ] || tail -c 4096 "$dir/log.txt" | grep -aqE "$aborted"; then sleep 2; fi
  void && exit 0
  # Else Slurm calls a job completed whose ranks it killed late, for a node that was lost before.
  [ -z "$cancelled" ] || exit 143
  [ -e "$dir/over" ] && cause=timeout
  [ -e "$dir/cancel" ] && cause=cancelled
  mark "$dir/ended" "$status $begin $end $cause"
done
)sh";

constexpr const char* kFormat = "--format=%j|%A|%T|%r|%N";

bool wanted() { return std::getenv("SLURM_JOB_ID") == nullptr; }

std::vector<std::string> submit_command(const Plan& plan, const BatchJob& job) {
  const auto& options = plan.config.slurm;
  // '%' begins a pattern in the name of an output file.
  std::string output;
  for (const char c : job.folder + "/job.log") output += c == '%' ? "%%" : std::string(1, c);
  std::vector<std::string> argv{"sbatch",
                                "--parsable",
                                "--job-name=" + job.name,
                                fmt::format("--nodes={}", job.nodes),
                                fmt::format("--ntasks-per-node={}", job.processes_per_node),
                                "--output=" + output,
                                "--open-mode=append",
                                "--requeue",
                                "--export=ALL"};
  const auto add = [&argv](const char* name, const std::string& value) {
    if (!value.empty()) argv.push_back(fmt::format("--{}={}", name, value));
  };
  add("account", options.account);
  add("partition", options.partition);
  add("qos", options.qos);
  add("constraint", options.constraint);
  add("reservation", options.reservation);
  add("time", options.time_limit);
  auto gres = options.gres;
  const std::string_view place = "{gpus_per_node}";
  for (auto at = gres.find(place); at != std::string::npos; at = gres.find(place)) {
    gres.replace(at, place.size(), std::to_string(job.gpus_per_node));
  }
  add("gres", gres);
  if (options.cpus_per_task > 0) add("cpus-per-task", std::to_string(options.cpus_per_task));
  if (options.exclusive) argv.emplace_back("--exclusive");
  argv.insert(argv.end(), options.args.begin(), options.args.end());
  argv.push_back(job.folder + "/script.sh");
  argv.push_back(job.folder);
  argv.push_back(fmt::format("{:.0f}", job.timeout_s));
  return argv;
}

/// State of the queue and what an attempt is that was cut off by it.
std::pair<QueueState, Status> state_of(std::string_view word, std::string_view reason) {
  if (word == "PENDING" && (reason.starts_with("JobHeld") || reason.find("held") != reason.npos)) {
    return {QueueState::held, Status::error};
  }
  for (const auto* waiting :
       {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD"}) {
    if (word == waiting) return {QueueState::waiting, Status::error};
  }
  for (const auto* running : {"RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "STOPPED",
                              "SIGNALING", "RESIZING", "STAGE_OUT"}) {
    if (word == running) return {QueueState::running, Status::error};
  }
  if (word == "CANCELLED" || word == "PREEMPTED" || word == "REVOKED") {
    return {QueueState::ended, Status::killed};
  }
  if (word == "TIMEOUT" || word == "DEADLINE") return {QueueState::ended, Status::timeout};
  if (word == "OUT_OF_MEMORY") return {QueueState::ended, Status::out_of_memory};
  return {QueueState::ended, Status::error};  // COMPLETED, FAILED, NODE_FAIL, BOOT_FAIL
}

std::string nodes_text(const std::vector<std::string>& argv) {
  std::string out;
  const auto text = capture_output(argv, seconds(10)).value_or("");
  for (const auto line : split(text, '\n')) {
    std::string node, host;
    for (const auto word : split(line, ' ')) {
      if (word.starts_with("NodeName=")) node = word.substr(9);
      if (word.starts_with("NodeHostName=")) host = word.substr(13);
    }
    if (!node.empty()) out += fmt::format("{} {}\n", node, host.empty() ? node : host);
  }
  return out;
}

bool share_machines() {
  std::set<std::string> hosts;
  const auto nodes = parse_nodes(nodes_text({"scontrol", "show", "node", "--oneliner"}));
  for (const auto& one : nodes) hosts.insert(one.host);
  return hosts.size() < nodes.size();
}

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ","));
}

std::optional<std::map<std::string, QueueEntry>> query(const std::vector<std::string>& names) {
  const auto text = capture_output(
      {"squeue", "--noheader", "--states=all", "--name=" + joined(names), kFormat}, seconds(10));
  if (!text) return std::nullopt;
  return parse_squeue(*text);
}

void cancel(const std::vector<std::string>& names) {
  for (const auto& name : names) {
    capture_output({"scancel", "--quiet", "--name=" + name}, seconds(15));
  }
}

}  // namespace

std::string slurm_name(std::string_view marker, std::string_view suffix) {
  if (marker.starts_with("job:")) marker.remove_prefix(4);
  std::string name = "bb";
  if (!marker.empty()) name += "-" + std::string(marker.substr(0, marker.find(':')));
  return name + std::string(suffix);
}

std::map<std::string, QueueEntry> parse_squeue(std::string_view text) {
  std::map<std::string, QueueEntry> out;
  for (const auto line : split(text, '\n')) {
    const auto fields = split(trim(line), '|');
    if (fields.size() < 4) continue;
    QueueEntry entry;
    entry.id = fields[1];
    entry.word = fields[2];
    entry.reason = fields[3];
    std::tie(entry.state, entry.outcome) = state_of(fields[2], fields[3]);
    // Waiting helps with these alone, and not with PartitionNodeLimit or BadConstraints.
    constexpr std::string_view kUsual[] = {"",          "None",     "Priority",   "Resources",
                                           "BeginTime", "Licenses", "Dependency", "Reservation"};
    entry.reason_is_usual = std::ranges::find(kUsual, entry.reason) != std::end(kUsual);
    entry.launch_failed =
        entry.state == QueueState::held && entry.reason.starts_with("launch failed");
    const auto [it, fresh] = out.emplace(std::string(fields[0]), entry);
    if (!fresh && it->second.state == QueueState::ended) it->second = entry;
  }
  return out;
}

void end_slurm_steps(const std::string& run_id) {
  const char* job = std::getenv("SLURM_JOB_ID");
  if (!job) return;
  const auto text = capture_output(
      {"squeue", "--noheader", "--steps", std::string("--jobs=") + job, "--format=%i|%j"},
      seconds(10));
  for (const auto line : split(text.value_or(""), '\n')) {
    const auto fields = split(trim(line), '|');
    if (fields.size() != 2 || fields[1] != slurm_name(run_id + ":", "")) continue;
    capture_output({"scancel", std::string(fields[0])}, seconds(10));
  }
}

std::string read_slurm_nodes() {
  const char* list = std::getenv("SLURM_JOB_NODELIST");
  return list ? nodes_text({"scontrol", "show", "node", list, "--oneliner"}) : std::string();
}

extern const BatchSystem slurm_batch;
const BatchSystem slurm_batch{"Slurm", wanted, kScript,       submit_command,
                              query,   cancel, share_machines};

}  // namespace bertbench
