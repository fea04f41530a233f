// Values on their way into a sketch, which takes them many at a time (Sketch::AddAll): the result is the same, and
// until Flush the sketch lacks some. At most kMost values are held. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/stats/sketch.h"

namespace lockstep {

class SketchFeed {
 public:
  static constexpr size_t kMost = 128;

  // `value` >= 0. Always with the same sketch between two calls of Flush.
  void Add(int64_t value, Sketch& sketch) {
    if (values_.size() == kMost) Flush(sketch);
    values_.push_back(value);
  }
  void Flush(Sketch& sketch) {
    sketch.AddAll(values_);
    values_.clear();
  }
  [[nodiscard]] bool empty() const { return values_.empty(); }

 private:
  std::vector<int64_t> values_;
};

}  // namespace lockstep
