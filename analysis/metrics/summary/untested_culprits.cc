// Who is named without the test of stragglers.
#include "analysis/metrics/summary/untested_culprits.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace lockstep {
namespace {

constexpr double kOnceShareOfOwn = 0.5;  // of what it caused lies in one instance
constexpr double kOnceShareOfAll = 0.2;  // of all waiting
constexpr double kOnceOfRankTime = 0.02;
constexpr double kOnceOfShortRun = 0.1;  // where a usual pause of a host is a large part of everything
constexpr double kMostOfWaiting = 0.5;   // who causes as much is named, whatever its rhythm
constexpr double kLeastExposed = 0.005;  // of the time, for whoever has no rhythm to be named

bool IsOnce(const LateArrivals& rank, const FleetMeasures& measures, int64_t wait_ns, bool told) {
  const auto worst = static_cast<double>(rank.worst_ns);
  return worst >= kOnceShareOfOwn * static_cast<double>(rank.caused_ns) &&
         worst >= kOnceShareOfAll * static_cast<double>(wait_ns) &&
         Share(rank.worst_ns, measures.RankTime()) >= (told ? kOnceOfRankTime : kOnceOfShortRun);
}

// More than its even part of all waiting, and not by one long instance alone.
bool IsMuch(const Culprit& culprit, const Fleet& fleet, const WaitBlame& waiting) {
  const auto ranks = static_cast<double>(fleet.members.size());
  if (culprit.share_of_wait * ranks < kMoreThanFair) return false;
  const LateArrivals& rank = waiting.by_member[culprit.member];
  return Share(rank.caused_ns - rank.worst_ns, waiting.wait_ns - rank.worst_ns) * ranks >= kMoreThanFair;
}

// It caused most of the waiting: by the blame, which goes back to its origin, where that is known.
bool CausesMost(const Culprit& culprit, const Fleet& fleet, const BlameResult* blame) {
  // Of two ranks each causes about half.
  const double most = std::max(kMostOfWaiting, kMoreThanFair / static_cast<double>(fleet.members.size()));
  if (blame == nullptr) return culprit.share_of_wait >= most;
  const auto index = static_cast<int32_t>(fleet.members[culprit.member].index);
  return Share(BlameOn(*blame, {index}, {}).wait_ns, blame->total_wait_ns) >= most;
}

// Most of what it caused is waiting of receivers for what it sent: in a pipeline even the stages that are never late
// are waited for, and the one in the middle by both sides.
bool IsStageWaitedFor(const LateArrivals& rank) { return 2 * rank.in_pairs_ns > rank.caused_ns; }

// The culprit with all that the others lost to it, also where another rank passed the delay on. Needs the blame.
Culprit WithPassedOn(const NamingInput& in, Culprit culprit) {
  const auto index = static_cast<int32_t>(in.fleet.members[culprit.member].index);
  culprit.caused_wait_ns = BlameOn(*in.blame, {index}, {}).wait_ns;
  culprit.share_of_wait = Share(culprit.caused_wait_ns, in.blame->total_wait_ns);
  return culprit;
}

// Blame follows the waits of a pipeline to the stage that all others wait for, however healthy it is.
void TakeBlameIfMore(const NamingInput& in, Culprit& culprit) {
  if (in.blame == nullptr || IsPipeline(in.waiting)) return;
  const Culprit traced = WithPassedOn(in, culprit);
  if (traced.caused_wait_ns > culprit.caused_wait_ns) culprit = traced;
}

// Waiting that runs beside compute costs nobody anything.
bool IsHidden(const FleetMeasures& measures) {
  const std::optional<TimeShare> share = ComputeTimeShare(measures);
  if (!share || share->exposed_wait >= kLeastExposed) return false;
  return share->exposed_wait + share->exposed_transfer + share->exposed_unresolved > 0;
}

// Where all hosts are what limits the run, one that has paused stays behind for many steps, and nobody loses by that.
bool MayLagFromOnePause(const NamingInput& in, const Undecided& it) {
  constexpr double kHostBound = 0.3;  // of the time
  constexpr double kNoPauseOfAll = 0.02;
  const std::optional<TimeShare> share = ComputeTimeShare(in.measures);
  const bool of_host = !it.looks.parts.empty() && (it.looks.parts.front().cause == CauseKind::kHostDelay ||
                                                   it.looks.parts.front().cause == CauseKind::kHostPause);
  return of_host && it.p_stalls > kNoPauseOfAll && share && share->idle_host >= kHostBound;
}

// It was late in one event, which the steps tell, and cost much there.
bool IsOneEvent(const NamingInput& in, Culprit& culprit) {
  const std::vector<OneEvent>& once = in.stragglers.once;
  const auto index = static_cast<int32_t>(in.fleet.members[culprit.member].index);
  const auto event = std::find_if(once.begin(), once.end(), [&](const OneEvent& it) { return it.rank_index == index; });
  if (event == once.end()) return false;
  // Each of the others waited at most as long as it was late.
  const auto at_most_ns = static_cast<double>(event->late_ns) * static_cast<double>(in.fleet.members.size() - 1);
  if (at_most_ns < kOnceShareOfAll * static_cast<double>(in.waiting.wait_ns)) return false;
  if (IsStageWaitedFor(in.waiting.by_member[culprit.member])) return false;
  const auto costs_much = [&](const Culprit& it) {
    return it.share_of_wait >= kOnceShareOfAll && Share(it.caused_wait_ns, in.measures.RankTime()) >= kOnceOfRankTime;
  };
  if (costs_much(culprit)) return true;
  if (in.blame == nullptr || IsPipeline(in.waiting)) return false;
  const Culprit traced = WithPassedOn(in, culprit);
  if (!costs_much(traced)) return false;
  culprit = traced;
  return true;
}

// It was late in one event, which the steps or the arrivals alone tell.
bool IsLateOnce(const NamingInput& in, Culprit& culprit) {
  return IsOneEvent(in, culprit) ||
         IsOnce(in.waiting.by_member[culprit.member], in.measures, in.waiting.wait_ns, in.stragglers.decides);
}

// It is late on balance, and not only the one whose arrival matters, as the root of broadcasts: its peers wait for it
// whenever they come before it, as they do half of the time where nobody is late.
bool IsLateOnBalance(const LateArrivals& rank) {
  constexpr double kLeastPart = 0.5;  // of what it caused
  return rank.later_than_others_ns >= kLeastPart * static_cast<double>(rank.caused_ns);
}

// Its lateness is larger than what its peers show as well. Where all are late by turns and by as much, one of them is
// late most by chance.
bool IsLaterThanPeersAre(const WaitBlame& waiting, size_t member) {
  constexpr double kTimes = 2;  // the sum of the squares
  double largest = 0;
  for (size_t other = 0; other < waiting.by_member.size(); ++other) {
    if (other != member) largest = std::max(largest, waiting.by_member[other].late_square_sum);
  }
  return waiting.by_member[member].late_square_sum >= kTimes * largest;
}

// It causes most of the waiting, without a rhythm; false: it is not named so.
bool NameIrregular(const NamingInput& in, bool moves_more, Culprit& culprit) {
  const bool seen_itself = culprit.share_of_wait >= kMostOfWaiting;
  const bool most = CausesMost(culprit, in.fleet, in.blame) || (moves_more && seen_itself);
  if (!most || IsStageWaitedFor(in.waiting.by_member[culprit.member]) || IsHidden(in.measures)) return false;
  // Blame follows the waits of a pipeline to the stage that all others wait for, however healthy it is.
  if (!seen_itself && IsPipeline(in.waiting)) return false;
  if (!seen_itself && in.blame != nullptr) culprit = WithPassedOn(in, culprit);
  culprit.kind = CulpritKind::kIrregular;
  const bool may_be_chance = !moves_more && !IsLaterThanPeersAre(in.waiting, culprit.member);
  if (may_be_chance) culprit.confidence = std::min(culprit.confidence, kContradicted);
  return true;
}

// Where the waits were not followed back to their origin: it waited itself for about as long as it was late.
bool MayPassOn(const NamingInput& in, const Culprit& culprit) {
  constexpr double kMostOfLateness = 0.5;
  if (in.blame != nullptr) return false;
  const double late_ns = in.waiting.by_member[culprit.member].latest_ns;
  const CommunicationWork& work = in.measures.joined.ranks[in.fleet.members[culprit.member].index].work;
  return static_cast<double>(work.total_ns - work.own_ns) >= kMostOfLateness * late_ns;
}

// Between its collectives it takes no longer than its peers: it was the last because it had waited itself.
bool IsOnTime(const NamingInput& in, const Culprit& culprit) {
  const size_t index = in.fleet.members[culprit.member].index;
  if (index >= in.stragglers.rank_late_ns.size()) return false;
  const std::optional<double>& late_ns = in.stragglers.rank_late_ns[index];
  return late_ns && *late_ns < kMinSavingRatio * static_cast<double>(in.stragglers.unit_ns);
}

// Of a run too short for a test: it is the origin of most waiting, and of more than a usual pause of a host costs
// there.
bool IsMostOfAShortRun(const NamingInput& in, Culprit& culprit) {
  if (in.blame == nullptr || IsPipeline(in.waiting) || IsHidden(in.measures)) return false;
  if (!CausesMost(culprit, in.fleet, in.blame)) return false;
  const Culprit traced = WithPassedOn(in, culprit);
  if (Share(traced.caused_wait_ns, in.measures.RankTime()) < kOnceOfShortRun) return false;
  culprit = traced;
  return true;
}

// Too few steps for any test. `much`: the others certainly waited for it for more than an even part.
bool NameInAShortRun(const NamingInput& in, bool much, Culprit& culprit) {
  if (IsOnTime(in, culprit)) return false;
  if (IsMostOfAShortRun(in, culprit)) return true;
  if (!much) return false;
  const bool is_origin = in.blame != nullptr ? CausesMost(culprit, in.fleet, in.blame) : !MayPassOn(in, culprit);
  if (!is_origin) culprit.confidence = std::min(culprit.confidence, kContradicted);
  return true;
}

constexpr double kCostsMuch = 0.02;  // of a step: natural pauses of a few steps cost up to 1.3 %

double SavingOf(const Undecided& it) {
  return it.looks.what_if ? it.looks.what_if->saving_ratio : it.untold_saving_ratio;
}

// The steps of the ranks differ as much by chance as it looks late.
bool MayBeChance(const Undecided& it) {
  return it.looks.what_if && it.looks.what_if->saving_ratio < kNinetyPercent * it.looks.what_if->deviation_ratio;
}

}  // namespace

bool Holds(const std::vector<int32_t>& ascending, int64_t value) {
  return std::binary_search(ascending.begin(), ascending.end(), static_cast<int32_t>(value));
}

bool IsPipeline(const WaitBlame& waiting) {
  constexpr double kMuch = 0.2;  // of all waiting
  return Share(waiting.in_pairs_ns, waiting.wait_ns) >= kMuch;
}

std::vector<size_t> MembersOf(const Fleet& fleet, const Straggler& straggler) {
  std::vector<size_t> members;
  for (size_t member = 0; member < fleet.members.size(); ++member) {
    if (Holds(straggler.rank_indices, static_cast<int64_t>(fleet.members[member].index))) members.push_back(member);
  }
  return members;
}

const Undecided* UndecidedOf(const Fleet& fleet, const StragglerResult& stragglers, size_t member) {
  const FleetRank& rank = fleet.members[member];
  const Undecided* found = nullptr;
  for (const Undecided& it : stragglers.undecided) {
    if (!Holds(it.rank_indices, static_cast<int64_t>(rank.index))) continue;
    const auto order = [](const Undecided& of) {
      return std::pair(of.rank_indices.size(), of.scope != StragglerScope::kRank);
    };
    if (found == nullptr || order(it) < order(*found)) found = &it;
  }
  return found;
}

bool MovesMore(const std::vector<size_t>& members, int64_t caused_wait_ns, const Fleet& fleet,
               const FleetMeasures& measures) {
  constexpr double kExplains = 0.5;
  const auto own = [&](size_t member) {
    return static_cast<double>(measures.joined.ranks[fleet.members[member].index].work.uneven_own_ns);
  };
  const auto count = static_cast<double>(members.size());
  const auto others = static_cast<double>(fleet.members.size()) - count;
  if (others < 1) return false;
  double of_members = 0;
  double of_others = 0;
  for (size_t member = 0; member < fleet.members.size(); ++member) {
    (std::ranges::binary_search(members, member) ? of_members : of_others) += own(member);
  }
  const double excess = of_members / count - of_others / others;
  return excess * others >= kExplains * static_cast<double>(caused_wait_ns);
}

bool StandsOutAtACost(const Fleet& fleet, const Undecided& it) {
  constexpr double kMoreCosts = 0.008;      // where it is no natural pause
  constexpr double kMoreThanOthers = 0.02;  // chance that one of its peers has as many stalls
  constexpr double kAsOthers = 0.5;         // that chance, where all stall by turns
  const double saving = SavingOf(it);
  const bool in_a_stretch = it.looks.kind == Recurrence::kBursty;
  if (it.late_throughout && it.scope == StragglerScope::kRank && saving >= kCostsMuch) return true;
  // Of two that stall each holds up the other one.
  if (!in_a_stretch && it.p_stalls > kAsOthers && fleet.members.size() > 2) return false;
  const double least = in_a_stretch || it.p_stalls <= kMoreThanOthers ? kMoreCosts : kCostsMuch;
  return it.stands_out && it.scope == StragglerScope::kRank && saving >= least;
}

bool IsNamed(const std::vector<Culprit>& named, const Fleet& fleet, size_t member) {
  const auto index = static_cast<int32_t>(fleet.members[member].index);
  return std::any_of(named.begin(), named.end(), [&](const Culprit& it) {
    return it.straggler != nullptr ? Holds(it.straggler->rank_indices, index) : it.member == member;
  });
}

bool NameWithoutTest(const NamingInput& in, bool waited_for, Culprit& culprit) {
  const Undecided* const it = UndecidedOf(in.fleet, in.stragglers, culprit.member);
  const bool stands_out = it != nullptr && StandsOutAtACost(in.fleet, *it);
  if (!waited_for && !stands_out) return false;
  const bool caused_much = IsMuch(culprit, in.fleet, in.waiting);
  const bool on_balance = IsLateOnBalance(in.waiting.by_member[culprit.member]);
  const bool much = caused_much && on_balance && !IsHidden(in.measures);
  const bool sends = IsStageWaitedFor(in.waiting.by_member[culprit.member]);
  const bool moves_more = MovesMore({culprit.member}, culprit.caused_wait_ns, in.fleet, in.measures);
  if (moves_more) culprit.cause = kMoreData;
  if (IsLateOnce(in, culprit)) {
    culprit.kind = CulpritKind::kOnce;
    if (MayPassOn(in, culprit)) culprit.confidence = std::min(culprit.confidence, kContradicted);
    return true;
  }
  const bool looks_late =
      it != nullptr && ((much && !sends) || (caused_much && it->looks.what_if)) && !MayBeChance(*it);
  if (looks_late || stands_out) {
    culprit.kind = CulpritKind::kUndecided;
    TakeBlameIfMore(in, culprit);
    if (it->scope == StragglerScope::kRank) culprit.looks = &it->looks;
    // Its own other steps show what it does longer in those in which it stalls.
    if (stands_out && culprit.cause.empty() && culprit.looks != nullptr && !culprit.looks->parts.empty()) {
      culprit.cause = Name(culprit.looks->parts.front().cause);
    }
    // One of several that look late together, or of a pipeline, where nobody else shows what it costs.
    const bool alone = culprit.looks != nullptr && (culprit.looks->what_if || !IsPipeline(in.waiting));
    const bool doubtful = !alone || MayLagFromOnePause(in, *it) || (it->late_throughout && !it->stands_out);
    if (doubtful) culprit.confidence = std::min(culprit.confidence, kContradicted);
    // That it was waited for is a fact. What costs no more than noise does may be noise all the same.
    if (!stands_out && SavingOf(*it) < kCostsMuch) {
      culprit.confidence = std::min(culprit.confidence, ConfidenceOf(it->looks.p_adjusted));
    }
    return true;
  }
  if (in.stragglers.decides) return on_balance && NameIrregular(in, moves_more, culprit);
  return !sends && NameInAShortRun(in, much, culprit);
}

void NameStallsLittleWaitedFor(const NamingInput& in, std::vector<Culprit>& named) {
  for (const Undecided& it : in.stragglers.undecided) {
    if (!it.looks.what_if || !StandsOutAtACost(in.fleet, it)) continue;
    const std::vector<size_t> members = MembersOf(in.fleet, it.looks);
    if (members.size() != 1 || IsNamed(named, in.fleet, members.front())) continue;
    const LateArrivals& late = in.waiting.by_member[members.front()];
    Culprit culprit;
    culprit.kind = CulpritKind::kUndecided;
    culprit.member = members.front();
    culprit.looks = &it.looks;
    culprit.caused_wait_ns = late.caused_ns;
    culprit.share_of_wait = Share(late.caused_ns, in.waiting.wait_ns);
    culprit.confidence = ConfidenceOf(it.p_stalls);
    if (late.caused_ns == 0) culprit.confidence = std::min(culprit.confidence, kContradicted);
    if (late.caused_ns > 0) culprit.worst_start_ns = late.worst_start_ns;
    if (!it.looks.parts.empty()) culprit.cause = Name(it.looks.parts.front().cause);
    named.push_back(culprit);
  }
}

}  // namespace lockstep
