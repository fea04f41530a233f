// The script and the style of the pages, which web/ builds from TypeScript and which are part of the program.
#pragma once

#include <string_view>

namespace lockstep {

struct PageAssets {
  std::string_view script;  // UTF-8; holds no "</script"
  std::string_view style;
};

// Null in a build without Node or npm packages, which has no pages. Thread safe.
[[nodiscard]] const PageAssets* Assets();

}  // namespace lockstep
