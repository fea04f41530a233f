// Certified bounds of the difference of two clocks over time: the convex-hull method.
//
// Every bound holds for a difference that is linear in time within the points' span, and for one that bends by at most
// the wander given. Pure; times and values in ns.
#pragma once

#include <optional>
#include <vector>

#include "analysis/metrics/clock_align/robust.h"

namespace lockstep {

// Points that bound a line from one side; only those on the hull are kept. Points come in ascending t.
class HalfHull {
 public:
  explicit HalfHull(bool upper_bounds) : sign_(upper_bounds ? 1 : -1) {}
  void Add(Sample point);
  // All points of both, in any relation of their times.
  void Merge(const HalfHull& other);
  [[nodiscard]] bool empty() const { return points_.empty(); }
  // The tightest bound at t* of a line of this slope: least upper or greatest lower bound.
  [[nodiscard]] double Bound(double slope, double t_star, double wander) const;

 private:
  double sign_;
  std::vector<Sample> points_;  // values times sign
};

struct BandQuery {
  double t_star = 0;
  double max_slope = 1.2e-4;  // between two clocks
  double wander = 3e-7;       // ns of bend per ns away from t*
};

struct BandAt {
  double lo = 0;
  double hi = 0;
  double slope = 0;   // of the line with the widest margin
  double centre = 0;  // of that line at t*
  double repair = 0;  // > 0: no line fits; by so much every point was loosened before
};

// Null without points on both sides. One-sided bounds: see Bound.
[[nodiscard]] std::optional<BandAt> EvaluateBand(const HalfHull& upper, const HalfHull& lower, const BandQuery& query);

}  // namespace lockstep
