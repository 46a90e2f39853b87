# BB_SANITIZE=address,undefined or BB_SANITIZE=thread applies to everything that is built.
if(BB_SANITIZE)
  add_compile_options(-fsanitize=${BB_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=${BB_SANITIZE})
  # Reads of empty optionals and ends of containers are seen by no sanitizer.
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()
if(BB_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "BB_FUZZ needs clang: use the preset fuzz (apt-get install clang-16 libclang-rt-16-dev).")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
