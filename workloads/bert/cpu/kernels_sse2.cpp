// The row kernels for any x86-64; core.cmake sets the compiler's flags.
#define BERT_KERNELS_NAME "sse2"
#define BERT_KERNELS_TABLE kKernelsSse2
#include "workloads/bert/cpu/kernels_build.inc"
