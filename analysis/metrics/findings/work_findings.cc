// What the devices do: kernels that dominate, tails, prefill among decode, and the class of the workload.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/metrics/findings/checks.h"
#include "analysis/metrics/fleet/bursts.h"
#include "analysis/metrics/fleet/workload.h"
#include "analysis/metrics/kernels/tails.h"
#include "analysis/model/row_values.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr double kAttention = 0.40;
constexpr double kCopies = 0.20;
constexpr double kTailRatio = 1.5;     // p99 / p50
constexpr double kNoTailRatio = 1.25;  // p90 / p50: beyond it the kernel runs at several sizes, which is no tail
constexpr double kTailScore = 0.005;
constexpr double kOutlierRatio = 2;  // max / p50
constexpr double kOutlierScore = 0.0005;
constexpr double kRare = 0.01;
constexpr size_t kMaxNamed = 3;
constexpr double kLongPrefill = 3;  // times the median decode step
constexpr double kPrefillTime = 0.10;

double FamilyShare(const Facts& facts, std::initializer_list<Family> families) {
  int64_t sum = 0;
  for (const Family family : families) sum += facts.family_ns[static_cast<size_t>(family)];
  return Share(sum, facts.compute_kernel_ns);
}

double AttentionShare(const Facts& facts) {
  return FamilyShare(facts, {Family::kAttention, Family::kAttentionPrefill, Family::kAttentionDecode});
}

// The attention kernel of most time.
std::string LargestAttention(const KernelSummary& kernels) {
  for (const KernelGroup& group : kernels.groups) {
    const bool attends = group.family == Family::kAttention || group.family == Family::kAttentionPrefill ||
                         group.family == Family::kAttentionDecode;
    if (attends) return group.name;
  }
  return "";
}

std::optional<double> RatioToMedian(const KernelGroup& group, double quantile) {
  const auto median = group.durations.Quantile(0.5);
  const auto value = group.durations.Quantile(quantile);
  if (!median || !value || median->value <= 0) return std::nullopt;
  return static_cast<double>(value->value) / static_cast<double>(median->value);
}

struct Tail {
  const KernelGroup* kernel = nullptr;
  double ratio = 0;
  double score = 0;
};

// Compute kernels that `take` accepts, by score, at most kMaxNamed.
template <typename Take>
std::vector<Tail> WorstTails(const FindingsInput& input, Take take) {
  std::vector<Tail> tails;
  for (const KernelGroup& group : input.kernels.groups) {
    if (group.category != Category::kCompute || !group.complete) continue;
    const auto score = ComputeTailScore(group.durations, TimeOfTails(input.measures, input.kernels));
    if (!score) continue;
    const Tail tail{&group, take(group, score->lower), score->value};
    if (tail.ratio > 0) tails.push_back(tail);
  }
  std::stable_sort(tails.begin(), tails.end(), [](const Tail& a, const Tail& b) { return a.score > b.score; });
  if (tails.size() > kMaxNamed) tails.resize(kMaxNamed);
  return tails;
}

Finding OfTails(const std::vector<Tail>& tails, std::string_view ratio, double threshold, double score_threshold) {
  Finding finding;
  finding.severity = tails.front().score > 10 * score_threshold ? Severity::kMajor : Severity::kMinor;
  double score = 0;
  for (const Tail& tail : tails) {
    finding.evidence.push_back({std::string(ratio), tail.ratio, threshold, tail.kernel->name});
    finding.evidence.push_back({"tail_score", tail.score, score_threshold, tail.kernel->name});
    score += tail.score;
  }
  finding.saving_ratio = score;
  return finding;
}

struct PhaseTimes {
  std::vector<int64_t> decode_ns;
  int64_t longest_prefill_ns = 0;
  int64_t prefill_ns = 0;
  int64_t all_ns = 0;
};

PhaseTimes PhasesOf(const FindingsInput& input, const SourceData& source) {
  PhaseTimes times;
  for (const StepRow& row : source.steps) {
    if (row.step == kNoStep || !input.fleet.SelectsStep(row)) continue;
    times.all_ns += row.tile.span_ns;
    if (row.phase == "decode") times.decode_ns.push_back(row.tile.span_ns);
    if (row.phase != "prefill" && row.phase != "mixed") continue;
    times.prefill_ns += row.tile.span_ns;
    times.longest_prefill_ns = std::max(times.longest_prefill_ns, row.tile.span_ns);
  }
  return times;
}

Finding BoundByMemory(const FindingsInput& input, const Facts& facts, const Workload& workload) {
  const auto work = [](const RankFacts& r) { return Share(r.measure.compute_ns, r.measure.span_ns); };
  const double memory = workload.memory.value_or(0);
  Finding finding;
  finding.severity = Severity::kInfo;
  finding.title = fmt::format(
      "the work is memory-bound: {:.0f} % of the kernel time is in kernels that mostly move data", 100 * memory);
  const std::string where = WhereLargest(input.fleet, facts, work);
  finding.evidence = {{"memory_bound_kernel_ratio", memory, kMemoryShare, where},
                      {"work_ratio", workload.work, kBoundShare, where}};
  finding.cause =
      "elementwise work, normalisation, caches and matrix-vector products, judged by the names of the kernels";
  finding.next_action = "fuse elementwise work, quantise weights and cache, or batch more";
  return finding;
}

Finding BoundByOverhead(const FindingsInput& input, const Facts& facts, const Workload& workload) {
  const auto idle = [](const RankFacts& r) { return Share(r.idle_for_host_ns(), r.measure.span_ns); };
  Finding finding;
  finding.title =
      fmt::format("the run is bound by host overhead: the devices wait for their hosts {:.0f} % of the time",
                  100 * workload.overhead);
  finding.evidence = {{"overhead_ratio", workload.overhead, kBoundShare, WhereLargest(input.fleet, facts, idle)}};
  finding.cause = "the hosts launch work more slowly than the devices run it";
  finding.next_action = "use CUDA graphs or torch.compile; --view idle,host shows the gaps and the calls";
  finding.saving_ratio = workload.overhead;
  return finding;
}

Finding BoundByCommunication(const FindingsInput& input, const Facts& facts, const Workload& workload) {
  const auto exposed = [](const RankFacts& r) { return Share(r.measure.exposed_comm_ns(), r.measure.span_ns); };
  const double unresolved = Share(facts.total.exposure.unresolved_ns, facts.total.measure.span_ns);
  const std::string where = WhereLargest(input.fleet, facts, exposed);
  Finding finding;
  finding.title = fmt::format("the run is bound by communication, which is exposed {:.0f} % of the time",
                              100 * workload.communication);
  finding.evidence = {{"exposed_communication_ratio", workload.communication, kBoundShare, where},
                      {"exposed_unresolved_ratio", unresolved, 0, where}};
  finding.cause = "the ranks wait or transfer; the traces do not show which";
  finding.next_action = "give the traces of all ranks; --view overlap,quality shows what is missing";
  finding.saving_ratio = workload.communication;
  return finding;
}

// How much prefill is between the decode steps of a rank.
struct Blocking {
  size_t member = 0;
  bool marked = true;  // the traces name the phases
  double longer = 0;
  double time_ratio = 0;
};

Blocking ByPhases(const FindingsInput& input, const SourceData& source) {
  const PhaseTimes times = PhasesOf(input, source);
  if (times.decode_ns.empty() || times.prefill_ns == 0) return {};
  Blocking blocking;
  blocking.longer = Share(times.longest_prefill_ns, LowerMedian(times.decode_ns));
  blocking.time_ratio = Share(times.prefill_ns, times.all_ns);
  return blocking;
}

Blocking ByLongSteps(const FindingsInput& input, const SourceData& source) {
  const auto steps = FindLongSteps(input.fleet, source);
  if (!steps || steps->count == 0 || !Serves(source)) return {};
  Blocking blocking;
  blocking.marked = false;
  blocking.longer = Share(steps->longest_ns, steps->median_ns);
  blocking.time_ratio = Share(steps->span_ns, steps->all_span_ns);
  return blocking;
}

}  // namespace

std::vector<Finding> AttentionDominates(const FindingsInput& input, const Facts& facts) {
  const double share = AttentionShare(facts);
  if (share <= kAttention) return {};
  Finding finding;
  finding.severity = Severity::kMinor;
  finding.title = fmt::format("attention takes {:.0f} % of the kernel time", 100 * share);
  finding.evidence = {{"attention_ratio", share, kAttention, LargestAttention(input.kernels)}};
  finding.cause = "long sequences, or an attention kernel that does not fit the shapes";
  finding.next_action =
      "compare attention back ends (FlashAttention, FlashInfer, cuDNN), shorten or share prefixes, or quantise the KV "
      "cache";
  return {finding};
}

std::vector<Finding> CopiesDominate(const FindingsInput& input, const Facts& facts) {
  const auto share = [](const RankFacts& r) { return Share(r.measure.copy_ns, r.measure.busy_ns()); };
  const double copies = share(facts.total);
  if (copies <= kCopies) return {};
  Finding finding;
  finding.severity = Severity::kMinor;
  finding.title = fmt::format("copies take {:.0f} % of the time in which the devices are busy", 100 * copies);
  finding.evidence = {{"copy_ratio", copies, kCopies, WhereLargest(input.fleet, facts, share)}};
  finding.cause = "much of the work moves or sets data";
  finding.next_action = "--view memory shows kinds, sizes and bandwidth; avoid .contiguous(), clones and cache copies";
  finding.saving_ratio = Share(facts.total.measure.copy_only_ns, facts.total.measure.span_ns);
  return {finding};
}

std::vector<Finding> KernelTail(const FindingsInput& input, const Facts& /*facts*/) {
  const auto tails = WorstTails(input, [](const KernelGroup& group, double score) {
    const auto p99 = RatioToMedian(group, 0.99);
    const auto p90 = RatioToMedian(group, 0.90);
    const bool is_tail = p99 && p90 && *p99 > kTailRatio && *p90 <= kNoTailRatio && score > kTailScore;
    return is_tail ? *p99 : 0;
  });
  if (tails.empty()) return {};
  Finding finding = OfTails(tails, "p99_over_p50_ratio", kTailRatio, kTailScore);
  finding.title = "some kernels now and then take much longer than usual";
  finding.cause =
      "the same launch runs longer, for example by contention for memory or power, other work or cold caches";
  finding.next_action = "--view tails shows on which ranks and when";
  return {finding};
}

std::vector<Finding> Outliers(const FindingsInput& input, const Facts& /*facts*/) {
  const auto tails = WorstTails(input, [](const KernelGroup& group, double score) {
    const auto median = group.durations.Quantile(0.5);
    const auto p90 = RatioToMedian(group, 0.90);
    const bool one_size = !p90 || *p90 <= kNoTailRatio;  // null: too few to know
    if (!median || !one_size || score <= kOutlierScore) return 0.0;
    const double ratio = Share(group.durations.max(), median->value);
    const auto above = group.durations.CountAboveBucketOf(2 * median->value);
    const bool rare = static_cast<double>(above) <= std::max(1.0, kRare * static_cast<double>(group.instances));
    return ratio > kOutlierRatio && rare ? ratio : 0.0;
  });
  if (tails.empty()) return {};
  Finding finding = OfTails(tails, "max_over_p50_ratio", kOutlierRatio, kOutlierScore);
  finding.title = "a few instances of a kernel take many times as long as its median";
  finding.cause = "something else held the device, for example a preemption, lazy loading or a page fault";
  finding.next_action = "--view tails shows the longest instances with rank, time and step";
  return {finding};
}

std::vector<Finding> PrefillBlocksDecode(const FindingsInput& input, const Facts& facts) {
  Blocking worst;
  for (const RankFacts& rank : facts.ranks) {
    const SourceData& source = *input.fleet.members[rank.member].source;
    Blocking own = ByPhases(input, source);
    if (own.time_ratio == 0) own = ByLongSteps(input, source);
    own.member = rank.member;
    if (own.longer >= kLongPrefill && own.time_ratio >= kPrefillTime && own.time_ratio > worst.time_ratio) worst = own;
  }
  if (worst.time_ratio == 0) return {};
  const std::string where = PlaceOf(input.fleet, worst.member);
  Finding finding;
  finding.severity = Severity::kMinor;
  finding.title = fmt::format("{} take {:.0f} % of the time, and decoding sequences wait for them",
                              worst.marked ? "prefill steps" : "long steps, probably prefill,", 100 * worst.time_ratio);
  finding.evidence = {
      {worst.marked ? "longest_prefill_over_median_decode" : "longest_burst_over_median_step", worst.longer,
       kLongPrefill, where},
      {worst.marked ? "prefill_time_ratio" : "burst_time_ratio", worst.time_ratio, kPrefillTime, where}};
  finding.cause =
      worst.marked ? "a prompt is processed in one piece between decode steps"
                   : "some steps of the serving engine compute far longer than the others; the traces mark no phases";
  finding.next_action = "use chunked prefill, smaller chunks, or separate instances for prefill and decode";
  return {finding};
}

// Computing is what a run should do: that class is no finding, the summary names it.
std::vector<Finding> WorkloadBound(const FindingsInput& input, const Facts& facts) {
  const Workload workload = ComputeWorkload(input.fleet, input.measures);
  switch (workload.kind) {
    case WorkloadClass::kMemory:
      return {BoundByMemory(input, facts, workload)};
    case WorkloadClass::kOverhead:
      return {BoundByOverhead(input, facts, workload)};
    case WorkloadClass::kCommunication:
      return {BoundByCommunication(input, facts, workload)};
    default:
      return {};
  }
}

}  // namespace lockstep
