#include "analysis/metrics/match/run_matcher.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "analysis/base/disjoint_sets.h"
#include "analysis/base/executor.h"
#include "analysis/base/status_macros.h"
#include "analysis/metrics/match/blocking_sends.h"
#include "analysis/metrics/match/clock_input.h"
#include "analysis/metrics/match/collective_rows.h"
#include "analysis/metrics/match/communicators.h"
#include "analysis/metrics/match/instance_words.h"
#include "analysis/metrics/match/join/instance_join.h"
#include "analysis/metrics/match/known_groups.h"
#include "analysis/metrics/match/lanes/coarse_clocks.h"
#include "analysis/metrics/match/lanes/device_bias.h"
#include "analysis/metrics/match/lanes/host_clocks.h"
#include "analysis/metrics/match/lanes/membership.h"
#include "analysis/metrics/match/least_durations.h"
#include "analysis/metrics/match/match_counts.h"
#include "analysis/metrics/match/outsiders.h"
#include "analysis/metrics/match/roots.h"
#include "analysis/metrics/match/sequence_breaks.h"
#include "analysis/metrics/match/sparse_exchange.h"
#include "analysis/metrics/run/host_domains.h"
#include "analysis/model/instance_source.h"

namespace lockstep {
namespace {

constexpr int kAlignRounds = 2;

// Instances of a communicator that align the clocks of a stretch, in which they move little.
constexpr size_t kEnoughOfStretch = 384;
constexpr size_t kEnoughPairEnds = 192;

struct Work {
  const RankResolution& ranks;
  std::vector<RankRows> rows;
  std::vector<CommunicatorPlan> plans;
  std::vector<CommunicatorJoin> joins;  // per plan
  DomainPlan domains;
  bool domains_known = false;  // by an earlier stretch
};

ClockModel UnknownClocks(const DomainPlan& domains) {
  ClockModel out;
  for (size_t r = 0; r < domains.domain.size(); ++r)
    out.SetDomain(static_cast<int32_t>(r), DomainId{domains.domain[r]});
  return out;
}

// Rows in confident instances: two halves of an instance that are put together are no fewer.
int64_t ConfidentRows(const CommunicatorJoin& join) {
  int64_t rows = 0;
  for (const JoinedInstance& j : join.instances) {
    const bool certain = j.instance.matched() && j.instance.confidence >= kCertainConfidence;
    if (certain) rows += static_cast<int64_t>(j.instance.members.size());
  }
  return rows;
}

CommunicatorJoin JoinOne(const Work& work, size_t c, const ClockModel& clock) {
  return JoinInstances(
      {work.plans[c], static_cast<uint32_t>(c), work.ranks, work.rows, work.domains.domain, clock, work.domains_known});
}

// Joins again on better clocks what these can decide; keeps what they could not.
void Rejoin(Work& work, const ClockModel& clock, Executor& executor) {
  executor.ParallelFor(work.plans.size(), [&](size_t c) {
    if (work.joins[c].settled || !CanJoin(work.plans[c])) return;
    CommunicatorJoin again = JoinOne(work, c, clock);
    if (2 * ConfidentRows(again) >= ConfidentRows(work.joins[c])) work.joins[c] = std::move(again);
  });
}

void JoinPlans(Work& work, const ClockModel& clock, bool settled_too, Executor& executor) {
  work.joins.resize(work.plans.size());
  executor.ParallelFor(work.plans.size(), [&](size_t c) {
    if (work.joins[c].settled && !settled_too) return;
    work.joins[c] = JoinOne(work, c, clock);
  });
}

// Joins what can be joined before the members of all communicators are known.
void JoinKnownPlans(Work& work, Executor& executor) {
  const ClockModel unknown = UnknownClocks(work.domains);
  work.joins.clear();
  work.joins.resize(work.plans.size());
  executor.ParallelFor(work.plans.size(), [&](size_t c) {
    if (CanJoin(work.plans[c])) work.joins[c] = JoinOne(work, c, unknown);
  });
}

// Joins with the planned domains; where the joined instances refute one, splits it and joins again.
void JoinAndRefine(Work& work, Executor& executor) {
  JoinKnownPlans(work, executor);
  std::vector<ClockEvidence> evidence = ClocksOfHosts(work.plans, work.domains, work.rows, executor);
  std::set<int32_t> refuted;
  for (const ClockEvidence& e : evidence) refuted.insert(work.domains.domain[static_cast<size_t>(e.rank_a)]);
  for (const CommunicatorJoin& join : work.joins) {
    // What was joined as if on one clock, on clocks that are not one, says nothing of them.
    std::copy_if(join.evidence.begin(), join.evidence.end(), std::back_inserter(evidence), [&](const ClockEvidence& e) {
      return refuted.count(work.domains.domain[static_cast<size_t>(e.rank_a)]) == 0;
    });
  }
  DomainPlan refined = RefineDomains(work.domains, evidence);
  const bool changed = refined.domain != work.domains.domain;
  work.domains = std::move(refined);
  if (changed) JoinKnownPlans(work, executor);
}

std::vector<AllPairs> AllPairsOf(const Work& work, const ClockModel& clock, Executor& executor) {
  std::vector<AllPairs> out(work.plans.size());
  executor.ParallelFor(out.size(), [&](size_t c) { out[c] = FindAllPairs(work.joins[c], work.rows, clock); });
  return out;
}

// Instances that contradict the rest were joined wrongly, unless ids say otherwise: then their times are damaged. An
// uneven exchange of members that the trace tells, or that their order joins, may merely have had nothing for one of
// them.
void Demote(Work& work, const ClockInputBuilder& input, const ClockSolution& solution) {
  for (const uint32_t s : solution.suspicious) {
    const auto [c, i] = input.Origin(s);
    JoinedInstance& joined = work.joins[c].instances[i];
    MatchedInstance& instance = joined.instance;
    const bool may_be = instance.kind != MatchKind::kInferred || joined.by_order;
    joined.sparse = may_be && IsSparseExchange(joined, solution.model);
    if (instance.kind == MatchKind::kId || joined.sparse) continue;
    instance.kind = MatchKind::kAmbiguous;
    instance.confidence = std::min(instance.confidence, kAmbiguousConfidence);
  }
}

// Aligns the clocks with what is joined. `clock`: what was known before. `last`: also demotes what contradicts them.
// `most`: as ClockInputBuilder takes it.
ClockModel AlignJoins(Work& work, const ClockModel& clock, bool last, size_t most, Executor& executor) {
  const std::vector<AllPairs> all_pairs = AllPairsOf(work, clock, executor);
  ClockInputBuilder input(work.domains.domain, work.rows);
  for (size_t c = 0; c < work.plans.size(); ++c) {
    const bool sure = work.plans[c].membership == Membership::kKnown || work.plans[c].discovered || last;
    if (sure) input.Add(c, work.joins[c], all_pairs[c], most);
  }
  if (most != SIZE_MAX) input.LimitPairEnds(kEnoughPairEnds);
  ClockSolution solution = AlignClocks(input.input(), executor);
  if (last) Demote(work, input, solution);
  return std::move(solution.model);
}

// Places in order of (A, lowest rank), as the index counts.
std::vector<size_t> OrderOf(const std::vector<JoinedInstance>& instances) {
  std::vector<std::tuple<int64_t, int32_t, int64_t, size_t>> keys;
  keys.reserve(instances.size());
  for (const JoinedInstance& j : instances) {
    int64_t last_start = INT64_MIN;
    for (const MatchedMember& m : j.instance.members) last_start = std::max(last_start, m.start_ns);
    const MatchedMember& lowest = j.instance.members.front();
    keys.emplace_back(last_start, lowest.rank_index, lowest.row, keys.size());
  }
  if (!std::is_sorted(keys.begin(), keys.end())) std::sort(keys.begin(), keys.end());
  std::vector<size_t> out;
  out.reserve(keys.size());
  for (const auto& key : keys) out.push_back(std::get<3>(key));
  return out;
}

// Why a row is in no instance with others.
void TellAlone(const CommunicatorPlan& plan, MatchedInstance& instance) {
  if (instance.matched()) return;
  instance.no_group = plan.membership != Membership::kKnown;
  instance.unmatched = !instance.no_group && plan.ranks.size() > 1;
}

void AddBreaks(const Work& work, size_t c, std::span<const MatchedInstance> instances, MatchResult& out) {
  if (work.domains_known) return;  // a sequence goes on from stretch to stretch: BreakFinder
  // Where nothing is joined there is no sequence that could break.
  if (std::none_of(instances.begin(), instances.end(), [](const MatchedInstance& i) { return i.matched(); })) return;
  std::vector<const MatchedInstance*> collectives;
  for (const MatchedInstance& instance : instances) {
    if (instance.in_sequence) collectives.push_back(&instance);
  }
  if (work.plans[c].membership == Membership::kUnknown) return;
  const std::vector<SequenceBreak> found = FindBreaks(static_cast<uint32_t>(c), work.plans[c].ranks, collectives);
  out.breaks.insert(out.breaks.end(), found.begin(), found.end());
}

struct EmitContext {
  const ClockModel& clock;
  const AllPairs& all_pairs;
  bool may_lack = false;  // members
};

// The words of a communicator's instances, and themselves to where they belong in the result: from `first` on.
void EmitOne(Work& work, size_t c, const EmitContext& context, size_t first, MatchResult& out) {
  const auto& [clock, all_pairs, may_lack] = context;
  const CommunicatorPlan& plan = work.plans[c];
  std::vector<JoinedInstance>& joined = work.joins[c].instances;
  for (JoinedInstance& j : joined) {
    AlignMembers(j.instance, clock);
    j.sparse = j.sparse || (BindsAllPairs(all_pairs, j) && ShowsSparseExchange(j, clock));
    FillMembership(j, j.pair ? 2 : plan.info.size, !j.pair && may_lack, clock);
  }
  FindLeastDurations(joined);
  InferRoots(clock, joined);
  FindBlockingSends(clock, joined);
  for (JoinedInstance& j : joined) {
    FillWords(j, BindsAllPairs(all_pairs, j), clock);
    TellAlone(plan, j.instance);
    j.instance.in_sequence = j.receiver < 0 && !j.pair && plan.membership != Membership::kUnknown;
  }
  const std::vector<size_t> order = OrderOf(joined);
  for (size_t i = 0; i < order.size(); ++i) {
    MatchedInstance& instance = out.instances[first + i];
    instance = std::move(joined[order[i]].instance);
    instance.index = static_cast<int64_t>(i);
    FillArrivals(instance, first + i, out.arrivals);
  }
  work.joins[c] = {};
}

void Emit(Work& work, Executor& executor, MatchResult& out) {
  const std::vector<AllPairs> all_pairs = AllPairsOf(work, out.clock, executor);
  const std::vector<bool> may_lack = MayHaveOutsiders(work.plans, work.joins, work.rows, work.ranks, out.clock);
  std::vector<size_t> first;  // instance of each communicator, and their end
  first.push_back(0);
  for (const CommunicatorJoin& join : work.joins) first.push_back(first.back() + join.instances.size());
  out.instances.resize(first.back());
  const auto instances_of = [&](size_t c) {
    return std::span(out.instances).subspan(first[c], first[c + 1] - first[c]);
  };
  // A row is in one instance: none writes where another one does.
  executor.ParallelFor(work.plans.size(), [&](size_t c) {
    EmitOne(work, c, {out.clock, all_pairs[c], may_lack[c]}, first[c], out);
  });
  for (size_t c = 0; c < work.plans.size(); ++c) {
    AddBreaks(work, c, instances_of(c), out);
    out.communicators.push_back(std::move(work.plans[c].info));
  }
}

bool Settled(const Work& work) {
  return std::all_of(work.joins.begin(), work.joins.end(), [](const CommunicatorJoin& j) { return j.settled; });
}

// The offsets that the joined instances leave open, from the ends of lanes that may belong together.
ClockModel FindCoarse(const Work& work, const ClockModel& clock, Executor& executor) {
  std::vector<RankLane> lanes;
  for (size_t c = 0; c < work.plans.size(); ++c) {
    if (work.joins[c].settled) continue;
    PlanLanes found = LanesOf(work.plans[c], c, work.rows, clock);
    std::move(found.lanes.begin(), found.lanes.end(), std::back_inserter(lanes));
  }
  return FindCoarseClocks(lanes, clock, work.rows.size(), executor);
}

// Plans whose members nobody told fall apart into the communicators that their lanes show.
bool Discover(Work& work, const ClockModel& clock, Executor& executor) {
  std::vector<CommunicatorPlan> plans;
  bool changed = false;
  for (CommunicatorPlan& plan : work.plans) {
    if (plan.membership == Membership::kKnown) {
      plans.push_back(std::move(plan));
      continue;
    }
    std::vector<CommunicatorPlan> parts = DiscoverMembership(plan, work.ranks, work.rows, clock, executor);
    changed = changed || parts.size() != 1 || parts.front().membership != plan.membership ||
              parts.front().info.members != plan.info.members;
    std::move(parts.begin(), parts.end(), std::back_inserter(plans));
  }
  work.plans = std::move(plans);
  if (changed) {
    IdentifyCommunicators(work.plans, work.rows);
    work.joins.clear();
  }
  return changed;
}

// Of the ranks that have rows here: what a stretch has nothing of, it does not connect.
size_t CountComponents(const Work& work, const ClockModel& clock) {
  std::set<int32_t> out;
  for (size_t r = 0; r < work.rows.size(); ++r) {
    if (!work.rows[r].rows.empty()) out.insert(clock.ComponentOf(static_cast<int32_t>(r)));
  }
  return out.size();
}

// What is joined aligns the clocks, and on the aligned clocks is joined again what those can decide. `most`: as
// ClockInputBuilder takes it.
ClockModel AlignInRounds(Work& work, ClockModel clock, size_t most, Executor& executor) {
  for (int round = 0; round < kAlignRounds && !Settled(work); ++round) {
    ClockModel aligned = AlignJoins(work, clock, false, most, executor);
    // What the ends connect may not do to align.
    if (CountComponents(work, aligned) > CountComponents(work, clock)) break;
    clock = std::move(aligned);
    Rejoin(work, clock, executor);
  }
  return AlignJoins(work, clock, true, most, executor);
}

// Joins from nothing, and finds what is open: clocks from the ends of lanes, members of lanes.
ClockModel JoinAndAlign(Work& work, size_t most, Executor& executor) {
  JoinAndRefine(work, executor);
  const ClockModel unknown = UnknownClocks(work.domains);
  const bool untold = std::any_of(work.plans.begin(), work.plans.end(),
                                  [](const CommunicatorPlan& p) { return p.membership != Membership::kKnown; });
  if (Settled(work) && !untold) return AlignJoins(work, unknown, true, most, executor);
  ClockModel clock = FindCoarse(work, AlignJoins(work, unknown, false, most, executor), executor);
  const bool discovered = Discover(work, clock, executor);
  JoinPlans(work, clock, discovered, executor);
  return AlignInRounds(work, std::move(clock), most, executor);
}

// The same of a later stretch, on the clocks as they went on until it.
ClockModel JoinOnKnown(Work& work, const ClockModel& known, Executor& executor) {
  JoinPlans(work, known, true, executor);
  return AlignInRounds(work, known, kEnoughOfStretch, executor);
}

// join() -> clocks, with large biases of devices taken off the rows; what was joined has them again.
template <typename Join>
ClockModel JoinWithoutBiases(Work& work, const std::vector<int64_t>& biases, const Join& join) {
  std::vector<int64_t> off;
  for (const int64_t bias : biases) off.push_back(-bias);
  MoveRows(off, work.rows);
  ClockModel clock = join();
  MoveRows(biases, work.rows);
  for (CommunicatorJoin& joined : work.joins) {
    for (JoinedInstance& j : joined.instances) {
      for (MatchedMember& m : j.instance.members) {
        m.start_ns += biases[static_cast<size_t>(m.rank_index)];
        m.end_ns += biases[static_cast<size_t>(m.rank_index)];
      }
    }
  }
  return clock;
}

ClockModel WithBiases(ClockModel clock, const std::vector<int64_t>& biases) {
  for (size_t r = 0; r < biases.size(); ++r) {
    if (biases[r] != 0) clock.AddBias(static_cast<int32_t>(r), biases[r]);
  }
  return clock;
}

// Domains that share nothing with the reference in this stretch stand where they stood before.
void KeepApartWhereTheyStood(const ClockModel& known, AlignedTime from, const std::vector<bool>& seen,
                             ClockModel& clock) {
  std::map<int32_t, DomainId> references;  // of each component: the domain of its lowest rank
  for (size_t r = 0; r < seen.size(); ++r) {
    if (!seen[r]) continue;
    const auto rank = static_cast<int32_t>(r);
    references.emplace(clock.ComponentOf(rank), clock.DomainOf(rank));
  }
  for (const auto& [component, reference] : references) {
    const std::vector<ClockKnot>& knots = known.ClockOf(reference).knots;
    if (knots.empty()) continue;
    int64_t local_ns = std::max(from.ns, knots.front().t_ns);
    for (int round = 0; round < 3; ++round) {
      local_ns = std::max(knots.front().t_ns, from.ns + known.OffsetOf(reference, LocalTime{local_ns}).ns);
    }
    const int64_t offset_ns = known.OffsetOf(reference, LocalTime{local_ns}).ns;
    if (offset_ns != 0) clock.MoveComponent(component, offset_ns);
  }
}

std::vector<bool> HaveRows(const std::vector<RankRows>& rows) {
  std::vector<bool> out;
  for (const RankRows& of : rows) out.push_back(!of.rows.empty());
  return out;
}

// A group of all ranks that nobody told: not where some of them are not looked at.
void ForgetAssumedWithoutRows(Work& work) {
  const auto has_rows = [](const RankRows& of) { return !of.rows.empty(); };
  if (std::all_of(work.rows.begin(), work.rows.end(), has_rows)) return;
  for (CommunicatorPlan& plan : work.plans) {
    if (plan.membership != Membership::kInferred || plan.ranks.size() == plan.info.members.size()) continue;
    plan.membership = Membership::kUnknown;
    plan.info.members.clear();
    plan.info.size = -1;
    plan.rank_at_position.clear();
    plan.info.id = CommunicatorId({}, "");
  }
}

// Everything about what was joined, on these clocks.
MatchResult ResultOf(Work& work, ClockModel clock, Executor& executor) {
  MatchResult out;
  out.clock = std::move(clock);
  const DomainPlan& domains = work.domains;
  out.host_conflict = domains.host_conflict;
  for (size_t r = 0; r < work.rows.size(); ++r) {
    std::vector<ArrivalOfRow>& arrivals = out.arrivals.emplace_back(work.rows[r].rows.size());
    for (size_t row = 0; row < arrivals.size(); ++row) arrivals[row].duplicate = work.rows[r].rows[row].duplicate;
    out.host_sources.push_back(domains.assumed_host[r] ? HostSource::kAssumed : work.ranks.ranks[r].host_source);
  }
  Emit(work, executor, out);
  return out;
}

}  // namespace

struct RunMatcher::Known {
  KnownGroups groups;
  DomainPlan domains;
  std::vector<int64_t> biases;
  ClockModel unbiased;  // as the rows are joined, and
  ClockModel clock;
};

RunMatcher::RunMatcher(const RunData& run, const RankResolution& ranks, Extent extent)
    : run_(run), ranks_(ranks), extent_(extent) {}
RunMatcher::RunMatcher(const RunMatcher& other)
    : run_(other.run_),
      ranks_(other.ranks_),
      extent_(other.extent_),
      known_(other.known_ == nullptr ? nullptr : std::make_unique<Known>(*other.known_)) {}
RunMatcher::~RunMatcher() = default;

const ClockModel& RunMatcher::clock() const { return known_->clock; }

void RunMatcher::TakeOver(const RunMatcher& other, const std::vector<size_t>& ranks) {
  known_->unbiased.TakeOver(other.known_->unbiased, ranks);
  known_->clock.TakeOver(other.known_->clock, ranks);
  known_->groups.TakeOver(other.known_->groups, ranks);
}

RankIslands RunMatcher::Islands() const {
  const std::vector<int32_t>& domains = known_->domains.domain;
  DisjointSets connected(domains.size());
  known_->groups.Connect(connected);
  std::map<int32_t, size_t> first;  // rank of each domain
  for (size_t r = 0; r < domains.size(); ++r) connected.Join(first.emplace(domains[r], r).first->second, r);
  return IslandsOf(connected, domains.size());
}

absl::StatusOr<MatchResult> RunMatcher::Match(InstanceSource& instances, AlignedTime from, Executor& executor) {
  Work work{ranks_, {}, {}, {}, {}, known_ != nullptr};
  LOCKSTEP_ASSIGN_OR_RETURN(work.rows, LoadCollectiveRows(run_, instances, ranks_, executor));
  work.plans = PlanCommunicators(run_, ranks_, work.rows);
  if (known_ == nullptr) {
    work.domains = PlanDomains(run_, ranks_.ranks);
    known_ = std::make_unique<Known>(Known{KnownGroups(run_, ranks_), {}, {}, {}, {}});
    known_->biases = FindLargeBiases(work.plans, work.domains, work.rows, executor);
    const size_t most = extent_ == Extent::kWhole ? SIZE_MAX : kEnoughOfStretch;
    known_->unbiased = JoinWithoutBiases(work, known_->biases, [&] { return JoinAndAlign(work, most, executor); });
    known_->clock = WithBiases(known_->unbiased, known_->biases);
    known_->domains = work.domains;
    known_->groups.Learn(work.plans, work.rows);
    return ResultOf(work, known_->clock, executor);
  }
  work.domains = known_->domains;
  ForgetAssumedWithoutRows(work);
  work.plans = known_->groups.Recognise(std::move(work.plans), work.rows);
  ClockModel unbiased =
      JoinWithoutBiases(work, known_->biases, [&] { return JoinOnKnown(work, known_->unbiased, executor); });
  const std::vector<bool> seen = HaveRows(work.rows);
  KeepApartWhereTheyStood(known_->unbiased, from, seen, unbiased);
  ClockModel clock = WithBiases(unbiased, known_->biases);
  known_->unbiased.Append(unbiased, from, seen);
  known_->clock.Append(clock, from, seen);
  return ResultOf(work, std::move(clock), executor);
}

absl::StatusOr<MatchResult> MatchRun(const RunData& run, InstanceSource& instances, const RankResolution& ranks,
                                     Executor& executor) {
  RunMatcher matcher(run, ranks, RunMatcher::Extent::kWhole);
  LOCKSTEP_ASSIGN_OR_RETURN(MatchResult out, matcher.Match(instances, AlignedTime{INT64_MIN / 2}, executor));
  MatchCounts counts(ranks);
  counts.Add(Chapter{out});
  counts.Finish(out);
  return out;
}

}  // namespace lockstep
