#include "harness/sweep/execute/log_watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "parsers/input/arrivals_file.h"

namespace bertbench {
namespace {

std::string lines_of(std::span<const Arrival> arrivals) {
  std::string out;
  for (const Arrival& arrival : arrivals) out += arrival_line(arrival);
  return out;
}

}  // namespace

Result<void> ArrivalFile::save(const Folder& folder, const ArrivalRecorder& recorder, bool at_end) {
  const auto arrivals = at_end ? recorder.all() : recorder.kept();
  if (fd_ < 0 && arrivals.empty()) return {};
  if (fd_ < 0 || version_ != recorder.version()) {
    const auto text = std::string(kArrivalsHeader) + lines_of(arrivals);
    if (auto done = folder.write_unsynced(name_, text); !done) return done;
    auto opened = folder.open_append(name_);
    if (!opened) return tl::unexpected(opened.error());
    fd_ = std::move(*opened);
    version_ = recorder.version();
  } else if (!write_all(fd_, lines_of(std::span(arrivals).subspan(written_)))) {
    version_ = -1;  // a part of it may stand there: next time the whole is written
    return tl::unexpected(file_error(folder.path_of(name_), "cannot write", errno));
  }
  written_ = arrivals.size();
  if (at_end && fsync(fd_) < 0 && errno != EINVAL) {
    return tl::unexpected(file_error(folder.path_of(name_), "cannot sync", errno));
  }
  return {};
}

namespace {

constexpr double kShare = 0.0006;                      // of one core, for one log: 32 logs cost 2 %
constexpr std::chrono::milliseconds kLookForOwn{250};  // a listing of one or two folders
constexpr double kAllowance_s = 0.01;                  // so that a log of ordinary size never lags

double seconds_of(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

/// By the wall clock, as file systems stamp by it.
double wall_seconds_since(const timespec& then) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec - then.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec - then.tv_nsec);
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

Result<StampedLog> StampedLog::open(const std::string& path) {
  const auto at = path.rfind('/');
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (fd < 0) return tl::unexpected(file_error(path, "cannot be read", errno));
  struct stat info {};
  auto folder = fstat(fd, &info) == 0 && S_ISREG(info.st_mode)
                    ? Folder::make_root(at == std::string::npos ? "." : path.substr(0, at + 1))
                    : fail(path, "is no file", "name a log that is written");
  if (!folder) return tl::unexpected(folder.error());
  return StampedLog(std::move(*folder), path.substr(at == std::string::npos ? 0 : at + 1),
                    std::move(fd));
}

void StampedLog::look() {
  struct stat info {};
  if (fstat(fd_, &info) != 0) return;
  if (info.st_size < size_) arrivals_.restart();
  size_ = info.st_size;
  const double now_s = seconds_of(std::chrono::steady_clock::now().time_since_epoch());
  arrivals_.look(now_s, size_, wall_seconds_since(info.st_mtim));
}

std::int64_t LogWatch::size() const {
  struct stat info {};
  return fstat(fd_, &info) == 0 ? info.st_size : seen_;
}

std::int64_t LogWatch::look() {
  const double time_s = seconds_of(std::chrono::steady_clock::now().time_since_epoch());
  struct stat info {};
  if (fstat(fd_, &info) != 0) return seen_;
  if (info.st_size < seen_) {
    // Resume will judge the trial by the file as it is, so this start must as well.
    (void)reader_.finish();
    read_ = 0;
    ++cuts_;
    arrivals_.restart();
  }
  seen_ = info.st_size;
  if (followed_ && records_) arrivals_.look(time_s, seen_, wall_seconds_since(info.st_mtim));
  return seen_;
}

std::vector<RunLog> LogWatch::finish() {
  auto runs = reader_.finish(fmt::format("/proc/self/fd/{}", fd_));
  give_arrivals(runs, arrivals_.all());
  return runs;
}

bool LogWatch::follow() {
  followed_ = true;
  const auto before = seen_;
  const int cuts_before = cuts_;
  if (look() == before && cuts_ == cuts_before && read_ == seen_) return false;
  const bool grew = seen_ != before || cuts_ != cuts_before;
  const double age = seconds_of(std::chrono::steady_clock::now() - begin_);
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

TrialLogs::TrialLogs(int log_fd, OwnLogs own, Readers readers)
    : printed_(log_fd, readers(kPrintedLog)),
      names_(std::move(own)),
      readers_(std::move(readers)) {}

void TrialLogs::look_for_own() {
  if (names_.empty()) return;
  looked_ = std::chrono::steady_clock::now();
  const auto path = names_.first();
  if (path.empty() || (own_ && own_->path == path)) return;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd >= 0) own_ = std::make_unique<Own>(path, fd, readers_(kTrainerLog));
}

void TrialLogs::look_now_and_then() {
  if (!names_.empty() && std::chrono::steady_clock::now() - looked_ >= kLookForOwn) look_for_own();
}

bool TrialLogs::follow() {
  look_now_and_then();
  const bool printed = printed_.follow();
  return (own_ && own_->watch.follow()) || printed;
}

void TrialLogs::read_last(std::int64_t at_most) {
  look_for_own();
  read(at_most);
}

bool TrialLogs::read(std::int64_t at_most) {
  look_now_and_then();
  const bool printed = printed_.read(at_most);
  return (own_ && own_->watch.read(at_most)) || printed;
}

Result<void> TrialLogs::save_arrivals(const Folder& folder, bool synced) {
  if (auto done = arrivals_.save(folder, printed_.arrivals(), synced); !done || !own_) return done;
  return own_->arrivals.save(folder, own_->watch.arrivals(), synced);
}

std::int64_t TrialLogs::size() const {
  return std::max(printed_.size(), own_ ? own_->watch.size() : 0);
}

LiveView TrialLogs::live() const {
  if (own_) {
    if (auto view = own_->watch.live(); view.records > 0) return view;
  }
  return printed_.live();
}

TrialRuns TrialLogs::finish() {
  auto own = own_ ? own_->watch.finish() : std::vector<RunLog>{};
  return choose_runs(std::move(own), printed_.finish());
}

}  // namespace bertbench
