# Google Benchmark programs over the trainer's own kernels. Run one alone on an idle machine.
add_library(bert_bench_support STATIC machine_rates.cpp)
target_include_directories(bert_bench_support PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(bert_bench_support PUBLIC bert_core benchmark::benchmark
                                         PRIVATE bb::warnings)
foreach(name IN ITEMS attention gemm optimizer rows step)
  add_executable(${name}_bench ${name}_bench.cpp)
  target_link_libraries(${name}_bench PRIVATE bert_bench_support bb::warnings)
endforeach()
find_package(fmt QUIET)
find_package(tl-expected QUIET)
# Joined with a device, or with the emulated one in tests.
add_library(bert_nccl_ranks STATIC EXCLUDE_FROM_ALL nccl_ranks.cpp
  ${PROJECT_SOURCE_DIR}/workloads/bert/core/module.cpp)
target_link_libraries(bert_nccl_ranks PUBLIC bert_rendezvous tl::expected
                                      PRIVATE fmt::fmt ${CMAKE_DL_LIBS} bb::warnings)
if(TARGET bert_cuda_device)
  add_executable(cuda_bench cuda_bench.cpp)
  target_link_libraries(cuda_bench PRIVATE bert_nccl_ranks bert_cuda_device bert_core
                                           benchmark::benchmark bb::warnings)
  if(TARGET bert_nccl)
    add_dependencies(cuda_bench bert_nccl)  # it loads the module that lies next to it
  endif()
endif()
