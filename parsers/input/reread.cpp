#include "parsers/input/reread.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace bertbench {
namespace {

class Copy final : public ByteSource {
 public:
  Copy(int file, std::size_t size) : file_(file), size_(size) {}
  ~Copy() override { ::close(file_); }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  Result<std::size_t> read(std::span<char> buffer) override {
    const std::size_t want = std::min(buffer.size(), size_ - at_);
    ssize_t n = 0;
    do {
      n = ::pread(file_, buffer.data(), want, static_cast<off_t>(at_));
    } while (n < 0 && errno == EINTR);
    if (n < 0)
      problem_ = std::string("the copy of the pipe cannot be read: ") + std::strerror(errno);
    if (n <= 0) return 0;
    at_ += static_cast<std::size_t>(n);
    return static_cast<std::size_t>(n);
  }
  [[nodiscard]] std::string problem() const override { return problem_; }

 private:
  int file_;
  std::size_t size_, at_ = 0;
  std::string problem_;
};

}  // namespace

RereadSource::RereadSource(std::unique_ptr<ByteSource> source)
    : source_(std::move(source)), file_(open_temporary_file()) {}

Result<std::size_t> RereadSource::read(std::span<char> buffer) {
  auto got = source_->read(buffer);
  if (!got || *got == 0 || !file_) return got;
  const bool fits = kept_ + *got <= kBytesKept;
  if (!fits || ::write(::fileno(file_.get()), buffer.data(), *got) != static_cast<ssize_t>(*got)) {
    file_.reset();
  }
  kept_ += *got;
  return got;
}

std::unique_ptr<ByteSource> RereadSource::again() const {
  const int copy = file_ ? ::fcntl(::fileno(file_.get()), F_DUPFD_CLOEXEC, 0) : -1;
  return copy < 0 ? nullptr : std::make_unique<Copy>(copy, kept_);
}

bool is_read_once(const std::string& path) {
  struct stat info {};
  return path == "-" || ::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode);
}

}  // namespace bertbench
