// The document "lockstep.kernel_profile/1": what a report on kernels has to say of where its numbers come from, and the
// kernels that take most of the time. It is made of a report of the views ranks, kernels and profile. Pure, thread
// safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/fields/record.h"
#include "analysis/report/rows/document.h"

namespace lockstep {
namespace report {

inline constexpr std::string_view kKernelProfileSchema = "lockstep.kernel_profile/1";

struct TopKernel {
  std::string name;
  std::optional<std::string> category;
  std::optional<std::string> family;
  Count ranks;
  Count instances;
  Count total_ns;
  std::optional<double> share_ratio;
  Percentiles duration_ns;

  static const Record& Fields();
};

struct KernelProfile {
  std::string schema = std::string(kKernelProfileSchema);
  std::string run;
  std::optional<std::string> captured_at;
  std::vector<std::string> source_paths;
  Count duration_ns;
  Count ranks;
  std::string method;
  Count kernels;
  Count kernel_time_ns;
  std::vector<TopKernel> top_kernels;
  Keyed<std::string> context;
  Keyed<std::string> tools;

  static const Record& Fields();
};

}  // namespace report

inline constexpr size_t kMostTopKernels = 50;

[[nodiscard]] report::KernelProfile KernelProfileOf(const report::Document& document);

}  // namespace lockstep
