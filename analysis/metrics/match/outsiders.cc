#include "analysis/metrics/match/outsiders.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <utility>

namespace lockstep {
namespace {

constexpr size_t kFewInstances = 12;  // do not show how long the operations of a group take
// Transfers of one size on two hosts differ by so much: waiting for a late rank makes more of a difference.
constexpr int64_t kAlikeNs = 6'000;  // biases of the devices, which move the last start and the first end
constexpr int64_t kAlikePart = 4;
constexpr int64_t kLittlePart = 200;  // of the time from first to last instance: waiting that does not matter

// Instances that take about equally long after their last arrival.
struct Lengths {
  int64_t count = 0;
  int64_t sum_ns = 0;
  [[nodiscard]] int64_t mean_ns() const { return sum_ns / count; }
};

// What a plan is compared by.
struct Outline {
  std::map<CollectiveOp, size_t> rows;  // of each member, the most
  size_t instances = 0;                 // that tell how long they take
  // Their lengths by operation (HalvesOf).
  std::map<CollectiveOp, std::vector<Lengths>> halves;
  int64_t span_ns = 0;  // from the first of them to the last
};

// The shorter half of the lengths, the shorter half of what is left, and so on until one is left.
std::vector<Lengths> HalvesOf(std::vector<int64_t> lengths) {
  std::sort(lengths.begin(), lengths.end());
  std::vector<Lengths> halves;
  for (size_t begin = 0; begin < lengths.size();) {
    const size_t left = lengths.size() - begin;
    const size_t end = begin + std::max<size_t>(1, left / 2);
    Lengths& half = halves.emplace_back();
    for (; begin < end; ++begin) {
      ++half.count;
      half.sum_ns += lengths[begin];
    }
  }
  return halves;
}

// The same in `count` parts: the last ones are put together.
std::vector<Lengths> AsMany(std::vector<Lengths> halves, size_t count) {
  while (halves.size() > count) {
    const Lengths last = halves.back();
    halves.pop_back();
    halves.back().count += last.count;
    halves.back().sum_ns += last.sum_ns;
  }
  return halves;
}

struct AfterArrival {
  int64_t last_start = INT64_MIN;
  int64_t end = 0;
  [[nodiscard]] int64_t ns() const { return std::max<int64_t>(0, end - last_start); }
};

// Until its first end where all wait for all; else until its last one, as only the root may wait.
AfterArrival AfterLastArrival(const MatchedInstance& instance, const ClockModel& clock) {
  int64_t last_start = INT64_MIN;
  int64_t first_end = INT64_MAX;
  int64_t last_end = INT64_MIN;
  for (const MatchedMember& m : instance.members) {
    const int64_t correction_ns = clock.Correction(m.rank_index, LocalTime{m.start_ns}).ns;
    last_start = std::max(last_start, m.start_ns - correction_ns);
    first_end = std::min(first_end, m.end_ns - correction_ns);
    last_end = std::max(last_end, m.end_ns - correction_ns);
  }
  return {last_start, IsAllPairs(instance.op) ? first_end : last_end};
}

Outline OutlineOf(const CommunicatorPlan& plan, const CommunicatorJoin& join, const std::vector<RankRows>& rows,
                  const ClockModel& clock) {
  Outline out;
  for (size_t m = 0; m < plan.ranks.size(); ++m) {
    std::map<CollectiveOp, size_t> of_rank;
    for (const uint32_t row : plan.rows[m]) ++of_rank[rows[static_cast<size_t>(plan.ranks[m])].rows[row].op];
    for (const auto& [op, count] : of_rank) out.rows[op] = std::max(out.rows[op], count);
  }
  std::map<CollectiveOp, std::vector<int64_t>> lengths;
  int64_t first_ns = INT64_MAX;
  int64_t last_ns = INT64_MIN;
  for (const JoinedInstance& j : join.instances) {
    // Where a member has lost its record, the others may have waited for it.
    const bool whole = j.instance.members.size() == plan.ranks.size();
    if (!whole || !j.instance.matched() || j.instance.confidence < kCertainConfidence) continue;
    const AfterArrival arrival = AfterLastArrival(j.instance, clock);
    lengths[j.instance.op].push_back(arrival.ns());
    ++out.instances;
    first_ns = std::min(first_ns, arrival.last_start);
    last_ns = std::max(last_ns, arrival.end);
  }
  out.span_ns = lengths.empty() ? 0 : last_ns - first_ns;
  for (auto& [op, of_op] : lengths) out.halves[op] = HalvesOf(std::move(of_op));
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

// By how much the instances of an operation differ in how long they take, in all.
int64_t Difference(const std::vector<Lengths>& a, const std::vector<Lengths>& b) {
  const size_t count = std::min(a.size(), b.size());
  const std::vector<Lengths> of_a = AsMany(a, count);
  const std::vector<Lengths> of_b = AsMany(b, count);
  int64_t differ_ns = 0;
  for (size_t i = 0; i < count; ++i) {
    if (Alike(of_a[i].mean_ns(), of_b[i].mean_ns())) continue;
    differ_ns += std::min(of_a[i].count, of_b[i].count) * std::abs(of_a[i].mean_ns() - of_b[i].mean_ns());
  }
  return differ_ns;
}

// A group that waits in some instances for a member elsewhere has some that take longer: the longest of one group are
// compared with the longest of the other, and so on.
bool TakeEquallyLong(const Outline& a, const Outline& b) {
  if (std::min(a.instances, b.instances) < kFewInstances) return false;
  int64_t differ_ns = 0;
  for (const auto& [op, halves] : a.halves) {
    const auto other = b.halves.find(op);
    if (other != b.halves.end()) differ_ns += Difference(halves, other->second);
  }
  return differ_ns <= std::max(a.span_ns, b.span_ns) / kLittlePart;
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
