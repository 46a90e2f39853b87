// The decoder of a head in bf16: logits, softmax, cross-entropy and all gradients of it.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/bert/cpu/bf16_linears.h"
#include "workloads/bert/cpu/kernels.h"

namespace bert {

/// Logits never live as a whole: a strip of words of all rows is multiplied, becomes powers of e
/// and is used while it is in a core's cache. The powers are kept in bf16. A logit's gradient is
/// its power times a factor of the row, one over the sum of all its powers; it is known after the
/// last strip and goes into what the powers are multiplied with. The logit of a row's label, whose
/// gradient is a difference, is left out of the powers and has its gradient computed in fp32.
class Bf16Decoder {
 public:
  struct Size {
    std::int64_t rows = 0, hidden = 0, vocabulary = 0;
  };
  /// That one instance should have, for `most` rows of a batch.
  [[nodiscard]] static std::int64_t rows_at_a_time(std::int64_t most);

  Bf16Decoder(const Kernels& kernels, int threads, const Size& size);
  /// Memory of an instance, as the memory plan counts it.
  [[nodiscard]] static std::int64_t bytes(int threads, const Size& size);
  [[nodiscard]] std::int64_t rows() const { return size_.rows; }  ///< the most of a call

  struct Call {
    std::int64_t rows = 0;
    const float* x = nullptr;              ///< [rows, hidden]
    const std::int32_t* labels = nullptr;  ///< [rows]; below 0: no loss and no gradient
    float scale = 1;                       ///< of the gradient of a row's loss
    const Bf16* weight = nullptr;          ///< [vocabulary, hidden]
    const float* bias = nullptr;           ///< [vocabulary] or null
    double* losses = nullptr;              ///< [rows] -log softmax[label]
    float* dx = nullptr;                   ///< [rows, hidden]
    float* d_weight = nullptr;             ///< [vocabulary, hidden]
    float* d_bias = nullptr;               ///< [vocabulary] or null; is added to
    bool accumulate = false;               ///< adds to d_weight, else writes it
  };
  /// Writes losses, dx and d_weight, and adds to d_bias. The bits do not depend on `threads`.
  void run(const Call& call);

 private:
  /// Of one thread.
  struct Scratch {
    Bf16Products products{1};
    Buffer logits;
    Bf16Buffer powers;
  };
  /// What is known of a row.
  struct Row {
    float chosen = 0;  ///< logit of its label
    float label = 0;   ///< gradient of that
  };

  void guess_shifts(const Call& call, std::int64_t begin);
  void strip(const Call& call, std::int64_t group, std::int64_t begin, bool first);
  [[nodiscard]] bool shifts_hold(const Call& call);
  void finish_rows(const Call& call);
  void input_gradient(const Call& call, std::int64_t row);
  void weight_gradient(const Call& call, std::int64_t begin);

  const Kernels& kernels_;
  int threads_;
  Size size_;
  std::int64_t groups_;
  std::vector<Scratch> scratch_;
  Bf16Buffer x_;           ///< [rows, hidden]; in the end times the factors
  Bf16Buffer transposed_;  ///< [vocabulary, rows] powers
  Buffer d_inputs_;        ///< [groups, rows, hidden] sums over the strips of a group
  std::vector<Row> rows_;
  std::vector<float> shifts_;   ///< [rows] what a logit is lessened by before it becomes a power
  std::vector<float> factors_;  ///< [rows] what a power is multiplied with to be a gradient
  std::vector<float> tops_;     ///< [groups, rows]
  std::vector<double> totals_;  ///< [groups, rows]
};

}  // namespace bert
