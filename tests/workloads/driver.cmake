# Tests of the driver: unit tests against the library, and runs of the real bert_train.
if(TARGET bert_driver)
  find_package(fmt QUIET)
  find_package(nlohmann_json QUIET)
  find_package(tl-expected QUIET)
  bb_add_test(driver_test LABELS workloads TIMEOUT 300
    SOURCES
      driver/comm_test.cpp
      driver/data_test.cpp
      driver/launch_environment_test.cpp
      driver/process.cpp
      driver/program_test.cpp
      driver/styles_test.cpp
      driver/tqdm_test.cpp
      driver/trainer_test.cpp
    LIBS bert_driver fmt::fmt nlohmann_json::nlohmann_json)
  target_compile_definitions(driver_test PRIVATE BERT_TRAIN="$<TARGET_FILE:bert_train>")
  add_dependencies(driver_test bert_train)
endif()
