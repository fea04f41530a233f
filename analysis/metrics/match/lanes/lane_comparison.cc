// CompareLanes: how two lanes lie against each other on one clock.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

#include "analysis/metrics/match/lanes/lane_walker.h"
#include "analysis/metrics/match/order_score.h"

namespace lockstep {
namespace {

constexpr int64_t kCentredNs = 2'000;  // a centre nearer than this is none
constexpr size_t kTellingPairs = 12;   // of one kind: its ends may lie closer than those of others

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
std::map<uint32_t, EndScatter> ScatterByKind(const std::vector<LaneEvent>& a,
                                             const std::vector<LaneWalker::Step>& steps,
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
  std::vector<LaneWalker::Step> steps;
  std::vector<int64_t> residuals;
};

CloseEnds CloseEndsAt(const LaneWalker& walker, const std::vector<LaneEvent>& a, const std::vector<LaneEvent>& b,
                      size_t stride, double offset) {
  CloseEnds out;
  for (size_t i = 0; i < a.size(); i += stride) {
    const LaneWalker::Step step = walker.Nearest(i, offset);
    if (!step.in_window) continue;
    ++out.pairs;
    if (step.distance_ns >= walker.cap_ns()) continue;
    out.steps.push_back(step);
    out.residuals.push_back(a[i].end_ns - b[step.j].end_ns);
  }
  return out;
}

}  // namespace

std::optional<LaneShift> CompareLanes(const std::vector<LaneEvent>& a, const std::vector<LaneEvent>& b,
                                      int64_t uncertainty_ns, size_t sample, bool one_clock) {
  if (a.empty() || b.empty()) return std::nullopt;
  const int64_t cap = std::max(CapOf(a), CapOf(b));
  const LaneWalker walker(a, b, cap);
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
