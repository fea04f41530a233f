# lockstep_source_digest(target HEADER name CONSTANT name FILES patterns...): generated/lockstep/HEADER, with one hash of all
# files that match as `lockstep::CONSTANT`; what includes it depends on `target`.
function(lockstep_source_digest target)
  cmake_parse_arguments(arg "" "HEADER;CONSTANT" "FILES" ${ARGN})
  list(TRANSFORM arg_FILES PREPEND ${CMAKE_SOURCE_DIR}/)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${arg_FILES})
  string(REPLACE ";" "\n" lines "${files}")
  set(list ${CMAKE_CURRENT_BINARY_DIR}/${target}.txt)
  file(CONFIGURE OUTPUT ${list} CONTENT "${lines}\n" @ONLY)
  set(header ${CMAKE_BINARY_DIR}/generated/lockstep/${arg_HEADER})
  set(script ${CMAKE_SOURCE_DIR}/cmake/WriteSourceDigest.cmake)
  add_custom_command(OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR} -DLIST=${list} -DCONSTANT=${arg_CONSTANT} -DOUT=${header} -P ${script}
    DEPENDS ${files} ${list} ${script} VERBATIM)
  add_custom_target(${target} DEPENDS ${header})
endfunction()
