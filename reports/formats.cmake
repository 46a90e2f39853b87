# The parts of bb_reports that render: included by reports/CMakeLists.txt after the target.
# A new report is one file reports/formats/<name>.cpp and its name in this list.
bb_registry(bb_reports KIND report TYPE Report HEADER reports/report.h NAMES
  json csv csv-trials markdown html dlperf dlperf-text junit)

target_sources(bb_reports PRIVATE
  render.cpp table.cpp present.cpp cell_table.cpp csv.cpp dlperf.cpp markup.cpp
  stats/flops.cpp stats/hardware.cpp stats/model_file.cpp)

# bb_embed(<target> <variable> <file>): the bytes of a file as `extern const char* const <variable>`
# of namespace bertbench. Editing the file configures again.
function(bb_embed target variable file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/embedded_${variable}.cpp @ONLY CONTENT
"// Generated from @file@; do not edit.
namespace bertbench {
extern const char* const @variable@;
const char* const @variable@ = R\"bb_text(@text@)bb_text\";
}  // namespace bertbench
")
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/embedded_${variable}.cpp)
endfunction()

bb_embed(bb_reports kHardwareJson ${PROJECT_SOURCE_DIR}/configs/hardware.json)

# The HTML report: its parts, and its style and script from files of their own.
target_sources(bb_reports PRIVATE
  html/headline.cpp html/iterations_plot.cpp html/scaling_plot.cpp html/svg.cpp
  html/trial_plots.cpp)
bb_embed(bb_reports kReportStyle ${CMAKE_CURRENT_SOURCE_DIR}/html/style.css)
bb_embed(bb_reports kReportScript ${CMAKE_CURRENT_SOURCE_DIR}/html/script.js)
# The page's security policy names the one script that may run, by its hash.
file(SHA256 ${CMAKE_CURRENT_SOURCE_DIR}/html/script.js script_hash)
target_compile_definitions(bb_reports PRIVATE BB_SCRIPT_SHA256="${script_hash}")
