// What several views of one report are made from: computed once, side by side, before the views are built.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/metrics/kernels/tails.h"
#include "analysis/metrics/skew/collectives.h"
#include "analysis/metrics/skew/skew.h"
#include "analysis/metrics/summary/summary.h"
#include "analysis/report/cross_rank.h"
#include "analysis/report/instance_sums.h"
#include "analysis/report/naming.h"
#include "analysis/report/views/view_input.h"
#include "analysis/report/views/views.h"

namespace lockstep {

// Prepare comes first; from then on thread safe, but for what Listed points to. References and pointers stay valid as
// long as this lives.
class SharedParts {
 public:
  // Borrows both; uses the sums up.
  SharedParts(const ViewInput& input, InstanceSums& sums) : input_(input), sums_(sums) {}

  // Computes what these views need on the executor of the context, several parts at once. Errors: those of the parts.
  [[nodiscard]] absl::Status Prepare(const std::vector<std::string>& views);

  // Each only for the views that Prepare makes it for.
  [[nodiscard]] const CrossRank& Causes() const;
  [[nodiscard]] const std::vector<TailRow>& Tails() const;
  [[nodiscard]] const std::vector<CollectiveRowResult>& Collectives() const;
  [[nodiscard]] const SkewTotals& Skew() const;
  [[nodiscard]] const LateArrivalsSum& Late() const;
  // Null where none are to be listed. Of one view.
  [[nodiscard]] ListedInstances* Listed() const { return sums_.listed.get(); }
  [[nodiscard]] const Quality& QualityOf() const;
  [[nodiscard]] const Imbalance& ImbalanceOf() const;
  [[nodiscard]] const Naming& NamingOf() const;
  // Of one view, which uses them up.
  [[nodiscard]] PicturesParts Pictures() const;

 private:
  void ComputeCauses();
  [[nodiscard]] absl::Status ComputeTails();  // errors: a bad pattern of names
  void ComputeCollectives();
  void ComputeSkew();
  void ComputeQualityOf();
  void ComputeImbalanceOf();
  void ComputeNaming();

  const ViewInput& input_;
  InstanceSums& sums_;
  std::unique_ptr<const CrossRank> causes_;
  std::optional<std::vector<TailRow>> tails_;
  std::optional<std::vector<CollectiveRowResult>> collectives_;
  std::optional<SkewTotals> skew_;
  std::optional<Quality> quality_;
  std::optional<Imbalance> imbalance_;
  std::optional<Naming> naming_;
};

}  // namespace lockstep
