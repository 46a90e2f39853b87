#include "workloads/bert/option_rules.h"

#include <fmt/format.h>

#include <string>

#include "workloads/bert/model_config.h"

namespace bert {
namespace {

tl::unexpected<Failure> refuse(const std::string& option, const std::string& remedy) {
  return usage_error(fmt::format("{}: {}", option, remedy));
}

}  // namespace

Result<void> check_model_options(const TrainOptions& o) {
  const ModelConfig model = *named_model(o.model);
  if (o.sequence_length > model.max_positions) {
    return refuse(fmt::format("--sequence-length {}", o.sequence_length),
                  fmt::format("{} has {} positions: lower it, or take a model with more (gpt2)",
                              o.model, model.max_positions));
  }
  if (model.objective != Objective::next_word) return {};
  const std::string full = fmt::format(
      "{} predicts the next word at every position of full sequences: leave it away, or take a "
      "bert "
      "model",
      o.model);
  if (o.variable_lengths) return refuse("--variable-lengths", full);
  if (o.unpadded) return refuse("--unpadded", full);
  if (o.log_style == "gluonnlp") {
    return refuse(
        "--log-style gluonnlp",
        fmt::format("its lines are the losses of masked words and next sentences, which {} "
                    "does not have: take another style",
                    o.model));
  }
  return {};
}

Result<void> check_cpu_options(const TrainOptions& o) {
  if (o.precision != "fp32") {
    return refuse("--precision " + o.precision,
                  "the cpu backend computes in fp32 only; other precisions need --backend cuda");
  }
  if (o.unpadded) {
    return refuse("--unpadded", "the cpu backend computes on padding too; needs --backend cuda");
  }
  if (o.inference) {
    return refuse("--inference", "the cpu backend only trains; needs --backend cuda");
  }
  if (o.zero_stage != 0) {
    return refuse("--zero 1", "needs --backend cuda and --comm nccl");
  }
  if (!o.algorithm_cache.empty()) {
    return refuse("--algorithm-cache", "the cpu backend searches no algorithms: leave it away");
  }
  if (!o.matmul_epilogues) {
    return refuse("--matmul-epilogues off",
                  "oneDNN has no such choice in the cpu backend: leave it away");
  }
  return {};
}

}  // namespace bert
