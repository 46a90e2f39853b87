# ThreadSanitizer does not see the barriers of libgomp and calls every parallel loop a race.
if(BB_SANITIZE MATCHES thread)
  return()
endif()

bb_add_test(bert_compute_test
  SOURCES backend_test.cpp every_backend_test.cpp gpt2_test.cpp gradients_test.cpp kernels_test.cpp
          optimizer_test.cpp precision_test.cpp tested_cpu_backend.cpp
  LIBS bert_core bert_reference LABELS workloads TIMEOUT 120)

# A program of its own: it counts what operator new is asked for.
bb_add_test(bert_allocation_test SOURCES allocation_test.cpp
  LIBS bert_core LABELS workloads TIMEOUT 120)

# The whole backend again with the kernels that older processors get.
foreach(isa IN ITEMS sse2 avx2)
  gtest_discover_tests(bert_compute_test TEST_PREFIX ${isa}. TEST_FILTER CpuBackend.* DISCOVERY_MODE PRE_TEST
    PROPERTIES ENVIRONMENT BERT_ISA=${isa} LABELS workloads TIMEOUT 120)
endforeach()

# The comparison script, small, with an interpreter that has no torch (-S -I hide site packages):
# our column is measured and the other says why it is empty.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(TARGET step_bench AND Python3_Interpreter_FOUND)
  add_test(NAME compare_pytorch.skips_with_a_reason_without_torch
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/compare_pytorch
            --build $<TARGET_FILE_DIR:step_bench> --rounds 1 --seconds 0.1 bert-tiny/128
            --python ${CMAKE_CURRENT_SOURCE_DIR}/oracle/python_without_torch)
  set_tests_properties(compare_pytorch.skips_with_a_reason_without_torch PROPERTIES
    LABELS workloads TIMEOUT 120
    PASS_REGULAR_EXPRESSION
      "fp32 . bert_train . [0-9.]+ .*PyTorch was skipped: .*No module named")
endif()
