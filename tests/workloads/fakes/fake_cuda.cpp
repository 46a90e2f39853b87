// Stands in for libcuda.so.1 where there is no GPU: device memory is host memory, and every stream
// is a thread that runs its work in order, so that what forgets to wait for a stream fails here as
// it would on a device. Real names and signatures; only what bert_nccl.so and its tests call.
//   FAKE_CUDA_DEVICES   number of devices [8]
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace {

constexpr int kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNoDevice = 100;
constexpr int kInvalidContext = 201, kNotReady = 600;

class Stream {
 public:
  Stream() : thread_([this] { run(); }) {}
  ~Stream() {
    {
      const std::lock_guard lock(mutex_);
      quit_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void add(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(work));
    }
    changed_.notify_all();
  }
  bool idle() {
    const std::lock_guard lock(mutex_);
    return queue_.empty();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return quit_ || !queue_.empty(); });
      if (queue_.empty()) {
        return;
      }
      const auto work = queue_.front();
      lock.unlock();
      work();
      lock.lock();
      queue_.pop_front();  // only now: an item that runs is not done
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool quit_ = false;
  std::thread thread_;
};

std::mutex memory_mutex;
std::map<char*, std::size_t> device_memory, host_memory;
thread_local bool context_is_set = false;
int context_marker = 0;

int devices() {
  const char* text = std::getenv("FAKE_CUDA_DEVICES");
  return text == nullptr ? 8 : std::atoi(text);
}

bool within(const std::map<char*, std::size_t>& memory, const void* pointer, std::size_t bytes) {
  const std::lock_guard lock(memory_mutex);
  char* const at = const_cast<char*>(static_cast<const char*>(pointer));
  auto block = memory.upper_bound(at);
  if (block == memory.begin()) {
    return false;
  }
  --block;
  return at + bytes <= block->first + block->second;
}

int allocate(std::map<char*, std::size_t>& memory, void** result, std::size_t bytes) {
  if (!context_is_set) {
    return kInvalidContext;
  }
  *result = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (*result == nullptr) {
    return kOutOfMemory;
  }
  std::memset(*result, 0xff, bytes);  // NaN: nothing is zero unless somebody wrote it
  const std::lock_guard lock(memory_mutex);
  memory[static_cast<char*>(*result)] = bytes;
  return kSuccess;
}

int release(std::map<char*, std::size_t>& memory, void* pointer) {
  const std::lock_guard lock(memory_mutex);
  if (memory.erase(static_cast<char*>(pointer)) == 0) {
    return kInvalidValue;
  }
  std::free(pointer);
  return kSuccess;
}

void* pointer(unsigned long long device) { return reinterpret_cast<void*>(device); }

int copy(const std::map<char*, std::size_t>& to_memory, void* to,
         const std::map<char*, std::size_t>& from_memory, const void* from, std::size_t bytes,
         void* stream) {
  if (stream == nullptr || !context_is_set || !within(to_memory, to, bytes) ||
      !within(from_memory, from, bytes)) {
    return kInvalidValue;
  }
  static_cast<Stream*>(stream)->add([=] { std::memcpy(to, from, bytes); });
  return kSuccess;
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return devices() > 0 ? kSuccess : kNoDevice; }
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}
int cuGetErrorString(int error, const char** text) {
  *text = error == kNoDevice         ? "no CUDA-capable device is detected"
          : error == kInvalidValue   ? "invalid argument"
          : error == kOutOfMemory    ? "out of memory"
          : error == kInvalidContext ? "invalid device context"
                                     : "unknown";
  return kSuccess;
}
int cuDeviceGetCount(int* count) {
  *count = devices();
  return kSuccess;
}
int cuDeviceGet(int* device, int index) {
  *device = index;
  return index >= 0 && index < devices() ? kSuccess : kInvalidValue;
}
int cuDeviceGetName(char* name, int size, int) {
  std::strncpy(name, "fake GPU", static_cast<std::size_t>(size));
  return kSuccess;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &context_marker;
  return kSuccess;
}
int cuDevicePrimaryCtxRelease_v2(int) { return kSuccess; }
int cuCtxSetCurrent(void* context) {
  context_is_set = context == &context_marker;
  return context_is_set ? kSuccess : kInvalidContext;
}
int cuMemAlloc_v2(unsigned long long* result, std::size_t bytes) {
  void* memory = nullptr;
  const int status = allocate(device_memory, &memory, bytes);
  *result = reinterpret_cast<unsigned long long>(memory);
  return status;
}
int cuMemFree_v2(unsigned long long device) { return release(device_memory, pointer(device)); }
int cuMemHostAlloc(void** result, std::size_t bytes, unsigned) {
  return allocate(host_memory, result, bytes);
}
int cuMemFreeHost(void* host) { return release(host_memory, host); }
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes, void* stream) {
  return copy(device_memory, pointer(to), host_memory, from, bytes, stream);
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t bytes, void* stream) {
  return copy(host_memory, to, device_memory, pointer(from), bytes, stream);
}
int cuStreamCreate(void** stream, unsigned) {
  if (!context_is_set) {
    return kInvalidContext;
  }
  *stream = new Stream;
  return kSuccess;
}
int cuStreamDestroy_v2(void* stream) {
  delete static_cast<Stream*>(stream);
  return kSuccess;
}
int cuStreamQuery(void* stream) {
  return static_cast<Stream*>(stream)->idle() ? kSuccess : kNotReady;
}
int cuLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  static_cast<Stream*>(stream)->add([=] { function(data); });
  return kSuccess;
}
// Attribute 2, the memory's type: 1 host, 2 device. Bytes cannot be asked for: the fake NCCL asks
// for the first and the last.
int cuPointerGetAttribute(void* result, int attribute, unsigned long long device) {
  if (attribute != 2 || !within(device_memory, pointer(device), 1)) {
    return kInvalidValue;
  }
  *static_cast<unsigned*>(result) = 2;
  return kSuccess;
}
}
