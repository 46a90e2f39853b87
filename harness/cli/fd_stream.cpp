#include "harness/cli/fd_stream.h"

#include <unistd.h>

#include <cerrno>

namespace bertbench {

FdBuffer::FdBuffer(int descriptor) : descriptor_(descriptor) {
  setp(buffer_.data(), buffer_.data() + buffer_.size());
}

FdBuffer::~FdBuffer() { drain(); }

bool FdBuffer::drain() {
  const char* from = pbase();
  while (error_ == 0 && from < pptr()) {
    const ssize_t n = ::write(descriptor_, from, static_cast<std::size_t>(pptr() - from));
    if (n >= 0) {
      from += n;
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  return error_ == 0;
}

FdBuffer::int_type FdBuffer::overflow(int_type c) {
  if (!drain()) return traits_type::eof();
  if (!traits_type::eq_int_type(c, traits_type::eof())) {
    *pptr() = traits_type::to_char_type(c);
    pbump(1);
  }
  return traits_type::not_eof(c);
}

int FdBuffer::sync() { return drain() ? 0 : -1; }

}  // namespace bertbench
