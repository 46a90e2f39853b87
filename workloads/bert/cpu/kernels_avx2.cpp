// The row kernels for x86-64-v3; core.cmake sets the compiler's flags.
#define BERT_KERNELS_NAME "avx2"
#define BERT_KERNELS_TABLE kKernelsAvx2
#include "workloads/bert/cpu/kernels_build.inc"
