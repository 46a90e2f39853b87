// Ranges that a profiler (Nsight Systems) shows on its time line. NVTX 3 is headers only: without
// a profiler attached a range is a look at a pointer; without the headers it is nothing.
#pragma once

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define BERT_HAS_NVTX 1
#endif

namespace bert {

class NvtxRange {
 public:
#ifdef BERT_HAS_NVTX
  explicit NvtxRange(const char* name) { nvtxRangePushA(name); }
  ~NvtxRange() { nvtxRangePop(); }
#else
  explicit NvtxRange(const char*) {}
#endif
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;
};

}  // namespace bert
