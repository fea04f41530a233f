#include "analysis/metrics/match/sparse_exchange.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

using Stretch = std::pair<int64_t, int64_t>;  // start, end

// Of several, in order of start: whether one runs beside none of the others.
bool AnyAlone(const std::vector<Stretch>& stretches) {
  int64_t latest_end = INT64_MIN;
  for (size_t i = 0; i < stretches.size() && stretches.size() > 1; ++i) {
    const bool before = i > 0 && latest_end >= stretches[i].first;
    const bool after = i + 1 < stretches.size() && stretches[i + 1].first <= stretches[i].second;
    if (!before && !after) return true;
    latest_end = std::max(latest_end, stretches[i].second);
  }
  return false;
}

// Some, but the minority of those that may have got nothing from the last one: all others.
bool AreFew(size_t without, size_t members) { return without > 0 && 2 * without < members - 1; }

}  // namespace

bool EndsByVolume(const JoinedInstance& joined) {
  return IsUnevenExchange(joined.instance.op, joined.instance.members.size());
}

bool IsSparseExchange(const JoinedInstance& joined, const ClockModel& clock) {
  if (!EndsByVolume(joined) || joined.receiver >= 0) return false;
  std::map<int32_t, std::vector<Stretch>> components;
  for (const MatchedMember& m : joined.instance.members) {
    const int64_t correction = clock.Correction(m.rank_index, LocalTime{m.start_ns}).ns;
    components[clock.ComponentOf(m.rank_index)].push_back({m.start_ns - correction, m.end_ns - correction});
  }
  size_t without = 0;
  for (auto& [component, stretches] : components) {
    std::sort(stretches.begin(), stretches.end());
    if (AnyAlone(stretches)) return false;
    const int64_t last_start_ns = stretches.back().first;
    without += static_cast<size_t>(
        std::count_if(stretches.begin(), stretches.end(), [&](const Stretch& s) { return s.second < last_start_ns; }));
  }
  return AreFew(without, joined.instance.members.size());
}

bool ShowsSparseExchange(const JoinedInstance& aligned, const ClockModel& clock) {
  if (!EndsByVolume(aligned) || aligned.receiver >= 0 || !aligned.instance.matched()) return false;
  const std::vector<MatchedMember>& members = aligned.instance.members;
  const MatchedMember& last =
      *std::max_element(members.begin(), members.end(),
                        [](const MatchedMember& a, const MatchedMember& b) { return a.start_ns < b.start_ns; });
  const auto got_nothing = [&](const MatchedMember& m) {
    if (m.end_ns >= last.start_ns) return false;
    const auto uncertainty = clock.PairUncertainty(m.rank_index, last.rank_index, AlignedTime{last.start_ns});
    return uncertainty && m.end_ns + uncertainty->ns < last.start_ns;
  };
  return AreFew(static_cast<size_t>(std::count_if(members.begin(), members.end(), got_nothing)), members.size());
}

}  // namespace lockstep
