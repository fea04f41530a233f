#include "analysis/metrics/skew/column_grid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <utility>

#include "analysis/metrics/skew/lateness_map.h"

namespace lockstep {
namespace {

struct SumCell {
  int64_t sum = 0;
  void Merge(const SumCell& other) { sum += other.sum; }
};

using NaiveTable = std::map<std::pair<int64_t, size_t>, int64_t>;  // (column, row) -> sum

NaiveTable Coarse(const NaiveTable& fine, int shift) {
  NaiveTable out;
  for (const auto& [at, sum] : fine) out[{at.first >> shift, at.second}] += sum;
  return out;
}

TEST(ColumnGrid, HoldsTheSumsOfANaiveTableWhateverItsWidth) {
  for (const unsigned seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
    std::mt19937 draw(seed);
    const size_t rows = 1 + draw() % 5;
    const size_t most = 2 + draw() % 40;
    ColumnGrid<SumCell> grid(rows, most, 0);
    NaiveTable naive;
    for (int i = 0; i < 2'000; ++i) {
      const int64_t key = static_cast<int64_t>(draw() % 300) - 100;
      const size_t row = draw() % rows;
      const int64_t value = draw() % 1'000;
      grid.At(key, row).sum += value;
      naive[{key, row}] += value;
    }
    EXPECT_LE(grid.columns().size(), most);
    const NaiveTable coarse = Coarse(naive, grid.shift());
    int64_t cells = 0;
    for (const auto& [key, column] : grid.columns()) {
      ASSERT_EQ(column.size(), rows);
      for (size_t row = 0; row < rows; ++row) {
        const auto expected = coarse.find({key, row});
        EXPECT_EQ(column[row].sum, expected == coarse.end() ? 0 : expected->second);
        cells += expected == coarse.end() ? 0 : 1;
      }
    }
    EXPECT_EQ(cells, static_cast<int64_t>(coarse.size()));
    // No wider than needed: one halving less would have been too many columns.
    if (grid.shift() > 0) {
      std::map<int64_t, int> finer;
      for (const auto& [at, sum] : naive) ++finer[at.first >> (grid.shift() - 1)];
      EXPECT_GT(finer.size(), most);
    }
  }
}

TEST(ColumnGrid, KeysAsFarApartAsIntegersGoTakeTwoColumns) {
  ColumnGrid<SumCell> grid(1, 2, 0);
  for (const int64_t key : {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{7}, INT64_MAX}) grid.At(key, 0).sum += 1;
  ASSERT_EQ(grid.columns().size(), 2U);
  EXPECT_EQ(grid.columns().begin()->second[0].sum, 2);
  EXPECT_EQ(grid.columns().rbegin()->second[0].sum, 3);
}

TEST(ColumnGrid, ACopyGoesOnForItself) {
  ColumnGrid<SumCell> grid(1, 8, 0);
  grid.At(3, 0).sum = 5;
  ColumnGrid<SumCell> copy(grid);
  copy.At(3, 0).sum += 1;
  grid.At(3, 0).sum += 10;
  EXPECT_EQ(grid.columns().at(3)[0].sum, 15);
  EXPECT_EQ(copy.columns().at(3)[0].sum, 6);
}

TEST(DurationCode, ErrsByAtMostAnEighthOfAnOctave) {
  std::mt19937 draw(9);
  for (int i = 0; i < 10'000; ++i) {
    const double ns = std::exp2(std::uniform_real_distribution<double>(10, 41)(draw));
    const int code = DurationCode(ns);
    ASSERT_GE(code, kLeastCode);
    if (code == UINT8_MAX) continue;
    const double told = 1000 * std::exp2((code - kLeastCode) / 8.0);
    EXPECT_LE(std::abs(std::log2(told / ns)), 1.0 / 16 + 1e-9) << ns;
  }
}

TEST(DurationCode, NothingIsZeroAndNonsenseIsHarmless) {
  EXPECT_EQ(DurationCode(0), 0);
  EXPECT_EQ(DurationCode(-5), 0);
  EXPECT_EQ(DurationCode(std::nan("")), 0);
  EXPECT_EQ(DurationCode(0.001), kLeastCode);
  EXPECT_EQ(DurationCode(1e300), UINT8_MAX);
  EXPECT_EQ(DurationCode(std::numeric_limits<double>::infinity()), UINT8_MAX);
}

}  // namespace
}  // namespace lockstep
