#include "reports/cells/spool.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace bertbench {

std::uint64_t Spool::add(std::string_view piece) {
  if (tail_.size() + piece.size() > in_memory_ && !no_file_ && !tail_.empty()) move_to_file();
  const std::uint64_t at = in_file_ + tail_.size();
  tail_ += piece;
  return at;
}

void Spool::move_to_file() {
  if (!file_) file_ = open_temporary_file();
  std::size_t done = 0;
  while (file_ && done < tail_.size()) {
    const ssize_t n = ::pwrite(::fileno(file_.get()), tail_.data() + done, tail_.size() - done,
                               static_cast<off_t>(in_file_ + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  // What was written of a piece that did not fit is overwritten by nobody and read by nobody.
  no_file_ = done < tail_.size();
  if (no_file_) return;
  in_file_ += tail_.size();
  constexpr std::size_t kAtOnce = 1 << 20;
  in_memory_ = std::min(in_memory_, kAtOnce);
  tail_ = {};
  tail_.reserve(in_memory_);
}

bool Spool::read(std::uint64_t at, std::size_t size, std::string& out) const {
  if (at >= in_file_) {
    out.assign(tail_, static_cast<std::size_t>(at - in_file_), size);
    return out.size() == size;
  }
  out.resize(static_cast<std::size_t>(std::min<std::uint64_t>(size, in_file_ - at)));
  for (std::size_t done = 0; done < out.size();) {
    const ssize_t n = ::pread(::fileno(file_.get()), out.data() + done, out.size() - done,
                              static_cast<off_t>(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  out.append(tail_, 0, size - out.size());
  return out.size() == size;
}

}  // namespace bertbench
