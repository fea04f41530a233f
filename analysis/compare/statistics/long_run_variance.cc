#include "analysis/compare/statistics/long_run_variance.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace lockstep::compare {
namespace {

double PlainMean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Block means less the mean of all.
std::vector<double> CentredBlocks(std::span<const double> values) {
  const double mean = PlainMean(values);
  const size_t length = (values.size() + kMostBlocks - 1) / kMostBlocks;
  std::vector<double> blocks;
  blocks.reserve(values.size() / length);
  for (size_t i = 0; i + length <= values.size(); i += length) {
    blocks.push_back(PlainMean(values.subspan(i, length)) - mean);
  }
  return blocks;
}

double Autocovariance(std::span<const double> centred, size_t lag) {
  double sum = 0;
  for (size_t i = lag; i < centred.size(); ++i) sum += centred[i] * centred[i - lag];
  return sum / static_cast<double>(centred.size());
}

// Of the autocovariances at lag 0 and at lags of both signs.
double SumOfPositiveSequence(std::span<const double> centred) {
  const double variance = Autocovariance(centred, 0);
  double pairs = 0;
  double last = std::numeric_limits<double>::infinity();
  for (size_t lag = 0; lag + 1 < centred.size(); lag += 2) {
    const double pair = (lag == 0 ? variance : Autocovariance(centred, lag)) + Autocovariance(centred, lag + 1);
    if (!(pair > 0)) break;
    last = std::min(last, pair);
    pairs += last;
  }
  return std::max(2 * pairs - variance, variance);
}

}  // namespace

LongRunVariance LongRunVarianceOf(std::span<const double> values) {
  LongRunVariance result;
  const auto count = static_cast<double>(values.size());
  result.effective = count;
  if (values.size() < 2) return result;
  const double mean = PlainMean(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  result.variance = squares / count;
  if (!(result.variance > 0)) return result;
  const std::vector<double> blocks = CentredBlocks(values);
  const double length = static_cast<double>(values.size() / blocks.size());
  result.tau = std::max(1.0, SumOfPositiveSequence(blocks) * length / result.variance);
  result.effective = count / result.tau;
  return result;
}

}  // namespace lockstep::compare
