// NameCulprits: the statement of the summary from the stragglers and the blame.
#include <algorithm>
#include <cmath>

#include "analysis/metrics/summary/summary.h"

namespace lockstep {
namespace {

constexpr double kOnceShareOfOwn = 0.5;  // of what it caused lies in one instance
constexpr double kOnceShareOfAll = 0.2;  // of all waiting
constexpr double kOnceOfRankTime = 0.02;
constexpr double kOnceOfShortRun = 0.1;  // where a usual pause of a host is a large part of everything
constexpr double kContradicted = 0.5;    // confidence at most, where something speaks for somebody else
constexpr double kMoreThanFair = 1.5;    // times one rank's even part of all waiting
constexpr double kMostOfWaiting = 0.5;   // who causes as much is named, whatever its rhythm
constexpr double kLeastExposed = 0.005;  // of the time, for whoever has no rhythm to be named
constexpr double kMostlyOpen = 0.5;      // of what it is blamed for
// Error of a replayed saving against a rerun without the cause (accuracy row `random`): these shares of it, and these
// points of the step. It is more often too small than too large. Chosen on seeds 21, 31 and 77; see
// bench/accuracy/README.md for a seed that was not.
constexpr double kReplayAboveTruth = 0.08;
constexpr double kReplayBelowTruth = 0.10;
constexpr double kReplayErrorLeast = 0.002;
constexpr double kNinetyPercent = 1.645;  // standard deviations to both sides hold 90 % of normal noise

bool Holds(const std::vector<int32_t>& ascending, int64_t value) {
  return std::binary_search(ascending.begin(), ascending.end(), static_cast<int32_t>(value));
}

std::vector<size_t> MembersOf(const Fleet& fleet, const Straggler& straggler) {
  std::vector<size_t> members;
  for (size_t member = 0; member < fleet.members.size(); ++member) {
    if (Holds(straggler.rank_indices, static_cast<int64_t>(fleet.members[member].index))) members.push_back(member);
  }
  return members;
}

// Several ranks of which one alone may be late: only a replay or the durations tell that from all of them being late.
bool MayBeOneOfThem(const Straggler& straggler) {
  return straggler.rank_indices.size() > 1 && straggler.communicators.empty() && !straggler.what_if &&
         straggler.frontier != FrontierAnswer::kAgrees;
}

Culprit FromStraggler(const Straggler& straggler, const std::vector<size_t>& members, const BlameResult* blame,
                      const WaitBlame& waiting) {
  Culprit culprit;
  culprit.kind = CulpritKind::kStraggler;
  culprit.straggler = &straggler;
  culprit.member = members.front();
  int64_t caused = 0;
  int64_t last = 0;
  int64_t open = 0;
  int64_t worst = 0;
  for (const size_t member : members) {
    const LateArrivals& rank = waiting.by_member[member];
    caused += rank.caused_ns;
    last += rank.last_ns;
    open += rank.open_ns;
    if (rank.caused_ns > waiting.by_member[culprit.member].caused_ns) culprit.member = member;
    if (rank.worst_ns <= worst) continue;
    worst = rank.worst_ns;
    culprit.worst_start_ns = rank.worst_start_ns;
  }
  culprit.stretch_ns = StretchOf(waiting.by_member[culprit.member], waiting);
  culprit.caused_wait_ns =
      blame != nullptr ? BlameOn(*blame, straggler.rank_indices, straggler.communicators).wait_ns : caused;
  culprit.share_of_wait = Share(culprit.caused_wait_ns, blame != nullptr ? blame->total_wait_ns : waiting.wait_ns);
  culprit.confidence = ConfidenceOf(straggler.p_adjusted);
  culprit.open = Share(open, last) > kMostlyOpen;
  if (straggler.frontier == FrontierAnswer::kDisagrees || straggler.contradicted || culprit.open ||
      MayBeOneOfThem(straggler)) {
    culprit.confidence = std::min(culprit.confidence, kContradicted);
  }
  if (!straggler.parts.empty()) culprit.cause = Name(straggler.parts.front().cause);
  return culprit;
}

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

// The undecided scope that the member belongs to, the rank itself first; null: none.
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

bool IsPipeline(const WaitBlame& waiting) {
  constexpr double kMuch = 0.2;  // of all waiting
  return Share(waiting.in_pairs_ns, waiting.wait_ns) >= kMuch;
}

// What the others lost to it also where another rank passed the delay on.
void TakeBlame(int32_t rank_index, const BlameResult& blame, Culprit& culprit) {
  culprit.caused_wait_ns = BlameOn(blame, {rank_index}, {}).wait_ns;
  culprit.share_of_wait = Share(culprit.caused_wait_ns, blame.total_wait_ns);
}

// It was the last only because it had waited for another one before.
bool PassesOn(const Culprit& culprit, const Fleet& fleet, const BlameResult* blame) {
  if (blame == nullptr) return false;
  const auto index = static_cast<int32_t>(fleet.members[culprit.member].index);
  return 2 * BlameOn(*blame, {index}, {}).wait_ns < culprit.caused_wait_ns;
}

// It is late because its part of uneven exchanges takes longer than the others': as much as the others wait for it.
bool MovesMore(const Culprit& culprit, const Fleet& fleet, const FleetMeasures& measures) {
  constexpr double kExplains = 0.5;
  const auto own = [&](size_t member) {
    return static_cast<double>(measures.joined.ranks[fleet.members[member].index].work.uneven_own_ns);
  };
  const auto others = static_cast<double>(fleet.members.size() - 1);
  if (others < 1) return false;
  double sum = 0;
  for (size_t member = 0; member < fleet.members.size(); ++member) {
    if (member != culprit.member) sum += own(member);
  }
  const double excess = own(culprit.member) - sum / others;
  return excess * others >= kExplains * static_cast<double>(culprit.caused_wait_ns);
}

// It costs something, and durations alone say so too, where the waiting for it is shorter than the clocks can tell.
bool CostsBelowTheClocks(const Straggler& straggler, int64_t step_ns) {
  constexpr double kLateByMuch = 0.01;  // of the step, where no saving is told
  if (straggler.frontier != FrontierAnswer::kAgrees || straggler.contradicted) return false;
  if (straggler.what_if) return straggler.what_if->saving_ratio >= kMinSavingRatio;
  return Share(straggler.effect_ns_per_step, step_ns) >= kLateByMuch;
}

// Waiting that runs beside compute costs nobody anything.
bool IsHidden(const FleetMeasures& measures) {
  const std::optional<TimeShare> share = ComputeTimeShare(measures);
  if (!share || share->exposed_wait >= kLeastExposed) return false;
  return share->exposed_wait + share->exposed_transfer + share->exposed_unresolved > 0;
}

// That it stalled, or was slow for a while, is a fact, and what that cost is replayed: only whether it will again is
// not decided.
bool StandsOutAtACost(const Fleet& fleet, const Undecided& it) {
  constexpr double kCostsMuch = 0.02;       // of a step: natural pauses of a few steps cost up to 1.3 %
  constexpr double kMoreCosts = 0.008;      // where it is no natural pause
  constexpr double kMoreThanOthers = 0.02;  // chance that one of its peers has as many stalls
  constexpr double kAsOthers = 0.5;         // that chance, where all stall by turns
  const double saving = it.looks.what_if ? it.looks.what_if->saving_ratio : it.untold_saving_ratio;
  const bool in_a_stretch = it.looks.kind == Recurrence::kBursty;
  if (it.late_throughout && it.scope == StragglerScope::kRank && saving >= kCostsMuch) return true;
  // Of two that stall each holds up the other one.
  if (!in_a_stretch && it.p_stalls > kAsOthers && fleet.members.size() > 2) return false;
  const double least = in_a_stretch || it.p_stalls <= kMoreThanOthers ? kMoreCosts : kCostsMuch;
  return it.stands_out && it.scope == StragglerScope::kRank && saving >= least;
}

struct NamingInput {
  const Fleet& fleet;
  const FleetMeasures& measures;
  const StragglerResult& stragglers;
  const BlameResult* blame;  // null = not known
  const WaitBlame& waiting;
};

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
  Culprit with_passed_on = culprit;
  TakeBlame(index, *in.blame, with_passed_on);
  if (!costs_much(with_passed_on)) return false;
  culprit = with_passed_on;
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
  const auto index = static_cast<int32_t>(in.fleet.members[culprit.member].index);
  if (!seen_itself && in.blame != nullptr) TakeBlame(index, *in.blame, culprit);
  culprit.kind = CulpritKind::kIrregular;
  const bool may_be_chance = !moves_more && !IsLaterThanPeersAre(in.waiting, culprit.member);
  if (may_be_chance) culprit.confidence = std::min(culprit.confidence, kContradicted);
  return true;
}

// The steps of the ranks differ as much by chance as it looks late.
bool MayBeChance(const Undecided& it) {
  return it.looks.what_if && it.looks.what_if->saving_ratio < kNinetyPercent * it.looks.what_if->deviation_ratio;
}

// How one that is no straggler is named, and looks undecided; false: it is not. `waited_for`: among those that the
// others wait for most. Behind these, only what is known to cost much is told.
bool NameWithoutTest(const NamingInput& in, bool waited_for, Culprit& culprit) {
  const Undecided* const it = UndecidedOf(in.fleet, in.stragglers, culprit.member);
  const bool stands_out = it != nullptr && StandsOutAtACost(in.fleet, *it);
  if (!waited_for && !stands_out) return false;
  const bool caused_much = IsMuch(culprit, in.fleet, in.waiting);
  const bool on_balance = IsLateOnBalance(in.waiting.by_member[culprit.member]);
  const bool much = caused_much && on_balance && !IsHidden(in.measures);
  const bool sends = IsStageWaitedFor(in.waiting.by_member[culprit.member]);
  const bool moves_more = MovesMore(culprit, in.fleet, in.measures);
  if (moves_more) culprit.cause = kMoreData;
  if (IsLateOnce(in, culprit)) {
    culprit.kind = CulpritKind::kOnce;
    return true;
  }
  const bool looks_late =
      it != nullptr && ((much && !sends) || (caused_much && it->looks.what_if)) && !MayBeChance(*it);
  if (looks_late || stands_out) {
    culprit.kind = CulpritKind::kUndecided;
    if (it->scope == StragglerScope::kRank) culprit.looks = &it->looks;
    // One of several that look late together, or of a pipeline, where nobody else shows what it costs.
    const bool alone = culprit.looks != nullptr && (culprit.looks->what_if || !IsPipeline(in.waiting));
    const bool doubtful = !alone || MayLagFromOnePause(in, *it) || (it->late_throughout && !it->stands_out);
    if (doubtful) culprit.confidence = std::min(culprit.confidence, kContradicted);
    return true;
  }
  if (in.stragglers.decides) return on_balance && NameIrregular(in, moves_more, culprit);
  return much && !sends;
}

// What the named one costs a rank: as waiting for it, or where the clocks do not tell that, as its saving.
double AtStakeNs(const Culprit& culprit, const FleetMeasures& measures) {
  const auto caused = static_cast<double>(culprit.caused_wait_ns);
  if (culprit.straggler == nullptr || !culprit.straggler->what_if) return caused;
  const double of_a_rank =
      static_cast<double>(measures.RankTime()) / static_cast<double>(std::max<size_t>(1, measures.ranks.size()));
  return std::max(caused, culprit.straggler->what_if->saving_ratio * of_a_rank);
}

// What made it late may have been its own waiting for members without a record.
void DoubtWhereOpen(const Fleet& fleet, const FleetMeasures& measures, Culprit& culprit) {
  int64_t open_ns = 0;
  for (size_t member = 0; member < fleet.members.size(); ++member) {
    const auto index = static_cast<int64_t>(fleet.members[member].index);
    const bool of_it =
        culprit.straggler != nullptr ? Holds(culprit.straggler->rank_indices, index) : member == culprit.member;
    if (of_it) open_ns += measures.joined.ranks[static_cast<size_t>(index)].open_ns;
  }
  if (open_ns <= 0 || static_cast<double>(open_ns) < AtStakeNs(culprit, measures)) return;
  culprit.open = true;
  culprit.confidence = std::min(culprit.confidence, kContradicted);
}

// What mending it saves of a step: as replayed, else what the others wait for it each. Not known: nothing.
double SavingOf(const Culprit& culprit, const FleetMeasures& measures) {
  const Straggler* saver = culprit.straggler != nullptr ? culprit.straggler : culprit.looks;
  if (culprit.open || culprit.kind == CulpritKind::kOnce) return 0;
  if (culprit.kind == CulpritKind::kUndecided && culprit.looks == nullptr) return 0;  // which of several it is, is open
  if (saver != nullptr && saver->contradicted) return 0;
  if (saver != nullptr && saver->what_if) return saver->what_if->saving_ratio;
  const auto ranks = static_cast<double>(measures.ranks.size());
  return Share(culprit.caused_wait_ns, measures.RankTime()) * ranks / std::max(1.0, ranks - 1);
}

bool IsNamed(const std::vector<Culprit>& named, const Fleet& fleet, size_t member) {
  const auto index = static_cast<int32_t>(fleet.members[member].index);
  return std::any_of(named.begin(), named.end(), [&](const Culprit& it) {
    return it.straggler != nullptr ? Holds(it.straggler->rank_indices, index) : it.member == member;
  });
}

// Ranks that stall at a cost, as the replay tells, and that are waited for less than is worth a look by itself: each of
// a pair has one that waits, and what the clocks do not resolve is no certain wait.
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

}  // namespace

std::string_view Name(CulpritKind kind) {
  switch (kind) {
    case CulpritKind::kStraggler:
      return "straggler";
    case CulpritKind::kUndecided:
      return "undecided";
    case CulpritKind::kOnce:
      return "once";
    case CulpritKind::kIrregular:
      return "irregular";
    case CulpritKind::kNotTested:
      break;
  }
  return "";
}

std::pair<double, double> SavingInterval(const WhatIf& what_if) {
  const double saving = what_if.saving_ratio;
  const double noise = kNinetyPercent * what_if.deviation_ratio;
  const double below = std::hypot(kReplayAboveTruth * saving, noise) + kReplayErrorLeast;
  const double above = std::hypot(kReplayBelowTruth * saving, noise) + kReplayErrorLeast;
  return {std::min(saving, std::max(0.0, saving - below)),
          std::min(1.0, saving + std::max(above, what_if.missed_ratio))};
}

void NameCulprits(const Fleet& fleet, const FleetMeasures& measures, const StragglerResult& stragglers,
                  const BlameResult* blame, WaitBlame& waiting) {
  // Where it could not follow most of the waits, who was waited for is all that is known.
  if (blame != nullptr && 2 * blame->unassigned_ns > blame->total_wait_ns) blame = nullptr;
  std::vector<Culprit> named;
  for (const Straggler& straggler : stragglers.stragglers) {
    const std::vector<size_t> members = MembersOf(fleet, straggler);
    if (members.empty()) continue;
    Culprit culprit = FromStraggler(straggler, members, blame, waiting);
    if (members.size() == 1 && culprit.cause == Name(CauseKind::kUnknown) && MovesMore(culprit, fleet, measures)) {
      culprit.cause = kMoreData;
    }
    const bool material = Share(culprit.caused_wait_ns, measures.RankTime()) >= kMaterialShare;
    const bool waited_for = culprit.caused_wait_ns > 0 && (blame != nullptr || material);
    // Mending it saves nothing, as replayed: then only more than its even part of the waiting speaks against it.
    const double even_parts = culprit.share_of_wait * static_cast<double>(fleet.members.size());
    if (straggler.contradicted && even_parts < kMoreThanFair * static_cast<double>(members.size())) continue;
    if (waited_for || CostsBelowTheClocks(straggler, stragglers.unit_ns)) named.push_back(culprit);
  }
  for (size_t place = 0; place < waiting.culprits.size(); ++place) {
    Culprit culprit = waiting.culprits[place];
    const bool known = IsNamed(named, fleet, culprit.member);
    // Who moves more is late by what it moves, which the blame takes for a transfer of all. Who stalls is late by that,
    // whatever it waited for besides.
    const Undecided* const it = UndecidedOf(fleet, stragglers, culprit.member);
    const bool itself = MovesMore(culprit, fleet, measures) || (it != nullptr && StandsOutAtACost(fleet, *it));
    if (known || (PassesOn(culprit, fleet, blame) && !itself)) continue;
    const bool waited_for = place < kMaxCulprits;
    if (NameWithoutTest({fleet, measures, stragglers, blame, waiting}, waited_for, culprit)) named.push_back(culprit);
  }
  NameStallsLittleWaitedFor({fleet, measures, stragglers, blame, waiting}, named);
  for (Culprit& culprit : named) DoubtWhereOpen(fleet, measures, culprit);
  // Neither waiting for it nor a saving is left to tell.
  std::erase_if(named, [](const Culprit& it) { return it.open && it.caused_wait_ns <= 0; });
  std::stable_sort(named.begin(), named.end(),
                   [&](const Culprit& a, const Culprit& b) { return SavingOf(a, measures) > SavingOf(b, measures); });
  waiting.culprits = std::move(named);
  waiting.traced = blame != nullptr;
}

const Culprit* NamedAs(const std::vector<Culprit>& culprits, const Straggler& straggler) {
  const auto found = std::find_if(culprits.begin(), culprits.end(), [&](const Culprit& it) {
    return it.straggler != nullptr && it.straggler->scope == straggler.scope && it.straggler->id == straggler.id;
  });
  return found == culprits.end() ? nullptr : &*found;
}

std::optional<size_t> MostAwaitedMember(const WaitBlame& blame) {
  if (blame.by_member.size() < 3 || blame.wait_ns <= 0) return std::nullopt;
  const auto most = std::max_element(blame.by_member.begin(), blame.by_member.end(),
                                     [](const auto& a, const auto& b) { return a.caused_ns < b.caused_ns; });
  if (most->caused_ns < blame.wait_ns - most->caused_ns) return std::nullopt;
  return static_cast<size_t>(most - blame.by_member.begin());
}

void DoubtBeside(const std::optional<UnresolvedTime>& unresolved, std::vector<Culprit>& culprits) {
  if (!unresolved || !unresolved->leads) return;
  for (Culprit& culprit : culprits) culprit.confidence = std::min(culprit.confidence, kContradicted);
}

}  // namespace lockstep
