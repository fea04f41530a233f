// The SQL text of the store's schema, one entry a version.
#pragma once

#include <string_view>

namespace lockstep {

// kStoreMigrations[v] takes a store from schema v to v + 1; the first creates everything.
extern const char* const kStoreMigrations[6];
// The answers that were kept; all others hold content.
inline constexpr std::string_view kAnswerTable = "answer";
// Every table of the newest schema.
extern const std::string_view kStoreTables[20];

}  // namespace lockstep
