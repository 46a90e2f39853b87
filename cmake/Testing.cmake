# bb_add_test(<name> SOURCES <file>... LIBS <target>... [LABELS <label>...] [TIMEOUT <s>] [ENV k=v...]
#             [SERIAL] [LOCK <name>] [COST <n>] [PARTS <n>] [FILTER <pattern>])
# One GoogleTest program; each TEST is a ctest test named <name>.<Suite>.<Test>. SERIAL: no other
# test runs next to it. LOCK: none that has the same lock. COST: the highest begin first. PARTS: under
# sanitizers, where a process takes longer to start than most tests take, they are so many ctest tests
# of many tests each, <name>.part_0 and so on. FILTER: of GoogleTest; the caller adds the others.
#   BB_SOURCE_DIR      the checkout, for tests/data and configs
#   BB_TEST_DATA_DIR   the folder of the CMakeLists.txt that adds the test
include(GoogleTest)

set(bb_test_header_files <gmock/gmock.h> <gtest/gtest.h> <random> <thread>)
if(BB_BUILD_HARNESS)
  list(APPEND bb_test_header_files <fmt/format.h>)
endif()
bb_add_header_set(bb_test_headers HEADERS ${bb_standard_headers} ${bb_test_header_files}
  LIBS ${bb_common_libs} GTest::gmock GTest::gtest OPTIONS -O0)

set(BB_TESTED_CODE_FIRST ON)  # a folder that cannot have it so sets it OFF

# bb_test_program(<target> LIBS <target>...): what all GoogleTest programs have.
function(bb_test_program name)
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} ${bb_common_libs} GTest::gmock GTest::gtest_main bb::warnings)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  # A test's own source is compiled quickly (40 % of a whole build's time went into optimising tests);
  # the code under test keeps the optimisation of its build type.
  target_compile_options(${name} PRIVATE -O0)
  # Of equal templates the linker keeps the first. The code under test comes before the test's own, so
  # that its optimised ones stay (JSON and containers without optimisation made tests six times as slow).
  set(under_test)
  foreach(library IN LISTS ARG_LIBS)
    if(BB_TESTED_CODE_FIRST AND TARGET ${library})
      get_target_property(type ${library} TYPE)
      if(type STREQUAL "STATIC_LIBRARY")
        list(APPEND under_test $<TARGET_FILE:${library}>)
      endif()
    endif()
  endforeach()
  if(under_test)
    list(JOIN under_test "," under_test)
    target_link_options(${name} PRIVATE "LINKER:--whole-archive,${under_test},--no-whole-archive")
  endif()
  target_precompile_headers(${name} REUSE_FROM bb_test_headers)
  bb_unity(${name})
  # Most of a test's compile time are templates of GoogleTest: without optimisation there is memory for more of them at once.
  set_target_properties(${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 16)
  target_compile_definitions(${name} PRIVATE
    BB_SOURCE_DIR="${PROJECT_SOURCE_DIR}" BB_TEST_DATA_DIR="${CMAKE_CURRENT_SOURCE_DIR}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endfunction()

function(bb_add_test name)
  cmake_parse_arguments(ARG "SERIAL" "TIMEOUT;LOCK;COST;PARTS;FILTER" "SOURCES;LIBS;LABELS;ENV" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  set(more)  # an empty value would swallow the next property's name
  if(ARG_LABELS)
    list(APPEND more LABELS "${ARG_LABELS}")
  endif()
  if(ARG_ENV)
    list(APPEND more ENVIRONMENT "${ARG_ENV}")
  endif()
  if(ARG_SERIAL)
    list(APPEND more RUN_SERIAL TRUE)
  endif()
  if(ARG_LOCK)
    list(APPEND more RESOURCE_LOCK ${ARG_LOCK})
  endif()
  if(ARG_COST)
    list(APPEND more COST ${ARG_COST})
  endif()
  add_executable(${name} ${ARG_SOURCES})
  bb_test_program(${name} LIBS ${ARG_LIBS})
  if(ARG_PARTS AND BB_SANITIZE)
    math(EXPR last "${ARG_PARTS} - 1")
    math(EXPR timeout "${ARG_TIMEOUT} * ${ARG_PARTS}")
    foreach(part RANGE ${last})
      add_test(NAME ${name}.part_${part} COMMAND ${name} --gtest_brief=1)
      set_tests_properties(${name}.part_${part} PROPERTIES TIMEOUT ${timeout}
        ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_PARTS};GTEST_SHARD_INDEX=${part}")
    endforeach()
    return()
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${name}." TEST_FILTER "${ARG_FILTER}" DISCOVERY_MODE PRE_TEST
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} ${more})
endfunction()
