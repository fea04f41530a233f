// Small symmetric positive definite systems, dense. Pure; cost of order n^3.
#pragma once

#include <cstddef>
#include <vector>

namespace lockstep {

class SymmetricMatrix {
 public:
  explicit SymmetricMatrix(size_t size) : size_(size), cells_(size * size) {}
  [[nodiscard]] size_t size() const { return size_; }
  double& At(size_t row, size_t column) { return cells_[row * size_ + column]; }
  [[nodiscard]] double At(size_t row, size_t column) const { return cells_[row * size_ + column]; }
  // weight * (e_i - e_j)(e_i - e_j)^T: one measured difference.
  void AddDifference(size_t i, size_t j, double weight);

 private:
  size_t size_;
  std::vector<double> cells_;
};

// Cholesky factor in the lower triangle. A pivot that is not positive is taken for a free unknown, solved as 0.
class Cholesky {
 public:
  explicit Cholesky(SymmetricMatrix matrix);
  [[nodiscard]] std::vector<double> Solve(std::vector<double> right) const;
  [[nodiscard]] SymmetricMatrix Inverse() const;

 private:
  SymmetricMatrix factor_;
};

}  // namespace lockstep
