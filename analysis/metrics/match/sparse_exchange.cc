#include "analysis/metrics/match/sparse_exchange.h"

#include <algorithm>
#include <cstdint>

namespace lockstep {

bool EndsByVolume(const JoinedInstance& joined) {
  const CollectiveOp op = joined.instance.op;
  return op == CollectiveOp::kAllToAllV || (op == CollectiveOp::kSendRecv && joined.instance.members.size() > 2);
}

bool IsSparseExchange(const JoinedInstance& joined, const ClockModel& clock) {
  if (!EndsByVolume(joined) || joined.receiver >= 0) return false;
  const auto aligned = [&](const MatchedMember& m, int64_t time_ns) {
    return time_ns - clock.Correction(m.rank_index, LocalTime{m.start_ns}).ns;
  };
  const std::vector<MatchedMember>& members = joined.instance.members;
  int64_t last_start_ns = INT64_MIN;
  for (const MatchedMember& m : members) last_start_ns = std::max(last_start_ns, aligned(m, m.start_ns));
  const auto without = std::count_if(members.begin(), members.end(),
                                     [&](const MatchedMember& m) { return aligned(m, m.end_ns) < last_start_ns; });
  return 2 * static_cast<size_t>(without) < members.size() - 1;
}

bool ShowsSparseExchange(const JoinedInstance& aligned, const ClockModel& clock) {
  if (!EndsByVolume(aligned) || aligned.receiver >= 0 || !aligned.instance.matched()) return false;
  const std::vector<MatchedMember>& members = aligned.instance.members;
  const MatchedMember& last =
      *std::max_element(members.begin(), members.end(),
                        [](const MatchedMember& a, const MatchedMember& b) { return a.start_ns < b.start_ns; });
  const auto without = std::count_if(members.begin(), members.end(), [&](const MatchedMember& m) {
    if (m.end_ns >= last.start_ns) return false;
    const auto uncertainty = clock.PairUncertainty(m.rank_index, last.rank_index, AlignedTime{last.start_ns});
    return uncertainty && m.end_ns + uncertainty->ns < last.start_ns;
  });
  return without > 0 && 2 * static_cast<size_t>(without) < members.size() - 1;
}

const MatchedMember* AwaitedInSparse(const MatchedInstance& instance, const MatchedMember& member) {
  const MatchedMember* awaited = nullptr;
  for (const MatchedMember& m : instance.members) {
    if (m.start_ns > member.end_ns) continue;
    if (awaited == nullptr || m.start_ns > awaited->start_ns) awaited = &m;
  }
  return awaited;
}

}  // namespace lockstep
