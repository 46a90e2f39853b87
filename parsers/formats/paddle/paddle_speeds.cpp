#include "parsers/formats/paddle/paddle_speeds.h"

#include <cmath>

#include "parsers/lines/argument_text.h"
#include "parsers/lines/cursor.h"
#include "parsers/scan/byte_search.h"

namespace bertbench {
namespace {

// step_idx: 100, epoch: 0, batch: 100, avg loss: 8.1, ..., avg_speed: 6.62 step/s, batch_cost:
// 0.151 sec
std::optional<PaddleSpeedLine> read_transformer(const Line& line) {
  const auto step = number_after(line, "step_idx:");
  const auto speed = paddle_speed_after(line, "avg_speed:");
  if (!step || !speed || !(*step >= 0 && *step < 1e15) ||
      find_text(line.text, "step/s") == std::string_view::npos) {
    return std::nullopt;
  }
  PaddleSpeedLine out;
  out.step = static_cast<std::int64_t>(*step);
  out.speed = *speed;
  // It has more digits than the speed.
  if (const auto cost = number_after(line, " batch_cost:"); cost && *cost > 0) out.seconds = *cost;
  return out;
}

// The speed is that of the steps since the line before. Knover's time is that of these steps; its
// losses stand on a line of their own.
std::optional<PaddleSpeedLine> read_ernie(const Line& line) {
  Cursor cursor(line);
  if (!cursor.skip_past("progress: ")) return std::nullopt;
  const bool knover = line.text.starts_with("[train][");
  if (!cursor.skip_past(knover ? " step: " : ", step: ")) return std::nullopt;
  const auto step = cursor.integer();
  const auto speed = paddle_speed_after(line, ", speed:");
  if (!step || *step < 0 || !speed || find_text(line.text, " steps/s") == std::string_view::npos) {
    return std::nullopt;
  }
  PaddleSpeedLine out;
  out.step = *step;
  out.speed = *speed;
  if (knover && speed->value > 0) out.seconds = 1 / speed->value;
  out.ernie = !knover;
  return out;
}

// PaddleHub, whose second release counts the batches of an epoch.
std::optional<PaddleSpeedLine> read_hub(const Line& line) {
  Cursor cursor(line);
  if (!cursor.skip_past("TRAIN] - ")) return std::nullopt;
  const bool epochs = cursor.literal("Epoch=");
  const auto epoch = epochs ? cursor.integer() : 1;
  if (!epoch || *epoch < 1 || (epochs ? !cursor.skip_past(", Step=") : !cursor.literal("step "))) {
    return std::nullopt;
  }
  const auto step = cursor.integer();
  const bool slash = cursor.literal(epochs ? "/" : " / ");
  const std::int64_t all = slash ? cursor.integer().value_or(0) : 0;
  const auto speed = paddle_speed_after(line, epochs ? " step/sec=" : "[step/sec:");
  constexpr std::int64_t kCountLimit = 1'000'000'000;
  if (!step || *step < 1 || *step > kCountLimit || *epoch > kCountLimit || !speed)
    return std::nullopt;
  if (epochs && (all < *step || all > kCountLimit)) return std::nullopt;
  PaddleSpeedLine out;
  out.step = epochs ? (*epoch - 1) * all + *step : *step;
  out.speed = *speed;
  if (!epochs && all >= *step) out.planned = all;
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
