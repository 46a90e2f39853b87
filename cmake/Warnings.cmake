# bb::warnings: link PRIVATE. Warnings are a property of our targets, never of the user's flags.
add_library(bb_warnings INTERFACE)
add_library(bb::warnings ALIAS bb_warnings)
target_compile_options(bb_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast
    -Woverloaded-virtual -Wnull-dereference -Wimplicit-fallthrough>)
if(BB_WERROR)
  target_compile_options(bb_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
