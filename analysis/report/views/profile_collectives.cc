#include <map>
#include <set>
#include <tuple>

#include "analysis/report/views/group_names.h"
#include "analysis/report/views/percentiles.h"
#include "analysis/report/views/profile_parts.h"
#include "analysis/report/views/values.h"

namespace lockstep {
namespace {

constexpr double kGigabytesOfByte = 1e-9;

// Groups of one kind: as many members, and one description.
using CollectiveKey = std::tuple<CollectiveOp, DataType, int64_t, size_t, std::string>;

struct CollectiveSum {
  std::set<uint32_t> groups;
  int64_t instances = 0;
  int64_t matched = 0;
  int64_t wait_total_ns = 0;
  Sketch wait;
  Sketch transfer;
  Sketch bandwidth;
};

void AddCollective(const CollectiveRowResult& row, CollectiveSum& sum) {
  sum.groups.insert(row.communicator);
  sum.instances += row.instances;
  sum.matched += row.matched;
  sum.wait_total_ns += row.wait_total_ns;
  sum.wait.Merge(row.wait_ns);
  sum.transfer.Merge(row.transfer_ns);
  sum.bandwidth.Merge(row.bus_bandwidth);
}

report::ProfileCollective ProfileCollectiveOf(const CollectiveKey& key, const CollectiveSum& sum) {
  const auto& [op, dtype, bytes, members, desc] = key;
  report::ProfileCollective row;
  row.op = TextIfAny(Name(op));
  row.dtype = TextIfAny(Name(dtype));
  row.bytes = KnownIf<report::Count>(bytes != kUnknownBytes, bytes);
  row.members = members;
  row.desc = TextIfAny(desc);
  row.groups = sum.groups.size();
  row.instances = sum.instances;
  row.matched = sum.matched;
  row.wait_ns = PercentilesOf(sum.wait);
  row.wait_total_ns = sum.wait_total_ns;
  row.transfer_ns = PercentilesOf(sum.transfer);
  row.bus_bandwidth_gbps = ScaledPercentiles(sum.bandwidth, kGigabytesOfByte);
  return row;
}

}  // namespace

std::vector<report::ProfileCollective> ProfileCollectives(const RunMatch& match,
                                                          const std::vector<CollectiveRowResult>& collectives) {
  std::map<CollectiveKey, CollectiveSum> sums;
  for (const CollectiveRowResult& row : collectives) {
    const Communicator& group = match.communicators[row.communicator];
    AddCollective(row, sums[{row.op, row.dtype, row.bytes, group.members.size(), group.desc}]);
  }
  std::vector<report::ProfileCollective> rows;
  for (const auto& [key, sum] : sums) rows.push_back(ProfileCollectiveOf(key, sum));
  return rows;
}

}  // namespace lockstep
