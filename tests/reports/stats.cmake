# Statistics, measuring, result files, verdicts: included by CMakeLists.txt of this folder.
bb_add_test(stats_test
  SOURCES stats/clock_test.cpp stats/mser_test.cpp stats/multiple_testing_test.cpp
          stats/rank_test_test.cpp stats/scaling_test.cpp stats/summary_test.cpp
          stats/window_test.cpp
  LIBS bb::reports)
