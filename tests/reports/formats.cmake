# Tests of what renders: FLOP accounting, hardware peaks, tables, and every output format.
bb_add_test(reports_formats_test
  SOURCES assumptions_test.cpp confirm_test.cpp csv_test.cpp dlperf_scripts_test.cpp dlperf_test.cpp flops_test.cpp formats_test.cpp gate_reports_test.cpp
          hardware_test.cpp heat_test.cpp hostile_test.cpp
          plot_test.cpp remarks_test.cpp render_test.cpp table_test.cpp result_checks_test.cpp stated_values_test.cpp
  LIBS bb::reports nlohmann_json::nlohmann_json)
bb_add_test(convergence_test SOURCES convergence_test.cpp LIBS bb::convergence)
if(TARGET bb_goodput)
  bb_add_test(goodput_test SOURCES goodput_test.cpp LIBS bb::goodput)
endif()
