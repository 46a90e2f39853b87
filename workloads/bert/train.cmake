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

set_source_files_properties(version.cpp PROPERTIES
  COMPILE_DEFINITIONS "BERT_VERSION=\"${PROJECT_VERSION}\";BERT_COMPILER=\"${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}\""
  INCLUDE_DIRECTORIES ${CMAKE_BINARY_DIR}/generated)

add_library(bert_driver STATIC
  checkpoint.cpp
  launch_environment.cpp
  module.cpp
  options.cpp
  run.cpp
  schedule.cpp
  signals.cpp
  timings.cpp
  trainer.cpp
  version.cpp
  comm/bucket_planner.cpp
  comm/gradient_reducer.cpp
  comm/make_communicator.cpp
  comm/sim.cpp
  comm/socket.cpp
  comm/tcp_store.cpp
  comm/tcp_store_server.cpp
  data/batches.cpp
  data/synthetic.cpp
  data/token_file.cpp
  log_styles/log_styles.cpp
  log_styles/native.cpp
  log_styles/text.cpp
  log_styles/tf.cpp
  log_styles/tqdm.cpp
  log_styles/tqdm_bar.cpp
)
add_dependencies(bert_driver bb_git_commit)
target_link_libraries(bert_driver
  PUBLIC bert_core tl::expected
  PRIVATE fmt::fmt nlohmann_json::nlohmann_json CLI11::CLI11 Threads::Threads ${CMAKE_DL_LIBS}
          bb::warnings)
if(Gloo_FOUND)
  target_sources(bert_driver PRIVATE comm/tcp.cpp)
  target_link_libraries(bert_driver PRIVATE gloo)
  set_source_files_properties(comm/tcp.cpp PROPERTIES COMPILE_OPTIONS
    "-Wno-sign-compare;-Wno-shadow;-Wno-unused-parameter;-Wno-old-style-cast")
else()
  target_sources(bert_driver PRIVATE comm/tcp_absent.cpp)
endif()

add_executable(bert_train main.cpp)
# Modules resolve the types they share with the program (exceptions, vtables) against it.
set_target_properties(bert_train PROPERTIES ENABLE_EXPORTS ON)
target_link_libraries(bert_train PRIVATE bert_driver bb::warnings)

if(BB_HAVE_MPI)
  add_library(bert_mpi MODULE comm/mpi.cpp)
  # Named as module.cpp looks for it, beside the program.
  set_target_properties(bert_mpi PROPERTIES PREFIX "" SUFFIX ".so"
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  target_include_directories(bert_mpi PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(bert_mpi PRIVATE MPI::MPI_CXX fmt::fmt tl::expected ${CMAKE_DL_LIBS}
                        bb::warnings)
  add_dependencies(bert_train bert_mpi)
  install(TARGETS bert_mpi LIBRARY DESTINATION bin)
endif()
