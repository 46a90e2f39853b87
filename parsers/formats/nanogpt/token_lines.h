// Step lines of trainers after the manner of llm.c: the time of the line's own step, and tokens/s.
#pragma once

#include <optional>

#include "parsers/assemble/events.h"
#include "parsers/core/line.h"
#include "parsers/lines/cursor.h"

namespace bertbench {

/// "step    2/100 | loss 4.1 (+nanz)| norm 2.1 | lr 3e-04 | 80.2 ms | 40.1% bf16 MFU | 51020 tok/s"
/// "5 | loss 8.3733 | lr 2.500000e-06 | 161.82ms"                                       (llama2.c)
[[nodiscard]] std::optional<Step> in_columns(const Line& line);
/// "step    1/9 | train loss 5.270007 | norm 30.6 | lr 1e-04 | (1200.12 ms | 800 tok/s)"
/// "step    1/74: train loss 4.367631 (80.639749 ms, 12700 tok/s)"
/// "step 0: train loss 5.356082 (took 1958.5 ms)"
[[nodiscard]] std::optional<Step> in_brackets(const Line& line);
/// "iter_dt 21.07ms; iter 100: train loss 1.28713": the time of the iteration before the line,
/// which is none for the first (minGPT).
[[nodiscard]] std::optional<Step> after_its_time(const Line& line);
/// "step   47710 | loss 13.8450 | lr 1.79e-04 | grad 0.768 | 37.5k tok/s | mfu 37.67%": the rate of
/// the steps since the line before.
[[nodiscard]] std::optional<Step> without_time(const Line& line);

/// "129,238"
[[nodiscard]] std::optional<double> grouped_number(Cursor cursor);

}  // namespace bertbench
