#include "analysis/compare/kernels/pair_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockstep::compare {
namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();
constexpr int kMostRounds = 16;
constexpr size_t kNobody = std::numeric_limits<size_t>::max();

// The cheapest and the next cheapest partner.
struct Best {
  double cost = kImpossible;
  double next = kImpossible;
  size_t partner = kNobody;

  void Take(double value, size_t index) {
    if (value < cost) {
      next = cost;
      cost = value;
      partner = index;
    } else {
      next = std::min(next, value);
    }
  }
  [[nodiscard]] bool Clear() const { return partner != kNobody && next >= cost + kLeastMargin; }
};

class CostTable {
 public:
  CostTable(const Bucket& bucket, const PairCost& cost) : columns_(bucket.after.size()) {
    costs_.reserve(bucket.before.size() * columns_);
    for (const size_t b : bucket.before) {
      for (const size_t a : bucket.after) costs_.push_back(cost(b, a));
    }
    rows_ = bucket.before.size();
  }

  // Rows and columns of pairs without rival; they are taken out of the table.
  std::vector<std::pair<size_t, size_t>> TakeClearPairs() {
    std::vector<Best> of_row(rows_);
    std::vector<Best> of_column(columns_);
    for (size_t row = 0; row < rows_; ++row) {
      for (size_t column = 0; column < columns_; ++column) {
        of_row[row].Take(At(row, column), column);
        of_column[column].Take(At(row, column), row);
      }
    }
    std::vector<std::pair<size_t, size_t>> clear;
    for (size_t row = 0; row < rows_; ++row) {
      if (!of_row[row].Clear()) continue;
      const Best& back = of_column[of_row[row].partner];
      if (back.partner == row && back.Clear()) clear.emplace_back(row, of_row[row].partner);
    }
    for (const auto& pair : clear) TakeOut(pair.first, pair.second);
    return clear;
  }

 private:
  double& At(size_t row, size_t column) { return costs_[row * columns_ + column]; }

  void TakeOut(size_t row, size_t column) {
    for (size_t c = 0; c < columns_; ++c) At(row, c) = kImpossible;
    for (size_t r = 0; r < rows_; ++r) At(r, column) = kImpossible;
  }

  size_t rows_ = 0;
  size_t columns_;
  std::vector<double> costs_;
};

}  // namespace

bool TooManyPairs(const Bucket& bucket) {
  return !bucket.before.empty() && bucket.after.size() > kMostPairsCompared / bucket.before.size();
}

std::vector<std::pair<size_t, size_t>> PairsWithoutRival(const Bucket& bucket, const PairCost& cost) {
  std::vector<std::pair<size_t, size_t>> pairs;
  if (bucket.before.empty() || bucket.after.empty() || TooManyPairs(bucket)) return pairs;
  CostTable table(bucket, cost);
  for (int round = 0; round < kMostRounds; ++round) {
    const auto clear = table.TakeClearPairs();
    if (clear.empty()) break;
    for (const auto& pair : clear) pairs.emplace_back(bucket.before[pair.first], bucket.after[pair.second]);
  }
  return pairs;
}

double EvidenceCost(const MatchState& state, const StepOrder& order, size_t b, size_t a) {
  constexpr double kFarAway = 2;        // positions: two marks apart is elsewhere
  constexpr double kOtherRange = 0.5;   // ranges are renamed, too
  constexpr double kTimeWeight = 0.05;  // a doubling
  double cost = std::min(1.0, Doublings(state.before.launches[b], state.after.launches[a]));
  const double distance = order.Distance(b, a);
  if (!std::isnan(distance)) cost += std::min(1.0, distance / kFarAway);
  const std::string& range_before = state.before.identities[b].range;
  const std::string& range_after = state.after.identities[a].range;
  if (!range_before.empty() && !range_after.empty() && range_before != range_after) cost += kOtherRange;
  return cost + kTimeWeight * std::min(3.0, Doublings(state.before.time_ns[b], state.after.time_ns[a]));
}

bool LaunchesAgree(double before, double after) {
  constexpr double kTolerance = 0.05;  // a launch in a few steps only, or a step that is cut off
  return before > 0 && after > 0 && std::abs(before - after) <= kTolerance * std::max(before, after);
}

double SumOf(const std::vector<double>& values, const std::vector<size_t>& members) {
  double sum = 0;
  for (const size_t member : members) sum += values[member];
  return sum;
}

}  // namespace lockstep::compare
