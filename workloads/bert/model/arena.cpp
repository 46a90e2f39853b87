#include "workloads/bert/model/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

namespace bert {
namespace {

std::string mebibytes(std::int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

/// The value of "name:  123 kB" in a /proc file, in bytes; -1 if there is none.
std::int64_t proc_bytes(const char* path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  std::int64_t kilobytes = 0;
  while (file >> word) {
    if (word == name && file >> kilobytes) return kilobytes * 1024;
  }
  return -1;
}

std::int64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? value : -1;  // "max" reads as no number
}

std::int64_t cgroup_available() {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("0::", 0) != 0) continue;
    const std::string folder = "/sys/fs/cgroup" + line.substr(3);
    const std::int64_t limit = number_in(folder + "/memory.max");
    const std::int64_t used = number_in(folder + "/memory.current");
    if (limit >= 0 && used >= 0) return std::max<std::int64_t>(0, limit - used);
  }
  return -1;
}

}  // namespace

Buffer::Buffer(std::int64_t elements) : size_(elements) {
  if (elements == 0) return;
  void* memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw OutOfMemory("the system refused " + mebibytes(elements * 4) +
                      " of memory; use a smaller model or micro-batch");
  }
  madvise(memory, bytes(), MADV_HUGEPAGE);  // advice only: a refusal costs speed, not correctness
  data_ = static_cast<float*>(memory);
}

Buffer::~Buffer() {
  if (data_ != nullptr) munmap(data_, bytes());
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

std::int64_t ArenaPlan::add(std::int64_t bytes) {
  const std::int64_t offset = next_;
  next_ += (bytes + alignment_ - 1) / alignment_ * alignment_;
  high_ = std::max(high_, next_);
  return offset;
}

std::int64_t available_bytes() {
  const std::int64_t machine = proc_bytes("/proc/meminfo", "MemAvailable:");
  const std::int64_t group = cgroup_available();
  if (machine < 0) return group;
  return group < 0 ? machine : std::min(machine, group);
}

void require_memory(std::int64_t wanted, const std::string& purpose, std::int64_t limit) {
  std::int64_t available = available_bytes();
  if (limit > 0) available = available < 0 ? limit : std::min(available, limit);
  if (available < 0 || wanted <= available) return;
  throw OutOfMemory(purpose + " needs " + mebibytes(wanted) + " of memory, " +
                    mebibytes(available) +
                    " are available; use a smaller model or micro-batch, or activation "
                    "checkpointing");
}

std::int64_t resident_bytes() {
  return std::max<std::int64_t>(0, proc_bytes("/proc/self/status", "VmRSS:"));
}

std::int64_t resident_peak_bytes() {
  return std::max<std::int64_t>(0, proc_bytes("/proc/self/status", "VmHWM:"));
}

}  // namespace bert
