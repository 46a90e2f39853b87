#include "reports/output/render.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "parsers/core/name_hint.h"
#include "parsers/core/text.h"
#include "reports/model/result_io.h"

namespace bertbench {
namespace {

std::string remedy(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free some space or write elsewhere";
    case ENOENT:
    case ENOTDIR:
      return "make its folder first, or write elsewhere";
    case EACCES:
    case EPERM:
    case EROFS:
      return "check the permissions of its folder, or write elsewhere";
    case EISDIR:
      return "name a file, not a folder";
    default:
      return "write elsewhere";
  }
}

tl::unexpected<Error> cannot_write(const std::string& path, int error) {
  return fail(path, std::string("cannot be written: ") + std::strerror(error), remedy(error));
}

int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

using Fill = std::function<Result<void>(const TextSink&)>;

/// Pieces gathered to some size, into a descriptor.
class FileText {
 public:
  explicit FileText(int descriptor) : descriptor_(descriptor) {}

  /// The error of `fill`; `error` is that of writing.
  Result<void> take(const Fill& fill, int& error) {
    const auto done = fill([&](std::string_view text) {
      waiting_ += text;
      if (waiting_.size() >= kAtOnce) write(error);
    });
    write(error);
    return done;
  }

 private:
  static constexpr std::size_t kAtOnce = 1 << 18;

  void write(int& error) {
    if (error == 0) error = write_all(descriptor_, waiting_);
    waiting_.clear();
  }

  int descriptor_;
  std::string waiting_;
};

}  // namespace

Result<const Report*> find_report(std::string_view name) {
  std::vector<std::string> known;
  for (const Report* report : all_reports()) {
    if (report->name == name) return report;
    known.emplace_back(report->name);
  }
  return fail("report '" + std::string(name) + "'", "is not known", name_hint(name, known));
}

Result<std::vector<const Report*>> find_reports(std::string_view list) {
  std::vector<const Report*> out;
  const auto add = [&](const Report* report) {
    if (std::find(out.begin(), out.end(), report) == out.end()) out.push_back(report);
  };
  for (const std::string_view piece : split(list, ',')) {
    if (trim(piece) == "all") {
      for (const Report* report : all_reports()) add(report);
      continue;
    }
    const auto report = find_report(trim(piece));
    if (!report) return tl::unexpected(report.error());
    add(*report);
  }
  return out;
}

const Report* report_for_path(std::string_view path) {
  const Report* best = nullptr;
  for (const Report* report : all_reports())
    if (path.ends_with(report->extension) &&
        (best == nullptr || report->extension.size() > best->extension.size()))
      best = report;
  return best;
}

std::string render_text(const Report& report, const ResultSet& set, const ReportOptions& options) {
  std::ostringstream out;
  report.render(set, options, out);
  return std::move(out).str();
}

void write_report(const Report& report, const CellSource& cells, const ReportOptions& options,
                  const TextSink& out) {
  if (report.write != nullptr) {
    report.write(cells, options, out);
  } else {
    out(render_text(report, cells.whole(), options));
  }
}

Result<void> render_file(const Report& report, const ResultSet& set, const ReportOptions& options,
                         const std::string& path) {
  namespace fs = std::filesystem;
  ReportOptions how = options;
  std::error_code unknown;
  const bool replaceable = !fs::exists(path, unknown) || fs::is_regular_file(path, unknown);
  if (report.companions != nullptr && replaceable) {
    const fs::path file(path);
    how.companion_stem = file.filename().string();
    if (how.companion_stem.ends_with(report.extension)) {
      how.companion_stem.resize(how.companion_stem.size() - report.extension.size());
    }
  }
  if (!how.companion_stem.empty()) {
    for (const Companion& companion : report.companions(set, how)) {
      const auto file = fs::path(path).replace_filename(companion.name).string();
      const auto written = write_file_atomically(file, companion.text);
      if (!written) return written;
    }
  }
  return write_file_atomically(path, render_text(report, set, how));
}

Result<std::vector<std::string>> render_folder(const std::vector<const Report*>& reports,
                                               const ResultSet& set, const ReportOptions& options,
                                               const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return cannot_write(folder, error.value());
  std::vector<std::string> paths;
  for (const Report* report : reports) {
    paths.push_back((std::filesystem::path(folder) / "report").string() +
                    std::string(report->extension));
    const auto done = render_file(*report, set, options, paths.back());
    if (!done) return tl::unexpected(done.error());
  }
  return paths;
}

std::string run_folder_of(const std::string& result) {
  std::error_code ignored;
  if (std::filesystem::is_directory(result, ignored)) return result;
  const std::filesystem::path file(result);
  return file.filename() == kResultsFile ? file.parent_path().string() : std::string();
}

Result<void> write_file_atomically(const std::string& path, std::string_view text) {
  return write_file_atomically(path, [&](const TextSink& out) -> Result<void> {
    out(text);
    return {};
  });
}

Result<void> write_file_atomically(const std::string& path, const Fill& fill) {
  // A symbolic link stays one: its target is replaced.
  std::error_code unknown;
  std::string target = path;
  if (std::filesystem::is_symlink(path, unknown)) {
    const auto resolved = std::filesystem::weakly_canonical(path, unknown);
    if (!unknown) target = resolved.string();
  }
  struct stat info {};
  const bool exists = ::stat(target.c_str(), &info) == 0;
  // Devices and pipes cannot be replaced by a rename; to open a folder is an error.
  const bool in_place = exists && !S_ISREG(info.st_mode);
  // In the same folder: a rename across file systems would not be atomic.
  std::string temporary = target + ".tmp-XXXXXX";
  const int descriptor = in_place ? ::open(path.c_str(), O_WRONLY | O_CLOEXEC)
                                  : ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) return cannot_write(path, errno);
  int error = 0;
  const auto filled = FileText(descriptor).take(fill, error);
  const auto must = [&](bool done) {
    if (!done && error == 0) error = errno;
  };
  // mkostemp makes files that only their owner reads; a report is for everybody the umask lets.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (!in_place) {
    must(::fchmod(descriptor, exists ? info.st_mode & 07777 : 0666 & ~mask) == 0);
    must(::fsync(descriptor) == 0 || errno == EINVAL);
  }
  must(::close(descriptor) == 0);
  if (!in_place) {
    if (filled && error == 0) must(::rename(temporary.c_str(), target.c_str()) == 0);
    if (!filled || error != 0) ::unlink(temporary.c_str());
  }
  if (!filled) return filled;
  if (error != 0) return cannot_write(path, error);
  return {};
}

}  // namespace bertbench
