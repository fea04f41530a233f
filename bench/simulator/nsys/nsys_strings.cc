#include "bench/simulator/nsys/nsys_strings.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/base/status_macros.h"
#include "bench/simulator/nsys/nsys_table.h"

namespace lockstep {

absl::Status NsysStrings::Write(Database& db, int schema_minor) const {
  std::vector<std::pair<int64_t, std::string_view>> rows;
  for (const auto& [text, id] : ids_) rows.emplace_back(id, text);
  std::sort(rows.begin(), rows.end());
  NsysTable table(&db, schema_minor, "StringIds", {"id", "value"});
  for (const auto& [id, text] : rows) LOCKSTEP_RETURN_IF_ERROR(table.Row({id, text}));
  return absl::OkStatus();
}

}  // namespace lockstep
