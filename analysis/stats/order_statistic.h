// Order statistics of values at hand; of many values, or of values that are merged, a Sketch (sketch.h) tells them.
//
// Values are taken by copy because they are put out of order: move in what is not needed again, or use the Take forms,
// which put the caller's values out of order. No value may be NaN. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "analysis/stats/selection.h"

namespace lockstep {

// The value at this place, from 0, of the values in order; place < values.size().
template <typename T>
[[nodiscard]] T OrderStatistic(std::vector<T> values, size_t place) {
  PutInPlace(std::span(values), place);
  return values[place];
}

// Of an even number of values the smaller and the larger one of the two middles. Of none: 0.
template <typename T>
[[nodiscard]] T LowerMedian(std::vector<T> values) {
  if (values.empty()) return T();
  const size_t place = (values.size() - 1) / 2;
  return OrderStatistic(std::move(values), place);
}
template <typename T>
[[nodiscard]] T TakeUpperMedian(std::vector<T>& values) {
  if (values.empty()) return T();
  PutInPlace(std::span(values), values.size() / 2);
  return values[values.size() / 2];
}
template <typename T>
[[nodiscard]] T UpperMedian(std::vector<T> values) {
  return TakeUpperMedian(values);
}

// Mean of the two middles. Of none: 0.
[[nodiscard]] inline double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  PutInPlace(std::span(values), values.size() / 2);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace lockstep
