// What several views of one report are made from: computed once, when the first of them asks, or beforehand side by
// side.
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
#include "analysis/report/views/view_input.h"

namespace lockstep {

// Not thread safe. References and pointers stay valid as long as this lives.
class SharedParts {
 public:
  // Borrows both; uses the sums up.
  SharedParts(const ViewInput& input, InstanceSums& sums) : input_(input), sums_(sums) {}

  // Computes what these views need on the executor of the context, several parts at once. Errors: those of the parts.
  [[nodiscard]] absl::Status Prepare(const std::vector<std::string>& views);

  [[nodiscard]] const CrossRank& Causes();
  // Errors: a bad pattern of names.
  [[nodiscard]] absl::StatusOr<const std::vector<TailRow>*> Tails();
  [[nodiscard]] const std::vector<CollectiveRowResult>& Collectives();
  [[nodiscard]] const SkewTotals& Skew();
  [[nodiscard]] const LateArrivalsSum& Late() const { return *sums_.late; }
  // Null where none are to be listed.
  [[nodiscard]] ListedInstances* Listed() { return sums_.listed.get(); }
  [[nodiscard]] const Quality& QualityOf();
  [[nodiscard]] const Imbalance& ImbalanceOf();

 private:
  const ViewInput& input_;
  InstanceSums& sums_;
  std::unique_ptr<const CrossRank> causes_;
  std::optional<std::vector<TailRow>> tails_;
  std::optional<std::vector<CollectiveRowResult>> collectives_;
  std::optional<SkewTotals> skew_;
  std::optional<Quality> quality_;
  std::optional<Imbalance> imbalance_;
};

}  // namespace lockstep
