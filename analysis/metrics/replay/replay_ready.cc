#include "analysis/metrics/replay/replay_ready.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr size_t kLeastShown = 3;     // steps in which a row starts without a queue
constexpr double kAsFar = 0.02;       // how much further the work may be and still be at the same place, of the work,
constexpr int64_t kAsFarNs = 20'000;  // and besides

// The own work of a rank between a row and the row before it of the same communicator; null: there is none.
std::optional<int64_t> WorkBefore(const std::vector<ArrivalNode>& rows, size_t k) {
  if (rows[k].previous < 0) return std::nullopt;
  return rows[k].work.start_ns - rows[static_cast<size_t>(rows[k].previous)].work.start_ns;
}

void OfRank(const std::vector<ArrivalNode>& rows, size_t first, ReplayGraph& graph) {
  std::map<int32_t, std::vector<int64_t>> shown;  // by position: work before the rows that no queue held back
  for (size_t k = 0; k < rows.size(); ++k) {
    const ReplayNode& node = graph.nodes[first + k];
    if (node.position < 0 || node.queued >= 0) continue;
    if (const std::optional<int64_t> work_ns = WorkBefore(rows, k)) shown[node.position].push_back(*work_ns);
  }
  std::map<int32_t, int64_t> usual;
  for (auto& [position, works] : shown) {
    if (works.size() >= kLeastShown) usual[position] = UpperMedian(std::move(works));
  }
  std::vector<int64_t> ready;  // of each row: the place in the own work at which it was ready, as far as that is known
  ready.reserve(rows.size());
  for (size_t k = 0; k < rows.size(); ++k) {
    ReplayNode& node = graph.nodes[first + k];
    ready.push_back(rows[k].work.start_ns);
    const auto known = node.queued >= 0 ? usual.find(node.position) : usual.end();
    if (known == usual.end() || rows[k].previous < 0) continue;
    const int64_t before_ns = ready[static_cast<size_t>(rows[k].previous)];
    const auto further = static_cast<double>(ready[k] - before_ns - known->second);
    node.awaits_work = further <= kAsFar * static_cast<double>(known->second) + static_cast<double>(kAsFarNs);
    ready[k] = std::min(ready[k], before_ns + known->second);
  }
}

}  // namespace

void AddReadyPlaces(const ArrivalGraph& source, Executor& executor, ReplayGraph& graph) {
  executor.ParallelFor(source.ranks.size(), [&](size_t r) { OfRank(source.ranks[r], graph.first[r], graph); });
}

}  // namespace lockstep
