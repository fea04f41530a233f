#include "aggregator/store/sqlite/usage.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "aggregator/store/sqlite/binding.h"
#include "aggregator/store/sqlite/run_description.h"
#include "aggregator/store/sqlite/schema_sql.h"
#include "analysis/base/status_macros.h"

namespace lockstep {
namespace {

using BytesOfRun = std::map<int64_t, int64_t>;  // by id

// "length(a) + length(b)", nothing for what is NULL, and through which column a row belongs to a run.
struct TableShape {
  std::string lengths = "0";
  bool by_source = false;
  bool by_run = false;
};

absl::StatusOr<TableShape> ShapeOfTable(Database& db, std::string_view table) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement columns, db.Prepare("SELECT name FROM pragma_table_info(?)"));
  Binder(columns).Text(table);
  TableShape shape;
  while (true) {
    LOCKSTEP_ASSIGN_OR_RETURN(const bool more, columns.Step());
    if (!more) return shape;
    const std::string name(columns.Text(0));
    shape.by_source = shape.by_source || name == "source";
    shape.by_run = shape.by_run || name == "run";
    shape.lengths += fmt::format(" + coalesce(length(t.\"{}\"), 0)", name);
  }
}

absl::Status AddTable(Database& db, std::string_view table, BytesOfRun* bytes) {
  LOCKSTEP_ASSIGN_OR_RETURN(const TableShape shape, ShapeOfTable(db, table));
  const std::string run = shape.by_source ? "s.run" : shape.by_run ? "t.run" : "t.id";
  LOCKSTEP_ASSIGN_OR_RETURN(
      Statement sums, db.Prepare(fmt::format("SELECT {}, sum({}) FROM {} t {} GROUP BY 1", run, shape.lengths, table,
                                             shape.by_source ? "JOIN source s ON s.id = t.source" : "")));
  while (true) {
    LOCKSTEP_ASSIGN_OR_RETURN(const bool more, sums.Step());
    if (!more) return absl::OkStatus();
    (*bytes)[sums.Int(0)] += sums.Int(1);
  }
}

// Room that is neither free nor taken by answers, which go by themselves and must not cost a run its data.
absl::StatusOr<int64_t> UsedBytes(Database& db) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement pages, db.Prepare("SELECT (p.page_count - f.freelist_count) * s.page_size - "
                                                        "coalesce((SELECT sum(length(report)) FROM answer), 0) FROM "
                                                        "pragma_page_count p, pragma_freelist_count f, "
                                                        "pragma_page_size s"));
  LOCKSTEP_ASSIGN_OR_RETURN(const bool found, pages.Step());
  return found ? pages.Int(0) : 0;
}

}  // namespace

absl::StatusOr<std::vector<RunUsage>> MeasureRuns(Database& db) {
  LOCKSTEP_RETURN_IF_ERROR(db.Execute("BEGIN"));
  BytesOfRun bytes;
  for (const std::string_view table : kStoreTables) {
    if (table == kAnswerTable) continue;
    LOCKSTEP_RETURN_IF_ERROR(AddTable(db, table, &bytes));
  }
  int64_t all = 0;
  for (const auto& [run, own] : bytes) {
    all += own;
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t used, UsedBytes(db));
  LOCKSTEP_ASSIGN_OR_RETURN(std::vector<RunInfo> infos, DescribeRuns(db));
  LOCKSTEP_ASSIGN_OR_RETURN(Statement facts, db.Prepare("SELECT id, changed_unix_ns FROM run ORDER BY name"));
  std::vector<RunUsage> runs;
  for (RunInfo& info : infos) {
    LOCKSTEP_RETURN_IF_ERROR(facts.Step().status());  // the same rows: one snapshot
    const double share = static_cast<double>(bytes[facts.Int(0)]) / static_cast<double>(all);
    runs.push_back({.info = std::move(info),
                    .bytes = static_cast<int64_t>(static_cast<double>(used) * share),
                    .changed_unix_ns = facts.Int(1)});
  }
  return runs;
}

}  // namespace lockstep
