#include "analysis/export/kernel_profile.h"

#include <algorithm>
#include <set>

#include "analysis/report/text/text_units.h"

namespace lockstep {
namespace report {

const Record& TopKernel::Fields() {
  using R = TopKernel;
  static const Record record{
      "top_kernel",
      "Kernels of one name, over all ranks.",
      {
          F<&R::name>("name", "Demangled name."),
          F<&R::category>("category", "Category. Null where kernels of several share the name."),
          F<&R::family>("family", "Family. Null where kernels of several share the name."),
          F<&R::ranks>("ranks", "Number of ranks that ran it."),
          F<&R::instances>("instances", "Number of instances."),
          F<&R::total_ns>("total_ns", "Sum of their durations."),
          F<&R::share_ratio>("share_ratio", "Share of the durations of all kernels. Null without kernels."),
          F<&R::duration_ns>("duration_ns", "Their durations."),
      }};
  return record;
}

const Record& KernelProfile::Fields() {
  using R = KernelProfile;
  static const Record record{
      "",
      "Where the kernel time of a run goes, and where these numbers come from.",
      {
          F<&R::schema>("schema", "Name and version of the format.").OneOf({kKernelProfileSchema}),
          F<&R::run>("run", "Name of the run."),
          F<&R::captured_at>("captured_at",
                             "When the first device activity was recorded, UTC. Null where the traces do "
                             "not say."),
          F<&R::source_paths>("source_paths", "The traces."),
          F<&R::duration_ns>("duration_ns", "Time from the first to the last device activity."),
          F<&R::ranks>("ranks", "Number of ranks."),
          F<&R::method>("method", "How the numbers were made."),
          F<&R::kernels>("kernels", "Number of kernel instances."),
          F<&R::kernel_time_ns>("kernel_time_ns", "Sum of the durations of all kernels."),
          F<&R::top_kernels>("top_kernels", "The kernels that take most of the time, at most 50."),
          F<&R::context>("context", "What the run was: versions, GPU models, and what --context added."),
          F<&R::tools>("tools", "Versions of the programs that made the numbers."),
      }};
  return record;
}

}  // namespace report

namespace {

constexpr std::string_view kMethod =
    "Durations of kernels as the profiler recorded them, summed by demangled name over all ranks. Kernels that run at "
    "the same time count each. Percentiles are values of the distribution, never interpolated.";

report::TopKernel TopKernelOf(const report::KernelRow& row) {
  return {.name = row.name,
          .category = row.category,
          .family = row.family,
          .ranks = row.ranks,
          .instances = row.instances,
          .total_ns = row.total_ns,
          .share_ratio = row.share_ratio,
          .duration_ns = row.duration_ns};
}

}  // namespace

report::KernelProfile KernelProfileOf(const report::Document& document) {
  report::KernelProfile profile;
  profile.run = document.run.name;
  if (const std::string utc = FormatUtc(document.run.start_unix_ns.value); !utc.empty()) profile.captured_at = utc;
  profile.duration_ns = document.run.span_ns;
  profile.ranks = document.run.ranks;
  profile.method = kMethod;
  std::set<std::string> tools;
  for (const report::RankRow& rank : document.ranks.value_or(std::vector<report::RankRow>())) {
    if (rank.path) profile.source_paths.push_back(*rank.path);
    if (rank.format && rank.tool_version) tools.insert(*rank.format + " " + *rank.tool_version);
  }
  for (const report::KernelRow& row : document.kernels.value_or(std::vector<report::KernelRow>())) {
    profile.kernels.value += row.instances.value;
    profile.kernel_time_ns.value += row.total_ns.value;
    if (profile.top_kernels.size() < kMostTopKernels) profile.top_kernels.push_back(TopKernelOf(row));
  }
  if (document.profile) profile.context = document.profile->context;
  profile.tools.emplace_back("lockstep", document.run.lockstep_version);
  std::string profilers;
  for (const std::string& tool : tools) profilers += (profilers.empty() ? "" : ", ") + tool;
  if (!profilers.empty()) profile.tools.emplace_back("profiler", profilers);
  return profile;
}

}  // namespace lockstep
