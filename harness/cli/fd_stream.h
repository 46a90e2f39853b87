// A stream buffer over a file descriptor that remembers why a write failed: a full disk and a
// reader that went away need different answers, and std::cout distinguishes neither.
#pragma once

#include <array>
#include <streambuf>

namespace bertbench {

class FdBuffer : public std::streambuf {
 public:
  explicit FdBuffer(int descriptor);
  ~FdBuffer() override;

  /// errno of the first write that failed, 0 if none did.
  [[nodiscard]] int error() const { return error_; }

 protected:
  int_type overflow(int_type c) override;
  int sync() override;

 private:
  bool drain();

  int descriptor_;
  int error_ = 0;
  std::array<char, 16384> buffer_{};
};

}  // namespace bertbench
