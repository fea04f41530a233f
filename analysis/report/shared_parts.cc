#include "analysis/report/shared_parts.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/report/views/tails_view.h"

namespace lockstep {
namespace {

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
      {{"summary", "imbalance", "stragglers", "findings"}, always([this] { (void)Causes(); })},
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

const CrossRank& SharedParts::Causes() {
  if (causes_ == nullptr) causes_ = sums_.causes->Finish(input_.context.match, input_.context.options);
  return *causes_;
}

absl::StatusOr<const std::vector<TailRow>*> SharedParts::Tails() {
  if (!tails_) {
    LOCKSTEP_ASSIGN_OR_RETURN(tails_, TailsOf(input_));
  }
  return &*tails_;
}

const std::vector<CollectiveRowResult>& SharedParts::Collectives() {
  if (!collectives_) collectives_ = sums_.collectives->Finish(input_.context.match.communicators);
  return *collectives_;
}

const SkewTotals& SharedParts::Skew() {
  if (!skew_) skew_ = sums_.skew->Finish();
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
