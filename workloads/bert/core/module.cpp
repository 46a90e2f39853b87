#include "workloads/bert/core/module.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

namespace bert {

Result<const Module*> load_module(const std::string& name) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto file = program.parent_path() / fmt::format("bert_{}.so", name);
  if (!std::filesystem::exists(file, error)) {
    return tl::unexpected(Failure{
        ExitStatus::no_device,
        fmt::format("{} needs the module {}, which does not exist: build it where its toolkit is "
                    "installed (cmake prints what it found) and put it next to bert_train",
                    name, file.string())});
  }
  return load_module_file(file.string());
}

Result<const Module*> load_module_file(const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    return tl::unexpected(Failure{ExitStatus::no_device, fmt::format("module {}: {}", path, why)});
  };
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    return refuse(fmt::format("{}; its libraries must be installed on this machine",
                              why == nullptr ? "cannot be loaded" : why));
  }
  using Entry = const Module* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, "bert_module"));
  if (entry == nullptr) {
    return refuse("exports no bert_module(), so it is not a module of bert_train");
  }
  const Module* module = entry();
  if (module == nullptr || module->abi != kModuleAbi) {
    return refuse("was built for another version of bert_train: build both from one checkout");
  }
  return module;
}

}  // namespace bert
