#include "analysis/report/views/worst_collectives.h"

#include "analysis/report/views/group_names.h"
#include "analysis/report/views/values.h"

namespace lockstep {
namespace {

constexpr size_t kMaxWorstRows = 5;

}  // namespace

std::vector<report::WorstCollective> WorstCollectives(const RunMatch& match,
                                                      const std::vector<CollectiveRowResult>& rows) {
  std::vector<report::WorstCollective> list;
  for (const CollectiveRowResult& row : rows) {
    if (row.wait_total_ns <= 0 || list.size() == kMaxWorstRows) break;
    const Communicator& communicator = match.communicators[row.communicator];
    list.push_back({.communicator_id = communicator.id,
                    .name = NameOfGroup(communicator),
                    .op = TextIfAny(Name(row.op)),
                    .bytes = KnownIf<report::Count>(row.bytes != kUnknownBytes, row.bytes),
                    .wait_total_ns = row.wait_total_ns,
                    .verdict = std::string(Name(row.verdict))});
  }
  return list;
}

}  // namespace lockstep
