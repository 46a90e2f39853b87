#include "parsers/input/log_tail.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "parsers/input/tracker_source.h"

namespace bertbench {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;

}  // namespace

Result<LogTail> LogTail::open(const std::string& path) {
  if (path == "-") return LogTail(path, {stdin, [](std::FILE*) { return 0; }});
  LogTail out(path, {std::fopen(path.c_str(), "rbe"), std::fclose});
  if (!out.file_) return fail(path, std::strerror(errno), "a log to follow must be there already");
  const int fd = ::fileno(out.file_.get());
  struct stat info {};
  if (::fstat(fd, &info) != 0) return fail(path, std::strerror(errno));
  if (S_ISDIR(info.st_mode)) return fail(path, "is a directory", "name the logs to follow");
  out.device_ = info.st_dev;
  out.inode_ = info.st_ino;
  char magic[kTrackerHead] = {};
  const ssize_t n = S_ISREG(info.st_mode) ? ::pread(fd, magic, sizeof magic, 0) : 0;
  const std::string_view head(magic, static_cast<std::size_t>(n > 0 ? n : 0));
  if (head.starts_with("\x1f\x8b") || head.starts_with("\x28\xb5\x2f\xfd")) {
    return fail(path, "is compressed", "only plain logs can be followed");
  }
  if (tracker_of(head) != Tracker::none) {
    return fail(path, "is a tracker's file", "only plain logs can be followed; read it as it is");
  }
  return out;
}

bool LogTail::read_some(std::string& out) {
  out.resize(kBlock);
  ssize_t n = -1;
  do {
    n = ::read(::fileno(file_.get()), out.data(), out.size());
  } while (n < 0 && errno == EINTR);
  out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  if (n == 0 && path_ == "-") ended_ = true;
  if (n <= 0) return false;
  if (offset_ == 0) {
    wide_.reset();
    if (begins_in_utf16(out)) wide_.emplace();
  }
  offset_ += n;
  if (wide_) {
    std::string text;
    wide_->decode(out, text);
    out = std::move(text);
  }
  return true;
}

// Called where the open file has no further byte.
LogTail::Event LogTail::look_at_path() {
  struct stat held {};
  struct stat named {};
  if (::stat(path_.c_str(), &named) != 0) {
    if (errno != ENOENT || gone_) return Event::nothing;
    gone_ = true;
    return Event::deleted;
  }
  if (named.st_dev != device_ || named.st_ino != inode_) {
    FileHandle file(std::fopen(path_.c_str(), "rbe"), std::fclose);
    // It may be on its way. What the path named a moment ago need not be what was opened.
    if (!file || ::fstat(::fileno(file.get()), &named) != 0) return Event::nothing;
    file_ = std::move(file);
    device_ = named.st_dev;
    inode_ = named.st_ino;
    offset_ = 0;
    gone_ = false;
    return Event::rotated;
  }
  gone_ = false;
  const int fd = ::fileno(file_.get());
  if (::fstat(fd, &held) == 0 && S_ISREG(held.st_mode) && held.st_size < offset_) {
    ::lseek(fd, 0, SEEK_SET);
    offset_ = 0;
    return Event::truncated;
  }
  return Event::nothing;
}

LogTail::Event LogTail::next(std::string& out) {
  out.clear();
  if (ended_) return Event::ended;
  if (path_ == "-") {
    pollfd waiting{STDIN_FILENO, POLLIN, 0};
    if (::poll(&waiting, 1, 0) <= 0) return Event::nothing;
    return read_some(out) ? Event::bytes : ended_ ? Event::ended : Event::nothing;
  }
  if (read_some(out)) return Event::bytes;
  return look_at_path();
}

}  // namespace bertbench
