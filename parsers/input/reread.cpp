#include "parsers/input/reread.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace bertbench {
namespace {

int unnamed_file() {
  const char* folder = std::getenv("TMPDIR");
  std::string name = std::string(folder != nullptr ? folder : "/tmp") + "/bertbench.XXXXXX";
  const int file = ::mkstemp(name.data());
  if (file >= 0) ::unlink(name.c_str());
  return file;
}

class Kept final : public ByteSource {
 public:
  Kept(int file, std::size_t size) : file_(file), size_(size) {}
  ~Kept() override { ::close(file_); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  Result<std::size_t> read(std::span<char> buffer) override {
    const std::size_t want = std::min(buffer.size(), size_ - at_);
    const ssize_t n = ::pread(file_, buffer.data(), want, static_cast<off_t>(at_));
    if (n <= 0) return 0;
    at_ += static_cast<std::size_t>(n);
    return static_cast<std::size_t>(n);
  }

 private:
  int file_;
  std::size_t size_, at_ = 0;
};

}  // namespace

RereadSource::RereadSource(std::unique_ptr<ByteSource> source)
    : source_(std::move(source)), file_(unnamed_file()) {}

RereadSource::~RereadSource() {
  if (file_ >= 0) ::close(file_);
}

Result<std::size_t> RereadSource::read(std::span<char> buffer) {
  auto got = source_->read(buffer);
  if (!got || *got == 0 || file_ < 0) return got;
  const bool fits = kept_ + *got <= kBytesKept;
  if (!fits || ::write(file_, buffer.data(), *got) != static_cast<ssize_t>(*got)) {
    ::close(std::exchange(file_, -1));
  }
  kept_ += *got;
  return got;
}

std::unique_ptr<ByteSource> RereadSource::again() const {
  if (file_ < 0) return nullptr;
  const int copy = ::dup(file_);
  return copy < 0 ? nullptr : std::make_unique<Kept>(copy, kept_);
}

bool is_read_once(const std::string& path) {
  struct stat info {};
  return path == "-" || ::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode);
}

}  // namespace bertbench
