# The row kernels are compiled once per instruction set and chosen at run time, so one binary
# runs on any x86-64. These files include nothing of the standard library that the linker could
# share with other files: an AVX-512 copy of an inline function must not end up in generic code.
set(isa_flags -O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast -fopenmp-simd)
set_source_files_properties(cpu/kernels_sse2.cpp PROPERTIES COMPILE_OPTIONS "${isa_flags}")
set_source_files_properties(cpu/kernels_avx2.cpp PROPERTIES
  COMPILE_OPTIONS "${isa_flags};-march=x86-64-v3")
set_source_files_properties(cpu/kernels_avx512.cpp PROPERTIES
  COMPILE_OPTIONS "${isa_flags};-march=x86-64-v4;-mprefer-vector-width=512")

add_library(bert_core STATIC
  model_config.cpp
  parameters.cpp
  cpu/activations.cpp
  cpu/arena.cpp
  cpu/attention.cpp
  cpu/cpu_backend.cpp
  cpu/embeddings.cpp
  cpu/encoder_layer.cpp
  cpu/gemm.cpp
  cpu/heads.cpp
  cpu/initialize.cpp
  cpu/kernels.cpp
  cpu/kernels_avx2.cpp
  cpu/kernels_avx512.cpp
  cpu/kernels_sse2.cpp
  cpu/norm.cpp
  cpu/optimizer.cpp
  cpu/partials.cpp
)
target_include_directories(bert_core PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(bert_core PUBLIC OpenMP::OpenMP_CXX Threads::Threads
                                PRIVATE DNNL::dnnl bb::warnings)

# The oracle of the tests; no program links it.
add_library(bert_reference STATIC EXCLUDE_FROM_ALL reference/reference.cpp)
target_link_libraries(bert_reference PUBLIC bert_core PRIVATE bb::warnings)
