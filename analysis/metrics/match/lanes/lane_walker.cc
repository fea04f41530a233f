#include "analysis/metrics/match/lanes/lane_walker.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "analysis/metrics/match/order_score.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr size_t kLocalEvents = 24;  // on either side of a probe
constexpr int64_t kFirstLook = 8;
constexpr double kPromisingPart = 0.3;
constexpr int64_t kHole = 100;  // a gap of this many caps: b recorded nothing there

}  // namespace

void OffsetTracker::Update(int64_t t_ns, double residual) {
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

size_t LaneWalker::FirstEndFrom(int64_t t_ns, size_t near) const {
  size_t low = std::min(near, b_.size());  // [low, high): all before low end sooner, those from high on do not
  size_t high = low;
  for (size_t step = 1; low > 0 && b_[low - 1].end_ns >= t_ns; step *= 2) {
    high = low - 1;
    low -= std::min(step, low);
  }
  for (size_t step = 1; high < b_.size() && b_[high].end_ns < t_ns; step *= 2) {
    low = high + 1;
    high += std::min(step, b_.size() - high);
  }
  const auto sooner = [](const LaneEvent& e, int64_t t) { return e.end_ns < t; };
  const auto begin = b_.begin();
  return static_cast<size_t>(std::lower_bound(begin + static_cast<std::ptrdiff_t>(low),
                                              begin + static_cast<std::ptrdiff_t>(high), t_ns, sooner) -
                             begin);
}

LaneWalker::Step LaneWalker::Nearest(size_t i, double offset, size_t& near) const {
  const int64_t want = a_[i].end_ns - std::llround(offset);
  Step step{i, 0, offset, cap_ns_, want >= b_.front().start_ns && want <= b_.back().end_ns};
  near = FirstEndFrom(want, near);
  const auto at = b_.begin() + static_cast<std::ptrdiff_t>(near);
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

double LaneWalker::LocalScore(size_t probe, int64_t offset, size_t near) const {
  double sum = 0;
  int64_t seen = 0;
  const auto visit = [&](const Step& step, const OffsetTracker&) {
    sum += static_cast<double>(step.distance_ns);
    ++seen;
    return seen > kFirstLook || Promising(sum, kFirstLook);
  };
  for (const std::ptrdiff_t direction : {1, -1}) {
    if (seen > 0 && !Promising(sum, seen)) break;
    OffsetTracker tracker{static_cast<double>(offset), 0, a_[probe].end_ns, 0};
    Walk(probe, direction, kLocalEvents, near, tracker, visit);
  }
  return seen == 0 ? static_cast<double>(cap_ns_) : sum / static_cast<double>(seen);
}

std::vector<LaneWalker::Candidate> LaneWalker::Finalists(size_t probe, int64_t expected_ns, int64_t reach_ns,
                                                         size_t limit) const {
  std::vector<Candidate> all;
  const int64_t first = a_[probe].end_ns - expected_ns - reach_ns;
  auto at = std::lower_bound(b_.begin(), b_.end(), first, [](const LaneEvent& e, int64_t t) { return e.end_ns < t; });
  for (; at != b_.end() && at->end_ns <= first + 2 * reach_ns; ++at) {
    if (at->kind != a_[probe].kind) continue;
    const int64_t offset = a_[probe].end_ns - at->end_ns;
    const double score = LocalScore(probe, offset, static_cast<size_t>(at - b_.begin()));
    if (Promising(score, 1)) all.push_back({score, offset, probe});
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

bool LaneWalker::Promising(double sum, int64_t seen) const {
  return sum < kPromisingPart * static_cast<double>(seen * cap_ns_);
}

EndDistance DistanceOf(const LaneEvent& a, const LaneEvent& b) {
  const int64_t distance = a.end_ns + a.moved_ns - b.end_ns - b.moved_ns;
  return {a.end_ns, distance, std::min(a.end_ns - a.start_ns, b.end_ns - b.start_ns), a.kind};
}

int64_t CapOf(const std::vector<LaneEvent>& lane) {
  std::vector<int64_t> gaps;
  for (size_t i = 1; i < lane.size(); ++i) gaps.push_back(lane[i].end_ns - lane[i - 1].end_ns);
  return std::clamp<int64_t>(UpperMedian(std::move(gaps)) / 4, 5'000, 2'000'000);
}

}  // namespace lockstep
