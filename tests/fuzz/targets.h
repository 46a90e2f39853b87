// Fuzz targets: functions that take any bytes and abort when a rule is broken. libFuzzer drives
// them (fuzz_main.cpp, preset `fuzz`, scripts/fuzz); the regression test runs them over the inputs
// that once broke one (regressions/<target>/).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bertbench::fuzz {

struct Target {
  std::string name;  ///< "format-tqdm": also the folder of its inputs
  std::function<void(std::string_view)> run;
  std::vector<std::string> words;  ///< anchors and keywords, for libFuzzer's dictionary
  bool any_log = false;            ///< the dictionary holds the words of facts and outcomes, too
};

/// One target for each reader, and one for each log format of the list.
[[nodiscard]] std::vector<Target> all_targets();

/// What stands for facts and outcomes in logs of all formats.
[[nodiscard]] std::vector<std::string> common_words();

/// Prints what was broken and aborts, which libFuzzer reports as a crash.
[[noreturn]] void broken(const std::string& what);
inline void require(bool holds, const char* what) {
  if (!holds) broken(what);
}

// The targets; each in a file of its own.
void scanner(std::string_view input);
void reader(std::string_view input);
void one_format(const std::string& name, std::string_view input);
void format_file(std::string_view input);
void compressed(std::string_view input);
void tensorboard(std::string_view input);
void wandb(std::string_view input);
void database(std::string_view input);
void result_set(std::string_view input);
void sweep_config(std::string_view input);
void tables(std::string_view input);
void journal(std::string_view input);

}  // namespace bertbench::fuzz
