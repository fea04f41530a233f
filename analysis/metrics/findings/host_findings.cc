// The device waits for its host.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/base/unit_text.h"
#include "analysis/metrics/findings/checks.h"

namespace lockstep {
namespace {

constexpr double kMuchIdle = 0.40;
constexpr double kSomeIdle = 0.05;
constexpr double kLaunching = 0.50;  // of the capture spent in launch calls
constexpr double kLaunchIdle = 0.10;
constexpr int64_t kShortNs = 10'000;  // a kernel that hardly outlasts its launch
constexpr double kShortCalls = 0.70;
constexpr double kShortTime = 0.15;
constexpr double kManySyncs = 2;  // a step; one is what reading its result takes
constexpr double kSyncTime = 0.05;
constexpr double kManyAllocs = 1;  // a step
constexpr double kAllocTime = 0.01;
constexpr int64_t kSlowAllocNs = 1'000'000;
constexpr double kManyCopies = 3;  // a step: inputs and results are a few small ones
constexpr double kCopyTime = 0.05;

double IdleForHost(const RankFacts& rank) { return Share(rank.idle_for_host_ns(), rank.measure.span_ns); }

double PerStep(int64_t count, const RankFacts& rank) {
  return rank.steps > 0 ? static_cast<double>(count) / static_cast<double>(rank.steps) : 0;
}

}  // namespace

std::vector<Finding> GpuIdleHostBound(const FindingsInput& input, const Facts& facts) {
  const RankFacts& all = facts.total;
  const double idle = Share(all.measure.idle_ns(), all.measure.span_ns);
  const double for_host = Share(all.idle_for_host_ns(), all.measure.idle_ns());
  if (idle <= kMuchIdle || for_host <= 0.5) return {};
  Finding finding;
  finding.severity = Severity::kMajor;
  finding.title = fmt::format(
      "the devices are idle {:.0f} % of the time, mostly because their hosts launch kernels too late", 100 * idle);
  const std::string where = WhereLargest(input.fleet, facts, IdleForHost);
  finding.evidence = {{"idle_ratio", idle, kMuchIdle, where}, {"idle_for_host_ratio", for_host, 0.5, where}};
  finding.cause = "the host prepares each kernel more slowly than the device runs it";
  finding.next_action =
      "capture the step as a CUDA graph, compile the model (torch.compile), or take work off the launching thread";
  finding.saving_ratio = IdleForHost(all);
  return {finding};
}

std::vector<Finding> LaunchBound(const FindingsInput& input, const Facts& facts) {
  const RankFacts& all = facts.total;
  const double launching = Share(all.launch_call_ns, all.host_ns);
  if (launching <= kLaunching || IdleForHost(all) <= kLaunchIdle) return {};
  const auto calls_per_ms = [](const RankFacts& r) { return 1e6 * Share(r.launch_calls, r.host_ns); };
  const auto share = [](const RankFacts& r) { return Share(r.launch_call_ns, r.host_ns); };
  Finding finding;
  finding.severity = Severity::kMajor;
  finding.title =
      fmt::format("launch calls take {:.0f} % of the host's time: {:.0f} calls per millisecond, {} each",
                  100 * launching, calls_per_ms(all), TimeText(Share(all.launch_call_ns, all.launch_calls)));
  finding.evidence = {
      {"launch_call_ratio", launching, kLaunching, WhereLargest(input.fleet, facts, share)},
      {"idle_for_host_ratio", IdleForHost(all), kLaunchIdle, WhereLargest(input.fleet, facts, IdleForHost)}};
  finding.cause = "launching the kernels takes the host longer than the device takes to run them";
  finding.next_action =
      "replay a CUDA graph, or fuse kernels; check that nothing slows the calls down (profiling with "
      "stacks, a busy core, a debug build)";
  finding.saving_ratio = IdleForHost(all);
  return {finding};
}

std::vector<Finding> SmallKernels(const FindingsInput& input, const Facts& facts) {
  int64_t calls = 0;
  int64_t short_calls = 0;
  int64_t short_ns = 0;
  const KernelGroup* largest = nullptr;
  for (const KernelGroup& group : input.kernels.groups) {
    if (group.category == Category::kCommunication || group.instances == 0) continue;
    calls += group.instances;
    if (group.total_ns / group.instances >= kShortNs) continue;
    short_calls += group.instances;
    short_ns += group.total_ns;
    if (largest == nullptr || group.instances > largest->instances) largest = &group;
  }
  const double of_calls = Share(short_calls, calls);
  const double of_time = Share(short_ns, facts.compute_kernel_ns);
  if (of_calls < kShortCalls || of_time < kShortTime || IdleForHost(facts.total) <= kLaunchIdle) return {};
  Finding finding;
  finding.severity = IdleForHost(facts.total) > kMuchIdle ? Severity::kMajor : Severity::kMinor;
  finding.title = fmt::format("{:.0f} % of the kernels are shorter than 10 us, and the devices are idle between them",
                              100 * of_calls);
  finding.evidence = {
      {"short_kernel_ratio", of_calls, kShortCalls, largest->name},
      {"short_kernel_time_ratio", of_time, kShortTime, ""},
      {"idle_for_host_ratio", IdleForHost(facts.total), kLaunchIdle, WhereLargest(input.fleet, facts, IdleForHost)}};
  finding.cause = "each of them needs a launch, which takes about as long as the kernel";
  finding.next_action = "fuse them (torch.compile, a fused kernel of the framework), or replay a CUDA graph";
  finding.saving_ratio = IdleForHost(facts.total);
  return {finding};
}

std::vector<Finding> SyncInStep(const FindingsInput& input, const Facts& facts) {
  const RankFacts& all = facts.total;
  const double calls = PerStep(all.sync_calls, all);
  const double time = Share(all.sync_ns, all.step_ns);
  if (calls < kManySyncs || time < kSyncTime || IdleForHost(all) < kSomeIdle) return {};
  const auto share = [](const RankFacts& r) { return Share(r.sync_ns, r.step_ns); };
  Finding finding;
  finding.severity = Severity::kMajor;
  finding.title = fmt::format(
      "the host waits for the device {:.0f} times a step, after which the device waits for the host", calls);
  const std::string where = WhereLargest(input.fleet, facts, share);
  finding.evidence = {{"sync_calls_per_step", calls, kManySyncs, where},
                      {"sync_time_ratio", time, kSyncTime, where},
                      {"idle_for_host_ratio", IdleForHost(all), kSomeIdle, where}};
  finding.cause =
      "a synchronising call in the step (.item(), .cpu(), cudaStreamSynchronize) keeps the host from "
      "launching ahead";
  finding.next_action = "--view host shows the calls; read results asynchronously, or once a step";
  finding.saving_ratio = IdleForHost(all);
  return {finding};
}

std::vector<Finding> AllocHotPath(const FindingsInput& input, const Facts& facts) {
  const RankFacts& all = facts.total;
  const double calls = PerStep(all.alloc_calls, all);
  const double time = Share(all.alloc_ns, all.step_ns);
  const bool slow = all.alloc_max_ns > kSlowAllocNs && calls >= kManyAllocs / 10;
  if (!slow && (calls < kManyAllocs || time < kAllocTime)) return {};
  if (time < kAllocTime / 10) return {};
  const auto share = [](const RankFacts& r) { return Share(r.alloc_ns, r.step_ns); };
  const std::string where = WhereLargest(input.fleet, facts, share);
  Finding finding;
  finding.severity = time >= 5 * kAllocTime ? Severity::kMajor : Severity::kMinor;
  finding.title = fmt::format("device memory is allocated or released {:.1f} times a step, in calls of up to {}", calls,
                              TimeText(all.alloc_max_ns));
  finding.evidence = {
      {"alloc_calls_per_step", calls, kManyAllocs, where},
      {"alloc_time_ratio", time, kAllocTime, where},
      {"alloc_max_ns", static_cast<double>(all.alloc_max_ns), static_cast<double>(kSlowAllocNs), where}};
  finding.cause = all.alloc_max_ns > kSlowAllocNs
                      ? "the allocator keeps asking the driver for memory; calls over 1 ms suggest fragmentation"
                      : "memory is not kept between steps";
  finding.next_action =
      "keep buffers between steps, use the caching allocator, or set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";
  finding.saving_ratio = time;
  return {finding};
}

std::vector<Finding> HostCopiesInLoop(const FindingsInput& input, const Facts& facts) {
  const RankFacts& all = facts.total;
  const double copies = PerStep(all.host_copies, all);
  const double time = Share(all.host_copy_ns, all.step_ns);
  if (copies < kManyCopies || time < kCopyTime) return {};
  const auto share = [](const RankFacts& r) { return Share(r.host_copy_ns, r.step_ns); };
  const std::string where = WhereLargest(input.fleet, facts, share);
  Finding finding;
  finding.severity = time >= 0.2 ? Severity::kMajor : Severity::kMinor;
  finding.title =
      fmt::format("{:.0f} copies a step between host and device take {:.0f} % of the step time", copies, 100 * time);
  finding.evidence = {{"host_copies_per_step", copies, kManyCopies, where},
                      {"host_copy_time_ratio", time, kCopyTime, where}};
  finding.cause = "data goes to the host and back inside the step";
  finding.next_action = "keep it on the device, or pin host memory and copy asynchronously during compute";
  finding.saving_ratio = time;
  return {finding};
}

std::vector<Finding> OpaqueGraphs(const FindingsInput& input, const Facts& /*facts*/) {
  const auto gate = std::find_if(input.quality.gates.begin(), input.quality.gates.end(),
                                 [](const Gate& g) { return g.name == "graphs_visible"; });
  if (gate == input.quality.gates.end() || gate->ok != false) return {};
  int64_t opaque = 0;
  size_t worst = 0;
  int64_t most = -1;
  for (size_t member = 0; member < input.fleet.members.size(); ++member) {
    const SourceContext& context = input.fleet.members[member].source->context;
    const int64_t own = std::max(context.opaque_graph_launches, context.graph_spans);
    opaque += own;
    if (own > most) worst = member;
    most = std::max(most, own);
  }
  Finding finding;
  finding.severity = Severity::kMajor;
  finding.title = "kernels inside CUDA graphs are not in the traces";
  finding.evidence = {{"opaque_graph_launches", static_cast<double>(opaque), 0, PlaceOf(input.fleet, worst)}};
  finding.cause = gate->detail;
  finding.next_action = gate->fix;
  return {finding};
}

}  // namespace lockstep
