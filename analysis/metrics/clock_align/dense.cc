#include "analysis/metrics/clock_align/dense.h"

#include <cmath>
#include <utility>

namespace lockstep {
namespace {

constexpr double kFree = 1e150;  // pivot of an unknown that nothing determines

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
    for (size_t i = j + 1; i < n; ++i) {
      double sum = factor_.At(i, j);
      for (size_t k = 0; k < j; ++k) sum -= factor_.At(i, k) * factor_.At(j, k);
      factor_.At(i, j) = sum / pivot;
    }
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

SymmetricMatrix Cholesky::Inverse() const {
  const size_t n = factor_.size();
  SymmetricMatrix out(n);
  for (size_t c = 0; c < n; ++c) {
    std::vector<double> unit(n);
    unit[c] = 1;
    const std::vector<double> column = Solve(std::move(unit));
    for (size_t r = 0; r < n; ++r) out.At(r, c) = column[r];
  }
  return out;
}

}  // namespace lockstep
