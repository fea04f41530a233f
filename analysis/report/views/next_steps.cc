#include "analysis/report/next_steps.h"

#include <fmt/format.h>

namespace lockstep {
namespace {

constexpr size_t kMaxLines = 5;

double Percent(double ratio) { return 100 * ratio; }

void AddCulprits(const ViewInput& input, const NextStepsInput& next, std::vector<std::string>& lines) {
  if (next.blame.culprits.empty()) return;
  const Culprit& worst = next.blame.culprits.front();
  const int32_t rank = input.RankOf(worst.member);
  lines.push_back(fmt::format("--view skew --instances: the collectives in which the others waited for rank {}", rank));
  if (worst.cause == "host_delay") {
    lines.push_back(fmt::format("--view idle,host --ranks {}: its device waits for its own host", rank));
  } else if (worst.cause == "slow_compute" || worst.cause == "more_work") {
    lines.push_back(fmt::format("--view kernels,imbalance: which kernels take longer on rank {}", rank));
  } else if (worst.cause == "copies") {
    lines.push_back(fmt::format("--view memory --ranks {}: its copies delay its kernels", rank));
  } else {
    lines.push_back(fmt::format("--view imbalance,steps: what rank {} does differently before it arrives", rank));
  }
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
      lines.push_back("--view kernels: the largest kernels; --group-by family for the overview");
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

void AddOthers(const NextStepsInput& next, std::vector<std::string>& lines) {
  if (next.share && next.share->idle >= 0.1 && next.verdict != RunVerdict::kHost) {
    lines.push_back(
        fmt::format("--view idle: {:.0f} % of the time the device does nothing", Percent(next.share->idle)));
  }
  if (!next.parts.tails.empty() && next.parts.tails.front().score.value >= 0.01) {
    const TailRow& tail = next.parts.tails.front();
    const bool collective = tail.category == Category::kCommunication;
    lines.push_back(fmt::format(
        "--view tails: {:.1f} % of the time lies in long instances of {:.50} ({})", Percent(tail.score.value),
        BaseName(tail.name), collective ? "there split into wait and transfer" : "--group-by shape tells sizes apart"));
  }
  if (next.verdict == RunVerdict::kCompute && !next.parts.imbalance.quantities.empty()) {
    const Quantity& compute = next.parts.imbalance.quantities.front();
    if (compute.max_over_mean.value_or(1) >= 1.05) {
      lines.push_back("--view imbalance: the ranks do not compute equally long");
    }
  }
}

}  // namespace

std::vector<std::string> NextSteps(const ViewInput& input, const NextStepsInput& next) {
  std::vector<std::string> lines;
  AddCulprits(input, next, lines);
  AddVerdict(input, next, lines);
  AddOthers(next, lines);
  if (lines.size() > kMaxLines) lines.resize(kMaxLines);
  return lines;
}

}  // namespace lockstep
