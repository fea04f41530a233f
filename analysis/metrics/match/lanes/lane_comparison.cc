// CompareLanes: how two lanes lie against each other on one clock.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "analysis/metrics/match/lanes/lane_walker.h"
#include "analysis/metrics/match/order_score.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr int64_t kCentredNs = 2'000;       // a centre nearer than this is none
constexpr size_t kTellingPairsOfKind = 12;  // of one kind: its ends may lie closer than those of others
constexpr int64_t kLaneHoleRows = 3;        // in a row that one lane has lost, at least
constexpr int kMaxLaneHoles = 2;            // more are no bursts: the lanes are of different communicators
constexpr size_t kFarLag = 8;               // pairs later a wandering distance is another one
constexpr size_t kMinLagged = 48;           // pairs that tell whether it wanders
constexpr double kWanderRatio = 1.5;        // of the change over kFarLag pairs to that over one, ...
constexpr double kWanderChance = 5;         // ... and what chance adds, times 1 / sqrt(pairs)

// Where the ends of one lane lie against those of another, and how closely.
struct EndScatter {
  int64_t centre_ns = 0;
  int64_t deviation_ns = 0;
};

int64_t CentreOfEnds(const std::vector<int64_t>& residuals, int64_t uncertainty_ns) {
  return std::clamp(UpperMedian(residuals), -uncertainty_ns, uncertainty_ns);
}

EndScatter EndScatterOf(const std::vector<int64_t>& residuals, int64_t uncertainty_ns) {
  const int64_t centre = CentreOfEnds(residuals, uncertainty_ns);
  std::vector<int64_t> distances;
  distances.reserve(residuals.size());
  for (const int64_t r : residuals) distances.push_back(std::abs(r - centre));
  return {centre, UpperMedian(std::move(distances))};
}

// Of each kind that is seen often enough by itself, of the others as of all together.
std::map<uint32_t, EndScatter> ScatterByKind(const std::vector<LaneEvent>& a,
                                             const std::vector<LaneWalker::Step>& steps,
                                             const std::vector<int64_t>& residuals, int64_t uncertainty_ns) {
  std::map<uint32_t, std::vector<int64_t>> by_kind;
  for (size_t n = 0; n < steps.size(); ++n) by_kind[a[steps[n].i].kind].push_back(residuals[n]);
  std::map<uint32_t, EndScatter> out;
  std::optional<EndScatter> all;
  for (const auto& [kind, of_kind] : by_kind) {
    if (of_kind.size() >= kTellingPairsOfKind) {
      out[kind] = EndScatterOf(of_kind, uncertainty_ns);
      continue;
    }
    if (!all) all = EndScatterOf(residuals, uncertainty_ns);
    out[kind] = *all;
  }
  return out;
}

// The ends of a, every stride-th, that have a close one in b at this offset.
struct CloseEnds {
  int64_t pairs = 0;  // looked at while b runs
  std::vector<LaneWalker::Step> steps;
  std::vector<int64_t> residuals;
};

// Rows of a in a row, without a close end, while b recorded nothing at all: b has lost a burst of rows there.
class Holes {
 public:
  Holes(const std::vector<LaneEvent>& a, const std::vector<LaneEvent>& b, int64_t cap_ns, double offset)
      : a_(a), b_(b), cap_ns_(cap_ns), offset_(std::llround(offset)) {}

  void Miss(size_t i) {
    if (run_++ == 0) first_ = i;
    last_ = i;
  }
  void Hit() {
    if (run_ >= kLaneHoleRows && IsEmpty(a_[first_].end_ns - offset_ - cap_ns_, a_[last_].end_ns - offset_ + cap_ns_)) {
      ++holes_;
      rows_ += run_;
    }
    run_ = 0;
  }
  // All holes together; 0 where there are too many to be bursts.
  [[nodiscard]] int64_t rows() const { return holes_ <= kMaxLaneHoles ? rows_ : 0; }

 private:
  [[nodiscard]] bool IsEmpty(int64_t from_ns, int64_t to_ns) const {
    const auto at =
        std::lower_bound(b_.begin(), b_.end(), from_ns, [](const LaneEvent& e, int64_t t) { return e.end_ns < t; });
    return at == b_.end() || at->end_ns > to_ns;
  }

  const std::vector<LaneEvent>& a_;
  const std::vector<LaneEvent>& b_;
  int64_t cap_ns_;
  int64_t offset_;
  int64_t run_ = 0;
  size_t first_ = 0;
  size_t last_ = 0;
  int holes_ = 0;
  int64_t rows_ = 0;
};

CloseEnds CloseEndsAt(const LaneWalker& walker, const std::vector<LaneEvent>& a, const std::vector<LaneEvent>& b,
                      size_t stride, double offset) {
  CloseEnds out;
  Holes holes(a, b, walker.cap_ns(), offset);
  size_t near = 0;
  out.steps.reserve(a.size() / stride + 1);
  out.residuals.reserve(a.size() / stride + 1);
  for (size_t i = 0; i < a.size(); i += stride) {
    const LaneWalker::Step step = walker.Nearest(i, offset, near);
    if (!step.in_window) continue;
    ++out.pairs;
    if (step.distance_ns >= walker.cap_ns()) {
      holes.Miss(i);
      continue;
    }
    holes.Hit();
    out.steps.push_back(step);
    out.residuals.push_back(a[i].end_ns - b[step.j].end_ns);
  }
  if (2 * holes.rows() <= out.pairs) out.pairs -= holes.rows();
  return out;
}

// Whether two pairs are of one kind and of about one duration: their ends lie alike.
bool Alike(const LaneEvent& x, const LaneEvent& y) {
  const int64_t dx = x.end_ns - x.start_ns;
  const int64_t dy = y.end_ns - y.start_ns;
  return x.kind == y.kind && !MovesUnevenly(static_cast<CollectiveOp>(x.kind / 256)) &&
         2 * std::min(dx, dy) >= std::max(dx, dy);
}

// How much the distance of the ends changes over `lag` pairs, of those that are alike.
std::vector<int64_t> ChangesOver(const std::vector<LaneEvent>& a, const CloseEnds& ends, size_t lag) {
  std::vector<int64_t> out;
  out.reserve(ends.steps.size());
  for (size_t n = 0; n + lag < ends.steps.size(); ++n) {
    if (Alike(a[ends.steps[n].i], a[ends.steps[n + lag].i]))
      out.push_back(std::abs(ends.residuals[n + lag] - ends.residuals[n]));
  }
  return out;
}

void MeasureWander(const std::vector<LaneEvent>& a, const CloseEnds& ends, LaneShift& out) {
  std::vector<int64_t> near = ChangesOver(a, ends, 1);
  std::vector<int64_t> far = ChangesOver(a, ends, kFarLag);
  const size_t pairs = std::min(near.size(), far.size());
  if (pairs < kMinLagged) return;
  const auto least = static_cast<double>(std::max<int64_t>(1'000, UpperMedian(std::move(near))));
  const double wander = static_cast<double>(UpperMedian(std::move(far))) / least;
  out.wanders = wander > kWanderRatio + kWanderChance / std::sqrt(static_cast<double>(pairs));
}

// On the clocks of their domains: a model of the clocks has followed the distances, and hides what they do.
std::vector<EndDistance> DistancesOf(const std::vector<LaneEvent>& a, const std::vector<LaneEvent>& b,
                                     const CloseEnds& ends) {
  std::vector<EndDistance> out;
  out.reserve(ends.steps.size());
  for (size_t n = 0; n < ends.steps.size(); ++n) {
    out.push_back(DistanceOf(a[ends.steps[n].i], b[ends.steps[n].j]));
  }
  return out;
}

}  // namespace

std::optional<LaneShift> CompareLanes(const std::vector<LaneEvent>& a, const std::vector<LaneEvent>& b,
                                      const LaneQuestion& question) {
  if (a.empty() || b.empty()) return std::nullopt;
  const int64_t cap = question.cap_ns > 0 ? question.cap_ns : std::max(CapOf(a), CapOf(b));
  const int64_t uncertainty_ns = question.uncertainty_ns;
  const LaneWalker walker(a, b, cap);
  const size_t stride = std::max<size_t>(1, a.size() / std::max<size_t>(1, question.sample));
  CloseEnds ends = CloseEndsAt(walker, a, b, stride, 0);
  // A bias between devices of one clock moves some ends beyond the cap, or nearer to a neighbour: look again around the
  // centre.
  const int64_t centre =
      question.one_clock && !ends.residuals.empty() ? CentreOfEnds(ends.residuals, uncertainty_ns) : 0;
  if (std::abs(centre) > kCentredNs) {
    ends = CloseEndsAt(walker, a, b, stride, static_cast<double>(centre));
  }
  const auto& [pairs, steps, residuals] = ends;
  LaneShift out;
  out.pairs = pairs;
  if (out.pairs == 0) return std::nullopt;
  if (question.wander) MeasureWander(a, ends, out);
  if (question.end_wander) out.end_wander = MeasureEndWander(DistancesOf(a, b, ends));
  const std::map<uint32_t, EndScatter> scatter = ScatterByKind(a, steps, residuals, uncertainty_ns);
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
