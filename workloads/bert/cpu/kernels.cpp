#include "workloads/bert/cpu/kernels.h"

#include <cstdlib>
#include <cstring>

namespace bert {
namespace {

bool runs_here(const Kernels& build) {
  __builtin_cpu_init();
  if (&build == &kKernelsAvx512) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("fma");
  }
  if (&build == &kKernelsAvx2) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2");
  }
  return true;
}

const Kernels* const kBuilds[] = {&kKernelsAvx512, &kKernelsAvx2, &kKernelsSse2};

const Kernels& choose() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read once, before any thread of ours starts
  const char* asked = std::getenv("BERT_ISA");
  if (asked != nullptr) {
    if (const Kernels* build = kernels_named(asked)) return *build;
  }
  for (const Kernels* build : kBuilds) {
    if (runs_here(*build)) return *build;
  }
  return kKernelsSse2;
}

}  // namespace

const Kernels* kernels_named(const char* name) {
  for (const Kernels* build : kBuilds) {
    if (std::strcmp(build->name, name) == 0 && runs_here(*build)) return build;
  }
  return nullptr;
}

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

}  // namespace bert
