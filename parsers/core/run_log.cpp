#include "parsers/core/run_log.h"

namespace bertbench {

std::string_view name(WorkKind kind) {
  switch (kind) {
    case WorkKind::training:
      return "training";
    case WorkKind::evaluation:
      return "evaluation";
    case WorkKind::inference:
      return "inference";
  }
  return "training";
}

std::string_view name(RateUnit unit) {
  switch (unit) {
    case RateUnit::iterations_per_second:
      return "iterations/s";
    case RateUnit::sequences_per_second:
      return "sequences/s";
    case RateUnit::tokens_per_second:
      return "tokens/s";
    case RateUnit::epochs_per_second:
      return "epochs/s";
    case RateUnit::unknown:
      break;
  }
  return "unknown";
}

}  // namespace bertbench
