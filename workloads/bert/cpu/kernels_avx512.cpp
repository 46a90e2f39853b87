// The row kernels for x86-64-v4; core.cmake sets the compiler's flags.
#define BERT_KERNELS_NAME "avx512"
#define BERT_KERNELS_TABLE kKernelsAvx512
#include "workloads/bert/cpu/kernels_build.inc"
