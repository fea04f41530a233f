// Rows between two anchors (instances whose members end together) of operations whose members need not: which of
// several ranks' rows are one instance, where some ranks have lost some. Internal to the joining of instances.
#pragma once

#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "analysis/metrics/match/join/timed_join.h"

namespace lockstep {

using GapSignature = std::tuple<CollectiveOp, DataType, int64_t>;  // operation, type, bytes

[[nodiscard]] GapSignature GapSignatureOf(const CollectiveRow& row);

struct GapColumn {
  std::vector<RowRef> members;  // at most one a rank
  bool certain = true;          // false: of a single row that may belong elsewhere
};

// `rows`: per rank, in order of start, none empty; on one axis. `repeated`: signatures that some rank has twice in some
// gap (AddRepeated). Order is kept. Rows of one signature that never repeats belong together, others where their ends
// lie: large messages end on all ranks within a part of their duration. A row nearly as close to another instance of
// its signature is left alone; all are where a rank has over 512. O(n k) for n rows and k instances.
[[nodiscard]] std::vector<GapColumn> JoinGapRows(const JoinInput& input, const std::vector<std::vector<TimedRow>>& rows,
                                                 const std::set<GapSignature>& repeated);

[[nodiscard]] bool IsRepeated(const CollectiveRow& row, const std::set<GapSignature>& repeated);

// Whether the rows of one signature end as close to each other as those of one large message do.
[[nodiscard]] bool EndTogether(const std::vector<TimedRow>& rows);

// Takes note of the signatures that occur twice in one rank's rows of one gap.
void AddRepeated(const JoinInput& input, const std::vector<RowRef>& rows, std::set<GapSignature>& repeated);

}  // namespace lockstep
