# The parts of bb_report_output that are generated: included by reports/CMakeLists.txt after the targets.
# A new report is one file reports/output/formats/<name>.cpp and its name in this list.
bb_registry(bb_report_output KIND report TYPE Report HEADER reports/output/report.h SOURCE_DIR output/formats
  NAMES
  json csv csv-trials csv-iterations markdown html dlperf dlperf-text junit prometheus)

# bb_embed(<target> <variable> <file>): the bytes of a file as `extern const char* const <variable>`
# of namespace bertbench, and their SHA-256 as <variable>Sha256. Editing the file configures again.
function(bb_embed target variable file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  file(SHA256 ${file} hash)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/embedded_${variable}.cpp @ONLY CONTENT
"// Generated from @file@; do not edit.
namespace bertbench {
extern const char* const @variable@;
extern const char* const @variable@Sha256;
const char* const @variable@ = R\"bb_text(@text@)bb_text\";
const char* const @variable@Sha256 = \"@hash@\";
}  // namespace bertbench
")
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/embedded_${variable}.cpp)
endfunction()

bb_embed(bb_reports kHardwareJson ${PROJECT_SOURCE_DIR}/configs/hardware.json)

# Style and scripts of the HTML report are files of their own.
bb_embed(bb_report_output kFigureStyle ${CMAKE_CURRENT_SOURCE_DIR}/output/plot/figure.css)
bb_embed(bb_report_output kReportStyle ${CMAKE_CURRENT_SOURCE_DIR}/output/html/style.css)
bb_embed(bb_report_output kPlotsScript ${CMAKE_CURRENT_SOURCE_DIR}/output/html/plots.js)
bb_embed(bb_report_output kTablesScript ${CMAKE_CURRENT_SOURCE_DIR}/output/html/tables.js)
