#include <fmt/format.h>

#include "workloads/bert/log_styles/log_style.h"

namespace bert {
namespace {

// A style = its file and its line here.
constexpr LogStyleEntry kStyles[] = {
    {"native", "one JSON object per line", make_native_style},
    {"tqdm", "NVIDIA's run_pretraining.py: tqdm bar and Step lines", make_tqdm_style},
    {"tf", "TensorFlow Estimator: global_step/sec, examples/sec, loss", make_tf_style},
    {"dllogger", "NVIDIA's run_pretraining.py: DLLogger, text", make_dllogger_style},
    {"dllogger-json", "NVIDIA's run_pretraining.py: DLLogger, JSON", make_dllogger_json_style},
    {"gluonnlp", "MXNet gluon-nlp's run_pretraining.py", make_gluonnlp_style},
    {"deepspeed", "DeepSpeed's throughput timer, bing_bert", make_deepspeed_style},
    {"huggingface", "Hugging Face Trainer: its console without bars", make_huggingface_style},
    {"mlperf", "MLPerf :::MLLOG, NVIDIA's step dicts of v0.7", make_mlperf_style},
    {"megatron", "Megatron-LM's iteration lines", make_megatron_style},
};

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
  return fmt::format("log style \"{}\" is unknown; have: {}", name,
                     fmt::join(log_style_names(), ", "));
}

}  // namespace bert
