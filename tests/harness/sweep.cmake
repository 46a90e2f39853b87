# Tests of harness/sweep. fake_trainer stands in for bert_train where a trainer must misbehave.
if(NOT TARGET bb_sweep)
  return()
endif()
add_executable(fake_trainer ${PROJECT_SOURCE_DIR}/tests/fakes/fake_trainer.cpp)
target_link_libraries(fake_trainer PRIVATE bb::warnings)
set_target_properties(fake_trainer PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

bb_add_test(sweep_test TIMEOUT 120 LIBS bb::sweep bb::reports bb::parsers bb::core SOURCES
  sweep/config_test.cpp sweep/faults_test.cpp sweep/journal_test.cpp sweep/machine_test.cpp
  sweep/plan_test.cpp sweep/process_test.cpp sweep/resume_test.cpp sweep/run_test.cpp)
target_compile_definitions(sweep_test PRIVATE BB_FAKE_TRAINER="$<TARGET_FILE:fake_trainer>")
add_dependencies(sweep_test fake_trainer)

# Launchers with the programs they call: each test says what is missing and skips.
bb_add_test(launchers_test TIMEOUT 300 LIBS bb::sweep bb::reports bb::parsers bb::core SOURCES
  sweep/launchers_mpi_test.cpp sweep/launchers_ssh_test.cpp sweep/ssh_server.cpp)
target_compile_definitions(launchers_test PRIVATE BB_FAKE_TRAINER="$<TARGET_FILE:fake_trainer>")
add_dependencies(launchers_test fake_trainer)

# Needs the real trainer: two ranks train for a few steps.
if(TARGET bert_train)
  bb_add_test(sweep_trainer_test TIMEOUT 900 LIBS bb::sweep bb::reports bb::parsers bb::core
    SOURCES sweep/trainer_test.cpp)
  target_compile_definitions(sweep_trainer_test PRIVATE
    BB_BERT_TRAIN="$<TARGET_FILE:bert_train>" BB_FAKE_TRAINER="$<TARGET_FILE:fake_trainer>")
  add_dependencies(sweep_trainer_test bert_train fake_trainer)
endif()
