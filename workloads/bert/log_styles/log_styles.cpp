#include <fmt/format.h>

#include <algorithm>

#include "workloads/bert/log_styles/log_style.h"

namespace bert {
namespace {

// A style = its file and its line here.
constexpr LogStyleEntry kStyles[] = {
    {"native", "one JSON object per line", make_native_style},
    {"tqdm", "NVIDIA's run_pretraining.py: tqdm bar and Step lines", make_tqdm_style},
    {"tf", "TensorFlow Estimator: global_step/sec, examples/sec, loss", make_tf_style},
};

constexpr std::string_view kPlanned[] = {"dllogger",    "dllogger-json", "gluonnlp", "deepspeed",
                                         "huggingface", "mlperf",        "megatron"};

}  // namespace

std::span<const LogStyleEntry> log_styles() { return kStyles; }

const LogStyleEntry* find_log_style(std::string_view name) {
  for (const LogStyleEntry& style : kStyles) {
    if (style.name == name) {
      return &style;
    }
  }
  return nullptr;
}

std::vector<std::string> log_style_names() {
  std::vector<std::string> names;
  for (const LogStyleEntry& style : kStyles) {
    names.emplace_back(style.name);
  }
  return names;
}

std::string unknown_log_style(std::string_view name) {
  const bool planned =
      std::find(std::begin(kPlanned), std::end(kPlanned), name) != std::end(kPlanned);
  return fmt::format("log style \"{}\" is {}; have: {}", name,
                     planned ? "not built yet" : "unknown", fmt::join(log_style_names(), ", "));
}

}  // namespace bert
