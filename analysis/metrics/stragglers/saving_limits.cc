#include "analysis/metrics/stragglers/saving_limits.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "analysis/metrics/stragglers/stalls.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

// By how much the starts of the instances in which a candidate's ranks meet others may lie apart from what the clocks
// say, in one of its units.
double ClocksLeaveOpen(const StragglerInput& input, const TestUnits& units, const Candidate& candidate) {
  const std::vector<int32_t>& ranks = candidate.rank_indices;
  double sum = 0;
  for (const MatchedInstance& instance : input.match.instances) {
    if (!instance.usable() || instance.uncertainty_ns <= 0) continue;
    const auto inside = std::count_if(instance.members.begin(), instance.members.end(), [&](const MatchedMember& m) {
      return std::binary_search(ranks.begin(), ranks.end(), m.rank_index);
    });
    if (inside == 0 || std::cmp_equal(inside, instance.members.size())) continue;
    const int64_t unit = units.UnitOf(instance);
    const bool measured =
        unit >= 0 && std::binary_search(candidate.units.begin(), candidate.units.end(), static_cast<size_t>(unit));
    if (measured) sum += static_cast<double>(instance.uncertainty_ns);
  }
  return sum / static_cast<double>(std::max<size_t>(1, candidate.units.size()));
}

// The share of units with an instance of which a member has no record: there the replay may miss waits.
double UnitsWithLostRows(const StragglerInput& input, const TestUnits& units) {
  std::vector<bool> lacking(units.count);
  for (const MatchedInstance& instance : input.match.instances) {
    const size_t members = input.match.communicators[instance.communicator].members.size();
    if (!instance.lacking || !instance.usable() || instance.members.size() >= members) continue;
    const int64_t unit = units.UnitOf(instance);
    if (unit >= 0 && std::cmp_less(unit, lacking.size())) lacking[static_cast<size_t>(unit)] = true;
  }
  const auto count = static_cast<double>(std::count(lacking.begin(), lacking.end(), true));
  return count / static_cast<double>(std::max<size_t>(1, lacking.size()));
}

// What lost rows hide of the saving. Of one that is late in every interval that is a small part, of a stall all.
double HiddenByLostRows(const StragglerInput& input, const TestUnits& units, const Candidate& candidate, double late_ns,
                        const WhatIf& what_if) {
  if (!Stalls(candidate)) return 0;
  const auto saved_ns = static_cast<double>(what_if.saving_ns_per_step);
  return UnitsWithLostRows(input, units) * std::max(0.0, late_ns - saved_ns);
}

// What a clock that is off hides of what one of a pair saves: a part of the waiting in each collective. Of several
// members the next one limits what is saved, and it is not known which one that is.
double HiddenByClocks(const StragglerInput& input, const TestUnits& units, const Candidate& candidate,
                      const WhatIf& what_if) {
  constexpr double kLasting = 0.4;  // of an uncertainty: what single records scatter averages out
  constexpr double kMostOfSaving = 0.25;
  const auto saved_ns = static_cast<double>(what_if.saving_ns_per_step);
  const double late_ns = candidate.pair_mean_ns;
  if (candidate.pair_deviation_ns <= 0 || input.replayed != nullptr || saved_ns >= late_ns) return 0;
  const double open_ns = kLasting * ClocksLeaveOpen(input, units, candidate);
  return std::min({late_ns - saved_ns, open_ns, kMostOfSaving * saved_ns});
}

// It stalls, now and then or in most steps, or its host is late throughout.
bool IsHeldUp(const Candidate& candidate, double late_ns) {
  constexpr double kMostOfLateness = 0.5;
  return Stalls(candidate) || candidate.parts[static_cast<size_t>(LatenessPart::kHost)] >= kMostOfLateness * late_ns;
}

}  // namespace

double ComputePerStep(const StragglerInput& input, size_t rank_index) {
  const SourceData& source = input.run.sources[input.ranks.ranks[rank_index].source];
  double compute = 0;
  double steps = 0;
  for (const StepRow& row : source.steps) {
    if (row.step == kNoStep) continue;
    compute += static_cast<double>(row.tile.compute_ns);
    ++steps;
  }
  return steps > 0 ? compute / steps : 0;
}

bool MendsBeyondOthers(const StragglerInput& input, const std::vector<int32_t>& mended, const WhatIf& what_if) {
  constexpr double kTolerance = 0.02;
  if (what_if.saving_ratio <= 0) return false;
  const auto saving = static_cast<double>(what_if.saving_ns_per_step);
  const double left = saving / what_if.saving_ratio - saving;
  for (size_t r = 0; r < input.ranks.ranks.size(); ++r) {
    if (std::binary_search(mended.begin(), mended.end(), static_cast<int32_t>(r))) continue;
    if (left < (1 - kTolerance) * ComputePerStep(input, r)) return true;
  }
  return false;
}

double OthersMayHaveWaited(const StragglerInput& input, const TestUnits& units, const Candidate& candidate) {
  int64_t sum = 0;
  for (const MatchedInstance& instance : input.match.instances) {
    if (instance.all_pairs || !instance.usable() || instance.last_rank_index != candidate.rank_indices.front())
      continue;
    int64_t longest = 0;
    for (const MatchedMember& m : instance.members) {
      const bool may_be = m.latest_arrival_ns != kNeverArrived && m.latest_arrival_ns >= instance.last_start_ns;
      if (may_be) longest = std::max(longest, std::min(instance.last_start_ns, m.end_ns) - m.arrival_ns);
    }
    sum += longest;
  }
  return static_cast<double>(sum) / static_cast<double>(std::max<size_t>(1, units.count));
}

bool ClocksHideSaving(const StragglerInput& input, const TestUnits& units, const Candidate& candidate, double late_ns,
                      const WhatIf& what_if) {
  constexpr double kMuchLess = 0.5;  // of how late it is
  constexpr double kFarOpen = 2;     // times what is not saved of that
  const auto saved_ns = static_cast<double>(what_if.saving_ns_per_step);
  if (candidate.is_transfer() || input.replayed != nullptr || saved_ns >= kMuchLess * late_ns) return false;
  return ClocksLeaveOpen(input, units, candidate) > kFarOpen * (late_ns - saved_ns);
}

bool MendsLittleOfStalls(const StragglerInput& input, const TestUnits& units, const Candidate& candidate,
                         double late_ns, const WhatIf& what_if) {
  constexpr double kFarLess = 0.25;
  if (candidate.is_transfer() || input.replayed != nullptr || !IsHeldUp(candidate, late_ns)) return false;
  const auto critical_ns = static_cast<double>(BlameOn(input.blame, candidate.rank_indices, {}).critical_ns);
  const double lost_ns = std::min(late_ns, critical_ns / static_cast<double>(std::max<size_t>(1, units.count)));
  return static_cast<double>(what_if.saving_ns_per_step) < kFarLess * lost_ns;
}

double ComputeExcess(const StragglerInput& input, const std::vector<int32_t>& ranks) {
  double inside = 0;
  double outside = 0;
  for (size_t r = 0; r < input.ranks.ranks.size(); ++r) {
    const double compute = ComputePerStep(input, r);
    if (compute <= 0) return std::numeric_limits<double>::max();
    (std::binary_search(ranks.begin(), ranks.end(), static_cast<int32_t>(r)) ? inside : outside) += compute;
  }
  const auto members = static_cast<double>(ranks.size());
  const double others = static_cast<double>(input.ranks.ranks.size()) - members;
  return others > 0 ? inside / members - outside / others : std::numeric_limits<double>::max();
}

double MissedSaving(const StragglerInput& input, const TestUnits& units, const Candidate& candidate, double late_ns,
                    const WhatIf& what_if) {
  if (what_if.saving_ns_per_step <= 0) return 0;
  const double missed_ns = std::max(HiddenByLostRows(input, units, candidate, late_ns, what_if),
                                    HiddenByClocks(input, units, candidate, what_if));
  return missed_ns * what_if.saving_ratio / static_cast<double>(what_if.saving_ns_per_step);
}

}  // namespace lockstep
