// NameCulprits: the statement of the summary from the stragglers and the blame.
#include <algorithm>
#include <cmath>

#include "analysis/metrics/summary/summary.h"
#include "analysis/metrics/summary/untested_culprits.h"

namespace lockstep {
namespace {

constexpr double kMostlyOpen = 0.5;  // of what it is blamed for
// Error of a replayed saving against a rerun without the cause (accuracy row `random`): these shares of it, and these
// points of the step. It is more often too small than too large. Chosen so that the interval holds 97 % of the savings
// of seeds 9101, 9102, 717273 and 838485; see bench/accuracy/README.md for seeds that were not looked at.
constexpr double kReplayAboveTruth = 0.067;
constexpr double kReplayBelowTruth = 0.101;
constexpr double kReplayErrorLeast = 0.0011;

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

bool IsOfComputing(std::string_view cause) {
  return cause == "slow_compute" || cause == Name(CauseKind::kSlowDevice) || cause == Name(CauseKind::kSlowKernel) ||
         cause == Name(CauseKind::kMoreWork);
}

// Kernels tell why a rank computes longer, and may not be there yet in a run that grows. That it does so is told by the
// time that all ranks have, where they do the same: "" where not.
std::string_view CauseByComputing(const Culprit& culprit, const WaitBlame& waiting) {
  if (culprit.straggler->scope != StragglerScope::kRank || IsPipeline(waiting)) return "";
  const auto found = std::ranges::find(waiting.culprits, culprit.member, &Culprit::member);
  return found != waiting.culprits.end() && IsOfComputing(found->cause) ? found->cause : "";
}

// It was the last only because it had waited for another one before.
bool PassesOn(const Culprit& culprit, const Fleet& fleet, const BlameResult* blame) {
  if (blame == nullptr) return false;
  const auto index = static_cast<int32_t>(fleet.members[culprit.member].index);
  return 2 * BlameOn(*blame, {index}, {}).wait_ns < culprit.caused_wait_ns;
}

// It costs something, and durations alone say so too, where the waiting for it is shorter than the clocks can tell.
bool CostsBelowTheClocks(const Straggler& straggler, int64_t step_ns) {
  constexpr double kLateByMuch = 0.01;  // of the step, where no saving is told
  if (straggler.frontier != FrontierAnswer::kAgrees || straggler.contradicted) return false;
  if (straggler.what_if) return straggler.what_if->saving_ratio >= kMinSavingRatio;
  return Share(straggler.effect_ns_per_step, step_ns) >= kLateByMuch;
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
    if (culprit.cause == Name(CauseKind::kUnknown) && MovesMore(members, culprit.caused_wait_ns, fleet, measures)) {
      culprit.cause = kMoreData;
    }
    if (culprit.cause == Name(CauseKind::kUnknown)) {
      if (const std::string_view cause = CauseByComputing(culprit, waiting); !cause.empty()) culprit.cause = cause;
    }
    const bool material = Share(culprit.caused_wait_ns, measures.RankTime()) >= kMaterialShare;
    // What mending it saves shows that it costs something; where that is not known, only the waiting for it does.
    const bool traced_at_a_cost = blame != nullptr && straggler.what_if;
    const bool waited_for = culprit.caused_wait_ns > 0 && (traced_at_a_cost || material);
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
    const bool itself = MovesMore({culprit.member}, culprit.caused_wait_ns, fleet, measures) ||
                        (it != nullptr && StandsOutAtACost(fleet, *it));
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
  for (Culprit& culprit : culprits) {
    culprit.confidence = std::min(culprit.confidence, kContradicted);
    // What it computes longer may be its wait in the kernel that nobody classified.
    const bool waits = unresolved->kernel && culprit.member != unresolved->kernel->shortest;
    if (waits && IsOfComputing(culprit.cause)) culprit.cause = "";
  }
}

}  // namespace lockstep
