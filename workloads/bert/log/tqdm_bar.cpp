#include "workloads/bert/log/tqdm_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace bert {
namespace {

constexpr double kSmoothing = 0.3;
constexpr int kBarWidth = 10;
// U+258F (one eighth) to U+2588 (full block); index = eighths.
constexpr const char* kBlocks[] = {" ",
                                   "\xE2\x96\x8F",
                                   "\xE2\x96\x8E",
                                   "\xE2\x96\x8D",
                                   "\xE2\x96\x8C",
                                   "\xE2\x96\x8B",
                                   "\xE2\x96\x8A",
                                   "\xE2\x96\x89",
                                   "\xE2\x96\x88"};

std::size_t characters(const std::string& utf8) {
  return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

void TqdmAverage::add(double x) {
  last_ = kSmoothing * x + (1 - kSmoothing) * last_;
  ++calls_;
  weight_left_ = std::pow(1 - kSmoothing, calls_);
}

double TqdmAverage::value() const { return calls_ == 0 ? last_ : last_ / (1 - weight_left_); }

std::string tqdm_interval(double seconds) {
  const auto whole = static_cast<long long>(std::abs(seconds));
  const char* const sign = seconds <= -1 ? "-" : "";
  const long long hours = whole / 3600, minutes = whole / 60 % 60;
  if (hours > 0) {
    return fmt::format("{}{}:{:02d}:{:02d}", sign, hours, minutes, whole % 60);
  }
  return fmt::format("{}{:02d}:{:02d}", sign, minutes, whole % 60);
}

std::string tqdm_meter(const std::string& description, std::int64_t n, std::int64_t total,
                       double elapsed, std::optional<double> rate) {
  const auto done = static_cast<double>(n);
  const auto all = static_cast<double>(total);
  if (!rate && elapsed != 0) {
    rate = done / elapsed;
  }
  const bool known = rate && *rate != 0;
  std::string speed = "?it/s";
  std::string remaining = "?";
  if (known) {
    const double inverse = 1 / *rate;
    speed = inverse > 1 ? fmt::format("{:5.2f}s/it", inverse) : fmt::format("{:5.2f}it/s", *rate);
    remaining = tqdm_interval((all - done) / *rate);
  }
  const double fraction = done / all;
  const auto eighths = static_cast<int>(fraction * kBarWidth * 8);
  std::string bar;
  for (int cell = 0; cell < kBarWidth; ++cell) {
    bar += kBlocks[std::clamp(eighths - 8 * cell, 0, 8)];
  }
  return fmt::format("{}: {:3.0f}%|{}| {}/{} [{}<{}, {}]", description, fraction * 100, bar, n,
                     total, tqdm_interval(elapsed), remaining, speed);
}

TqdmBar::TqdmBar(std::string description, std::int64_t total)
    : description_(std::move(description)), total_(total) {}

std::string TqdmBar::draw(double now, std::optional<double> rate) {
  const std::string meter = tqdm_meter(description_, n_, total_, now - start_, rate);
  const std::size_t length = characters(meter);
  const std::size_t blanks = last_length_ > length ? last_length_ - length : 0;
  last_length_ = length;
  return "\r" + meter + std::string(blanks, ' ');
}

std::string TqdmBar::start(double now) {
  start_ = last_print_ = now;
  return draw(now, std::nullopt);
}

std::string TqdmBar::iterate(double now) {
  ++n_;
  const auto dn = static_cast<double>(n_ - last_print_n_);
  const double dt = now - last_print_;
  if (dn < min_iterations_ || dt < kMinInterval) {
    return "";
  }
  dn_.add(dn);
  dt_.add(dt);
  std::string text = draw(now, dn_.value() / dt_.value());
  if (dt >= kMaxInterval) {
    min_iterations_ = dn * kMinInterval / dt;
  } else {
    miniters_.add(dn * kMinInterval / dt);
    min_iterations_ = miniters_.value();
  }
  last_print_n_ = n_;
  last_print_ = now;
  return text;
}

std::string TqdmBar::close(double now) { return draw(now, std::nullopt) + "\n"; }

double TqdmBar::overall_rate(double now) const {
  return now > start_ ? static_cast<double>(n_) / (now - start_) : 0;
}

}  // namespace bert
