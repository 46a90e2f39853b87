// gzip and zstd: members and frames of any bytes, read through small and large buffers.
#include <sys/mman.h>
#include <unistd.h>

#include "parsers/input/input.h"
#include "tests/fuzz/targets.h"

namespace bertbench::fuzz {
namespace {

constexpr std::size_t kEnough = std::size_t{8} << 20;

struct Reading {
  std::string bytes, problem;
};

Reading read_with(const std::string& path, std::size_t buffer_size) {
  auto source = open_source(path);
  if (!source) return {"", source.error().message()};
  Reading out;
  std::string buffer(buffer_size, '\0');
  while (out.bytes.size() < kEnough) {
    const auto got = (*source)->read(buffer);
    if (!got) return {out.bytes, got.error().message()};
    if (*got == 0) break;
    require(*got <= buffer.size(), "more bytes than the buffer holds");
    out.bytes.append(buffer, 0, *got);
  }
  out.problem = (*source)->problem();
  return out;
}

}  // namespace

void compressed(std::string_view input) {
  const int fd = memfd_create("fuzz", MFD_CLOEXEC);
  require(fd >= 0, "memfd_create");
  for (std::size_t at = 0; at < input.size();) {
    const ssize_t n = ::write(fd, input.data() + at, input.size() - at);
    require(n > 0, "write to a memfd");
    at += static_cast<std::size_t>(n);
  }
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const Reading large = read_with(path, std::size_t{256} << 10);
  if (large.bytes.size() < kEnough) {
    const Reading small = read_with(path, 61);
    require(small.problem.empty() == large.problem.empty(),
            "whether it is damaged depends on the buffer");
    // How much of a damaged frame comes out before the damage is the library's own matter: a
    // frame that fits the buffer is decoded in one go or not at all.
    const bool damaged = !large.problem.empty();
    require(small.bytes == large.bytes || (damaged && (small.bytes.starts_with(large.bytes) ||
                                                       large.bytes.starts_with(small.bytes))),
            "what is read depends on the buffer");
  }
  ::close(fd);
}

}  // namespace bertbench::fuzz
