# bb_common_headers(<target>): the headers of other projects that most files include are compiled once
# for all of the target's sources. They were more than half of the time that a build took. A file
# still includes what it uses: the build without precompiled headers (CMAKE_DISABLE_PRECOMPILE_HEADERS)
# must pass. nlohmann/json.hpp is not among them: loading it takes each file 0.7 s. It is in a set of its
# own for the harness, where nearly every second file includes it.
function(bb_add_header_set name)
  cmake_parse_arguments(ARG "" "" "HEADERS;LIBS;OPTIONS" ${ARGN})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cpp CONTENT "")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} bb::warnings)
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

# With BB_UNITY a target's sources are compiled some at a time as one: what they all include and what
# templates become of it is then compiled once for all of them.
function(bb_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${BB_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  if(BB_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # In a group GCC takes each source for a header and warns of its local types.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# GCC searches its memory for what it no longer needs at 128 MiB, which the precompiled headers alone take, and at each
# doubling: a tenth of the time of a test. At 512 MiB (the unit is KiB) most files never come to it; a job takes some
# 100 MB more.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=524288>)

set(bb_standard_headers
  <algorithm> <array> <charconv> <cmath> <cstdint> <filesystem> <fstream> <functional> <map> <memory>
  <optional> <set> <span> <sstream> <string> <string_view> <utility> <variant> <vector>)
# The harness starts processes and prints tables, and configuration is read once: no loop of them is worth the time that -O2 takes with
# JSON's templates (a fifth of a file's).
set(bb_quick_to_compile $<$<NOT:$<CONFIG:Debug>>:-O1>)
set(bb_common_libs Threads::Threads)
if(BB_BUILD_HARNESS)
  list(APPEND bb_common_libs fmt::fmt tl::expected)
  bb_add_header_set(bb_headers
    HEADERS ${bb_standard_headers} <fmt/format.h> <tl/expected.hpp>
    LIBS ${bb_common_libs})
  bb_add_header_set(bb_json_headers
    HEADERS ${bb_standard_headers} <fmt/format.h> <nlohmann/json.hpp> <tl/expected.hpp>
    LIBS ${bb_common_libs} nlohmann_json::nlohmann_json
    OPTIONS ${bb_quick_to_compile})
endif()

# The target links what the headers belong to: their definitions must be the same.
function(bb_common_headers target)
  target_link_libraries(${target} PRIVATE ${bb_common_libs})
  target_precompile_headers(${target} REUSE_FROM bb_headers)
endfunction()

# The same with JSON, and optimised less: for what has no loop worth the time.
function(bb_json_headers target)
  target_link_libraries(${target} PRIVATE ${bb_common_libs} nlohmann_json::nlohmann_json)
  target_compile_options(${target} PRIVATE ${bb_quick_to_compile})
  target_precompile_headers(${target} REUSE_FROM bb_json_headers)
  bb_unity(${target})
endfunction()
