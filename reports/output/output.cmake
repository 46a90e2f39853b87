# The parts of bb_report_output that are generated: included by reports/CMakeLists.txt after the targets.
# A new report is one file reports/output/formats/<name>.cpp and its name in this list.
bb_registry(bb_report_output KIND report TYPE Report HEADER reports/output/report.h SOURCE_DIR output/formats
  NAMES
  json csv csv-trials csv-iterations markdown html dlperf dlperf-text junit prometheus)

bb_embed(bb_reports kHardwareJson ${PROJECT_SOURCE_DIR}/configs/hardware.json)
bb_embed(bb_reports kWaiverSchema ${PROJECT_SOURCE_DIR}/configs/schema/waivers.schema.json)

# Style and scripts of the HTML report are files of their own.
bb_embed(bb_report_output kFigureStyle ${CMAKE_CURRENT_SOURCE_DIR}/output/plot/figure.css)
bb_embed(bb_report_output kReportStyle ${CMAKE_CURRENT_SOURCE_DIR}/output/html/style.css)
bb_embed(bb_report_output kPlotsScript ${CMAKE_CURRENT_SOURCE_DIR}/output/html/plots.js)
bb_embed(bb_report_output kTablesScript ${CMAKE_CURRENT_SOURCE_DIR}/output/html/tables.js)
