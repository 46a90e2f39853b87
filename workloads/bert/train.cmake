# bert_driver: everything of bert_train but main(). Modules (bert_cuda.so, bert_nccl.so,
# bert_mpi.so) are loaded at run time and are targets of their own.
find_package(fmt QUIET)
find_package(nlohmann_json QUIET)
find_package(tl-expected QUIET)
find_package(CLI11 QUIET)
foreach(library fmt::fmt nlohmann_json::nlohmann_json tl::expected CLI11::CLI11)
  if(NOT TARGET ${library})
    message(FATAL_ERROR "bert_train needs ${library}. On Debian or Ubuntu: apt-get install "
                        "libfmt-dev nlohmann-json3-dev libexpected-dev libcli11-dev")
  endif()
endforeach()

set_source_files_properties(train/version.cpp PROPERTIES
  COMPILE_DEFINITIONS "BERT_VERSION=\"${PROJECT_VERSION}\";BERT_COMPILER=\"${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}\""
  INCLUDE_DIRECTORIES ${CMAKE_BINARY_DIR}/generated)

# How ranks meet; modules have their own copy of it.
add_library(bert_rendezvous STATIC
  comm/rendezvous.cpp
  comm/socket.cpp
)
set_target_properties(bert_rendezvous PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_include_directories(bert_rendezvous PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(bert_rendezvous PUBLIC tl::expected Threads::Threads
                                      PRIVATE fmt::fmt bb::warnings)

add_library(bert_driver STATIC
  train/checkpoint.cpp
  core/launch_environment.cpp
  core/module.cpp
  train/options.cpp
  core/train_options.cpp
  train/state_exchange.cpp
  log/timings.cpp
  train/trainer.cpp
  train/version.cpp
  comm/bucket_planner.cpp
  comm/gradient_reducer.cpp
  comm/make_communicator.cpp
  comm/pair_probe.cpp
  comm/shm.cpp
  comm/sim.cpp
  data/answers.cpp
  data/batches.cpp
  data/examples.cpp
  data/sequence_source.cpp
  data/word_piece.cpp
  log/deepspeed.cpp
  log/dll_calls.cpp
  log/dllogger.cpp
  log/dllogger_json.cpp
  log/gluonnlp.cpp
  log/huggingface.cpp
  log/log_style.cpp
  log/megatron.cpp
  log/mlperf.cpp
  log/native.cpp
  log/text.cpp
  log/tf.cpp
  log/tqdm.cpp
)
add_dependencies(bert_driver bb_git_commit)
bb_unity(bert_driver)
# Also part of bert_cuda_host, with which tests link.
set_source_files_properties(comm/bucket_planner.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
# Read once a start: what the templates of its options cost to compile is not worth -O2.
set_source_files_properties(train/options.cpp PROPERTIES COMPILE_OPTIONS "${bb_quick_to_compile}")
target_link_libraries(bert_driver
  PUBLIC bert_core bert_rendezvous tl::expected
  PRIVATE fmt::fmt nlohmann_json::nlohmann_json CLI11::CLI11 Threads::Threads ${CMAKE_DL_LIBS}
          bb::warnings)
if(CUDAToolkit_FOUND)
  target_include_directories(bert_driver SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})  # NVTX
endif()
if(Gloo_FOUND)
  target_sources(bert_driver PRIVATE comm/tcp.cpp)
  target_link_libraries(bert_driver PRIVATE gloo)
  set_source_files_properties(comm/tcp.cpp PROPERTIES COMPILE_OPTIONS
    "-Wno-sign-compare;-Wno-shadow;-Wno-unused-parameter;-Wno-old-style-cast")
else()
  target_sources(bert_driver PRIVATE comm/tcp_absent.cpp)
endif()

add_executable(bert_train train/main.cpp)
# Modules resolve the types they share with the program (exceptions, vtables) against it.
set_target_properties(bert_train PROPERTIES ENABLE_EXPORTS ON)
target_link_libraries(bert_train PRIVATE bert_driver fmt::fmt bb::warnings)

# bert_module(<target> <source>...): a module named as core/module.cpp looks for it, next to the program.
function(bert_module target)
  add_library(${target} MODULE ${ARGN})
  set_target_properties(${target} PROPERTIES PREFIX "" SUFFIX ".so"
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE fmt::fmt tl::expected ${CMAKE_DL_LIBS} bb::warnings)
  add_dependencies(bert_train ${target})
  install(TARGETS ${target} LIBRARY DESTINATION bin)
endfunction()

# Needs neither NCCL nor CUDA to be built: both are loaded at run time.
if(NOT BB_NCCL STREQUAL "OFF")
  add_library(bert_nccl_library STATIC comm/nccl/library.cpp)
  set_target_properties(bert_nccl_library PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(bert_nccl_library PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(bert_nccl_library PUBLIC tl::expected ${CMAKE_DL_LIBS}
                                          PRIVATE fmt::fmt bb::warnings)
  bert_module(bert_nccl comm/nccl/communicator.cpp)
  target_link_libraries(bert_nccl PRIVATE bert_nccl_library bert_rendezvous)
  if(NCCL_INCLUDE_DIR AND CUDAToolkit_FOUND)
    target_sources(bert_nccl PRIVATE comm/nccl/abi_check.cpp)
    target_include_directories(bert_nccl SYSTEM PRIVATE ${NCCL_INCLUDE_DIR}
                                                        ${CUDAToolkit_INCLUDE_DIRS})
  endif()
endif()
if(BB_HAVE_MPI)
  bert_module(bert_mpi comm/mpi.cpp)
  target_link_libraries(bert_mpi PRIVATE MPI::MPI_CXX)
endif()
