#include "analysis/metrics/match/lanes/lane_shift.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "analysis/metrics/match/lanes/lane_walker.h"
#include "analysis/metrics/match/order_score.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr size_t kProbes = 5;
constexpr size_t kFinalists = 3;     // per probe
constexpr size_t kMaxSteps = 6'000;  // ends looked at by a full walk
constexpr size_t kLostLock = 12;     // misses in a row
constexpr int64_t kJumpReachNs = 6'000'000;
constexpr int64_t kMinShiftPairs = 6;
constexpr size_t kKnots = 64;
constexpr size_t kWindowPoints = 25;
constexpr double kMinShiftExponent = 40;
// Of lanes of which every event is paired, where nothing else can be meant.
constexpr double kMinWholeExponent = 14;
constexpr int64_t kMinWholePairs = 7;
constexpr double kMinLooseExponent = 60;      // where the ends lie less closely than those of collectives usually do:
constexpr int64_t kUsualDeviationNs = 1'300;  // lanes that run on their own may come that close, somewhere
constexpr size_t kMaxJumps = 2;               // a lane that must be sought anew all the time runs on its own
constexpr double kMinShiftCoverage = 0.9;
constexpr size_t kCompared = 64;  // places where two walks are compared

// A candidate followed over both lanes.
class FullWalk {
 public:
  FullWalk(const LaneWalker& walker, const OffsetSearch& search, const OffsetSearch::Candidate& candidate)
      : walker_(walker), search_(search) {
    const size_t n = walker.a().size();
    const auto stride = static_cast<std::ptrdiff_t>(std::max<size_t>(1, n / kMaxSteps));
    Follow(candidate, -stride);
    std::reverse(steps_.begin(), steps_.end());
    Follow(candidate, stride);
  }

  // All but the knots and the wander.
  [[nodiscard]] LaneShift Summarise(int64_t tick_ns) const {
    LaneShift out;
    std::vector<int64_t> distances;
    for (const LaneWalker::Step& step : steps_) {
      if (step.in_window) distances.push_back(step.distance_ns);
    }
    out.pairs = static_cast<int64_t>(distances.size());
    out.deviation_ns = std::max(tick_ns, UpperMedian(distances));
    const int64_t close = std::max<int64_t>(10'000, 6 * out.deviation_ns);
    const int64_t slack = 2 * tick_ns + std::min<int64_t>(10'000, 3 * out.deviation_ns);
    int64_t matched = 0;
    int64_t common = 0;
    for (const LaneWalker::Step& step : steps_) {
      if (!step.in_window || step.distance_ns >= std::min(close, walker_.cap_ns())) continue;
      ++matched;
      common += HasCommonPoint(step, slack) ? 1 : 0;
    }
    if (matched > 0) out.common_rate = static_cast<double>(common) / static_cast<double>(matched);
    if (out.pairs > 0) out.coverage = static_cast<double>(matched) / static_cast<double>(out.pairs);
    out.jumps = jumps_;
    return out;
  }

  // What only the best of several walks is asked for.
  void Complete(LaneShift& out) const {
    out.end_wander = MeasureEndWander(Distances());
    MakeKnots(out);
  }

  [[nodiscard]] double OffsetAt(int64_t t_ns) const {
    const auto after = std::partition_point(steps_.begin(), steps_.end(),
                                            [&](const LaneWalker::Step& step) { return TimeOf(step) < t_ns; });
    if (after == steps_.begin()) return steps_.empty() ? 0 : after->offset;
    const auto before = std::prev(after);
    if (after == steps_.end() || t_ns - TimeOf(*before) <= TimeOf(*after) - t_ns) return before->offset;
    return after->offset;
  }

  // Whether it comes to the offsets of another one for most of the lanes.
  [[nodiscard]] bool EndsUpAs(const FullWalk& other) const {
    const size_t stride = std::max<size_t>(1, steps_.size() / kCompared);
    size_t seen = 0;
    size_t alike = 0;
    for (size_t n = 0; n < steps_.size(); n += stride) {
      if (!steps_[n].in_window) continue;
      ++seen;
      const double apart = std::abs(steps_[n].offset - other.OffsetAt(TimeOf(steps_[n])));
      alike += apart < static_cast<double>(kOtherShiftNs) ? 1 : 0;
    }
    return 2 * alike > seen;
  }

 private:
  [[nodiscard]] int64_t TimeOf(const LaneWalker::Step& step) const { return walker_.a()[step.i].end_ns; }

  [[nodiscard]] bool HasCommonPoint(const LaneWalker::Step& step, int64_t slack) const {
    const LaneEvent& x = walker_.a()[step.i];
    const LaneEvent& y = walker_.b()[step.j];
    const int64_t offset = std::llround(step.offset);
    return std::max(x.start_ns, y.start_ns + offset) <= std::min(x.end_ns, y.end_ns + offset) + slack;
  }

  void Follow(const OffsetSearch::Candidate& candidate, std::ptrdiff_t stride) {
    OffsetTracker tracker{static_cast<double>(candidate.offset), 0, walker_.a()[candidate.probe].end_ns, 0};
    size_t from = candidate.probe;
    if (stride > 0) from += static_cast<size_t>(stride);
    size_t patience = kLostLock;
    while (from < walker_.a().size()) {
      size_t misses = 0;
      std::optional<size_t> lost;
      walker_.Walk(from, stride, walker_.a().size(), walker_.b().size() / 2, tracker,
                   [&](const LaneWalker::Step& step, const OffsetTracker& now) {
                     steps_.push_back(step);
                     steps_.back().offset = now.Predict(walker_.a()[step.i].end_ns);
                     misses = step.in_window && step.distance_ns >= walker_.cap_ns() ? misses + 1 : 0;
                     if (misses >= patience) lost = step.i;
                     return !lost;
                   });
      if (!lost) return;
      const bool found = Relock(*lost, patience, tracker);
      patience = found ? kLostLock : 2 * patience;
      from = static_cast<size_t>(static_cast<std::ptrdiff_t>(*lost) + stride);
    }
  }

  // The clock may have been stepped: seeks the offset anew where the lock was lost, and walks the misses again with it.
  bool Relock(size_t at, size_t misses, OffsetTracker& tracker) {
    const int64_t t = walker_.a()[at].end_ns;
    const int64_t expected = std::llround(tracker.Predict(t));
    const double most = static_cast<double>(walker_.cap_ns()) / 4;
    const auto finalists = search_.Finalists({at, expected, kJumpReachNs, 1, most});
    if (finalists.empty()) return false;
    tracker = {static_cast<double>(finalists.front().offset), 0, t, 0};
    ++jumps_;
    size_t near = 0;
    for (size_t n = steps_.size() - std::min(misses, steps_.size()); n < steps_.size(); ++n) {
      steps_[n] = walker_.Nearest(steps_[n].i, tracker.offset, near);
    }
    return true;
  }

  [[nodiscard]] std::vector<EndDistance> Distances() const {
    std::vector<EndDistance> out;
    for (const LaneWalker::Step& step : steps_) {
      if (!step.in_window || step.distance_ns >= walker_.cap_ns()) continue;
      out.push_back(DistanceOf(walker_.a()[step.i], walker_.b()[step.j]));
    }
    return out;
  }

  struct Point {
    int64_t t_ns = 0;
    double offset = 0;
  };

  // The close pairs, cut where the offset jumps.
  [[nodiscard]] std::vector<std::vector<Point>> Segments() const {
    std::vector<std::vector<Point>> out(1);
    for (size_t n = 0; n < steps_.size(); ++n) {
      const bool jump = n > 0 && std::abs(steps_[n].offset - steps_[n - 1].offset) > static_cast<double>(kOtherShiftNs);
      if (jump && !out.back().empty()) out.emplace_back();
      if (steps_[n].distance_ns >= walker_.cap_ns()) continue;
      const LaneEvent& x = walker_.a()[steps_[n].i];
      out.back().push_back({x.end_ns, static_cast<double>(x.end_ns - walker_.b()[steps_[n].j].end_ns)});
    }
    if (out.back().empty()) out.pop_back();
    return out;
  }

  // Least squares through points around their first one, far ones left out in a second round: {offset, rate}.
  static std::pair<double, double> Line(const std::vector<Point>& points) {
    std::pair<double, double> line{points.front().offset, 0};
    double limit = 0;
    for (int round = 0; round < 3; ++round) {
      double n = 0, t = 0, y = 0, tt = 0, ty = 0;
      for (const Point& p : points) {
        const auto x = static_cast<double>(p.t_ns - points.front().t_ns);
        const double r = std::abs(p.offset - line.first - line.second * x);
        if (round > 0 && r > limit) continue;
        n += 1;
        t += x;
        y += p.offset - points.front().offset;
        tt += x * x;
        ty += x * (p.offset - points.front().offset);
      }
      if (round > 0) {
        const double spread = n * tt - t * t;
        line.second = spread > 0 ? (n * ty - t * y) / spread : 0;
        line.first = points.front().offset + (y - line.second * t) / std::max(1.0, n);
        limit = 6 * static_cast<double>(Distance(points, line)) + 500;
      } else {
        limit = std::numeric_limits<double>::max();
      }
    }
    return line;
  }

  static int64_t Distance(const std::vector<Point>& points, const std::pair<double, double>& line) {
    std::vector<int64_t> out;
    for (const Point& p : points) {
      out.push_back(std::llround(
          std::abs(p.offset - line.first - line.second * static_cast<double>(p.t_ns - points.front().t_ns))));
    }
    return UpperMedian(std::move(out));
  }

  // A line, and how the middle of every kWindowPoints points deviates from it.
  void MakeKnots(LaneShift& out) const {
    for (const std::vector<Point>& points : Segments()) {
      const auto line = Line(points);
      const size_t windows = std::clamp<size_t>(points.size() / kWindowPoints, 1, kKnots);
      for (size_t w = 0; w < windows; ++w) {
        const size_t first = points.size() * w / windows;
        const size_t last = points.size() * (w + 1) / windows;
        std::vector<int64_t> residuals;
        for (size_t n = first; n < last; ++n) {
          const auto x = static_cast<double>(points[n].t_ns - points.front().t_ns);
          residuals.push_back(std::llround(points[n].offset - line.first - line.second * x));
        }
        const int64_t middle = UpperMedian(std::move(residuals));
        const auto knot = [&](int64_t t) {
          const auto x = static_cast<double>(t - points.front().t_ns);
          out.knots.push_back({t, middle + std::llround(line.first + line.second * x)});
        };
        if (w == 0) knot(points.front().t_ns);
        knot(points[(first + last) / 2].t_ns);
        if (w + 1 == windows) knot(points.back().t_ns);
      }
    }
  }

  const LaneWalker& walker_;
  const OffsetSearch& search_;
  std::vector<LaneWalker::Step> steps_;  // ascending
  size_t jumps_ = 0;
};

struct Tried {
  FullWalk walk;
  LaneShift shift;
  double middle = 0;  // offset at one common time
};

double ScoreOf(const LaneShift& s) { return static_cast<double>(s.deviation_ns) / std::max(0.05, s.coverage); }

// The one whose ends lie closest, but one with fewer jumps to about the same if it explains the ends about as well: in
// a stretch of even distances a jump to a neighbour and back is no worse.
const Tried& BestOf(const std::vector<Tried>& tried) {
  constexpr double kAboutAsWell = 1.25;
  const Tried& closest = *std::min_element(
      tried.begin(), tried.end(), [](const Tried& x, const Tried& y) { return ScoreOf(x.shift) < ScoreOf(y.shift); });
  const Tried* out = &closest;
  for (const Tried& t : tried) {
    const bool simpler = std::pair(t.shift.jumps, ScoreOf(t.shift)) < std::pair(out->shift.jumps, ScoreOf(out->shift));
    if (!simpler || ScoreOf(t.shift) > kAboutAsWell * ScoreOf(closest.shift)) continue;
    if (t.walk.EndsUpAs(closest.walk)) out = &t;
  }
  return *out;
}

// Whether it speaks for another shift: not if it needed a jump to come to most of what the best one is throughout.
bool IsOther(const Tried& t, const Tried& best) {
  if (std::abs(t.middle - best.middle) < static_cast<double>(kOtherShiftNs)) return false;
  return best.shift.jumps > 0 || t.shift.jumps == 0 || !t.walk.EndsUpAs(best.walk);
}

std::vector<size_t> ProbesOf(const std::vector<LaneEvent>& a, const std::vector<LaneEvent>& b, int64_t expected_ns,
                             int64_t reach_ns) {
  const auto before = [](const LaneEvent& e, int64_t t) { return e.end_ns < t; };
  const int64_t slack = std::min<int64_t>(reach_ns, 100'000'000);
  auto first = std::lower_bound(a.begin(), a.end(), b.front().end_ns + expected_ns - slack, before);
  auto last = std::lower_bound(a.begin(), a.end(), b.back().end_ns + expected_ns + slack, before);
  std::vector<size_t> out;
  const auto n = last - first;
  for (size_t p = 0; n > 0 && p < kProbes; ++p) {
    // Irregular positions, so that not every probe falls on a lost event of a period.
    const auto at = first + std::min<std::ptrdiff_t>(n - 1, n * static_cast<std::ptrdiff_t>(2 * p + 1) / 10 +
                                                                static_cast<std::ptrdiff_t>(p * p % 7));
    out.push_back(static_cast<size_t>(at - a.begin()));
  }
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

std::optional<LaneShift> FindLaneShift(const std::vector<LaneEvent>& a, const std::vector<LaneEvent>& b,
                                       const ShiftQuestion& question) {
  if (std::min(a.size(), b.size()) < static_cast<size_t>(kMinShiftPairs)) return std::nullopt;
  const LaneWalker walker(a, b, question.cap_ns > 0 ? question.cap_ns : std::max(CapOf(a), CapOf(b)));
  const OffsetSearch search(a, b, walker.cap_ns());
  const int64_t middle = a[a.size() / 2].end_ns;
  std::vector<Tried> tried;
  for (const size_t probe : ProbesOf(a, b, question.expected_ns, question.reach_ns)) {
    for (const OffsetSearch::Candidate& c :
         search.Finalists({probe, question.expected_ns, question.reach_ns, kFinalists})) {
      FullWalk walk(walker, search, c);
      LaneShift shift = walk.Summarise(question.tick_ns);
      if (shift.pairs < kMinShiftPairs) continue;
      const double at_middle = walk.OffsetAt(middle);
      tried.push_back({std::move(walk), std::move(shift), at_middle});
    }
  }
  if (tried.empty()) return std::nullopt;
  const Tried& best = BestOf(tried);
  int64_t second = walker.cap_ns();
  for (const Tried& t : tried) {
    if (IsOther(t, best)) second = std::min(second, t.shift.deviation_ns);
  }
  LaneShift out = best.shift;
  best.walk.Complete(out);
  const double effective = std::min(120.0, static_cast<double>(out.pairs) / 2);
  out.exponent = effective * std::log(static_cast<double>(second) / static_cast<double>(out.deviation_ns));
  const bool whole = question.sole && out.pairs >= kMinWholePairs && out.coverage >= 1 && out.common_rate >= 1 &&
                     out.pairs + 1 >= static_cast<int64_t>(std::max(a.size(), b.size()));
  const double needed = whole                                   ? kMinWholeExponent
                        : out.deviation_ns <= kUsualDeviationNs ? kMinShiftExponent
                                                                : kMinLooseExponent;
  out.accepted = out.jumps <= kMaxJumps && out.exponent >= needed && out.coverage >= kMinShiftCoverage &&
                 out.common_rate >= kMinCommonRate;
  return out;
}

}  // namespace lockstep
