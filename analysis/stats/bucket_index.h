// The one mapping between non-negative values and the buckets of histograms: base 2, 64 buckets an octave, over seconds
// (double(ns) * 1e-9, one IEEE multiply), upper inclusive: v in (b^i, b^(i+1)], b = 2^(1/64), as in the OpenTelemetry
// metrics data model; zero has a bucket of its own. Table driven, so bit-portable.
#pragma once

#include <cstdint>

namespace lockstep {

// Index of the bucket of a value in ns; kZeroBucket for 0. A negative value is a broken invariant.
[[nodiscard]] int16_t BucketIndex(int64_t value);
inline constexpr int16_t kZeroBucket = INT16_MIN;
// Those of 1 and INT64_MAX: every other index but that of zero lies between.
inline constexpr int16_t kLowestBucket = -1914;
inline constexpr int16_t kHighestBucket = 2118;

// Integer bounds of a bucket: every value v of it has lower < v <= upper (0, 0 for the zero bucket; lower = upper for
// an index that no integer falls into).
struct BucketBounds {
  int64_t lower = 0;
  int64_t upper = 0;
};
[[nodiscard]] BucketBounds BoundsOf(int16_t index);

}  // namespace lockstep
