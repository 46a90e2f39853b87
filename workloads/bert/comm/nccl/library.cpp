#include "workloads/bert/comm/nccl/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>

#include "workloads/bert/core/module.h"

namespace bert::nccl {
namespace {

class SharedObject {
 public:
  SharedObject(const char* variable, const char* usual, const std::string& remedy)
      : name_(usual), remedy_(remedy) {
    const char* named = std::getenv(variable);
    if (named != nullptr && *named != '\0') {
      name_ = named;
    }
    handle_ = dlopen(name_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
      const char* why = dlerror();
      throw NoDevice(fmt::format("{}: {} ({} names another file)",
                                 why == nullptr ? name_ + " cannot be loaded" : why, remedy_,
                                 variable));
    }
  }

  template <typename Function>
  void find(Function*& function, const char* symbol) const {
    void* const found = dlsym(handle_, symbol);
    if (found == nullptr) {
      throw NoDevice(fmt::format("{} has no {}: {}", name_, symbol, remedy_));
    }
    function = reinterpret_cast<Function*>(found);
  }

  // Where it was really found.
  [[nodiscard]] std::string path(void* symbol) const {
    Dl_info info{};
    return dladdr(symbol, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : name_;
  }

 private:
  std::string name_, remedy_;
  void* handle_ = nullptr;  // never closed: libraries of this size do not unload well
};

Driver load_driver() {
  const SharedObject object("BERT_CUDA_DRIVER", "libcuda.so.1",
                            "no NVIDIA driver here; --comm nccl needs a GPU, --comm tcp does not");
  Driver d{};
  object.find(d.init, "cuInit");
  object.find(d.driver_version, "cuDriverGetVersion");
  object.find(d.error_text, "cuGetErrorString");
  object.find(d.device_count, "cuDeviceGetCount");
  object.find(d.device, "cuDeviceGet");
  object.find(d.device_name, "cuDeviceGetName");
  object.find(d.retain_primary_context, "cuDevicePrimaryCtxRetain");
  object.find(d.release_primary_context, "cuDevicePrimaryCtxRelease_v2");
  object.find(d.set_context, "cuCtxSetCurrent");
  object.find(d.allocate, "cuMemAlloc_v2");
  object.find(d.free, "cuMemFree_v2");
  object.find(d.allocate_host, "cuMemHostAlloc");
  object.find(d.free_host, "cuMemFreeHost");
  object.find(d.copy_to_device, "cuMemcpyHtoDAsync_v2");
  object.find(d.copy_to_host, "cuMemcpyDtoHAsync_v2");
  object.find(d.create_stream, "cuStreamCreate");
  object.find(d.destroy_stream, "cuStreamDestroy_v2");
  object.find(d.query_stream, "cuStreamQuery");
  if (const CuResult result = d.init(0); result != kCuSuccess) {
    const char* why = nullptr;
    d.error_text(result, &why);
    throw NoDevice(fmt::format("the NVIDIA driver does not start: {}; nvidia-smi must work first",
                               why == nullptr ? "unknown error" : why));
  }
  return d;
}

Library load_library() {
  const SharedObject object(
      "BERT_NCCL_LIBRARY", "libnccl.so.2",
      "install NCCL 2.14 or newer (Debian: libnccl2; PyTorch brings site-packages/nvidia/nccl/lib)"
      " or use --comm tcp");
  Library l{};
  object.find(l.get_version, "ncclGetVersion");
  if (l.get_version(&l.version) != Status::success) {
    throw NoDevice("ncclGetVersion failed");
  }
  l.path = object.path(reinterpret_cast<void*>(l.get_version));
  if (l.version < kOldestNccl) {
    throw NoDevice(fmt::format(
        "{} is NCCL {}, but {} is the oldest that can give up on a dead peer: install a newer one, "
        "or name it by BERT_NCCL_LIBRARY",
        l.path, version_text(l.version), version_text(kOldestNccl)));
  }
  object.find(l.get_unique_id, "ncclGetUniqueId");
  object.find(l.init_rank, "ncclCommInitRankConfig");
  object.find(l.finalize, "ncclCommFinalize");
  object.find(l.destroy, "ncclCommDestroy");
  object.find(l.abort, "ncclCommAbort");
  object.find(l.async_error, "ncclCommGetAsyncError");
  object.find(l.error_text, "ncclGetErrorString");
  object.find(l.last_error, "ncclGetLastError");
  object.find(l.all_reduce, "ncclAllReduce");
  object.find(l.reduce_scatter, "ncclReduceScatter");
  object.find(l.all_gather, "ncclAllGather");
  object.find(l.broadcast, "ncclBroadcast");
  return l;
}

}  // namespace

const Driver& driver() {
  static const Driver loaded = load_driver();
  return loaded;
}

void check_driver(CuResult result, const char* call) {
  if (result == kCuSuccess) {
    return;
  }
  const char* why = nullptr;
  driver().error_text(result, &why);
  throw std::runtime_error(
      fmt::format("{}: {} (CUDA error {})", call, why == nullptr ? "unknown" : why, result));
}

const Library& library() {
  static const Library loaded = load_library();
  return loaded;
}

// NCCL counted in hundreds up to 2.8 and in ten thousands since.
std::string version_text(int version) {
  const int major = version < 10000 ? version / 1000 : version / 10000;
  const int rest = version < 10000 ? version % 1000 : version % 10000;
  return fmt::format("{}.{}.{}", major, rest / 100, rest % 100);
}

}  // namespace bert::nccl
