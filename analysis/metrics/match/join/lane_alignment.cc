#include "analysis/metrics/match/join/lane_alignment.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

#include "analysis/model/row_values.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr int64_t kMinEvidencePairs = 3;
constexpr size_t kMaxIslands = 8;
constexpr int64_t kPaceSlackNs = 10'000;
constexpr int64_t kPaceReach = 3;  // neighbouring shifts that compete
constexpr size_t kMinPacePairs = 8;
constexpr int64_t kLeastScatterNs = 32;
// A single instance on either side, of a known communicator, with a common point and close ends: kernels of one
// communicator never overlap on a rank, so no other partner could meet it.
constexpr double kLoneConfidence = 0.995;

// Slots of one domain that fit one reference, with their shifts against it.
struct Island {
  size_t reference = 0;
  std::vector<std::pair<size_t, int64_t>> slots;  // the reference first
  double confidence = 1;
};

class LaneAligner {
 public:
  LaneAligner(const JoinInput& input, const Lane& lane) : input_(input), lane_(lane) {}

  LaneAlignment Run() {
    out_.shift.assign(lane_.rows.size(), std::nullopt);
    out_.certain = true;
    out_.exact = true;
    out_.confidence = 1;
    std::map<int32_t, std::vector<size_t>> domains;
    for (size_t s = 0; s < lane_.rows.size(); ++s) domains[DomainOf(s)].push_back(s);
    std::optional<size_t> first;
    for (const auto& [domain, slots] : domains) {
      const Island island = AlignDomain(slots);
      if (!first) first = island.reference;
      Place(island, *first);
    }
    if (domains.size() > 1 && inferred()) Doubt(0);
    return std::move(out_);
  }

 private:
  [[nodiscard]] int32_t RankOf(size_t slot) const { return input_.plan.ranks[lane_.rows[slot].front().member]; }
  [[nodiscard]] int32_t DomainOf(size_t slot) const { return input_.domain[static_cast<size_t>(RankOf(slot))]; }
  [[nodiscard]] bool inferred() const { return input_.plan.membership != Membership::kKnown; }

  void Doubt(double confidence) {
    out_.certain = false;
    out_.confidence = std::min({out_.confidence, confidence, kAmbiguousConfidence});
  }

  [[nodiscard]] std::vector<OrderedInstance> Sequence(size_t slot) const {
    std::vector<OrderedInstance> out;
    out.reserve(lane_.rows[slot].size());
    for (const RowRef& ref : lane_.rows[slot]) {
      const CollectiveRow& row = RowAt(input_, ref);
      out.push_back({row.start_ns, row.end_ns, MayBeAllPairs(row.op) || IsPointToPoint(row.op)});
    }
    return out;
  }

  [[nodiscard]] double ConfidenceOf(const ShiftVerdict& v, bool equal_counts) const {
    if (v.exponent) return 1 - std::exp(-std::max(0.0, *v.exponent));
    const bool lone = !inferred() && equal_counts && v.end_residual_ns <= kMaxEndResidualNs;
    return lone ? kLoneConfidence : 0;
  }

  // Tests one slot against a reference and keeps what it says about the clocks.
  std::optional<int64_t> Fits(size_t reference, const std::vector<OrderedInstance>& a, size_t slot,
                              double& confidence) {
    const std::vector<OrderedInstance> b = Sequence(slot);
    const int64_t tick = std::max(input_.rows[static_cast<size_t>(RankOf(reference))].tick_ns,
                                  input_.rows[static_cast<size_t>(RankOf(slot))].tick_ns);
    const ShiftVerdict verdict = FindShift(a, b, lane_.relation, tick);
    confidence = verdict.common_rate * ConfidenceOf(verdict, a.size() == b.size());
    const double least = verdict.exponent ? 1 - std::exp(-kMinExponent) : kLoneConfidence;
    // Between pairs that need no common point, ranks that have lost equally many but not the same contradict nothing.
    const bool proves = std::all_of(a.begin(), a.end(), [](const OrderedInstance& i) { return i.binding; });
    out_.exact = out_.exact && verdict.common_rate == 1 && proves;
    const bool fits = verdict.common_rate >= kMinCommonRate && ConfidenceOf(verdict, a.size() == b.size()) >= least;
    const bool one_clock = fits && verdict.pairs >= kMinEvidencePairs && verdict.end_residual_ns <= kMaxEndResidualNs;
    if (one_clock || (!fits && verdict.constant_offset && EndsCoincide(reference))) {
      out_.evidence.push_back({RankOf(reference), RankOf(slot), one_clock});
    }
    return fits ? std::optional(verdict.shift) : std::nullopt;
  }

  // Only the ends of certain all-pairs operations of a told communicator may refute a clock.
  [[nodiscard]] bool EndsCoincide(size_t slot) const {
    return !inferred() && std::all_of(lane_.rows[slot].begin(), lane_.rows[slot].end(),
                                      [&](const RowRef& ref) { return IsAllPairs(RowAt(input_, ref).op); });
  }

  // The part of `remaining` that fits its first slot; the rest stays in `remaining`.
  Island TakeIsland(std::vector<size_t>& remaining, double& best_rejected) {
    Island island;
    island.reference = remaining.front();
    island.slots.emplace_back(island.reference, 0);
    const std::vector<OrderedInstance> sequence = Sequence(island.reference);
    std::vector<size_t> rest;
    for (size_t i = 1; i < remaining.size(); ++i) {
      double confidence = 0;
      const auto shift = Fits(island.reference, sequence, remaining[i], confidence);
      if (shift) {
        island.slots.emplace_back(remaining[i], *shift);
        island.confidence = std::min(island.confidence, confidence);
      } else {
        best_rejected = std::max(best_rejected, confidence);
        rest.push_back(remaining[i]);
      }
    }
    remaining = std::move(rest);
    return island;
  }

  // The largest island of a domain; slots outside it are left out. Without a majority the lane is in doubt.
  Island AlignDomain(const std::vector<size_t>& slots) {
    std::vector<size_t> remaining = slots;
    double best_rejected = 0;
    Island largest;
    for (size_t i = 0; i < kMaxIslands && !remaining.empty(); ++i) {
      Island island = TakeIsland(remaining, best_rejected);
      if (island.slots.size() > largest.slots.size()) largest = std::move(island);
    }
    const bool all = largest.slots.size() == slots.size();
    const bool majority = largest.slots.size() * 2 > slots.size();
    if (!majority || (inferred() && !all)) Doubt(best_rejected);
    return largest;
  }

  // Puts an island's slots on the lane's common index, by signature if it is of another domain than the first.
  void Place(const Island& island, size_t first) {
    int64_t base = 0;
    if (island.reference != first) {
      const SignatureVerdict verdict = FindSignatureShift(Rows(first), Rows(island.reference));
      if (!verdict.agrees || !verdict.unique || !Telling(first)) Doubt(verdict.agrees ? 0.9 : 0);
      if (!KeepsPace(first, island.reference, verdict.shift)) Doubt(0.9);
      out_.confidence = std::min(out_.confidence, kSignatureConfidence);
      base = verdict.shift;
    }
    out_.confidence = std::min(out_.confidence, island.confidence);
    for (const auto& [slot, shift] : island.slots) out_.shift[slot] = base + shift;
  }

  [[nodiscard]] std::vector<const CollectiveRow*> Rows(size_t slot) const {
    std::vector<const CollectiveRow*> out;
    for (const RowRef& ref : lane_.rows[slot]) out.push_back(&RowAt(input_, ref));
    return out;
  }

  // The ends of paired rows keep their distance from one pair to the next, but for one step of a clock. A row that one
  // side has lost, and later one that the other has, would leave the signatures as they are but not the distances.
  [[nodiscard]] bool KeepsPace(size_t a, size_t b, int64_t shift) const {
    const std::vector<const CollectiveRow*> x = Rows(a);
    const std::vector<const CollectiveRow*> y = Rows(b);
    const int64_t first = std::max<int64_t>(0, -shift);
    const int64_t last = std::min(static_cast<int64_t>(x.size()), static_cast<int64_t>(y.size()) - shift);
    std::optional<int64_t> step;
    for (int64_t i = first + 1; i < last; ++i) {
      const int64_t gap = GapBefore(x, i);
      const int64_t other = GapBefore(y, i + shift);
      if (std::abs(gap - other) <= std::max(kPaceSlackNs, std::min(gap, other) / 2)) continue;
      if (step) return false;
      step = i;
    }
    return !step || (KeepsPaceOnlyAt(x, y, {first, *step}, shift) && KeepsPaceOnlyAt(x, y, {*step, last}, shift));
  }

  static int64_t GapBefore(const std::vector<const CollectiveRow*>& rows, int64_t i) {
    return rows[static_cast<size_t>(i)]->end_ns - rows[static_cast<size_t>(i) - 1]->end_ns;
  }

  using Range = std::pair<int64_t, int64_t>;  // of a's rows

  // Far better than with any neighbouring shift.
  [[nodiscard]] static bool KeepsPaceOnlyAt(const std::vector<const CollectiveRow*>& x,
                                            const std::vector<const CollectiveRow*>& y, Range range, int64_t shift) {
    const std::optional<double> best = PaceScatter(x, y, range, shift);
    if (!best) return false;
    for (int64_t other = shift - kPaceReach; other <= shift + kPaceReach; ++other) {
      if (other == shift) continue;
      const std::optional<double> scatter = PaceScatter(x, y, range, other);
      const auto pairs = static_cast<double>(range.second - range.first);
      if (!scatter || pairs * std::log(*scatter / *best) < kMinExponent) return false;
    }
    return true;
  }

  // Median of how much paired gaps differ; null if there are too few.
  [[nodiscard]] static std::optional<double> PaceScatter(const std::vector<const CollectiveRow*>& x,
                                                         const std::vector<const CollectiveRow*>& y, Range range,
                                                         int64_t shift) {
    std::vector<int64_t> differences;
    const auto rows = static_cast<int64_t>(y.size());
    for (int64_t i = range.first + 1; i < range.second; ++i) {
      if (i + shift < 1 || i + shift >= rows) continue;
      differences.push_back(std::abs(GapBefore(x, i) - GapBefore(y, i + shift)));
    }
    if (differences.size() < kMinPacePairs) return std::nullopt;
    return static_cast<double>(std::max<int64_t>(kLeastScatterNs, UpperMedian(std::move(differences))));
  }

  // A signature says something if it numbers steps or is of some length.
  [[nodiscard]] bool Telling(size_t slot) const {
    return lane_.rows[slot].size() >= 3 || RowAt(input_, lane_.rows[slot].front()).step != kNoStep;
  }

  const JoinInput& input_;
  const Lane& lane_;
  LaneAlignment out_;
};

}  // namespace

LaneAlignment AlignLane(const JoinInput& input, const Lane& lane) { return LaneAligner(input, lane).Run(); }

}  // namespace lockstep
