// Compiled where the toolkit's headers are: what library.h declares by hand is what they declare.
#include <cuda.h>
#include <nccl.h>

#include <cstddef>
#include <type_traits>

#include "workloads/bert/comm/nccl/library.h"

namespace bert::nccl {
namespace {

// The same function type once our names stand for theirs: every enum is an int in the C ABI, and
// pointers are pointers.
template <typename T>
struct Plain {
  using type = std::conditional_t<std::is_pointer_v<T>, void*, T>;
};
template <typename T>
requires std::is_enum_v<T>
struct Plain<T> {
  using type = std::conditional_t<sizeof(T) == sizeof(int), int, void>;
};
template <>
struct Plain<UniqueId> {
  using type = ncclUniqueId;
};
template <typename F>
struct Signature;
template <typename R, typename... A>
struct Signature<R (*)(A...)> {
  using type = typename Plain<R>::type(typename Plain<A>::type...);
};
template <typename Ours, typename Theirs>
constexpr bool same =
    std::is_same_v<typename Signature<Ours>::type, typename Signature<Theirs>::type>;

#define BERT_SAME(table, field, symbol) \
  static_assert(same<decltype(table::field), decltype(&symbol)>, #symbol)

BERT_SAME(Driver, init, cuInit);
BERT_SAME(Driver, driver_version, cuDriverGetVersion);
BERT_SAME(Driver, error_text, cuGetErrorString);
BERT_SAME(Driver, device_count, cuDeviceGetCount);
BERT_SAME(Driver, device, cuDeviceGet);
BERT_SAME(Driver, device_name, cuDeviceGetName);
BERT_SAME(Driver, retain_primary_context, cuDevicePrimaryCtxRetain);
BERT_SAME(Driver, release_primary_context, cuDevicePrimaryCtxRelease_v2);
BERT_SAME(Driver, set_context, cuCtxSetCurrent);
static_assert(sizeof(CuPointer) == sizeof(CUdeviceptr) && std::is_unsigned_v<CUdeviceptr>);
BERT_SAME(Driver, allocate_host, cuMemHostAlloc);
BERT_SAME(Driver, free_host, cuMemFreeHost);
BERT_SAME(Driver, create_stream, cuStreamCreate);
BERT_SAME(Driver, destroy_stream, cuStreamDestroy_v2);
BERT_SAME(Driver, query_stream, cuStreamQuery);
static_assert(kCuSuccess == CUDA_SUCCESS && kCuNotReady == CUDA_ERROR_NOT_READY);
static_assert(kCuStreamNonBlocking == CU_STREAM_NON_BLOCKING);

BERT_SAME(Library, get_version, ncclGetVersion);
BERT_SAME(Library, get_unique_id, ncclGetUniqueId);
BERT_SAME(Library, init_rank, ncclCommInitRankConfig);
BERT_SAME(Library, finalize, ncclCommFinalize);
BERT_SAME(Library, destroy, ncclCommDestroy);
BERT_SAME(Library, abort, ncclCommAbort);
BERT_SAME(Library, async_error, ncclCommGetAsyncError);
BERT_SAME(Library, error_text, ncclGetErrorString);
BERT_SAME(Library, last_error, ncclGetLastError);
BERT_SAME(Library, all_reduce, ncclAllReduce);
BERT_SAME(Library, reduce_scatter, ncclReduceScatter);
BERT_SAME(Library, all_gather, ncclAllGather);
BERT_SAME(Library, broadcast, ncclBroadcast);
static_assert(sizeof(UniqueId) == sizeof(ncclUniqueId));
static_assert(offsetof(Config, size) == offsetof(ncclConfig_t, size) &&
              offsetof(Config, magic) == offsetof(ncclConfig_t, magic) &&
              offsetof(Config, version) == offsetof(ncclConfig_t, version) &&
              offsetof(Config, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(static_cast<int>(Status::success) == ncclSuccess &&
              static_cast<int>(Status::remote_error) == ncclRemoteError &&
              static_cast<int>(Status::in_progress) == ncclInProgress);
static_assert(static_cast<int>(Type::i64) == ncclInt64 &&
              static_cast<int>(Type::f16) == ncclFloat16 &&
              static_cast<int>(Type::f32) == ncclFloat32 &&
              static_cast<int>(Type::f64) == ncclFloat64 &&
              static_cast<int>(Type::bf16) == ncclBfloat16);
static_assert(static_cast<int>(Operation::sum) == ncclSum &&
              static_cast<int>(Operation::max) == ncclMax);

}  // namespace
}  // namespace bert::nccl
