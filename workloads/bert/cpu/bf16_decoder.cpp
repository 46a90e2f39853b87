#include "workloads/bert/cpu/bf16_decoder.h"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace bert {
namespace {

/// Logits, powers and the sums of gradients of a strip of so many rows of bert-tiny fill a second
/// level cache of 1 MiB.
constexpr std::int64_t kRows = 640;
constexpr std::int64_t kStrip = 256;

/// Strips are shared out to so many groups whose sums are added up in order, so that results do not
/// depend on the number of threads.
constexpr std::int64_t kGroups = 32;

/// Columns of which a thread takes the gradients of weights at a time: their powers stay in its
/// cache until those of the bias are summed.
constexpr std::int64_t kWeightStrip = 512;

/// Rows and words of one product that guesses how large logits are.
constexpr std::int64_t kGuessedRows = 64, kGuessedWords = 64;

/// Logits may be so much larger than the guess of a row's largest: powers and their sums, and the
/// factors, remain within half of fp32's range of exponents.
constexpr float kLargestShifted = 40;

std::int64_t strips_of(std::int64_t vocabulary) { return (vocabulary + kStrip - 1) / kStrip; }
std::int64_t groups_of(std::int64_t vocabulary) { return std::min(kGroups, strips_of(vocabulary)); }

float to_float(Bf16 bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

}  // namespace

std::int64_t Bf16Decoder::rows_at_a_time(std::int64_t most) { return std::min(most, kRows); }

std::int64_t Bf16Decoder::bytes(int threads, const Size& size) {
  const std::int64_t bf16 =
      size.rows * (size.hidden + size.vocabulary) + threads * size.rows * kStrip;
  const std::int64_t groups = groups_of(size.vocabulary);
  const std::int64_t fp32 = threads * size.rows * kStrip + groups * size.rows * size.hidden;
  return 2 * bf16 + 4 * fp32 + 12 * groups * size.rows;
}

Bf16Decoder::Bf16Decoder(const Kernels& kernels, int threads, const Size& size)
    : kernels_(kernels),
      threads_(threads),
      size_(size),
      groups_(groups_of(size.vocabulary)),
      x_(size.rows * size.hidden),
      transposed_(size.vocabulary * size.rows),
      d_inputs_(groups_ * size.rows * size.hidden),
      rows_(static_cast<std::size_t>(size.rows)),
      shifts_(rows_.size()),
      factors_(rows_.size()),
      tops_(static_cast<std::size_t>(groups_) * rows_.size()),
      totals_(tops_.size()) {
  for (int i = 0; i < threads; ++i) {
    scratch_.emplace_back();
    scratch_.back().logits = Buffer(size.rows * kStrip);
    scratch_.back().powers = Bf16Buffer(size.rows * kStrip);
  }
}

/// The largest logit of some words that are evenly spread over the vocabulary, of rows from `begin`
/// on.
void Bf16Decoder::guess_shifts(const Call& call, std::int64_t begin) {
  const std::int64_t h = size_.hidden;
  const std::int64_t rows = std::min(kGuessedRows, call.rows - begin);
  const std::int64_t words = std::min(kGuessedWords, size_.vocabulary);
  const std::int64_t apart = size_.vocabulary / words;
  Scratch& own = scratch_[static_cast<std::size_t>(omp_get_thread_num())];
  own.products.multiply({false, true, rows, words, h, h, apart * h, words}, x_.data() + begin * h,
                        call.weight, nullptr, own.logits.data());
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* logits = own.logits.data() + r * words;
    float top = -HUGE_VALF;
    for (std::int64_t j = 0; j < words; ++j) {
      top = std::max(top, call.bias == nullptr ? logits[j] : logits[j] + call.bias[j * apart]);
    }
    shifts_[static_cast<std::size_t>(begin + r)] = top;
  }
}

void Bf16Decoder::strip(const Call& call, std::int64_t group, std::int64_t begin, bool first) {
  const std::int64_t h = size_.hidden;
  const std::int64_t width = std::min(kStrip, size_.vocabulary - begin);
  Scratch& own = scratch_[static_cast<std::size_t>(omp_get_thread_num())];
  float* const logits = own.logits.data();
  Bf16* const powers = own.powers.data();
  const Bf16* const weight = call.weight + begin * h;
  own.products.multiply({false, true, call.rows, width, h, h, h, width}, x_.data(), weight, nullptr,
                        logits);
  const float* const bias = call.bias == nullptr ? nullptr : call.bias + begin;
  for (std::int64_t r = 0; r < call.rows; ++r) {
    const std::int64_t label = call.labels[r] - begin;
    if (label < 0 || label >= width) continue;
    float& logit = logits[r * width + label];
    rows_[static_cast<std::size_t>(r)].chosen = bias == nullptr ? logit : logit + bias[label];
    logit = -HUGE_VALF;
  }
  const auto at = static_cast<std::size_t>(group * size_.rows);
  kernels_.powers(call.rows, width, logits, bias, shifts_.data(), powers, &tops_[at], &totals_[at]);
  kernels_.transpose_bf16(call.rows, width, powers, width, transposed_.data() + begin * call.rows,
                          call.rows);
  own.products.multiply({false, false, call.rows, h, width, width, h, h, !first}, powers, weight,
                        nullptr, d_inputs_.data() + group * size_.rows * h);
}

/// Where a logit is too large for the guess, the largest becomes the shift and all is done again.
bool Bf16Decoder::shifts_hold(const Call& call) {
  bool hold = true;
  for (std::int64_t r = 0; r < call.rows; ++r) {
    float top = rows_[static_cast<std::size_t>(r)].chosen;
    if (call.labels[r] < 0) top = -HUGE_VALF;
    for (std::int64_t group = 0; group < groups_; ++group) {
      top = std::max(top, tops_[static_cast<std::size_t>(group * size_.rows + r)]);
    }
    float& shift = shifts_[static_cast<std::size_t>(r)];
    if (!(top - shift > kLargestShifted)) continue;
    shift = top;
    hold = false;
  }
  return hold;
}

void Bf16Decoder::finish_rows(const Call& call) {
  for (std::int64_t r = 0; r < call.rows; ++r) {
    const auto at = static_cast<std::size_t>(r);
    Row& row = rows_[at];
    call.losses[r] = 0;
    factors_[at] = row.label = 0;
    if (call.labels[r] < 0) continue;
    const auto above = static_cast<double>(row.chosen) - static_cast<double>(shifts_[at]);
    const double power = std::exp(above);
    double others = 0;
    for (std::int64_t group = 0; group < groups_; ++group) {
      others += totals_[static_cast<std::size_t>(group * size_.rows + r)];
    }
    const double total = others + power;
    call.losses[r] = std::log(total) - above;
    factors_[at] = static_cast<float>(static_cast<double>(call.scale) / total);
    row.label = static_cast<float>(-static_cast<double>(call.scale) * (others / total));
  }
}

void Bf16Decoder::input_gradient(const Call& call, std::int64_t r) {
  const std::int64_t h = size_.hidden;
  const float factor = factors_[static_cast<std::size_t>(r)];
  float* const dx = call.dx + r * h;
  std::fill_n(dx, h, 0.0F);
  Bf16* const x = x_.data() + r * h;
  if (call.labels[r] < 0) {  // also where its logits are no numbers
    std::fill_n(x, h, Bf16{0});
    return;
  }
  kernels_.column_sums(groups_, h, size_.rows * h, d_inputs_.data() + r * h, dx);
  const Bf16* const weight = call.weight + call.labels[r] * h;
  const float label = rows_[static_cast<std::size_t>(r)].label;
  for (std::int64_t j = 0; j < h; ++j) dx[j] = factor * dx[j] + label * to_float(weight[j]);
  constexpr std::int64_t kPart = 256;
  float scaled[kPart];
  for (std::int64_t begin = 0; begin < h; begin += kPart) {
    const std::int64_t count = std::min(kPart, h - begin);
    for (std::int64_t j = 0; j < count; ++j) scaled[j] = factor * call.x[r * h + begin + j];
    kernels_.to_bf16(count, scaled, x + begin);
  }
}

void Bf16Decoder::weight_gradient(const Call& call, std::int64_t begin) {
  const std::int64_t h = size_.hidden;
  const std::int64_t end = std::min(begin + kWeightStrip, size_.vocabulary);
  const Bf16* const powers = transposed_.data() + begin * call.rows;
  float* const d_weight = call.d_weight + begin * h;
  scratch_[static_cast<std::size_t>(omp_get_thread_num())].products.multiply(
      {false, false, end - begin, h, call.rows, call.rows, h, h, call.accumulate}, powers,
      x_.data(), nullptr, d_weight);
  if (call.d_bias != nullptr) {
    kernels_.weighted_sums(end - begin, call.rows, powers, factors_.data(), call.d_bias + begin);
  }
  for (std::int64_t r = 0; r < call.rows; ++r) {
    const std::int64_t label = call.labels[r];
    if (label < begin || label >= end) continue;
    const float gradient = rows_[static_cast<std::size_t>(r)].label;
    if (call.d_bias != nullptr) call.d_bias[label] += gradient;
    float* const row = call.d_weight + label * h;
    for (std::int64_t j = 0; j < h; ++j) row[j] += gradient * call.x[r * h + j];
  }
}

void Bf16Decoder::run(const Call& call) {
  const std::int64_t h = size_.hidden;
  const std::int64_t strips = strips_of(size_.vocabulary);
  // All loops are static: a thread has the same shapes of products in every call, and keeps them.
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t begin = 0; begin < call.rows; begin += kGuessedRows) {
    const std::int64_t rows = std::min(kGuessedRows, call.rows - begin);
    kernels_.to_bf16(rows * h, call.x + begin * h, x_.data() + begin * h);
    guess_shifts(call, begin);
  }
  do {
    std::ranges::fill(tops_, -HUGE_VALF);
    std::ranges::fill(totals_, 0.0);
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t group = 0; group < groups_; ++group) {
      const std::int64_t first = strips * group / groups_, end = strips * (group + 1) / groups_;
      for (std::int64_t i = first; i < end; ++i) strip(call, group, i * kStrip, i == first);
    }
  } while (!shifts_hold(call));
  finish_rows(call);
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t r = 0; r < call.rows; ++r) input_gradient(call, r);
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t begin = 0; begin < size_.vocabulary; begin += kWeightStrip) {
    weight_gradient(call, begin);
  }
}

}  // namespace bert
