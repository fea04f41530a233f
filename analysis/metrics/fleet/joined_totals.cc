#include "analysis/metrics/fleet/joined_totals.h"

#include <algorithm>

#include "analysis/metrics/fleet/slow_rows.h"
#include "analysis/metrics/match/caused_wait.h"

namespace lockstep {
namespace {

constexpr double kConfident = 0.99;

void AddTo(CommunicationWork& work, const MatchedInstance& instance, const MatchedMember& member) {
  const int64_t duration_ns = member.end_ns - member.start_ns;
  ++work.instances;
  work.total_ns += duration_ns;
  const int64_t own_ns = std::max<int64_t>(0, duration_ns - member.wait_ns);
  work.own_ns += own_ns;
  if (IsUnevenExchange(instance.op, instance.members.size())) work.uneven_own_ns += own_ns;
  work.bytes += std::max<int64_t>(0, instance.bytes);
  work.all_sized = work.all_sized && instance.bytes != kUnknownBytes;
  if (duration_ns <= work.longest_ns) return;
  work.longest_ns = duration_ns;
  work.longest_wait_ns = member.wait_ns;
}

}  // namespace

void JoinedTotals::AddUnresolved(const MatchedInstance& instance) {
  const auto add = [&](Unresolved reason, int64_t ns) {
    unresolved_ns[static_cast<size_t>(reason)] += std::max<int64_t>(0, ns);
  };
  const bool usable = instance.usable();
  for (const MatchedMember& m : instance.members) {
    if (!usable) {
      const bool clocks = instance.matched() && instance.confidence >= kConfident;
      const bool pair = IsPointToPoint(instance.op) || instance.op == CollectiveOp::kSendRecv;
      add(clocks                      ? Unresolved::kClocks
          : pair && instance.no_group ? Unresolved::kUnknownRole
                                      : Unresolved::kUnmatched,
          m.end_ns - m.start_ns);
      continue;
    }
    if (m.wait_uncertainty_ns > m.wait_ns) add(Unresolved::kClocks, m.wait_ns);
    const bool open = instance.lacking || m.latest_arrival_ns == kNeverArrived;
    const int64_t between_ns = std::min(m.latest_arrival_ns, m.end_ns) - m.arrival_ns;
    if (open) ranks[static_cast<size_t>(m.rank_index)].open_ns += std::max<int64_t>(0, between_ns);
    add(open ? Unresolved::kMissingRecord : Unresolved::kUnknownRole, between_ns);
  }
}

void JoinedTotals::Add(const MatchedInstance& instance) {
  AddUnresolved(instance);
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
  ForEachCausedWait(instance, [&](const CausedWait& it) {
    if (!it.certain) return;
    int64_t& caused = ranks[static_cast<size_t>(it.rank_index)].caused_ns;
    caused = std::max<int64_t>(0, caused) + it.wait_ns;
  });
}

SlowStepWaits::SlowStepWaits(const Fleet& fleet, size_t most_waiting)
    : fleet_(fleet),
      most_waiting_(most_waiting),
      member_of_(fleet.ranks.ranks.size(), -1),
      members_(fleet.members.size()) {
  for (size_t member = 0; member < members_.size(); ++member) {
    member_of_[fleet.members[member].index] = static_cast<int64_t>(member);
    FindSlow(member);
  }
}

SlowStepWaits::SlowStepWaits(const SlowStepWaits& other, const Fleet& fleet)
    : fleet_(fleet), most_waiting_(other.most_waiting_), member_of_(other.member_of_), members_(other.members_) {}

void SlowStepWaits::FindSlow(size_t member) {
  const SourceData& source = *fleet_.members[member].source;
  OfMember& of = members_[member];
  of.slow.clear();
  for (const size_t row : FindSlowRows(source)) of.slow.push_back({source.steps[row].window_start_ns, row});
  std::sort(of.slow.begin(), of.slow.end());
  of.told_ns = INT64_MIN;
  for (const StepRow& step : source.steps) of.told_ns = std::max(of.told_ns, step.window_end_ns);
}

void SlowStepWaits::Grow() {
  for (size_t member = 0; member < members_.size(); ++member) {
    FindSlow(member);
    OfMember& of = members_[member];
    for (; !of.waiting.empty() && of.waiting.front().at_ns < of.told_ns; of.waiting.pop_front()) {
      Take(member, of.waiting.front());
    }
  }
}

void SlowStepWaits::Close() {
  for (size_t member = 0; member < members_.size(); ++member) {
    for (const Wait& wait : members_[member].waiting) Take(member, wait);
    members_[member].waiting.clear();
  }
}

void SlowStepWaits::Take(size_t member, const Wait& wait) {
  OfMember& of = members_[member];
  const auto after = std::upper_bound(of.slow.begin(), of.slow.end(), Window{wait.at_ns, SIZE_MAX});
  if (after == of.slow.begin()) return;
  const size_t row = std::prev(after)->row;
  const StepRow& step = fleet_.members[member].source->steps[row];
  if (wait.at_ns < step.window_end_ns) of.waits[row][wait.awaits] += wait.wait_ns;
}

void SlowStepWaits::Add(const MatchedInstance& instance) {
  if (!instance.usable()) return;
  for (const MatchedMember& it : instance.members) {
    const int64_t member = it.awaits >= 0 ? member_of_[static_cast<size_t>(it.rank_index)] : -1;
    if (member < 0) continue;
    OfMember& of = members_[static_cast<size_t>(member)];
    const Wait wait{it.start_ns + it.correction_ns, it.awaits, it.wait_ns};
    if (most_waiting_ == 0 || wait.at_ns < of.told_ns) {
      Take(static_cast<size_t>(member), wait);
    } else if (of.waiting.size() < most_waiting_) {
      of.waiting.push_back(wait);
    }
  }
}

}  // namespace lockstep
