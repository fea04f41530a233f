#include "analysis/metrics/stragglers/stragglers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/base/unit_text.h"
#include "analysis/metrics/stragglers/recurrence.h"
#include "analysis/metrics/stragglers/saving_limits.h"
#include "analysis/metrics/stragglers/selection.h"
#include "analysis/metrics/stragglers/series_bootstrap.h"
#include "analysis/metrics/stragglers/series_statistics.h"
#include "analysis/metrics/stragglers/stalls.h"
#include "analysis/metrics/stragglers/tested_lateness.h"

namespace lockstep {

std::string_view Name(StragglerScope scope) {
  switch (scope) {
    case StragglerScope::kRank:
      return "rank";
    case StragglerScope::kGpu:
      return "gpu";
    case StragglerScope::kHost:
      return "host";
    case StragglerScope::kRail:
      return "rail";
    case StragglerScope::kStage:
      return "stage";
    case StragglerScope::kCommunicator:
      return "communicator";
  }
  return "";
}

std::string ScopedName(StragglerScope scope, std::string_view id) {
  const std::string_view name = Name(scope);
  if (id.substr(0, name.size()) == name) return std::string(id);
  return fmt::format("{} {}", name, id);
}

double ConfidenceOf(double p) {
  if (p <= 0) return 1;
  if (p >= std::exp(-1)) return 0.5;
  const double odds_of_chance = -std::exp(1) * p * std::log(p);
  return 1 / (1 + odds_of_chance);
}

std::string UnitsText(const StragglerResult& result, int64_t count) {
  const std::string text = fmt::format("{} {}{}", CountText(count), result.unit, count == 1 ? "" : "s");
  return result.are_steps() ? text : fmt::format("{} of {}", text, TimeText(result.unit_ns));
}

std::string WorthText(int64_t units, double independent) {
  constexpr double kAlike = 0.95;
  if (independent >= kAlike * static_cast<double>(units)) return "";
  return fmt::format(" (equivalent to {:.1f} independent ones)", independent);
}

std::string_view Name(Recurrence recurrence) {
  switch (recurrence) {
    case Recurrence::kPersistent:
      return "persistent";
    case Recurrence::kPeriodic:
      return "periodic";
    case Recurrence::kBursty:
      return "bursty";
    case Recurrence::kRandom:
      return "random";
  }
  return "";
}

namespace {

CauseKind UsualCause(LatenessPart part) {
  switch (part) {
    case LatenessPart::kCopy:
      return CauseKind::kCopies;
    case LatenessPart::kHost:
    case LatenessPart::kLaunch:
      return CauseKind::kHostDelay;
    case LatenessPart::kTransfer:
      return CauseKind::kTransfer;
    case LatenessPart::kDependency:
      return CauseKind::kDependency;
    case LatenessPart::kCarryIn:
    case LatenessPart::kCompute:
    case LatenessPart::kWait:
    case LatenessPart::kRest:
      break;
  }
  return CauseKind::kUnknown;
}

// The parts that matter, largest first, each with its kind of trouble.
std::vector<StragglerPart> MaterialPartsOf(const StragglerInput& input, const TestUnits& units,
                                           const Candidate& candidate) {
  constexpr double kMaterial = 0.1;  // of the largest
  const double largest = *std::max_element(candidate.parts.begin(), candidate.parts.end());
  const bool steps_of_ranks = units.are_steps && !candidate.is_transfer();
  const double compute =
      steps_of_ranks ? ComputePerStep(input, static_cast<size_t>(candidate.rank_indices.front())) : 0;
  std::vector<StragglerPart> parts;
  for (size_t p = 0; p < kLatenessParts; ++p) {
    if (candidate.parts[p] <= 0 || candidate.parts[p] < kMaterial * largest) continue;
    const auto part = static_cast<LatenessPart>(p);
    StragglerPart out{UsualCause(part), "", std::llround(candidate.parts[p]), 0};
    if (!candidate.is_transfer()) {
      const double of_compute = compute > 0 ? candidate.parts[p] / compute : 0;
      OriginCause told =
          ExplainOrigin(input.run, input.ranks, input.graph, candidate.rank_indices.front(), part, of_compute);
      if (told.kind != CauseKind::kUnknown) {
        out.cause = told.kind;
        out.excess_ratio = told.excess_ratio;
      }
      out.kernel = std::move(told.kernel);
    }
    parts.push_back(std::move(out));
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const StragglerPart& a, const StragglerPart& b) { return a.ns_per_step > b.ns_per_step; });
  return parts;
}

std::string WhyNoSaving(const StragglerInput& input, const Selected& selected) {
  if (selected.contradicted) {
    return "the replay saves nothing by it alone, although the others wait for it: another one is late at the same "
           "time, or its work cannot be compared";
  }
  if (selected.open) return "its reduces or broadcasts do not tell who waited for it, so the replay misses these waits";
  if (!input.replay.base().faithful) return "the replay does not reproduce the run";
  return selected.shown ? "no other rank does the same work, so there is nothing to compare it with"
                        : "the replayed part of the run holds too little of it";
}

Straggler Describe(const StragglerInput& input, const TestUnits& units, const Candidate& candidate,
                   const Judgement& judgement, const Selected& selected) {
  Straggler out;
  out.scope = candidate.scope;
  out.id = candidate.id;
  out.rank_indices = candidate.rank_indices;
  out.communicators = candidate.communicators;
  const RecurrenceResult recurrence = ClassifyRecurrence(candidate.series, candidate.floor_ns);
  out.kind = recurrence.kind;
  out.period_steps = recurrence.period;
  out.effect_ns_per_step = std::llround(judgement.mean_ns);
  const auto [low, high] = BootstrapMean(candidate.series, BlockLength(candidate.series.size(), judgement.n_eff));
  out.confidence_ns = {std::llround(low), std::llround(high)};
  out.p_adjusted = judgement.p_adjusted;
  out.what_if = selected.what_if;
  out.after_others = selected.after_others;
  out.contradicted = selected.contradicted;
  if (!out.what_if) out.why_no_saving = WhyNoSaving(input, selected);
  if (out.what_if) {
    out.what_if->missed_ratio = MissedSaving(input, units, candidate, judgement.mean_ns, *out.what_if);
  }
  if (out.what_if && MendsBeyondOthers(input, out.rank_indices, *out.what_if)) {
    out.what_if.reset();
    out.why_no_saving = "the replayed step is shorter than the time that other ranks compute in it";
  }
  if (out.what_if && !out.after_others && ClocksHideSaving(input, units, candidate, judgement.mean_ns, *out.what_if)) {
    out.what_if.reset();
    out.why_no_saving = "the clocks of the hosts are not known well enough to tell how long the others waited for it";
  }
  if (out.what_if && !out.after_others &&
      MendsLittleOfStalls(input, units, candidate, judgement.mean_ns, *out.what_if)) {
    out.what_if.reset();
    out.why_no_saving = "the replay mends little of its stalls, although the others wait for them";
  }
  // How the stalls of such a rank shift its pipeline is replayed too roughly to tell a figure.
  if (out.what_if && candidate.with_itself) {
    out.what_if.reset();
    out.after_others.reset();
    out.why_no_saving = "nobody else does the same work, so only its own other steps show what it would take";
  }
  out.blame = BlameOn(input.blame, out.rank_indices, out.communicators);
  out.parts = MaterialPartsOf(input, units, candidate);
  out.persistence = judgement.late_share;
  out.steps = static_cast<int64_t>(candidate.series.size());
  out.n_eff = judgement.n_eff;
  return out;
}

int64_t CostOf(const Straggler& it) { return it.what_if ? it.what_if->saving_ns_per_step : it.effect_ns_per_step; }

// Each of them is checked besides the others: behind a slower one nobody leads.
void CrossCheck(const StragglerInput& input, const TestUnits& units, StragglerResult& result) {
  if (result.stragglers.empty()) return;
  const std::vector<FrontierLeads> leads = MeasureFrontier(
      input.graph, input.match, [&](const MatchedInstance& instance) { return units.UnitOf(instance); });
  std::vector<int32_t> named;
  for (const Straggler& it : result.stragglers) {
    if (it.communicators.empty()) named.insert(named.end(), it.rank_indices.begin(), it.rank_indices.end());
  }
  std::sort(named.begin(), named.end());
  for (Straggler& it : result.stragglers) {
    if (it.communicators.empty()) it.frontier = AskFrontier(leads, it.rank_indices, named);
  }
}

int64_t StepsThatDecide(const Judgement& judgement) {
  return judgement.steps_needed < kManySteps ? static_cast<int64_t>(std::ceil(judgement.steps_needed)) : 0;
}

void Tell(const StragglerInput& input, const TestedLateness& tested, const Selection& selection,
          StragglerResult& result) {
  const std::vector<Candidate>& candidates = tested.candidates;
  const std::vector<Judgement>& judgements = tested.judgements;
  for (const Selected& it : selection.found) {
    result.stragglers.push_back(Describe(input, tested.units, candidates[it.candidate], judgements[it.candidate], it));
  }
  std::stable_sort(result.stragglers.begin(), result.stragglers.end(),
                   [](const Straggler& a, const Straggler& b) { return CostOf(a) > CostOf(b); });
  for (const LateOnce& event : selection.once) {
    const Candidate& it = candidates[event.candidate];
    if (it.scope != StragglerScope::kRank || it.is_transfer()) continue;
    result.once.push_back({it.rank_indices.front(), std::llround(event.late_ns)});
  }
  for (const Selected& it : selection.undecided) {
    const Candidate& candidate = candidates[it.candidate];
    const Judgement& judgement = judgements[it.candidate];
    result.undecided.push_back({candidate.scope, candidate.id, static_cast<int64_t>(candidate.series.size()),
                                judgement.n_eff, StepsThatDecide(judgement), candidate.rank_indices, it.stands_out,
                                Describe(input, tested.units, candidate, judgement, it)});
    result.undecided.back().p_stalls = judgement.p_stalls;
    result.undecided.back().late_throughout = LateThroughout(candidate);
    if (it.what_if ? !candidate.with_itself : !it.stands_out) continue;
    const double late_ratio = judgement.mean_ns / static_cast<double>(tested.units.unit_ns);
    result.undecided.back().untold_saving_ratio = it.what_if ? it.what_if->saving_ratio : late_ratio;
  }
}

void TellRanks(size_t ranks, const TestedLateness& tested, StragglerResult& result) {
  result.rank_n_eff.assign(ranks, 0);
  result.rank_late_ns.assign(ranks, std::nullopt);
  for (size_t i = 0; i < tested.candidates.size(); ++i) {
    const Candidate& it = tested.candidates[i];
    if (it.scope != StragglerScope::kRank) continue;
    const auto rank = static_cast<size_t>(it.rank_indices.front());
    result.rank_n_eff[rank] = tested.judgements[i].n_eff;
    result.rank_late_ns[rank] = tested.judgements[i].mean_ns;
  }
}

// With so few independent steps not even a rank that is late in every one of them can be distinguished from chance. The
// number that would do is the one that the first undecided candidate needs, if there is one.
std::string WhyUndecidable(const std::vector<Judgement>& judgements, const StragglerResult& result) {
  double most = 0;
  for (const Judgement& it : judgements) most = std::max(most, it.n_eff);
  const double least = LeastUnits(static_cast<size_t>(result.tests));
  if (most >= least) return "";
  const double worth = std::max(most / static_cast<double>(result.steps), 1e-3);
  auto enough = static_cast<int64_t>(std::ceil(kWorthMargin * least / worth));
  if (!result.undecided.empty()) enough = std::max(enough, result.undecided.front().steps_needed);
  return fmt::format(
      "not enough data: {}{} are too few to decide who is late again and again; about {} would be enough",
      UnitsText(result, result.steps), WorthText(result.steps, most), CountText(enough));
}

Costs CostsOf(const StragglerInput& input, const TestedLateness& tested, ReplayScratch& scratch) {
  Costs costs;
  if (input.replayed != nullptr) {
    costs.replayed = ReplayedPart({tested.own, tested.candidates}, {input.replayed->own, input.replayed->candidates});
  }
  if (input.replay.base().faithful) {
    costs.saving = [&](const Idealisation& ideal) {
      const auto replay = [&] { return input.replay.Saving(ideal, scratch); };
      return input.memo == nullptr ? replay() : input.memo->Get(ideal, replay);
    };
  }
  costs.critical_ns = [&](const Candidate& it) {
    return BlameOn(input.blame, it.rank_indices, it.communicators).critical_ns;
  };
  costs.open_ns = [&](const Candidate& it) { return OthersMayHaveWaited(input, tested.units, it); };
  if (tested.units.are_steps) {
    costs.compute_excess_ns = [&](const Candidate& it) { return ComputeExcess(input, it.rank_indices); };
  }
  return costs;
}

}  // namespace

StragglerResult FindStragglers(const StragglerInput& input, const TestedLateness& tested) {
  StragglerResult result;
  result.unit = tested.units.are_steps ? "step" : "block";
  result.unit_ns = tested.units.unit_ns;
  result.steps = static_cast<int64_t>(tested.units.count);
  if (!tested.units.CanTest()) {
    result.reason = input.graph.order.empty() ? "no collective can be compared across ranks"
                                              : "there are too few steps or collectives to compare the ranks over time";
    return result;
  }
  const std::vector<Candidate>& candidates = tested.candidates;
  result.tests = static_cast<int64_t>(candidates.size());
  result.least_steps = std::llround(std::ceil(LeastUnits(candidates.size())));
  if (candidates.empty()) {
    result.reason = "no rank's own time between collectives is known in two steps or more";
    return result;
  }
  ReplayScratch scratch(input.executor);
  const Selection selection =
      SelectStragglers(candidates, tested.judgements, tested.own, tested.units, CostsOf(input, tested, scratch));
  if (!input.replay.base().faithful) {
    result.reason =
        "the replay does not reproduce the run: no saving is given, and only ranks that are late by 1 % of the step or "
        "more are named";
  }
  Tell(input, tested, selection, result);
  CrossCheck(input, tested.units, result);
  TellRanks(input.ranks.ranks.size(), tested, result);
  const std::string too_few = WhyUndecidable(tested.judgements, result);
  result.decides = too_few.empty() && result.steps >= result.least_steps;
  if (!too_few.empty()) result.reason = result.reason.empty() ? too_few : fmt::format("{}; {}", too_few, result.reason);
  return result;
}

}  // namespace lockstep
