#include "analysis/metrics/match/order_score.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr int64_t kReach = 3;  // neighbouring shifts that compete
constexpr int64_t kMaxEndResidualNs = 50'000;
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

class Scorer {
 public:
  Scorer(const std::vector<OrderedInstance>& a, const std::vector<OrderedInstance>& b, PairRelation relation,
         int64_t tick_ns)
      : a_(a), b_(b), relation_(relation), tick_ns_(tick_ns) {}

  struct Score {
    int64_t pairs = 0;
    int64_t score_ns = 0;     // around a centre within the clock bias
    int64_t residual_ns = 0;  // around zero
    int64_t scatter_ns = 0;   // around the median
    int64_t centre_ns = 0;
    int64_t median_ns = 0;
  };

  [[nodiscard]] std::optional<Score> At(int64_t shift) const {
    const PairRange range = RangeOf(a_.size(), b_.size(), shift);
    if (range.size() < MinPairs(a_.size(), b_.size())) return std::nullopt;
    std::vector<int64_t> ends;
    ends.reserve(static_cast<size_t>(range.size()));
    for (int64_t i = range.first; i < range.last; ++i) ends.push_back(B(i + shift).end_ns - A(i).end_ns);
    Score s;
    s.pairs = range.size();
    s.median_ns = UpperMedian(ends);
    s.centre_ns = std::clamp(s.median_ns, -kMaxClockBiasNs, kMaxClockBiasNs);
    s.score_ns = std::max(tick_ns_, MedianDistance(ends, s.centre_ns));
    s.residual_ns = MedianDistance(ends, 0);
    s.scatter_ns = MedianDistance(ends, s.median_ns);
    return s;
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
    for (size_t j = 0; j < b_.size(); ++j) ends.emplace_back(b_[j].end_ns, static_cast<int64_t>(j));
    std::sort(ends.begin(), ends.end());
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

  static int64_t MedianDistance(std::vector<int64_t> values, int64_t centre) {
    for (int64_t& v : values) v = std::abs(v - centre);
    return UpperMedian(std::move(values));
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
};

// How much worse the best neighbour is.
std::optional<double> ExponentOf(const Scorer& scorer, int64_t shift, const Scorer::Score& best) {
  std::optional<int64_t> second;
  for (int64_t other = shift - kReach; other <= shift + kReach; ++other) {
    if (other == shift) continue;
    const auto score = scorer.At(other);
    if (score) second = std::min(second.value_or(INT64_MAX), score->score_ns);
  }
  if (!second) return std::nullopt;
  return static_cast<double>(best.pairs) * std::log(static_cast<double>(*second) / static_cast<double>(best.score_ns));
}

// Two machines under one name: paired as they stand, the ends keep a distance that explains them far better than any
// pairing on one clock does.
bool HasConstantOffset(const Scorer& scorer, size_t a, size_t b, const Scorer::Score& best) {
  constexpr int64_t kTimesBetter = 4;
  if (a != b) return false;
  const auto plain = scorer.At(0);
  return plain && plain->pairs >= kMinOffsetPairs && plain->scatter_ns <= kMaxEndResidualNs &&
         plain->scatter_ns <= best.score_ns / kTimesBetter && std::abs(plain->median_ns) > kMaxEndResidualNs;
}

bool AgreesAt(const std::vector<const CollectiveRow*>& a, const std::vector<const CollectiveRow*>& b, int64_t shift) {
  const PairRange range = RangeOf(a.size(), b.size(), shift);
  if (range.size() < MinPairs(a.size(), b.size())) return false;
  for (int64_t i = range.first; i < range.last; ++i) {
    if (!SameSignature(*a[static_cast<size_t>(i)], *b[static_cast<size_t>(i + shift)], true)) return false;
  }
  return true;
}

bool IsExchange(CollectiveOp op) {
  return op == CollectiveOp::kAllToAll || op == CollectiveOp::kAllToAllV || op == CollectiveOp::kGather ||
         op == CollectiveOp::kScatter || op == CollectiveOp::kSend || op == CollectiveOp::kRecv;
}

}  // namespace

ShiftVerdict FindShift(const std::vector<OrderedInstance>& a, const std::vector<OrderedInstance>& b,
                       PairRelation relation, int64_t tick_ns) {
  const Scorer scorer(a, b, relation, tick_ns);
  ShiftVerdict verdict;
  std::optional<Scorer::Score> best;
  for (const int64_t shift : scorer.Candidates()) {
    const auto score = scorer.At(shift);
    if (!score) continue;
    const bool nearer = best && score->score_ns == best->score_ns && std::abs(shift) < std::abs(verdict.shift);
    if (best && score->score_ns >= best->score_ns && !nearer) continue;
    best = score;
    verdict.shift = shift;
  }
  if (!best) return verdict;
  verdict.pairs = best->pairs;
  verdict.end_residual_ns = best->residual_ns;
  verdict.common_rate = scorer.CommonRate(verdict.shift, best->centre_ns);
  verdict.exponent = ExponentOf(scorer, verdict.shift, *best);
  verdict.constant_offset = HasConstantOffset(scorer, a.size(), b.size(), *best);
  return verdict;
}

SignatureVerdict FindSignatureShift(const std::vector<const CollectiveRow*>& a,
                                    const std::vector<const CollectiveRow*>& b) {
  SignatureVerdict verdict;
  const auto difference = static_cast<int64_t>(a.size() > b.size() ? a.size() - b.size() : b.size() - a.size());
  const int64_t reach = std::min(kMaxSignatureReach, difference + kReach);
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
  return (a == CollectiveOp::kSendRecv && IsExchange(b)) || (b == CollectiveOp::kSendRecv && IsExchange(a));
}

}  // namespace lockstep
