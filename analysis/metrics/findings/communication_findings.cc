// Ranks wait for each other, or for the network.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "analysis/base/rank_list.h"
#include "analysis/base/unit_text.h"
#include "analysis/metrics/findings/checks.h"
#include "analysis/metrics/fleet/work_units.h"
#include "analysis/model/kernel_class.h"

namespace lockstep {
namespace {

constexpr double kExposed = 0.10;
constexpr double kMuchExposed = 0.20;
constexpr double kImbalance = 0.15;
constexpr double kMaterial = 0.02;     // of the GPU time
constexpr double kMatched = 0.9;       // of a rank's communication: with less, the waiting in it is unknown
constexpr double kCausesMuch = 0.2;    // of the waiting: who causes so much is named in the cause
constexpr double kMostPairwise = 0.5;  // of the waiting is between sender and receiver

Severity SeverityOf(double exposed) { return exposed > kMuchExposed ? Severity::kMajor : Severity::kMinor; }

CauseKind MainCauseOf(const Straggler& straggler) {
  return straggler.parts.empty() ? CauseKind::kUnknown : straggler.parts.front().cause;
}

bool IsSlowDevice(const Straggler& straggler) { return MainCauseOf(straggler) == CauseKind::kSlowDevice; }

std::string PlaceOfStraggler(const FindingsInput& input, const Straggler& straggler) {
  std::string place = ScopedName(straggler.scope, straggler.id);
  if (straggler.scope != StragglerScope::kRank || straggler.rank_indices.empty()) return place;
  for (const FleetRank& member : input.fleet.members) {
    const bool same = static_cast<int32_t>(member.index) == straggler.rank_indices.front();
    if (same && !member.host.empty()) place += fmt::format(" on {}", member.host);
  }
  return place;
}

std::string_view CauseInWords(CauseKind cause) {
  switch (cause) {
    case CauseKind::kSlowDevice:
      return "all its kernels run slower than on its peers";
    case CauseKind::kSlowKernel:
      return "one of its kernels runs slower than on its peers";
    case CauseKind::kMoreWork:
      return "it has more work to compute than its peers";
    case CauseKind::kHostDelay:
      return "its CPU launches kernels late";
    case CauseKind::kHostPause:
      return "its host process stops for long times now and then";
    case CauseKind::kCopies:
      return "its memory copies delay its kernels";
    case CauseKind::kTransfer:
      return "its transfers are slower than those of equal groups";
    case CauseKind::kDependency:
      return "it waits for other work of its own";
    case CauseKind::kUnknown:
      break;
  }
  return "the traces do not show the cause";
}

std::string_view NextActionOn(CauseKind cause) {
  switch (cause) {
    case CauseKind::kSlowDevice:
      return "check its clocks, temperature and power limit (nvidia-smi -q -d PERFORMANCE), then replace it";
    case CauseKind::kSlowKernel:
      return "--view kernels,imbalance; compare shapes and library versions of the kernel with those of its peers";
    case CauseKind::kMoreWork:
      return "--view kernels,imbalance; spread batches, sequence lengths or experts evenly over the ranks";
    case CauseKind::kHostDelay:
    case CauseKind::kHostPause:
      return "--view idle,host; check CPU pinning and NUMA placement, garbage collection, data loading and other "
             "processes on its host";
    case CauseKind::kCopies:
      return "--view memory; pin host memory, and copy on a stream of its own";
    case CauseKind::kTransfer:
      return "--view collectives; compare its bandwidth with that of equal groups, and check links, NICs and switches";
    case CauseKind::kDependency:
    case CauseKind::kUnknown:
      break;
  }
  return "--view stragglers,imbalance,steps; compare its host and its kernels with those of a healthy rank";
}

// "" where nothing is known about its lateness.
std::string CauseOf(const Straggler& straggler, std::string_view unit) {
  if (straggler.parts.empty()) return "";
  const StragglerPart& part = straggler.parts.front();
  const std::string kernel = part.kernel.empty() ? "" : fmt::format(" in {}", BaseName(part.kernel));
  return fmt::format("{}: {} a {}{}", CauseInWords(part.cause), TimeText(part.ns_per_step), unit, kernel);
}

// What is wrong with it; `sure`: the summary names it without doubt.
std::string TitleOf(const FindingsInput& input, const Straggler& straggler, bool sure) {
  const std::string where = PlaceOfStraggler(input, straggler);
  const std::string_view often = input.stragglers.are_steps() ? "step after step" : "again and again";
  if (IsSlowDevice(straggler)) {
    return sure ? fmt::format("the device of {} is slow, and its peers wait for it", where)
                : fmt::format("the device of {} looks slow, and its peers may wait for it", where);
  }
  return sure ? fmt::format("{} makes the others wait, {}", where, often)
              : fmt::format("{} is late {}, and the others may wait for it", where, often);
}

Finding OfStraggler(const FindingsInput& input, const Straggler& straggler, double confidence) {
  constexpr double kSure = 0.8;      // the summary calls less "not sure"
  constexpr double kLateMost = 0.5;  // of the steps: who is late in most of them is persistent
  Finding finding;
  const std::string where = PlaceOfStraggler(input, straggler);
  const bool sure = confidence >= kSure;
  finding.severity = sure ? Severity::kMajor : Severity::kMinor;
  finding.title = TitleOf(input, straggler, sure);
  // Who is late in bursts or at intervals is not late in most steps.
  const double late_limit = straggler.persistence >= kLateMost ? kLateMost : 0;
  finding.evidence = {{"late_steps_ratio", straggler.persistence, late_limit, where},
                      {"lateness_ns_per_step", static_cast<double>(straggler.effect_ns_per_step), 0, where},
                      {"p_adjusted", straggler.p_adjusted, kStragglerAlpha, where}};
  if (!sure) finding.evidence.push_back({"confidence_ratio", confidence, 0, where});
  if (straggler.after_others) {
    finding.evidence.push_back(
        {"saving_after_others_ratio", straggler.after_others->saving_ratio, kMinSavingRatio, where});
  } else if (straggler.what_if) {
    finding.saving_ratio = straggler.what_if->saving_ratio;
    finding.evidence.push_back({"saving_ratio", straggler.what_if->saving_ratio, kMinSavingRatio, where});
  }
  finding.cause = CauseOf(straggler, input.stragglers.unit);
  finding.next_action = NextActionOn(MainCauseOf(straggler));
  return finding;
}

std::vector<Finding> Stragglers(const FindingsInput& input, bool slow_devices) {
  std::vector<Finding> findings;
  const std::vector<Straggler>& all = input.stragglers.stragglers;
  for (size_t i = 0; i < all.size(); ++i) {
    const double confidence = i < input.confidence.size() ? input.confidence[i] : 1;
    if (IsSlowDevice(all[i]) == slow_devices) findings.push_back(OfStraggler(input, all[i], confidence));
  }
  return findings;
}

// The rank whose late arrivals certainly cause most of all waiting, with its part.
std::optional<Evidence> LargestCauser(const Fleet& fleet, const JoinedTotals& joined) {
  std::optional<Evidence> largest;
  for (size_t member = 0; member < fleet.members.size(); ++member) {
    const int64_t caused = joined.ranks[fleet.members[member].index].caused_ns;
    if (caused < 0) continue;
    const double share = Share(caused, joined.wait_ns);
    if (!largest || share > largest->value)
      largest = {"largest_part_of_waiting_ratio", share, 0, PlaceOf(fleet, member)};
  }
  return largest;
}

// "rank 3 on node1", "ranks 1, 3 and 5": those that exceed the mean by at least half of what the worst does.
std::string WhereAbove(const Fleet& fleet, const Facts& facts, const std::vector<double>& values, double mean,
                       double most) {
  std::vector<int32_t> ranks;
  size_t last = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] - mean < 0.5 * (most - mean)) continue;
    last = facts.ranks[i].member;
    ranks.push_back(fleet.members[last].rank);
  }
  return ranks.size() == 1 ? PlaceOf(fleet, last) : FoldedRanks(std::move(ranks));
}

// Whether the worst rank's messages are larger, or take longer.
std::string CauseOfUnevenness(const std::vector<CommunicationWork>& work, size_t worst, double over_mean) {
  double bytes = 0;
  for (const CommunicationWork& rank : work) {
    if (!rank.all_sized) return "more data or a slower path; the traces do not give all message sizes";
    bytes += static_cast<double>(rank.bytes);
  }
  if (bytes <= 0) return "more data or a slower path";
  const double times = static_cast<double>(work[worst].bytes) * static_cast<double>(work.size()) / bytes;
  if (times - 1 >= 0.5 * over_mean) return fmt::format("more data: {:.2f} times the bytes of the average rank", times);
  return fmt::format("a slower path or higher latency, with {:.2f} times the bytes of the average rank", times);
}

// Who arrives late, as far as it is known; no persistent straggler was found.
std::string CauseOfWaiting(const FindingsInput& input, const std::optional<Evidence>& causer) {
  std::string text = "ranks arrive at collectives at different times";
  const bool much = causer && causer->value >= kCausesMuch;
  if (much) text += fmt::format("; {} causes {} of the waiting", causer->where, PercentText(causer->value));
  if (input.stragglers.decides) return text + (much ? ", but no" : "; no") + " persistent straggler was found";
  return text + "; the capture is too short to determine whether one of them is a persistent straggler";
}

}  // namespace

std::vector<Finding> PersistentStraggler(const FindingsInput& input, const Facts& /*facts*/) {
  return Stragglers(input, false);
}

std::vector<Finding> SlowDevice(const FindingsInput& input, const Facts& /*facts*/) { return Stragglers(input, true); }

std::vector<Finding> ExposedWait(const FindingsInput& input, const Facts& facts) {
  const double wait = Share(facts.total.exposure.wait_ns, facts.total.measure.span_ns);
  if (wait <= kExposed) return {};
  const auto share = [](const RankFacts& r) { return Share(r.exposure.wait_ns, r.measure.span_ns); };
  Finding finding;
  finding.severity = SeverityOf(wait);
  finding.title = fmt::format("{:.0f} % of the GPU time is spent waiting for a later rank", 100 * wait);
  finding.evidence = {{"exposed_wait_ratio", wait, kExposed, WhereLargest(input.fleet, facts, share)}};
  const JoinedTotals& joined = input.measures.joined;
  const std::optional<Evidence> causer = LargestCauser(input.fleet, joined);
  if (causer) finding.evidence.push_back(*causer);
  if (Share(joined.pairwise_wait_ns, joined.wait_ns) > kMostPairwise) {
    finding.cause = "stages of a pipeline wait for each other, mostly while it fills and drains";
    finding.next_action = "use more micro-batches a step, interleaved stages or fewer stages; --view skew,imbalance";
  } else {
    finding.cause = CauseOfWaiting(input, causer);
    finding.next_action =
        "--view skew,imbalance; look for unequal work (batches, experts, sequence lengths) or noise on the hosts";
  }
  finding.saving_ratio = wait;
  return {finding};
}

std::vector<Finding> ExposedTransfer(const FindingsInput& input, const Facts& facts) {
  const double transfer = Share(facts.total.exposure.transfer_ns, facts.total.measure.span_ns);
  if (transfer <= kExposed) return {};
  const auto share = [](const RankFacts& r) { return Share(r.exposure.transfer_ns, r.measure.span_ns); };
  Finding finding;
  finding.severity = SeverityOf(transfer);
  finding.title =
      fmt::format("{:.0f} % of the GPU time is exposed transfer: nothing else runs during it", 100 * transfer);
  finding.evidence = {{"exposed_transfer_ratio", transfer, kExposed, WhereLargest(input.fleet, facts, share)}};
  finding.cause = "messages take long, and nothing is computed meanwhile";
  finding.next_action =
      "--view collectives shows the bus bandwidth by message size; overlap transfer and compute (buckets, prefetch), "
      "lower the tensor-parallel degree, or choose a faster algorithm for these sizes";
  finding.saving_ratio = transfer;
  return {finding};
}

std::vector<Finding> NcclImbalance(const FindingsInput& input, const Facts& facts) {
  const std::vector<CommunicationWork> work = CommunicationWorkOf(input.fleet, input.measures.joined);
  std::vector<double> own;  // without waiting
  double sum = 0;
  size_t worst = 0;
  for (const RankFacts& rank : facts.ranks) {
    const auto all = static_cast<double>(input.measures.ranks[rank.member].communication_ns);
    if (static_cast<double>(work[rank.member].total_ns) < kMatched * all) return {};
    own.push_back(static_cast<double>(work[rank.member].own_ns));
    sum += own.back();
    if (own.back() > own[worst]) worst = own.size() - 1;
  }
  const int64_t rank_time_ns = input.measures.RankTime();
  if (own.size() < 2 || sum < kMaterial * static_cast<double>(rank_time_ns)) return {};
  const double mean = sum / static_cast<double>(own.size());
  const double over_mean = own[worst] / mean - 1;
  if (over_mean <= kImbalance) return {};
  const std::string where = WhereAbove(input.fleet, facts, own, mean, own[worst]);
  Finding finding;
  finding.severity = Severity::kMinor;
  finding.title = fmt::format("communication without waiting takes {}{:.0f} % longer on {} than on the average rank",
                              where.starts_with("ranks ") ? "up to " : "", 100 * over_mean, where);
  finding.evidence = {{"nccl_time_over_mean_ratio", over_mean, kImbalance, where},
                      {"nccl_time_ratio", Share(static_cast<int64_t>(sum), rank_time_ns), kMaterial, "all ranks"}};
  finding.cause = CauseOfUnevenness(work, facts.ranks[worst].member, over_mean);
  finding.next_action = "--view collectives,imbalance shows bytes and bandwidth by communicator; check the links";
  return {finding};
}

}  // namespace lockstep
