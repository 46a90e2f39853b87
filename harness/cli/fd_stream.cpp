#include "harness/cli/fd_stream.h"

#include <cerrno>

#include "harness/sweep/process/folder.h"

namespace bertbench {

FdBuffer::FdBuffer(int descriptor) : descriptor_(descriptor) {
  setp(buffer_.data(), buffer_.data() + buffer_.size());
}

FdBuffer::~FdBuffer() { drain(); }

bool FdBuffer::drain() {
  if (error_ == 0 && !write_all(descriptor_, {pbase(), pptr()})) error_ = errno;
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
