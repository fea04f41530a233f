# lockstep_library(name DIRS a b LINK x y [SHELL]): all .cc files of the folders (not of their subfolders) as one static
# library; SHELL: compiled quickly.
# lockstep_test(name DIRS a b LINK x y [LABELS l]): likewise for *_test.cc, each TEST registered with CTest.
# A folder with no source yet gives an empty interface library, so that rooms can be declared before they are furnished.

add_library(lockstep_options INTERFACE)
target_include_directories(lockstep_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(lockstep_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers -Werror)
# GCC 12 sees overlaps and overflows in inlined std::string code that are not there (GCC bugs 105329 and 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(lockstep_options INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
endif()
target_compile_definitions(lockstep_options INTERFACE LOCKSTEP_VERSION="${PROJECT_VERSION}")
if(LOCKSTEP_SANITIZE)
  # Globally, so that generated code is instrumented as well.
  add_compile_options(-fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=${LOCKSTEP_SANITIZE})
endif()

# Precompiled headers save a third of the build time. The dev and tidy presets build without them, which proves that
# every file includes what it uses.
option(LOCKSTEP_PCH "precompile the headers that most files use" OFF)
function(lockstep_precompile target)
  if(LOCKSTEP_PCH)
    target_precompile_headers(${target} PRIVATE <algorithm> <cstdint> <functional> <map> <memory> <optional> <string>
      <string_view> <tuple> <unordered_map> <utility> <vector> <fmt/format.h> <absl/status/statusor.h> ${ARGN})
  endif()
endfunction()

# Half the time to compile, for code that is neither hot nor measured: tests, and the shells of the programs (flags above all).
function(lockstep_compile_quickly target)
  if(LOCKSTEP_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  else()
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

function(lockstep_sources out)
  set(files)
  foreach(dir ${ARGN})
    file(GLOB found CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${dir}/*.cc)
    list(APPEND files ${found})
  endforeach()
  list(FILTER files EXCLUDE REGEX "(_main|_test|_fuzzer|_benchmark)\\.cc$")
  set(${out} ${files} PARENT_SCOPE)
endfunction()

# What the fuzzers are guided by. Tests and programs themselves go without: it is a fifth of the time to compile them.
function(lockstep_guide_fuzzers target)
  if(LOCKSTEP_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

function(lockstep_library name)
  cmake_parse_arguments(arg "SHELL" "" "DIRS;LINK" ${ARGN})
  lockstep_sources(files ${arg_DIRS})
  if(files)
    add_library(${name} STATIC ${files})
    target_link_libraries(${name} PUBLIC lockstep_options ${arg_LINK})
    if(arg_SHELL)
      lockstep_compile_quickly(${name})
    endif()
    lockstep_guide_fuzzers(${name})
    lockstep_precompile(${name})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE lockstep_options ${arg_LINK})
  endif()
endfunction()

# A program that answers: an allocator that many threads with short-lived data do not make slow.
function(lockstep_use_jemalloc name)
  if(TARGET ${name} AND TARGET PkgConfig::JEMALLOC)
    target_link_libraries(${name} PRIVATE PkgConfig::JEMALLOC)
  endif()
endfunction()

function(lockstep_program name main)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  if(NOT EXISTS ${CMAKE_SOURCE_DIR}/${main})
    return()
  endif()
  add_executable(${name} ${CMAKE_SOURCE_DIR}/${main})
  target_link_libraries(${name} PRIVATE lockstep_options ${arg_LINK})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
endfunction()

# What ThreadSanitizer judges.
add_custom_target(concurrency_tests)
# Every other test program, and the others: what a change is tested with where each takes minutes to build.
add_custom_target(test_half_0)
add_custom_target(test_half_1)
set_property(GLOBAL PROPERTY LOCKSTEP_NEXT_HALF 0)

function(lockstep_test name)
  cmake_parse_arguments(arg "" "" "DIRS;LINK;LABELS" ${ARGN})
  set(files)
  foreach(dir ${arg_DIRS})
    file(GLOB found CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${dir}/*_test.cc)
    list(APPEND files ${found})
  endforeach()
  if(NOT files)
    return()
  endif()
  add_executable(${name} ${files})
  target_link_libraries(${name} PRIVATE lockstep_options ${arg_LINK} GTest::gtest GTest::gmock GTest::gtest_main)
  lockstep_compile_quickly(${name})
  lockstep_precompile(${name} <gtest/gtest.h> <gmock/gmock.h>)
  if("concurrency" IN_LIST arg_LABELS)
    add_dependencies(concurrency_tests ${name})
  endif()
  get_property(half GLOBAL PROPERTY LOCKSTEP_NEXT_HALF)
  add_dependencies(test_half_${half} ${name})
  math(EXPR half "1 - ${half}")
  set_property(GLOBAL PROPERTY LOCKSTEP_NEXT_HALF ${half})
  gtest_discover_tests(${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 600)
endfunction()

add_custom_target(fuzzers)

# lockstep_fuzzer(name file LINK ...): a libFuzzer target; only with LOCKSTEP_FUZZ.
function(lockstep_fuzzer name file)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  if(NOT LOCKSTEP_FUZZ)
    return()
  endif()
  add_executable(${name} ${CMAKE_SOURCE_DIR}/${file})
  lockstep_guide_fuzzers(${name})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers ${name})
  target_link_libraries(${name} PRIVATE lockstep_options ${arg_LINK})
endfunction()
