#include "analysis/metrics/match/lanes/lane_walker.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <utility>

#include "analysis/metrics/match/order_score.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr size_t kLocalEvents = 24;  // on either side of a probe
constexpr int64_t kFirstLook = 8;
constexpr size_t kMostHeldInOrder = 256;  // candidates, while they are no more than one or two offsets
constexpr double kPromisingPart = 0.3;
constexpr int64_t kHole = 100;  // a gap of this many caps: b recorded nothing there

// The first of n that is not `sooner`, which those before it all are; sought outwards from a place in doubling steps.
template <typename Sooner>
size_t FirstFrom(size_t n, size_t near, const Sooner& sooner) {
  size_t low = std::min(near, n);  // [low, high): all before low are sooner, those from high on are not
  size_t high = low;
  for (size_t step = 1; low > 0 && !sooner(low - 1); step *= 2) {
    high = low - 1;
    low -= std::min(step, low);
  }
  for (size_t step = 1; high < n && sooner(high); step *= 2) {
    low = high + 1;
    high += std::min(step, n - high);
  }
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    (sooner(middle) ? low : high) = sooner(middle) ? middle + 1 : middle;
  }
  return low;
}

}  // namespace

void OffsetTracker::Update(int64_t t_ns, double predicted, double residual) {
  constexpr double kGain = 0.2;
  constexpr double kRateGain = 0.02;
  constexpr double kMaxRate = 2e-4;
  constexpr double kRateSpanNs = 2e7;  // ends closer than this say little of the rate
  offset = predicted + kGain * residual;
  if (++steps > 8) {
    const double elapsed = std::max(kRateSpanNs, static_cast<double>(std::abs(t_ns - at_ns)));
    const double sign = t_ns >= at_ns ? 1 : -1;
    rate = std::clamp(rate + sign * kRateGain * residual / elapsed, -kMaxRate, kMaxRate);
  }
  at_ns = t_ns;
}

size_t LaneWalker::FirstEndFrom(int64_t t_ns, size_t near) const {
  return FirstFrom(b_.size(), near, [&](size_t i) { return b_[i].end_ns < t_ns; });
}

LaneWalker::Step LaneWalker::Nearest(size_t i, double offset, size_t& near) const {
  const int64_t want = a_[i].end_ns - RoundToNs(offset);
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

OffsetSearch::Ends::Ends(const std::vector<LaneEvent>& lane) {
  end_ns.reserve(lane.size());
  kind.reserve(lane.size());
  for (const LaneEvent& e : lane) {
    end_ns.push_back(e.end_ns);
    kind.push_back(e.kind);
  }
}

OffsetSearch::OffsetSearch(const std::vector<LaneEvent>& a, const std::vector<LaneEvent>& b, int64_t cap_ns)
    : a_(a), b_(b), cap_ns_(cap_ns) {
  const auto is_first = [&](uint32_t kind) { return kind == a_.kind.front(); };
  one_kind_ = !a.empty() && std::all_of(a_.kind.begin(), a_.kind.end(), is_first) &&
              std::all_of(b_.kind.begin(), b_.kind.end(), is_first);
}

size_t OffsetSearch::FirstEndFrom(int64_t t_ns, size_t near) const {
  const std::vector<int64_t>& ends = b_.end_ns;
  return FirstFrom(ends.size(), near, [&](size_t i) { return ends[i] < t_ns; });
}

OffsetSearch::Nearest OffsetSearch::NearestTo(int64_t want_ns, uint32_t kind, size_t& near) const {
  const std::vector<int64_t>& ends = b_.end_ns;
  Nearest out{cap_ns_, 0};
  near = FirstEndFrom(want_ns, near);
  for (size_t right = near; right < ends.size() && ends[right] - want_ns < out.distance_ns; ++right) {
    if (!one_kind_ && b_.kind[right] != kind) continue;
    out = {ends[right] - want_ns, right};
  }
  for (size_t left = near; left > 0 && want_ns - ends[left - 1] < out.distance_ns; --left) {
    if (!one_kind_ && b_.kind[left - 1] != kind) continue;
    out = {want_ns - ends[left - 1], left - 1};
  }
  return out;
}

double OffsetSearch::LocalScore(size_t probe, int64_t offset, size_t near, double most) const {
  constexpr double kRounding = 1 + 1e-9;
  const size_t ahead = std::min(kLocalEvents, a_.end_ns.size() - probe);
  const size_t behind = std::min(kLocalEvents, probe + 1);
  // A sum beyond this is hopeless, whatever the events that are left.
  const double promising = kPromisingPart * static_cast<double>(cap_ns_);
  const double one_way = kRounding * promising * static_cast<double>(ahead);
  const double both_ways = kRounding * std::min(promising, most) * static_cast<double>(ahead + behind);
  double sum = 0;
  int64_t seen = 0;
  for (const std::ptrdiff_t direction : {1, -1}) {
    if (seen > 0 && !Promising(sum, seen)) break;
    const double hopeless = direction > 0 ? std::min(one_way, both_ways) : both_ways;
    OffsetTracker tracker{static_cast<double>(offset), 0, a_.end_ns[probe], 0};
    size_t close = near;
    size_t index = probe;
    for (size_t n = direction > 0 ? ahead : behind; n > 0; --n) {
      const int64_t end = a_.end_ns[index];
      const double predicted = tracker.Predict(end);
      const Nearest nearest = NearestTo(end - RoundToNs(predicted), a_.kind[index], close);
      if (nearest.distance_ns < cap_ns_) {
        tracker.Update(end, predicted, static_cast<double>(end - b_.end_ns[nearest.at]) - predicted);
      }
      sum += static_cast<double>(nearest.distance_ns);
      ++seen;
      if (sum > hopeless) return std::numeric_limits<double>::infinity();
      if (seen <= kFirstLook && !Promising(sum, kFirstLook)) break;
      index += static_cast<size_t>(direction);
    }
  }
  return sum / static_cast<double>(seen);
}

std::vector<OffsetSearch::Candidate> OffsetSearch::Apart(const std::vector<Candidate>& best_first, size_t limit) {
  std::vector<Candidate> out;
  for (const Candidate& c : best_first) {
    if (out.size() >= limit) break;
    const bool known = std::any_of(out.begin(), out.end(),
                                   [&](const Candidate& o) { return std::abs(o.offset - c.offset) < kOtherShiftNs; });
    if (!known) out.push_back(c);
  }
  return out;
}

std::vector<OffsetSearch::Candidate> OffsetSearch::Within(const Question& question, double& bound,
                                                          bool may_fall) const {
  std::vector<Candidate> all;  // best first
  std::vector<Candidate> out;
  const std::vector<int64_t>& ends = b_.end_ns;
  const size_t probe = question.probe;
  const int64_t first = a_.end_ns[probe] - question.expected_ns - question.reach_ns;
  const int64_t last = first + 2 * question.reach_ns;
  for (auto at = std::lower_bound(ends.begin(), ends.end(), first); at != ends.end() && *at <= last; ++at) {
    const auto place = static_cast<size_t>(at - ends.begin());
    if (b_.kind[place] != a_.kind[probe]) continue;
    const int64_t offset = a_.end_ns[probe] - *at;
    const double score = LocalScore(probe, offset, place, bound);
    if (!Promising(score, 1) || score > bound) continue;
    if (!may_fall) {
      all.push_back({score, offset, probe});
      continue;
    }
    const auto after =
        std::upper_bound(all.begin(), all.end(), score, [](double s, const Candidate& c) { return s < c.score; });
    all.insert(after, {score, offset, probe});
    out = Apart(all, question.limit);
    if (out.size() == question.limit) bound = std::min(bound, out.back().score);
    // So many that are all close to each other: looking each time would cost more than it can spare.
    may_fall = all.size() < kMostHeldInOrder || out.size() == question.limit;
  }
  if (may_fall) return out;
  std::stable_sort(all.begin(), all.end(), [](const Candidate& x, const Candidate& y) { return x.score < y.score; });
  return Apart(all, question.limit);
}

std::vector<OffsetSearch::Candidate> OffsetSearch::Finalists(const Question& question) const {
  double bound = question.most;
  std::vector<Candidate> out = Within(question, bound, true);
  // What was given up may be asked for after all where a better one came too close to two of those found before.
  const bool all_better = out.size() == question.limit && out.back().score <= bound;
  if (bound == question.most || all_better) return out;
  bound = question.most;
  return Within(question, bound, false);
}

bool OffsetSearch::Promising(double sum, int64_t seen) const {
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
