#include "analysis/metrics/match/join/pair_matching.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>

namespace lockstep {
namespace {

constexpr size_t kMaxExact = 14;  // possible pairs of a part whose pairings are all tried

// Tries all pairings of a few possible pairs. Costs count from "every row alone", so that a pair saves something.
class Exhaustive {
 public:
  Exhaustive(const std::vector<PossiblePair>& possible, const std::vector<size_t>& part)
      : possible_(possible), part_(part), without_(part.size(), std::numeric_limits<double>::max()) {
    Try(0, 0);
  }

  [[nodiscard]] std::vector<ChosenPair> Chosen() const {
    std::vector<ChosenPair> out;
    for (size_t i = 0; i < part_.size(); ++i) {
      if ((best_set_ >> i & 1) != 0) out.push_back({part_[i], 1 - std::exp(best_ - without_[i])});
    }
    return out;
  }

 private:
  void Try(size_t at, double cost) {
    if (at == part_.size()) return Finish(cost);
    Try(at + 1, cost);
    const PossiblePair& p = possible_[part_[at]];
    const auto taken = [&](size_t row) { return std::find(rows_.begin(), rows_.end(), row) != rows_.end(); };
    if (taken(p.x) || taken(p.y)) return;
    rows_.insert(rows_.end(), {p.x, p.y});
    set_ |= uint32_t{1} << at;
    Try(at + 1, cost + p.cost - 2 * kAloneCost);
    set_ &= ~(uint32_t{1} << at);
    rows_.resize(rows_.size() - 2);
  }

  void Finish(double cost) {
    if (cost < best_) {
      best_ = cost;
      best_set_ = set_;
    }
    for (size_t i = 0; i < part_.size(); ++i) {
      if ((set_ >> i & 1) == 0) without_[i] = std::min(without_[i], cost);
    }
  }

  const std::vector<PossiblePair>& possible_;
  const std::vector<size_t>& part_;
  std::vector<size_t> rows_;  // in pairs of the set being tried
  uint32_t set_ = 0;
  uint32_t best_set_ = 0;
  double best_ = std::numeric_limits<double>::max();
  std::vector<double> without_;  // per pair of the part: least cost without it
};

// In order of cost; a pair is as sure as it is cheaper than the others of its rows.
std::vector<ChosenPair> Greedy(const std::vector<PossiblePair>& possible, std::vector<size_t> part) {
  std::stable_sort(part.begin(), part.end(), [&](size_t a, size_t b) { return possible[a].cost < possible[b].cost; });
  std::map<size_t, bool> taken;
  std::vector<ChosenPair> out;
  for (const size_t i : part) {
    const PossiblePair& p = possible[i];
    if (p.cost >= 2 * kAloneCost || taken[p.x] || taken[p.y]) continue;
    taken[p.x] = taken[p.y] = true;
    double margin = 2 * kAloneCost - p.cost;
    for (const size_t o : part) {
      const PossiblePair& other = possible[o];
      const bool rival = o != i && (other.x == p.x || other.y == p.x || other.x == p.y || other.y == p.y);
      if (rival) margin = std::min(margin, other.cost - p.cost);
    }
    out.push_back({i, 1 - std::exp(-std::max(0.0, margin))});
  }
  return out;
}

}  // namespace

std::vector<ChosenPair> MatchPairs(size_t rows, const std::vector<PossiblePair>& possible) {
  std::vector<size_t> root(rows);
  std::iota(root.begin(), root.end(), size_t{0});
  const auto find = [&](size_t x) {
    while (root[x] != x) x = root[x] = root[root[x]];
    return x;
  };
  for (const PossiblePair& p : possible) {
    const auto [low, high] = std::minmax({find(p.x), find(p.y)});
    root[high] = low;
  }
  std::map<size_t, std::vector<size_t>> parts;
  for (size_t i = 0; i < possible.size(); ++i) parts[find(possible[i].x)].push_back(i);
  std::vector<ChosenPair> out;
  for (const auto& [first, part] : parts) {
    const std::vector<ChosenPair> chosen =
        part.size() <= kMaxExact ? Exhaustive(possible, part).Chosen() : Greedy(possible, part);
    out.insert(out.end(), chosen.begin(), chosen.end());
  }
  std::sort(out.begin(), out.end(), [](const ChosenPair& a, const ChosenPair& b) { return a.pair < b.pair; });
  return out;
}

}  // namespace lockstep
