# The git commit goes into every result. It is looked up at build time, so a new commit does not
# need a new configure run, and only version.cpp is compiled again.
set(BB_VERSION_FILE ${CMAKE_BINARY_DIR}/generated/git_commit.h)
add_custom_target(bb_git_commit
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUT=${BB_VERSION_FILE}
          -P ${PROJECT_SOURCE_DIR}/cmake/GitCommit.cmake
  BYPRODUCTS ${BB_VERSION_FILE} VERBATIM)
