#include "aggregator/store/sqlite/run_description.h"

#include <utility>

#include "aggregator/store/memory/run_assembly.h"
#include "aggregator/store/sqlite/binding.h"
#include "analysis/base/status_macros.h"

namespace lockstep {
namespace {

absl::StatusOr<RunInfo> DescribeRun(Database& db, int64_t run, const Statement& found) {
  RunInfo info;
  info.name = std::string(found.Text(1));
  info.expected_ranks = static_cast<int32_t>(IntOr(found, 2, -1));
  info.finished_by_hand = found.Int(3) != 0;
  info.revision = found.Int(5);
  info.changed_unix_ns = found.Int(6);
  std::vector<SourcePresence> presences;
  LOCKSTEP_RETURN_IF_ERROR(ForEachRow(db, "SELECT claimed_rank, world_size, complete FROM source WHERE run = ?", run,
                                      [&](const Statement& source) {
                                        SourcePresence& presence = presences.emplace_back();
                                        if (!source.IsNull(0)) presence.rank = static_cast<int32_t>(source.Int(0));
                                        if (!source.IsNull(1))
                                          presence.world_size = static_cast<int32_t>(source.Int(1));
                                        presence.complete = source.Int(2) != 0;
                                        if (presence.complete) ++info.complete_sources;
                                        return absl::OkStatus();
                                      }));
  LOCKSTEP_RETURN_IF_ERROR(
      ForEachRow(db, "SELECT name FROM baseline WHERE run = ? ORDER BY name", run, [&](const Statement& baseline) {
        info.baselines.emplace_back(baseline.Text(0));
        return absl::OkStatus();
      }));
  info.sources = static_cast<int64_t>(presences.size());
  info.state = StateOf({info.expected_ranks, info.finished_by_hand, found.Int(4) != 0}, presences);
  return info;
}

constexpr std::string_view kRunColumns =
    "SELECT id, name, expected_ranks, finished_by_hand, analysed_revision IS revision, revision, changed_unix_ns FROM "
    "run ";

// Of a row of these columns.
RunContent ContentIn(const Statement& found) {
  return {.run_id = found.Int(0),
          .revision = found.Int(5),
          .changed_unix_ns = found.Int(6),
          .expected_ranks = static_cast<int32_t>(IntOr(found, 2, -1)),
          .finished_by_hand = found.Int(3) != 0};
}

// The row of a run by its name; kNotFound.
absl::StatusOr<Statement> RowOfRun(Database& db, const std::string& run) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement statement, db.Prepare(std::string(kRunColumns) + "WHERE name = ?"));
  statement.BindText(1, run);
  LOCKSTEP_ASSIGN_OR_RETURN(const bool known, statement.Step());
  if (!known) return NoSuchRun(run);
  return statement;
}

}  // namespace

absl::StatusOr<int64_t> IdOfRun(Database& db, const std::string& run) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement known, db.Prepare("SELECT id FROM run WHERE name = ?"));
  Binder(known).Text(run);
  LOCKSTEP_ASSIGN_OR_RETURN(const bool found, known.Step());
  if (!found) return NoSuchRun(run);
  return known.Int(0);
}

absl::StatusOr<std::pair<RunContent, RunInfo>> FindRun(Database& db, const std::string& run) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Statement statement, RowOfRun(db, run));
  const RunContent content = ContentIn(statement);
  LOCKSTEP_ASSIGN_OR_RETURN(RunInfo info, DescribeRun(db, content.run_id, statement));
  return std::make_pair(content, std::move(info));
}

absl::StatusOr<RunContent> ReadContent(Database& db, const std::string& run) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Statement statement, RowOfRun(db, run));
  return ContentIn(statement);
}

absl::StatusOr<std::vector<RunInfo>> DescribeRuns(Database& db) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement statement, db.Prepare(std::string(kRunColumns) + "ORDER BY name"));
  std::vector<RunInfo> infos;
  while (true) {
    LOCKSTEP_ASSIGN_OR_RETURN(const bool more, statement.Step());
    if (!more) return infos;
    LOCKSTEP_ASSIGN_OR_RETURN(RunInfo info, DescribeRun(db, statement.Int(0), statement));
    infos.push_back(std::move(info));
  }
}

absl::StatusOr<bool> IsRunComplete(Database& db, const std::string& run) {
  LOCKSTEP_ASSIGN_OR_RETURN(
      Statement glance_at,
      db.Prepare(
          "SELECT expected_ranks, finished_by_hand, sources, NOT EXISTS (SELECT 1 FROM source WHERE source.run = "
          "run.id AND complete = 0), (SELECT max(world_size) FROM source WHERE source.run = run.id AND complete "
          "= 1) FROM run WHERE name = ?"));
  Binder(glance_at).Text(run);
  LOCKSTEP_ASSIGN_OR_RETURN(const bool known, glance_at.Step());
  if (!known) return NoSuchRun(run);
  const RunFacts facts = {static_cast<int32_t>(IntOr(glance_at, 0, -1)), glance_at.Int(1) != 0};
  if (IsPlainlyOpen(facts, {glance_at.Int(2), glance_at.Int(3) != 0, IntOr(glance_at, 4, -1)})) return false;
  LOCKSTEP_ASSIGN_OR_RETURN(const auto found, FindRun(db, run));
  return found.second.state != RunState::kOpen;
}

}  // namespace lockstep
