#include "analysis/metrics/clock_align/dense.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

constexpr double kFree = 1e150;  // pivot of an unknown that nothing determines
// So many sums are made side by side: each waits for itself alone, and its terms come in the order of a single one.
constexpr size_t kAtOnce = 8;
using Sums = std::array<double, kAtOnce>;

// Cells of so many rows, from `first` on, of a column whose pivot is there.
template <size_t kRows>
void FactorRows(size_t first, size_t column, SymmetricMatrix& factor) {
  std::array<double, kRows> sum;
  for (size_t r = 0; r < kRows; ++r) sum[r] = factor.At(first + r, column);
  for (size_t k = 0; k < column; ++k) {
    const double of_column = factor.At(column, k);
    for (size_t r = 0; r < kRows; ++r) sum[r] -= factor.At(first + r, k) * of_column;
  }
  const double pivot = factor.At(column, column);
  for (size_t r = 0; r < kRows; ++r) factor.At(first + r, column) = sum[r] / pivot;
}

void TakeProducts(double cell, const Sums& of, Sums& sums) {
  for (size_t s = 0; s < kAtOnce; ++s) sums[s] -= cell * of[s];
}

SymmetricMatrix Transposed(const SymmetricMatrix& matrix) {
  SymmetricMatrix out(matrix.size());
  for (size_t r = 0; r < matrix.size(); ++r) {
    for (size_t c = 0; c < matrix.size(); ++c) out.At(c, r) = matrix.At(r, c);
  }
  return out;
}

}  // namespace

void SymmetricMatrix::AddDifference(size_t i, size_t j, double weight) {
  At(i, i) += weight;
  At(j, j) += weight;
  At(i, j) -= weight;
  At(j, i) -= weight;
}

Cholesky::Cholesky(SymmetricMatrix matrix) : factor_(std::move(matrix)) {
  const size_t n = factor_.size();
  for (size_t j = 0; j < n; ++j) {
    const double own = factor_.At(j, j);
    double pivot = own;
    for (size_t k = 0; k < j; ++k) pivot -= factor_.At(j, k) * factor_.At(j, k);
    pivot = pivot > 1e-12 * own && pivot > 0 ? std::sqrt(pivot) : kFree;
    factor_.At(j, j) = pivot;
    size_t i = j + 1;
    for (; i + kAtOnce <= n; i += kAtOnce) FactorRows<kAtOnce>(i, j, factor_);
    for (; i < n; ++i) FactorRows<1>(i, j, factor_);
  }
}

std::vector<double> Cholesky::Solve(std::vector<double> right) const {
  const size_t n = factor_.size();
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) right[i] -= factor_.At(i, k) * right[k];
    right[i] /= factor_.At(i, i);
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) right[i] -= factor_.At(k, i) * right[k];
    right[i] /= factor_.At(i, i);
  }
  return right;
}

// Solves for several columns of the unit matrix at once. What stands above the first of them stays 0.
SymmetricMatrix Cholesky::Inverse() const {
  const size_t n = factor_.size();
  const SymmetricMatrix upper = Transposed(factor_);
  SymmetricMatrix out(n);
  std::vector<Sums> right(n);
  for (size_t first = 0; first < n; first += kAtOnce) {
    const size_t columns = std::min(kAtOnce, n - first);
    std::fill(right.begin(), right.end(), Sums{});
    for (size_t c = 0; c < columns; ++c) right[first + c][c] = 1;
    for (size_t i = first; i < n; ++i) {
      Sums sums = right[i];
      for (size_t k = first; k < i; ++k) TakeProducts(factor_.At(i, k), right[k], sums);
      for (size_t s = 0; s < kAtOnce; ++s) right[i][s] = sums[s] / factor_.At(i, i);
    }
    for (size_t i = n; i-- > 0;) {
      Sums sums = right[i];
      for (size_t k = i + 1; k < n; ++k) TakeProducts(upper.At(i, k), right[k], sums);
      for (size_t s = 0; s < kAtOnce; ++s) right[i][s] = sums[s] / factor_.At(i, i);
      std::copy_n(right[i].begin(), columns, &out.At(i, first));
    }
  }
  return out;
}

}  // namespace lockstep
