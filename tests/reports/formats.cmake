# Tests of what renders: FLOP accounting, hardware peaks, tables, and every output format.
bb_add_test(reports_formats_test
  SOURCES flops_test.cpp hardware_test.cpp
  LIBS bb::reports nlohmann_json::nlohmann_json)
