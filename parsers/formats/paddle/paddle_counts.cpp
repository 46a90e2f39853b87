#include "parsers/formats/paddle/paddle_counts.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "parsers/lines/argument_text.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

using Count = PaddleCount;

// "[Train][Epoch 1/120][Iter: 10/5005]"
std::optional<Count> clas_count(Cursor cursor) {
  Count out{.mean_of_epoch = true};
  if (!cursor.skip_past("[Train][Epoch ") || !cursor.read(kBlanks, out.epoch) ||
      !cursor.skip_past("][Iter: ") ||
      !cursor.read(kBlanks, out.step, "/", kBlanks, out.per_epoch, "]") ||
      out.step >= out.per_epoch) {
    return std::nullopt;
  }
  ++out.step;
  out.all_cards = cursor.literal(" ");  // PLSC
  return out;
}

// "epoch:0  , train step:50", "epoch:[  1/50 ] train step:10", "[Pass 0, train batch 10]"
std::optional<Count> train_step_count(Cursor cursor) {
  const bool pass = cursor.skip_past("[Pass ");
  Count out{.mean_of_epoch = !pass};
  if (!pass && !cursor.skip_past("epoch:")) return std::nullopt;
  if (!pass) cursor.literal("[");
  if (!cursor.read(kBlanks, out.epoch) ||
      !cursor.skip_past(pass ? ", train batch " : " train step:") ||
      !cursor.read(kBlanks, out.step)) {
    return std::nullopt;
  }
  ++out.step;
  return out;
}

// "epoch: [1/2], global_step: 100", "epoch: [1/500], iter: 20", "[TRAIN] epoch: 1, iter: 20/500",
// to 2021 "[TRAIN] epoch=1, iter=20/500"
std::optional<Count> run_count(Cursor cursor) {
  Count out{.of_run = true};
  const bool old = cursor.skip_past("[TRAIN] epoch=");
  const bool seg = old || cursor.skip_past("[TRAIN] epoch: ");
  if ((!seg && !cursor.skip_past("epoch: [")) || !cursor.read(kBlanks, out.epoch) ||
      !cursor.skip_past(old   ? ", iter="
                        : seg ? ", iter: "
                              : "], ") ||
      (!seg && !cursor.literal("global_step: ") && !cursor.literal("iter: ")) ||
      !cursor.read(kBlanks, out.step)) {
    return std::nullopt;
  }
  if (seg) cursor.read("/", kBlanks, out.planned);
  return out;
}

// "Epoch: [0] [ 20/200]", "Epoch: 1/200, iter: 100/3334"
std::optional<Count> det_count(Cursor cursor) {
  Count out;
  if (!cursor.skip_past("Epoch: ")) return std::nullopt;
  const bool det = cursor.literal("[");
  if (!cursor.read(kBlanks, out.epoch) || !cursor.skip_past(det ? "] [" : ", iter: ") ||
      !cursor.read(kBlanks, out.step, "/", kBlanks, out.per_epoch) || out.step > out.per_epoch) {
    return std::nullopt;
  }
  if (det) ++out.step;
  return out;
}

// "[Epoch 59, iter: 900] ", "[epoch 0, iter 0][TRAIN]"
std::optional<Count> template_count(Cursor cursor) {
  Count out;
  const bool guide = cursor.skip_past("[epoch ");
  if ((!guide && !cursor.skip_past("[Epoch ")) ||
      !cursor.read(kBlanks, out.epoch, guide ? ", iter " : ", iter: ", kBlanks, out.step,
                   guide ? "][TRAIN]" : "] ")) {
    return std::nullopt;
  }
  return out;
}

// "epoch: 0, batch_id: 100, " of PaddleRec, "[TRAIN] epoch=1, batch_id=100, "; number 0 is one
// batch, which the line divides by the usual number.
std::optional<Count> batch_id_count(Cursor cursor) {
  Count out;
  const bool old = cursor.skip_past("[TRAIN] epoch=");
  if ((!old && !cursor.skip_past("epoch: ")) ||
      !cursor.read(kBlanks, out.epoch, old ? ", batch_id=" : ", batch_id: ", kBlanks, out.step) ||
      out.step < 1) {
    return std::nullopt;
  }
  return out;
}

// "2020-09-25 15:11:54,840-INFO: iter: 2, lr: 0.000035, " of PaddleDetection in 2020; nothing lies
// before number 0
std::optional<Count> iter_count(Cursor cursor) {
  Count out{.of_run = true};
  if (!cursor.skip_past("INFO: iter: ") || !cursor.read(kBlanks, out.step, ", lr: ") ||
      out.step < 1) {
    return std::nullopt;
  }
  return out;
}

// "Epoch [1/2], Iter [01/14], "
std::optional<Count> mean_count(Cursor cursor) {
  Count out{.of_epoch = true};
  std::int64_t epochs = 0;
  if (!cursor.skip_past("Epoch [") ||
      !cursor.read(kBlanks, out.epoch, "/", kBlanks, epochs, "], Iter [", kBlanks, out.step, "/",
                   kBlanks, out.per_epoch, "]") ||
      out.epoch < 1 || epochs < out.epoch || out.step < 1 || out.step > out.per_epoch) {
    return std::nullopt;
  }
  constexpr std::int64_t kFactorLimit = 1'000'000;
  if (epochs < kFactorLimit && out.per_epoch < kFactorLimit) out.planned = epochs * out.per_epoch;
  return out;
}

}  // namespace

std::optional<Count> paddle_count(const Line& line) {
  constexpr std::int64_t kFactorLimit = 1'000'000'000;  // the product of two counts fits
  for (const std::string_view other : {"[Eval]", "valid step", "END epoch", "step_idx:"}) {
    if (has(line, other)) return std::nullopt;
  }
  for (const auto read : {clas_count, train_step_count, run_count, det_count, template_count,
                          mean_count, batch_id_count, iter_count}) {
    const auto count = read(Cursor(line));
    if (!count) continue;
    const bool fits = count->epoch <= kFactorLimit && count->per_epoch <= kFactorLimit;
    return fits ? count : std::nullopt;
  }
  return std::nullopt;
}

std::optional<double> paddle_cost(const Line& line) {
  auto cost =
      number_after(line, {"batch_cost:", "batch_cost ", "batch_cost=", "elapse:", " elapse "});
  if (!cost && has(line, "-INFO: iter: ")) cost = number_after(line, "', time:");
  return cost;
}

double paddle_stamp(const Line& line) {
  constexpr std::size_t kLabel = 48;
  const auto text = line.text;
  for (std::size_t at = 0; at < std::min(kLabel, text.size()); ++at) {
    if (at > 0 && (text[at - 1] != '[' && text[at - 1] != ' ')) continue;
    std::array<char, 26> stamp{};
    std::size_t n = 0;
    if (text.substr(at).size() > 5 && text[at + 2] == '/' && text[at + 5] == ' ') {
      for (const char c : std::string_view("2000-")) stamp[n++] = c;
    }
    for (std::size_t i = at; i < text.size() && n < stamp.size(); ++i, ++n) {
      stamp[n] = text[i] == '/' ? '-' : text[i];
    }
    if (const auto time = date_time({stamp.data(), n})) return *time;
  }
  return kUnknown;
}

}  // namespace bertbench
