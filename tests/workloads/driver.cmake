# Tests of the driver: unit tests against the library, and runs of the real bert_train.
if(TARGET bert_driver)
  find_package(fmt QUIET)
  find_package(nlohmann_json QUIET)
  find_package(tl-expected QUIET)
  bb_add_test(driver_test LABELS workloads TIMEOUT 300
    SOURCES
      driver/comm_test.cpp
      driver/data_test.cpp
      driver/device_seam_test.cpp
      driver/launch_environment_test.cpp
      driver/options_test.cpp
      driver/process.cpp
      driver/program_test.cpp
      driver/styles_test.cpp
      driver/text_data_test.cpp
      driver/tqdm_test.cpp
      driver/trainer_test.cpp
    LIBS bert_driver fmt::fmt nlohmann_json::nlohmann_json)
  target_compile_definitions(driver_test PRIVATE BERT_TRAIN="$<TARGET_FILE:bert_train>")
  add_dependencies(driver_test bert_train)
  # The mpirun of the library that the module was built with, of Open MPI: the test speaks its options.
  if(TARGET bert_mpi AND MPIEXEC_EXECUTABLE)
    execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE mpi_version ERROR_QUIET)
    if(mpi_version MATCHES "Open MPI|OpenRTE")
      bb_add_test(mpi_test SERIAL LABELS workloads TIMEOUT 300
        SOURCES driver/mpi_test.cpp driver/process.cpp
        LIBS bert_driver fmt::fmt nlohmann_json::nlohmann_json)
      target_compile_definitions(mpi_test PRIVATE
        BERT_TRAIN="$<TARGET_FILE:bert_train>" BERT_MPIRUN="${MPIEXEC_EXECUTABLE}")
      add_dependencies(mpi_test bert_train bert_mpi)
    else()
      message(STATUS "mpi_test is left out: ${MPIEXEC_EXECUTABLE} is not of Open MPI")
    endif()
  else()
    message(STATUS "mpi_test is left out: no MPI (Debian: libopenmpi-dev openmpi-bin)")
  endif()
  # For tests/gpu: the batches of bert_train, for PyTorch.
  add_executable(bert_dump_batch ${PROJECT_SOURCE_DIR}/tests/gpu/dump_batch.cpp)
  target_link_libraries(bert_dump_batch PRIVATE bert_driver nlohmann_json::nlohmann_json
                                                bb::warnings)
  # The script of the GPU machine, where there is none: every stage says so, and a report is left.
  find_program(BASH_PROGRAM bash)
  find_program(NVIDIA_SMI nvidia-smi)
  if(BASH_PROGRAM AND NOT NVIDIA_SMI)
    add_test(NAME gpu_script.says_that_there_is_no_gpu
      COMMAND ${BASH_PROGRAM} -c "said=$(\"$0\" --out \"$1\" --stages nccl,sweep 2>&1 >\"$1.out\"); test $? -eq 3 &&
                 test \"$said\" = 'run: no GPU: nvidia-smi shows none; only stages without one run, exit status 3' &&
                 test $(grep -c 'skipped.*no GPU' \"$1/report.md\") -eq 2 && tar -tzf \"$1/results.tar.gz\" | grep -q nccl.log"
              ${PROJECT_SOURCE_DIR}/tests/gpu/run ${CMAKE_CURRENT_BINARY_DIR}/gpu_script)
    set_tests_properties(gpu_script.says_that_there_is_no_gpu PROPERTIES
      LABELS workloads TIMEOUT 120)
  endif()
  if(TARGET bert_nccl)
    foreach(fake fake_cuda fake_nccl)
      add_library(${fake} MODULE fakes/${fake}.cpp)
      target_include_directories(${fake} PRIVATE ${PROJECT_SOURCE_DIR})
      target_link_libraries(${fake} PRIVATE Threads::Threads rt ${CMAKE_DL_LIBS} bb::warnings)
    endforeach()
    bb_add_test(nccl_test LABELS workloads TIMEOUT 300
      SOURCES driver/nccl_test.cpp driver/process.cpp
      LIBS bert_driver bert_nccl_library fmt::fmt nlohmann_json::nlohmann_json)
    target_compile_definitions(nccl_test PRIVATE BERT_TRAIN="$<TARGET_FILE:bert_train>"
      BERT_NCCL_MODULE="$<TARGET_FILE:bert_nccl>" FAKE_CUDA="$<TARGET_FILE:fake_cuda>"
      FAKE_NCCL="$<TARGET_FILE:fake_nccl>")
    add_dependencies(nccl_test bert_train bert_nccl fake_cuda fake_nccl)
  endif()
endif()
