// What condenses a file, as one hash: of the sources in agent/, analysis/, platform/ and proto/ without their comments.
// Files that other sources condensed are read again (held_file.h). Made by cmake/SourceDigest.cmake.
#pragma once

#include <string_view>

namespace lockstep {

[[nodiscard]] std::string_view CondensingDigest();

}  // namespace lockstep
