// libFuzzer's entry points. The program runs the target of --target=NAME (libFuzzer itself skips
// arguments with two dashes); --list names all, --dict=NAME prints a dictionary for one and
// --words=NAME its own words, one a line.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/fuzz/targets.h"

namespace {

using bertbench::fuzz::Target;
const Target* g_target = nullptr;

const std::vector<Target>& targets() {
  static const std::vector<Target> list = bertbench::fuzz::all_targets();
  return list;
}

const Target& find_target(const char* name) {
  for (const Target& target : targets()) {
    if (target.name == name) return target;
  }
  std::fprintf(stderr, "no target '%s'; --list names them\n", name);
  std::exit(2);
}

void print_dictionary(const Target& target) {
  std::vector<std::string> words = target.words;
  if (target.any_log) {
    for (std::string& word : bertbench::fuzz::common_words()) words.push_back(std::move(word));
  }
  for (const std::string& word : words) {
    std::fputc('"', stdout);
    for (const char c : word) {
      const bool plain = c >= ' ' && c < 127 && c != '"' && c != '\\';
      std::printf(plain ? "%c" : "\\x%02x", static_cast<unsigned char>(c));
    }
    std::fputs("\"\n", stdout);
  }
}

const char* value_of(const char* argument, const char* option) {
  const std::size_t n = std::strlen(option);
  return std::strncmp(argument, option, n) == 0 ? argument + n : nullptr;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (int i = 1; i < *argc; ++i) {
    const char* argument = (*argv)[i];
    if (std::strcmp(argument, "--list") == 0) {
      for (const Target& target : targets()) std::puts(target.name.c_str());
      std::exit(0);
    }
    if (const char* name = value_of(argument, "--dict=")) {
      print_dictionary(find_target(name));
      std::exit(0);
    }
    if (const char* name = value_of(argument, "--words=")) {
      for (const std::string& word : find_target(name).words) std::puts(word.c_str());
      std::exit(0);
    }
    if (const char* name = value_of(argument, "--target=")) g_target = &find_target(name);
  }
  if (g_target == nullptr) find_target("(none: give --target=NAME)");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // libFuzzer's copy is of exactly this size: a byte read beyond it is seen by AddressSanitizer.
  g_target->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
