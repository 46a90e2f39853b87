#include "harness/sweep/journal/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "parsers/core/crc32c.h"
#include "parsers/core/parallel.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

constexpr std::string_view kCrcKey = ",\"crc\":\"";

/// pid of the last harness that opened the journal, for the message of the second one.
std::string holder_of(int fd) {
  std::string text, pid;
  read_all(fd, text);
  for (const auto line : split(text, '\n')) {
    const auto record = parse_journal_line(line);
    if (record && record->value("event", "") == "opened") {
      pid = std::to_string(record->value("pid", 0));
    }
  }
  return pid;
}

/// The line before its checksum, or nothing when the line is torn or altered.
std::optional<std::string_view> body_of(std::string_view line) {
  const auto at = line.rfind(kCrcKey);
  if (at == std::string_view::npos || line.size() != at + kCrcKey.size() + 10) return std::nullopt;
  const auto body = line.substr(0, at);
  if (line.substr(at + kCrcKey.size()) != fmt::format("{:08x}\"}}", crc32c(body))) {
    return std::nullopt;
  }
  return body;
}

/// Of a record as a line, "" where it has none. A text that holds the same has its quotes escaped.
std::string_view run_of(std::string_view line) {
  constexpr std::string_view kRunKey = "\"run\":\"";
  const auto at = line.find(kRunKey);
  if (at == std::string_view::npos) return {};
  const auto rest = line.substr(at + kRunKey.size());
  return rest.substr(0, rest.find('"'));
}

}  // namespace

std::string journal_line(const JournalRecord& record) {
  std::string text = record.dump(-1, ' ', false, JournalRecord::error_handler_t::replace);
  text.pop_back();  // the closing brace
  const auto crc = crc32c(text);
  return fmt::format("{}{}{:08x}\"}}", text, kCrcKey, crc);
}

std::optional<JournalRecord> parse_journal_line(std::string_view line) {
  const auto body = body_of(line);
  if (!body) return std::nullopt;
  auto record = JournalRecord::parse(std::string(*body) + "}", nullptr, /*allow_exceptions=*/false);
  if (!record.is_object()) return std::nullopt;
  return record;
}

Result<Journal> Journal::open(const Folder& folder) {
  auto fd = folder.open_append("journal.jsonl");
  if (!fd) return tl::unexpected(fd.error());
  Journal journal(std::move(*fd), folder.path_of("journal.jsonl"));
  if (flock(journal.fd_, LOCK_EX | LOCK_NB) < 0) {
    if (errno != EWOULDBLOCK) {
      return tl::unexpected(file_error(journal.path_, "cannot be locked", errno));
    }
    const auto pid = holder_of(journal.fd_);
    return fail(folder.path(),
                fmt::format("another bertbench{} is running this sweep",
                            pid.empty() ? "" : fmt::format(" (pid {})", pid)),
                "wait for it, stop it, or use another --out");
  }
  if (auto done = journal.load(); !done) return tl::unexpected(done.error());
  if (auto done = folder.sync(); !done) return tl::unexpected(done.error());
  return journal;
}

std::vector<JournalRecord> Journal::records() const {
  // Each line has been held against its checksum when it was read or written.
  auto lines = split(text_, '\n');
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  std::vector<JournalRecord> out(lines.size());
  constexpr std::size_t kBlock = 256;
  for_each_index((lines.size() + kBlock - 1) / kBlock, 4, [&](std::size_t block) {
    const auto end = std::min(lines.size(), (block + 1) * kBlock);
    for (std::size_t i = block * kBlock; i < end; ++i) {
      out[i] = JournalRecord::parse(lines[i], nullptr, /*allow_exceptions=*/false);
      if (!out[i].is_object()) out[i] = JournalRecord::object();
    }
  });
  return out;
}

Result<void> Journal::load() {
  std::string text;
  if (!read_all(fd_, text)) return tl::unexpected(file_error(path_, "cannot be read", errno));
  std::size_t good = 0;
  int line = 0;
  while (good < text.size()) {
    const auto end = text.find('\n', good);
    if (end == std::string::npos) break;
    const auto whole = std::string_view(text).substr(good, end - good);
    if (!body_of(whole)) break;
    ++line;
    if (!whole.starts_with(fmt::format("{{\"n\":{},", next_))) {
      return fail(fmt::format("{}:{}", path_, line),
                  fmt::format("is not record {}: records were removed, repeated or moved", next_),
                  "restore it, or use another --out");
    }
    if (const auto run = run_of(whole); run_.empty()) {
      run_ = run;
    } else if (!run.empty() && run != run_) {
      return fail(fmt::format("{}:{}", path_, line),
                  fmt::format("is a record of another run, {}, in the journal of {}", run, run_),
                  "restore it, or use another --out");
    }
    ++next_;
    good = end + 1;
  }
  text_ = text.substr(0, good);
  if (good == text.size()) return {};
  // A line is synced before the next event begins, so only the last one can be torn. Damage further
  // up is not ours to guess about: what stands after it may be true and may not.
  const auto rest = std::string_view(text).substr(good);
  const auto newline = rest.find('\n');
  if (newline != std::string_view::npos && newline + 1 < rest.size()) {
    return fail(fmt::format("{}:{}", path_, line + 1), "the journal is damaged in the middle",
                "restore it, or use another --out");
  }
  notices_.push_back(fmt::format("{}:{}: the last record was torn ({} bytes) and is dropped", path_,
                                 line + 1, rest.size()));
  if (ftruncate(fd_, static_cast<off_t>(good)) < 0 || fdatasync(fd_) < 0) {
    return tl::unexpected(file_error(path_, "cannot be repaired", errno));
  }
  return {};
}

/// The lock is on the file that was opened. When the name leads elsewhere, a second harness would
/// take that for an unlocked sweep; so the name and the size are looked at before each record.
Result<void> Journal::guard() {
  struct stat here {
  }, there{};
  if (fstat(fd_, &here) < 0) return tl::unexpected(file_error(path_, "cannot be read", errno));
  if (lstat(path_.c_str(), &there) < 0) {
    if (errno != ENOENT) return tl::unexpected(file_error(path_, "cannot be read", errno));
    Descriptor fd(
        ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (fd < 0) return tl::unexpected(file_error(path_, "was removed and cannot be made", errno));
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
      return fail(path_, "was removed, and another harness has made a new one",
                  "stop one of the two");
    }
    fd_ = std::move(fd);
    return write_again("was removed while the sweep ran");
  }
  if (here.st_ino != there.st_ino || here.st_dev != there.st_dev) {
    return fail(path_, "was replaced by another file while the sweep ran",
                "put the old one back, or use another --out");
  }
  const auto size = static_cast<off_t>(text_.size());
  if (here.st_size < size) return write_again("was cut while the sweep ran");
  if (here.st_size > size) {
    return fail(path_, "was written to by somebody else", "use another --out");
  }
  return {};
}

Result<void> Journal::write_again(const std::string& why) {
  if (ftruncate(fd_, 0) < 0 || !write_all(fd_, text_) || fsync(fd_) < 0) {
    broken_ = true;
    return tl::unexpected(file_error(path_, why + " and cannot be written again", errno));
  }
  notices_.push_back(fmt::format("{}: {}; it is written again", path_, why));
  return {};
}

Result<void> Journal::append(JournalRecord record) {
  if (broken_) return fail(path_, "could not be written before", "run the same command again");
  if (auto good = guard(); !good) return good;
  if (record.contains("run")) run_ = record["run"];
  JournalRecord full = {{"n", next_}, {"time", utc_now()}};
  if (!run_.empty()) full["run"] = run_;
  full.update(record);
  const auto line = journal_line(full) + "\n";
  if (!write_all(fd_, line) || fdatasync(fd_) < 0) {
    const int error_number = errno;
    broken_ = ftruncate(fd_, static_cast<off_t>(text_.size())) < 0 || fdatasync(fd_) < 0;
    return tl::unexpected(file_error(path_, "cannot be written", error_number));
  }
  text_ += line;
  ++next_;
  return {};
}

}  // namespace bertbench
