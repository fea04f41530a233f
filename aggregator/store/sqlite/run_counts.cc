#include "aggregator/store/sqlite/run_counts.h"

#include <fmt/format.h>

#include <string_view>

#include "aggregator/store/sqlite/binding.h"
#include "analysis/base/status_macros.h"

namespace lockstep {
namespace {

std::string_view ColumnOfCount(RunCount count) {
  switch (count) {
    case RunCount::kSources:
      return "sources";
    case RunCount::kNames:
      return "names";
    case RunCount::kFiles:
      return "files";
  }
  return "";
}

}  // namespace

absl::StatusOr<int64_t> ReadCount(Database& db, RunCount count, int64_t run) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement read,
                            db.Prepare(fmt::format("SELECT {} FROM run WHERE id = ?", ColumnOfCount(count))));
  Binder(read).Int(run);
  LOCKSTEP_ASSIGN_OR_RETURN(const bool known, read.Step());
  return known ? read.Int(0) : 0;
}

absl::Status AddToCount(Database& db, RunCount count, int64_t run, int64_t more) {
  if (more == 0) return absl::OkStatus();
  LOCKSTEP_ASSIGN_OR_RETURN(Statement add,
                            db.Prepare(fmt::format("UPDATE run SET {0} = {0} + ? WHERE id = ?", ColumnOfCount(count))));
  Binder(add).Int(more).Int(run);
  return add.Run();
}

}  // namespace lockstep
