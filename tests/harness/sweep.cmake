# Tests of harness/sweep. fake_trainer stands in for bert_train where a trainer must misbehave.
if(NOT TARGET bb_sweep)
  return()
endif()
add_executable(fake_trainer ${PROJECT_SOURCE_DIR}/tests/fakes/fake_trainer.cpp)
target_link_libraries(fake_trainer PRIVATE bb::warnings)
set_target_properties(fake_trainer PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

# Preloaded into bertbench by scripts/fault_table: the Nth call of a function fails.
add_library(fault_calls SHARED ${PROJECT_SOURCE_DIR}/tests/fakes/fault_calls.cpp)
target_link_libraries(fault_calls PRIVATE ${CMAKE_DL_LIBS} bb::warnings)
set_target_properties(fault_calls PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

bb_add_test(sweep_test TIMEOUT 120 LOCK fake_trainer LIBS bb::sweep bb::reports bb::parsers bb::core SOURCES
  sweep/attempt_end_test.cpp sweep/attempt_queue_test.cpp sweep/command_test.cpp sweep/config_test.cpp sweep/hooks_test.cpp sweep/faults_test.cpp sweep/forecast_test.cpp sweep/identity_test.cpp sweep/journal_test.cpp
  sweep/log_watch_test.cpp sweep/machine_test.cpp
  sweep/node_telemetry_test.cpp sweep/phases_test.cpp sweep/plan_test.cpp sweep/preflight_test.cpp sweep/process_test.cpp sweep/measured_outcome_test.cpp sweep/resume_test.cpp sweep/secrets_test.cpp sweep/own_logs_test.cpp sweep/run_test.cpp
  sweep/scaling_test.cpp sweep/seed_lines_test.cpp sweep/templates_test.cpp sweep/variants_test.cpp)
target_compile_definitions(sweep_test PRIVATE BB_FAKE_TRAINER="$<TARGET_FILE:fake_trainer>")
add_dependencies(sweep_test fake_trainer)

# Launchers with the programs they call: each test names what is missing and is skipped.
set(with_cluster "SlurmLauncher.*:*/slurm")
bb_add_test(launchers_test TIMEOUT 600 FILTER "-${with_cluster}" LIBS bb::cli bb::sweep bb::reports bb::parsers bb::core fmt::fmt
  SOURCES sweep/launchers_injection_test.cpp sweep/launchers_mpi_test.cpp sweep/launchers_slurm_test.cpp
    sweep/launchers_ssh_test.cpp sweep/slurm_cluster.cpp sweep/ssh_server.cpp)
target_compile_definitions(launchers_test PRIVATE BB_FAKE_TRAINER="$<TARGET_FILE:fake_trainer>")
add_dependencies(launchers_test fake_trainer)
if(TARGET bertbench)
  target_compile_definitions(launchers_test PRIVATE BB_BERTBENCH="$<TARGET_FILE:bertbench>")
  add_dependencies(launchers_test bertbench)
endif()
# With a Slurm of emulated nodes, which takes long to start: one ctest test, in scripts/test --all. Daemons wait
# more than they compute: other tests run next to it, but no other emulated cluster.
add_test(NAME slurm_test COMMAND launchers_test --gtest_filter=${with_cluster})
set_tests_properties(slurm_test PROPERTIES TIMEOUT 1200 LABELS slurm RESOURCE_LOCK cluster COST 300)

# Needs the real trainer: two ranks train for a few steps.
if(TARGET bert_train)
  bb_add_test(sweep_trainer_test TIMEOUT 900 LOCK fake_trainer LIBS bb::sweep bb::reports bb::parsers bb::core
    SOURCES sweep/trainer_test.cpp)
  target_compile_definitions(sweep_trainer_test PRIVATE
    BB_BERT_TRAIN="$<TARGET_FILE:bert_train>" BB_FAKE_TRAINER="$<TARGET_FILE:fake_trainer>")
  add_dependencies(sweep_trainer_test bert_train fake_trainer)
endif()

# A sample of every fault (docs/durability.md), with the real program and real processes.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(TARGET bertbench AND Python3_Interpreter_FOUND)
  foreach(group trainer harness kills calls remote)
    add_test(NAME faults.${group} COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/fault_table
      --quick --groups ${group} --build ${CMAKE_BINARY_DIR})
    set_tests_properties(faults.${group} PROPERTIES TIMEOUT 600 LABELS "e2e" COST 30)
  endforeach()
  set_tests_properties(faults.remote PROPERTIES RESOURCE_LOCK cluster)
endif()

# What the harness costs, against its bounds (scripts/sweep_cost). No test: it measures time.
if(TARGET bertbench)
  add_executable(sweep_cost ${PROJECT_SOURCE_DIR}/tests/cost/sweep_cost.cpp)
  target_link_libraries(sweep_cost PRIVATE bb::sweep bb::core fmt::fmt bb::warnings)
  target_include_directories(sweep_cost PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(sweep_cost PRIVATE BB_BERTBENCH="$<TARGET_FILE:bertbench>"
    BB_FAKE_TRAINER="$<TARGET_FILE:fake_trainer>")
  set_target_properties(sweep_cost PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_dependencies(sweep_cost bertbench fake_trainer)
endif()

# The yardstick of scripts/scan_speed, for `cmake --build ... --target hyperscan_literals` where
# libhyperscan-dev is installed.
pkg_check_modules(hyperscan QUIET IMPORTED_TARGET libhs)
if(hyperscan_FOUND)
  add_executable(hyperscan_literals EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/cost/hyperscan_literals.cpp)
  target_link_libraries(hyperscan_literals PRIVATE PkgConfig::hyperscan bb::warnings)
  set_target_properties(hyperscan_literals PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endif()

# Telemetry, batch search, adaptive trials, confirmation. fake_nvml is loaded as the driver's library
# would be; what it reports is simulated.
if(TARGET bb_cli)
  add_library(fake_nvml SHARED ${PROJECT_SOURCE_DIR}/tests/fakes/fake_nvml.cpp)
  target_link_libraries(fake_nvml PRIVATE bb::warnings)
  set_target_properties(fake_nvml PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  bb_add_test(sweep_control_test TIMEOUT 300 LOCK fake_trainer LIBS bb::cli bb::sweep bb::reports bb::parsers bb::core
    SOURCES sweep/batch_search_test.cpp sweep/confirm_test.cpp sweep/telemetry_test.cpp)
  target_compile_definitions(sweep_control_test PRIVATE BB_FAKE_TRAINER="$<TARGET_FILE:fake_trainer>"
    BB_FAKE_NVML="$<TARGET_FILE:fake_nvml>")
  add_dependencies(sweep_control_test fake_trainer fake_nvml)
endif()
