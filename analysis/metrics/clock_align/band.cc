#include "analysis/metrics/clock_align/band.h"

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

constexpr int kSearchRounds = 60;
constexpr double kGolden = 0.6180339887498949;

double Cross(const Sample& o, const Sample& a, const Sample& b) {
  return (a.t - o.t) * (b.y - o.y) - (a.y - o.y) * (b.t - o.t);
}

// Of a concave function over [low, high].
template <typename Function>
double ArgMax(double low, double high, const Function& f) {
  double a = high - kGolden * (high - low);
  double b = low + kGolden * (high - low);
  double fa = f(a);
  double fb = f(b);
  for (int i = 0; i < kSearchRounds; ++i) {
    if (fa < fb) {
      low = a;
      a = b;
      fa = fb;
      b = low + kGolden * (high - low);
      fb = f(b);
    } else {
      high = b;
      b = a;
      fb = fa;
      a = high - kGolden * (high - low);
      fa = f(a);
    }
  }
  return fa < fb ? b : a;
}

// Where f, positive at `inside`, turns negative on the way to `outside`; on the outer side of the root.
template <typename Function>
double OuterRoot(double inside, double outside, const Function& f) {
  if (f(outside) >= 0) return outside;
  for (int i = 0; i < kSearchRounds; ++i) {
    const double middle = (inside + outside) / 2;
    (f(middle) >= 0 ? inside : outside) = middle;
  }
  return outside;
}

}  // namespace

void HalfHull::Add(Sample point) {
  point.y *= sign_;
  while (points_.size() >= 2 && Cross(points_[points_.size() - 2], points_.back(), point) <= 0) points_.pop_back();
  if (!points_.empty() && points_.back().t == point.t) {
    if (points_.back().y <= point.y) return;
    points_.pop_back();
    while (points_.size() >= 2 && Cross(points_[points_.size() - 2], points_.back(), point) <= 0) points_.pop_back();
  }
  points_.push_back(point);
}

void HalfHull::Merge(const HalfHull& other) {
  std::vector<Sample> all = points_;
  all.insert(all.end(), other.points_.begin(), other.points_.end());
  std::sort(all.begin(), all.end(), [](const Sample& a, const Sample& b) { return a.t < b.t; });
  points_.clear();
  for (const Sample& p : all) Add({p.t, p.y * sign_});
}

double HalfHull::Bound(double slope, double t_star, double wander) const {
  double least = INFINITY;
  for (const Sample& p : points_) {
    const double away = p.t - t_star;
    least = std::min(least, p.y - sign_ * slope * away + wander * std::abs(away));
  }
  return sign_ * least;
}

std::optional<BandAt> EvaluateBand(const HalfHull& upper, const HalfHull& lower, const BandQuery& query) {
  if (upper.empty() || lower.empty()) return std::nullopt;
  const auto high = [&](double slope) { return upper.Bound(slope, query.t_star, query.wander); };
  const auto low = [&](double slope) { return lower.Bound(slope, query.t_star, query.wander); };
  BandAt out;
  const auto margin = [&](double slope) { return high(slope) - low(slope); };
  out.slope = ArgMax(-query.max_slope, query.max_slope, margin);
  const double width = margin(out.slope);
  out.centre = (high(out.slope) + low(out.slope)) / 2;
  out.repair = std::max(0.0, -width / 2);
  const auto room = [&](double slope) { return margin(slope) + 2 * out.repair + 1; };
  const double from = OuterRoot(out.slope, -query.max_slope, room);
  const double to = OuterRoot(out.slope, query.max_slope, room);
  out.hi = high(ArgMax(from, to, high)) + out.repair;
  out.lo = low(ArgMax(from, to, [&](double slope) { return -low(slope); })) - out.repair;
  return out;
}

}  // namespace lockstep
