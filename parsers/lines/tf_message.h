// Lines of TensorFlow logs, taken apart; parsers/formats/tensorflow/tf.cpp makes runs of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "parsers/core/line.h"
#include "parsers/core/record.h"

namespace bertbench {

/// A message without what the logger put before it.
struct TfMessage {
  std::string_view text;
  double time_s = kUnknown;  ///< seconds of an unnamed year; absl lines only
  bool absl = false;
  std::int64_t thread = 0;  ///< absl: of the process that prints
};
/// "INFO:tensorflow:..." or "I0501 17:11:00.381370 <thread> file.py:2308] ...".
[[nodiscard]] std::optional<TfMessage> tf_message(std::string_view line);

/// A loss line's seconds have three decimals; global_step/sec of the same interval has six digits.
[[nodiscard]] double tf_refined(double seconds, std::int64_t steps, double steps_per_second);

/// Whether several processes print a kind of message in turn: another thread alone may be that of
/// the next launch, one whose turn comes again is not. A launcher's label distinguishes them
/// better; where all processes have one thread's number, two unlike rates less than a step apart
/// show them.
class TfTurns {
 public:
  /// Whether the message is of the one process whose messages are taken: of any until several do.
  bool see(const TfMessage& message, int rank, double steps_per_second = kUnknown);
  [[nodiscard]] bool several() const { return taken_ != 0 || crowded_; }

 private:
  void read_rate(const TfMessage& message, double steps_per_second);

  std::vector<std::int64_t> seen_;  ///< threads, and ranks as negative numbers
  std::int64_t newest_ = 0, taken_ = 0;
  double time_s_ = kUnknown, rate_ = kUnknown;  ///< of the newest stamped rate
  bool crowded_ = false;
};

/// Steps done in an interval at this rate; 0 when it is not stated.
[[nodiscard]] std::int64_t tf_steps_in(double rate, double seconds);

/// "loss = 11.079672, step = 32 (1271.735 sec)"; without "step =" a loss is an evaluation's.
struct TfLossStep {
  double loss = 0;
  std::int64_t step = 0;
  double seconds = kUnknown;  ///< since the loss line before, three decimals
};
[[nodiscard]] std::optional<TfLossStep> tf_loss_step(const Line& message);

/// NVIDIA's "DLL 2023-08-02 10:01:00.756283 - Iteration: 12  throughput_train : 1007.394
/// sequences/s mlm_loss : ...", ResNet's "(0, 380) total_ips : 11633.7", or the closing line
/// without an iteration. Rates are of all ranks.
struct TfDleLine {
  std::optional<std::int64_t> iteration;
  double rate = 0;         ///< sequences/s
  bool sample = false;     ///< of one iteration of those since the line before
  bool one_ahead = false;  ///< pre-training's number, one above the updates done
  bool scaled = false;     ///< with the loss scale that half precision has
  double time_s = kUnknown;
  std::optional<double> loss;
};
[[nodiscard]] std::optional<TfDleLine> tf_dle_line(const Line& line);

/// "Step =     10 Throughput =        410.5 MLM Loss = 9.1e+00 NSP Loss = ... Loss =  9.700 ...",
/// as the releases of 2019 print it, of all ranks: without a stamp.
inline constexpr std::string_view kTfThroughput = " Throughput = ";
[[nodiscard]] std::optional<TfDleLine> tf_first_dle_line(const Line& line);

/// The updates of "Restoring parameters from /results/model.ckpt-60".
inline constexpr std::string_view kTfRestoring = "Restoring parameters from ";
[[nodiscard]] std::optional<std::int64_t> tf_restored(std::string_view message);

}  // namespace bertbench
