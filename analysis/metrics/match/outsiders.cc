#include "analysis/metrics/match/outsiders.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>

namespace lockstep {
namespace {

constexpr size_t kFewInstances = 12;  // tell no 90th percentile
// Transfers of one size on two hosts differ by so much: waiting for a late rank makes more of a difference.
constexpr int64_t kAlikeNs = 6'000;  // biases of the devices, which move the last start and the first end
constexpr int64_t kAlikePart = 4;

// What a plan is compared by.
struct Outline {
  std::map<CollectiveOp, size_t> rows;  // of each member, the most
  int64_t usual_ns = 0;                 // of an instance after its last arrival: median, and
  int64_t long_ns = 0;                  // 90th percentile; 0 where few instances tell it
};

// Until its first end where all wait for all; else until its last one, as only the root may wait.
int64_t AfterLastArrival(const MatchedInstance& instance, const ClockModel& clock) {
  int64_t last_start = INT64_MIN;
  int64_t first_end = INT64_MAX;
  int64_t last_end = INT64_MIN;
  for (const MatchedMember& m : instance.members) {
    const int64_t correction_ns = clock.Correction(m.rank_index, LocalTime{m.start_ns}).ns;
    last_start = std::max(last_start, m.start_ns - correction_ns);
    first_end = std::min(first_end, m.end_ns - correction_ns);
    last_end = std::max(last_end, m.end_ns - correction_ns);
  }
  return std::max<int64_t>(0, (IsAllPairs(instance.op) ? first_end : last_end) - last_start);
}

Outline OutlineOf(const CommunicatorPlan& plan, const CommunicatorJoin& join, const std::vector<RankRows>& rows,
                  const ClockModel& clock) {
  Outline out;
  for (size_t m = 0; m < plan.ranks.size(); ++m) {
    std::map<CollectiveOp, size_t> of_rank;
    for (const uint32_t row : plan.rows[m]) ++of_rank[rows[static_cast<size_t>(plan.ranks[m])].rows[row].op];
    for (const auto& [op, count] : of_rank) out.rows[op] = std::max(out.rows[op], count);
  }
  std::vector<int64_t> after;
  for (const JoinedInstance& j : join.instances) {
    const bool tells = j.instance.matched() && j.instance.confidence >= kCertainConfidence;
    if (tells) after.push_back(AfterLastArrival(j.instance, clock));
  }
  if (after.size() < kFewInstances) return out;
  std::sort(after.begin(), after.end());
  out.usual_ns = after[after.size() / 2];
  out.long_ns = after[after.size() * 9 / 10];
  return out;
}

bool RunTheSame(const Outline& a, const Outline& b) {
  constexpr size_t kFewOneIn = 4;
  size_t common = 0;
  size_t all = 0;
  for (const auto& [op, count] : a.rows) {
    all += count;
    const auto found = b.rows.find(op);
    if (found != b.rows.end()) common += std::min(count, found->second);
  }
  return common * kFewOneIn >= all;
}

bool Alike(int64_t a, int64_t b) { return std::abs(a - b) <= std::max(kAlikeNs, std::max(a, b) / kAlikePart); }

bool TakeEquallyLong(const Outline& a, const Outline& b) {
  return std::min(a.usual_ns, b.usual_ns) > 0 && Alike(a.usual_ns, b.usual_ns) && Alike(a.long_ns, b.long_ns);
}

}  // namespace

std::vector<bool> MayHaveOutsiders(const std::vector<CommunicatorPlan>& plans,
                                   const std::vector<CommunicatorJoin>& joins, const std::vector<RankRows>& rows,
                                   const RankResolution& ranks, const ClockModel& clock) {
  std::vector<Outline> outlines;
  for (size_t c = 0; c < plans.size(); ++c) {
    const bool told = plans[c].membership == Membership::kKnown;
    outlines.push_back(told ? Outline{} : OutlineOf(plans[c], joins[c], rows, clock));
  }
  const auto may_be_one = [&](size_t c, size_t other) {
    if (other == c || plans[other].membership == Membership::kKnown || !RunTheSame(outlines[c], outlines[other]))
      return false;
    if (plans[other].membership == Membership::kUnknown) {
      return std::any_of(plans[other].ranks.begin(), plans[other].ranks.end(), [&](int32_t rank) {
        return !std::binary_search(plans[c].ranks.begin(), plans[c].ranks.end(), rank);
      });
    }
    return clock.ComponentOf(plans[c].ranks.front()) != clock.ComponentOf(plans[other].ranks.front()) &&
           !TakeEquallyLong(outlines[c], outlines[other]);
  };
  std::vector<bool> out;
  for (size_t c = 0; c < plans.size(); ++c) {
    bool may = MayLackMembers(plans[c], ranks);
    const bool inferred = plans[c].membership == Membership::kInferred && !plans[c].ranks.empty();
    for (size_t other = 0; inferred && !may && other < plans.size(); ++other) may = may_be_one(c, other);
    out.push_back(may);
  }
  return out;
}

}  // namespace lockstep
