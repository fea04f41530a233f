// Walking one lane along another: the nearest ends, and the offset that follows them. Internal to comparing lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/metrics/match/lanes/lane_shift.h"

namespace lockstep {

// Candidate offsets closer than this are one.
inline constexpr int64_t kOtherShiftNs = 60'000;

// Follows the offset by second-order tracking.
struct OffsetTracker {
  double offset = 0;
  double rate = 0;  // ns per ns
  int64_t at_ns = 0;
  int steps = 0;

  [[nodiscard]] double Predict(int64_t t_ns) const { return offset + rate * static_cast<double>(t_ns - at_ns); }
  void Update(int64_t t_ns, double residual);
};

// One lane walked along another; borrows both. Ends farther apart than `cap_ns` count as that far.
class LaneWalker {
 public:
  LaneWalker(const std::vector<LaneEvent>& a, const std::vector<LaneEvent>& b, int64_t cap_ns)
      : a_(a), b_(b), cap_ns_(cap_ns) {}

  struct Step {
    size_t i = 0;
    size_t j = 0;
    double offset = 0;
    int64_t distance_ns = 0;  // capped
    bool in_window = false;   // b runs there
  };

  // Nearest end of the same kind; cap if there is none. `near` is any place in b, at best close to it, and becomes the
  // first one that ends no sooner.
  [[nodiscard]] Step Nearest(size_t i, double offset, size_t& near) const;

  // Visits `count` events from `from` on in `stride`s (backwards if negative) and follows the offset. `near`: a place
  // in b, at best close to where the first one lies.
  template <typename Visit>
  void Walk(size_t from, std::ptrdiff_t stride, size_t count, size_t near, OffsetTracker& tracker,
            const Visit& visit) const {
    auto i = static_cast<std::ptrdiff_t>(from);
    for (size_t n = 0; n < count && i >= 0 && i < static_cast<std::ptrdiff_t>(a_.size()); ++n, i += stride) {
      const auto index = static_cast<size_t>(i);
      const Step step = Nearest(index, tracker.Predict(a_[index].end_ns), near);
      if (step.distance_ns < cap_ns_) {
        const double found = static_cast<double>(a_[index].end_ns - b_[step.j].end_ns);
        tracker.Update(a_[index].end_ns, found - tracker.Predict(a_[index].end_ns));
      }
      if (!visit(step, tracker)) return;
    }
  }

  // Much closer than by chance, on average.
  [[nodiscard]] bool Promising(double sum, int64_t seen) const;

  // Mean capped distance of the events around a probe; no longer sought where it cannot be promising.
  [[nodiscard]] double LocalScore(size_t probe, int64_t offset, size_t near) const;

  struct Candidate {
    double score = 0;
    int64_t offset = 0;
    size_t probe = 0;
  };

  // The best of the promising offsets at a probe, best first, each at least kOtherShiftNs from the others.
  [[nodiscard]] std::vector<Candidate> Finalists(size_t probe, int64_t expected_ns, int64_t reach_ns,
                                                 size_t limit) const;

  [[nodiscard]] int64_t cap_ns() const { return cap_ns_; }
  [[nodiscard]] const std::vector<LaneEvent>& a() const { return a_; }
  [[nodiscard]] const std::vector<LaneEvent>& b() const { return b_; }

 private:
  // The first event of b that ends no sooner, sought outwards from a place in doubling steps.
  [[nodiscard]] size_t FirstEndFrom(int64_t t_ns, size_t near) const;

  const std::vector<LaneEvent>& a_;
  const std::vector<LaneEvent>& b_;
  int64_t cap_ns_;
};

// How two events lie against each other on the clocks of their domains.
[[nodiscard]] EndDistance DistanceOf(const LaneEvent& a, const LaneEvent& b);

}  // namespace lockstep
