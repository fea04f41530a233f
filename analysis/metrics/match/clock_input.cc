#include "analysis/metrics/match/clock_input.h"

#include <algorithm>
#include <iterator>

#include "analysis/metrics/match/certificate.h"
#include "analysis/metrics/match/order_score.h"
#include "analysis/metrics/match/sparse_exchange.h"

namespace lockstep {
namespace {

std::vector<int32_t> ComponentsOfRanks(const ClockModel& clock, size_t ranks) {
  std::vector<int32_t> out;
  for (size_t r = 0; r < ranks; ++r) out.push_back(clock.ComponentOf(static_cast<int32_t>(r)));
  return out;
}

MatchedInstance Aligned(const MatchedInstance& instance, const ClockModel& clock) {
  MatchedInstance out;
  out.op = instance.op;
  for (MatchedMember m : instance.members) {
    const int64_t correction = clock.Correction(m.rank_index, LocalTime{m.start_ns}).ns;
    m.start_ns -= correction;
    m.end_ns -= correction;
    out.members.push_back(m);
  }
  return out;
}

// Without the sparse exchanges, if these are few: what they lack says nothing against the others.
std::vector<const JoinedInstance*> WithoutSparse(const std::vector<const JoinedInstance*>& joined,
                                                 const ClockModel& clock) {
  constexpr size_t kFewOneIn = 5;
  std::vector<const JoinedInstance*> out;
  std::copy_if(joined.begin(), joined.end(), std::back_inserter(out),
               [&](const JoinedInstance* j) { return !IsSparseExchange(*j, clock); });
  return (joined.size() - out.size()) * kFewOneIn <= joined.size() ? out : joined;
}

bool AlignedCommonPointsHold(const std::vector<const JoinedInstance*>& joined, const std::vector<RankRows>& rows,
                             const ClockModel& clock) {
  std::vector<MatchedInstance> aligned;
  aligned.reserve(joined.size());
  for (const JoinedInstance* j : joined) aligned.push_back(Aligned(j->instance, clock));
  std::vector<const MatchedInstance*> instances;
  for (const MatchedInstance& i : aligned) instances.push_back(&i);
  const Certificate certificate = Certify(instances, ComponentsOfRanks(clock, rows.size()), rows);
  return certificate.checked > 0 && certificate.rate() >= kMinCommonRate;
}

// A number without the rhythm of the program that the positions have.
uint64_t Scattered(size_t position) {
  constexpr uint64_t kOddFraction = 0x9e3779b97f4a7c15;  // 2^64 by the golden ratio
  return (static_cast<uint64_t>(position) * kOddFraction) >> 32;
}

}  // namespace

AllPairs FindAllPairs(const CommunicatorJoin& join, const std::vector<RankRows>& rows, const ClockModel& clock) {
  std::map<CollectiveOp, std::vector<const JoinedInstance*>> by_op;
  for (const JoinedInstance& j : join.instances) {
    if (!MayBeAllPairs(j.instance.op) || IsAllPairs(j.instance.op)) continue;  // known without a look
    if (j.receiver < 0 && j.instance.matched() && j.instance.confidence >= kCertainConfidence) {
      by_op[j.instance.op].push_back(&j);
    }
  }
  AllPairs out;
  for (const auto& [op, instances] : by_op) {
    out[op] = AlignedCommonPointsHold(WithoutSparse(instances, clock), rows, clock);
  }
  return out;
}

bool BindsAllPairs(const AllPairs& all_pairs, const JoinedInstance& joined) {
  const auto at = all_pairs.find(joined.instance.op);
  return joined.receiver < 0 && !joined.sparse && (at == all_pairs.end() ? IsAllPairs(joined.instance.op) : at->second);
}

ClockInputBuilder::ClockInputBuilder(const std::vector<int32_t>& domain, const std::vector<RankRows>& rows) {
  input_.domain = domain;
  for (const RankRows& r : rows) input_.tick_ns.push_back(r.tick_ns);
}

void ClockInputBuilder::Add(size_t communicator, const CommunicatorJoin& join, const AllPairs& all_pairs, size_t most) {
  for (const size_t i : Chosen(join, most)) {
    const JoinedInstance& j = join.instances[i];
    if (j.receiver >= 0) {
      AddOne(communicator, i, j, ClockRelation::kOneWay, j.sender);
    } else if (BindsAllPairs(all_pairs, j)) {
      AddOne(communicator, i, j, ClockRelation::kAllPairs, -1);
    } else if (j.root >= 0) {
      const bool to_root = j.instance.op == CollectiveOp::kReduce || j.instance.op == CollectiveOp::kGather;
      AddOne(communicator, i, j, to_root ? ClockRelation::kToOne : ClockRelation::kOneWay, j.root);
    }
  }
}

// The confident ones, or so many that cannot be refuted and all others, in order of their places.
std::vector<size_t> ClockInputBuilder::Chosen(const CommunicatorJoin& join, size_t most) const {
  const size_t one_in = join.instances.size() <= most ? 1 : 1 + (join.instances.size() - 1) / most;
  std::vector<size_t> out;
  for (size_t i = 0; i < join.instances.size(); ++i) {
    const JoinedInstance& j = join.instances[i];
    if (one_in > 1 && Scattered(j.place) % one_in != 0 && CannotBeRefuted(j.instance)) continue;
    if (j.instance.matched() && j.instance.confidence >= kCertainConfidence) out.push_back(i);
  }
  std::sort(out.begin(), out.end(),
            [&](size_t a, size_t b) { return join.instances[a].place < join.instances[b].place; });
  return out;
}

// By the clocks: those joined by id are not, and within one domain there are no bounds to contradict.
bool ClockInputBuilder::CannotBeRefuted(const MatchedInstance& instance) const {
  if (instance.kind == MatchKind::kId) return true;
  const auto domain_of = [&](const MatchedMember& m) { return input_.domain[static_cast<size_t>(m.rank_index)]; };
  return std::all_of(instance.members.begin(), instance.members.end(),
                     [&](const MatchedMember& m) { return domain_of(m) == domain_of(instance.members.front()); });
}

void ClockInputBuilder::AddOne(size_t communicator, size_t position, const JoinedInstance& joined,
                               ClockRelation relation, int32_t first_rank) {
  std::vector<ClockMember> members;
  for (const MatchedMember& m : joined.instance.members) members.push_back({m.rank_index, m.start_ns, m.end_ns});
  if (relation != ClockRelation::kAllPairs) {
    const auto first =
        std::find_if(members.begin(), members.end(), [&](const ClockMember& m) { return m.rank_index == first_rank; });
    if (first == members.end()) return;
    std::rotate(members.begin(), first, first + 1);
  }
  const auto cls = classes_.try_emplace({communicator, joined.instance.op, joined.instance.bytes},
                                        static_cast<uint32_t>(classes_.size()));
  input_.instances.push_back({static_cast<uint32_t>(input_.members.size()), static_cast<uint32_t>(members.size()),
                              relation, cls.first->second, EndsByVolume(joined)});
  input_.members.insert(input_.members.end(), members.begin(), members.end());
  origin_.emplace_back(communicator, position);
}

}  // namespace lockstep
