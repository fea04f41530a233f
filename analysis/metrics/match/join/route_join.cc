#include "analysis/metrics/match/join/route_join.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>

#include "analysis/metrics/match/order_score.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr size_t kBand = 48;  // receives considered for one send
constexpr int64_t kMinCapNs = 20'000;
constexpr int64_t kTimesUsual = 4;

// A quarter of the usual distance of the ends: what chance gives.
int64_t RouteCapOf(const std::vector<RouteRow>& rows) {
  std::vector<int64_t> gaps;
  for (size_t i = 1; i < rows.size(); ++i) gaps.push_back(rows[i].end_ns - rows[i - 1].end_ns);
  return UpperMedian(std::move(gaps)) / 4;
}

class Aligner {
 public:
  Aligner(const std::vector<RouteRow>& sends, const std::vector<RouteRow>& receives, int64_t slack_ns, int64_t cap_ns)
      : sends_(sends), receives_(receives), slack_ns_(slack_ns), cap_ns_(cap_ns) {}

  // Median over the receives of the cost with the send that ends nearest: what pairs usually cost, whatever is lost.
  [[nodiscard]] int64_t UsualCost() const {
    std::vector<int64_t> costs;
    for (const RouteRow& receive : receives_) {
      const auto after = std::lower_bound(sends_.begin(), sends_.end(), receive.end_ns,
                                          [](const RouteRow& send, int64_t end) { return send.end_ns < end; });
      int64_t least = cap_ns_;
      if (after != sends_.end()) least = std::min(least, Cost(*after, receive));
      if (after != sends_.begin()) least = std::min(least, Cost(*std::prev(after), receive));
      costs.push_back(least);
    }
    return UpperMedian(std::move(costs));
  }

  // Neither row would do about as well with a neighbour of the other one.
  [[nodiscard]] bool IsClear(const std::pair<size_t, size_t>& pair) const {
    const auto [i, j] = pair;
    const int64_t limit = Cost(sends_[i], receives_[j]) + cap_ns_;
    for (const size_t other : {j - 1, j + 1}) {
      if (other < receives_.size() && Cost(sends_[i], receives_[other]) < limit) return false;
    }
    for (const size_t other : {i - 1, i + 1}) {
      if (other < sends_.size() && Cost(sends_[other], receives_[j]) < limit) return false;
    }
    return true;
  }

  std::vector<std::pair<size_t, size_t>> Run() {
    Fill();
    std::vector<std::pair<size_t, size_t>> out;
    size_t i = sends_.size();
    size_t j = receives_.size();
    while (i > 0 && j > 0) {
      const Cell cell = At(i, j);
      if (cell.from == From::kPair) out.emplace_back(--i, --j);
      if (cell.from == From::kSkipSend) --i;
      if (cell.from == From::kSkipReceive) --j;
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

 private:
  enum class From : uint8_t { kSkipSend, kSkipReceive, kPair };
  struct Cell {
    int64_t cost = std::numeric_limits<int64_t>::max() / 4;
    From from = From::kSkipSend;
  };

  // Distance of the receive's end from where the send lets it end; beyond the cap the two do not belong together.
  [[nodiscard]] int64_t Cost(const RouteRow& send, const RouteRow& receive) const {
    if (receive.end_ns < send.start_ns - slack_ns_) return 2 * cap_ns_ + 1;
    return std::abs(receive.end_ns - std::max(send.end_ns, receive.start_ns));
  }

  // First receive of the band of a send.
  [[nodiscard]] size_t BandOf(size_t i) const {
    const int64_t end = sends_[i].end_ns;
    const auto at = std::lower_bound(receives_.begin(), receives_.end(), end,
                                     [](const RouteRow& r, int64_t t) { return r.end_ns < t; });
    const auto middle = static_cast<size_t>(at - receives_.begin());
    return middle > kBand / 2 ? middle - kBand / 2 : 0;
  }

  // Cells outside the band: everything on that side is skipped.
  [[nodiscard]] Cell At(size_t i, size_t j) const {
    if (i == 0) return {static_cast<int64_t>(j) * cap_ns_, From::kSkipReceive};
    const size_t first = first_[i - 1];
    if (j < first) {
      const Cell above = At(i - 1, j);
      return {above.cost + cap_ns_, From::kSkipSend};
    }
    const std::vector<Cell>& row = cells_[i - 1];
    if (j - first < row.size()) return row[j - first];
    return {row.back().cost + static_cast<int64_t>(j - first - row.size() + 1) * cap_ns_, From::kSkipReceive};
  }

  void Fill() {
    for (size_t i = 1; i <= sends_.size(); ++i) {
      const size_t first = std::max(BandOf(i - 1), first_.empty() ? size_t{0} : first_.back());
      const size_t last = std::min(receives_.size(), first + kBand);
      std::vector<Cell> row;
      first_.push_back(first);
      for (size_t j = first; j <= last; ++j) {
        Cell best{At(i - 1, j).cost + cap_ns_, From::kSkipSend};
        if (!row.empty() && row.back().cost + cap_ns_ < best.cost)
          best = {row.back().cost + cap_ns_, From::kSkipReceive};
        if (j > 0) {
          const int64_t cost = Cost(sends_[i - 1], receives_[j - 1]);
          const int64_t pair = cost > 2 * cap_ns_ ? INT64_MAX : At(i - 1, j - 1).cost + cost;
          if (pair < best.cost) best = {pair, From::kPair};
        }
        row.push_back(best);
      }
      cells_.push_back(std::move(row));
    }
  }

  const std::vector<RouteRow>& sends_;
  const std::vector<RouteRow>& receives_;
  int64_t slack_ns_;
  int64_t cap_ns_;
  std::vector<size_t> first_;             // per send
  std::vector<std::vector<Cell>> cells_;  // per send: its band
};

}  // namespace

std::vector<RoutePair> PairRoute(const std::vector<RouteRow>& sends, const std::vector<RouteRow>& receives,
                                 int64_t slack_ns) {
  // The first look shows how closely the ends of a pair lie; the second one pairs nothing that lies much worse.
  const Aligner wide(sends, receives, slack_ns, std::max({kMinCapNs, RouteCapOf(sends), RouteCapOf(receives)}));
  Aligner narrow(sends, receives, slack_ns, std::max(kMinCapNs, kTimesUsual * wide.UsualCost()));
  std::vector<RoutePair> out;
  for (const auto& pair : narrow.Run()) out.push_back({pair.first, pair.second, narrow.IsClear(pair)});
  return out;
}

}  // namespace lockstep
