#include "analysis/report/views/waits_for.h"

#include <algorithm>
#include <vector>

namespace lockstep {
namespace {

std::optional<int32_t> RankOfMostWaiting(const ViewInput& input, const LateArrivalsSum& late) {
  const auto most = std::max_element(late.by_rank.begin(), late.by_rank.end(), [](const auto& a, const auto& b) {
    return a.second.caused_ns < b.second.caused_ns;
  });
  if (late.wait_ns <= 0 || most == late.by_rank.end()) return std::nullopt;
  if (most->second.caused_ns < late.wait_ns - most->second.caused_ns) return std::nullopt;
  return input.context.ranks.ranks[static_cast<size_t>(most->first)].rank;
}

bool ShareAGroup(const RunMatch& match, int32_t a, int32_t b) {
  return std::any_of(match.communicators.begin(), match.communicators.end(), [&](const Communicator& communicator) {
    const std::vector<int32_t>& members = communicator.members;
    return std::find(members.begin(), members.end(), a) != members.end() &&
           std::find(members.begin(), members.end(), b) != members.end();
  });
}

// Waits longer than the median duration, against what the tail's instances take beyond the median. Waits are known by
// name.
bool IsMostlyWaiting(const TailRow& tail) {
  const std::optional<QuantileEstimate> p50 = tail.durations.Quantile(0.5);
  if (!p50 || tail.category != Category::kCommunication) return false;
  const int64_t lost_ns = tail.durations.ExcessOver(2 * p50->value, p50->value).value;
  const int64_t waited_ns = tail.wait.ExcessOver(p50->value, 0).value;
  return waited_ns > 0 && waited_ns >= lost_ns - waited_ns;
}

}  // namespace

MostAwaited::MostAwaited(const ViewInput& input, const LateArrivalsSum& late)
    : input_(input), rank_(RankOfMostWaiting(input, late)) {}

MostAwaited::MostAwaited(const ViewInput& input, const LateArrivalsSum& late, const std::vector<Culprit>& named)
    : MostAwaited(input, late) {
  const auto holds_it = [&](const Culprit& culprit) {
    if (culprit.straggler == nullptr) return input_.RankOf(culprit.member) == *rank_;
    const std::vector<int32_t>& indices = culprit.straggler->rank_indices;
    return std::any_of(indices.begin(), indices.end(), [&](int32_t index) {
      return input_.context.ranks.ranks[static_cast<size_t>(index)].rank == *rank_;
    });
  };
  if (rank_ && std::none_of(named.begin(), named.end(), holds_it)) rank_ = std::nullopt;
}

bool MostAwaited::Waits(const TailRow& tail) { return IsMostlyWaiting(tail); }

std::optional<int32_t> MostAwaited::By(size_t member) const {
  const int32_t waiting = input_.RankOf(member);
  if (!rank_ || *rank_ == waiting || !ShareAGroup(input_.fleet.match, waiting, *rank_)) return std::nullopt;
  return rank_;
}

std::optional<int32_t> MostAwaited::By(const TailRow& tail) const {
  const std::optional<size_t> worst = WorstRank(tail);
  return worst && IsMostlyWaiting(tail) ? By(*worst) : std::nullopt;
}

}  // namespace lockstep
