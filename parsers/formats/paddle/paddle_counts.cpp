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

std::optional<std::int64_t> whole(Cursor& cursor) {
  cursor.blanks();
  const auto n = cursor.integer();
  return n && *n >= 0 && *n < static_cast<std::int64_t>(kMostPaddle) ? n : std::nullopt;
}

// "[Train][Epoch 1/120][Iter: 10/5005]"
std::optional<Count> clas_count(const Line& line) {
  Cursor cursor(line);
  if (!cursor.skip_past("[Train][Epoch ")) return std::nullopt;
  const auto epoch = whole(cursor);
  if (!epoch || !cursor.skip_past("][Iter: ")) return std::nullopt;
  const auto iteration = whole(cursor);
  if (!iteration || !cursor.literal("/")) return std::nullopt;
  const auto all = whole(cursor);
  if (!all || *iteration >= *all || !cursor.literal("]")) return std::nullopt;
  Count out{*epoch, *iteration + 1, *all, false, true, false};
  out.all_cards = cursor.literal(" ");  // PLSC
  return out;
}

// "epoch:0  , train step:50", "epoch:[  1/50 ] train step:10", "[Pass 0, train batch 10]"
std::optional<Count> train_step_count(const Line& line) {
  Cursor cursor(line);
  const bool pass = cursor.skip_past("[Pass ");
  if (!pass && !cursor.skip_past("epoch:")) return std::nullopt;
  if (!pass) cursor.literal("[");
  const auto epoch = whole(cursor);
  if (!epoch || !cursor.skip_past(pass ? ", train batch " : " train step:")) return std::nullopt;
  const auto step = whole(cursor);
  if (!step) return std::nullopt;
  return Count{*epoch, *step + 1, 0, false, !pass, false};
}

// "epoch: [1/2], global_step: 100", "epoch: [1/500], iter: 20", "[TRAIN] epoch: 1, iter: 20/500",
// to 2021 "[TRAIN] epoch=1, iter=20/500"
std::optional<Count> run_count(const Line& line) {
  Cursor cursor(line);
  const bool old = cursor.skip_past("[TRAIN] epoch=");
  const bool seg = old || cursor.skip_past("[TRAIN] epoch: ");
  if (!seg && !cursor.skip_past("epoch: [")) return std::nullopt;
  const auto epoch = whole(cursor);
  if (!epoch) return std::nullopt;
  if (!seg && (!cursor.skip_past("], ") ||
               (!cursor.literal("global_step: ") && !cursor.literal("iter: ")))) {
    return std::nullopt;
  }
  if (seg && !cursor.skip_past(old ? ", iter=" : ", iter: ")) return std::nullopt;
  const auto step = whole(cursor);
  if (!step) return std::nullopt;
  Count out{*epoch, *step, 0, true, false, false};
  if (seg && cursor.literal("/")) out.planned = whole(cursor).value_or(0);
  return out;
}

// "Epoch: [0] [ 20/200]", "Epoch: 1/200, iter: 100/3334"
std::optional<Count> det_count(const Line& line) {
  Cursor cursor(line);
  if (!cursor.skip_past("Epoch: ")) return std::nullopt;
  const bool det = cursor.literal("[");
  const auto epoch = whole(cursor);
  if (!epoch || !cursor.skip_past(det ? "] [" : ", iter: ")) return std::nullopt;
  const auto step = whole(cursor);
  if (!step || !cursor.literal("/")) return std::nullopt;
  const auto all = whole(cursor);
  if (!all || *step > *all) return std::nullopt;
  return Count{*epoch, det ? *step + 1 : *step, *all, false, false, false};
}

// "[Epoch 59, iter: 900] ", "[epoch 0, iter 0][TRAIN]"
std::optional<Count> template_count(const Line& line) {
  Cursor cursor(line);
  const bool guide = cursor.skip_past("[epoch ");
  if (!guide && !cursor.skip_past("[Epoch ")) return std::nullopt;
  const auto epoch = whole(cursor);
  if (!epoch || !cursor.literal(guide ? ", iter " : ", iter: ")) return std::nullopt;
  const auto step = whole(cursor);
  if (!step || !cursor.literal(guide ? "][TRAIN]" : "] ")) return std::nullopt;
  return Count{*epoch, *step, 0, false, false, false};
}

// "epoch: 0, batch_id: 100, " of PaddleRec, "[TRAIN] epoch=1, batch_id=100, "
std::optional<Count> batch_id_count(const Line& line) {
  Cursor cursor(line);
  const bool old = cursor.skip_past("[TRAIN] epoch=");
  if (!old && !cursor.skip_past("epoch: ")) return std::nullopt;
  const auto epoch = whole(cursor);
  if (!epoch || !cursor.literal(old ? ", batch_id=" : ", batch_id: ")) return std::nullopt;
  const auto batch = whole(cursor);
  // Number 0 is one batch, which the line divides by the usual number.
  if (!batch || *batch < 1) return std::nullopt;
  return Count{*epoch, *batch, 0, false, false, false};
}

// "2020-09-25 15:11:54,840-INFO: iter: 2, lr: 0.000035, " of PaddleDetection in 2020; nothing lies
// before number 0
std::optional<Count> iter_count(const Line& line) {
  Cursor cursor(line);
  if (!cursor.skip_past("INFO: iter: ")) return std::nullopt;
  const auto step = whole(cursor);
  if (!step || *step < 1 || !cursor.literal(", lr: ")) return std::nullopt;
  return Count{0, *step, 0, true, false, false};
}

// "Epoch [1/2], Iter [01/14], "
std::optional<Count> mean_count(const Line& line) {
  Cursor cursor(line);
  if (!cursor.skip_past("Epoch [")) return std::nullopt;
  const auto epoch = whole(cursor);
  if (!epoch || !cursor.literal("/")) return std::nullopt;
  const auto epochs = whole(cursor);
  if (!epochs || *epoch < 1 || *epochs < *epoch || !cursor.literal("], Iter ["))
    return std::nullopt;
  const auto step = whole(cursor);
  if (!step || !cursor.literal("/")) return std::nullopt;
  const auto all = whole(cursor);
  if (!all || *step < 1 || *step > *all || !cursor.literal("]")) return std::nullopt;
  Count out{*epoch, *step, *all, false, false, false};
  constexpr std::int64_t kMostEach = 1'000'000;
  if (*epochs < kMostEach && *all < kMostEach) out.planned = *epochs * *all;
  out.of_epoch = true;
  return out;
}

}  // namespace

std::optional<Count> paddle_count(const Line& line) {
  for (const std::string_view other : {"[Eval]", "valid step", "END epoch", "step_idx:"}) {
    if (has(line, other)) return std::nullopt;
  }
  auto count = clas_count(line);
  if (!count) count = train_step_count(line);
  if (!count) count = run_count(line);
  if (!count) count = det_count(line);
  if (!count) count = template_count(line);
  if (!count) count = mean_count(line);
  if (!count) count = batch_id_count(line);
  if (!count) count = iter_count(line);
  return count;
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
