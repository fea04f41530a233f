# cmake -DROOT=DIR -DLIST=FILE -DCONSTANT=NAME -DOUT=FILE -P WriteSourceDigest.cmake: a header with one hash of the files listed.
file(STRINGS ${LIST} files)
list(SORT files)
set(all "")
foreach(file ${files})
  file(SHA256 ${file} hash)
  file(RELATIVE_PATH name ${ROOT} ${file})
  string(APPEND all "${name} ${hash}\n")
endforeach()
string(SHA256 digest "${all}")
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT [[#pragma once

#include <string_view>

namespace lockstep {

inline constexpr std::string_view @CONSTANT@ = "@digest@";

}  // namespace lockstep
]])
