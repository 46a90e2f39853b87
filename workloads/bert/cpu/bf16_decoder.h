// The decoder of a head in bf16: logits, softmax, cross-entropy and all gradients of it.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/bert/cpu/bf16_linears.h"
#include "workloads/bert/cpu/kernels.h"

namespace bert {

/// Logits never live as a whole: a strip of columns of all rows is computed, raised to the power of
/// e and used while it is in a core's cache. What is kept of it are bf16 numbers e, from which a
/// logit's gradient is e times a factor of its row, which is known after the last strip; the factor
/// goes into what e is multiplied with. The logit of a row's label, whose gradient is a difference,
/// is left out of e and is computed in fp32.
class Bf16Decoder {
 public:
  struct Size {
    std::int64_t rows = 0, hidden = 0, vocabulary = 0;
  };
  /// That one instance should have, for `most` rows of a batch.
  [[nodiscard]] static std::int64_t rows_at_a_time(std::int64_t most);

  Bf16Decoder(const Kernels& kernels, int threads, const Size& size);
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
    float shift = 0;   ///< of its logits before they are raised
    float chosen = 0;  ///< logit of its label
    float factor = 0;  ///< powers times this are gradients
    float label = 0;   ///< gradient of the logit of its label
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
  std::vector<float> shifts_, factors_;  ///< of Row, side by side for the kernels
  std::vector<float> tops_;              ///< [groups, rows]
  std::vector<double> totals_;           ///< [groups, rows]
};

}  // namespace bert
