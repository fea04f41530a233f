#include "analysis/metrics/fleet/joined_totals.h"

#include <algorithm>

#include "analysis/metrics/fleet/slow_rows.h"

namespace lockstep {
namespace {

constexpr double kConfident = 0.99;

void AddTo(CommunicationWork& work, const MatchedInstance& instance, const MatchedMember& member) {
  const int64_t duration_ns = member.end_ns - member.start_ns;
  ++work.instances;
  work.total_ns += duration_ns;
  work.own_ns += std::max<int64_t>(0, duration_ns - member.wait_ns);
  work.bytes += std::max<int64_t>(0, instance.bytes);
  work.all_sized = work.all_sized && instance.bytes != kUnknownBytes;
  if (duration_ns <= work.longest_ns) return;
  work.longest_ns = duration_ns;
  work.longest_wait_ns = member.wait_ns;
}

}  // namespace

void JoinedTotals::Add(const MatchedInstance& instance) {
  if (!instance.matched() || instance.confidence < kConfident) return;
  const bool usable = instance.usable();
  int64_t waits = 0;
  for (const MatchedMember& member : instance.members) {
    JoinedRank& rank = ranks[static_cast<size_t>(member.rank_index)];
    rank.confident_ns += member.end_ns - member.start_ns;
    if (!usable) continue;
    AddTo(rank.work, instance, member);
    waits += member.wait_ns;
  }
  if (!usable) return;
  wait_ns += waits;
  if (IsPointToPoint(instance.op)) pairwise_wait_ns += waits;
  ++ranks[static_cast<size_t>(instance.members.front().rank_index)].lowest;
  if (!instance.last_certain) return;
  int64_t& caused = ranks[static_cast<size_t>(instance.last_rank_index)].caused_ns;
  caused = std::max<int64_t>(0, caused) + waits;
}

SlowStepWaits::SlowStepWaits(const Fleet& fleet)
    : fleet_(fleet), member_of_(fleet.ranks.ranks.size(), -1), members_(fleet.members.size()) {
  for (size_t member = 0; member < members_.size(); ++member) {
    const SourceData& source = *fleet.members[member].source;
    member_of_[fleet.members[member].index] = static_cast<int64_t>(member);
    std::vector<Window>& slow = members_[member].slow;
    for (const size_t row : FindSlowRows(source)) slow.push_back({source.steps[row].window_start_ns, row});
    std::sort(slow.begin(), slow.end());
  }
}

void SlowStepWaits::Add(const MatchedInstance& instance) {
  if (!instance.usable()) return;
  for (const MatchedMember& it : instance.members) {
    const int64_t member = it.awaits >= 0 ? member_of_[static_cast<size_t>(it.rank_index)] : -1;
    if (member < 0) continue;
    OfMember& of = members_[static_cast<size_t>(member)];
    const int64_t at = it.start_ns + it.correction_ns;
    const auto after = std::upper_bound(of.slow.begin(), of.slow.end(), Window{at, SIZE_MAX});
    if (after == of.slow.begin()) continue;
    const size_t row = std::prev(after)->row;
    const StepRow& step = fleet_.members[static_cast<size_t>(member)].source->steps[row];
    if (at < step.window_end_ns) of.waits[row][it.awaits] += it.wait_ns;
  }
}

}  // namespace lockstep
