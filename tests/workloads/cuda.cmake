# The CUDA backend on an emulated device: the kernels' own source compiled as C++, every CUDA thread
# a fiber. Nothing of it is offered to users.
find_package(fmt QUIET)
find_package(tl-expected QUIET)
if(NOT BB_SANITIZE MATCHES thread)  # fibers are not threads to ThreadSanitizer
  get_property(cuda_kernels GLOBAL PROPERTY bert_cuda_kernels)
  set(cuda ${PROJECT_SOURCE_DIR}/workloads/bert/cuda)
  # A vector at an address that is no multiple of its size, a fault on a device, is one here too.
  set_source_files_properties(${cuda_kernels} PROPERTIES LANGUAGE CXX
    COMPILE_OPTIONS "-fsanitize=alignment;-fsanitize-undefined-trap-on-error")
  # A fifth of the time of bert_cuda_test is one loop over columns, which -O2 does not vectorise; the order of
  # its sums stays.
  set_source_files_properties(${cuda}/products/emulated_matmul.cpp ${cuda}/attention/emulated_attention.cpp
    PROPERTIES COMPILE_OPTIONS -O3)
  add_library(bert_cuda_emulated STATIC EXCLUDE_FROM_ALL
    $<TARGET_OBJECTS:bert_cuda_host>
    ${cuda_kernels} ${cuda}/emulated/device.cpp ${cuda}/device/emulated_memory.cpp
    ${cuda}/device/emulated_runtime.cpp ${cuda}/products/emulated_matmul.cpp ${cuda}/attention/emulated_attention.cpp)
  set_target_properties(bert_cuda_emulated PROPERTIES POSITION_INDEPENDENT_CODE ON)
  # nvcc's unroll pragmas mean nothing to g++.
  target_compile_options(bert_cuda_emulated PUBLIC -Wno-unknown-pragmas)
  # Tests instantiate device code themselves, in loops: with their -O0 they took twice as long.
  target_compile_options(bert_cuda_emulated INTERFACE -O1)
  target_link_libraries(bert_cuda_emulated PUBLIC bert_model fmt::fmt PRIVATE bb::warnings)

  bb_add_test(bert_cuda_test
    SOURCES cuda/backend_test.cpp cuda/fp8_test.cpp cuda/graph_test.cpp cuda/kernels_test.cpp cuda/library_attention_test.cpp
            cuda/matmul_test.cpp cuda/norm_test.cpp
            cuda/planner_test.cpp cuda/order_test.cpp cuda/step_test.cpp cuda/tested_cuda_backend.cpp
            cuda/zero_test.cpp every_backend_test.cpp
    LIBS bert_cuda_emulated bert_core bert_reference LABELS workloads TIMEOUT 120)
  if(TARGET bert_driver AND TARGET DNNL::dnnl)
    target_sources(bert_cuda_test PRIVATE cuda/checkpoint_test.cpp)
    target_link_libraries(bert_cuda_test PRIVATE bert_driver)
  endif()
endif()

if(TARGET bert_cuda_emulated)
  # Streams that run late and in any order that events allow.
  bb_add_test(bert_cuda_late_test
    SOURCES cuda/late_test.cpp cuda/upload_test.cpp cuda/late_runtime.cpp
    LIBS bert_cuda_emulated bert_core bert_reference LABELS workloads TIMEOUT 300)
endif()
if(TARGET bert_cuda AND TARGET bert_cuda_emulated)
  # The cuBLASLt code on the emulated device: with its header, without the library.
  bb_add_test(bert_cublaslt_test
    SOURCES cuda/epilogue_test.cpp fakes/fake_cublaslt.cpp
            ${PROJECT_SOURCE_DIR}/workloads/bert/cuda/products/cublaslt_matmul.cpp
            ${PROJECT_SOURCE_DIR}/workloads/bert/cuda/products/cublaslt_plan.cpp
    LIBS bert_cuda_emulated bert_core bert_reference LABELS workloads TIMEOUT 120)
  # Two of its sources include CUDA's types, the others the emulated device's.
  set_target_properties(bert_cublaslt_test PROPERTIES UNITY_BUILD OFF)
  # And with the library, as far as it goes without a device.
  bb_add_test(bert_cublaslt_library_test
    SOURCES cuda/cublaslt_library_test.cpp
            ${PROJECT_SOURCE_DIR}/workloads/bert/cuda/device/shared_library.cpp
            ${PROJECT_SOURCE_DIR}/workloads/bert/cuda/products/cublaslt_library.cpp
            ${PROJECT_SOURCE_DIR}/workloads/bert/cuda/products/cublaslt_plan.cpp
    LIBS bert_cuda_emulated ${CMAKE_DL_LIBS} LABELS workloads TIMEOUT 60)
  foreach(test bert_cublaslt_test bert_cublaslt_library_test)
    target_include_directories(${test} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  endforeach()
endif()

if(TARGET bert_cuda_emulated)
  # Every benchmark of the device's kernels runs once: its shapes, layouts and scratch are right.
  if(TARGET bert_nccl_ranks)
    find_package(benchmark QUIET)
    add_executable(cuda_bench_emulated ${PROJECT_SOURCE_DIR}/workloads/kernels/cuda_bench.cpp)
    target_link_libraries(cuda_bench_emulated PRIVATE bert_nccl_ranks bert_cuda_emulated bert_core
                                                      benchmark::benchmark bb::warnings)
    set(bench cuda_bench_emulated --model bert-tiny --sequences 2 --length 64
              --benchmark_min_time=0.000001)
    add_test(NAME bert_cuda.bench_on_the_emulated_device
      COMMAND ${bench} --benchmark_filter=-all_reduce)
    set_tests_properties(bert_cuda.bench_on_the_emulated_device PROPERTIES
      LABELS workloads TIMEOUT 120 PASS_REGULAR_EXPRESSION "product/output/weight_gradient/fp8")
    if(TARGET bert_nccl)
      # All-reduces over the stand-ins for NCCL and the driver, and without an NCCL.
      add_dependencies(cuda_bench_emulated bert_nccl fake_cuda fake_nccl)
      add_test(NAME bert_cuda.bench_of_all_reduces_over_two_ranks
        COMMAND ${bench} --ranks 2 --benchmark_filter=all_reduce)
      set_tests_properties(bert_cuda.bench_of_all_reduces_over_two_ranks PROPERTIES
        LABELS workloads TIMEOUT 120 ENVIRONMENT
        "BERT_CUDA_DRIVER=$<TARGET_FILE:fake_cuda>;BERT_NCCL_LIBRARY=$<TARGET_FILE:fake_nccl>;FAKE_NCCL_ANY_POINTER=1"
        PASS_REGULAR_EXPRESSION "all_reduce/8_MiB.* us .*all_reduce/all_gradients.* us "
        FAIL_REGULAR_EXPRESSION "ERROR")
      add_test(NAME bert_cuda.bench_of_all_reduces_skips_with_the_reason
        COMMAND ${bench} --benchmark_filter=all_reduce)
      set_tests_properties(bert_cuda.bench_of_all_reduces_skips_with_the_reason PROPERTIES
        LABELS workloads TIMEOUT 120 ENVIRONMENT
        "BERT_CUDA_DRIVER=$<TARGET_FILE:fake_cuda>;BERT_NCCL_LIBRARY=/no/libnccl.so"
        PASS_REGULAR_EXPRESSION "ERROR OCCURRED: '/no/libnccl.so.*install NCCL 2.14")
    endif()
  endif()
endif()
if(TARGET bert_cuda)
  # The same tests of the backend on a real device.
  bb_add_test(bert_cuda_gpu_test SERIAL
    SOURCES cuda/backend_test.cpp cuda/graph_test.cpp cuda/library_attention_test.cpp cuda/step_test.cpp
            cuda/tested_cuda_backend.cpp every_backend_test.cpp
    LIBS bert_cuda_device bert_core bert_reference LABELS gpu TIMEOUT 300)
  target_compile_definitions(bert_cuda_gpu_test PRIVATE BERT_REAL_DEVICE)

  # What the compiler made of the kernels, against a table; skipped without a disassembler.
  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(Python3_Interpreter_FOUND)
    add_test(NAME bert_cuda.machine_code COMMAND ${Python3_EXECUTABLE}
      ${CMAKE_CURRENT_SOURCE_DIR}/cuda/machine_code.py $<TARGET_FILE:bert_cuda> --nvcc ${CMAKE_CUDA_COMPILER})
    set_tests_properties(bert_cuda.machine_code PROPERTIES
      LABELS workloads TIMEOUT 120 SKIP_RETURN_CODE 77)
  endif()

  # Without a device: status 3 and one line.
  add_test(NAME bert_cuda.says_in_one_line_that_there_is_no_device
    COMMAND sh -c "said=$(CUDA_VISIBLE_DEVICES= \"$0\" --backend cuda --steps 1 2>&1); test $? -eq 3 || exit 1
                   test $(echo \"$said\" | wc -l) -eq 1 && echo \"$said\" | grep 'no CUDA device can be used'"
            $<TARGET_FILE:bert_train>)
  set_tests_properties(bert_cuda.says_in_one_line_that_there_is_no_device PROPERTIES
    LABELS workloads TIMEOUT 60)
endif()

# tests/gpu/run from a kit and without a device: every stage, on the emulated one.
find_program(BASH_PROGRAM bash)
if(BASH_PROGRAM AND TARGET bert_cuda_emulated AND TARGET bert_nccl AND TARGET bertbench AND NOT BB_SANITIZE)
  add_library(bert_cuda_rehearsed MODULE cuda/emulated_module.cpp)
  set_target_properties(bert_cuda_rehearsed PROPERTIES PREFIX "" OUTPUT_NAME bert_cuda
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/rehearsal)
  target_link_libraries(bert_cuda_rehearsed PRIVATE bert_cuda_emulated tl::expected bb::warnings)
  add_test(NAME gpu_script.rehearsal
    COMMAND ${BASH_PROGRAM} ${PROJECT_SOURCE_DIR}/tests/gpu/rehearse ${CMAKE_BINARY_DIR})
  # One process after the other, two minutes long: early, so that it is not what all wait for at the end.
  set_tests_properties(gpu_script.rehearsal PROPERTIES
    LABELS workloads TIMEOUT 1800 SKIP_RETURN_CODE 77 COST 200)
endif()

# A step predicted from the table of machine code; needs neither nvcc nor a device.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_Interpreter_FOUND)
  add_test(NAME gpu_script.predicts_a_step
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/gpu/predict_step_test.py)
  set_tests_properties(gpu_script.predicts_a_step PROPERTIES LABELS workloads TIMEOUT 300)
endif()
