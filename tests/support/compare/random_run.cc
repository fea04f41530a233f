#include "tests/support/compare/random_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lockstep::compare {
namespace {

using report::Count;

// One rank in one step.
struct DrawnPart {
  int64_t compute_ns = 0;
  int64_t wait_ns = 0;
  int64_t transfer_ns = 0;
  int64_t idle_ns = 0;
};

class Drawing {
 public:
  Drawing(const RunPlan& plan, uint32_t seed) : plan_(plan), random_(seed) {}

  int64_t Near(double ns) {
    std::normal_distribution<double> normal(1, plan_.noise);
    return std::llround(ns * std::max(0.1, normal(random_)));
  }

 private:
  const RunPlan& plan_;
  std::mt19937 random_;
};

void Add(Count& sum, int64_t ns) { sum.value += ns; }

void AddRank(const DrawnPart& part, int32_t rank, report::ProfileStep& step, report::ProfileRank& of_rank) {
  const int64_t span_ns = part.compute_ns + part.wait_ns + part.transfer_ns + part.idle_ns;
  for (report::PartsOfTime* parts :
       {static_cast<report::PartsOfTime*>(&step), static_cast<report::PartsOfTime*>(&of_rank)}) {
    Add(parts->compute_ns, part.compute_ns);
    Add(parts->exposed_wait_ns, part.wait_ns);
    Add(parts->exposed_transfer_ns, part.transfer_ns);
    Add(parts->idle_host_ns, part.idle_ns);
  }
  Add(step.span_total_ns, span_ns);
  Add(of_rank.span_total_ns, span_ns);
  if (span_ns > step.longest_ns.value) {
    step.longest_ns = span_ns;
    step.longest_rank = rank;
  }
}

report::Profile EmptyProfile(const RunPlan& plan) {
  report::Profile profile;
  profile.ranks = plan.ranks;
  profile.comparable_steps = true;
  profile.steps.resize(static_cast<size_t>(plan.steps));
  for (int64_t i = 0; i < plan.steps; ++i) profile.steps[static_cast<size_t>(i)].step = i;
  for (int32_t rank = 0; rank < plan.ranks; ++rank) {
    report::ProfileRank& row = profile.by_rank.emplace_back();
    row.rank = rank;
    row.host = "node0";
    row.gpu_uuid = "GPU-" + std::to_string(rank);
  }
  for (const KernelPlan& kernel : plan.kernels) {
    report::ProfileKernel& row = profile.kernels.emplace_back();
    row.name = kernel.name;
    row.category = kernel.category;
    row.family = kernel.family;
    row.ranks = plan.ranks;
    row.step_ns.emplace(profile.steps.size());
    row.step_instances = plan.steps * plan.ranks;
    row.instances = plan.steps * plan.ranks;
  }
  return profile;
}

void DrawStep(const RunPlan& plan, Drawing& draw, size_t index, report::Profile& profile) {
  report::ProfileStep& step = profile.steps[index];
  for (int32_t rank = 0; rank < plan.ranks; ++rank) {
    DrawnPart part;
    for (size_t i = 0; i < plan.kernels.size(); ++i) {
      const int64_t ns = draw.Near(plan.kernels[i].ns);
      Add((*profile.kernels[i].step_ns)[index], ns);
      Add(profile.kernels[i].total_ns, ns);
      Add(step.kernel_time_ns, ns);
      if (plan.kernels[i].category != "communication") part.compute_ns += ns;
    }
    part.wait_ns = rank == plan.late_rank ? 0 : draw.Near(plan.wait_ns);
    part.transfer_ns = draw.Near(plan.transfer_ns);
    part.idle_ns = draw.Near(plan.idle_ns);
    AddRank(part, rank, step, profile.by_rank[static_cast<size_t>(rank)]);
  }
}

}  // namespace

report::Document RandomDocument(const RunPlan& plan, uint32_t seed) {
  Drawing draw(plan, seed);
  report::Document document;
  document.run.name = plan.name;
  document.run.ranks = plan.ranks;
  document.run.start_unix_ns = int64_t{1'700'000'000'000'000'000} + seed;
  report::Profile profile = EmptyProfile(plan);
  for (size_t i = 0; i < profile.steps.size(); ++i) DrawStep(plan, draw, i, profile);
  profile.context = {{"ranks", std::to_string(plan.ranks)}, {"gpu", "H100"}};
  document.profile = std::move(profile);
  report::Summary summary;
  if (plan.late_rank >= 0) {
    report::Culprit culprit;
    culprit.scope = "rank";
    culprit.id = std::to_string(plan.late_rank);
    culprit.rank = plan.late_rank;
    culprit.share_of_wait_ratio = 0.9;
    culprit.confidence = 0.99;
    summary.culprits.push_back(std::move(culprit));
  }
  document.summary = std::move(summary);
  return document;
}

ComparedRun RandomRun(const RunPlan& plan, uint32_t seed) {
  return ComparedRunOf(RandomDocument(plan, seed), plan.context).value();
}

}  // namespace lockstep::compare
