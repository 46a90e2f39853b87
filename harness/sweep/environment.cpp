#include "harness/sweep/environment.h"

#include <unistd.h>

#include <boost/version.hpp>
#include <nlohmann/json.hpp>

#include "harness/sweep/machine.h"
#include "reports/version.h"

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

void put(Json& json, const char* key, const std::string& value) {
  if (!value.empty()) json[key] = value;
}

template <class T>
void put(Json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
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

}  // namespace

Json capture_environment(bool with_hostname) {
  const Machine machine = look_at_machine();
  Json out = Json::object();
  if (with_hostname) {
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
  if (!machine.gpus.empty()) out["gpus"] = gpus_of(machine);
  out["bertbench"] = {{"version", std::string(tool_version())},
                      {"commit", std::string(tool_commit())},
                      {"compiler", compiler()},
                      {"boost", BOOST_LIB_VERSION}};
  return out;
}

int usable_cores() { return look_at_machine("", /*with_gpus=*/false).cores_usable; }

}  // namespace bertbench
