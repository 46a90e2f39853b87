#include "parsers/assemble/trainer_checks.h"

#include <algorithm>
#include <cmath>

#include "parsers/core/text.h"
#include "parsers/lines/cursor.h"

namespace bertbench {

bool TrainerChecks::read_dict(const Line& line) {
  const std::string_view text = trim(line.text);
  if (!text.starts_with("{'") || text.find("'train_") != std::string_view::npos) return false;
  const auto seconds = number_after(line, "_runtime':");
  if (!seconds) return false;
  const auto epoch = number_after(line, "'epoch':");
  if (!epoch || !(*epoch > 0) || !(*seconds > 0) || text == last_) return true;
  last_ = std::string(text);
  evaluating_s_ += *seconds;
  return true;
}

bool TrainerChecks::read_member(const Line& line) {
  if (line.text.starts_with("\"epoch\": ")) {
    epochs_ = number_after(line, "\"epoch\":");
    // transformers before 5 rounds it to two digits after the point.
    const auto point = line.text.find('.');
    const auto end = line.text.find_last_of("0123456789");
    const bool fine =
        point != std::string_view::npos && end != std::string_view::npos && end > point + 2;
    epoch_error_ = fine ? 0 : 0.005;
    return true;
  }
  if (line.text.starts_with("\"train_samples\": ")) {
    samples_ = number_after(line, "\"train_samples\":");
    return true;
  }
  const auto colon = line.text.find("_runtime\": ");
  if (colon == std::string_view::npos || line.text.starts_with("\"train_")) return false;
  const auto seconds = number_after(line, "_runtime\":");
  if (seconds && *seconds > 0) evaluating_s_ += *seconds;
  return true;
}

void TrainerChecks::end_session(bool timely) {
  evaluated_s_ = timely ? evaluating_s_ : 0;
  evaluating_s_ = 0;
}

bool TrainerChecks::outlast(double runtime) const {
  constexpr double kRuntimeExcess = 1.01;  // times the runtime; less may be rounding
  return runtime > 0 && evaluated_s_ > kRuntimeExcess * runtime;
}

void TrainerChecks::judge(double runtime, const std::optional<Stated>& rate,
                          std::vector<Notice>& notices) const {
  if (!rate || !(runtime > 0)) return;
  const Stated& stated = *rate;
  // Share: evaluations that took less, and last batches that were less full, get no notice
  // (quoted/trainer_evaluations.tells_what_evaluations_took_of_the_runtime and
  // quoted/huggingface.tells_where_batches_that_were_not_full_are_counted_as_full).
  constexpr double kLeastNoticeShare = 0.02;
  const double share = evaluated_s_ / runtime;
  if (share >= kLeastNoticeShare && share <= 1) {
    notices.push_back(make_notice(NoticeCode::closing_rate_holds_evaluations, stated.line,
                                  evaluated_s_, runtime, 100 * share));
  }
  if (!epochs_ || !samples_ || !(*epochs_ > 0) || !(*samples_ > 0)) return;
  const double done = *samples_ * *epochs_ / runtime;
  const double rounding = epoch_error_ / *epochs_ + 5e-4 / stated.value;
  const double above = stated.value / done - 1;
  if (!(above > kLeastNoticeShare + rounding) || !std::isfinite(above)) return;
  notices.push_back(make_notice(NoticeCode::closing_rate_above_samples, stated.line,
                                shortest(stated.value), 100 * above, done));
}

std::optional<std::int64_t> TrainerChecks::sequences_per_step(double samples, double steps) {
  constexpr double kMostError = 0.1;  // of a sequence: within it lies one whole number
  if (!(samples > 0) || !(steps > 0) || !(samples < 1e12)) return std::nullopt;
  // Three decimals, and since transformers 5.0 four digits.
  const auto rounding = [](double rate) {
    return std::max(5e-4, 5e-4 * std::pow(10, std::floor(std::log10(rate)))) / rate;
  };
  const double ratio = samples / steps, whole = std::round(ratio);
  const double error = ratio * (rounding(samples) + rounding(steps));
  if (whole < 1 || error > kMostError || std::abs(ratio - whole) > error) return std::nullopt;
  return std::llround(whole);
}

}  // namespace bertbench
