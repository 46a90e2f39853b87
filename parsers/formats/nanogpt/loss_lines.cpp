#include "parsers/formats/nanogpt/loss_lines.h"

#include "parsers/formats/nanogpt/token_lines.h"
#include "parsers/lines/cursor.h"

namespace bertbench {

bool LossLines::closes(std::int64_t step) {
  if (step < newest_) first_ = -1;  // another run
  newest_ = step;
  if (first_ < 0) {
    first_ = step;
    period_ = 0;
    return false;
  }
  if (period_ == 0) period_ = step - first_;
  return period_ > 0 && (step - first_) % period_ != 0;
}

std::optional<LossLine> LossLines::see(const Line& line) {
  Cursor cursor(line);
  const bool llmc = cursor.literal("s:");
  const auto step = step_number(cursor);
  if (!step) return std::nullopt;
  LossLine out;
  out.step = *step;
  out.trained = llmc && cursor.literal(" trl:");
  if (!out.trained && !cursor.literal(llmc ? " tel:" : " hella ")) return std::nullopt;
  const auto value = cursor.number();
  if (!value || (!llmc && !cursor.rest().empty())) return std::nullopt;
  if (out.trained) {
    out.loss = *value;
  } else {
    out.closing = closes(*step);
  }
  return out;
}

}  // namespace bertbench
