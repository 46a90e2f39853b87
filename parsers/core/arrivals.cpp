#include "parsers/core/arrivals.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "parsers/core/text.h"

namespace bertbench {
namespace {

// Linux stamps changes of files by a clock that it moves on 100 to 1000 times a second.
constexpr double kFileClockStep_s = 0.01;

// To the digits of the file, so that what is read again is what was recorded.
double as_written(double seconds) { return std::round(seconds * 1e6) / 1e6; }

std::optional<Arrival> parse_line(std::string_view line) {
  std::array<std::string_view, 6> fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto comma = line.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == fields.size())) return std::nullopt;
    fields[i] = line.substr(0, comma);
    if (comma != std::string_view::npos) line.remove_prefix(comma + 1);
  }
  const auto from = to_int(fields[0]), to = to_int(fields[1]);
  const auto look = to_double(fields[2]), gap = to_double(fields[4]), quiet = to_double(fields[5]);
  const auto age = fields[3].empty() ? std::optional(kUnknown) : to_double(fields[3]);
  if (!from || !to || !look || !age || !gap || !quiet) return std::nullopt;
  const Arrival out{*from, *to, *look, *age, *gap, *quiet};
  const bool sound = out.from >= 0 && out.to > out.from && std::isfinite(out.look_s) &&
                     out.gap_s >= 0 && out.quiet_s >= out.gap_s && out.look_s >= out.quiet_s &&
                     !(out.age_s < 0) && !(out.age_s > out.gap_s);
  return sound ? std::optional(out) : std::nullopt;
}

}  // namespace

double Arrival::width_s() const { return age_s >= 0 ? std::min(gap_s, kFileClockStep_s) : gap_s; }

ArrivalRecorder::ArrivalRecorder(std::size_t most) : most_(std::max<std::size_t>(most, 4)) {}

void ArrivalRecorder::look(double now_s, std::int64_t size, double age_s) {
  if (!looked_) {
    looked_ = true;
    begin_s_ = looked_s_ = grew_s_ = now_s;
    size_ = size;
    return;
  }
  const double gap = now_s - looked_s_;
  looked_s_ = now_s;
  if (size <= size_) return;
  newest_ = {.from = size_,
             .to = size,
             .look_s = as_written(now_s - begin_s_),
             .age_s = age_s >= 0 && age_s <= gap ? as_written(age_s) : kUnknown,
             .gap_s = as_written(gap),
             .quiet_s = as_written(now_s - grew_s_)};
  grew_s_ = now_s;
  size_ = size;
  if (seen_++ % stride_ != 0) return;
  kept_.push_back(newest_);
  if (kept_.size() < most_) return;
  stride_ *= 2;
  ++version_;
  for (std::size_t i = 1; 2 * i < kept_.size(); ++i) kept_[i] = kept_[2 * i];
  kept_.resize((kept_.size() + 1) / 2);
}

void ArrivalRecorder::restart() {
  const auto version = version_ + 1;
  *this = ArrivalRecorder(most_);
  version_ = version;
}

std::vector<Arrival> ArrivalRecorder::all() const {
  auto out = kept_;
  if (seen_ > 0 && (out.empty() || out.back().to < newest_.to)) out.push_back(newest_);
  return out;
}

std::string arrival_line(const Arrival& arrival) {
  const auto age = arrival.age_s >= 0 ? fmt::format("{:.6f}", arrival.age_s) : std::string();
  return fmt::format("{},{},{:.6f},{},{:.6f},{:.6f}\n", arrival.from, arrival.to, arrival.look_s,
                     age, arrival.gap_s, arrival.quiet_s);
}

std::vector<Arrival> parse_arrivals(std::string_view text) {
  std::vector<Arrival> out;
  if (!text.starts_with(kArrivalsHeader)) return out;
  text.remove_prefix(kArrivalsHeader.size());
  for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const auto arrival = parse_line(text.substr(0, end));
    if (!arrival) break;
    if (!out.empty() && (arrival->from < out.back().to || arrival->look_s < out.back().look_s)) {
      break;
    }
    out.push_back(*arrival);
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace bertbench
