#include "analysis/metrics/causes/blame_weights.h"

#include <algorithm>
#include <numeric>

namespace lockstep {
namespace {

// One entry per origin, by origin.
void Combine(std::vector<std::pair<Origin, int128>>& shares) {
  std::sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  size_t kept = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    if (kept > 0 && shares[kept - 1].first == shares[i].first) {
      shares[kept - 1].second += shares[i].second;
    } else {
      shares[kept++] = shares[i];
    }
  }
  shares.resize(kept);
}

// share / total in units of 1 / kWeightOne, rounded down, without overflow.
int64_t Ratio(int128 share, int128 total) {
  while (total > int128{1} << 84) {
    total >>= 1;
    share >>= 1;
  }
  return static_cast<int64_t>(share * kWeightOne / total);
}

}  // namespace

Weights WeightSum::Take(size_t limit) {
  Combine(shares_);
  const int128 total = std::accumulate(shares_.begin(), shares_.end(), int128{0},
                                       [](int128 sum, const auto& share) { return sum + share.second; });
  Weights out;
  if (total == 0) return out;
  if (shares_.size() > limit) {
    std::stable_sort(shares_.begin(), shares_.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    shares_.resize(limit);
  }
  int64_t rest = kWeightOne;
  for (const auto& [origin, share] : shares_) {
    const int64_t weight = Ratio(share, total);
    if (weight == 0) continue;
    rest -= weight;
    out.push_back({origin, weight});
  }
  if (rest > 0) out.push_back({Origin{}, rest});
  shares_.clear();
  return out;
}

std::vector<int64_t> RoundToSum(const std::vector<int128>& values) {
  std::vector<int64_t> out;
  int128 sum = 0;
  int64_t given = 0;
  for (const int128 value : values) {
    sum += value;
    out.push_back(static_cast<int64_t>(value / kWeightOne));
    given += out.back();
  }
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] % kWeightOne > values[b] % kWeightOne; });
  const auto missing = static_cast<size_t>(static_cast<int64_t>(sum / kWeightOne) - given);
  for (size_t i = 0; i < missing; ++i) ++out[order[i]];
  return out;
}

}  // namespace lockstep
