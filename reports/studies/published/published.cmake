# Published values: a new page is one file configs/published/<name>.json and its name in this list.
set(published_names
  bing-bert dgx2-bert dlperf-mxnet dlperf-oneflow-insightface dlperf-paddle-resnet50 hf-notebook
  ngc-bert-pytorch)
set(published_declared "")
set(published_listed "")
foreach(name ${published_names})
  string(MAKE_C_IDENTIFIER ${name} id)
  bb_embed(bb_report_output kPublished_${id} ${PROJECT_SOURCE_DIR}/configs/published/${name}.json)
  string(APPEND published_declared "extern const char* const kPublished_${id};\n")
  string(APPEND published_listed "    {\"${name}\", kPublished_${id}},\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/published_files.cpp @ONLY CONTENT
"// Generated from the list in reports/studies/published/published.cmake; do not edit.
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
target_sources(bb_report_output PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/published_files.cpp)
