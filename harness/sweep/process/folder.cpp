#include "harness/sweep/process/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>

#include "parsers/core/text.h"

namespace bertbench {
namespace {

std::string hash_of(std::string_view text) {  // FNV-1a, 32 bits: only has to distinguish names
  std::uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return fmt::format("{:08x}", hash);
}

constexpr std::int64_t kWhole = std::numeric_limits<std::int64_t>::max();

/// From the beginning of `from`, at most `bytes`; false (errno) when either cannot be done.
bool copy_bytes(int from, int to, std::int64_t bytes) {
  char block[1 << 16];
  ssize_t got = 0;
  for (std::int64_t at = 0; at < bytes; at += got) {
    const auto room = std::min<std::int64_t>(sizeof block, bytes - at);
    got = pread(from, block, static_cast<std::size_t>(room), at);
    if (got == 0) return true;
    if (got < 0 || !write_all(to, {block, static_cast<std::size_t>(got)})) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> safe_names(const std::vector<std::string>& names) {
  constexpr std::size_t kLongest = 120;
  std::vector<std::string> out;
  std::set<std::string> used;
  for (const auto& name : names) {
    std::string safe;
    for (const char c : name) {
      const bool plain =
          is_name_char(c) || std::string_view(".+=-").find(c) != std::string_view::npos;
      safe += plain ? c : '_';
    }
    // A leading dot hides a folder or names a parent, a leading '-' looks like an option.
    if (safe.empty() || safe[0] == '.' || safe[0] == '-') safe.insert(0, "_");
    if (safe != name || safe.size() > kLongest || used.contains(lower(safe))) {
      safe = safe.substr(0, kLongest - 9) + "-" + hash_of(name);
    }
    used.insert(lower(safe));
    out.push_back(std::move(safe));
  }
  return out;
}

std::optional<std::string> read_text(const std::string& path) {
  const Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  return fd >= 0 && read_all(fd, text) ? std::optional(std::move(text)) : std::nullopt;
}

bool read_all(int fd, std::string& text) {
  char block[1 << 16];
  ssize_t got = 0;
  while ((got = read(fd, block, sizeof block)) > 0 || (got < 0 && errno == EINTR)) {
    if (got > 0) text.append(block, static_cast<std::size_t>(got));
  }
  return got == 0;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(fd, text.data(), text.size());
    if (done < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

Error file_error(const std::string& path, const std::string& what, int error_number) {
  std::string hint;
  if (error_number == ENOSPC || error_number == EDQUOT) {
    hint = "free space there or name another folder with --out; then run the same command again";
  } else if (error_number == EACCES || error_number == EPERM || error_number == EROFS) {
    hint = "name a folder that you may write to with --out";
  } else if (error_number == ELOOP || error_number == ENOTDIR) {
    hint = "links and files are not followed in a run folder; remove it or use another --out";
  }
  return Error{path, fmt::format("{}: {}", what, std::strerror(error_number)), hint};
}

Result<Folder> Folder::make_root(const std::string& path) {
  std::error_code ec;
  const auto full = std::filesystem::absolute(path, ec).lexically_normal();
  if (path.empty() || ec) return fail("--out", "names no folder");
  std::string text = full.string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  std::filesystem::create_directories(text, ec);
  if (ec) return tl::unexpected(file_error(text, "cannot make the folder", ec.value()));
  const int fd = open(text.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return tl::unexpected(file_error(text, "cannot open the folder", errno));
  return Folder(fd, text);
}

Result<Folder> Folder::child(const std::string& path) const {
  const auto slash = path.find('/');
  const auto name = path.substr(0, slash);
  if (mkdirat(fd_, name.c_str(), 0777) < 0 && errno != EEXIST) {
    return tl::unexpected(file_error(path_of(name), "cannot make the folder", errno));
  }
  const int fd = openat(fd_, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return tl::unexpected(file_error(path_of(name), "cannot open the folder", errno));
  Folder folder(fd, path_of(name));
  if (slash == path.npos) return folder;
  return folder.child(path.substr(slash + 1));
}

Result<Descriptor> Folder::create_log(const std::string& name) const {
  remove(name);
  const int fd = openat(fd_, name.c_str(),
                        O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd < 0) return tl::unexpected(file_error(path_of(name), "cannot make the log", errno));
  return Descriptor(fd);
}

Result<Descriptor> Folder::open_append(const std::string& name) const {
  const int fd =
      openat(fd_, name.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd < 0) return tl::unexpected(file_error(path_of(name), "cannot open", errno));
  return Descriptor(fd);
}

template <class Fill>
Result<void> Folder::replace(const std::string& name, bool synced, Fill fill, unsigned mode) const {
  const std::string temporary = fmt::format(".{}.{}.tmp", name, getpid());
  unlinkat(fd_, temporary.c_str(), 0);
  const int fd =
      openat(fd_, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (fd < 0) return tl::unexpected(file_error(path_of(name), "cannot write", errno));
  bool good = fill(fd) && (!synced || fsync(fd) == 0);
  int error_number = errno;
  close(fd);
  if (good && renameat(fd_, temporary.c_str(), fd_, name.c_str()) < 0) {
    good = false;
    error_number = errno;
  }
  if (!good) {
    unlinkat(fd_, temporary.c_str(), 0);
    return tl::unexpected(file_error(path_of(name), "cannot write", error_number));
  }
  return synced ? sync() : Result<void>{};
}

Result<void> Folder::write(const std::string& name, std::string_view text) const {
  return replace(name, true, [&](int fd) { return write_all(fd, text); });
}

Result<void> Folder::write_private(const std::string& name, std::string_view text) const {
  return replace(
      name, true, [&](int fd) { return write_all(fd, text); }, 0600);
}

Result<void> Folder::write_unsynced(const std::string& name, std::string_view text) const {
  return replace(name, false, [&](int fd) { return write_all(fd, text); });
}

Result<bool> Folder::restore(const std::string& name, int fd) const {
  struct stat here {
  }, there{};
  if (fstat(fd, &here) < 0) return tl::unexpected(file_error(path_of(name), "is lost", errno));
  const bool found = fstatat(fd_, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
  if (found && here.st_ino == there.st_ino && here.st_dev == there.st_dev) return false;
  auto done = replace(name, true, [&](int copy) { return copy_bytes(fd, copy, kWhole); });
  if (!done) return tl::unexpected(done.error());
  return true;
}

Result<void> Folder::keep(const std::string& name, const std::string& path,
                          std::int64_t bytes) const {
  const Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (fd < 0) return tl::unexpected(file_error(path, "cannot read", errno));
  return replace(name, true, [&](int copy) { return copy_bytes(fd, copy, bytes); });
}

void Folder::remove(const std::string& name) const { unlinkat(fd_, name.c_str(), 0); }

bool Folder::holds(const std::string& name) const {
  struct stat info {};
  return fstatat(fd_, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode);
}

Result<void> Folder::sync() const {
  // Some file systems cannot sync a folder and give EINVAL; there is nothing to be done then.
  if (fsync(fd_) < 0 && errno != EINVAL) {
    return tl::unexpected(file_error(path_, "cannot sync the folder", errno));
  }
  return {};
}

Result<void> Folder::probe(std::size_t bytes) const {
  const std::string name = fmt::format(".probe.{}.tmp", getpid());
  unlinkat(fd_, name.c_str(), 0);
  const int fd = openat(fd_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return tl::unexpected(file_error(path_, "cannot write to the run folder", errno));
  const bool good = write_all(fd, std::string(bytes, '\0')) && fsync(fd) == 0;
  const int error_number = errno;
  close(fd);
  unlinkat(fd_, name.c_str(), 0);
  if (good) return {};
  return tl::unexpected(file_error(
      path_, fmt::format("no room for {} KiB in the run folder", bytes / 1024), error_number));
}

}  // namespace bertbench
