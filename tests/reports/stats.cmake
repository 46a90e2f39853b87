# Statistics, measuring, result files, verdicts: included by CMakeLists.txt of this folder.
bb_add_test(stats_test
  SOURCES stats/arrival_clock_test.cpp stats/bar_clock_test.cpp stats/block_bootstrap_test.cpp stats/change_points_test.cpp stats/clock_test.cpp
          stats/mser_test.cpp
          stats/multiple_testing_test.cpp stats/pairs_test.cpp stats/periodic_test.cpp stats/power_test.cpp
          stats/rank_test_test.cpp stats/scaling_test.cpp stats/signed_rank_test.cpp
          stats/steady_state_test.cpp stats/stragglers_test.cpp stats/summary_test.cpp
          stats/window_test.cpp
  LIBS bb::reports)
bb_add_test(results_test
  SOURCES cells_test.cpp comparison_test.cpp deduced_facts_test.cpp expected_error_test.cpp identity_test.cpp measure_test.cpp memory_loss_test.cpp memory_text_test.cpp paired_test.cpp parts_test.cpp predict_test.cpp
          published_numbers_test.cpp ranks_test.cpp rate_notices_test.cpp reconcile_test.cpp restarts_test.cpp result_builder_test.cpp result_io_test.cpp
          series_shape_test.cpp stated_rate_test.cpp time_parts_test.cpp tool_windows_test.cpp
          shared_shift_test.cpp stability_test.cpp stopping_test.cpp summarize_test.cpp training_plan_test.cpp verdicts_test.cpp waivers_test.cpp
  LIBS bb::reports)
if(TARGET bb_store)
  bb_add_test(store_test SOURCES store_test.cpp LIBS bb::store Threads::Threads)
endif()
