# The parts of bb_reports that render: included by reports/CMakeLists.txt after the target.
# A new report is one file reports/formats/<name>.cpp and its name in this list.
bb_registry(bb_reports KIND report TYPE Report HEADER reports/report.h NAMES
  json csv csv-trials csv-iterations markdown html dlperf dlperf-text junit prometheus)

target_sources(bb_reports PRIVATE
  remarks.cpp render.cpp table.cpp present.cpp cell_table.cpp csv.cpp dlperf.cpp dlperf_lines.cpp dlperf_scripts.cpp markup.cpp
  stats/flops.cpp stats/hardware.cpp stats/model_file.cpp)

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

# Published values: a new page is one file configs/published/<name>.json and its name in this list.
set(published_names
  bing-bert dgx2-bert dlperf-mxnet dlperf-oneflow-insightface dlperf-paddle-resnet50 hf-notebook
  ngc-bert-pytorch)
set(published_declared "")
set(published_listed "")
foreach(name ${published_names})
  string(MAKE_C_IDENTIFIER ${name} id)
  bb_embed(bb_reports kPublished_${id} ${PROJECT_SOURCE_DIR}/configs/published/${name}.json)
  string(APPEND published_declared "extern const char* const kPublished_${id};\n")
  string(APPEND published_listed "    {\"${name}\", kPublished_${id}},\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/published_files.cpp @ONLY CONTENT
"// Generated from the list in reports/formats.cmake; do not edit.
#include <span>
namespace bertbench {
struct EmbeddedPublished {
  const char* name;
  const char* text;
};
@published_declared@
extern const std::span<const EmbeddedPublished> kPublishedFiles;
namespace {
const EmbeddedPublished kFiles[] = {
@published_listed@};
}  // namespace
const std::span<const EmbeddedPublished> kPublishedFiles{kFiles};
}  // namespace bertbench
")
target_sources(bb_reports PRIVATE
  published/beside.cpp published/published.cpp ${CMAKE_CURRENT_BINARY_DIR}/published_files.cpp)

# Plots: what they show, and how they are drawn.
target_sources(bb_reports PRIVATE
  comparison_table.cpp gate_reports.cpp iterations_file.cpp junit_xml.cpp trust.cpp plot/chart_data.cpp plot/figure.cpp plot/groups.cpp plot/heat.cpp plot/heat_svg.cpp plot/iterations.cpp plot/rows.cpp
  plot/scaling.cpp plot/svg.cpp plot/svg_parts.cpp plot/timeline.cpp)

# The HTML report: its parts, and its style and scripts from files of their own. The chart library
# is Debian's libjs-chart.js (Chart.js, MIT licence, named in the file's own first comment); without
# it the page has static plots only.
target_sources(bb_reports PRIVATE
  html/comparison.cpp html/headline.cpp html/heat.cpp html/page.cpp html/tables.cpp)
find_file(BB_CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js NO_DEFAULT_PATH
  DOC "Chart.js for interactive plots of the HTML report")
set(chart_library ${BB_CHART_JS})
if(NOT chart_library)
  message(STATUS "bertbench: no libjs-chart.js, the HTML report gets static plots only")
  set(chart_library ${CMAKE_CURRENT_BINARY_DIR}/no_chart_library.js)
  file(WRITE ${chart_library} "")
endif()
bb_embed(bb_reports kFigureStyle ${CMAKE_CURRENT_SOURCE_DIR}/plot/figure.css)
bb_embed(bb_reports kReportStyle ${CMAKE_CURRENT_SOURCE_DIR}/html/style.css)
bb_embed(bb_reports kHeatScript ${CMAKE_CURRENT_SOURCE_DIR}/html/heat.js)
bb_embed(bb_reports kTablesScript ${CMAKE_CURRENT_SOURCE_DIR}/html/tables.js)
bb_embed(bb_reports kChartsScript ${CMAKE_CURRENT_SOURCE_DIR}/html/charts.js)
bb_embed(bb_reports kChartLibrary ${chart_library})
