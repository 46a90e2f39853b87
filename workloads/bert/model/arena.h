// Memory that is planned before it is asked for: the plan of every backend, the buffers of the
// CPU's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

namespace bert {

/// Its message has how much was wanted and how much there is; a std::bad_alloc to callers that know
/// only that.
class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(std::string message) : message_(std::move(message)) {}
  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

/// Zero-filled floats on 2 MiB pages where the system has them. Throws OutOfMemory.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::int64_t elements);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] float* data() const { return data_; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(size_) * sizeof(float);
  }

 private:
  float* data_ = nullptr;
  std::int64_t size_ = 0;
};

/// Offsets in bytes of tensors in one block of memory, each at a multiple of the alignment.
/// `rewind` to an earlier `mark` lets tensors that never live at the same time share memory.
class ArenaPlan {
 public:
  explicit ArenaPlan(std::int64_t alignment) : alignment_(alignment) {}
  std::int64_t add(std::int64_t bytes);
  [[nodiscard]] std::int64_t mark() const { return next_; }
  void rewind(std::int64_t mark) { next_ = mark; }
  [[nodiscard]] std::int64_t total() const { return high_; }

 private:
  std::int64_t alignment_, next_ = 0, high_ = 0;
};

/// Bytes that this process may still have: MemAvailable, bounded by its cgroup. -1 if unknown.
[[nodiscard]] std::int64_t available_bytes();

/// Throws OutOfMemory when `wanted` bytes exceed what is available, or `limit` (0 = none). Linux
/// grants memory it does not have and kills later; asking first turns that into an error that names
/// the remedy.
void require_memory(std::int64_t wanted, const std::string& purpose, std::int64_t limit = 0);

/// Resident set of this process, bytes (VmRSS); 0 if unknown.
[[nodiscard]] std::int64_t resident_bytes();

/// Highest resident set of this process so far, bytes (VmHWM); 0 if unknown.
[[nodiscard]] std::int64_t resident_peak_bytes();

}  // namespace bert
