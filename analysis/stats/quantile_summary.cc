#include "analysis/stats/quantile_summary.h"

#include <absl/status/status.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"

namespace lockstep {
namespace {

using Facts = QuantileSummary::Facts;

// Places in Facts::values of an exact summary.
constexpr size_t kLowerMiddle = 1;
constexpr size_t kUpperMiddle = 2;

// Of p50, p90 and so on.
constexpr std::array<size_t, QuantileSummary::kLevels.size()> kPlaces = {kLowerMiddle, 3, 4, 5, 6};

int64_t RankOrLast(double q, int64_t count) { return RankOf(q, count).value_or(count); }

std::vector<int64_t> ExactValues(const Sketch& sketch) {
  const int64_t count = sketch.count();
  std::vector<int64_t> values(QuantileSummary::kExactValues);
  values.front() = sketch.min();
  values.back() = sketch.max();
  values[kUpperMiddle] = sketch.OrderStatistic(count / 2 + 1).value;
  for (size_t i = 0; i < kPlaces.size(); ++i) {
    values[kPlaces[i]] = sketch.OrderStatistic(RankOrLast(QuantileSummary::kLevels[i], count)).value;
  }
  return values;
}

// What stands for a bucket lies inside it.
std::vector<int16_t> PercentileBuckets(const Sketch& sketch) {
  std::vector<int16_t> buckets;
  for (const double q : QuantileSummary::kLevels) {
    buckets.push_back(BucketIndex(sketch.OrderStatistic(RankOrLast(q, sketch.count())).value));
  }
  return buckets;
}

absl::Status Refused(std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("summary of a distribution: {}", what));
}

absl::Status CheckMoments(const Facts& facts) {
  if (facts.count < 1 || facts.count > Sketch::kMaxDecodedCount) {
    return Refused(fmt::format("count {} outside 1..{}", facts.count, Sketch::kMaxDecodedCount));
  }
  if (facts.sum < 0) return Refused(fmt::format("sum {} below 0", facts.sum));
  const bool is_deviation = std::isfinite(facts.stddev) && facts.stddev >= 0;
  return is_deviation ? absl::OkStatus() : Refused(fmt::format("standard deviation {}", facts.stddev));
}

absl::Status CheckBuckets(const Facts& facts) {
  if (facts.buckets.size() != QuantileSummary::kLevels.size()) {
    return Refused(
        fmt::format("{} buckets, expected none or {}", facts.buckets.size(), QuantileSummary::kLevels.size()));
  }
  const bool in_place = std::is_sorted(facts.buckets.begin(), facts.buckets.end()) &&
                        facts.buckets.front() >= BucketIndex(facts.values.front()) &&
                        facts.buckets.back() <= BucketIndex(facts.values.back());
  if (!in_place) return Refused("buckets not ascending between the extremes");
  for (const int16_t index : facts.buckets) {
    const BucketBounds bounds = BoundsOf(index);
    if (index != kZeroBucket && bounds.lower >= bounds.upper) return Refused("a bucket that no integer falls into");
  }
  return absl::OkStatus();
}

absl::Status CheckFacts(const Facts& facts) {
  LOCKSTEP_RETURN_IF_ERROR(CheckMoments(facts));
  const size_t expected = facts.buckets.empty() ? QuantileSummary::kExactValues : QuantileSummary::kExtremes;
  if (facts.values.size() != expected) {
    return Refused(fmt::format("{} values, expected {}", facts.values.size(), expected));
  }
  if (facts.values.front() < 0 || !std::is_sorted(facts.values.begin(), facts.values.end())) {
    return Refused("values not ascending from 0");
  }
  return facts.buckets.empty() ? absl::OkStatus() : CheckBuckets(facts);
}

}  // namespace

QuantileSummary::QuantileSummary(const Sketch& sketch) {
  if (sketch.empty()) return;
  facts_.count = sketch.count();
  facts_.sum = sketch.sum();
  facts_.stddev = sketch.stddev();
  if (sketch.exact()) {
    facts_.values = ExactValues(sketch);
  } else {
    facts_.values = {sketch.min(), sketch.max()};
    facts_.buckets = PercentileBuckets(sketch);
  }
}

absl::StatusOr<QuantileSummary> QuantileSummary::FromFacts(Facts facts) {
  LOCKSTEP_RETURN_IF_ERROR(CheckFacts(facts));
  QuantileSummary summary;
  summary.facts_ = std::move(facts);
  return summary;
}

double QuantileSummary::mean() const {
  return empty() ? 0 : static_cast<double>(facts_.sum) / static_cast<double>(facts_.count);
}

std::optional<QuantileEstimate> QuantileSummary::Quantile(double q) const {
  const auto level = std::find(kLevels.begin(), kLevels.end(), q);
  LOCKSTEP_CHECK(level != kLevels.end());
  if (!RankOf(q, facts_.count).has_value()) return std::nullopt;
  const auto at = static_cast<size_t>(level - kLevels.begin());
  if (!exact()) return EstimateOf(facts_.buckets[at], min(), max());
  const int64_t value = facts_.values[kPlaces[at]];
  return QuantileEstimate{value, value, value, true};
}

std::optional<double> QuantileSummary::Median() const {
  if (empty() || !exact()) return std::nullopt;
  return (static_cast<double>(facts_.values[kLowerMiddle]) + static_cast<double>(facts_.values[kUpperMiddle])) / 2;
}

}  // namespace lockstep
