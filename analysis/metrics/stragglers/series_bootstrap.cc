#include "analysis/metrics/stragglers/series_bootstrap.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace lockstep {
namespace {

constexpr uint64_t kResamples = 1'000;
constexpr uint64_t kStream = 0x73747261676c6572ULL;

// Murmur3's 64-bit finaliser: the draw is a function of its number alone.
uint64_t DrawOf(uint64_t number) {
  uint64_t x = number + kStream;
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

// sums[i] = sum of the first i values.
std::vector<double> PrefixSums(const std::vector<double>& series) {
  std::vector<double> sums = {0};
  sums.reserve(series.size() + 1);
  for (const double value : series) sums.push_back(sums.back() + value);
  return sums;
}

}  // namespace

size_t BlockLength(size_t values, double n_eff) {
  const auto n = static_cast<double>(values);
  return static_cast<size_t>(std::ceil(std::max(std::cbrt(n), n / std::max(1.0, n_eff))));
}

std::pair<double, double> BootstrapMean(const std::vector<double>& series, size_t block) {
  if (series.empty()) return {0, 0};
  const size_t n = series.size();
  block = std::clamp<size_t>(block, 1, std::max<size_t>(1, n / 2));
  const std::vector<double> sums = PrefixSums(series);
  const size_t starts = n - block + 1;
  std::vector<double> means;
  uint64_t number = 0;
  for (uint64_t resample = 0; resample < kResamples; ++resample) {
    double sum = 0;
    for (size_t taken = 0; taken < n; taken += block) {
      const size_t from = static_cast<size_t>(DrawOf(number++) % starts);
      sum += sums[from + std::min(block, n - taken)] - sums[from];
    }
    means.push_back(sum / static_cast<double>(n));
  }
  std::sort(means.begin(), means.end());
  return {means[kResamples * 25 / 1'000 - 1], means[kResamples * 975 / 1'000 - 1]};
}

}  // namespace lockstep
