#include "harness/sweep/log_watch.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace bertbench {
namespace {

constexpr double kShare = 0.0006;      // of one core, for one log: 32 logs cost 2 %
constexpr double kAllowance_s = 0.01;  // so that a log of ordinary size never lags

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

std::int64_t LogWatch::size() const {
  struct stat info {};
  return fstat(fd_, &info) == 0 ? info.st_size : seen_;
}

std::int64_t LogWatch::look() {
  const auto now = size();
  if (now < seen_) {
    // Resume will judge the trial by the file as it is, so this start must as well.
    (void)reader_.finish();
    read_ = 0;
    ++cuts_;
  }
  seen_ = now;
  return now;
}

bool LogWatch::follow() {
  const auto before = seen_;
  const int cuts_before = cuts_;
  if (look() == before && cuts_ == cuts_before && read_ == seen_) return false;
  const bool grew = seen_ != before || cuts_ != cuts_before;
  const double age =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  const double begin = cpu_seconds();
  double spent = 0;
  while (spent_s_ + spent < kAllowance_s + kShare * age && read(1 << 16)) {
    spent = cpu_seconds() - begin;
  }
  spent_s_ += spent;
  return grew;
}

bool LogWatch::read(std::int64_t at_most) {
  if (look() <= read_) return false;
  char block[1 << 16];
  const auto begin = read_;
  while (read_ - begin < at_most) {
    const auto room = std::min<std::int64_t>(sizeof block, at_most - (read_ - begin));
    const ssize_t got = pread(fd_, block, static_cast<std::size_t>(room), read_);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    reader_.feed({block, static_cast<std::size_t>(got)});
    read_ += got;
  }
  return read_ > begin;
}

}  // namespace bertbench
