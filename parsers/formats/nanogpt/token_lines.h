// Step lines of trainers after the manner of llm.c: the time of the line's own step, and tokens/s.
#pragma once

#include <cstdint>
#include <optional>

#include "parsers/core/line.h"
#include "parsers/core/record.h"
#include "parsers/lines/cursor.h"

namespace bertbench {

struct TokenLine {
  std::int64_t step = 0;
  std::optional<std::int64_t> planned;
  double seconds = kUnknown;  ///< of the step, where the line tells them
  double loss = 0;
  std::optional<double> tokens_per_second;
};

/// "step    2/100 | loss 4.1 (+nanz)| norm 2.1 | lr 3e-04 | 80.2 ms | 40.1% bf16 MFU | 51020 tok/s"
/// "5 | loss 8.3733 | lr 2.500000e-06 | 161.82ms"                                       (llama2.c)
/// "step    1/9 | train loss 5.270007 | norm 30.6 | lr 1e-04 | (1200.12 ms | 800 tok/s)"
/// "step    1/74: train loss 4.367631 (80.639749 ms, 12700 tok/s)"
/// "step 0: train loss 5.356082 (took 1958.5 ms)"
/// "iter_dt 21.07ms; iter 100: train loss 1.28713"                                       (minGPT)
/// "step   47710 | loss 13.8450 | lr 1.79e-04 | grad 0.768 | 37.5k tok/s | mfu 37.67%"   (no time)
[[nodiscard]] std::optional<TokenLine> token_line(const Line& line);

/// The number of a step at the cursor, after blanks.
[[nodiscard]] std::optional<std::int64_t> step_number(Cursor& cursor);

/// "129,238"
[[nodiscard]] std::optional<double> grouped_number(Cursor cursor);

}  // namespace bertbench
