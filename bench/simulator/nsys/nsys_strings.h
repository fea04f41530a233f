// The interned strings of an nsys export.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "platform/sqlite.h"

namespace lockstep {

// Ids of interned strings, from 1 in order of first use.
class NsysStrings {
 public:
  int64_t IdOf(std::string_view text) {
    const auto [place, added] = ids_.emplace(text, next_);
    if (added) ++next_;
    return place->second;
  }
  // Writes the StringIds table.
  absl::Status Write(Database& db, int schema_minor) const;

 private:
  std::map<std::string, int64_t, std::less<>> ids_;
  int64_t next_ = 1;
};

}  // namespace lockstep
