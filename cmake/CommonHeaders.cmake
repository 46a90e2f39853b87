# bb_common_headers(<target>): the headers of other projects that most files include are compiled once
# for all of the target's sources. They were more than half of the time that a build took. A file
# still includes what it uses: the build without precompiled headers (CMAKE_DISABLE_PRECOMPILE_HEADERS)
# must pass. nlohmann/json.hpp is not among them: loading it takes each file 0.7 s.
function(bb_add_header_set name)
  cmake_parse_arguments(ARG "" "" "HEADERS;LIBS;OPTIONS" ${ARGN})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cpp CONTENT "")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} bb::warnings)
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

set(bb_standard_headers
  <algorithm> <array> <charconv> <cmath> <cstdint> <filesystem> <fstream> <functional> <map> <memory>
  <optional> <set> <span> <sstream> <string> <string_view> <utility> <variant> <vector>)
set(bb_common_libs Threads::Threads)
if(BB_BUILD_HARNESS)
  list(APPEND bb_common_libs fmt::fmt tl::expected)
  bb_add_header_set(bb_headers
    HEADERS ${bb_standard_headers} <fmt/format.h> <tl/expected.hpp>
    LIBS ${bb_common_libs})
endif()

# The target links what the headers belong to: their definitions must be the same.
function(bb_common_headers target)
  target_link_libraries(${target} PRIVATE ${bb_common_libs})
  target_precompile_headers(${target} REUSE_FROM bb_headers)
endfunction()
