// The evidence bundle: one folder with the answer on a run and all that a reader needs to check it.
//
//   report.json            every view of the run
//   summary.txt            the same for people
//   kernel_profile.json    where the kernel time goes, and where these numbers come from
//   gpu_kern_sum.csv       kernels, with the headers of nsys stats
//   cuda_api_sum.csv       calls of CUDA, likewise
//   comparison.json, .md   the change from another run, where one is given
//   manifest.json          the files with their SHA-256
//
// Nothing in it depends on when or where it is written: the same run gives the same bytes.
#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <optional>
#include <string>

#include "analysis/compare/rows/comparison.h"
#include "analysis/report/report.h"

namespace lockstep {

// Contents by name of file.
using BundleFiles = std::map<std::string, std::string>;

// `report` has the views `all` and profile. Errors: those of the CSV.
[[nodiscard]] absl::StatusOr<BundleFiles> MakeBundle(const Json& report,
                                                     const std::optional<report::ComparisonDocument>& comparison);

// Makes the folder where there is none. kAlreadyExists: the folder has files that are not of a bundle.
[[nodiscard]] absl::Status WriteBundle(const BundleFiles& files, const std::string& folder);

}  // namespace lockstep
