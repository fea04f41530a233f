#include "analysis/stats/selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace lockstep {
namespace {

// Puts every place, or some of many, of a copy in place and looks at all that is promised.
template <typename T>
void ExpectSelectsAsSortingDoes(const std::vector<T>& values) {
  std::vector<T> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const size_t stride = 1 + values.size() / 64;
  for (size_t place = 0; place < values.size(); place += stride) {
    std::vector<T> put = values;
    PutInPlace(std::span(put), place);
    ASSERT_EQ(put[place], sorted[place]) << "of " << values.size() << " at " << place;
    const auto at = put.begin() + static_cast<std::ptrdiff_t>(place);
    ASSERT_TRUE(std::all_of(put.begin(), at, [&](T v) { return v <= *at; }));
    ASSERT_TRUE(std::all_of(at, put.end(), [&](T v) { return v >= *at; }));
    std::sort(put.begin(), put.end());
    ASSERT_EQ(put, sorted);
  }
}

TEST(Selection, PutsTheValueThereThatSortingWould) {
  std::mt19937_64 random(1);
  for (const size_t size : {1U, 2U, 3U, 15U, 16U, 17U, 18U, 33U, 100U, 192U, 1000U, 8192U}) {
    std::vector<int64_t> whole(size);
    std::vector<double> real(size);
    for (int64_t& v : whole) v = static_cast<int64_t>(random());
    for (double& v : real) v = std::normal_distribution<double>(0, 100)(random);
    ExpectSelectsAsSortingDoes(whole);
    ExpectSelectsAsSortingDoes(real);
  }
}

TEST(Selection, TakesFewDistinctValues) {
  std::mt19937_64 random(2);
  for (const uint64_t distinct : {1U, 2U, 3U, 10U}) {
    std::vector<int64_t> values(777);
    for (int64_t& v : values) v = static_cast<int64_t>(random() % distinct) - 1;
    ExpectSelectsAsSortingDoes(values);
  }
}

TEST(Selection, TakesValuesInAnyOrder) {
  std::vector<int64_t> values(3'000);
  std::iota(values.begin(), values.end(), -1'500);
  ExpectSelectsAsSortingDoes(values);
  std::reverse(values.begin(), values.end());
  ExpectSelectsAsSortingDoes(values);
  std::rotate(values.begin(), values.begin() + 1'000, values.end());
  ExpectSelectsAsSortingDoes(values);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(std::min(i, values.size() - i));
  ExpectSelectsAsSortingDoes(values);
}

// A value that is decided only when it is compared, and then so that pivots are bad: McIlroy, "A killer adversary for
// quicksort" (1999).
struct Evasive {
  static inline std::vector<int> decided;
  static inline int undecided = 0;
  static inline int next = 0;
  static inline int candidate = 0;
  static inline int64_t comparisons = 0;

  static std::vector<Evasive> Make(int count) {
    decided.assign(static_cast<size_t>(count), count);
    undecided = count;
    next = candidate = 0;
    comparisons = 0;
    std::vector<Evasive> out(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) out[static_cast<size_t>(i)].id = i;
    return out;
  }
  static int& ValueOf(const Evasive& e) { return decided[static_cast<size_t>(e.id)]; }

  friend bool operator<(const Evasive& a, const Evasive& b) {
    ++comparisons;
    if (ValueOf(a) == undecided && ValueOf(b) == undecided) ValueOf(a.id == candidate ? a : b) = next++;
    if (ValueOf(a) == undecided) {
      candidate = a.id;
    } else if (ValueOf(b) == undecided) {
      candidate = b.id;
    }
    return ValueOf(a) < ValueOf(b);
  }

  int id = 0;
};

TEST(Selection, IsNotQuadraticAgainstAnAdversary) {
  constexpr int kCount = 1 << 14;
  std::vector<Evasive> values = Evasive::Make(kCount);
  PutInPlace(std::span(values), values.size() - 1);
  EXPECT_LT(Evasive::comparisons, 200 * kCount);  // a quarter of the square is 67 million
  EXPECT_GE(Evasive::ValueOf(values.back()), kCount - 1);
}

}  // namespace
}  // namespace lockstep
