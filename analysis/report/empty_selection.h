// Why a selection of steps or ranges is empty on all ranks that are asked about. Pure.
#pragma once

#include <absl/status/status.h>

#include <optional>
#include <string>

#include "analysis/metrics/fleet/fleet.h"

namespace lockstep {

struct EmptySelection {
  std::string why;  // with what there is to select: a sentence without its point
  // No range of the name that --nvtx asks for launched anything.
  bool lacks_ranges = false;
  // There are steps before and after it, or some that launched nothing.
  bool in_a_gap = false;
};
// nullopt: something is selected, or nothing restricts the steps.
[[nodiscard]] std::optional<EmptySelection> FindEmptySelection(const Fleet& fleet);

// kInvalidArgument: the selection is empty, and more data would not change that. It is left to a notice if a run is
// still open and may get such steps, if a stored run has only the ranges that it was stored with, and if there are
// steps before and after those asked for.
[[nodiscard]] absl::Status CheckSelection(const Fleet& fleet);

// Why --time selects nothing, a sentence without its point; nullopt: it selects something, or is not given. Needs the
// clocks of the whole run.
[[nodiscard]] std::optional<std::string> TimeSelectsNothing(const Fleet& fleet);

// kInvalidArgument: --time or --kernels selects nothing of a run that is not open any more. Needs what
// TimeSelectsNothing needs. Other errors: those of the pattern of --kernels.
[[nodiscard]] absl::Status CheckTimeAndNames(const Fleet& fleet);

// kInvalidArgument: the axes of --layout do not make as many ranks as there are.
[[nodiscard]] absl::Status CheckLayout(const RankResolution& ranks, const AnalysisOptions& options);

}  // namespace lockstep
