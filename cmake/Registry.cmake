# bb_registry(<target> KIND <kind> TYPE <type> HEADER <header> NAMES <name>... [MADE <name>...])
#
# The list of plug-ins of one kind. Adds formats/<name>.cpp style sources (SOURCE_DIR, default
# "formats") to <target>, or formats/<folder>/<name>.cpp for a name "<folder>/<name>",
# and generates <kind>_table.cpp with
#   extern const <type> <kind>_<name>::entry;  and  std::span<const <type>* const> all_<kind>s();
# in list order, then those of MADE, whose sources the caller adds. An array of addresses is used,
# not self-registration: the linker drops unreferenced objects of static libraries, and their order
# would be unknown.
function(bb_registry target)
  cmake_parse_arguments(ARG "" "KIND;TYPE;HEADER;SOURCE_DIR" "NAMES;MADE" ${ARGN})
  if(NOT ARG_SOURCE_DIR)
    set(ARG_SOURCE_DIR formats)
  endif()
  set(externs "")
  set(entries "")
  foreach(name IN LISTS ARG_NAMES ARG_MADE)
    string(REPLACE "-" "_" file ${name})
    get_filename_component(ident ${file} NAME)
    if(NOT name IN_LIST ARG_MADE)
      set(source ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_SOURCE_DIR}/${file}.cpp)
      target_sources(${target} PRIVATE ${source})
    endif()
    string(APPEND externs "namespace ${ARG_KIND}_${ident} {\nextern const ${ARG_TYPE} entry;\n}\n")
    string(APPEND entries "    &${ARG_KIND}_${ident}::entry,\n")
  endforeach()
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${ARG_KIND}_table.cpp)
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT
"// Generated from the list in CMakeLists.txt; do not edit.
#include <span>
#include \"@ARG_HEADER@\"
namespace bertbench {
@externs@
namespace {
const @ARG_TYPE@* const kTable[] = {
@entries@};
}
std::span<const @ARG_TYPE@* const> all_@ARG_KIND@s() { return kTable; }
}  // namespace bertbench
")
  target_sources(${target} PRIVATE ${file})
  set_source_files_properties(${file} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
