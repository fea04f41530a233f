# lockstep_source_digest(target FUNCTION name FILES patterns...): adds to `target` the definition of
# `std::string_view lockstep::NAME()`, a hash of what all files that match say to the compiler. A change of a comment
# alone does not change it, and a change of the hash compiles one file of two lines.
function(lockstep_source_digest target)
  cmake_parse_arguments(arg "" "FUNCTION" "FILES" ${ARGN})
  list(TRANSFORM arg_FILES PREPEND ${CMAKE_SOURCE_DIR}/)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${arg_FILES})
  string(REPLACE ";" "\n" lines "${files}")
  set(list ${CMAKE_CURRENT_BINARY_DIR}/${arg_FUNCTION}.txt)
  file(CONFIGURE OUTPUT ${list} CONTENT "${lines}\n" @ONLY)
  set(source ${CMAKE_BINARY_DIR}/generated/lockstep/${arg_FUNCTION}.cc)
  set(script ${CMAKE_SOURCE_DIR}/cmake/WriteSourceDigest.cmake)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR} -DLIST=${list} -DFUNCTION=${arg_FUNCTION} -DOUT=${source} -P ${script}
    DEPENDS ${files} ${list} ${script} VERBATIM)
  target_sources(${target} PRIVATE ${source})
  set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
endfunction()
