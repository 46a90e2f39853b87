#include "parsers/assemble/trainer_banner.h"

#include "parsers/lines/cursor.h"

namespace bertbench {

bool TrainerBanner::see(const Line& line) {
  if (has(line, kDone)) {
    line_ = 0;
    return !other_;
  }
  if (!has(line, kAnchor)) return false;
  // PaddleNLP's logger prints "[    INFO] - " before the same words
  // (quoted/trainer_runs.the_same_banner_of_paddle_nlp_is_not_the_trainers).
  other_ = other_ || has(line, "INFO] - ") != (by_ == By::paddlenlp);
  if (!other_) line_ = line.number;
  return !other_;
}

void TrainerBanner::conclude(std::int64_t newest, const Begin& how, Emit emit) const {
  if (line_ == 0 || newest >= line_) return;
  Begin run = how;
  run.line = line_;
  emit(run);
  emit(End{
      .track = how.track,
      .of = Of::begun,
      .well = false,
      .here = false,
      .outcome = Outcome{
          Status::truncated, std::nullopt, line_, {make_notice(NoticeCode::cut_after_banner, 0)}}});
}

}  // namespace bertbench
