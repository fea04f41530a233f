#include "analysis/metrics/findings/facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/model/row_values.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

void AddTo(const RankFacts& part, RankFacts& total) {
  total.measure.Add(part.measure);
  total.exposure.Add(part.exposure);
  total.host_ns += part.host_ns;
  total.launch_calls += part.launch_calls;
  total.launch_call_ns += part.launch_call_ns;
  total.steps += part.steps;
  total.step_ns += part.step_ns;
  total.sync_calls += part.sync_calls;
  total.sync_ns += part.sync_ns;
  total.alloc_calls += part.alloc_calls;
  total.alloc_ns += part.alloc_ns;
  total.alloc_max_ns = std::max(total.alloc_max_ns, part.alloc_max_ns);
  total.host_copies += part.host_copies;
  total.host_copy_ns += part.host_copy_ns;
}

RankFacts FactsOfStep(const StepRow& row) {
  RankFacts facts;
  facts.steps = 1;
  facts.step_ns = facts.host_ns = row.tile.span_ns;
  facts.launch_calls = row.launches;
  facts.launch_call_ns = row.launch_ns;
  facts.sync_calls = row.sync_calls;
  facts.sync_ns = row.sync_ns;
  facts.alloc_calls = row.alloc_calls;
  facts.alloc_ns = row.alloc_ns;
  facts.alloc_max_ns = row.alloc_max_ns;
  facts.host_copies = row.host_copies;
  facts.host_copy_ns = row.host_copy_ns;
  return facts;
}

// What the host does counts once a process: in the source that holds its calls. A process may have several devices.
bool TellsOfHost(const Fleet& fleet, const SourceData& source) {
  if (!source.apis.empty()) return true;
  return std::none_of(fleet.members.begin(), fleet.members.end(), [&](const FleetRank& member) {
    const SourceContext& context = member.source->context;
    return !member.source->apis.empty() && context.pid == source.context.pid && context.path == source.context.path;
  });
}

// Launch calls of a capture without steps. A runtime call may hold a driver call, which is no second launch.
void AddLaunchCalls(const RunData& run, const SourceData& source, RankFacts& facts) {
  RankFacts runtime;
  RankFacts driver;
  for (const ApiRow& row : source.apis) {
    if (row.kind != ApiKind::kLaunch && row.kind != ApiKind::kGraphLaunch) continue;
    const std::string& name = NameOf(run, row.name);
    RankFacts& of = name.starts_with("cu") && !name.starts_with("cuda") ? driver : runtime;
    of.launch_calls += row.duration.count();
    of.launch_call_ns += row.duration.sum();
  }
  const RankFacts& outer = runtime.launch_calls > 0 ? runtime : driver;
  facts.launch_calls = outer.launch_calls;
  facts.launch_call_ns = outer.launch_call_ns;
  facts.host_ns = std::max<int64_t>(0, source.context.last_end_ns - source.context.first_start_ns);
}

RankFacts FactsOfRank(const FindingsInput& input, size_t member) {
  const SourceData& source = *input.fleet.members[member].source;
  RankFacts facts;
  facts.member = member;
  // The time that the summary divides; where the ranks share none, each rank's own.
  const RankMeasures& rank = input.measures.ranks[member];
  const bool share_time = input.measures.window.kind != WindowKind::kNone;
  facts.measure = share_time ? rank.common : rank.selected;
  facts.exposure = share_time ? rank.common_exposure : rank.selected_exposure;
  if (!TellsOfHost(input.fleet, source)) return facts;
  for (const StepRow& row : source.steps) {
    if (row.step != kNoStep && input.fleet.SelectsStep(row)) AddTo(FactsOfStep(row), facts);
  }
  if (facts.steps == 0) AddLaunchCalls(input.fleet.run, source, facts);
  return facts;
}

}  // namespace

Facts CollectFacts(const FindingsInput& input) {
  Facts facts;
  for (size_t member = 0; member < input.fleet.members.size(); ++member) {
    RankFacts rank = FactsOfRank(input, member);
    if (rank.measure.span_ns <= 0) continue;
    AddTo(rank, facts.total);
    facts.ranks.push_back(std::move(rank));
  }
  for (const KernelGroup& group : input.kernels.groups) {
    if (group.category == Category::kCommunication) continue;
    facts.compute_kernel_ns += group.total_ns;
    if (group.family) facts.family_ns[static_cast<size_t>(*group.family)] += group.total_ns;
  }
  return facts;
}

std::string PlaceOf(const Fleet& fleet, size_t member) {
  const FleetRank& rank = fleet.members[member];
  return rank.host.empty() ? fmt::format("rank {}", rank.rank) : fmt::format("rank {} on {}", rank.rank, rank.host);
}

std::string WhereLargest(const Fleet& fleet, const Facts& facts, const std::function<double(const RankFacts&)>& share) {
  if (facts.ranks.empty()) return "";
  if (facts.ranks.size() == 1) return PlaceOf(fleet, facts.ranks.front().member);
  std::vector<double> shares;
  const RankFacts* largest = nullptr;
  for (const RankFacts& rank : facts.ranks) {
    shares.push_back(share(rank));
    if (largest == nullptr || shares.back() > share(*largest)) largest = &rank;
  }
  const double most = *std::max_element(shares.begin(), shares.end());
  return most <= 1.25 * LowerMedian(std::move(shares)) ? "all ranks" : "most on " + PlaceOf(fleet, largest->member);
}

}  // namespace lockstep
