#include "analysis/report/views/next_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/base/rank_list.h"
#include "analysis/base/unit_text.h"

namespace lockstep {
namespace {

constexpr size_t kMaxLines = 5;

double Percent(double ratio) { return 100 * ratio; }

// The rank, or those of a host, stage or rail; of very many one stands for all.
std::vector<int32_t> RanksOf(const ViewInput& input, const Culprit& culprit) {
  constexpr size_t kMost = 16;
  if (culprit.straggler == nullptr || culprit.straggler->rank_indices.size() > kMost) {
    return {input.RankOf(culprit.member)};
  }
  std::vector<int32_t> ranks;
  for (const int32_t index : culprit.straggler->rank_indices) {
    ranks.push_back(input.context.ranks.ranks[static_cast<size_t>(index)].rank);
  }
  return ranks;
}

std::string LineOfCause(const Culprit& culprit, const std::vector<int32_t>& ranks) {
  const std::string_view cause = culprit.cause;
  const std::string flag = fmt::format("--ranks {}", fmt::join(ranks, ","));
  const std::string who = FoldedRanks(ranks);
  if (cause == "host_delay" || cause == "host_pause") {
    return fmt::format("--view idle,host {}: why the device waits for its own host", flag);
  }
  if (cause == "slow_compute" || cause == "more_work" || cause == "slow_device" || cause == "slow_kernel") {
    return fmt::format("--view kernels,imbalance: which kernels take longer on {}", who);
  }
  if (cause == "copies") return fmt::format("--view memory {}: which copies delay the kernels", flag);
  if (cause == "more_data") {
    return fmt::format("--view skew --instances: the exchanges in which the others waited for {}, with their sizes",
                       who);
  }
  if (cause == "transfer") return "--view collectives: the bandwidth of its groups compared with that of equal ones";
  return fmt::format("--view imbalance,steps: what differs on {} before the collectives", who);
}

void AddCulprits(const ViewInput& input, const NextStepsInput& next, std::vector<std::string>& lines) {
  if (next.blame.culprits.empty()) return;
  const Culprit& worst = next.blame.culprits.front();
  if (worst.kind == CulpritKind::kStraggler) {
    lines.push_back("--view stragglers: how certain it is, how often it recurs, its cause and the saving");
  } else {
    lines.push_back(fmt::format("--view skew --instances: the collectives in which the others waited for rank {}",
                                input.RankOf(worst.member)));
  }
  lines.push_back(LineOfCause(worst, RanksOf(input, worst)));
  if (worst.stretch_ns && worst.kind != CulpritKind::kOnce) {
    lines.push_back(fmt::format("--time {}ns..{}ns: the time in which nearly all of it happens",
                                std::max<int64_t>(0, input.SinceStart(worst.stretch_ns->first)),
                                input.SinceStart(worst.stretch_ns->second)));
  }
}

// What a longer capture would decide.
void AddUndecided(const NextStepsInput& next, std::vector<std::string>& lines) {
  const StragglerResult& stragglers = next.parts.naming.shown;
  if (stragglers.undecided.empty()) return;
  const Undecided& first = stragglers.undecided.front();
  if (first.steps_needed <= first.steps) return;  // others are late as often: more steps would not decide it
  lines.push_back(fmt::format("record about {}: {} do not decide whether {} is late again and again",
                              UnitsText(stragglers, first.steps_needed), CountText(first.steps),
                              ScopedName(first.scope, first.id)));
}

std::string LineOfSkew(const ViewInput& input, const WaitBlame& blame) {
  const std::optional<size_t> most = MostAwaitedMember(blame);
  if (!most) return "--view skew: how lateness is spread over the ranks; no single rank dominates";
  return fmt::format("--view skew --instances: why rank {} arrives last where the others wait longest",
                     input.RankOf(*most));
}

void AddVerdict(const ViewInput& input, const NextStepsInput& next, std::vector<std::string>& lines) {
  const bool alone = input.fleet.ranks.ranks.size() == 1;
  if (alone && next.share && next.share->exposed_unresolved >= 0.01) {
    lines.push_back(
        "add the traces of the other ranks: with one rank alone, waiting cannot be separated from transfer");
  }
  switch (next.verdict) {
    case RunVerdict::kTransfer:
      lines.push_back(
          "--view collectives --sort bus_bandwidth_gbps_p50: whether the network is as fast as it should be");
      lines.push_back("--view overlap: how much of the transfer could overlap with compute");
      break;
    case RunVerdict::kSkew:
    case RunVerdict::kMixed:
      if (next.blame.culprits.empty() && next.parts.naming.shown.undecided.empty()) {
        lines.push_back(LineOfSkew(input, next.blame));
      }
      break;
    case RunVerdict::kCompute:
      lines.push_back(next.share && next.share->copy > next.share->compute
                          ? "--view memory: which copies take the time, and how fast they are"
                          : "--view kernels: the largest kernels; --group-by family for the overview");
      break;
    case RunVerdict::kHost:
      lines.push_back("--view idle: how long the devices wait for their hosts, and how long the gaps are");
      lines.push_back("--view host,launches: which calls take the time of the host");
      break;
    case RunVerdict::kInconclusive:
      if (alone) break;
      lines.push_back("--view quality: what the traces lack");
      break;
  }
}

// The ranks with at least so many times the mean.
std::string ThatExceed(const ViewInput& input, const Quantity& quantity, double times) {
  double sum = 0;
  for (const double value : quantity.values) sum += value;
  const double least = times * sum / static_cast<double>(quantity.values.size());
  std::vector<int32_t> ranks;
  for (size_t member = 0; member < quantity.values.size(); ++member) {
    if (quantity.values[member] >= least) ranks.push_back(input.RankOf(member));
  }
  return FoldedRanks(std::move(ranks));
}

// Who computes longer than the others. Where the traces do not show what waits for it, its cost is unknown.
void AddImbalance(const ViewInput& input, const NextStepsInput& next, std::vector<std::string>& lines) {
  constexpr double kMuch = 1.2;
  if (next.parts.imbalance.quantities.empty()) return;
  const Quantity& compute = next.parts.imbalance.quantities.front();
  const double excess = compute.max_over_mean.value_or(1);
  if (next.blame.culprits.empty() && excess >= kMuch) {
    lines.push_back(
        fmt::format("--view imbalance: compute on {} takes up to {:.2f} times as long as on the average rank",
                    ThatExceed(input, compute, kMuch), excess));
  } else if (next.verdict == RunVerdict::kCompute && excess >= 1.05) {
    lines.push_back("--view imbalance: how much the compute time differs between the ranks");
  }
}

// Under --nvtx idle is the time in which nothing of the ranges runs: other work may have been running.
void AddIdle(const ViewInput& input, const NextStepsInput& next, std::vector<std::string>& lines) {
  if (!next.share || next.share->idle < 0.1 || next.verdict == RunVerdict::kHost) return;
  const double idle = Percent(next.share->idle);
  if (input.fleet.options.nvtx.empty()) {
    lines.push_back(fmt::format("--view idle: the devices are idle {:.0f} % of the time", idle));
  } else {
    lines.push_back(
        fmt::format("--view idle without --nvtx: what else runs in the {:.0f} % of the time in which nothing of '{}' "
                    "does",
                    idle, input.fleet.options.nvtx));
  }
}

void AddOthers(const ViewInput& input, const NextStepsInput& next, std::vector<std::string>& lines) {
  AddIdle(input, next, lines);
  if (!next.parts.tails.empty() && next.parts.tails.front().score.value >= 0.01) {
    const TailRow& tail = next.parts.tails.front();
    const bool collective = tail.category == Category::kCommunication;
    lines.push_back(
        fmt::format("--view tails: long instances of {1:.50} cost {0:.1f} % of the GPU time ({2})",
                    Percent(tail.score.value), BaseName(tail.name),
                    collective ? "--view skew shows for whom they wait" : "--group-by shape separates the sizes"));
  }
  AddImbalance(input, next, lines);
}

}  // namespace

std::vector<std::string> NextSteps(const ViewInput& input, const NextStepsInput& next) {
  std::vector<std::string> lines;
  AddCulprits(input, next, lines);
  AddUndecided(next, lines);
  AddVerdict(input, next, lines);
  AddOthers(input, next, lines);
  if (lines.size() > kMaxLines) lines.resize(kMaxLines);
  return lines;
}

}  // namespace lockstep
