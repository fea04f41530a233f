// The SQL text of the store's schema, one entry a version.
#pragma once

#include <string_view>

namespace lockstep {

// kStoreMigrations[v] takes a store from schema v to v + 1; the first creates everything.
extern const char* const kStoreMigrations[10];
// The answers that were kept, what trace files gave, and the names of baselines: about the content, no part of it. All
// others hold content.
inline constexpr std::string_view kAnswerTable = "answer";
inline constexpr std::string_view kHeldFileTable = "held_file";
inline constexpr std::string_view kBaselineTable = "baseline";
[[nodiscard]] constexpr bool HoldsContent(std::string_view table) {
  return table != kAnswerTable && table != kHeldFileTable && table != kBaselineTable;
}
// Every table of the newest schema.
extern const std::string_view kStoreTables[23];

}  // namespace lockstep
