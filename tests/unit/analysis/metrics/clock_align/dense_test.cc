// Dense systems, against the same cell by cell.
#include "analysis/metrics/clock_align/dense.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace lockstep {
namespace {

SymmetricMatrix Differences(size_t size, uint64_t seed) {
  std::mt19937_64 draws(seed);
  SymmetricMatrix matrix(size);
  for (size_t i = 0; i < size; ++i) matrix.At(i, i) = 1e-3;
  for (size_t count = 0; count < 4 * size && size > 1; ++count) {
    const size_t i = draws() % size;
    const size_t j = draws() % size;
    if (i != j) matrix.AddDifference(i, j, 0.5 + static_cast<double>(draws() % 1'000) / 700);
  }
  return matrix;
}

// The textbook's, cell by cell.
SymmetricMatrix NaiveFactor(SymmetricMatrix matrix) {
  for (size_t j = 0; j < matrix.size(); ++j) {
    for (size_t k = 0; k < j; ++k) matrix.At(j, j) -= matrix.At(j, k) * matrix.At(j, k);
    matrix.At(j, j) = std::sqrt(matrix.At(j, j));
    for (size_t i = j + 1; i < matrix.size(); ++i) {
      for (size_t k = 0; k < j; ++k) matrix.At(i, j) -= matrix.At(i, k) * matrix.At(j, k);
      matrix.At(i, j) /= matrix.At(j, j);
    }
  }
  return matrix;
}

std::vector<double> NaiveSolve(const SymmetricMatrix& factor, std::vector<double> right) {
  const size_t n = factor.size();
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) right[i] -= factor.At(i, k) * right[k];
    right[i] /= factor.At(i, i);
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) right[i] -= factor.At(k, i) * right[k];
    right[i] /= factor.At(i, i);
  }
  return right;
}

class DenseTest : public testing::TestWithParam<size_t> {};

TEST_P(DenseTest, AnInverseIsWhatSolvingForEachColumnGives) {
  const size_t n = GetParam();
  const SymmetricMatrix matrix = Differences(n, 7 + n);
  const Cholesky cholesky(matrix);
  const SymmetricMatrix inverse = cholesky.Inverse();
  const SymmetricMatrix factor = NaiveFactor(matrix);
  for (size_t c = 0; c < n; ++c) {
    std::vector<double> unit(n);
    unit[c] = 1;
    const std::vector<double> column = NaiveSolve(factor, unit);
    const std::vector<double> solved = cholesky.Solve(unit);
    for (size_t r = 0; r < n; ++r) {
      EXPECT_NEAR(solved[r], column[r], 1e-9 * std::abs(column[r])) << r << ", " << c;
      EXPECT_EQ(inverse.At(r, c), solved[r]) << r << ", " << c;
    }
  }
}

TEST_P(DenseTest, AMatrixTimesItsInverseIsTheUnitMatrix) {
  const size_t n = GetParam();
  const SymmetricMatrix matrix = Differences(n, 70 + n);
  const SymmetricMatrix inverse = Cholesky(matrix).Inverse();
  for (size_t r = 0; r < n; ++r) {
    for (size_t c = 0; c < n; ++c) {
      double sum = 0;
      for (size_t k = 0; k < n; ++k) sum += matrix.At(r, k) * inverse.At(k, c);
      EXPECT_NEAR(sum, r == c ? 1 : 0, 1e-6) << r << ", " << c;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfSizes, DenseTest, testing::Values(1, 2, 7, 8, 9, 16, 31, 64, 65));

}  // namespace
}  // namespace lockstep
