#include "parsers/formats/huggingface/trainer_progress.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "parsers/assemble/run_builder.h"
#include "parsers/core/text.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

// At the value of `key`, after its quote if it has one.
std::optional<Cursor> value_of(const Line& line, std::string_view key) {
  Cursor cursor(line);
  if (!cursor.skip_past(key)) return std::nullopt;
  if (!cursor.literal("': ") && !cursor.literal("\": ")) return std::nullopt;
  if (!cursor.literal("'")) cursor.literal("\"");
  return cursor;
}

// "0:16:43", "1 day, 0:16:43", or "2d 22h 37m 44s", "1m 3s".
std::optional<double> seconds_of(Cursor cursor) {
  Cursor clock = cursor;
  const auto whole = clock.duration();
  if (whole && *whole >= 0 && clock.literal("\"")) return whole;
  constexpr std::int64_t kCountLimit = 1'000'000'000;
  for (double sum = 0;;) {
    const auto number = cursor.integer();
    if (!number || *number < 0 || *number > kCountLimit) return std::nullopt;
    const auto n = static_cast<double>(*number);
    if (cursor.literal("s")) return sum + n;
    if (cursor.literal("d ")) {
      sum += 86400 * n;
    } else if (cursor.literal("h ")) {
      sum += 3600 * n;
    } else if (cursor.literal("m ")) {
      sum += 60 * n;
    } else {
      return std::nullopt;
    }
  }
}

bool read_steps(const Line& line, TrainerProgress& out) {
  std::optional<std::int64_t> step, planned;
  if (auto at = value_of(line, "global_step/max_steps")) {
    step = at->integer();
    if (at->literal("/")) planned = at->integer();
  } else if (auto now = value_of(line, "\"current_steps")) {
    step = now->integer();
    if (auto total = value_of(line, "\"total_steps")) planned = total->integer();
  }
  constexpr std::int64_t kStepLimit = 1'000'000'000'000;
  if (!step || !planned || *step < 1 || *step > *planned || *planned > kStepLimit) return false;
  out.step = *step;
  out.planned = *planned;
  return true;
}

// The seconds of 'elapsed_time' are whole ones, cut off.
void refine(const Line& line, TrainerProgress& out) {
  constexpr double kCutOff = 1.5, kDigit = 1e-6, kSmallestDoubt = 1e-3;
  const auto steps = static_cast<double>(out.step);
  double seconds = kUnknown, doubt = kUnknown;
  if (auto at = value_of(line, "train_speed(iter/s)")) {
    const double speed = at->number().value_or(kUnknown);
    seconds = steps / speed;
    doubt = seconds * kDigit / speed;
  } else if (auto slow = value_of(line, "train_speed(s/it)")) {
    seconds = steps * slow->number().value_or(kUnknown);
    doubt = steps * kDigit;
  }
  if (!(seconds > 0) || !(doubt < 1) || std::abs(seconds - out.elapsed_s) > kCutOff) return;
  out.elapsed_s = seconds;
  out.resolution_s = std::max(doubt, kSmallestDoubt);
}

}  // namespace

std::optional<TrainerProgress> TrainerProgress::read(const Line& line) {
  TrainerProgress out;
  if (!read_steps(line, out)) return std::nullopt;
  const auto at = value_of(line, "elapsed_time");
  const auto seconds = at ? seconds_of(*at) : std::nullopt;
  if (!seconds) return std::nullopt;
  out.elapsed_s = *seconds;
  refine(line, out);
  if (auto loss = value_of(line, "{'loss")) {
    out.loss = loss->number();
  } else if (auto json = value_of(line, "\"loss")) {
    out.loss = json->number();
  }
  return out;
}

void EvaluationsBetween::see(const Line& line) {
  const auto number_at = [&](std::string_view key) -> std::optional<double> {
    auto at = value_of(line, key);
    return at ? at->number() : std::nullopt;
  };
  if (!any_step_ || line.text == last_ || !number_at("eval_loss")) return;
  last_ = std::string(line.text);
  ++pending_.n;
  pending_.seconds += std::fmax(number_at("eval_runtime").value_or(0), 0);
}

void EvaluationsBetween::step() {
  if (any_step_) {
    between_.n += pending_.n;
    between_.seconds += pending_.seconds;
  }
  any_step_ = true;
  pending_ = {};
}

void EvaluationsBetween::conclude(RunDraft& run) {
  if (between_.n > 0) {
    run.log.notices.push_back(
        make_notice(NoticeCode::evaluations_between_steps, 0, counted(between_.n, "evaluation"),
                    between_.seconds > 0 ? fmt::format(", of {:.4g} s", between_.seconds) : ""));
  }
  *this = {};
}

}  // namespace bertbench
