#include "parsers/lines/tf_message.h"

#include <algorithm>
#include <cmath>

#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"

namespace bertbench {

std::optional<TfMessage> tf_message(std::string_view line) {
  constexpr std::string_view kPlain = "INFO:tensorflow:";
  if (line.starts_with(kPlain)) return TfMessage{line.substr(kPlain.size()), kUnknown, false};
  // "2020-05-01 10:00:00,123 - tensorflow - INFO - ", as the logger is often set up.
  constexpr std::string_view kNamed = " - tensorflow - INFO - ";
  constexpr std::size_t kStamp = 64;
  if (const auto at = line.substr(0, kStamp).find(kNamed); at != std::string_view::npos) {
    const auto stamp = line.substr(0, at);
    const bool fine = stamp.find_first_of(".,") != std::string_view::npos;
    return TfMessage{line.substr(at + kNamed.size()),
                     fine ? date_time(stamp).value_or(kUnknown) : kUnknown, true};
  }
  const auto time = absl_time(line);
  if (!time) return std::nullopt;
  const auto bracket = line.find("] ");
  if (bracket == std::string_view::npos || bracket > 160) return std::nullopt;
  TfMessage out{line.substr(bracket + 2), *time, true};
  if (Cursor cursor(line.substr(0, bracket), false); cursor.skip_past(" ")) {
    cursor.until(" ");
    cursor.blanks();
    out.thread = cursor.integer().value_or(0);
  }
  return out;
}

bool TfTurns::see(const TfMessage& message, int rank, double steps_per_second) {
  constexpr std::size_t kMessagesHeld = 64;
  read_rate(message, steps_per_second);
  const std::int64_t who = rank >= 0 ? -1 - std::int64_t{rank} : message.thread;
  if (who != 0 && who != newest_) {
    if (std::ranges::find(seen_, who) != seen_.end()) {
      if (taken_ == 0) taken_ = who;
    } else if (seen_.size() < kMessagesHeld) {
      seen_.push_back(who);
    }
    newest_ = who;
  }
  return taken_ == 0 || taken_ == who;
}

void TfTurns::read_rate(const TfMessage& message, double steps_per_second) {
  if (std::isnan(message.time_s) || std::isnan(steps_per_second)) return;
  const double steps = (message.time_s - time_s_) * steps_per_second;
  if (steps >= 0 && steps < 0.25 && steps_per_second != rate_) crowded_ = true;
  time_s_ = message.time_s;
  rate_ = steps_per_second;
}

std::int64_t tf_steps_in(double rate, double seconds) {
  const double steps = std::round(rate * seconds);
  return steps >= 1 && steps < 1e9 ? static_cast<std::int64_t>(steps) : 0;
}

std::optional<TfLossStep> tf_loss_step(const Line& message) {
  Cursor cursor(message);
  TfLossStep out;
  if (!cursor.read("loss = ", out.loss, ", step = ", out.step)) return std::nullopt;
  cursor.read(kBlanks, "(", out.seconds, " sec)");
  return out;
}

double tf_refined(double seconds, std::int64_t steps, double steps_per_second) {
  if (std::isnan(seconds) || !(steps_per_second > 0) || steps <= 0) return seconds;
  const double finer = static_cast<double>(steps) / steps_per_second;
  return std::abs(finer - seconds) <= 0.001 + 1e-4 * finer ? finer : seconds;
}

std::optional<TfDleLine> tf_dle_line(const Line& line) {
  Cursor cursor(line);
  if (!cursor.skip_past("DLL ")) return std::nullopt;
  TfDleLine out;
  out.time_s = date_time(cursor.rest()).value_or(kUnknown);
  // ResNet: "DLL <date> - (0, 380) total_ips : 11633.7", images/s of all ranks.
  if (cursor.skip_past(" - (") && cursor.integer() && cursor.literal(", ")) {
    if (!cursor.read(out.iteration, ") total_ips : ", out.rate) || !(out.rate >= 0)) {
      return std::nullopt;
    }
    out.sample = true;
    return out;
  }
  Cursor value(line);
  if (!value.skip_past("throughput_train : ") && !value.skip_past("train_throughput : ")) {
    return std::nullopt;
  }
  const auto rate = value.number();
  value.blanks();
  // ResNet of 2020 and 2021 closes without a unit: "DLL <date> - () train_throughput : 1431.4".
  const std::string_view unit = value.until(" ").value_or(value.rest());
  const bool bare = unit.empty() && line.text.find(" - () train_throughput : ") != line.text.npos;
  if (!rate || !(bare || unit == "seq/s" || unit == "sequences/s" || unit == "images/s")) {
    return std::nullopt;
  }
  out.rate = *rate;
  Cursor head(line);
  if (head.skip_past("Iteration: ") && !head.read(out.iteration)) return std::nullopt;
  out.loss = number_after(line, "total_loss : ");
  out.one_ahead = has(line, " mlm_loss : ");
  out.scaled = has(line, " loss_scaler : ");
  return out;
}

std::optional<TfDleLine> tf_first_dle_line(const Line& line) {
  Cursor cursor(line);
  std::int64_t rank = 0;
  double loss = 0;
  TfDleLine out;
  cursor.read("Rank = ", kBlanks, rank, " :: ");
  if (!cursor.read("Step = ", kBlanks, out.iteration, kTfThroughput, kBlanks, out.rate,
                   " MLM Loss = ") ||
      !(out.rate >= 0)) {
    return std::nullopt;
  }
  if (cursor.skip_past(" NSP Loss = ")) {
    cursor.read(kBlanks, loss, " Loss = ", kBlanks, out.loss);
  }
  out.one_ahead = true;
  out.scaled = has(line, " Loss scale = ");
  return out;
}

std::optional<std::int64_t> tf_restored(std::string_view message) {
  if (!message.starts_with(kTfRestoring)) return std::nullopt;
  constexpr std::string_view kCheckpoint = ".ckpt-";
  const auto at = message.rfind(kCheckpoint);
  if (at == std::string_view::npos) return std::nullopt;
  Cursor cursor(message.substr(at + kCheckpoint.size()), false);
  std::int64_t updates = 0;
  return cursor.read(updates) ? std::optional(updates) : std::nullopt;
}

}  // namespace bertbench
