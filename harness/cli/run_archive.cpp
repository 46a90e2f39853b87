#include "harness/cli/run_archive.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "harness/sweep/plan/launcher.h"
#include "harness/sweep/plan/template_call.h"
#include "harness/sweep/process/folder.h"
#include "harness/sweep/process/temporary_folder.h"
#include "parsers/core/sha256.h"
#include "parsers/core/text.h"
#include "parsers/input/input.h"
#include "reports/model/version.h"
#include "reports/output/render.h"

namespace bertbench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kChecksums = "checksums.sha256";
constexpr std::size_t kBlock = 512;               // of tar
constexpr std::size_t kNameField = 100;           // longer names have an entry of their own
constexpr std::uint64_t kLargest = 077777777777;  // bytes of a file that tar's field can hold

/// The 512 bytes before an entry. `type`: '0' a file, 'L' the long name of the next entry.
std::string header(std::string_view name, std::uint64_t size, std::int64_t time_s, char type) {
  std::string out(kBlock, '\0');
  const auto put = [&](std::size_t at, std::string_view text) {
    out.replace(at, text.size(), text);
  };
  put(0, name.substr(0, kNameField));
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, fmt::format("{:011o}", size));
  put(136, fmt::format("{:011o}", std::max<std::int64_t>(0, time_s)));
  put(148, "        ");  // the sum is of a header with a blank sum
  out[156] = type;
  put(257, std::string_view("ustar\0"
                            "00",
                            8));
  unsigned sum = 0;
  for (const char c : out) sum += static_cast<unsigned char>(c);
  put(148, fmt::format("{:06o}", sum));
  out[154] = '\0';
  return out;
}

/// Compresses what is added.
class ZstdText {
 public:
  explicit ZstdText(const TextSink& out) : out_(out), context_(ZSTD_createCCtx(), ZSTD_freeCCtx) {
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }
  void add(std::string_view bytes) { take(bytes, ZSTD_e_continue); }
  /// False where something could not be compressed.
  [[nodiscard]] bool finish() {
    take({}, ZSTD_e_end);
    return good_;
  }

 private:
  void take(std::string_view bytes, ZSTD_EndDirective how) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (std::size_t left = 1; good_ && (left != 0 || in.pos < in.size);) {
      ZSTD_outBuffer out{block_.data(), block_.size(), 0};
      left = ZSTD_compressStream2(context_.get(), &out, &in, how);
      good_ = ZSTD_isError(left) == 0;
      out_({block_.data(), out.pos});
      if (how == ZSTD_e_continue && in.pos == in.size) return;
    }
  }
  const TextSink& out_;
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context_;
  std::array<char, 1 << 17> block_;
  bool good_ = true;
};

/// A frame of zstd that readers skip (RFC 8878, 3.1.2): a line with the program's name.
std::string skipped_line() {
  const std::string line = fmt::format("\nbertbench {}\n", tool_version());
  return std::string("\x50\x2a\x4d\x18") + static_cast<char>(line.size()) + std::string(3, '\0') +
         line;
}

void pad(ZstdText& out, std::uint64_t size) {
  out.add(std::string((kBlock - size % kBlock) % kBlock, '\0'));
}

void add_header(ZstdText& out, const std::string& name, std::uint64_t size, std::int64_t time_s) {
  if (name.size() > kNameField) {
    const std::string whole = name + '\0';
    out.add(header("././@LongLink", whole.size(), 0, 'L') + whole);
    pad(out, whole.size());
  }
  out.add(header(name, size, time_s, '0'));
}

/// Files below the folder by their names from it, in order.
std::vector<std::string> files_below(const fs::path& folder) {
  std::vector<std::string> out;
  std::error_code ec;
  for (fs::recursive_directory_iterator it(folder, ec), end; it != end && !ec; it.increment(ec)) {
    const auto name = it->path().lexically_relative(folder).generic_string();
    // What a write left half done begins with a dot.
    const bool hidden = it->path().filename().string().starts_with('.');
    if (!it->is_symlink() && it->is_regular_file() && !hidden && name != kChecksums) {
      out.push_back(name);
    }
  }
  std::ranges::sort(out);
  return out;
}

/// What a sweep writes for the trainer's eyes alone (Folder::write_private).
bool may_hold_secrets(const fs::path& name, mode_t mode) {
  const auto file = name.filename();
  const bool of_launch = file == "launch.env" || file == "launch.argv";
  return (mode & 0044U) == 0 && (of_launch || name.parent_path().filename() == kFilesFolder);
}

/// Weights and moments that a phase left for the next one: gigabytes, and in no result.
bool is_phase_checkpoint(const fs::path& name) {
  const auto folder = name.parent_path();
  return folder.filename() == kPhaseCheckpoint &&
         folder.parent_path().filename().string().starts_with("trial_");
}

/// One file, its line for the checksums, or an error.
Result<std::string> add_file(ZstdText& out, const std::string& top, const fs::path& folder,
                             const std::string& name, ArchiveContents& contents) {
  const auto path = (folder / name).string();
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (file < 0 || fstat(file, &info) < 0) {
    return tl::unexpected(file_error(path, "cannot be read", errno));
  }
  if (may_hold_secrets(name, info.st_mode)) {
    contents.left_out.push_back(name);
    return std::string();
  }
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size > kLargest) return fail(path, "is larger than a tar file can hold", "compress it first");
  add_header(out, top + "/" + name, size, info.st_mtime);
  Sha256 sum;
  std::array<char, 1 << 16> block;
  for (std::uint64_t at = 0; at < size;) {
    const auto room = std::min<std::uint64_t>(block.size(), size - at);
    const ssize_t got = pread(file, block.data(), room, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail(path, "became shorter while it was read", "try again");
    const std::string_view bytes(block.data(), static_cast<std::size_t>(got));
    sum.add(bytes);
    out.add(bytes);
    at += bytes.size();
  }
  pad(out, size);
  ++contents.files;
  contents.bytes += size;
  return fmt::format("{}  {}\n", sum.hex(), name);
}

/// Entries of a tar file, one after the other.
class TarReader {
 public:
  explicit TarReader(ByteSource& source) : source_(source) {}

  struct Entry {
    std::string name;
    std::uint64_t size = 0;
  };
  /// The next file; nothing at the end.
  Result<std::optional<Entry>> next() {
    std::string long_name;
    while (true) {
      std::string head(kBlock, '\0');
      if (auto done = read(head.data(), kBlock); !done) return tl::unexpected(done.error());
      if (head.find_first_not_of('\0') == head.npos) return std::nullopt;
      const auto field = [&](std::size_t at, std::size_t size) {
        return std::string(head.c_str() + at, strnlen(head.c_str() + at, size));
      };
      const auto text = field(124, 11);
      char* end = nullptr;
      const std::uint64_t size = std::strtoull(text.c_str(), &end, 8);
      if (end != text.c_str() + text.size() || text.empty()) {
        return fail("the archive", "has an entry without a size", "it is damaged, or no tar file");
      }
      if (head[156] == 'L' && size <= 4096) {
        long_name.assign(size, '\0');
        if (auto done = body(size, [&](std::string_view bytes) { long_name = bytes; }); !done) {
          return tl::unexpected(done.error());
        }
        long_name = long_name.c_str();
        continue;
      }
      if (head[156] != '0' && head[156] != '\0') {
        return fail("the archive",
                    fmt::format("holds '{}', which is no file", field(0, kNameField)),
                    "it was not made by bertbench archive");
      }
      return Entry{long_name.empty() ? field(0, kNameField) : long_name, size};
    }
  }
  /// The bytes of an entry, in pieces of at most 64 KiB.
  template <class Visit>
  Result<void> body(std::uint64_t size, Visit visit) {
    std::string block;
    for (std::uint64_t at = 0; at < size; at += block.size()) {
      block.resize(std::min<std::uint64_t>(1 << 16, size - at));
      if (auto done = read(block.data(), block.size()); !done) return done;
      visit(std::string_view(block));
    }
    block.resize((kBlock - size % kBlock) % kBlock);
    return read(block.data(), block.size());
  }

 private:
  Result<void> read(char* to, std::size_t size) {
    while (size > 0) {
      const auto got = source_.read({to, size});
      if (!got) return tl::unexpected(got.error());
      if (*got == 0) {
        const auto problem = source_.problem();
        return fail("the archive", problem.empty() ? "ends early" : problem, "copy it again");
      }
      to += *got;
      size -= *got;
    }
    return {};
  }
  ByteSource& source_;
};

/// The name below the folder of the archive; empty where it would lead out of it.
std::string inner_name(const std::string& name) {
  const fs::path path(name);
  if (path.is_absolute()) return {};
  fs::path out;
  for (auto part = path.begin(); part != path.end(); ++part) {
    if (*part == ".." || *part == "." || part->empty()) return {};
    if (part != path.begin()) out /= *part;
  }
  return out.generic_string();
}

/// Digests of sha256sum's lines by name.
std::map<std::string, std::string> digests_of(const std::string& text) {
  std::map<std::string, std::string> out;
  for (const auto line : split(text, '\n')) {
    if (line.size() > 66) out[std::string(line.substr(66))] = line.substr(0, 64);
  }
  return out;
}

}  // namespace

Result<ArchiveContents> write_archive(const std::string& folder, const std::string& path) {
  const fs::path root = fs::absolute(folder).lexically_normal();
  const auto top = (root.has_filename() ? root : root.parent_path()).filename().string();
  const Descriptor journal(open((root / "journal.jsonl").c_str(), O_RDONLY | O_CLOEXEC));
  if (journal < 0) {
    return fail(folder, "is no run folder: it has no journal.jsonl", "name the --out of a sweep");
  }
  if (flock(journal, LOCK_SH | LOCK_NB) < 0) {
    return fail(folder, "a sweep is running in it", "wait for it, or stop it");
  }
  ArchiveContents contents;
  const auto written = write_file_atomically(path, [&](const TextSink& sink) -> Result<void> {
    ZstdText out(sink);
    std::string sums;
    for (const auto& name : files_below(root)) {
      if (is_phase_checkpoint(name)) {
        contents.checkpoints.push_back(name);
        continue;
      }
      const auto line = add_file(out, top, root, name, contents);
      if (!line) return tl::unexpected(line.error());
      sums += *line;
    }
    add_header(out, top + "/" + kChecksums, sums.size(), 0);
    out.add(sums);
    pad(out, sums.size());
    out.add(std::string(2 * kBlock, '\0'));
    if (!out.finish()) return fail(path, "cannot be compressed", "see the machine's free memory");
    sink(skipped_line());
    return {};
  });
  if (!written) return tl::unexpected(written.error());
  return contents;
}

namespace {

/// unpack_archive(), of which a part remains where there is an error.
Result<ArchiveContents> unpack_into(const std::string& path, const std::string& folder) {
  auto source = open_source(path);
  if (!source) return tl::unexpected(source.error());
  auto root = Folder::make_root(folder);
  if (!root) return tl::unexpected(root.error());
  TarReader tar(**source);
  ArchiveContents contents;
  std::map<std::string, std::string> found;
  std::string sums;
  while (true) {
    auto entry = tar.next();
    if (!entry) {
      entry.error().where = path;
      return tl::unexpected(entry.error());
    }
    if (!*entry) break;
    const auto name = inner_name((*entry)->name);
    if (name.empty()) {
      return fail(path, fmt::format("'{}' would lie outside of the folder", (*entry)->name),
                  "it was not made by bertbench archive");
    }
    const fs::path inner(name);
    const auto place = inner.has_parent_path() ? root->child(inner.parent_path().string())
                                               : Folder::make_root(root->path());
    if (!place) return tl::unexpected(place.error());
    const auto file = place->create_log(inner.filename().string());
    if (!file) return tl::unexpected(file.error());
    Sha256 sum;
    bool written = true;
    const bool is_sums = name == kChecksums;
    const auto done = tar.body((*entry)->size, [&](std::string_view bytes) {
      sum.add(bytes);
      written = written && write_all(*file, bytes);
      if (is_sums) sums += bytes;
    });
    if (!done) return fail(path, done.error().what, done.error().hint);
    if (!written) return tl::unexpected(file_error(name, "cannot be written", errno));
    if (is_sums) continue;
    found[name] = sum.hex();
    ++contents.files;
    contents.bytes += (*entry)->size;
  }
  for (const auto& [name, digest] : digests_of(sums)) {
    const auto file = found.find(name);
    if (file == found.end()) return fail(path, fmt::format("{} is missing", name), "copy it again");
    if (file->second != digest) {
      return fail(path, fmt::format("{} is not as it was when it was packed", name),
                  "copy it again");
    }
    found.erase(file);
  }
  if (!found.empty()) {
    return fail(path, fmt::format("{} has no checksum", found.begin()->first), "copy it again");
  }
  return contents;
}

}  // namespace

Result<ArchiveContents> unpack_archive(const std::string& path, const std::string& folder) {
  std::error_code ec;
  if (fs::exists(folder, ec)) {
    return fail(folder, "is there already", "name a folder that is not there yet");
  }
  // It is made next to its place and put there when it is whole, as every command reads a folder
  // as it lies.
  fs::path whole = fs::absolute(folder).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  if (const auto parent = Folder::make_root(whole.parent_path()); !parent) {
    return tl::unexpected(parent.error());
  }
  const TemporaryFolder next_to_it(".bertbench", whole.parent_path());
  if (next_to_it.path().empty())
    return fail(folder, "cannot be made", "see its parent's permissions");
  const auto unpacked = next_to_it.path() + "/run";
  auto contents = unpack_into(path, unpacked);
  if (!contents) return contents;
  fs::rename(unpacked, whole, ec);
  if (ec) return tl::unexpected(file_error(folder, "cannot be made", ec.value()));
  return contents;
}

}  // namespace bertbench
