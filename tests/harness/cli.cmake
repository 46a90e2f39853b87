# Tests of harness/cli, and of the programs end to end.
if(TARGET bb_cli)
  bb_add_test(harness_cli_test
    SOURCES cli/console_test.cpp cli/extract_test.cpp cli/help_test.cpp cli/inputs_test.cpp
      cli/results_test.cpp cli/usage_test.cpp
    LIBS bb::cli)
endif()
