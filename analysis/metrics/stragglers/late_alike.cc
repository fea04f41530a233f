#include "analysis/metrics/stragglers/late_alike.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr size_t kFew = 2;  // members

// Of one member over all units.
struct Lateness {
  double units = 0;
  double sum_ns = 0;
  double squares_ns2 = 0;
  double fourths_ns4 = 0;
  double late = 0;  // units
  double late_sum_ns = 0;

  void Add(double excess_ns, double late_ns) {
    if (std::isnan(excess_ns)) return;
    ++units;
    sum_ns += excess_ns;
    squares_ns2 += excess_ns * excess_ns;
    fourths_ns4 += excess_ns * excess_ns * excess_ns * excess_ns;
    if (excess_ns <= late_ns) return;
    ++late;
    late_sum_ns += excess_ns;
  }
};

// The least against the most.
struct AlikeLimits {
  double alike = 0;
  double by_chance = 0;  // if chance explains that it is no more
};
constexpr double kAlike = 0.5;
constexpr double kByChance = 0.25;
constexpr AlikeLimits kOfMeans{kAlike, kByChance};
constexpr AlikeLimits kOfMeanSquares{kAlike * kAlike, kByChance* kByChance};

struct Estimate {
  double value = 0;
  double error = 0;  // standard
};

// Mean of values, with the sum of their squares.
Estimate MeanOf(double sum, double squares, double count) {
  const double mean = sum / count;
  return {mean, std::sqrt(std::max(0.0, squares / count - mean * mean) / count)};
}

// Of many members one is the least, and another one the most, by chance.
template <typename Figure>
bool AreAlike(const std::vector<Lateness>& members, const AlikeLimits& limits, const Figure& figure) {
  constexpr double kErrors = 2;
  Estimate least{std::numeric_limits<double>::max(), 0};
  Estimate most;
  for (const Lateness& it : members) {
    const Estimate of = figure(it);
    if (of.value < least.value) least = of;
    if (of.value > most.value) most = of;
  }
  if (most.value <= 0) return false;
  if (least.value >= limits.alike * most.value) return true;
  const bool may_be_chance =
      least.value + kErrors * least.error >= limits.alike * (most.value - kErrors * most.error) &&
      members.size() > kFew;
  return may_be_chance && least.value >= limits.by_chance * most.value;
}

// Late by as much in equally many units, by the binomial distribution.
bool AreLateAsOften(const std::vector<Lateness>& members) {
  constexpr double kChance = 3;  // standard deviations
  double late = 0;
  double units = 0;
  for (const Lateness& it : members) {
    late += it.late;
    units += it.units;
  }
  const double share = units > 0 ? late / units : 0;
  const bool by_as_much = AreAlike(members, kOfMeans, [](const Lateness& it) {
    return Estimate{it.late > 0 ? it.late_sum_ns / it.late : 0, 0};
  });
  return by_as_much && std::all_of(members.begin(), members.end(), [&](const Lateness& it) {
           const double chance = kChance * std::sqrt(share * (1 - share) / it.units);
           return std::abs(it.late / it.units - share) <= chance + 1 / it.units;
         });
}

double RootMeanSquare(const ExcessOfGroup& excess) {
  double squares = 0;
  double count = 0;
  for (const std::vector<double>& unit : excess) {
    for (const double value : unit) {
      if (std::isnan(value)) continue;
      squares += value * value;
      ++count;
    }
  }
  return count > 0 ? std::sqrt(squares / count) : 0;
}

}  // namespace

bool AreLateAlike(const ExcessOfGroup& excess) {
  const double late_ns = RootMeanSquare(excess) / 2;
  std::vector<Lateness> members(excess.empty() ? 0 : excess.front().size());
  for (const std::vector<double>& unit : excess) {
    for (size_t member = 0; member < unit.size(); ++member) members[member].Add(unit[member], late_ns);
  }
  std::erase_if(members, [](const Lateness& it) { return it.units == 0; });
  const bool in_mean =
      AreAlike(members, kOfMeans, [](const Lateness& it) { return MeanOf(it.sum_ns, it.squares_ns2, it.units); });
  const bool alike = in_mean && AreAlike(members, kOfMeanSquares, [](const Lateness& it) {
                       return MeanOf(it.squares_ns2, it.fourths_ns4, it.units);
                     });
  return alike && (members.size() > kFew || AreLateAsOften(members));
}

bool AreLateApart(const ExcessOfGroup& excess, const std::vector<double>& in_common, double floor_ns) {
  constexpr double kInCommon = 0.5;
  if (in_common.empty() || excess.empty()) return false;
  std::vector<double> means;
  for (size_t member = 0; member < excess.front().size(); ++member) {
    double sum = 0;
    double units = 0;
    for (const std::vector<double>& unit : excess) {
      if (std::isnan(unit[member])) continue;
      sum += unit[member];
      ++units;
    }
    if (units > 0) means.push_back(sum / units);
  }
  if (means.size() > kFew) return false;
  const double of_members = LowerMedian(std::move(means));
  const double mean_in_common =
      std::accumulate(in_common.begin(), in_common.end(), 0.0) / static_cast<double>(in_common.size());
  return of_members > floor_ns && mean_in_common < kInCommon * of_members;
}

}  // namespace lockstep
