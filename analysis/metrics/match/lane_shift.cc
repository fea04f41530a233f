#include "analysis/metrics/match/lane_shift.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <utility>

#include "analysis/metrics/match/order_score.h"

namespace lockstep {
namespace {

constexpr size_t kProbes = 5;
constexpr size_t kLocalEvents = 24;  // on either side of a probe
constexpr int64_t kFirstLook = 8;
constexpr double kPromisingPart = 0.3;
constexpr size_t kFinalists = 3;     // per probe
constexpr size_t kMaxSteps = 6'000;  // ends looked at by a full walk
constexpr size_t kLostLock = 12;     // misses in a row
constexpr int64_t kHole = 100;       // a gap of this many caps: b recorded nothing there
constexpr int64_t kJumpReachNs = 6'000'000;
constexpr int64_t kMinPairs = 6;
constexpr size_t kKnots = 64;
constexpr size_t kWindowPoints = 25;
constexpr int64_t kOtherShiftNs = 60'000;  // candidates closer than this are one
constexpr double kMinShiftExponent = 40;
// Of lanes of which every event is paired, where nothing else can be meant.
constexpr double kMinWholeExponent = 14;
constexpr int64_t kMinWholePairs = 7;
constexpr int64_t kCentredNs = 2'000;
constexpr double kMinLooseExponent = 60;      // where the ends lie less closely than those of collectives usually do:
constexpr int64_t kUsualDeviationNs = 1'300;  // lanes that run on their own may come that close, somewhere
constexpr size_t kMaxJumps = 2;               // a lane that must be sought anew all the time runs on its own
constexpr double kMinCoverage = 0.9;
constexpr size_t kTellingPairs = 12;  // of one kind: its ends may lie closer than those of others

// Follows the offset by second-order tracking.
struct Tracker {
  double offset = 0;
  double rate = 0;  // ns per ns
  int64_t at_ns = 0;
  int steps = 0;

  [[nodiscard]] double Predict(int64_t t_ns) const { return offset + rate * static_cast<double>(t_ns - at_ns); }
  void Update(int64_t t_ns, double residual) {
    constexpr double kGain = 0.2;
    constexpr double kRateGain = 0.02;
    constexpr double kMaxRate = 2e-4;
    constexpr double kRateSpanNs = 2e7;  // ends closer than this say little of the rate
    const double elapsed = std::max(kRateSpanNs, static_cast<double>(std::abs(t_ns - at_ns)));
    offset = Predict(t_ns) + kGain * residual;
    if (++steps > 8) {
      const double sign = t_ns >= at_ns ? 1 : -1;
      rate = std::clamp(rate + sign * kRateGain * residual / elapsed, -kMaxRate, kMaxRate);
    }
    at_ns = t_ns;
  }
};

// One lane walked along another.
class Walker {
 public:
  Walker(const std::vector<LaneEvent>& a, const std::vector<LaneEvent>& b, int64_t cap_ns)
      : a_(a), b_(b), cap_ns_(cap_ns) {}

  struct Step {
    size_t i = 0;
    size_t j = 0;
    double offset = 0;
    int64_t distance_ns = 0;  // capped
    bool in_window = false;   // b runs there
  };

  // Nearest end of the same kind; cap if there is none.
  [[nodiscard]] Step Nearest(size_t i, double offset) const {
    const int64_t want = a_[i].end_ns - std::llround(offset);
    Step step{i, 0, offset, cap_ns_, want >= b_.front().start_ns && want <= b_.back().end_ns};
    const auto at =
        std::lower_bound(b_.begin(), b_.end(), want, [](const LaneEvent& e, int64_t t) { return e.end_ns < t; });
    for (auto right = at; right != b_.end() && right->end_ns - want < step.distance_ns; ++right) {
      if (right->kind != a_[i].kind) continue;
      step.distance_ns = right->end_ns - want;
      step.j = static_cast<size_t>(right - b_.begin());
    }
    for (auto left = at; left != b_.begin() && want - std::prev(left)->end_ns < step.distance_ns; --left) {
      if (std::prev(left)->kind != a_[i].kind) continue;
      step.distance_ns = want - std::prev(left)->end_ns;
      step.j = static_cast<size_t>(std::prev(left) - b_.begin());
    }
    const bool hole = at != b_.begin() && at != b_.end() && at->end_ns - std::prev(at)->end_ns > kHole * cap_ns_;
    if (hole && step.distance_ns >= cap_ns_) step.in_window = false;
    return step;
  }

  // Visits `count` events from `from` on in `stride`s (backwards if negative) and follows the offset.
  template <typename Visit>
  void Walk(size_t from, std::ptrdiff_t stride, size_t count, Tracker& tracker, const Visit& visit) const {
    auto i = static_cast<std::ptrdiff_t>(from);
    for (size_t n = 0; n < count && i >= 0 && i < static_cast<std::ptrdiff_t>(a_.size()); ++n, i += stride) {
      const auto index = static_cast<size_t>(i);
      const Step step = Nearest(index, tracker.Predict(a_[index].end_ns));
      if (step.distance_ns < cap_ns_) {
        const double found = static_cast<double>(a_[index].end_ns - b_[step.j].end_ns);
        tracker.Update(a_[index].end_ns, found - tracker.Predict(a_[index].end_ns));
      }
      if (!visit(step, tracker)) return;
    }
  }

  // Much closer than by chance, on average.
  [[nodiscard]] bool Promising(double sum, int64_t seen) const {
    return sum < kPromisingPart * static_cast<double>(seen * cap_ns_);
  }

  // Mean capped distance of the events around a probe.
  [[nodiscard]] double LocalScore(size_t probe, int64_t offset) const {
    double sum = 0;
    int64_t seen = 0;
    const auto visit = [&](const Step& step, const Tracker&) {
      sum += static_cast<double>(step.distance_ns);
      ++seen;
      return seen != kFirstLook || Promising(sum, seen);
    };
    for (const std::ptrdiff_t direction : {1, -1}) {
      if (seen > 0 && !Promising(sum, seen)) break;
      Tracker tracker{static_cast<double>(offset), 0, a_[probe].end_ns, 0};
      Walk(probe, direction, kLocalEvents, tracker, visit);
    }
    return seen == 0 ? static_cast<double>(cap_ns_) : sum / static_cast<double>(seen);
  }

  struct Candidate {
    double score = 0;
    int64_t offset = 0;
    size_t probe = 0;
  };

  // The best offsets at a probe, best first, each at least kOtherShiftNs from the others.
  [[nodiscard]] std::vector<Candidate> Finalists(size_t probe, int64_t expected_ns, int64_t reach_ns,
                                                 size_t limit) const {
    std::vector<Candidate> all;
    const int64_t first = a_[probe].end_ns - expected_ns - reach_ns;
    auto at = std::lower_bound(b_.begin(), b_.end(), first, [](const LaneEvent& e, int64_t t) { return e.end_ns < t; });
    for (; at != b_.end() && at->end_ns <= first + 2 * reach_ns; ++at) {
      if (at->kind != a_[probe].kind) continue;
      const int64_t offset = a_[probe].end_ns - at->end_ns;
      all.push_back({LocalScore(probe, offset), offset, probe});
    }
    std::stable_sort(all.begin(), all.end(), [](const Candidate& x, const Candidate& y) { return x.score < y.score; });
    std::vector<Candidate> out;
    for (const Candidate& c : all) {
      if (out.size() >= limit) break;
      const bool known = std::any_of(out.begin(), out.end(),
                                     [&](const Candidate& o) { return std::abs(o.offset - c.offset) < kOtherShiftNs; });
      if (!known) out.push_back(c);
    }
    return out;
  }

  [[nodiscard]] int64_t cap_ns() const { return cap_ns_; }
  [[nodiscard]] const std::vector<LaneEvent>& a() const { return a_; }
  [[nodiscard]] const std::vector<LaneEvent>& b() const { return b_; }

 private:
  const std::vector<LaneEvent>& a_;
  const std::vector<LaneEvent>& b_;
  int64_t cap_ns_;
};

// A candidate followed over both lanes.
class FullWalk {
 public:
  FullWalk(const Walker& walker, const Walker::Candidate& candidate) : walker_(walker) {
    const size_t n = walker.a().size();
    const auto stride = static_cast<std::ptrdiff_t>(std::max<size_t>(1, n / kMaxSteps));
    Follow(candidate, -stride);
    std::reverse(steps_.begin(), steps_.end());
    Follow(candidate, stride);
  }

  [[nodiscard]] LaneShift Summarise(int64_t tick_ns) const {
    LaneShift out;
    std::vector<int64_t> distances;
    for (const Walker::Step& step : steps_) {
      if (step.in_window) distances.push_back(step.distance_ns);
    }
    out.pairs = static_cast<int64_t>(distances.size());
    out.deviation_ns = std::max(tick_ns, UpperMedian(distances));
    const int64_t close = std::max<int64_t>(10'000, 6 * out.deviation_ns);
    const int64_t slack = 2 * tick_ns + std::min<int64_t>(10'000, 3 * out.deviation_ns);
    int64_t matched = 0;
    int64_t common = 0;
    for (const Walker::Step& step : steps_) {
      if (!step.in_window || step.distance_ns >= std::min(close, walker_.cap_ns())) continue;
      ++matched;
      common += HasCommonPoint(step, slack) ? 1 : 0;
    }
    if (matched > 0) out.common_rate = static_cast<double>(common) / static_cast<double>(matched);
    if (out.pairs > 0) out.coverage = static_cast<double>(matched) / static_cast<double>(out.pairs);
    MakeKnots(out);
    out.jumps = jumps_;
    return out;
  }

  [[nodiscard]] double OffsetAt(int64_t t_ns) const {
    double best = 0;
    int64_t nearest = INT64_MAX;
    for (const Walker::Step& step : steps_) {
      const int64_t distance = std::abs(walker_.a()[step.i].end_ns - t_ns);
      if (distance >= nearest) continue;
      nearest = distance;
      best = step.offset;
    }
    return best;
  }

 private:
  [[nodiscard]] bool HasCommonPoint(const Walker::Step& step, int64_t slack) const {
    const LaneEvent& x = walker_.a()[step.i];
    const LaneEvent& y = walker_.b()[step.j];
    const int64_t offset = std::llround(step.offset);
    return std::max(x.start_ns, y.start_ns + offset) <= std::min(x.end_ns, y.end_ns + offset) + slack;
  }

  void Follow(const Walker::Candidate& candidate, std::ptrdiff_t stride) {
    Tracker tracker{static_cast<double>(candidate.offset), 0, walker_.a()[candidate.probe].end_ns, 0};
    size_t from = candidate.probe;
    if (stride > 0) from += static_cast<size_t>(stride);
    size_t patience = kLostLock;
    while (from < walker_.a().size()) {
      size_t misses = 0;
      std::optional<size_t> lost;
      walker_.Walk(from, stride, walker_.a().size(), tracker, [&](const Walker::Step& step, const Tracker& now) {
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
  bool Relock(size_t at, size_t misses, Tracker& tracker) {
    const int64_t t = walker_.a()[at].end_ns;
    const int64_t expected = std::llround(tracker.Predict(t));
    const auto finalists = walker_.Finalists(at, expected, kJumpReachNs, 1);
    if (finalists.empty() || 4 * finalists.front().score > static_cast<double>(walker_.cap_ns())) return false;
    tracker = {static_cast<double>(finalists.front().offset), 0, t, 0};
    ++jumps_;
    for (size_t n = steps_.size() - std::min(misses, steps_.size()); n < steps_.size(); ++n) {
      steps_[n] = walker_.Nearest(steps_[n].i, tracker.offset);
    }
    return true;
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

  const Walker& walker_;
  std::vector<Walker::Step> steps_;  // ascending
  size_t jumps_ = 0;
};

// A quarter of the usual distance between ends: what chance gives.
int64_t CapOf(const std::vector<LaneEvent>& lane) {
  std::vector<int64_t> gaps;
  for (size_t i = 1; i < lane.size(); ++i) gaps.push_back(lane[i].end_ns - lane[i - 1].end_ns);
  return std::clamp<int64_t>(UpperMedian(std::move(gaps)) / 4, 5'000, 2'000'000);
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

// Where the ends of one lane lie against those of another, and how closely.
struct EndScatter {
  int64_t centre_ns = 0;
  int64_t deviation_ns = 0;
};

EndScatter ScatterOf(const std::vector<int64_t>& residuals, int64_t uncertainty_ns) {
  const int64_t centre = std::clamp(UpperMedian(residuals), -uncertainty_ns, uncertainty_ns);
  std::vector<int64_t> distances;
  for (const int64_t r : residuals) distances.push_back(std::abs(r - centre));
  return {centre, UpperMedian(std::move(distances))};
}

// Of each kind that is seen often enough by itself, of the others as of all together.
std::map<uint32_t, EndScatter> ScatterByKind(const std::vector<LaneEvent>& a, const std::vector<Walker::Step>& steps,
                                             const std::vector<int64_t>& residuals, int64_t cap_ns,
                                             int64_t uncertainty_ns) {
  std::map<uint32_t, std::vector<int64_t>> by_kind;
  for (size_t n = 0; n < steps.size(); ++n) by_kind[a[steps[n].i].kind].push_back(residuals[n]);
  const EndScatter all = residuals.empty() ? EndScatter{0, cap_ns} : ScatterOf(residuals, uncertainty_ns);
  std::map<uint32_t, EndScatter> out;
  for (const auto& [kind, of_kind] : by_kind) {
    out[kind] = of_kind.size() >= kTellingPairs ? ScatterOf(of_kind, uncertainty_ns) : all;
  }
  return out;
}

// The ends of a, every stride-th, that have a close one in b at this offset.
struct CloseEnds {
  int64_t pairs = 0;  // looked at while b runs
  std::vector<Walker::Step> steps;
  std::vector<int64_t> residuals;
};

CloseEnds CloseEndsAt(const Walker& walker, const std::vector<LaneEvent>& a, const std::vector<LaneEvent>& b,
                      size_t stride, double offset) {
  CloseEnds out;
  for (size_t i = 0; i < a.size(); i += stride) {
    const Walker::Step step = walker.Nearest(i, offset);
    if (!step.in_window) continue;
    ++out.pairs;
    if (step.distance_ns >= walker.cap_ns()) continue;
    out.steps.push_back(step);
    out.residuals.push_back(a[i].end_ns - b[step.j].end_ns);
  }
  return out;
}

}  // namespace

std::optional<LaneShift> FindLaneShift(const std::vector<LaneEvent>& a, const std::vector<LaneEvent>& b,
                                       const ShiftQuestion& question) {
  if (a.size() < static_cast<size_t>(kMinPairs) || b.size() < static_cast<size_t>(kMinPairs)) return std::nullopt;
  const Walker walker(a, b, std::max(CapOf(a), CapOf(b)));
  struct Tried {
    LaneShift shift;
    double middle = 0;  // offset at one common time
  };
  const int64_t middle = a[a.size() / 2].end_ns;
  std::vector<Tried> tried;
  for (const size_t probe : ProbesOf(a, b, question.expected_ns, question.reach_ns)) {
    for (const Walker::Candidate& c : walker.Finalists(probe, question.expected_ns, question.reach_ns, kFinalists)) {
      if (!walker.Promising(c.score, 1)) break;
      const FullWalk walk(walker, c);
      tried.push_back({walk.Summarise(question.tick_ns), walk.OffsetAt(middle)});
    }
  }
  std::erase_if(tried, [](const Tried& t) { return t.shift.pairs < kMinPairs; });
  if (tried.empty()) return std::nullopt;
  const auto better = [](const Tried& x, const Tried& y) {
    const auto score = [](const LaneShift& s) {
      return static_cast<double>(s.deviation_ns) / std::max(0.05, s.coverage);
    };
    return score(x.shift) < score(y.shift);
  };
  const auto best = std::min_element(tried.begin(), tried.end(), better);
  int64_t second = walker.cap_ns();
  for (const Tried& t : tried) {
    if (std::abs(t.middle - best->middle) >= static_cast<double>(kOtherShiftNs)) {
      second = std::min(second, t.shift.deviation_ns);
    }
  }
  LaneShift out = best->shift;
  const double effective = std::min(120.0, static_cast<double>(out.pairs) / 2);
  out.exponent = effective * std::log(static_cast<double>(second) / static_cast<double>(out.deviation_ns));
  const bool whole = question.sole && out.pairs >= kMinWholePairs && out.coverage >= 1 && out.common_rate >= 1 &&
                     out.pairs + 1 >= static_cast<int64_t>(std::max(a.size(), b.size()));
  const double needed = whole                                   ? kMinWholeExponent
                        : out.deviation_ns <= kUsualDeviationNs ? kMinShiftExponent
                                                                : kMinLooseExponent;
  out.accepted = out.jumps <= kMaxJumps && out.exponent >= needed && out.coverage >= kMinCoverage &&
                 out.common_rate >= kMinCommonRate;
  return out;
}

std::optional<LaneShift> CompareLanes(const std::vector<LaneEvent>& a, const std::vector<LaneEvent>& b,
                                      int64_t uncertainty_ns, size_t sample, bool one_clock) {
  if (a.empty() || b.empty()) return std::nullopt;
  const int64_t cap = std::max(CapOf(a), CapOf(b));
  const Walker walker(a, b, cap);
  const size_t stride = std::max<size_t>(1, a.size() / std::max<size_t>(1, sample));
  CloseEnds ends = CloseEndsAt(walker, a, b, stride, 0);
  // A bias between devices of one clock moves some ends beyond the cap, or nearer to a neighbour: look again around the
  // centre.
  const int64_t centre = ends.residuals.empty() ? 0 : ScatterOf(ends.residuals, uncertainty_ns).centre_ns;
  if (one_clock && std::abs(centre) > kCentredNs) ends = CloseEndsAt(walker, a, b, stride, static_cast<double>(centre));
  const auto& [pairs, steps, residuals] = ends;
  LaneShift out;
  out.pairs = pairs;
  if (out.pairs == 0) return std::nullopt;
  const std::map<uint32_t, EndScatter> scatter = ScatterByKind(a, steps, residuals, cap, uncertainty_ns);
  EndScatter best{0, cap};
  for (const auto& [kind, s] : scatter) {
    if (s.deviation_ns < best.deviation_ns) best = s;
  }
  out.deviation_ns = best.deviation_ns;
  int64_t matched = 0;
  int64_t common = 0;
  for (size_t n = 0; n < steps.size(); ++n) {
    const LaneEvent& x = a[steps[n].i];
    const LaneEvent& y = b[steps[n].j];
    const EndScatter& usual = scatter.at(x.kind);
    if (std::abs(residuals[n] - usual.centre_ns) > std::max<int64_t>(10'000, 8 * usual.deviation_ns)) continue;
    const int64_t slack = 64 + std::min<int64_t>(5'000, 3 * usual.deviation_ns);
    const int64_t start = std::max(x.start_ns, y.start_ns + best.centre_ns);
    ++matched;
    common += start <= std::min(x.end_ns, y.end_ns + best.centre_ns) + slack ? 1 : 0;
  }
  out.coverage = static_cast<double>(matched) / static_cast<double>(out.pairs);
  out.common_rate = matched == 0 ? 0 : static_cast<double>(common) / static_cast<double>(matched);
  return out;
}

}  // namespace lockstep
