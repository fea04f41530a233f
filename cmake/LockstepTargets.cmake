# lockstep_library(name DIRS a b LINK x y [SHELL]): all .cc files of the folders (not of their subfolders) as one static
#   library. SHELL says that the code is not hot: it is compiled for a short build, not for speed.
# lockstep_test(name DIRS a b LINK x y [LABELS l] [SHARDS n] [PARSES_FOREIGN_BYTES] [LONG]): all *_test.cc files of the
#   folders as one test program, which CTest runs as `n` processes (one unless told). LONG says that it runs for longer
#   than it takes to compile it optimised.
# lockstep_program(name main LINK x y): one main file, which only reads flags and calls libraries.
# A folder without a source gives an empty interface library, so that a room can be declared before it is furnished.

# -pthread, which some libraries ask for, stands everywhere, so that all files can share a precompiled header.
add_library(lockstep_options INTERFACE)
target_include_directories(lockstep_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(lockstep_options INTERFACE -pthread -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers -Werror)
# GCC 12 reports overlaps and overflows in inlined std::string code that are not there (GCC bugs 105329 and 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(lockstep_options INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
  # GCC collects its own garbage from 128 MB on. Beginning at 1 GB shortens a build by an eighth and takes 200 MB more a job.
  target_compile_options(lockstep_options INTERFACE --param=ggc-min-heapsize=1000000)
endif()
if(LOCKSTEP_SANITIZE)
  # Globally, so that generated code is instrumented as well.
  add_compile_options(-fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=${LOCKSTEP_SANITIZE})
endif()

# Code that is not hot takes two thirds of the time to compile with -O1, and an eighth less without those passes of it that
# take long and gain little where nothing is hot. -ftree-dominator-opts stays: without it GCC reports variables as
# uninitialised that are not.
set(LOCKSTEP_SHELL_OPTIONS $<$<CONFIG:Release>:-O1>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND LOCKSTEP_SHELL_OPTIONS -fno-tree-pta -fno-ipa-pure-const -fno-ipa-reference -fno-ipa-profile -fno-tree-ch
    -fno-tree-loop-optimize -fno-tree-dse -fno-tree-sink -fno-forward-propagate -fno-if-conversion -fno-dse
    -fno-cprop-registers -fno-shrink-wrap -fno-split-wide-types)
endif()
# Tests compile in half of the time with these. They run up to twice as long, since the linker may give the libraries
# their copies of inline functions, so that the few which run for long are optimised like a shell.
set(LOCKSTEP_TEST_OPTIONS -O0)
if(LOCKSTEP_SANITIZE)
  set(LOCKSTEP_SHELL_OPTIONS -O0)
endif()

# Short builds: several files of a room are compiled as one (LOCKSTEP_UNITY), and the headers that most files use are
# compiled once for each set of flags (LOCKSTEP_PCH). The dev and tidy presets do neither, which proves that every file
# includes what it uses.
option(LOCKSTEP_UNITY "compile several files of a room as one" OFF)
option(LOCKSTEP_PCH "precompile the headers that most files use" OFF)
if(LOCKSTEP_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC takes a file of a unity for a header, where a class with a member of a file-local type would be a mistake.
  target_compile_options(lockstep_options INTERFACE -Wno-subobject-linkage)
endif()

function(lockstep_precompiled name)
  cmake_parse_arguments(arg "" "" "OPTIONS;HEADERS" ${ARGN})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${name}.cc CONTENT "" @ONLY)
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/generated/${name}.cc)
  target_link_libraries(${name} PRIVATE lockstep_options fmt::fmt absl::statusor)
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(${name} PRIVATE <algorithm> <array> <cstdint> <functional> <map> <memory> <optional> <set>
    <string> <string_view> <tuple> <unordered_map> <utility> <vector> <fmt/format.h> <absl/status/statusor.h>
    ${arg_HEADERS})
endfunction()

set(LOCKSTEP_GUIDED)
if(LOCKSTEP_FUZZ)
  set(LOCKSTEP_GUIDED -fsanitize=fuzzer-no-link)
endif()
if(LOCKSTEP_PCH)
  lockstep_precompiled(lockstep_pch OPTIONS ${LOCKSTEP_GUIDED})
  lockstep_precompiled(lockstep_pch_shell OPTIONS ${LOCKSTEP_SHELL_OPTIONS} ${LOCKSTEP_GUIDED})
  if(LOCKSTEP_TESTS)
    lockstep_precompiled(lockstep_pch_test OPTIONS ${LOCKSTEP_TEST_OPTIONS} HEADERS <gtest/gtest.h> <gmock/gmock.h>)
    target_link_libraries(lockstep_pch_test PRIVATE GTest::gtest GTest::gmock)
    lockstep_precompiled(lockstep_pch_long_test OPTIONS ${LOCKSTEP_SHELL_OPTIONS} HEADERS <gtest/gtest.h> <gmock/gmock.h>)
    target_link_libraries(lockstep_pch_long_test PRIVATE GTest::gtest GTest::gmock)
  endif()
endif()

function(lockstep_compile_quickly target)
  target_compile_options(${target} PRIVATE ${LOCKSTEP_SHELL_OPTIONS})
endfunction()

# A unity of about this many lines takes some ten seconds to compile: less would compile the same headers more often,
# more would make the wait after a change longer.
set(LOCKSTEP_UNITY_LINES 2000)

# Groups files, in their order, into unities of about that size, numbered from `number` on, which is moved on.
macro(lockstep_group files_name)
  set(lines 0)
  foreach(file ${${files_name}})
    file(SIZE ${file} bytes)
    math(EXPR lines "${lines} + ${bytes} / 40")  # 40 bytes are an average line
    set_source_files_properties(${file} PROPERTIES UNITY_GROUP "${number}")
    if(lines GREATER LOCKSTEP_UNITY_LINES)
      set(lines 0)
      math(EXPR number "${number} + 1")
    endif()
  endforeach()
  if(lines GREATER 0)
    math(EXPR number "${number} + 1")
  endif()
endmacro()

# The files of a target in unities. Those that use the widest headers, of batches and of what writes them, are in unities of
# their own, so that a change of these compiles no others.
function(lockstep_unite target)
  if(NOT LOCKSTEP_UNITY)
    return()
  endif()
  get_target_property(files ${target} SOURCES)
  set(of_batches)
  set(wide "batch|condenser|random_device|table_codec|step_codec|instance_facts")
  foreach(file ${files})
    file(STRINGS ${file} uses REGEX "^#include \"[^\"]*(${wide})[^\"]*\\.h\"" LIMIT_COUNT 1)
    if(uses)
      list(APPEND of_batches ${file})
    endif()
  endforeach()
  list(REMOVE_ITEM files ${of_batches} "")
  set(number 0)
  lockstep_group(files)
  lockstep_group(of_batches)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

function(lockstep_precompile target pch)
  if(LOCKSTEP_PCH)
    target_precompile_headers(${target} REUSE_FROM ${pch})
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
  target_compile_options(${target} PRIVATE ${LOCKSTEP_GUIDED})
endfunction()

function(lockstep_library name)
  cmake_parse_arguments(arg "SHELL" "" "DIRS;LINK" ${ARGN})
  lockstep_sources(files ${arg_DIRS})
  if(NOT files)
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE lockstep_options ${arg_LINK})
    return()
  endif()
  add_library(${name} STATIC ${files})
  target_link_libraries(${name} PUBLIC lockstep_options ${arg_LINK})
  if(arg_SHELL)
    lockstep_compile_quickly(${name})
    lockstep_precompile(${name} lockstep_pch_shell)
  else()
    lockstep_precompile(${name} lockstep_pch)
  endif()
  lockstep_guide_fuzzers(${name})
  lockstep_unite(${name})
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
  lockstep_compile_quickly(${name})
  if(NOT LOCKSTEP_GUIDED)
    lockstep_precompile(${name} lockstep_pch_shell)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
endfunction()

# What ThreadSanitizer judges.
add_custom_target(concurrency_tests)
# What every change is tested with under AddressSanitizer, beside the fuzzers: tests of what parses the bytes of others.
add_custom_target(foreign_bytes_tests)

function(lockstep_test name)
  cmake_parse_arguments(arg "PARSES_FOREIGN_BYTES;LONG" "SHARDS" "DIRS;LINK;LABELS" ${ARGN})
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
  if(arg_LONG)
    lockstep_compile_quickly(${name})
    lockstep_precompile(${name} lockstep_pch_long_test)
  else()
    target_compile_options(${name} PRIVATE ${LOCKSTEP_TEST_OPTIONS})
    lockstep_precompile(${name} lockstep_pch_test)
  endif()
  lockstep_unite(${name})
  if("concurrency" IN_LIST arg_LABELS)
    add_dependencies(concurrency_tests ${name})
  endif()
  if(arg_PARSES_FOREIGN_BYTES)
    add_dependencies(foreign_bytes_tests ${name})
    list(APPEND arg_LABELS foreign_bytes)
  endif()
  set(cost 0)
  if(arg_LONG)
    set(cost 5)  # begun before the others
  endif()
  # `tests/run --quick ROOM` finds the program here.
  string(REPLACE ";" " " rooms "${arg_DIRS}")
  set_property(GLOBAL APPEND_STRING PROPERTY LOCKSTEP_ROOMS "${name} ${rooms}\n")
  if(NOT arg_SHARDS)
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1 WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 600 COST ${cost})
    return()
  endif()
  math(EXPR last "${arg_SHARDS} - 1")
  foreach(shard RANGE ${last})
    add_test(NAME ${name}_${shard} COMMAND ${name} --gtest_brief=1 WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${name}_${shard} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 600 COST ${cost}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${shard}")
  endforeach()
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
