#include "harness/sweep/observe/environment.h"

#include <unistd.h>

#include <algorithm>
#include <boost/version.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/sweep/journal/run_state.h"
#include "harness/sweep/observe/machine.h"
#include "harness/sweep/process/proc_fs.h"
#include "harness/sweep/process/process.h"
#include "parsers/core/text.h"
#include "reports/model/json_put.h"
#include "reports/model/version.h"

namespace bertbench {

using Json = nlohmann::ordered_json;

namespace {

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "gcc " __VERSION__;
#else
  return "";
#endif
}

using bertbench::put;
void put(Json& json, const char* key, const std::string& value) {
  if (!value.empty()) json[key] = value;
}

Json gpus_of(const Machine& machine) {
  Json gpus = Json::array();
  for (const auto& gpu : machine.gpus) {
    Json one = {{"name", gpu.name}};
    put(one, "driver", gpu.driver);
    put(one, "memory_bytes", gpu.memory_bytes);
    gpus.push_back(std::move(one));
  }
  return gpus;
}

std::string first_line(const std::vector<std::string>& argv) {
  const auto text = capture_output(argv, std::chrono::seconds(5));
  return text ? std::string(trim(text->substr(0, text->find('\n')))) : std::string();
}

/// Versions by the file that a library's name leads to (libnccl.so.2 -> libnccl.so.2.27.3):
/// loading them would start a CUDA context.
Json libraries_found() {
  std::vector<std::string> folders;
  if (const char* named = std::getenv("LD_LIBRARY_PATH")) {
    for (const auto folder : split(named, ':')) folders.emplace_back(folder);
  }
  folders.insert(folders.end(), {"/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu",
                                 "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"});
  constexpr std::pair<const char*, const char*> kLibraries[] = {
      {"cuda", "libcudart.so"}, {"cudnn", "libcudnn.so"}, {"nccl", "libnccl.so"}};
  Json out = Json::object();
  for (const auto& [name, file] : kLibraries) {
    for (const auto& folder : folders) {
      if (folder.empty()) continue;
      std::error_code ec;
      for (const auto& entry : std::filesystem::directory_iterator(folder, ec)) {
        const std::string found = entry.path().filename().string();
        if (!found.starts_with(file)) continue;
        const auto real = std::filesystem::canonical(entry.path(), ec).filename().string();
        const std::string version = real.substr(std::min(real.size(), std::strlen(file) + 1));
        if (!version.empty() && !out.contains(name)) out[name] = version;
      }
      if (out.contains(name)) break;
    }
  }
  return out;
}

/// Of the repository that holds the current folder.
Json git_state() {
  Json out = Json::object();
  put(out, "commit", first_line({"git", "rev-parse", "HEAD"}));
  if (out.empty()) return out;
  put(out, "branch", first_line({"git", "rev-parse", "--abbrev-ref", "HEAD"}));
  // Without locks: one that is killed would leave the lock of the index, and stop the user's own
  // git.
  const auto changes = capture_output(
      {"git", "--no-optional-locks", "status", "--porcelain", "--untracked-files=no"},
      std::chrono::seconds(5));
  if (changes) out["changed"] = !trim(*changes).empty();
  return out;
}

}  // namespace

void add_software(Json& environment, const std::map<std::string, std::set<std::string>>& versions) {
  Json software = Json::object();
  for (const auto& [name, values] : versions) {
    if (name == "gpu" || name == "gpu_name" || values.empty()) continue;
    if (values.size() == 1) {
      software[name] = *values.begin();
    } else {
      software[name] = values;
    }
  }
  if (!software.empty()) environment["software"] = std::move(software);
}

Json capture_environment(const EnvironmentOptions& options) {
  const Machine machine = look_at_machine();
  Json out = Json::object();
  if (options.hostname) {
    char name[256] = {};
    if (gethostname(name, sizeof name - 1) == 0) out["hostname"] = name;
  }
  put(out, "cpu", machine.cpu);
  out["cores"] = machine.cores_online;
  out["cores_usable"] = machine.cores_usable;
  put(out, "sockets", machine.sockets);
  put(out, "threads_per_core", machine.threads_per_core);
  if (!machine.isa.empty()) out["isa"] = machine.isa;
  put(out, "memory_bytes", machine.memory_bytes);
  put(out, "memory_limit_bytes", machine.memory_limit_bytes);
  put(out, "kernel", machine.kernel);
  put(out, "os", machine.os);
  put(out, "governor", machine.governor);
  put(out, "turbo", machine.turbo);
  put(out, "clock_source", machine.clock_source);
  put(out, "load_1min", machine.load_1min);
  put(out, "container", machine.container);
  put(out, "virtualization", machine.virtualization);
  if (!machine.gpus.empty()) {
    out["gpus"] = gpus_of(machine);
    put(out, "driver", machine.gpus.front().driver);
  }
  put(out, "cuda_driver", machine.cuda_driver);
  Json libraries = libraries_found();
  if (!options.version_name.empty()) {
    put(libraries, options.version_name.c_str(),
        first_line({options.version_program, "--version"}));
  }
  if (!libraries.empty()) out["libraries"] = std::move(libraries);
  if (Json git = git_state(); !git.empty()) out["git"] = std::move(git);
  const auto words = proc::read_file("/proc/self/cmdline");
  Json argv = Json::array();
  for (const auto word : split(words, '\0')) {
    argv.push_back(options.conceal ? options.conceal(std::string(word)) : std::string(word));
  }
  if (!argv.empty() && argv.back() == "") argv.erase(argv.size() - 1);
  out["command"] = std::move(argv);
  if (!options.configuration.empty()) out["configuration"] = digest(options.configuration);
  out["bertbench"] = {{"version", std::string(tool_version())},
                      {"commit", std::string(tool_commit())},
                      {"compiler", compiler()},
                      {"boost", BOOST_LIB_VERSION}};
  return out;
}

int usable_cores() { return look_at_machine("", /*with_gpus=*/false).cores_usable; }

}  // namespace bertbench
