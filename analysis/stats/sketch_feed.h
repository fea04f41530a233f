// Values on their way into a sketch (a Sketch or a SignedSketch), which takes them many at a time (Sketch::AddAll): the
// result is the same, and until Flush the sketch lacks some. At most kMost values are held. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep {

class SketchFeed {
 public:
  static constexpr size_t kMost = 128;

  // `value`: as the sketch takes it. Always with the same sketch between two calls of Flush.
  template <typename Values>
  void Add(int64_t value, Values& sketch) {
    if (values_.size() == kMost) Flush(sketch);
    values_.push_back(value);
  }
  template <typename Values>
  void Flush(Values& sketch) {
    sketch.AddAll(values_);
    values_.clear();
  }
  [[nodiscard]] bool empty() const { return values_.empty(); }

 private:
  std::vector<int64_t> values_;
};

}  // namespace lockstep
