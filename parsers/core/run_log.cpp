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

}  // namespace bertbench
