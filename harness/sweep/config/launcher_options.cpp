#include "harness/sweep/config/launcher_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "parsers/core/text.h"

namespace bertbench {
namespace {

/// A word that Slurm takes as it is: no blank, nothing that a shell or a file name would act on.
void check_plain(ConfigReader& in, const std::string& pointer, const std::string& value,
                 const std::string& also) {
  const bool good = !value.starts_with('-') && std::all_of(value.begin(), value.end(), [&](char c) {
    return is_name_char(c) || c == '-' || c == '.' || also.find(c) != std::string::npos;
  });
  if (!good) {
    in.fail_at(pointer, fmt::format("'{}' holds a character that is not allowed here", value),
               fmt::format("letters, digits and _-.{}, not beginning with '-'", also));
  }
}

/// Options by which the launcher gives a trial its shape, its output and its environment.
constexpr std::string_view kSetByLauncher[] = {"--nodes",
                                               "--ntasks",
                                               "--ntasks-per-node",
                                               "--job-name",
                                               "--output",
                                               "--error",
                                               "--input",
                                               "--export",
                                               "--mpi",
                                               "--parsable",
                                               "--open-mode",
                                               "--requeue",
                                               "--no-requeue",
                                               "--array",
                                               "--wrap",
                                               "--chdir",
                                               "--kill-on-bad-exit",
                                               "--export-file",
                                               "--multi-prog",
                                               "--label"};

/// Options of sbatch and srun. A word that is none would be the script or the program.
void read_slurm_args(ConfigReader& in, const Json& slurm, std::vector<std::string>& args) {
  in.texts(slurm, "/slurm", "args", args);
  for (const std::string& arg : args) {
    const auto name = arg.substr(0, arg.find('='));
    if (!arg.starts_with("--") || name.size() < 3) {
      in.fail_at("/slurm/args", fmt::format("'{}' is no long option", arg),
                 "give each as one word, \"--nodelist=node[1-4]\"");
    } else if (std::ranges::find(kSetByLauncher, name) != std::end(kSetByLauncher)) {
      in.fail_at("/slurm/args", fmt::format("'{}' is set by the launcher", name),
                 "shape, output and environment follow from the grid; leave it out");
    }
  }
}

/// Of pyxis, whose lists are separated by commas.
void read_container(ConfigReader& in, const Json& slurm, SlurmOptions::Container& container) {
  const std::string at = "/slurm/container";
  const Json* object = in.section(slurm, "/slurm", "container");
  if (object == nullptr) return;
  in.text(*object, at, "image", container.image);
  in.texts(*object, at, "mounts", container.mounts);
  in.text(*object, at, "workdir", container.workdir);
  for (const std::string& mount : container.mounts) {
    if (mount.find(',') == mount.npos && mount.find(':') != mount.npos) continue;
    in.fail_at(at + "/mounts", fmt::format("'{}' is no SOURCE:TARGET without a comma", mount));
  }
  if (container.image.empty() && !(container.mounts.empty() && container.workdir.empty())) {
    in.fail_at(at, "has no image",
               "name it: \"image\": \"docker://nvcr.io#nvidia/pytorch:25.10-py3\"");
  }
}

void read_slurm(ConfigReader& in, SlurmOptions& options) {
  const std::string at = "/slurm";
  const auto* slurm = in.section(in.root(), "", "slurm");
  if (!slurm) return;
  in.text(*slurm, at, "job", options.job);
  in.integer(*slurm, at, "max_jobs", options.max_jobs);
  const auto plain = [&](const char* key, std::string& value, const char* also) {
    in.text(*slurm, at, key, value);
    check_plain(in, at + "/" + key, value, also);
  };
  plain("account", options.account, "");
  plain("partition", options.partition, ",");
  plain("qos", options.qos, "");
  plain("constraint", options.constraint, "&|[]()*,:!");
  plain("reservation", options.reservation, ",");
  plain("gres", options.gres, ":,={}");
  plain("time_limit", options.time_limit, ":");
  plain("mpi", options.mpi, "");
  in.flag(*slurm, at, "exclusive", options.exclusive);
  if (slurm->value("queue_timeout_s", Json()) != 0) {
    in.seconds(*slurm, at, "queue_timeout_s", options.queue_timeout_s);
  }
  in.seconds(*slurm, at, "controller_timeout_s", options.controller_timeout_s);
  in.integer(*slurm, at, "cpus_per_task", options.cpus_per_task);
  read_slurm_args(in, *slurm, options.args);
  read_container(in, *slurm, options.container);
}

}  // namespace

void read_launcher_options(ConfigReader& in, SweepConfig& config) {
  if (const auto* mpi = in.section(in.root(), "", "mpi")) {
    in.text(*mpi, "/mpi", "implementation", config.mpi.implementation);
    in.text(*mpi, "/mpi", "bind_to", config.mpi.bind_to);
  }
  if (const auto* ssh = in.section(in.root(), "", "ssh")) {
    in.integer(*ssh, "/ssh", "port", config.ssh.port);
    in.text(*ssh, "/ssh", "identity_file", config.ssh.identity_file);
    in.text(*ssh, "/ssh", "config_file", config.ssh.config_file);
  }
  read_slurm(in, config.slurm);
}

void add_launcher_options(const SweepConfig& config, Json& json) {
  json["mpi"] = {{"implementation", config.mpi.implementation}, {"bind_to", config.mpi.bind_to}};
  json["ssh"] = {{"port", config.ssh.port},
                 {"identity_file", config.ssh.identity_file},
                 {"config_file", config.ssh.config_file}};
  const auto& slurm = config.slurm;
  json["slurm"] = {{"job", slurm.job},
                   {"max_jobs", slurm.max_jobs},
                   {"account", slurm.account},
                   {"partition", slurm.partition},
                   {"qos", slurm.qos},
                   {"constraint", slurm.constraint},
                   {"reservation", slurm.reservation},
                   {"gres", slurm.gres},
                   {"exclusive", slurm.exclusive},
                   {"time_limit", slurm.time_limit},
                   {"queue_timeout_s", slurm.queue_timeout_s},
                   {"controller_timeout_s", slurm.controller_timeout_s},
                   {"cpus_per_task", slurm.cpus_per_task},
                   {"mpi", slurm.mpi},
                   {"args", slurm.args},
                   {"container",
                    {{"image", slurm.container.image},
                     {"mounts", slurm.container.mounts},
                     {"workdir", slurm.container.workdir}}}};
}

}  // namespace bertbench
