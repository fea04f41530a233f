#include "analysis/metrics/stragglers/selection.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "analysis/metrics/stragglers/replayed_savings.h"
#include "analysis/metrics/stragglers/series_bootstrap.h"
#include "analysis/metrics/stragglers/series_statistics.h"
#include "analysis/metrics/stragglers/stalls.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

bool IsGroup(const Candidate& candidate) {
  return candidate.is_transfer() ? candidate.scope == StragglerScope::kRail : candidate.rank_indices.size() > 1;
}

class Selector {
 public:
  Selector(const std::vector<Candidate>& candidates, const std::vector<Judgement>& judgements,
           const std::vector<RankOwnTime>& own, const TestUnits& units, const Costs& costs)
      : candidates_(candidates),
        judgements_(judgements),
        own_(own),
        units_(units),
        costs_(costs),
        savings_(candidates, units, costs.saving, costs.replayed) {
    order_.resize(candidates.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
      const bool group_a = IsGroup(candidates_[a]);
      const bool group_b = IsGroup(candidates_[b]);
      if (group_a != group_b) return group_a;
      return judgements_[a].mean_ns > judgements_[b].mean_ns;
    });
  }

  Selection Select() {
    if (costs_.saving) savings_.Suspect(Suspects());
    for (const size_t i : order_) {
      if (!Promising(i)) continue;
      if (const std::optional<double> late_ns = LateInOneEvent(candidates_[i]))
        selection_.once.push_back({i, *late_ns});
    }
    for (const size_t i : order_) {
      if (Promising(i) && judgements_[i].p_adjusted < kStragglerAlpha) TryFound(i);
    }
    for (const size_t i : order_) {
      if (Promising(i) && judgements_[i].p_adjusted >= kStragglerAlpha) TryUndecided(i);
    }
    return std::move(selection_);
  }

 private:
  // What it costs at most is its excess; below the least saving nothing needs to be replayed.
  [[nodiscard]] bool Promising(size_t i) const {
    const double least = kMinSavingRatio * UnitNs();
    return judgements_[i].mean_ns >= least && judgements_[i].mean_ns > candidates_[i].floor_ns;
  }

  void TryFound(size_t i) {
    if (IsExplained(i, selection_.found) || LateInOneEvent(candidates_[i])) return;
    std::optional<WhatIf> what_if = costs_.saving ? SavingOf(i) : std::nullopt;
    // Mending makes nobody slower: what it was compared with is not the same work.
    if (what_if && what_if->saving_ratio < -kMinSavingRatio) what_if.reset();
    // How its stalls shift its pipeline is replayed too roughly to speak against what the others lost to it.
    if (what_if && candidates_[i].with_itself && StallsAlone(i) && CostsMuch(i)) what_if.reset();
    if (!what_if) {
      if (!IsStageByNature(i) && StallsAlone(i)) TryUntold(i);
      return;
    }
    if (what_if->saving_ratio < kMinSavingRatio) {
      const std::optional<WhatIf> burst = savings_.OfBurst(i);
      if (!burst || burst->saving_ratio < kMinSavingRatio) {
        if (TryAfterOthers(i, *what_if)) return;
        const bool open = IsOpen(i);
        if (open || IsContradicted(i)) {
          selection_.found.push_back({.candidate = i, .contradicted = !open, .open = open});
        }
        return;
      }
      what_if = burst;
    }
    if (IsOneMembers(i, *what_if) || IsOneParts(i, *what_if) || !SavesAsAStage(i, *what_if)) return;
    selection_.found.push_back({i, *what_if});
    AddWhatRivalsHide(i, *what_if);
  }

  // Of who costs little it need only be known that it saves too little to be told.
  [[nodiscard]] std::optional<WhatIf> SavingOf(size_t i) {
    return CostsMuch(i) ? savings_.OfOne(i) : savings_.OfOneAtMost(i);
  }

  // Ranks that may be late beyond chance and cost little, in the order in which they are tried.
  [[nodiscard]] std::vector<int32_t> Suspects() const {
    std::vector<int32_t> ranks;
    for (const size_t i : order_) {
      const Candidate& it = candidates_[i];
      const bool is_rank = it.scope == StragglerScope::kRank && !it.is_transfer();
      const bool is_late = Promising(i) && judgements_[i].p_adjusted < kStragglerAlpha;
      if (is_rank && is_late && !CostsMuch(i)) ranks.push_back(it.rank_indices.front());
    }
    return ranks;
  }

  // What it saves once its rivals are mended, where that is much more than what it saves alone.
  void AddWhatRivalsHide(size_t i, const WhatIf& alone) {
    constexpr double kMuchMore = 2;  // times what it saves alone
    // No saving is larger than the excess, so the replay need not be asked where the excess is not much more itself.
    const double least_ns = kMuchMore * static_cast<double>(alone.saving_ns_per_step);
    if (units_.are_steps && judgements_[i].mean_ns < least_ns) return;
    const std::optional<WhatIf> after = savings_.After(i, Rivals(i));
    if (after && after->saving_ratio >= kMuchMore * alone.saving_ratio) selection_.found.back().after_others = after;
  }

  // False: it saves nothing either after those that were found, or that are as late as it is.
  bool TryAfterOthers(size_t i, const WhatIf& alone) {
    if (!std::exchange(knows_all_late_, true)) savings_.Learn(LateRanks(kMinSavingRatio * UnitNs()));
    std::optional<WhatIf> after = SavingAfterOthers(i);
    if (!after || after->saving_ratio < kMinSavingRatio) after = savings_.After(i, Rivals(i));
    if (!after || after->saving_ratio < kMinSavingRatio) return false;
    if (!IsOneMembers(i, *after)) {
      // That it lengthens the run a little, where it is mended alone, is noise of the replay.
      const WhatIf told = alone.saving_ratio < 0 ? WhatIf{} : alone;
      selection_.found.push_back({.candidate = i, .what_if = told, .after_others = after});
    }
    return true;
  }

  // Most of what it is late by may have been waited for it where nothing tells who waits for whom.
  [[nodiscard]] bool IsOpen(size_t i) const {
    constexpr double kMostOfLateness = 0.5;
    if (candidates_[i].scope != StragglerScope::kRank || !costs_.open_ns || !CostsMuch(i)) return false;
    return costs_.open_ns(candidates_[i]) >= kMostOfLateness * judgements_[i].mean_ns;
  }

  // Mending it alone saves nothing, as replayed, and yet the others lose much of each step to it: two that are late at
  // the same time hide each other, or the replay has its work wrong. It is named, and no saving is told.
  [[nodiscard]] bool IsContradicted(size_t i) const {
    constexpr double kMuchOfUnit = 0.05;
    if (IsStageByNature(i) || candidates_[i].is_transfer() || !CostsMuch(i)) return false;
    const double critical = static_cast<double>(costs_.critical_ns(candidates_[i])) / static_cast<double>(units_.count);
    return critical >= kMuchOfUnit * UnitNs();
  }

  // Of two that are compared with themselves and stall in the same units it is not told which one the others wait for.
  // Of any other candidate: true.
  [[nodiscard]] bool StallsAlone(size_t i) const {
    const Candidate& candidate = candidates_[i];
    return !candidate.with_itself || std::none_of(candidates_.begin(), candidates_.end(), [&](const Candidate& other) {
      return &other != &candidate && other.with_itself && IsMostlyLateWith(candidate, other);
    });
  }

  // Where no saving can be told (no faithful replay, nobody who does the same elsewhere, too little in what is
  // replayed).
  void TryUntold(size_t i) {
    if (CostsMuch(i)) selection_.found.push_back({i, std::nullopt, costs_.replayed.Shows(i)});
  }

  // Stages do different work, so that one always takes longest: that is nobody's fault, and only a stage whose mending
  // is known to save something is told, or, where no replay can tell that, one that computes longer by as much.
  [[nodiscard]] bool IsStageByNature(size_t i) const {
    if (candidates_[i].scope != StragglerScope::kStage) return false;
    return costs_.saving || !costs_.compute_excess_ns || !IsSlowAsAStage(i, judgements_[i].mean_ns);
  }

  // The programs of stages differ, and so do the stretches that are compared: a stage that computes longer shows that
  // in all that its devices compute. What its hosts and copies take longer counts as compared. Of any other scope:
  // true.
  [[nodiscard]] bool IsSlowAsAStage(size_t i, double longer_ns) const {
    constexpr double kExplains = 0.5;  // of what it is late by, or saves
    const Candidate& candidate = candidates_[i];
    if (candidate.scope != StragglerScope::kStage || candidate.is_transfer() || !costs_.compute_excess_ns) return true;
    double explained_ns = costs_.compute_excess_ns(candidate);
    for (const LatenessPart part : {LatenessPart::kHost, LatenessPart::kLaunch, LatenessPart::kCopy}) {
      explained_ns += std::max(0.0, candidate.parts[static_cast<size_t>(part)]);
    }
    return explained_ns >= kExplains * longer_ns;
  }

  [[nodiscard]] bool SavesAsAStage(size_t i, const WhatIf& what_if) const {
    return IsSlowAsAStage(i, static_cast<double>(what_if.saving_ns_per_step));
  }

  // Late by much, and the cause of as much waiting.
  [[nodiscard]] bool CostsMuch(size_t i) const {
    const double least = kMinUntoldRatio * UnitNs();
    if (judgements_[i].mean_ns < least) return false;
    const double critical = static_cast<double>(costs_.critical_ns(candidates_[i])) / static_cast<double>(units_.count);
    return critical >= least && !IsMostlyOneMember(i);
  }

  void TryUndecided(size_t i) {
    if (!LooksLate(i) || LateInOneEvent(candidates_[i])) return;
    if (judgements_[i].steps_needed >= kManySteps && !StandsOut(candidates_[i])) return;
    if (IsExplained(i, selection_.found) || IsExplained(i, selection_.undecided)) return;
    const bool shown = costs_.replayed.Shows(i);
    if (!costs_.saving || !shown) {
      if (!CostsMuch(i) || IsStageByNature(i)) return;
      selection_.undecided.push_back({.candidate = i, .shown = shown, .stands_out = StandsOut(candidates_[i])});
      return;
    }
    const std::optional<WhatIf> what_if = HoldsFound(i) ? SavingAfterOthers(i) : SavingOf(i);
    // Its own other steps show that it stalls, and no other rank shows what that costs.
    if (!what_if && savings_.MayAsk() && Stalls(candidates_[i]) && CostsMuch(i) && !IsStageByNature(i)) {
      selection_.undecided.push_back({.candidate = i, .shown = shown, .stands_out = true});
    }
    if (!what_if || what_if->saving_ratio < kMinSavingRatio || IsOneMembers(i, *what_if)) return;
    if (!SavesAsAStage(i, *what_if)) return;
    selection_.undecided.push_back({.candidate = i, .what_if = *what_if, .stands_out = StandsOut(candidates_[i])});
  }

  // Beyond chance, or as one that looks late.
  [[nodiscard]] bool IsToldItself(size_t i) const {
    return judgements_[i].p_adjusted < kStragglerAlpha || (Promising(i) && LooksLate(i));
  }

  // Late in most units, with more large delays than its fair part, or stalled more than once: one long pause alone
  // gives a large mean, too.
  [[nodiscard]] bool LooksLate(size_t i) const {
    constexpr double kMostUnits = 0.65;
    constexpr double kSeldomAlpha = 0.005;
    const Judgement& it = judgements_[i];
    if (StandsOut(candidates_[i])) return true;
    if (it.late_share < kMostUnits && it.p_seldom > kSeldomAlpha) return false;
    const std::vector<double>& series = candidates_[i].series;
    return BootstrapMean(series, BlockLength(series.size(), it.n_eff)).first > 0;
  }

  static constexpr double kNearlyAll = 0.8;  // of what a group saves

  // What mending the group saves is what mending a smaller group of its ranks saves, as one host of a communicator that
  // holds several. That one is told instead.
  bool IsOneParts(size_t group, const WhatIf& of_group) {
    const std::optional<size_t> latest = LatestPart(group);
    if (!latest || !IsToldItself(*latest)) return false;
    const std::optional<WhatIf> alone = savings_.OfOne(*latest);
    return alone && alone->saving_ratio >= kMinSavingRatio && alone->saving_ratio >= kNearlyAll * of_group.saving_ratio;
  }

  // What mending the group saves is what mending its latest member alone saves. That one is told instead, if it is told
  // at all; else the group is dropped only where its member is far later and leaves nothing material to the others.
  bool IsOneMembers(size_t group, const WhatIf& of_group) {
    const std::optional<size_t> latest = LatestMember(group);
    if (!latest) return false;
    const std::optional<WhatIf> alone = savings_.OfOne(*latest);
    if (!alone) return false;
    if (IsToldItself(*latest)) {
      return alone->saving_ratio >= kMinSavingRatio && alone->saving_ratio >= kNearlyAll * of_group.saving_ratio;
    }
    return judgements_[*latest].mean_ns >= 2 * judgements_[group].mean_ns &&
           of_group.saving_ratio - alone->saving_ratio < kMinSavingRatio;
  }

  [[nodiscard]] bool IsMostlyOneMember(size_t group) const {
    const std::optional<size_t> latest = LatestMember(group);
    return latest && judgements_[*latest].mean_ns >= 2 * judgements_[group].mean_ns;
  }

  // Of its ranks; null for what is no group of ranks.
  [[nodiscard]] std::optional<size_t> LatestMember(size_t group) const {
    return LatestWithin(group, [](const Candidate& it) { return it.scope == StragglerScope::kRank; });
  }

  // Of the groups of some of its ranks.
  [[nodiscard]] std::optional<size_t> LatestPart(size_t group) const {
    const size_t ranks = candidates_[group].rank_indices.size();
    return LatestWithin(group, [&](const Candidate& it) { return IsGroup(it) && it.rank_indices.size() < ranks; });
  }

  template <typename Wanted>
  [[nodiscard]] std::optional<size_t> LatestWithin(size_t group, const Wanted& wanted) const {
    const Candidate& outer = candidates_[group];
    if (!IsGroup(outer) || outer.is_transfer()) return std::nullopt;
    std::optional<size_t> latest;
    for (const size_t i : order_) {
      const Candidate& it = candidates_[i];
      if (it.is_transfer() || !wanted(it) || !Includes(outer.rank_indices, it.rank_indices)) continue;
      if (!latest || judgements_[i].mean_ns > judgements_[*latest].mean_ns) latest = i;
    }
    return latest;
  }

  // One of its members is told already: a group is only worth what it saves besides.
  [[nodiscard]] bool HoldsFound(size_t i) const {
    return std::any_of(selection_.found.begin(), selection_.found.end(), [&](const Selected& it) {
      return Includes(candidates_[i].rank_indices, candidates_[it.candidate].rank_indices);
    });
  }

  // Behind a slower one it costs nothing until that is mended: what it saves then.
  std::optional<WhatIf> SavingAfterOthers(size_t i) {
    std::vector<int32_t> ranks;
    for (const Selected& found : selection_.found) {
      const std::vector<int32_t>& of = candidates_[found.candidate].rank_indices;
      if (!candidates_[found.candidate].is_transfer()) ranks.insert(ranks.end(), of.begin(), of.end());
    }
    return savings_.After(i, std::move(ranks));
  }

  // Ranks that are late beside it, beyond chance and by nearly as much: each hides what the other costs.
  [[nodiscard]] std::vector<int32_t> Rivals(size_t i) const {
    if (candidates_[i].is_transfer()) return {};
    std::vector<int32_t> ranks = LateRanks(judgements_[i].mean_ns);
    const std::vector<int32_t>& own = candidates_[i].rank_indices;
    std::erase_if(ranks, [&own](int32_t rank) { return std::binary_search(own.begin(), own.end(), rank); });
    return ranks;
  }

  // All ranks that are late beyond chance by nearly so much, or more.
  [[nodiscard]] std::vector<int32_t> LateRanks(double late_ns) const {
    constexpr double kNearlyAsMuch = 0.5;
    std::vector<int32_t> ranks;
    for (const size_t i : order_) {
      const Candidate& it = candidates_[i];
      const bool late =
          judgements_[i].p_adjusted < kStragglerAlpha && judgements_[i].mean_ns >= kNearlyAsMuch * late_ns;
      if (late && it.scope == StragglerScope::kRank && !it.is_transfer()) ranks.push_back(it.rank_indices.front());
    }
    return ranks;
  }

  [[nodiscard]] double UnitNs() const { return static_cast<double>(units_.unit_ns); }

  // A group that is chosen already has the candidate among its members and is nearly as late as it is.
  [[nodiscard]] bool IsExplained(size_t i, const std::vector<Selected>& chosen) const {
    return std::any_of(chosen.begin(), chosen.end(), [&](const Selected& it) { return Explains(it.candidate, i); });
  }

  [[nodiscard]] bool Explains(size_t group, size_t i) const {
    const Candidate& outer = candidates_[group];
    const Candidate& inner = candidates_[i];
    if (outer.is_transfer() != inner.is_transfer()) return false;
    const bool inside = outer.is_transfer() ? Includes(outer.communicators, inner.communicators)
                                            : Includes(outer.rank_indices, inner.rank_indices);
    if (!inside) return false;
    if (!MeasuredAgainstOutsiders(outer, inner)) return false;
    const double usual = UsualOfMembers(group, i);
    return judgements_[i].mean_ns - usual < std::max(inner.floor_ns, usual / 2);
  }

  // How late a group's members are: as late as the group, or as the other ranks of it. Members that are late by turns
  // are each later than the group.
  [[nodiscard]] double UsualOfMembers(size_t group, size_t i) const {
    const Candidate& outer = candidates_[group];
    std::vector<double> others;
    for (const size_t other : order_) {
      const Candidate& it = candidates_[other];
      if (other == i || it.scope != StragglerScope::kRank || it.is_transfer()) continue;
      if (Includes(outer.rank_indices, it.rank_indices)) others.push_back(judgements_[other].mean_ns);
    }
    const double usual = others.empty() || outer.is_transfer() ? 0 : UpperMedian(std::move(others));
    return std::max(judgements_[group].mean_ns, usual);
  }

  // Most ranks are measured against their communicator; if all of that belongs to the group, its excess is besides the
  // group's.
  [[nodiscard]] bool MeasuredAgainstOutsiders(const Candidate& outer, const Candidate& inner) const {
    if (inner.scope != StragglerScope::kRank || !inner.with_members) return true;
    const int32_t communicator = own_[static_cast<size_t>(inner.rank_indices.front())].communicator;
    for (size_t rank = 0; rank < own_.size(); ++rank) {
      const bool mate = own_[rank].communicator == communicator;
      if (mate &&
          !std::binary_search(outer.rank_indices.begin(), outer.rank_indices.end(), static_cast<int32_t>(rank))) {
        return true;
      }
    }
    return false;
  }

  template <typename Value>
  static bool Includes(const std::vector<Value>& outer, const std::vector<Value>& inner) {
    return std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
  }

  const std::vector<Candidate>& candidates_;
  const std::vector<Judgement>& judgements_;
  const std::vector<RankOwnTime>& own_;
  const TestUnits& units_;
  const Costs& costs_;
  std::vector<size_t> order_;
  Selection selection_;
  ReplayedSavings savings_;
  bool knows_all_late_ = false;  // what all late ranks save together
};

}  // namespace

Selection SelectStragglers(const std::vector<Candidate>& candidates, const std::vector<Judgement>& judgements,
                           const std::vector<RankOwnTime>& own, const TestUnits& units, const Costs& costs) {
  return Selector(candidates, judgements, own, units, costs).Select();
}

}  // namespace lockstep
