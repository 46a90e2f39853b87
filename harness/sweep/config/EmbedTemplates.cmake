# bb_embed_templates(<target>): generates templates.cpp from workloads/external/*.json.
function(bb_embed_templates target)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/workloads/external/*.json)
  set(entries "")
  foreach(file IN LISTS files)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(name ${file} NAME_WE)
    file(READ ${file} text)
    string(APPEND entries "    {\"${name}\", R\"bbjson(${text})bbjson\"},\n")
  endforeach()
  set(out ${CMAKE_CURRENT_BINARY_DIR}/templates.cpp)
  file(GENERATE OUTPUT ${out} CONTENT
"// Generated from workloads/external; do not edit.
#include \"harness/sweep/config/workload.h\"
#include <vector>
namespace bertbench {
std::span<const BuiltinTemplate> builtin_templates() {
  static const std::vector<BuiltinTemplate> all{
${entries}  };
  return all;
}
}  // namespace bertbench
")
  target_sources(${target} PRIVATE ${out})
endfunction()
