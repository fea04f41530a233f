// Ranks wait for each other, or for the network.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "analysis/metrics/findings/checks.h"
#include "analysis/metrics/fleet/work_units.h"

namespace lockstep {
namespace {

constexpr double kExposed = 0.10;
constexpr double kMuchExposed = 0.20;
constexpr double kImbalance = 0.15;
constexpr double kMaterial = 0.02;  // of the rank-time
constexpr double kMatched = 0.9;    // of a rank's communication: less does not tell what is waiting

Severity SeverityOf(double exposed) { return exposed > kMuchExposed ? Severity::kMajor : Severity::kMinor; }

bool IsSlowDevice(const Straggler& straggler) {
  return !straggler.parts.empty() && straggler.parts.front().cause == CauseKind::kSlowDevice;
}

std::string PlaceOfStraggler(const FindingsInput& input, const Straggler& straggler) {
  std::string place = ScopedName(straggler.scope, straggler.id);
  if (straggler.scope != StragglerScope::kRank || straggler.rank_indices.empty()) return place;
  for (const FleetRank& member : input.fleet.members) {
    const bool same = static_cast<int32_t>(member.index) == straggler.rank_indices.front();
    if (same && !member.host.empty()) place += fmt::format(" on {}", member.host);
  }
  return place;
}

std::string CauseOf(const Straggler& straggler) {
  if (straggler.parts.empty()) return "";
  const StragglerPart& part = straggler.parts.front();
  std::string text =
      fmt::format("{}: {:.1f} us a step", Name(part.cause), 1e-3 * static_cast<double>(part.ns_per_step));
  if (!part.kernel.empty()) text += fmt::format(" in {}", part.kernel);
  return text;
}

Finding OfStraggler(const FindingsInput& input, const Straggler& straggler) {
  Finding finding;
  const std::string where = PlaceOfStraggler(input, straggler);
  finding.severity = Severity::kMajor;
  finding.title = IsSlowDevice(straggler) ? fmt::format("the device of {} is slow: the others wait for it", where)
                                          : fmt::format("{} makes the others wait, step after step", where);
  finding.evidence = {{"late_steps_ratio", straggler.persistence, 0.5, where},
                      {"lateness_ns_per_step", static_cast<double>(straggler.effect_ns_per_step), 0, where},
                      {"p_adjusted", straggler.p_adjusted, kStragglerAlpha, where}};
  if (straggler.after_others) {
    finding.evidence.push_back(
        {"saving_after_others_ratio", straggler.after_others->saving_ratio, kMinSavingRatio, where});
  } else if (straggler.what_if) {
    finding.saving_ratio = straggler.what_if->saving_ratio;
    finding.evidence.push_back({"saving_ratio", straggler.what_if->saving_ratio, kMinSavingRatio, where});
  }
  finding.cause = CauseOf(straggler);
  finding.next_action =
      IsSlowDevice(straggler)
          ? "check its clocks, temperature and power limit (nvidia-smi -q -d PERFORMANCE), then swap it"
          : "--view stragglers tells its causes; compare its host and its kernels with a healthy rank's";
  return finding;
}

std::vector<Finding> Stragglers(const FindingsInput& input, bool slow_devices) {
  std::vector<Finding> findings;
  for (const Straggler& straggler : input.stragglers.stragglers) {
    if (IsSlowDevice(straggler) == slow_devices) findings.push_back(OfStraggler(input, straggler));
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

// "rank 3 on node1", "ranks 1, 3, 5": those that exceed the mean by at least half of what the worst does.
std::string WhereAbove(const Fleet& fleet, const Facts& facts, const std::vector<double>& values, double mean,
                       double most) {
  constexpr size_t kMost = 8;
  std::vector<size_t> members;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] - mean >= 0.5 * (most - mean)) members.push_back(facts.ranks[i].member);
  }
  if (members.size() == 1) return PlaceOf(fleet, members.front());
  std::string text = "ranks";
  for (size_t i = 0; i < members.size(); ++i) {
    if (i == kMost) return text + fmt::format(" and {} more", members.size() - kMost);
    text += fmt::format("{} {}", i == 0 ? "" : ",", fleet.members[members[i]].rank);
  }
  return text;
}

// Whether the worst rank's messages are larger, or take longer.
std::string CauseOfUnevenness(const std::vector<CommunicationWork>& work, size_t worst, double over_mean) {
  double bytes = 0;
  for (const CommunicationWork& rank : work) {
    if (!rank.all_sized) return "more data, or a slower path: the traces do not tell all sizes";
    bytes += static_cast<double>(rank.bytes);
  }
  if (bytes <= 0) return "more data, or a slower path";
  const double times = static_cast<double>(work[worst].bytes) * static_cast<double>(work.size()) / bytes;
  if (times - 1 >= 0.5 * over_mean) return fmt::format("more data: {:.2f} times the bytes of the mean rank", times);
  return fmt::format("a slower path, or more latency: {:.2f} times the bytes of the mean rank", times);
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
  finding.title = fmt::format("{:.0f} % of the rank-time is waiting for a later rank", 100 * wait);
  finding.evidence = {{"exposed_wait_ratio", wait, kExposed, WhereLargest(input.fleet, facts, share)}};
  const JoinedTotals& joined = input.measures.joined;
  if (const auto causer = LargestCauser(input.fleet, joined)) finding.evidence.push_back(*causer);
  if (Share(joined.pairwise_wait_ns, joined.wait_ns) > 0.5) {
    finding.cause = "stages of a pipeline wait for each other, mostly while it fills and drains";
    finding.next_action = "more micro-batches a step, interleaved stages, fewer stages; --view skew,imbalance";
  } else {
    finding.cause = "ranks arrive at collectives at different times, nobody in particular again and again last";
    finding.next_action =
        "--view skew,imbalance: unequal work (batches, experts, sequence lengths) or noise of the hosts";
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
  finding.title = fmt::format("{:.0f} % of the rank-time is transferring with nothing else running", 100 * transfer);
  finding.evidence = {{"exposed_transfer_ratio", transfer, kExposed, WhereLargest(input.fleet, facts, share)}};
  finding.cause = "messages take long and nothing is computed beside them";
  finding.next_action =
      "--view collectives: bus bandwidth by size; overlap (buckets, prefetch), a lower tensor-parallel "
      "degree, or a faster algorithm for these sizes";
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
  if (own.size() < 2 || sum < kMaterial * static_cast<double>(facts.total.measure.span_ns)) return {};
  const double mean = sum / static_cast<double>(own.size());
  const double over_mean = own[worst] / mean - 1;
  if (over_mean <= kImbalance) return {};
  const std::string where = WhereAbove(input.fleet, facts, own, mean, own[worst]);
  Finding finding;
  finding.severity = Severity::kMinor;
  finding.title =
      fmt::format("communication without waiting takes {} {:.0f} % longer than the mean rank", where, 100 * over_mean);
  finding.evidence = {
      {"nccl_time_over_mean_ratio", over_mean, kImbalance, where},
      {"nccl_time_ratio", Share(static_cast<int64_t>(sum), facts.total.measure.span_ns), kMaterial, "all ranks"}};
  finding.cause = CauseOfUnevenness(work, facts.ranks[worst].member, over_mean);
  finding.next_action = "--view collectives,imbalance: bytes and bandwidth by communicator; check its links";
  return {finding};
}

}  // namespace lockstep
