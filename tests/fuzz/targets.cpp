#include "tests/fuzz/targets.h"

#include <cstdio>
#include <cstdlib>

#include "parsers/formats/format.h"
#include "parsers/rules/fact_rules.h"
#include "parsers/rules/outcome_rules.h"

namespace bertbench::fuzz {
namespace {

std::vector<std::string> words_of(std::span<const std::string_view> anchors) {
  return {anchors.begin(), anchors.end()};
}

}  // namespace

void broken(const std::string& what) {
  std::fprintf(stderr, "broken: %s\n", what.c_str());
  std::abort();
}

std::vector<std::string> common_words() {
  std::vector<std::string> out = words_of(FactRules::anchors());
  for (const std::string_view anchor : OutcomeRules::anchors()) out.emplace_back(anchor);
  return out;
}

std::vector<Target> all_targets() {
  std::vector<std::string> all;
  std::vector<Target> formats;
  for (const Format* format : all_formats()) {
    const std::string name(format->name);
    std::vector<std::string> words = words_of(format->literals());
    all.insert(all.end(), words.begin(), words.end());
    formats.push_back({"format-" + name,
                       [name](std::string_view input) { one_format(name, input); },
                       std::move(words), true});
  }
  std::vector<Target> out = {
      {"scanner", scanner, all},
      {"reader", reader, all, true},
      {"format-file", format_file, {"\"literal\"", "\"pattern\"", "(?P<step>"}},
      {"compressed", compressed, {"\x1f\x8b\x08", "\x28\xb5\x2f\xfd"}},
      {"tensorboard", tensorboard, {"train/loss", "epoch_loss", " vs samples"}},
      {"wandb", wandb, {"_step", "_timestamp", "NaN"}},
      {"database", database, {"SQLite format 3", "metrics", "runs", "params", "configs"}},
      {"result-set", result_set, {"bertbench.result/1", "\"cells\"", "\"trials\"", "\"outcome\""}},
      {"sweep-config", sweep_config, {"\"grid\"", "\"topology\"", "\"zip\"", "\"exclude\""}},
      {"tables",
       tables,
       {"<table>", "<tr>", "<td", "colspan=\"", "| --- |", "&nbsp;",
        "gpu_num samples/s speedup\n1 100 1", "GPUs\t", "batch size / GPU (TF32 and FP16)",
        "Throughput - TF32", "Seed 0", "GPUs: 1",
        "speedup: ", "@dataclass\nclass C:", "gpus: str = '0'", "os.environ[\"A\"] = \"1\""}},
      {"journal", journal, {"\"crc\"", "\"event\"", "\"started\"", "\"finished\""}},
  };
  for (Target& target : formats) out.push_back(std::move(target));
  return out;
}

}  // namespace bertbench::fuzz
