# bb::warnings: link PRIVATE. Warnings are a property of our targets, never of the user's flags.
add_library(bb_warnings INTERFACE)
add_library(bb::warnings ALIAS bb_warnings)
target_compile_options(bb_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast
    -Woverloaded-virtual -Wimplicit-fallthrough>
  # g++ 12 reports an overlap in std::string's operator+ that is not there (GCC PR 105651), and, with
  # precompiled headers, copies outside of a string's own buffer (PR 105329).
  $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict
    -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread>)
if(BB_WERROR)
  target_compile_options(bb_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
