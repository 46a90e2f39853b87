#include "parsers/formats/tqdm/repeated_redraws.h"

namespace bertbench {

void RepeatedRedraws::see(const TqdmBar& bar) {
  if (!undecided()) return;
  const bool same = bar.done == done_ && bar.elapsed_s == elapsed_s_ && bar.rate == rate_;
  done_ = bar.done;
  elapsed_s_ = bar.elapsed_s;
  rate_ = bar.rate;
  if (!same) {
    copies_ = 0;
    return;
  }
  // Any bar is drawn twice when it is closed.
  if (bar.done <= 0 || bar.done >= bar.total) return;
  if (++copies_ > 1) {  // ranks that draw it together
    refuted_ = true;
    return;
  }
  if (bar.done == at_) return;
  const std::int64_t apart = bar.done - at_;
  if (times_ == 0) {
    times_ = 1;
  } else if (times_ == 1) {
    every_ = apart;
    times_ = 2;
    refuted_ = every_ < 2 || at_ % every_ != 0;
  } else {
    refuted_ = apart != every_;
    ++times_;
  }
  at_ = bar.done;
}

}  // namespace bertbench
