#include "analysis/report/shared_parts.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/report/views/tails_view.h"

namespace lockstep {
namespace {

InstanceFilter SelectedBy(const AnalysisContext& context) {
  return [&context](const MatchedInstance& instance) { return Selects(context, instance); };
}

struct Part {
  std::vector<std::string_view> views;  // that are made from it
  std::function<absl::Status()> compute;
};

bool Serves(const Part& part, const std::vector<std::string>& asked) {
  return std::any_of(part.views.begin(), part.views.end(),
                     [&](std::string_view view) { return std::find(asked.begin(), asked.end(), view) != asked.end(); });
}

}  // namespace

absl::Status SharedParts::Prepare(const std::vector<std::string>& views) {
  const auto always = [](const auto& compute) {
    return [compute] {
      compute();
      return absl::OkStatus();
    };
  };
  // The longest first. Each is a member of its own.
  std::vector<Part> parts = {
      {{"summary", "imbalance", "stragglers", "findings"}, [this] { return Causes().status(); }},
      {{"summary", "collectives"}, always([this] { (void)Collectives(); })},
      {{"summary", "tails"}, [this] { return Tails().status(); }},
      {{"skew"}, always([this] { (void)Skew(); })},
      {{"summary", "imbalance"}, always([this] { (void)ImbalanceOf(); })},
      {{"summary", "quality", "findings"}, always([this] { (void)QualityOf(); })},
  };
  std::erase_if(parts, [&](const Part& part) { return !Serves(part, views); });
  std::vector<absl::Status> done(parts.size());
  input_.context.executor.ParallelFor(parts.size(), [&](size_t i) { done[i] = parts[i].compute(); });
  for (const absl::Status& status : done) LOCKSTEP_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

absl::StatusOr<const CrossRank*> SharedParts::Causes() {
  if (causes_ == nullptr) {
    LOCKSTEP_ASSIGN_OR_RETURN(causes_, AnalyseCrossRank(input_.context));
  }
  return causes_.get();
}

absl::StatusOr<const std::vector<TailRow>*> SharedParts::Tails() {
  if (!tails_) {
    LOCKSTEP_ASSIGN_OR_RETURN(tails_, TailsOf(input_));
  }
  return &*tails_;
}

const std::vector<CollectiveRowResult>& SharedParts::Collectives() {
  if (!collectives_) collectives_ = ComputeCollectives(input_.context.match, SelectedBy(input_.context));
  return *collectives_;
}

const SkewTotals& SharedParts::Skew() {
  const AnalysisContext& context = input_.context;
  if (!skew_) skew_ = ComputeSkew(context.match, context.ranks.ranks.size(), SelectedBy(context));
  return *skew_;
}

const Quality& SharedParts::QualityOf() {
  if (!quality_) quality_ = ComputeQuality(input_.fleet, input_.measures);
  return *quality_;
}

const Imbalance& SharedParts::ImbalanceOf() {
  if (!imbalance_) imbalance_ = ComputeImbalance(input_.fleet, input_.measures);
  return *imbalance_;
}

}  // namespace lockstep
