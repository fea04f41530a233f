#include "analysis/metrics/match/roots.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace lockstep {
namespace {

// So many instances must tell a root, and agree, before it is taken for that of those that do not.
constexpr int64_t kLeastTelling = 3;

using InstanceClass = std::pair<CollectiveOp, int64_t>;  // operation, bytes

bool Asks(const JoinedInstance& joined) {
  const MatchedInstance& instance = joined.instance;
  return joined.root == kNoRoot && joined.receiver < 0 && instance.usable() &&
         (ComesFromRoot(instance.op) || GoesToRoot(instance.op));
}

int64_t Between(const ClockModel& clock, const MatchedMember& a, const MatchedMember& b) {
  const auto uncertainty = clock.PairUncertainty(a.rank_index, b.rank_index, AlignedTime{b.start_ns});
  return uncertainty ? uncertainty->ns : kNeverArrived / 4;
}

struct LastTwo {
  const MatchedMember* last = nullptr;
  const MatchedMember* second = nullptr;
};

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

// What the instances of one class tell about their root.
class RootsOfClass {
 public:
  explicit RootsOfClass(const ClockModel& clock) : clock_(clock) {}

  void AddDurations(const MatchedInstance& instance) { least_ns_ = std::min(least_ns_, instance.shortest_duration_ns); }

  // The root that the instance tells alone.
  std::optional<int32_t> Add(const MatchedInstance& instance) {
    return ComesFromRoot(instance.op) ? AddFromRoot(instance) : AddToRoot(instance);
  }

  // That of all of them.
  [[nodiscard]] std::optional<int32_t> Root() const {
    if (telling_ < kLeastTelling || told_.size() != 1 || refuted_.count(*told_.begin()) > 0) return std::nullopt;
    return *told_.begin();
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
    const int64_t late_ns = last->start_ns - second->start_ns - Between(clock_, *second, *last);
    return late_ns > least_ns_ ? std::optional(Told(last->rank_index)) : std::nullopt;
  }

  // Whoever ended before the last one started got nothing from it. Of two that did not, the other one waited if it
  // started earlier than the operation takes.
  std::optional<int32_t> AddToRoot(const MatchedInstance& instance) {
    const MatchedMember* last = LastTwoOf(instance).last;
    const MatchedMember* other = nullptr;
    for (const MatchedMember& m : instance.members) {
      if (&m == last || m.end_ns + Between(clock_, m, *last) < last->start_ns) continue;
      if (other != nullptr) return std::nullopt;
      other = &m;
    }
    if (other == nullptr) return Told(last->rank_index);
    const int64_t early_ns = last->start_ns - other->start_ns - Between(clock_, *other, *last);
    return early_ns > least_ns_ ? std::optional(Told(other->rank_index)) : std::nullopt;
  }

  int32_t Told(int32_t rank_index) {
    told_.insert(rank_index);
    ++telling_;
    return rank_index;
  }

  const ClockModel& clock_;
  int64_t least_ns_ = INT64_MAX;
  int64_t telling_ = 0;
  std::set<int32_t> told_;
  std::set<int32_t> refuted_;
};

}  // namespace

void InferRoots(const ClockModel& clock, std::vector<JoinedInstance>& joined) {
  std::map<InstanceClass, RootsOfClass> classes;
  for (const JoinedInstance& j : joined) {
    if (!Asks(j)) continue;
    classes.try_emplace({j.instance.op, j.instance.bytes}, clock).first->second.AddDurations(j.instance);
  }
  if (classes.empty()) return;
  std::vector<std::pair<JoinedInstance*, std::optional<int32_t>>> asked;
  for (JoinedInstance& j : joined) {
    if (Asks(j)) asked.emplace_back(&j, classes.at({j.instance.op, j.instance.bytes}).Add(j.instance));
  }
  for (auto& [j, own] : asked) {
    const std::optional<int32_t> of_class = classes.at({j->instance.op, j->instance.bytes}).Root();
    j->root = of_class ? *of_class : own.value_or(kNoRoot);
  }
}

}  // namespace lockstep
