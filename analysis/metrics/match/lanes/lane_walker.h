// Walking one lane along another: the nearest ends, and the offset that follows them. Internal to comparing lanes.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
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
  // `predicted`: for this time; `residual`: what was found, less that.
  void Update(int64_t t_ns, double predicted, double residual);
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
      const double predicted = tracker.Predict(a_[index].end_ns);
      const Step step = Nearest(index, predicted, near);
      if (step.distance_ns < cap_ns_) {
        const double found = static_cast<double>(a_[index].end_ns - b_[step.j].end_ns);
        tracker.Update(a_[index].end_ns, predicted, found - predicted);
      }
      if (!visit(step, tracker)) return;
    }
  }

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

// Where one lane may lie against another: the offsets at which the ends around a probe come close.
class OffsetSearch {
 public:
  OffsetSearch(const std::vector<LaneEvent>& a, const std::vector<LaneEvent>& b, int64_t cap_ns);

  struct Candidate {
    double score = 0;
    int64_t offset = 0;
    size_t probe = 0;
  };

  struct Question {
    size_t probe = 0;
    int64_t expected_ns = 0;
    int64_t reach_ns = 0;
    size_t limit = 1;                                       // so many are asked for, ...
    double most = std::numeric_limits<double>::infinity();  // ... that score no more than this
  };
  // The best of the promising offsets at a probe, best first, each at least kOtherShiftNs from the others.
  [[nodiscard]] std::vector<Candidate> Finalists(const Question& question) const;

 private:
  // What the walks need of the events, without the rest: most walks end after a few of them.
  struct Ends {
    explicit Ends(const std::vector<LaneEvent>& lane);
    std::vector<int64_t> end_ns;
    std::vector<uint32_t> kind;
  };
  struct Nearest {
    int64_t distance_ns = 0;  // capped
    size_t at = 0;            // place in b
  };

  // The first of them that are at least kOtherShiftNs from each other.
  [[nodiscard]] static std::vector<Candidate> Apart(const std::vector<Candidate>& best_first, size_t limit);
  // Much closer than by chance, on average.
  [[nodiscard]] bool Promising(double sum, int64_t seen) const;
  // Mean capped distance of the events around a probe; no longer sought where it cannot be promising, or is certainly
  // more than `most`: then any number that is neither.
  [[nodiscard]] double LocalScore(size_t probe, int64_t offset, size_t near, double most) const;
  // Those that score no more than `bound`; if it may fall, it does to the score of the last one found so far.
  [[nodiscard]] std::vector<Candidate> Within(const Question& question, double& bound, bool may_fall) const;
  [[nodiscard]] Nearest NearestTo(int64_t want_ns, uint32_t kind, size_t& near) const;
  [[nodiscard]] size_t FirstEndFrom(int64_t t_ns, size_t near) const;

  Ends a_;
  Ends b_;
  bool one_kind_;  // all events of both
  int64_t cap_ns_;
};

// As std::llround.
[[nodiscard]] inline int64_t RoundToNs(double value) {
  constexpr double kExact = 4503599627370496.0;  // 2^52: below, what is cut off is known exactly
  if (!(value > -kExact && value < kExact)) return std::llround(value);
  const auto whole = static_cast<int64_t>(value);
  const double rest = value - static_cast<double>(whole);
  return whole + (rest >= 0.5 ? 1 : 0) - (rest <= -0.5 ? 1 : 0);
}

// How two events lie against each other on the clocks of their domains.
[[nodiscard]] EndDistance DistanceOf(const LaneEvent& a, const LaneEvent& b);

}  // namespace lockstep
