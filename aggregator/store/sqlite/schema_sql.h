// The SQL text of the store's schema, one entry a version.
#pragma once

#include <string_view>

namespace lockstep {

// kStoreMigrations[v] takes a store from schema v to v + 1; the first creates everything.
extern const char* const kStoreMigrations[9];
// The answers that were kept, and what trace files gave: about the content, no part of it. All others hold content.
inline constexpr std::string_view kAnswerTable = "answer";
inline constexpr std::string_view kHeldFileTable = "held_file";
[[nodiscard]] constexpr bool HoldsContent(std::string_view table) {
  return table != kAnswerTable && table != kHeldFileTable;
}
// Every table of the newest schema.
extern const std::string_view kStoreTables[22];

}  // namespace lockstep
