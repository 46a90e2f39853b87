#include "parsers/formats/keras/keras_bar.h"

#include <cmath>
#include <string_view>

#include "parsers/core/text.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/decimal.h"

namespace bertbench {
namespace {

constexpr std::int64_t kMostSteps = 100'000'000'000;

// "1875/1875" before `end`, blanks between allowed. Backspaces and what another bar left stand
// further to the left.
bool read_counter(std::string_view text, std::size_t end, KerasBar& bar) {
  while (end > 0 && text[end - 1] == ' ') --end;
  const std::size_t total = digits_before(text, end);
  if (total == end || total == 0 || text[total - 1] != '/') return false;
  const std::size_t done = digits_before(text, total - 1);
  if (text.substr(0, done).ends_with("step ")) return false;  // Paddle's bar, else alike
  Cursor cursor(text.substr(done, end - done), false);
  const auto n = cursor.integer();
  if (!n || !cursor.literal("/")) return false;
  const auto m = cursor.integer();
  if (!m || *n < 1 || *m < 1 || *m > kMostSteps || *n > kMostSteps) return false;
  bar.done = *n;
  bar.total = *m;
  return true;
}

// "71us/step", "13ms/step", "3s/step", "2s/epoch", "71us/sample"
bool read_rate(Cursor& cursor, KerasBar& bar) {
  Cursor at = cursor;
  const auto value = at.number();
  if (!value || !(*value >= 0)) return false;
  double scale = 1;
  if (at.literal("us")) {
    scale = 1e-6;
  } else if (at.literal("ms")) {
    scale = 1e-3;
  } else if (!at.literal("s")) {
    return false;
  }
  if (at.literal("/epoch")) {
    bar.modern = true;  // tf.keras 2.7: counts steps
    cursor = at;
    return true;
  }
  if (at.literal("/sample")) {
    bar.per_sample = true;
  } else if (!at.literal("/step")) {
    return false;
  }
  bar.per_step = true;
  bar.step_s = *value * scale;
  bar.step_resolution_s = scale;
  cursor = at;
  return true;
}

// What follows the bar: seconds of the whole, time of a step, ETA, metrics.
void read_tail(const Line& line, std::size_t from, KerasBar& bar) {
  Cursor cursor(line);
  cursor.move_to(from);
  for (int part = 0; part < 4; ++part) {
    cursor.blanks();
    if (cursor.literal("-")) cursor.blanks();
    if (read_rate(cursor, bar)) continue;
    Cursor at = cursor;
    const auto seconds = at.number();
    if (seconds && *seconds >= 0 && at.literal("s")) {
      if (bar.done >= bar.total) bar.elapsed_s = *seconds;
      cursor = at;
      continue;
    }
    if (at = cursor; at.duration() && at.rest().starts_with(' ')) {  // Keras 3: time left
      cursor = at;
      continue;
    }
    break;
  }
  if (Cursor at = cursor; at.literal("ETA: ")) {
    const auto left = at.duration();
    if (left && (at.literal("s ") || at.literal(" "))) bar.left_s = *left;
  }
  Cursor rest = cursor;
  while (rest.skip_past("/")) {  // "- 26s/epoch - 13ms/step" after the metrics
    std::size_t begin = rest.at() - 1;
    while (begin > from && line.text[begin - 1] != ' ') --begin;
    Cursor rate(line);
    rate.move_to(begin);
    if (read_rate(rate, bar) && rate.at() > rest.at()) rest = rate;
  }
  for (auto at = line.text.find("loss: ", from); at != std::string_view::npos;
       at = line.text.find("loss: ", at + 1)) {
    bar.loss_known = true;
    if (line.text[at - 1] != ' ') continue;  // val_loss, d_loss
    Cursor loss(line);
    loss.move_to(at + 6);
    if (const auto value = loss.number()) {
      bar.loss = *value;
      bar.loss_read = true;
    }
    break;
  }
  bar.validated = line.text.find(" val_", from) != std::string_view::npos;
}

}  // namespace

std::optional<KerasBar> read_keras_bar(const Line& line) {
  const std::string_view text = line.text;
  KerasBar bar;
  constexpr std::string_view kBlock = "━";
  if (const auto block = text.find(kBlock); block != std::string_view::npos) {
    std::size_t end = block;
    while (text.substr(end).starts_with(kBlock)) end += kBlock.size();
    if (!read_counter(text, block, bar)) return std::nullopt;
    bar.modern = true;
    read_tail(line, end, bar);
    return bar.per_step ? std::optional(bar) : std::nullopt;
  }
  for (auto open = text.find('['); open != std::string_view::npos;
       open = text.find('[', open + 1)) {
    const auto end = text.find_first_not_of("=>.", open + 1);
    if (end == std::string_view::npos || text[end] != ']' || end < open + 20) continue;
    if (!read_counter(text, open, bar)) continue;
    read_tail(line, end + 1, bar);
    // The oldest releases print no time of a step.
    const bool timed = bar.per_step || !std::isnan(bar.elapsed_s);
    return timed || text.find("ETA: ", end) != std::string_view::npos ? std::optional(bar)
                                                                      : std::nullopt;
  }
  // verbose=2: "1875/1875 - 26s - ...", before 2.3 without the counter.
  if (text.starts_with(" - ")) {
    read_tail(line, 0, bar);
    return !std::isnan(bar.elapsed_s) && bar.loss_known ? std::optional(bar) : std::nullopt;
  }
  const auto dash = text.find(" - ");
  if (dash == std::string_view::npos || !read_counter(text, dash, bar)) return std::nullopt;
  if (!is_digit(text.front())) return std::nullopt;
  read_tail(line, dash, bar);
  if (std::isnan(bar.elapsed_s)) return std::nullopt;
  bar.modern = bar.modern || bar.per_step;
  return bar;
}

}  // namespace bertbench
