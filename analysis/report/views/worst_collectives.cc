#include "analysis/report/views/worst_collectives.h"

#include "analysis/report/json.h"
#include "analysis/report/views/json_values.h"

namespace lockstep {
namespace {

constexpr size_t kMaxWorstRows = 5;

}  // namespace

Json WorstCollectives(const RunMatch& match, const std::vector<CollectiveRowResult>& rows) {
  Json list = Json::array();
  for (const CollectiveRowResult& row : rows) {
    if (row.wait_total_ns <= 0 || list.size() == kMaxWorstRows) break;
    list.push_back({{"communicator_id", match.communicators[row.communicator].id},
                    {"op", TextOrNull(Name(row.op))},
                    {"bytes", row.bytes == kUnknownBytes ? Json(nullptr) : Json(row.bytes)},
                    {"wait_total_ns", row.wait_total_ns},
                    {"verdict", Name(row.verdict)}});
  }
  return list;
}

}  // namespace lockstep
