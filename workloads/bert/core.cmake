# The row kernels are compiled once per instruction set and chosen at run time, so one binary
# runs on any x86-64. These files include nothing of the standard library that the linker could
# share with other files: an AVX-512 copy of an inline function must not end up in generic code.
set(isa_flags -O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast -fopenmp-simd)
set_source_files_properties(cpu/kernels_sse2.cpp PROPERTIES COMPILE_OPTIONS "${isa_flags}")
set_source_files_properties(cpu/kernels_avx2.cpp PROPERTIES
  COMPILE_OPTIONS "${isa_flags};-march=x86-64-v3")
set_source_files_properties(cpu/kernels_avx512.cpp PROPERTIES
  COMPILE_OPTIONS "${isa_flags};-march=x86-64-v4;-mprefer-vector-width=512")

# The model without a backend: what bert_cuda.so shares with the CPU backend, and needs no oneDNN.
add_library(bert_model STATIC
  model/activations.cpp
  model/checks.cpp
  core/model_config.cpp
  model/parameters.cpp
  model/adam.cpp
  model/arena.cpp
  model/initialize.cpp
  model/loss_scaler.cpp
)
set_target_properties(bert_model PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_include_directories(bert_model PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(bert_model PRIVATE $<$<BOOL:${OpenMP_CXX_FOUND}>:OpenMP::OpenMP_CXX>
                                         bb::warnings)

# The oracle of the tests; no program links it.
add_library(bert_reference STATIC EXCLUDE_FROM_ALL reference/reference.cpp)
target_link_libraries(bert_reference PUBLIC bert_model PRIVATE bb::warnings)

# Without oneDNN, as on a GPU machine, bert_train is built with the other backends alone.
if(NOT TARGET DNNL::dnnl OR NOT OpenMP_CXX_FOUND)
  add_library(bert_core STATIC cpu/absent.cpp)
  target_link_libraries(bert_core PUBLIC bert_model Threads::Threads PRIVATE bb::warnings)
  return()
endif()

add_library(bert_core STATIC
  cpu/attention.cpp
  cpu/bf16_decoder.cpp
  cpu/bf16_linears.cpp
  cpu/cpu_backend.cpp
  cpu/gemm.cpp
  cpu/kernels.cpp
  cpu/kernels_avx2.cpp
  cpu/kernels_avx512.cpp
  cpu/kernels_sse2.cpp
  cpu/norm.cpp
  cpu/optimizer.cpp
  cpu/step.cpp
  cpu/context.cpp
)
target_include_directories(bert_core PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(bert_core PUBLIC bert_model OpenMP::OpenMP_CXX Threads::Threads
                                PRIVATE DNNL::dnnl bb::warnings)
