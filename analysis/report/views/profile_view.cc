#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/metrics/fleet/job_steps.h"
#include "analysis/report/views/profile_parts.h"
#include "analysis/report/views/values.h"
#include "analysis/report/views/views.h"

namespace lockstep {
namespace {

void AddParts(const IntervalMeasure& tile, const Exposure& exposure, report::PartsOfTime& sum) {
  const auto add = [](report::Count& total, int64_t ns) { total.value += ns; };
  add(sum.compute_ns, tile.compute_ns);
  add(sum.exposed_wait_ns, exposure.wait_ns);
  add(sum.exposed_transfer_ns, exposure.transfer_ns);
  add(sum.exposed_unresolved_ns, exposure.unresolved_ns);
  add(sum.copy_only_ns, tile.copy_only_ns);
  add(sum.opaque_only_ns, tile.opaque_only_ns);
  add(sum.idle_host_ns, tile.idle_host_ns);
  add(sum.idle_launch_ns, tile.idle_launch_ns);
  add(sum.idle_dependency_ns, tile.idle_dependency_ns);
  add(sum.idle_other_ns, tile.idle_other_ns);
}

// `longest_ns`: of the step on any rank so far.
void AddStep(int32_t rank, const StepRow& row, const Exposure& exposure, int64_t& longest_ns,
             report::ProfileStep& step) {
  const int64_t span_ns = row.tile.span_ns;
  if (span_ns > longest_ns) {
    longest_ns = span_ns;
    step.longest_rank = rank;
  }
  step.span_total_ns.value += span_ns;
  step.kernel_time_ns.value += row.kernel_time_ns;
  AddParts(row.tile, exposure, step);
}

report::ProfileRank RankWithoutSteps(const ViewInput& input, size_t member) {
  const SourceContext& context = input.fleet.members[member].source->context;
  report::ProfileRank row;
  row.rank = input.RankOf(member);
  row.host = TextIfAny(input.fleet.members[member].host);
  row.gpu_uuid = TextIfAny(context.gpu.uuid);
  row.gpu_name = TextIfAny(context.gpu.name);
  return row;
}

// Sums the common steps over the ranks, and over the steps.
void AddSteps(const ViewInput& input, const JobSteps& job, report::Profile& profile) {
  const size_t steps = job.steps.size() > 1 ? job.steps.size() - 1 : job.steps.size();
  profile.steps.resize(steps);
  for (size_t i = 0; i < steps; ++i) {
    profile.steps[i].step = job.steps[i].number;
    profile.steps[i].longest_ns = job.steps[i].time_ns;
  }
  std::vector<int64_t> longest(steps, -1);
  for (const size_t member : job.members) {
    report::ProfileRank& rank = profile.by_rank.emplace_back(RankWithoutSteps(input, member));
    const std::map<int64_t, StepOfMember> own = StepsOfMember(input.fleet, input.fleet.members[member]);
    for (size_t i = 0; i < steps; ++i) {
      report::ProfileStep& step = profile.steps[i];
      const size_t index = own.at(step.step).row;
      const StepRow& row = input.fleet.members[member].source->steps[index];
      const Exposure& exposure = input.measures.ranks[member].by_step[index];
      AddStep(rank.rank, row, exposure, longest[i], step);
      rank.span_total_ns.value += row.tile.span_ns;
      AddParts(row.tile, exposure, rank);
    }
  }
}

void AddWaits(const ViewInput& input, const JobSteps& job, const SkewTotals& skew, report::Profile& profile) {
  for (size_t i = 0; i < job.members.size(); ++i) {
    const RankSkew& rank = skew.ranks[input.fleet.members[job.members[i]].index];
    if (rank.instances == 0) continue;
    profile.by_rank[i].wait_total_ns = rank.wait_total_ns;
    profile.by_rank[i].caused_wait_total_ns = rank.caused_wait_total_ns;
  }
}

}  // namespace

absl::StatusOr<report::Profile> ProfileView(const ViewInput& input, const SkewTotals& skew,
                                            const std::vector<CollectiveRowResult>& collectives) {
  const JobSteps job = ComputeJobSteps(input.fleet);
  report::Profile profile;
  profile.ranks = job.members.size();
  profile.comparable_steps = job.comparable;
  profile.partial_steps = job.partial;
  AddSteps(input, job, profile);
  AddWaits(input, job, skew, profile);
  auto kernels = ProfileKernels(input, profile.steps);
  if (!kernels.ok()) return kernels.status();
  profile.kernels = *std::move(kernels);
  profile.collectives = ProfileCollectives(input.context.match, collectives);
  profile.context = ContextOf(input);
  return profile;
}

}  // namespace lockstep
