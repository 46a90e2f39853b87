#include "parsers/formats/paddle/paddle_speeds.h"

#include <cmath>

#include "parsers/lines/argument_text.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

// step_idx: 100, epoch: 0, batch: 100, avg loss: 8.1, ..., avg_speed: 6.62 step/s, batch_cost:
// 0.151 sec
std::optional<PaddleSpeedLine> read_transformer(const Line& line) {
  const auto step = count_after(line, "step_idx:");
  const auto speed = paddle_speed_after(line, "avg_speed:");
  if (!step || !speed || !has(line, "step/s")) return std::nullopt;
  PaddleSpeedLine out{.step = *step, .speed = *speed};
  // It has more digits than the speed.
  if (const auto cost = number_after(line, " batch_cost:"); cost && *cost > 0) out.seconds = *cost;
  return out;
}

// The speed is that of the steps since the line before. Knover's time is that of these steps; its
// losses stand on a line of their own.
std::optional<PaddleSpeedLine> read_ernie(const Line& line) {
  Cursor cursor(line);
  const bool knover = line.text.starts_with("[train][");
  const auto speed = paddle_speed_after(line, ", speed:");
  PaddleSpeedLine out{.speed = speed.value_or(PaddleSpeed{}), .ernie = !knover};
  if (!cursor.skip_past("progress: ") || !cursor.skip_past(knover ? " step: " : ", step: ") ||
      !cursor.read(out.step) || !speed || !has(line, " steps/s")) {
    return std::nullopt;
  }
  if (knover && speed->value > 0) out.seconds = 1 / speed->value;
  return out;
}

// PaddleHub, whose second release counts the batches of an epoch.
std::optional<PaddleSpeedLine> read_hub(const Line& line) {
  Cursor cursor(line);
  std::int64_t epoch = 1, step = 0, all = 0;
  if (!cursor.skip_past("TRAIN] - ")) return std::nullopt;
  const bool epochs = cursor.read("Epoch=", epoch);
  if (epochs ? !cursor.skip_past(", Step=") : !cursor.literal("step ")) return std::nullopt;
  const auto speed = paddle_speed_after(line, epochs ? " step/sec=" : "[step/sec:");
  constexpr std::int64_t kCountLimit = 1'000'000'000;
  if (!cursor.read(step) || step < 1 || epoch < 1 || epoch > kCountLimit || !speed) {
    return std::nullopt;
  }
  cursor.read(epochs ? "/" : " / ", all);
  const bool fits = all >= step && all <= kCountLimit;
  if (epochs && !fits) return std::nullopt;
  PaddleSpeedLine out{.step = epochs ? (epoch - 1) * all + step : step, .speed = *speed};
  if (!epochs && fits) out.planned = all;
  return out;
}

}  // namespace

std::optional<PaddleSpeed> paddle_speed_after(const Line& line, std::string_view key) {
  constexpr double kRough = 0.02;
  Cursor cursor(line);
  if (!cursor.skip_past(key)) return std::nullopt;
  cursor.blanks();
  const auto begin = cursor.at();
  const auto value = cursor.number();
  if (!value) return std::nullopt;
  const auto digits = line.text.substr(begin, cursor.at() - begin);
  const auto dot = digits.find('.');
  const auto decimals = dot == std::string_view::npos ? 0 : digits.size() - dot - 1;
  if (0.5 * std::pow(10.0, -static_cast<double>(decimals)) > kRough * *value) {
    return PaddleSpeed{kUnknown, true};
  }
  return PaddleSpeed{*value, false};
}

std::optional<PaddleSpeedLine> read_paddle_speed_line(const Line& line) {
  if (auto out = read_transformer(line)) return out;
  if (auto out = read_ernie(line)) return out;
  return read_hub(line);
}

}  // namespace bertbench
