#include "analysis/metrics/match/operation_time.h"

#include <algorithm>

#include "analysis/stats/order_statistic.h"
#include "analysis/stats/robust_deviation.h"

namespace lockstep {
namespace {

constexpr size_t kEnoughInstances = 8;  // among so many the longest is about as long as it gets

int64_t DurationOf(const MatchedMember& member) { return member.end_ns - member.start_ns; }

}  // namespace

LastTwo LastTwoOf(const MatchedInstance& instance) {
  LastTwo out;
  for (const MatchedMember& m : instance.members) {
    if (out.last == nullptr || m.start_ns > out.last->start_ns) {
      out.second = out.last;
      out.last = &m;
    } else if (out.second == nullptr || m.start_ns > out.second->start_ns) {
      out.second = &m;
    }
  }
  return out;
}

bool LatenessOfOne::TakesAsLongHoweverLate() const {
  constexpr double kClearlyMore = 2;
  if (instances_.size() < kEnoughInstances) return false;
  const int32_t last_rank = instances_.front().second->rank_index;
  const double own = ScatterOfEnds(last_rank);
  const std::vector<MatchedMember>& members = instances_.front().first->members;
  return std::all_of(members.begin(), members.end(), [&](const MatchedMember& m) {
    return m.rank_index == last_rank || ScatterOfEnds(m.rank_index) > kClearlyMore * own;
  });
}

double LatenessOfOne::ScatterOfEnds(int32_t rank_index) const {
  std::vector<double> ends_ns;
  for (const auto& [instance, last] : instances_) {
    for (const MatchedMember& m : instance->members) {
      if (m.rank_index == rank_index) ends_ns.push_back(static_cast<double>(last->end_ns - m.start_ns));
    }
  }
  return RobustDeviation(ends_ns);
}

void OperationTime::Add(const JoinedInstance& joined) {
  const MatchedInstance& instance = joined.instance;
  const MatchedMember* last = LastTwoOf(instance).last;
  durations_.push_back(DurationOf(*last));
  takes_ns_ = std::max(takes_ns_, durations_.back());
  longest_.push_back(0);
  for (const MatchedMember& m : instance.members) longest_.back() = std::max(longest_.back(), DurationOf(m));
  if (!ComesFromRoot(instance.op)) {
    shown_ = true;
    return;
  }
  // A late leaf of a broadcast finds its data in the buffers: it does not show how long one takes, its root does.
  of_last_[last->rank_index].Add(instance, *last);
  shown_ = shown_ || joined.root == last->rank_index || of_last_.size() == instance.members.size();
}

void OperationTime::Settle() {
  constexpr double kLeastLonger = 1.1;
  constexpr int64_t kFarLonger = 2;
  shown_ = shown_ || std::any_of(of_last_.begin(), of_last_.end(),
                                 [](const auto& last) { return last.second.TakesAsLongHoweverLate(); });
  instances_ = durations_.size();
  if (!shown_ && instances_ >= kEnoughInstances) {
    by_longest_ = true;
    takes_ns_ = OrderStatistic(std::move(longest_), instances_ * 3 / 4);
    clearly_longer_ns_ = kFarLonger * takes_ns_;
    return;
  }
  const auto least = static_cast<int64_t>(kLeastLonger * static_cast<double>(takes_ns_));
  clearly_longer_ns_ = std::max(2 * takes_ns_ - UpperMedian(std::move(durations_)), least);
}

bool OperationTime::IsKnown(const MatchedInstance& instance) const {
  const int64_t last_start = LastTwoOf(instance).last->start_ns;
  const auto ends_soon = [&](const MatchedMember& m) { return m.end_ns - last_start <= clearly_longer_ns_; };
  return shown_ || (by_longest_ && std::all_of(instance.members.begin(), instance.members.end(), ends_soon));
}

int64_t OperationTime::AtMost(const MatchedInstance& instance) const {
  const bool known = instances_ >= kEnoughInstances && IsKnown(instance);
  return known ? clearly_longer_ns_ : INT64_MAX;
}

}  // namespace lockstep
