// Who starts last.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace lockstep {

// The latest of several starts, and by how much it is later than the next one: of a single one without end. Pure; ns.
class LatestStart {
 public:
  void Add(size_t member, double start) {
    if (start > latest_) {
      lead_ = start - latest_;
      latest_ = start;
      member_ = member;
    } else {
      lead_ = std::min(lead_, latest_ - start);
    }
  }
  [[nodiscard]] size_t member() const { return member_; }
  [[nodiscard]] double lead() const { return lead_; }

 private:
  double latest_ = -INFINITY;
  double lead_ = INFINITY;
  size_t member_ = 0;
};

}  // namespace lockstep
