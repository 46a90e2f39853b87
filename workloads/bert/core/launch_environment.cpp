#include "workloads/bert/core/launch_environment.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

namespace bert {
namespace {

std::optional<int> parse_int(const std::string& text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end) {
    return std::nullopt;
  }
  return value;
}

// One launcher's names; empty = that launcher has no such variable.
struct VariableSet {
  const char* source;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
};

constexpr VariableSet kVariableSets[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"pmi", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", ""},
};

class Reader {
 public:
  explicit Reader(const GetVariable& get) : get_(get) {}

  // A variable that is set but not a whole number >= minimum is an error, never ignored.
  Result<std::optional<int>> number(const std::string& name, int minimum) const {
    if (name.empty()) {
      return std::optional<int>{};
    }
    const auto text = get_(name);
    if (!text) {
      return std::optional<int>{};
    }
    const auto value = parse_int(*text);
    if (!value || *value < minimum) {
      return usage_error(
          fmt::format("{}={} is not a whole number of at least {}: fix the launcher "
                      "or unset it",
                      name, *text, minimum));
    }
    return value;
  }

  Result<LaunchEnvironment> read(const VariableSet& set, bool& found) const {
    LaunchEnvironment env;
    env.source = set.source;
    const bool slurm = env.source == "slurm";
    auto rank = number(set.rank, 0);
    if (!rank) {
      return tl::unexpected(rank.error());
    }
    std::string size_name = set.size;
    if (slurm && get_("SLURM_STEP_NUM_TASKS")) {
      size_name = "SLURM_STEP_NUM_TASKS";  // srun may start fewer tasks than the job has
    }
    auto size = number(size_name, 1);
    if (!size) {
      return tl::unexpected(size.error());
    }
    found = rank->has_value() || (size->has_value() && !slurm);
    if (!found) {
      return env;  // an allocation shell has SLURM_NTASKS without SLURM_PROCID: not launched
    }
    if (!rank->has_value() || !size->has_value()) {
      return usage_error(fmt::format("{} is set but {} is not: set both, or unset both",
                                     rank->has_value() ? set.rank : size_name.c_str(),
                                     rank->has_value() ? size_name.c_str() : set.rank));
    }
    env.rank = **rank;
    env.world_size = **size;
    if (env.rank >= env.world_size) {
      return usage_error(
          fmt::format("{}={} is not below {}={}", set.rank, env.rank, size_name, env.world_size));
    }
    return local(set, env);
  }

 private:
  Result<LaunchEnvironment> local(const VariableSet& set, LaunchEnvironment env) const {
    auto local_rank = number(set.local_rank, 0);
    auto local_size = number(set.local_size, 1);
    for (const auto* value : {&local_rank, &local_size}) {
      if (!*value) {
        return tl::unexpected(value->error());
      }
    }
    if (env.source == "slurm") {
      const auto node = number("SLURM_NODEID", 0);
      auto tasks = get_("SLURM_STEP_TASKS_PER_NODE");
      tasks = tasks ? tasks : get_("SLURM_TASKS_PER_NODE");
      if (tasks && node) {
        *local_size = slurm_tasks_on_node(*tasks, node->value_or(0));
      }
    }
    env.local_world_size = local_size->value_or(env.world_size);
    env.local_rank = local_rank->value_or(env.rank % env.local_world_size);
    if (env.local_world_size > env.world_size || env.local_rank >= env.local_world_size) {
      return usage_error(
          fmt::format("{} variables contradict each other: rank {} of {}, local rank {} of {}",
                      env.source, env.rank, env.world_size, env.local_rank, env.local_world_size));
    }
    return env;
  }

  const GetVariable& get_;
};

Result<LaunchEnvironment> with_master(LaunchEnvironment env, const GetVariable& get,
                                      const Reader& reader) {
  const auto address = get("MASTER_ADDR");
  if (address && !address->empty()) {
    env.master_address = *address;
  } else if (env.world_size > env.local_world_size) {
    auto hosts = get("SLURM_STEP_NODELIST");
    hosts = hosts ? hosts : get("SLURM_JOB_NODELIST");
    env.master_address = hosts ? first_slurm_host(*hosts) : "";
    if (env.master_address.empty()) {
      return usage_error(fmt::format(
          "{} ranks on several nodes and no MASTER_ADDR: set it to the host of rank 0 (Open MPI: "
          "mpirun -x MASTER_ADDR=HOST -x MASTER_PORT=PORT)",
          env.world_size));
    }
  }
  auto port = reader.number("MASTER_PORT", 1);
  if (!port) {
    return tl::unexpected(port.error());
  }
  if (port->has_value()) {
    env.master_port = **port;
    if (get("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True") {
      ++env.master_port;  // torchrun's agent serves its own store on MASTER_PORT
    }
  } else if (env.source == "slurm") {
    const auto job = parse_int(get("SLURM_JOB_ID").value_or(""));
    env.master_port += job.value_or(0) % 20000;
  }
  if (env.master_port > 65535) {
    return usage_error(fmt::format("MASTER_PORT={} is not a TCP port", env.master_port));
  }
  return env;
}

}  // namespace

Result<LaunchEnvironment> read_launch_environment(const GetVariable& get) {
  const Reader reader(get);
  for (const VariableSet& set : kVariableSets) {
    bool found = false;
    auto env = reader.read(set, found);
    if (!env) {
      return env;
    }
    if (found) {
      return with_master(std::move(*env), get, reader);
    }
  }
  return LaunchEnvironment{};
}

Result<LaunchEnvironment> read_launch_environment() {
  return read_launch_environment([](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
}

std::string first_slurm_host(const std::string& list) {
  const std::size_t end = list.find_first_of(",[");
  std::string host = list.substr(0, end);
  if (end == std::string::npos || list[end] == ',') {
    return host;
  }
  const std::size_t close = list.find(']', end);
  const std::size_t stop = list.find_first_of(",-]", end + 1);
  if (close == std::string::npos || stop == end + 1) {
    return "";
  }
  host += list.substr(end + 1, stop - end - 1);
  const std::size_t tail = list.find(',', close);
  return host + list.substr(close + 1, tail == std::string::npos ? tail : tail - close - 1);
}

std::optional<int> slurm_tasks_on_node(const std::string& tasks, int node) {
  std::size_t at = 0;
  while (at < tasks.size()) {
    const std::size_t end = std::min(tasks.find(',', at), tasks.size());
    const std::string item = tasks.substr(at, end - at);
    const std::size_t times = item.find("(x");
    const auto count = parse_int(item.substr(0, times));
    int repeat = 1;
    if (times != std::string::npos) {
      if (item.back() != ')') {
        return std::nullopt;
      }
      repeat = parse_int(item.substr(times + 2, item.size() - times - 3)).value_or(0);
    }
    if (!count || *count < 1 || repeat < 1) {
      return std::nullopt;
    }
    if (node < repeat) {
      return count;
    }
    node -= repeat;
    at = end + 1;
  }
  return std::nullopt;
}

}  // namespace bert
