# cmake -DROOT=DIR -DLIST=FILE -DFUNCTION=NAME -DOUT=FILE -P WriteSourceDigest.cmake: a source file that defines
# `std::string_view lockstep::NAME()`, one hash of the files listed without their comments and empty lines.
file(STRINGS ${LIST} files)
list(SORT files)
set(all "")
foreach(file ${files})
  file(READ ${file} text)
  # A raw string may hold what looks like a comment, and so may a string; a comment after code is only taken for one
  # where no quotation mark follows.
  if(NOT text MATCHES "R\"")
    string(REGEX REPLACE "\n[ ]*//[^\n]*" "\n" text "\n${text}")
    string(REGEX REPLACE "[ ]+//[^\n\"]*\n" "\n" text "${text}")
    string(REGEX REPLACE "\n[\n ]*\n" "\n" text "${text}")
  endif()
  string(SHA256 hash "${text}")
  file(RELATIVE_PATH name ${ROOT} ${file})
  string(APPEND all "${name} ${hash}\n")
endforeach()
string(SHA256 digest "${all}")
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT [[#include <string_view>

namespace lockstep {

std::string_view @FUNCTION@();
std::string_view @FUNCTION@() { return "@digest@"; }

}  // namespace lockstep
]])
