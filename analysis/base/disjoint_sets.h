// Sets of the numbers 0 .. n-1 that are joined two by two; each is named by its smallest number. Not thread safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace lockstep {

class DisjointSets {
 public:
  explicit DisjointSets(size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }

  void Join(size_t a, size_t b) {
    const size_t of_a = Find(a);
    const size_t of_b = Find(b);
    parent_[std::max(of_a, of_b)] = std::min(of_a, of_b);
  }

  [[nodiscard]] size_t Find(size_t a) {
    while (parent_[a] != a) a = parent_[a] = parent_[parent_[a]];
    return a;
  }

 private:
  std::vector<size_t> parent_;
};

}  // namespace lockstep
