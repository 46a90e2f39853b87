# Tests of harness/sweep. fake_trainer stands in for bert_train where a trainer must misbehave.
if(NOT TARGET bb_sweep)
  return()
endif()
add_executable(fake_trainer ${PROJECT_SOURCE_DIR}/tests/fakes/fake_trainer.cpp)
target_link_libraries(fake_trainer PRIVATE bb::warnings)
set_target_properties(fake_trainer PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
