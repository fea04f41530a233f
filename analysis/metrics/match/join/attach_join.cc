#include "analysis/metrics/match/join/attach_join.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analysis/metrics/match/join/clock_join.h"

namespace lockstep {
namespace {

using RowKey = std::pair<int32_t, int64_t>;  // rank index, row

class Attacher {
 public:
  Attacher(const JoinInput& input, IdJoin& join) : input_(input), join_(join) {
    for (size_t i = 0; i < join.instances.size(); ++i) {
      for (const MatchedMember& m : join.instances[i].instance.members) instance_of_[{m.rank_index, m.row}] = i;
    }
  }

  // `by_time`: instances of all rows, by time alone.
  void Run(const std::vector<JoinedInstance>& by_time) {
    for (const JoinedInstance& timed : by_time) Take(timed.instance);
  }

 private:
  void Take(const MatchedInstance& timed) {
    std::vector<RowRef> strays;
    std::set<size_t> hosts;
    for (const MatchedMember& m : timed.members) {
      const auto at = instance_of_.find({m.rank_index, m.row});
      if (at == instance_of_.end()) {
        strays.push_back(RefOf(input_, m));
      } else {
        hosts.insert(at->second);
      }
    }
    if (strays.empty()) return;
    const bool sure = timed.matched() && timed.confidence >= kCertainConfidence;
    if (sure && hosts.empty()) {
      Add(strays, timed.kind, timed.confidence);
    } else if (sure && hosts.size() == 1 && HasRoom(join_.instances[*hosts.begin()].instance, strays)) {
      Extend(join_.instances[*hosts.begin()], std::move(strays), timed.confidence);
    } else {
      const MatchKind kind = timed.kind == MatchKind::kNone ? MatchKind::kNone : MatchKind::kAmbiguous;
      for (const RowRef& ref : strays) Add({ref}, kind, 0);
    }
  }

  // No member has two rows in one instance.
  [[nodiscard]] bool HasRoom(const MatchedInstance& instance, const std::vector<RowRef>& strays) const {
    return std::none_of(strays.begin(), strays.end(), [&](const RowRef& ref) {
      return std::any_of(instance.members.begin(), instance.members.end(),
                         [&](const MatchedMember& m) { return m.rank_index == input_.plan.ranks[ref.member]; });
    });
  }

  void Extend(JoinedInstance& joined, std::vector<RowRef> members, double confidence) const {
    for (const MatchedMember& m : joined.instance.members) members.push_back(RefOf(input_, m));
    const size_t place = joined.place;
    joined = MakeInstance(input_, members, MatchKind::kId, std::min(joined.instance.confidence, confidence));
    joined.place = place;
  }

  void Add(const std::vector<RowRef>& members, MatchKind kind, double confidence) {
    join_.instances.push_back(MakeInstance(input_, members, kind, confidence));
  }

  const JoinInput& input_;
  IdJoin& join_;
  std::map<RowKey, size_t> instance_of_;
};

}  // namespace

void AttachByTime(const JoinInput& input, const std::vector<std::vector<RowRef>>& rows, IdJoin& join) {
  const std::optional<CommunicatorJoin> by_time = JoinOnClock(input, rows);
  if (by_time) {
    Attacher(input, join).Run(by_time->instances);
    return;
  }
  for (const RowRef& ref : join.without) {
    join.instances.push_back(MakeInstance(input, {ref}, MatchKind::kAmbiguous, 0));
  }
}

}  // namespace lockstep
