#include "harness/sweep/process/program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "parsers/core/text.h"

namespace bertbench {

std::string find_program(const std::string& name) {
  const auto runnable = [](const std::string& path) {
    std::error_code ec;
    return access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path, ec);
  };
  if (name.empty()) return {};
  if (name.find('/') != std::string::npos) {
    return runnable(name) ? std::filesystem::absolute(name).string() : "";
  }
  const char* path = std::getenv("PATH");
  if (!path) return {};
  for (const auto folder : split(path, ':')) {
    if (folder.empty()) continue;
    const std::string candidate = fmt::format("{}/{}", folder, name);
    if (runnable(candidate)) return candidate;
  }
  return {};
}

std::string own_program() {
  std::error_code ec;
  return std::filesystem::read_symlink("/proc/self/exe", ec).string();
}

}  // namespace bertbench
