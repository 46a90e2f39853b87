#include "parsers/text/tf_message.h"

#include "parsers/text/clock.h"
#include "parsers/text/cursor.h"

namespace bertbench {

std::optional<TfMessage> tf_message(std::string_view line) {
  constexpr std::string_view kPlain = "INFO:tensorflow:";
  if (line.starts_with(kPlain)) return TfMessage{line.substr(kPlain.size()), kUnknown, false};
  const auto time = absl_time(line);
  if (!time) return std::nullopt;
  const auto bracket = line.find("] ");
  if (bracket == std::string_view::npos || bracket > 160) return std::nullopt;
  return TfMessage{line.substr(bracket + 2), *time, true};
}

std::optional<TfLossStep> tf_loss_step(const Line& message) {
  Cursor cursor(message);
  if (!cursor.literal("loss = ")) return std::nullopt;
  const auto loss = cursor.number();
  if (!loss || !cursor.literal(", step = ")) return std::nullopt;
  const auto step = cursor.integer();
  if (!step) return std::nullopt;
  TfLossStep out{*loss, *step, kUnknown};
  cursor.blanks();
  if (cursor.literal("(")) {
    const auto seconds = cursor.number();
    if (seconds && cursor.literal(" sec)")) out.seconds = *seconds;
  }
  return out;
}

std::optional<TfDleLine> tf_dle_line(const Line& line) {
  Cursor cursor(line);
  if (!cursor.skip_past("DLL ")) return std::nullopt;
  TfDleLine out;
  out.time_s = date_time(cursor.rest()).value_or(kUnknown);
  Cursor value(line);
  if (!value.skip_past("throughput_train : ") && !value.skip_past("train_throughput : ")) {
    return std::nullopt;
  }
  const auto rate = value.number();
  value.blanks();
  const auto unit = value.until(" ");
  if (!rate || !unit || (*unit != "seq/s" && *unit != "sequences/s" && *unit != "images/s")) {
    return std::nullopt;
  }
  out.rate = *rate;
  Cursor head(line);
  if (head.skip_past("Iteration: ")) out.iteration = head.integer();
  out.loss = number_after(line, "total_loss : ");
  return out;
}

}  // namespace bertbench
