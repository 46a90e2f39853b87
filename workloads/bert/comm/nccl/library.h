// Functions of libcuda and libnccl, looked up at run time: one bert_nccl.so is built everywhere,
// needs no toolkit to build and works with every NCCL from 2.14 on. abi_check.cpp holds these
// declarations against cuda.h and nccl.h where those are installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace bert::nccl {

// ---- the CUDA driver ---------------------------------------------------------------------------

using CuResult = int;
using CuDevice = int;
using CuContext = struct CUctx_st*;
using CuStream = struct CUstream_st*;
using CuPointer = std::uint64_t;
inline constexpr CuResult kCuSuccess = 0;
inline constexpr CuResult kCuNotReady = 600;
inline constexpr unsigned kCuStreamNonBlocking = 1;

struct Driver {
  CuResult (*init)(unsigned);
  CuResult (*driver_version)(int*);
  CuResult (*error_text)(CuResult, const char**);
  CuResult (*device_count)(int*);
  CuResult (*device)(CuDevice*, int);
  CuResult (*device_name)(char*, int, CuDevice);
  CuResult (*retain_primary_context)(CuContext*, CuDevice);
  CuResult (*release_primary_context)(CuDevice);
  CuResult (*set_context)(CuContext);
  CuResult (*allocate)(CuPointer*, std::size_t);
  CuResult (*free)(CuPointer);
  CuResult (*allocate_host)(void**, std::size_t, unsigned);
  CuResult (*free_host)(void*);
  CuResult (*copy_to_device)(CuPointer, const void*, std::size_t, CuStream);
  CuResult (*copy_to_host)(void*, CuPointer, std::size_t, CuStream);
  CuResult (*create_stream)(CuStream*, unsigned);
  CuResult (*destroy_stream)(CuStream);
  CuResult (*query_stream)(CuStream);
};

/// libcuda.so.1, or the file that BERT_CUDA_DRIVER names. Throws NoDevice. Stays loaded.
[[nodiscard]] const Driver& driver();
/// Throws std::runtime_error, naming the call, unless `result` is success.
void check_driver(CuResult result, const char* call);

// ---- NCCL --------------------------------------------------------------------------------------

using Comm = struct ncclComm*;
struct UniqueId {
  char bytes[128];
};
enum class Status : int { success = 0, remote_error = 6, in_progress = 7 };
enum class Type : int { i64 = 4, f16 = 6, f32 = 7, f64 = 8, bf16 = 9 };
enum class Operation : int { sum = 0, max = 2 };

/// ncclConfig_t of NCCL 2.14, which later versions accept: they read the size and the version and
/// take their own defaults for the rest.
struct Config {
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0;
};
inline constexpr int kOldestNccl = 21400;  ///< the first with communicators that do not block

struct Library {
  Status (*get_version)(int*);
  Status (*get_unique_id)(UniqueId*);
  Status (*init_rank)(Comm*, int ranks, UniqueId, int rank, Config*);
  Status (*finalize)(Comm);
  Status (*destroy)(Comm);
  Status (*abort)(Comm);
  Status (*async_error)(Comm, Status*);
  const char* (*error_text)(Status);
  const char* (*last_error)(Comm);
  Status (*all_reduce)(const void*, void*, std::size_t, Type, Operation, Comm, CuStream);
  Status (*reduce_scatter)(const void*, void*, std::size_t, Type, Operation, Comm, CuStream);
  Status (*all_gather)(const void*, void*, std::size_t, Type, Comm, CuStream);
  Status (*broadcast)(const void*, void*, std::size_t, Type, int root, Comm, CuStream);
  int version = 0;  ///< 22809 = 2.28.9
  std::string path;
};

/// The file that BERT_NCCL_LIBRARY names, else libnccl.so.2. Throws NoDevice when there is none,
/// when it lacks a function, or when it is older than 2.14. Stays loaded.
[[nodiscard]] const Library& library();
[[nodiscard]] std::string version_text(int version);  ///< 22809 -> "2.28.9"

}  // namespace bert::nccl
