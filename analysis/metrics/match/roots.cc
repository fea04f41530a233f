#include "analysis/metrics/match/roots.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analysis/metrics/match/operation_time.h"

namespace lockstep {
namespace {

constexpr int64_t kLeastTelling = 3;  // instances of a class that tell a rank to be root, before it is believed

using InstanceClass = std::pair<CollectiveOp, int64_t>;  // operation, bytes

bool IsRooted(const MatchedInstance& instance) { return ComesFromRoot(instance.op) || GoesToRoot(instance.op); }

bool TellsTime(const JoinedInstance& joined) {
  const MatchedInstance& instance = joined.instance;
  return joined.receiver < 0 && instance.usable() && !instance.lacking && IsRooted(instance);
}

bool Asks(const JoinedInstance& joined) { return joined.root == kNoRoot && TellsTime(joined); }

int64_t Between(const ClockModel& clock, const MatchedMember& a, const MatchedMember& b) {
  const auto uncertainty = clock.PairUncertainty(a.rank_index, b.rank_index, AlignedTime{b.start_ns});
  return uncertainty ? uncertainty->ns : kNeverArrived / 4;
}

// Which one of its class in its step each instance is, as its first member counts: at one place of a program messages
// are of one size, even where the trace does not tell it. -1: of no step.
std::vector<int32_t> PlacesInSteps(const std::vector<JoinedInstance>& joined) {
  struct Row {
    int32_t rank_index = 0;
    int64_t start_ns = 0;
    size_t instance = 0;
    bool is_first = false;  // member
    auto operator<=>(const Row&) const = default;
  };
  std::set<int32_t> first_members;
  for (const JoinedInstance& j : joined) {
    if (IsRooted(j.instance)) first_members.insert(j.instance.members.front().rank_index);
  }
  std::vector<Row> rows;
  for (size_t i = 0; i < joined.size(); ++i) {
    const MatchedInstance& instance = joined[i].instance;
    if (!IsRooted(instance) || instance.step == kNoStep) continue;
    for (const MatchedMember& m : instance.members) {
      if (!first_members.contains(m.rank_index)) continue;
      rows.push_back({m.rank_index, m.start_ns, i, &m == &instance.members.front()});
    }
  }
  std::sort(rows.begin(), rows.end());
  std::vector<int32_t> places(joined.size(), -1);
  std::map<std::pair<int64_t, InstanceClass>, int32_t> counts;  // of the rank in hand, by step
  for (size_t k = 0; k < rows.size(); ++k) {
    if (k > 0 && rows[k].rank_index != rows[k - 1].rank_index) counts.clear();
    const MatchedInstance& instance = joined[rows[k].instance].instance;
    const int32_t place = counts[{instance.step, {instance.op, instance.bytes}}]++;
    if (rows[k].is_first) places[rows[k].instance] = place;
  }
  return places;
}

// What an instance takes at most by itself, by its class, or more exactly by its place in the step.
void SetTakesAtMost(const std::map<InstanceClass, OperationTime>& of_class, std::vector<JoinedInstance>& joined) {
  const std::vector<int32_t> places = PlacesInSteps(joined);
  std::map<std::pair<InstanceClass, int32_t>, OperationTime> at_place;
  const auto key = [&](size_t i) {
    return std::pair(InstanceClass(joined[i].instance.op, joined[i].instance.bytes), places[i]);
  };
  for (size_t i = 0; i < joined.size(); ++i) {
    if (TellsTime(joined[i])) at_place[key(i)].Add(joined[i]);
  }
  for (auto& [place, time] : at_place) time.Settle();
  for (size_t i = 0; i < joined.size(); ++i) {
    if (!TellsTime(joined[i])) continue;
    joined[i].takes_at_most_ns =
        std::min(of_class.at(key(i).first).AtMost(joined[i].instance), at_place.at(key(i)).AtMost(joined[i].instance));
  }
}

// What the instances of one class tell about their roots.
class RootsOfClass {
 public:
  RootsOfClass(const ClockModel& clock, const OperationTime& time) : clock_(clock), time_(time) {}

  // The root that the instance tells.
  std::optional<int32_t> Add(const MatchedInstance& instance) {
    const std::optional<int32_t> root = ComesFromRoot(instance.op) ? AddFromRoot(instance) : AddToRoot(instance);
    if (root) ++told_[*root];
    return root;
  }

  [[nodiscard]] bool Believes(int32_t root) const {
    const auto at = told_.find(root);
    return at != told_.end() && at->second >= kLeastTelling && refuted_.count(root) == 0;
  }

 private:
  std::optional<int32_t> AddFromRoot(const MatchedInstance& instance) {
    const auto [last, second] = LastTwoOf(instance);
    bool some_ended = false;
    for (const MatchedMember& m : instance.members) {
      some_ended = some_ended || (&m != last && m.end_ns + Between(clock_, m, *last) < last->start_ns);
    }
    if (some_ended) {
      refuted_.insert(last->rank_index);
      return std::nullopt;
    }
    const int64_t late_ns = EarlierNs(*second, *last);
    const bool all_waited = late_ns > time_.takes_ns() || std::all_of(instance.members.begin(), instance.members.end(),
                                                                      [&, last = last](const MatchedMember& m) {
                                                                        return &m == last || Waited(m, *last);
                                                                      });
    return time_.IsKnown(instance) && all_waited ? std::optional(last->rank_index) : std::nullopt;
  }

  // By how much it certainly started before the last one; negative: not certainly.
  [[nodiscard]] int64_t EarlierNs(const MatchedMember& member, const MatchedMember& last) const {
    return last.start_ns - member.start_ns - Between(clock_, member, last);
  }

  // It took clearly longer than the operation does for who waits for nobody.
  [[nodiscard]] bool Waited(const MatchedMember& member, const MatchedMember& last) const {
    return EarlierNs(member, last) > 0 && member.end_ns - member.start_ns > time_.clearly_longer_ns();
  }

  // Whoever ended before the last one started got nothing from it. Of two that did not, the other one waited if it
  // started earlier than the operation takes, or took clearly longer.
  std::optional<int32_t> AddToRoot(const MatchedInstance& instance) {
    const MatchedMember* last = LastTwoOf(instance).last;
    const MatchedMember* other = nullptr;
    for (const MatchedMember& m : instance.members) {
      if (&m == last) continue;
      if (m.end_ns + Between(clock_, m, *last) < last->start_ns) {
        refuted_.insert(m.rank_index);
        continue;
      }
      if (other != nullptr) return std::nullopt;
      other = &m;
    }
    if (other == nullptr) return last->rank_index;
    const bool waited = EarlierNs(*other, *last) > time_.takes_ns() || Waited(*other, *last);
    return waited ? std::optional(other->rank_index) : std::nullopt;
  }

  const ClockModel& clock_;
  const OperationTime& time_;
  std::map<int32_t, int64_t> told_;  // how often each rank is
  std::set<int32_t> refuted_;
};

}  // namespace

void InferRoots(const ClockModel& clock, std::vector<JoinedInstance>& joined) {
  std::map<InstanceClass, OperationTime> times;
  for (const JoinedInstance& j : joined) {
    if (TellsTime(j)) times[{j.instance.op, j.instance.bytes}].Add(j);
  }
  if (times.empty()) return;
  std::map<InstanceClass, RootsOfClass> classes;
  for (auto& [kind, time] : times) {
    time.Settle();
    classes.try_emplace(kind, clock, time);
  }
  std::vector<std::pair<JoinedInstance*, int32_t>> told;
  for (JoinedInstance& j : joined) {
    if (!Asks(j)) continue;
    const auto root = classes.at({j.instance.op, j.instance.bytes}).Add(j.instance);
    if (root) told.emplace_back(&j, *root);
  }
  for (auto& [j, root] : told) {
    if (classes.at({j->instance.op, j->instance.bytes}).Believes(root)) j->root = root;
  }
  SetTakesAtMost(times, joined);
}

}  // namespace lockstep
