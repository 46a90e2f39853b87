#include "workloads/bert/log/log_style.h"

namespace bert {

extern const LogStyleEntry native_style, tqdm_style, tf_style, dllogger_style, dllogger_json_style,
    gluonnlp_style, deepspeed_style, huggingface_style, mlperf_style, megatron_style;

namespace {
constexpr const LogStyleEntry* kStyles[] = {
    &native_style,   &tqdm_style,      &tf_style,          &dllogger_style, &dllogger_json_style,
    &gluonnlp_style, &deepspeed_style, &huggingface_style, &mlperf_style,   &megatron_style};
}  // namespace

const LogStyleEntry* find_log_style(std::string_view name) {
  for (const LogStyleEntry* style : kStyles) {
    if (style->name == name) return style;
  }
  return nullptr;
}

std::vector<std::string> log_style_names() {
  std::vector<std::string> names;
  for (const LogStyleEntry* style : kStyles) names.emplace_back(style->name);
  return names;
}

}  // namespace bert
