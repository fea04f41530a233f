#include "analysis/metrics/match/order_score.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

#include "analysis/model/row_values.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr int64_t kShiftReach = 3;  // neighbouring shifts that compete
constexpr int64_t kMinOffsetPairs = 8;
constexpr int64_t kMaxSignatureReach = 1'024;

// Pairs of a shift: i in [first, last) of a with i + shift of b.
struct PairRange {
  int64_t first = 0;
  int64_t last = 0;
  [[nodiscard]] int64_t size() const { return std::max<int64_t>(0, last - first); }
};

PairRange RangeOf(size_t a, size_t b, int64_t shift) {
  const auto na = static_cast<int64_t>(a);
  const auto nb = static_cast<int64_t>(b);
  return {std::max<int64_t>(0, -shift), std::min(na, nb - shift)};
}

int64_t MinPairs(size_t a, size_t b) { return std::max<int64_t>(1, static_cast<int64_t>(std::min(a, b) + 1) / 2); }

// How the ends of two sequences lie against each other. Of most shifts only that they are worse than one known already
// is asked, which a count tells.
class Scorer {
 public:
  Scorer(const std::vector<OrderedInstance>& a, const std::vector<OrderedInstance>& b, PairRelation relation,
         int64_t tick_ns)
      : a_(a), b_(b), relation_(relation), tick_ns_(tick_ns), ends_a_(EndsOf(a)), ends_b_(EndsOf(b)) {}

  struct Score {
    int64_t pairs = 0;
    int64_t score_ns = 0;  // around a centre within the clock bias
    int64_t centre_ns = 0;
  };
  // Null: too few pairs, or the score is more than `most_ns`.
  [[nodiscard]] std::optional<Score> At(int64_t shift, int64_t most_ns) {
    if (!MeasureEnds(shift)) return std::nullopt;
    Score s{static_cast<int64_t>(ends_.size()), 0, CentreOfEnds()};
    if (MedianDistanceExceeds(s.centre_ns, most_ns)) return std::nullopt;
    s.score_ns = std::max(tick_ns_, MedianDistance(s.centre_ns));
    return s.score_ns <= most_ns ? std::optional(s) : std::nullopt;
  }

  // Around zero; of a shift with pairs enough.
  [[nodiscard]] int64_t ResidualAt(int64_t shift) { return MeasureEnds(shift) ? MedianDistance(0) : 0; }

  // Two machines under one name: paired as they stand, the ends keep a distance that explains them far better than any
  // pairing on one clock does.
  [[nodiscard]] bool HasConstantOffset(int64_t best_score_ns) {
    constexpr int64_t kTimesBetter = 4;
    if (ends_a_.size() != ends_b_.size() || !MeasureEnds(0)) return false;
    if (static_cast<int64_t>(ends_.size()) < kMinOffsetPairs || std::abs(CentreOfEnds()) < kMaxClockBiasNs)
      return false;
    scratch_ = ends_;
    const int64_t median = TakeUpperMedian(scratch_);
    if (std::abs(median) <= kMaxEndResidualNs) return false;
    const int64_t scatter = MedianDistance(median);
    return scatter <= kMaxEndResidualNs && scatter <= best_score_ns / kTimesBetter;
  }

  [[nodiscard]] double CommonRate(int64_t shift, int64_t centre_ns) const {
    const PairRange range = RangeOf(a_.size(), b_.size(), shift);
    int64_t binding = 0;
    int64_t kept = 0;
    for (int64_t i = range.first; i < range.last; ++i) {
      const OrderedInstance& a = A(i);
      const OrderedInstance& b = B(i + shift);
      if (!a.binding && !b.binding) continue;
      ++binding;
      kept += Keeps(a, b, centre_ns) ? 1 : 0;
    }
    return binding == 0 ? 1 : static_cast<double>(kept) / static_cast<double>(binding);
  }

  // Shift 0 and the shifts under which single instances find the nearest end.
  [[nodiscard]] std::set<int64_t> Candidates() const {
    std::vector<std::pair<int64_t, int64_t>> ends;
    ends.reserve(b_.size());
    for (size_t j = 0; j < b_.size(); ++j) ends.emplace_back(b_[j].end_ns, static_cast<int64_t>(j));
    if (!std::is_sorted(ends.begin(), ends.end())) std::sort(ends.begin(), ends.end());
    std::set<int64_t> out = {0};
    const size_t last = a_.size() - 1;
    for (const size_t i : {size_t{0}, last / 4, last / 2, last / 4 * 3, last}) {
      out.insert(NearestEnd(ends, a_[i].end_ns) - static_cast<int64_t>(i));
    }
    return out;
  }

 private:
  [[nodiscard]] const OrderedInstance& A(int64_t i) const { return a_[static_cast<size_t>(i)]; }
  [[nodiscard]] const OrderedInstance& B(int64_t i) const { return b_[static_cast<size_t>(i)]; }

  static std::vector<int64_t> EndsOf(const std::vector<OrderedInstance>& instances) {
    std::vector<int64_t> out;
    out.reserve(instances.size());
    for (const OrderedInstance& i : instances) out.push_back(i.end_ns);
    return out;
  }

  // How much later the ends of b are than those of a. False: too few pairs.
  bool MeasureEnds(int64_t shift) {
    const PairRange range = RangeOf(ends_a_.size(), ends_b_.size(), shift);
    if (range.size() < MinPairs(ends_a_.size(), ends_b_.size())) return false;
    ends_.resize(static_cast<size_t>(range.size()));
    const int64_t* a = ends_a_.data() + range.first;
    const int64_t* b = ends_b_.data() + range.first + shift;
    for (size_t i = 0; i < ends_.size(); ++i) ends_[i] = b[i] - a[i];
    return true;
  }

  // Their median, within the clock bias.
  [[nodiscard]] int64_t CentreOfEnds() {
    size_t below = 0;
    size_t beyond = 0;
    for (const int64_t end : ends_) {
      below += end <= -kMaxClockBiasNs ? 1 : 0;
      beyond += end >= kMaxClockBiasNs ? 1 : 0;
    }
    const size_t place = ends_.size() / 2;
    if (below > place) return -kMaxClockBiasNs;
    if (beyond >= ends_.size() - place) return kMaxClockBiasNs;
    scratch_ = ends_;
    return TakeUpperMedian(scratch_);
  }

  [[nodiscard]] bool MedianDistanceExceeds(int64_t centre_ns, int64_t most_ns) const {
    size_t within = 0;
    for (const int64_t end : ends_) within += std::abs(end - centre_ns) <= most_ns ? 1 : 0;
    return within <= ends_.size() / 2;
  }

  [[nodiscard]] int64_t MedianDistance(int64_t centre_ns) {
    scratch_.resize(ends_.size());
    for (size_t i = 0; i < ends_.size(); ++i) scratch_[i] = std::abs(ends_[i] - centre_ns);
    return TakeUpperMedian(scratch_);
  }

  static int64_t NearestEnd(const std::vector<std::pair<int64_t, int64_t>>& ends, int64_t end) {
    const auto at = std::lower_bound(ends.begin(), ends.end(), std::pair(end, int64_t{0}));
    if (at == ends.end()) return ends.back().second;
    if (at == ends.begin() || at->first - end <= end - std::prev(at)->first) return at->second;
    return std::prev(at)->second;
  }

  [[nodiscard]] bool Keeps(const OrderedInstance& a, const OrderedInstance& b, int64_t centre_ns) const {
    const int64_t slack = 2 * tick_ns_;
    if (relation_ == PairRelation::kSendToReceive) return b.end_ns - centre_ns >= a.start_ns - slack;
    return std::max(a.start_ns, b.start_ns - centre_ns) <= std::min(a.end_ns, b.end_ns - centre_ns) + slack;
  }

  const std::vector<OrderedInstance>& a_;
  const std::vector<OrderedInstance>& b_;
  PairRelation relation_;
  int64_t tick_ns_;
  std::vector<int64_t> ends_a_;
  std::vector<int64_t> ends_b_;
  std::vector<int64_t> ends_;  // of the pairs of one shift
  std::vector<int64_t> scratch_;
};

// How much worse the best neighbour is.
std::optional<double> ExponentOf(Scorer& scorer, int64_t shift, const Scorer::Score& best) {
  std::optional<int64_t> second;
  for (int64_t apart = 1; apart <= kShiftReach; ++apart) {
    for (const int64_t other : {shift - apart, shift + apart}) {
      const auto score = scorer.At(other, second.value_or(INT64_MAX));
      if (score) second = score->score_ns;
    }
  }
  if (!second) return std::nullopt;
  return static_cast<double>(best.pairs) * std::log(static_cast<double>(*second) / static_cast<double>(best.score_ns));
}

bool AgreesAt(const std::vector<const CollectiveRow*>& a, const std::vector<const CollectiveRow*>& b, int64_t shift) {
  const PairRange range = RangeOf(a.size(), b.size(), shift);
  if (range.size() < MinPairs(a.size(), b.size())) return false;
  for (int64_t i = range.first; i < range.last; ++i) {
    if (!SameSignature(*a[static_cast<size_t>(i)], *b[static_cast<size_t>(i + shift)], true)) return false;
  }
  return true;
}

bool MayBeSendRecv(CollectiveOp op) {
  return op == CollectiveOp::kAllToAll || op == CollectiveOp::kAllToAllV || op == CollectiveOp::kGather ||
         op == CollectiveOp::kScatter || op == CollectiveOp::kSend || op == CollectiveOp::kRecv;
}

}  // namespace

ShiftVerdict FindShift(const std::vector<OrderedInstance>& a, const std::vector<OrderedInstance>& b,
                       PairRelation relation, int64_t tick_ns) {
  Scorer scorer(a, b, relation, tick_ns);
  ShiftVerdict verdict;
  std::optional<Scorer::Score> best;
  for (const int64_t shift : scorer.Candidates()) {
    const auto score = scorer.At(shift, best ? best->score_ns : INT64_MAX);
    if (!score) continue;
    if (best && score->score_ns == best->score_ns && std::abs(shift) >= std::abs(verdict.shift)) continue;
    best = score;
    verdict.shift = shift;
  }
  if (!best) return verdict;
  verdict.pairs = best->pairs;
  verdict.end_residual_ns = scorer.ResidualAt(verdict.shift);
  verdict.common_rate = scorer.CommonRate(verdict.shift, best->centre_ns);
  verdict.exponent = ExponentOf(scorer, verdict.shift, *best);
  verdict.constant_offset = scorer.HasConstantOffset(best->score_ns);
  return verdict;
}

SignatureVerdict FindSignatureShift(const std::vector<const CollectiveRow*>& a,
                                    const std::vector<const CollectiveRow*>& b) {
  SignatureVerdict verdict;
  const auto difference = static_cast<int64_t>(a.size() > b.size() ? a.size() - b.size() : b.size() - a.size());
  const int64_t reach = std::min(kMaxSignatureReach, difference + kShiftReach);
  int found = 0;
  if (a.size() == b.size() && AgreesAt(a, b, 0)) {
    verdict = {true, true, 0};
    found = 1;
  }
  for (int64_t shift = -reach; shift <= reach && found < 2; ++shift) {
    if ((shift == 0 && found > 0) || !AgreesAt(a, b, shift)) continue;
    if (++found == 1) verdict = {true, true, shift};
  }
  verdict.unique = found == 1;
  return verdict;
}

bool MovesUnevenly(CollectiveOp op) { return op == CollectiveOp::kAllToAllV || op == CollectiveOp::kSendRecv; }

bool SameSignature(const CollectiveRow& a, const CollectiveRow& b, bool with_step) {
  const bool dtype = a.dtype == b.dtype || a.dtype == DataType::kUnknown || b.dtype == DataType::kUnknown;
  const bool bytes = a.bytes == b.bytes || a.bytes == kUnknownBytes || b.bytes == kUnknownBytes ||
                     MovesUnevenly(a.op) || MovesUnevenly(b.op);
  const bool step = !with_step || a.step == b.step || a.step == kNoStep || b.step == kNoStep;
  return Compatible(a.op, b.op) && dtype && bytes && step;
}

bool Compatible(CollectiveOp a, CollectiveOp b) {
  if (a == b || a == CollectiveOp::kUnknown || b == CollectiveOp::kUnknown) return true;
  if (IsPointToPoint(a) && IsPointToPoint(b)) return true;  // a send and its receive
  return (a == CollectiveOp::kSendRecv && MayBeSendRecv(b)) || (b == CollectiveOp::kSendRecv && MayBeSendRecv(a));
}

}  // namespace lockstep
