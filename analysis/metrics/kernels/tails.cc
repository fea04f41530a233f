#include "analysis/metrics/kernels/tails.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analysis/metrics/kernels/kernel_selection.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

constexpr size_t kMaxShown = 8;

std::vector<KernelSelector> MakeSelectors(const Fleet& fleet) {
  std::vector<KernelSelector> selectors;
  for (const FleetRank& member : fleet.members) selectors.emplace_back(fleet, member, false);
  return selectors;
}

// Each part's instances above the fleet's p99 bucket, and its part of the tail score. Of slices nothing else is shown.
void MeasureParts(TailRow& row) {
  const std::optional<QuantileEstimate> p50 = row.durations.Quantile(0.5);
  const std::optional<QuantileEstimate> p99 = row.durations.Quantile(0.99);
  if (p99) row.above = row.durations.CountAboveBucketOf(p99->value);
  for (std::vector<TailPart>* parts : {&row.by_rank, &row.by_host, &row.by_phase, &row.by_slice}) {
    for (TailPart& part : *parts) {
      if (p99) part.above = part.durations.CountAboveBucketOf(p99->value);
      if (p50) part.excess_ns = part.durations.ExcessOver(2 * p50->value, p50->value).value;
    }
  }
  for (TailPart& part : row.by_slice) part.durations = Sketch();
}

void SplitByRankAndHost(const Fleet& fleet, const KernelGroup& group, TailRow& row) {
  std::map<std::string, TailPart> hosts;
  for (const KernelOfRank& rank : group.by_rank) {
    row.by_rank.push_back({"", rank.member, 0, 0, rank.durations, 0, 0});
    const std::string& host = fleet.members[rank.member].host;
    if (!host.empty()) hosts[host].durations.Merge(rank.durations);
  }
  for (auto& [host, part] : hosts) {
    part.label = host;
    row.by_host.push_back(std::move(part));
  }
}

// Slices of all sources on the coarsest of their grids, by their middle on the aligned axis; all widths are powers of
// two.
void SplitBySliceAndPhase(const Fleet& fleet, const std::vector<KernelSelector>& selectors, const KernelGroup& group,
                          TailRow& row) {
  int64_t width = 0;
  for (const FleetRank& member : fleet.members) width = std::max(width, member.source->context.slice_ns);
  std::map<int64_t, TailPart> slices;
  std::map<std::string, TailPart> phases;
  for (const auto& [member, kernel] : group.rows) {
    const int64_t own = fleet.members[member].source->context.slice_ns;
    for (const auto& [index, sketch] : kernel->slices) {
      if (!selectors[member].Touches(index)) continue;
      if (own > 0) {
        const int64_t middle = fleet.ToAligned(fleet.members[member], GridTime(index, own) + own / 2);
        slices[FloorIndex(middle, width)].durations.Merge(sketch);
      }
      if (!kernel->phase.empty()) phases[kernel->phase].durations.Merge(sketch);
    }
  }
  for (auto& [index, part] : slices) {
    part.start_ns = index * width;
    part.span_ns = width;
    row.by_slice.push_back(std::move(part));
  }
  for (auto& [phase, part] : phases) {
    part.label = phase;
    row.by_phase.push_back(std::move(part));
  }
}

bool Selected(const Fleet& fleet, size_t member, const Exemplar& exemplar) {
  if (const auto window = fleet.TimeWindow()) {
    const int64_t start_ns = fleet.ToAligned(fleet.members[member], exemplar.start_ns);
    return start_ns >= window->first && start_ns < window->second;
  }
  if (!fleet.options.steps) return true;
  return exemplar.step >= fleet.options.steps->first && exemplar.step <= fleet.options.steps->second;
}

// The phase of each step of a source, as its steps tell it; of steps of one number the first.
using PhaseByStep = std::map<int64_t, std::string_view>;

PhaseByStep PhasesOf(const SourceData& source) {
  PhaseByStep phases;
  for (const StepRow& step : source.steps) {
    if (step.step != kNoStep && !step.phase.empty()) phases.emplace(step.step, step.phase);
  }
  return phases;
}

TailPart& PhasePart(TailRow& row, std::string_view phase) {
  const auto at = std::lower_bound(row.by_phase.begin(), row.by_phase.end(), phase,
                                   [](const TailPart& part, std::string_view label) { return part.label < label; });
  if (at != row.by_phase.end() && at->label == phase) return *at;
  TailPart part;
  part.label = phase;
  return *row.by_phase.insert(at, std::move(part));
}

// Where the longest instances are kept, the step of each is known, and with it the phase. After MeasureParts.
void SplitByStep(const Fleet& fleet, const std::vector<PhaseByStep>& phases, const KernelGroup& group, TailRow& row) {
  const std::optional<QuantileEstimate> p99 = row.durations.Quantile(0.99);
  if (!p99 || row.above == 0) return;
  const int64_t last_of_bucket = BoundsOf(BucketIndex(p99->value)).upper;
  std::map<int64_t, int64_t> steps;
  for (const auto& [member, kernel] : group.rows) {
    for (const Exemplar& exemplar : kernel->longest) {
      if (exemplar.duration_ns <= last_of_bucket) break;  // longest first
      if (!Selected(fleet, member, exemplar)) continue;
      ++steps[exemplar.step];
      ++row.above_of_known_step;
      const auto phase = phases[member].find(exemplar.step);
      if (kernel->phase.empty() && phase != phases[member].end()) ++PhasePart(row, phase->second).above;
    }
  }
  for (const auto& [step, above] : steps) row.by_step.push_back({step, above});
  std::stable_sort(row.by_step.begin(), row.by_step.end(),
                   [](const TailStep& a, const TailStep& b) { return a.above > b.above; });
  if (row.by_step.size() > kMaxShown) row.by_step.resize(kMaxShown);
}

void CollectExemplars(const Fleet& fleet, const KernelGroup& group, TailRow& row) {
  for (const auto& [member, kernel] : group.rows) {
    for (const Exemplar& exemplar : kernel->longest) {
      if (Selected(fleet, member, exemplar)) row.exemplars.push_back({member, exemplar});
    }
  }
  const auto key = [](const TailExemplar& e) {
    return std::tuple(-e.instance.duration_ns, e.instance.start_ns, e.member);
  };
  std::sort(row.exemplars.begin(), row.exemplars.end(),
            [&](const TailExemplar& a, const TailExemplar& b) { return key(a) < key(b); });
  if (row.exemplars.size() > kMaxShown) row.exemplars.resize(kMaxShown);
}

// Waits are kept by name: groups that split a name (by shape) all show those of the name.
void CollectWaits(const FleetMeasures& measures, const KernelGroup& group, TailRow& row) {
  std::set<std::pair<size_t, uint32_t>> names;
  for (const auto& [member, kernel] : group.rows) names.emplace(member, kernel->name);
  for (const auto& [member, name] : names) {
    const auto found = measures.ranks[member].waits.find(name);
    if (found == measures.ranks[member].waits.end()) continue;
    row.wait.Merge(found->second.wait);
    row.transfer.Merge(found->second.transfer);
  }
}

}  // namespace

int64_t TimeOfTails(const FleetMeasures& measures, const KernelSummary& table) {
  return table.slices_ns.value_or(measures.RankTime());
}

std::vector<TailRow> ComputeTails(const Fleet& fleet, const FleetMeasures& measures, const KernelSummary& table) {
  const std::vector<KernelSelector> selectors = MakeSelectors(fleet);
  std::vector<PhaseByStep> phases;
  for (const FleetRank& member : fleet.members) phases.push_back(PhasesOf(*member.source));
  const int64_t rank_time = TimeOfTails(measures, table);
  std::vector<TailRow> tails;
  for (const KernelGroup& group : table.groups) {
    const std::optional<TailScore> score = ComputeTailScore(group.durations, rank_time);
    if (!score || score->value <= 0) continue;
    TailRow row;
    row.name = group.name;
    row.category = group.category;
    row.durations = group.durations;
    row.score = *score;
    SplitByRankAndHost(fleet, group, row);
    SplitBySliceAndPhase(fleet, selectors, group, row);
    MeasureParts(row);
    SplitByStep(fleet, phases, group, row);
    CollectExemplars(fleet, group, row);
    if (group.category == Category::kCommunication) CollectWaits(measures, group, row);
    tails.push_back(std::move(row));
  }
  std::sort(tails.begin(), tails.end(), [](const TailRow& a, const TailRow& b) {
    return std::tuple(-a.score.value, std::string_view(a.name)) < std::tuple(-b.score.value, std::string_view(b.name));
  });
  return tails;
}

std::optional<size_t> WorstRank(const TailRow& row) {
  const TailPart* worst = nullptr;
  for (const TailPart& part : row.by_rank) {
    if (part.excess_ns > 0 && (worst == nullptr || part.excess_ns > worst->excess_ns)) worst = &part;
  }
  if (worst == nullptr) return std::nullopt;
  return worst->member;
}

}  // namespace lockstep
