// Ranks wait for each other, or for the network.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/metrics/findings/checks.h"

namespace lockstep {
namespace {

constexpr double kExposed = 0.10;
constexpr double kMuchExposed = 0.20;
constexpr double kImbalance = 0.15;
constexpr double kMaterial = 0.02;  // of the rank-time

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
  if (straggler.what_if) {
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

// Communication of a rank without its waiting: what it transfers.
double OwnCommunicationNs(const RankMeasures& measures) {
  int64_t waits = 0;
  for (const auto& [name, wait] : measures.waits) waits += wait.wait.sum();
  return static_cast<double>(std::max<int64_t>(0, measures.communication_ns - waits));
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
  finding.cause = "ranks arrive at collectives at different times, nobody in particular again and again last";
  finding.next_action =
      "--view skew,imbalance: unequal work (batches, experts, sequence lengths) or noise of the hosts";
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
  double sum = 0;
  double most = 0;
  size_t worst = 0;
  for (const RankFacts& rank : facts.ranks) {
    const double own = OwnCommunicationNs(input.measures.ranks[rank.member]);
    sum += own;
    if (own <= most) continue;
    most = own;
    worst = rank.member;
  }
  const auto ranks = static_cast<double>(facts.ranks.size());
  if (facts.ranks.size() < 2 || sum < kMaterial * static_cast<double>(facts.total.measure.span_ns)) return {};
  const double over_mean = most * ranks / sum - 1;
  if (over_mean <= kImbalance) return {};
  Finding finding;
  finding.severity = Severity::kMinor;
  finding.title = fmt::format("communication without waiting takes {} {:.0f} % longer than the mean rank",
                              PlaceOf(input.fleet, worst), 100 * over_mean);
  finding.evidence = {{"nccl_time_over_mean_ratio", over_mean, kImbalance, PlaceOf(input.fleet, worst)}};
  finding.cause = "it moves more data, or over a slower path";
  finding.next_action = "--view collectives,imbalance: bytes and bandwidth by communicator; check its links";
  return {finding};
}

}  // namespace lockstep
