# Tests of harness/cli, and of the programs end to end.
if(TARGET bb_cli)
  bb_add_test(harness_cli_test
    SOURCES cli/audit_test.cpp cli/console_test.cpp cli/dlperf_tree_test.cpp cli/extract_test.cpp cli/follow_test.cpp cli/help_test.cpp cli/inputs_test.cpp cli/rank_logs_test.cpp
      cli/merge_test.cpp cli/metrics_test.cpp cli/output_guard_test.cpp cli/published_test.cpp cli/reconcile_test.cpp cli/restarts_test.cpp
      cli/archive_test.cpp cli/completion_test.cpp cli/result_view_test.cpp cli/results_test.cpp cli/usage_test.cpp
    LIBS bb::cli)
endif()

# The real programs, as users run them. One ctest test a file, so that a suite sweeps once and not
# once for each of its tests.
if(TARGET bertbench AND TARGET bert_train)
  foreach(name accuracy identity streams sweep)
    add_executable(e2e_${name}_test ../e2e/${name}_test.cpp)
    bb_test_program(e2e_${name}_test LIBS nlohmann_json::nlohmann_json)
    target_compile_definitions(e2e_${name}_test PRIVATE
      BB_BERTBENCH="$<TARGET_FILE:bertbench>" BB_BERT_TRAIN="$<TARGET_FILE:bert_train>")
    add_dependencies(e2e_${name}_test bertbench bert_train)
    add_test(NAME e2e.${name} COMMAND e2e_${name}_test)
    set_tests_properties(e2e.${name} PROPERTIES TIMEOUT 600 LABELS e2e)
  endforeach()
  # Trainers measure time: two of these at once would disturb each other.
  set_tests_properties(e2e.accuracy e2e.identity e2e.sweep PROPERTIES RUN_SERIAL TRUE)

  # With the daemons that it starts: sshd, and a Slurm of emulated nodes.
  add_executable(e2e_launchers_test ../e2e/launchers_test.cpp sweep/slurm_cluster.cpp
    sweep/ssh_server.cpp)
  bb_test_program(e2e_launchers_test LIBS bb::sweep bb::core)
  target_compile_definitions(e2e_launchers_test PRIVATE
    BB_BERTBENCH="$<TARGET_FILE:bertbench>" BB_BERT_TRAIN="$<TARGET_FILE:bert_train>"
    BB_FAKE_TRAINER="$<TARGET_FILE:fake_trainer>")
  add_dependencies(e2e_launchers_test bertbench bert_train fake_trainer)
  add_test(NAME e2e.launchers COMMAND e2e_launchers_test)
  set_tests_properties(e2e.launchers PROPERTIES TIMEOUT 900 LABELS "e2e;slurm"
    RESOURCE_LOCK cluster COST 120)
endif()

# The tutorial for a trainer of one's own: its commands, with a trainer in plain Python.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(TARGET bertbench AND Python3_Interpreter_FOUND)
  add_test(NAME e2e.own_trainer COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/e2e/own_trainer_test.py
    $<TARGET_FILE:bertbench> ${PROJECT_SOURCE_DIR})
  set_tests_properties(e2e.own_trainer PROPERTIES TIMEOUT 600 LABELS e2e RUN_SERIAL TRUE)
endif()

# Pages of docs/ whose commands run as they stand there. Those with a cluster start a Slurm of their own.
if(TARGET bertbench AND Python3_Interpreter_FOUND)
  foreach(page old_logs pull_request questions ranks to_slurm)
    add_test(NAME e2e.${page} COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/e2e/pages_test.py
      $<TARGET_FILE:bertbench> ${PROJECT_SOURCE_DIR} ${page}.md)
    set_tests_properties(e2e.${page} PROPERTIES TIMEOUT 600 LABELS e2e)
  endforeach()
  set_tests_properties(e2e.questions e2e.to_slurm PROPERTIES LABELS "e2e;slurm" RESOURCE_LOCK cluster)
  # A gate judges times.
  set_tests_properties(e2e.pull_request PROPERTIES RUN_SERIAL TRUE)
endif()

if(TARGET bertbench AND Python3_Interpreter_FOUND)
  add_test(NAME e2e.arrival COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/e2e/arrival_test.py
    $<TARGET_FILE:bertbench> ${PROJECT_SOURCE_DIR})
  set_tests_properties(e2e.arrival PROPERTIES TIMEOUT 600 LABELS e2e RUN_SERIAL TRUE)
endif()

if(TARGET bertbench AND TARGET bert_train AND Python3_Interpreter_FOUND)
  add_test(NAME e2e.goodput COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/e2e/goodput_test.py
    $<TARGET_FILE:bertbench> $<TARGET_FILE:bert_train>)
  set_tests_properties(e2e.goodput PROPERTIES TIMEOUT 600 LABELS e2e)
  add_test(NAME e2e.slow_ranks COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/e2e/slow_ranks_test.py
    $<TARGET_FILE:bertbench> $<TARGET_FILE:bert_train> ${PROJECT_SOURCE_DIR})
  set_tests_properties(e2e.slow_ranks PROPERTIES TIMEOUT 600 LABELS e2e)
  add_test(NAME e2e.replay_public COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/e2e/replay_public_test.py
    $<TARGET_FILE:bertbench> ${PROJECT_SOURCE_DIR})
  set_tests_properties(e2e.replay_public PROPERTIES TIMEOUT 600 LABELS e2e)
  add_test(NAME e2e.real_gates COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/e2e/real_gates_test.py
    $<TARGET_FILE:bertbench> ${PROJECT_SOURCE_DIR})
  set_tests_properties(e2e.real_gates PROPERTIES TIMEOUT 600 LABELS e2e)
endif()

# Peak memory over inputs that are large or hostile. Sanitizers keep memory of their own.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(TARGET bertbench AND Python3_Interpreter_FOUND AND NOT BB_SANITIZE)
  add_test(NAME cli.memory_table COMMAND ${Python3_EXECUTABLE}
    ${PROJECT_SOURCE_DIR}/scripts/memory_table --quick --build ${CMAKE_BINARY_DIR}
    --only "one line of words,Megatron,nested,bomb of log,window of,large files,totals only,followed log of rec")
  set_tests_properties(cli.memory_table PROPERTIES TIMEOUT 300 LABELS "e2e;memory")
endif()

if(TARGET bertbench AND Python3_Interpreter_FOUND)
  add_test(NAME e2e.wheel COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/e2e/wheel_test.py
    $<TARGET_FILE:bertbench> ${PROJECT_SOURCE_DIR})
  set_tests_properties(e2e.wheel PROPERTIES TIMEOUT 300 LABELS e2e SKIP_RETURN_CODE 77)
endif()
