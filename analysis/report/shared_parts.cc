#include "analysis/report/shared_parts.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"

namespace lockstep {
namespace {

struct ComputedPart {
  std::vector<std::string_view> views;  // that are made from it
  std::function<absl::Status()> compute;
};

bool IsAskedFor(const ComputedPart& part, const std::vector<std::string>& asked) {
  return std::any_of(part.views.begin(), part.views.end(),
                     [&](std::string_view view) { return std::find(asked.begin(), asked.end(), view) != asked.end(); });
}

// An optional or a pointer that Prepare has filled.
template <typename Held>
const auto& Prepared(const Held& held) {
  LOCKSTEP_CHECK(static_cast<bool>(held));
  return *held;
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
  std::vector<ComputedPart> parts = {
      {{"summary", "imbalance", "stragglers", "findings", kPicturesView}, always([this] { ComputeCauses(); })},
      {{"summary", "collectives", "profile"}, always([this] { ComputeCollectives(); })},
      {{"summary", "tails", kPicturesView}, [this] { return ComputeTails(); }},
      {{"skew", "profile"}, always([this] { ComputeSkew(); })},
      {{"summary", "imbalance", "stragglers", "findings"}, always([this] { ComputeImbalanceOf(); })},
      {{"summary", "quality", "stragglers", "findings"}, always([this] { ComputeQualityOf(); })},
  };
  std::erase_if(parts, [&](const ComputedPart& part) { return !IsAskedFor(part, views); });
  std::vector<absl::Status> done(parts.size());
  input_.context.executor.ParallelFor(parts.size(), [&](size_t i) { done[i] = parts[i].compute(); });
  for (const absl::Status& status : done) LOCKSTEP_RETURN_IF_ERROR(status);
  // It rests on those above.
  const ComputedPart naming{{"summary", "stragglers", "findings"}, always([this] { ComputeNaming(); })};
  if (IsAskedFor(naming, views)) return naming.compute();
  return absl::OkStatus();
}

void SharedParts::ComputeCauses() {
  causes_ = sums_.causes->Finish(input_.context.match, input_.context.options, input_.context.executor);
}

absl::Status SharedParts::ComputeTails() {
  LOCKSTEP_ASSIGN_OR_RETURN(tails_, TailsOf(input_));
  return absl::OkStatus();
}

void SharedParts::ComputeCollectives() { collectives_ = sums_.collectives->Finish(input_.context.match.communicators); }

void SharedParts::ComputeSkew() { skew_ = sums_.skew->Finish(); }

void SharedParts::ComputeQualityOf() { quality_ = ComputeQuality(input_.fleet, input_.measures); }

void SharedParts::ComputeImbalanceOf() { imbalance_ = ComputeImbalance(input_.fleet, input_.measures); }

void SharedParts::ComputeNaming() {
  naming_ = NameWhoIsWaitedFor(input_, {*imbalance_, *quality_, Late(), causes_->stragglers, causes_->blame});
}

const CrossRank& SharedParts::Causes() const { return Prepared(causes_); }
const std::vector<TailRow>& SharedParts::Tails() const { return Prepared(tails_); }
const std::vector<CollectiveRowResult>& SharedParts::Collectives() const { return Prepared(collectives_); }
const SkewTotals& SharedParts::Skew() const { return Prepared(skew_); }
const LateArrivalsSum& SharedParts::Late() const { return Prepared(sums_.late); }
const Quality& SharedParts::QualityOf() const { return Prepared(quality_); }
const Imbalance& SharedParts::ImbalanceOf() const { return Prepared(imbalance_); }
const Naming& SharedParts::NamingOf() const { return Prepared(naming_); }

PicturesParts SharedParts::Pictures() const {
  CausedWaitGrid* const caused = sums_.causes->grid();
  LOCKSTEP_CHECK(caused != nullptr);
  return {Causes().blame, *caused, *sums_.lateness_map, *sums_.worst, Tails()};
}

}  // namespace lockstep
