#include "analysis/report/views/next_steps.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {
namespace {

constexpr size_t kMaxLines = 5;

double Percent(double ratio) { return 100 * ratio; }

// "3", or the ranks of a host, stage or rail as --ranks takes them.
std::string RanksText(const ViewInput& input, const Culprit& culprit) {
  constexpr size_t kMost = 16;
  if (culprit.straggler == nullptr || culprit.straggler->rank_indices.size() > kMost) {
    return fmt::format("{}", input.RankOf(culprit.member));
  }
  std::vector<int32_t> ranks;
  for (const int32_t index : culprit.straggler->rank_indices) {
    ranks.push_back(input.context.ranks.ranks[static_cast<size_t>(index)].rank);
  }
  return fmt::format("{}", fmt::join(ranks, ","));
}

std::string LineOfCause(const Culprit& culprit, const std::string& ranks) {
  const std::string_view cause = culprit.cause;
  if (cause == "host_delay" || cause == "host_pause") {
    return fmt::format("--view idle,host --ranks {}: the device waits for its own host", ranks);
  }
  if (cause == "slow_compute" || cause == "more_work" || cause == "slow_device" || cause == "slow_kernel") {
    return fmt::format("--view kernels,imbalance: which kernels take longer on rank {}", ranks);
  }
  if (cause == "copies") return fmt::format("--view memory --ranks {}: copies delay the kernels", ranks);
  if (cause == "more_data") {
    return fmt::format("--view collectives --instances: the sizes that rank {} sends and receives (expert load)",
                       ranks);
  }
  if (cause == "transfer") return "--view collectives: the bandwidth of its communicators against equal ones";
  return fmt::format("--view imbalance,steps: what rank {} does differently before it arrives", ranks);
}

void AddCulprits(const ViewInput& input, const NextStepsInput& next, std::vector<std::string>& lines) {
  if (next.blame.culprits.empty()) return;
  const Culprit& worst = next.blame.culprits.front();
  if (worst.kind == CulpritKind::kStraggler) {
    lines.push_back("--view stragglers: how sure it is, how often it recurs, what it would save and why");
  } else {
    lines.push_back(fmt::format("--view skew --instances: the collectives in which the others waited for rank {}",
                                input.RankOf(worst.member)));
  }
  lines.push_back(LineOfCause(worst, RanksText(input, worst)));
  if (worst.stretch_ns && worst.kind != CulpritKind::kOnce) {
    lines.push_back(fmt::format("--time {}ns..{}ns: the stretch in which nearly all of it lies",
                                std::max<int64_t>(0, input.SinceStart(worst.stretch_ns->first)),
                                input.SinceStart(worst.stretch_ns->second)));
  }
}

// A longer capture would tell what this one cannot.
void AddUndecided(const NextStepsInput& next, std::vector<std::string>& lines) {
  const StragglerResult* stragglers = next.parts.stragglers;
  if (stragglers == nullptr || stragglers->undecided.empty()) return;
  const Undecided& first = stragglers->undecided.front();
  lines.push_back(fmt::format("record about {} {}s: {} do not decide whether {} is late again and again",
                              first.steps_needed, stragglers->unit, first.steps, ScopedName(first.scope, first.id)));
}

void AddVerdict(const ViewInput& input, const NextStepsInput& next, std::vector<std::string>& lines) {
  const bool alone = input.fleet.ranks.ranks.size() == 1;
  if (alone && next.share && next.share->exposed_unresolved >= 0.01) {
    lines.push_back("give the traces of the other ranks too: one rank alone cannot tell waiting from transferring");
  }
  switch (next.verdict) {
    case RunVerdict::kTransfer:
      lines.push_back("--view collectives --sort bus_bandwidth_gbps_p50: is the network as fast as it should be");
      lines.push_back("--view overlap: how much of the transfer could run under compute");
      break;
    case RunVerdict::kSkew:
    case RunVerdict::kMixed:
      if (next.blame.culprits.empty()) {
        lines.push_back("--view skew: no single rank is to blame; see how lateness is spread over the ranks");
      }
      break;
    case RunVerdict::kCompute:
      lines.push_back(next.share && next.share->copy > next.share->compute
                          ? "--view memory: which copies take the time, and how fast they are"
                          : "--view kernels: the largest kernels; --group-by family for the overview");
      break;
    case RunVerdict::kHost:
      lines.push_back("--view idle: how long the device waits for the host, and its gaps");
      lines.push_back("--view host,launches: the calls that take the host's time");
      break;
    case RunVerdict::kInconclusive:
      if (alone) break;
      lines.push_back("--view quality: what the traces lack to tell more");
      break;
  }
}

// The ranks with at least so many times the mean.
std::string ThatExceed(const ViewInput& input, const Quantity& quantity, double times) {
  constexpr size_t kMost = 8;
  double sum = 0;
  for (const double value : quantity.values) sum += value;
  const double least = times * sum / static_cast<double>(quantity.values.size());
  std::vector<int32_t> ranks;
  for (size_t member = 0; member < quantity.values.size(); ++member) {
    if (quantity.values[member] >= least) ranks.push_back(input.RankOf(member));
  }
  const size_t more = ranks.size() > kMost ? ranks.size() - kMost : 0;
  ranks.resize(ranks.size() - more);
  return fmt::format("{}{}", fmt::join(ranks, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

// Who computes longer than the others. It need not cost anything: where the traces do not show what waits for it, that
// cannot be told.
void AddImbalance(const ViewInput& input, const NextStepsInput& next, std::vector<std::string>& lines) {
  constexpr double kMuch = 1.2;
  if (next.parts.imbalance.quantities.empty()) return;
  const Quantity& compute = next.parts.imbalance.quantities.front();
  const double excess = compute.max_over_mean.value_or(1);
  if (next.blame.culprits.empty() && excess >= kMuch) {
    lines.push_back(fmt::format("--view imbalance: rank {} computes up to {:.2f} times as long as the mean of all",
                                ThatExceed(input, compute, kMuch), excess));
  } else if (next.verdict == RunVerdict::kCompute && excess >= 1.05) {
    lines.push_back("--view imbalance: the ranks do not compute equally long");
  }
}

// Of ranges idle is the time in which nothing of them runs: whether the device does anything else is not said by it.
void AddIdle(const ViewInput& input, const NextStepsInput& next, std::vector<std::string>& lines) {
  if (!next.share || next.share->idle < 0.1 || next.verdict == RunVerdict::kHost) return;
  const double idle = Percent(next.share->idle);
  if (input.fleet.options.nvtx.empty()) {
    lines.push_back(fmt::format("--view idle: {:.0f} % of the time the device does nothing", idle));
  } else {
    lines.push_back(
        fmt::format("--view idle without --nvtx: {:.0f} % of the time nothing of '{}' runs, and whether "
                    "anything else does is seen there",
                    idle, input.fleet.options.nvtx));
  }
}

void AddOthers(const ViewInput& input, const NextStepsInput& next, std::vector<std::string>& lines) {
  AddIdle(input, next, lines);
  if (!next.parts.tails.empty() && next.parts.tails.front().score.value >= 0.01) {
    const TailRow& tail = next.parts.tails.front();
    const bool collective = tail.category == Category::kCommunication;
    lines.push_back(fmt::format(
        "--view tails: {:.1f} % of the time lies in long instances of {:.50} ({})", Percent(tail.score.value),
        BaseName(tail.name), collective ? "there split into wait and transfer" : "--group-by shape tells sizes apart"));
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
