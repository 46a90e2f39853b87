# bb_embed(<target> <variable> <file>): the bytes of a file as `extern const char* const <variable>`
# of namespace bertbench, and their SHA-256 as <variable>Sha256. Editing the file configures again.
function(bb_embed target variable file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  file(SHA256 ${file} hash)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/embedded_${variable}.cpp @ONLY CONTENT
"// Generated from @file@; do not edit.
namespace bertbench {
extern const char* const @variable@;
extern const char* const @variable@Sha256;
const char* const @variable@ = R\"bb_text(@text@)bb_text\";
const char* const @variable@Sha256 = \"@hash@\";
}  // namespace bertbench
")
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/embedded_${variable}.cpp)
endfunction()
