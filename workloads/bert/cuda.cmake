# The CUDA backend. Its host side is plain C++ and builds everywhere: tests run it, and the kernels'
# own source, on an emulated device (tests/workloads/cuda.cmake).
set(bert_cuda_kernels)
foreach(kernel IN ITEMS attention_flash attention_flash_backward attention_flash_whole_head attention_library attention_plain
                        columns fp8 heads norm optimizer rows)
  list(APPEND bert_cuda_kernels ${CMAKE_CURRENT_SOURCE_DIR}/cuda/kernels/${kernel}.cu)
endforeach()
set_property(GLOBAL PROPERTY bert_cuda_kernels ${bert_cuda_kernels})

# Objects and not an archive: the kernels call back into it, and it is joined with either device.
add_library(bert_cuda_host OBJECT EXCLUDE_FROM_ALL
  comm/bucket_planner.cpp
  cuda/products/algorithm_cache.cpp
  cuda/batch_upload.cpp
  cuda/cuda_backend.cpp
  cuda/products/epilogue.cpp
  cuda/products/fp8_linears.cpp
  cuda/reduction.cpp
  cuda/sharding.cpp
  cuda/step.cpp
  cuda/step_graphs.cpp
  cuda/training_state.cpp
)
set_target_properties(bert_cuda_host PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_link_libraries(bert_cuda_host PRIVATE bert_model fmt::fmt tl::expected bb::warnings)

if(NOT BB_HAVE_CUDA)
  return()
endif()
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has it
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
# cudart is linked in and finds the driver at run time; cuBLASLt is loaded when it is used. So the
# module loads on machines without a GPU and says in one line what is missing.
add_library(bert_cuda_device STATIC
  $<TARGET_OBJECTS:bert_cuda_host>
  ${bert_cuda_kernels}
  cuda/attention/cudnn_attention.cpp
  cuda/products/cublaslt_library.cpp
  cuda/products/cublaslt_matmul.cpp
  cuda/products/cublaslt_plan.cpp
  cuda/device/runtime.cpp
  cuda/device/shared_library.cpp
)
if(BB_HAVE_CUDNN)
  # cudnn-frontend is a large header, and what it does is done once a run: not worth its optimization.
  add_library(bert_cudnn_graph OBJECT cuda/attention/cudnn_graph.cpp)
  set_target_properties(bert_cudnn_graph PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(bert_cudnn_graph PRIVATE -O0)
  target_include_directories(bert_cudnn_graph SYSTEM PRIVATE ${CUDNN_FRONTEND_INCLUDE_DIR} ${CUDNN_INCLUDE_DIR}
                                                             ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(bert_cudnn_graph PRIVATE bert_model bb::warnings)
  target_sources(bert_cuda_device PRIVATE $<TARGET_OBJECTS:bert_cudnn_graph>)
else()
  target_sources(bert_cuda_device PRIVATE cuda/attention/no_cudnn_graph.cpp)
endif()
set_target_properties(bert_cuda_device PROPERTIES
  POSITION_INDEPENDENT_CODE ON
  CUDA_ARCHITECTURES "80-real;90"  # and PTX of the last for what comes later
  CUDA_STANDARD 20 CUDA_EXTENSIONS OFF)
target_compile_options(bert_cuda_device PRIVATE
  # Kernels call constexpr functions of the trainer (model/philox.h). A kernel that spills registers is an
  # error: its tiles were sized so that it does not.
  $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr -Xptxas=--warn-on-spills,--warning-as-error>)
target_link_libraries(bert_cuda_device
  PUBLIC bert_model CUDA::cudart_static
  PRIVATE fmt::fmt tl::expected ${CMAKE_DL_LIBS} bb::warnings)

bert_module(bert_cuda cuda/module.cpp)
target_link_libraries(bert_cuda PRIVATE bert_cuda_device)
