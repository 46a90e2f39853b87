// Stands in for libnccl.so.2 where there is no GPU: a rank is a process or a thread, sums go
// through POSIX shared memory in order of ranks, on the streams of fake_cuda. A rank that dies
// leaves the others waiting, as NCCL's kernels do, until they abort.
//   FAKE_NCCL_VERSION      what ncclGetVersion answers [22809]
//   FAKE_NCCL_FAIL         "RANK:N": on that rank the N-th collective (from 1) ends in a remote
//                          error, which ncclCommGetAsyncError reports
//   FAKE_NCCL_ANY_POINTER  1: buffers need not be fake device memory; the work of those that are
//                          none, whose streams are no fake ones either, is done within the call
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "workloads/bert/comm/nccl/library.h"

namespace {

using bert::nccl::Config;
using bert::nccl::CuStream;
using bert::nccl::Operation;
using bert::nccl::Status;
using bert::nccl::Type;
using bert::nccl::UniqueId;

constexpr Status kInvalidArgument{4}, kInvalidUsage{5};
constexpr int kMostRanks = 64;
constexpr std::size_t kSlot = 1 << 18;  // bytes of one rank in one round
enum class Kind : int { all_reduce, reduce_scatter, all_gather, broadcast };

struct Call {
  Kind kind;
  std::size_t count;
  Type type;
  Operation operation;
  int root;
  bool operator==(const Call&) const = default;
};

// In shared memory. Every rank counts its arrivals at barriers.
struct Shared {
  std::atomic<std::uint64_t> arrivals[kMostRanks];
  Call calls[kMostRanks];
};  // and then [ranks][kSlot] bytes

std::size_t size_of(Type type) {
  return type == Type::f32 ? 4 : type == Type::bf16 || type == Type::f16 ? 2 : 8;
}

int variable(const char* name, int usual) {
  const char* text = std::getenv(name);
  return text == nullptr ? usual : std::atoi(text);
}

template <typename Function>
Function* driver_function(const char* name) {
  static void* const driver = dlopen(std::getenv("BERT_CUDA_DRIVER"), RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function*>(dlsym(driver, name));
}

bool is_device_memory(const void* memory, std::size_t bytes) {
  static auto* const attribute =
      driver_function<int(void*, int, unsigned long long)>("cuPointerGetAttribute");
  unsigned type = 0;
  const auto at = reinterpret_cast<unsigned long long>(memory);
  return attribute(&type, 2, at) == 0 && attribute(&type, 2, at + bytes - 1) == 0;
}

float to_float(std::uint16_t bits, Type type) {
  if (type == Type::bf16) {
    const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
    float value = 0;
    std::memcpy(&value, &wide, 4);
    return value;
  }
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 31) {
    return fraction != 0 ? std::nanf("") : sign * INFINITY;
  }
  return sign * (exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                               : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25));
}

std::uint16_t from_float(float value, Type type) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  if (type == Type::bf16) {
    if (std::isnan(value)) return 0x7fc0;
    return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
  const std::uint16_t sign = bits >> 16 & 0x8000;
  const float size = std::fabs(value);
  if (std::isnan(value)) return 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  int exponent = 0;
  std::frexp(size, &exponent);
  exponent = std::max(exponent, -13);
  // Rounded to eleven bits, or to the subnormal grid: to nearest, ties to even, by nearbyint.
  const auto units = static_cast<int>(std::nearbyint(std::ldexp(size, 11 - exponent)));
  return static_cast<std::uint16_t>(sign | (((exponent + 13) << 10) + units));
}

template <typename T>
T combine(T a, T b, Operation operation) {
  return operation == Operation::max ? std::max(a, b) : a + b;
}

void add(void* sum, const void* more, std::size_t count, Type type, Operation operation) {
  const auto each = [&]<typename T>(T) {
    for (std::size_t i = 0; i < count; ++i) {
      static_cast<T*>(sum)[i] =
          combine(static_cast<T*>(sum)[i], static_cast<const T*>(more)[i], operation);
    }
  };
  switch (type) {
    case Type::f32:
      return each(float{});
    case Type::f64:
      return each(double{});
    case Type::i64:
      return each(std::int64_t{});
    case Type::f16:
    case Type::bf16:
      for (std::size_t i = 0; i < count; ++i) {
        auto& to = static_cast<std::uint16_t*>(sum)[i];
        to = from_float(
            combine(to_float(to, type), to_float(static_cast<const std::uint16_t*>(more)[i], type),
                    operation),
            type);
      }
  }
}

}  // namespace

struct ncclComm {
  int rank = 0, ranks = 1;
  std::string name;
  Shared* shared = nullptr;
  std::size_t bytes = 0;
  std::uint64_t arrived = 0;
  int collectives = 0;
  int fail_at = 0;
  std::atomic<bool> aborted{false};
  std::atomic<Status> state{Status::in_progress};
  std::thread joining;

  // False when this rank gave up.
  bool barrier() {
    shared->arrivals[rank].store(++arrived);
    for (int other = 0; other < ranks; ++other) {
      for (int look = 0; shared->arrivals[other].load() < arrived; ++look) {
        if (aborted) return false;
        look < 100 ? static_cast<void>(sched_yield()) : static_cast<void>(usleep(50));
      }
    }
    return true;
  }
  char* slot(int of) const {
    return reinterpret_cast<char*>(shared + 1) + static_cast<std::size_t>(of) * kSlot;
  }

  void run(const Call& call, const char* input, char* output);
};

// Round by round: each rank lays a part of its input into its slot, then reads those of all.
void ncclComm::run(const Call& call, const char* input, char* output) {
  if (++collectives == fail_at) {
    state = Status::remote_error;
    return;
  }
  shared->calls[rank] = call;
  if (!barrier()) return;
  for (int other = 0; other < ranks; ++other) {
    if (!(shared->calls[other] == call)) {
      state = kInvalidUsage;  // real ranks would hang or mix up their data
      return;
    }
  }
  const std::size_t size = size_of(call.type);
  const bool scatter = call.kind == Kind::reduce_scatter;
  const std::size_t total = call.count * (scatter ? static_cast<std::size_t>(ranks) : 1);
  const std::size_t most = kSlot / size;
  const std::size_t own = call.count * static_cast<std::size_t>(rank);
  // In place, the input is overwritten only where it has been read: rounds go forward, and a
  // scattered share is written from a sum that starts as a copy.
  std::unique_ptr<char[]> sum(new char[kSlot]);
  for (std::size_t begin = 0; begin < total; begin += most) {
    const std::size_t count = std::min(most, total - begin);
    std::memcpy(slot(rank), input + begin * size, count * size);
    if (!barrier()) return;
    if (call.kind == Kind::all_gather) {
      for (int from = 0; from < ranks; ++from) {
        std::memcpy(output + (call.count * static_cast<std::size_t>(from) + begin) * size,
                    slot(from), count * size);
      }
    } else if (call.kind == Kind::broadcast) {
      std::memcpy(output + begin * size, slot(call.root), count * size);
    } else {
      std::memcpy(sum.get(), slot(0), count * size);
      for (int from = 1; from < ranks; ++from) {
        add(sum.get(), slot(from), count, call.type, call.operation);
      }
      const std::size_t low = scatter ? std::max(begin, own) : begin;
      const std::size_t high = scatter ? std::min(begin + count, own + call.count) : begin + count;
      if (low < high) {
        std::memcpy(output + (low - (scatter ? own : 0)) * size, sum.get() + (low - begin) * size,
                    (high - low) * size);
      }
    }
    if (!barrier()) return;
  }
}

namespace {

struct Queued {
  ncclComm* comm;
  Call call;
  const void* input;
  void* output;
};

Status queue(ncclComm* comm, const Call& call, const void* input, void* output, CuStream stream) {
  const Status state = comm->state;
  if (state != Status::success) {
    return kInvalidArgument;  // as NCCL does while a communicator is not ready
  }
  const std::size_t bytes = call.count * size_of(call.type);
  const auto ranks = static_cast<std::size_t>(comm->ranks);
  const bool fake =
      is_device_memory(input, call.kind == Kind::reduce_scatter ? bytes * ranks : bytes) &&
      is_device_memory(output, call.kind == Kind::all_gather ? bytes * ranks : bytes);
  if (!fake && variable("FAKE_NCCL_ANY_POINTER", 0) == 0) return kInvalidArgument;
  if (!fake) {
    comm->run(call, static_cast<const char*>(input), static_cast<char*>(output));
    return Status::success;
  }
  static auto* const launch =
      driver_function<int(CuStream, void (*)(void*), void*)>("cuLaunchHostFunc");
  const auto body = [](void* data) {
    const std::unique_ptr<Queued> work(static_cast<Queued*>(data));
    if (!work->comm->aborted) {
      work->comm->run(work->call, static_cast<const char*>(work->input),
                      static_cast<char*>(work->output));
    }
  };
  launch(stream, body, new Queued{comm, call, input, output});
  return Status::success;
}

}  // namespace

extern "C" {

Status ncclGetVersion(int* version) {
  *version = variable("FAKE_NCCL_VERSION", 22809);
  return Status::success;
}

Status ncclGetUniqueId(UniqueId* id) {
  static int made = 0;
  std::snprintf(id->bytes, sizeof id->bytes, "/fake_nccl_%d_%d", getpid(), made++);
  return Status::success;
}

Status ncclCommInitRankConfig(ncclComm** result, int ranks, UniqueId id, int rank, Config* config) {
  if (config->magic != 0xcafebeef || config->size < sizeof(Config) || config->blocking != 0 ||
      rank < 0 || rank >= ranks || ranks > kMostRanks) {
    return kInvalidArgument;
  }
  auto comm = std::make_unique<ncclComm>();
  comm->rank = rank;
  comm->ranks = ranks;
  comm->name = id.bytes;
  comm->bytes = sizeof(Shared) + kSlot * static_cast<std::size_t>(ranks);
  if (const char* fail = std::getenv("FAKE_NCCL_FAIL"); fail != nullptr) {
    int of = -1, at = 0;
    if (std::sscanf(fail, "%d:%d", &of, &at) == 2 && of == rank) {
      comm->fail_at = at;
    }
  }
  const int file = shm_open(id.bytes, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, static_cast<off_t>(comm->bytes)) != 0) {
    return Status{2};
  }
  void* const memory = mmap(nullptr, comm->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) {
    return Status{2};
  }
  comm->shared = static_cast<Shared*>(memory);  // a new file is zeros: no rank has arrived
  *result = comm.get();
  comm->joining = std::thread([c = comm.get()] {
    if (c->barrier()) {
      shm_unlink(c->name.c_str());  // all are in; the first of them does it
      c->state = Status::success;
    }
  });
  static std::mutex mutex;
  static auto* const all = new std::vector<ncclComm*>;  // kept: a stream may hold work of it
  const std::lock_guard lock(mutex);
  all->push_back(comm.release());
  return Status::in_progress;
}

Status ncclCommGetAsyncError(ncclComm* comm, Status* state) {
  *state = comm->state;
  return Status::success;
}

Status ncclCommFinalize(ncclComm* comm) {
  return comm->state == Status::success ? Status::success : kInvalidUsage;
}

Status ncclCommAbort(ncclComm* comm) {
  comm->aborted = true;
  if (comm->joining.joinable()) comm->joining.join();
  shm_unlink(comm->name.c_str());
  return Status::success;
}

Status ncclCommDestroy(ncclComm* comm) { return ncclCommAbort(comm); }

const char* ncclGetErrorString(Status status) {
  switch (static_cast<int>(status)) {
    case 2:
      return "unhandled system error";
    case 4:
      return "invalid argument";
    case 5:
      return "invalid usage";
    case 6:
      return "remote process exited or there was a network error";
    default:
      return "unknown result code";
  }
}
const char* ncclGetLastError(ncclComm*) { return ""; }

Status ncclAllReduce(const void* input, void* output, std::size_t count, Type type,
                     Operation operation, ncclComm* comm, CuStream stream) {
  return queue(comm, {Kind::all_reduce, count, type, operation, 0}, input, output, stream);
}
Status ncclReduceScatter(const void* input, void* output, std::size_t count, Type type,
                         Operation operation, ncclComm* comm, CuStream stream) {
  return queue(comm, {Kind::reduce_scatter, count, type, operation, 0}, input, output, stream);
}
Status ncclAllGather(const void* input, void* output, std::size_t count, Type type, ncclComm* comm,
                     CuStream stream) {
  return queue(comm, {Kind::all_gather, count, type, Operation::sum, 0}, input, output, stream);
}
Status ncclBroadcast(const void* input, void* output, std::size_t count, Type type, int root,
                     ncclComm* comm, CuStream stream) {
  return queue(comm, {Kind::broadcast, count, type, Operation::sum, root}, input, output, stream);
}
}
