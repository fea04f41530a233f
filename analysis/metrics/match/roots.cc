#include "analysis/metrics/match/roots.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr int64_t kLeastTelling = 3;  // instances of a class that tell a rank to be root, before it is believed

using InstanceClass = std::pair<CollectiveOp, int64_t>;  // operation, bytes

bool Asks(const JoinedInstance& joined) {
  const MatchedInstance& instance = joined.instance;
  return joined.root == kNoRoot && joined.receiver < 0 && instance.usable() && !instance.lacking &&
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

// What the instances of one class tell about their roots.
class RootsOfClass {
 public:
  explicit RootsOfClass(const ClockModel& clock) : clock_(clock) {}

  // Who starts last waits for nobody: its duration is what the operation takes.
  void AddDuration(const MatchedInstance& instance) {
    const MatchedMember* last = LastTwoOf(instance).last;
    takes_ns_ = std::max(takes_ns_, last->end_ns - last->start_ns);
    durations_.push_back(last->end_ns - last->start_ns);
  }
  // After all of them: beyond what an operation of the class takes, however much that scatters.
  void SetClearlyLonger() {
    const auto least = static_cast<int64_t>(kLeastLonger * static_cast<double>(takes_ns_));
    clearly_longer_ns_ = std::max(2 * takes_ns_ - UpperMedian(std::move(durations_)), least);
  }

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
    const bool all_waited =
        std::all_of(instance.members.begin(), instance.members.end(),
                    [&, last = last](const MatchedMember& m) { return &m == last || Waited(m, *last); });
    return late_ns > takes_ns_ || all_waited ? std::optional(last->rank_index) : std::nullopt;
  }

  // By how much it certainly started before the last one; negative: not certainly.
  [[nodiscard]] int64_t EarlierNs(const MatchedMember& member, const MatchedMember& last) const {
    return last.start_ns - member.start_ns - Between(clock_, member, last);
  }

  // It took clearly longer than the operation does for who waits for nobody.
  [[nodiscard]] bool Waited(const MatchedMember& member, const MatchedMember& last) const {
    return EarlierNs(member, last) > 0 && member.end_ns - member.start_ns > clearly_longer_ns_;
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
    const bool waited = EarlierNs(*other, *last) > takes_ns_ || Waited(*other, *last);
    return waited ? std::optional(other->rank_index) : std::nullopt;
  }

  static constexpr double kLeastLonger = 1.1;

  const ClockModel& clock_;
  int64_t takes_ns_ = 0;
  int64_t clearly_longer_ns_ = 0;
  std::vector<int64_t> durations_;   // of last starters
  std::map<int32_t, int64_t> told_;  // how often each rank is
  std::set<int32_t> refuted_;
};

}  // namespace

void InferRoots(const ClockModel& clock, std::vector<JoinedInstance>& joined) {
  std::map<InstanceClass, RootsOfClass> classes;
  for (const JoinedInstance& j : joined) {
    if (!Asks(j)) continue;
    classes.try_emplace({j.instance.op, j.instance.bytes}, clock).first->second.AddDuration(j.instance);
  }
  if (classes.empty()) return;
  for (auto& [kind, roots] : classes) roots.SetClearlyLonger();
  std::vector<std::pair<JoinedInstance*, int32_t>> told;
  for (JoinedInstance& j : joined) {
    if (!Asks(j)) continue;
    const auto root = classes.at({j.instance.op, j.instance.bytes}).Add(j.instance);
    if (root) told.emplace_back(&j, *root);
  }
  for (auto& [j, root] : told) {
    if (classes.at({j->instance.op, j->instance.bytes}).Believes(root)) j->root = root;
  }
}

}  // namespace lockstep
