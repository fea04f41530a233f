// Clock models of stretches of a run that follow each other, made one.
#include <algorithm>
#include <cstdlib>
#include <set>

#include "analysis/base/check.h"
#include "analysis/base/disjoint_sets.h"
#include "analysis/metrics/clock_align/clock_model.h"

namespace lockstep {
namespace {

// The knot that a clock would have at this local time.
ClockKnot KnotAt(const std::vector<ClockKnot>& knots, int64_t offset_ns, int64_t t_ns) {
  ClockKnot out;
  if (!knots.empty()) {
    out = *std::min_element(knots.begin(), knots.end(), [&](const ClockKnot& a, const ClockKnot& b) {
      return std::abs(a.t_ns - t_ns) < std::abs(b.t_ns - t_ns);
    });
  }
  const int64_t moved = offset_ns - out.offset_ns;
  out.t_ns = t_ns;
  out.offset_ns = offset_ns;
  out.lo_ns += moved;
  out.hi_ns += moved;
  return out;
}

ClockMethod Weaker(ClockMethod a, ClockMethod b) {
  if (a == ClockMethod::kNone) return b;
  return b == ClockMethod::kNone ? a : std::max(a, b);
}

// Of both stretches by their lengths, so that what lies between them is no drift.
std::optional<double> DriftOf(const DomainClock& before, const DomainClock& after, int64_t t_ns) {
  if (!before.drift_ppm || !after.drift_ppm) return before.drift_ppm ? before.drift_ppm : after.drift_ppm;
  const auto length = [](int64_t from, int64_t to) { return static_cast<double>(std::max<int64_t>(1, to - from)); };
  const double own = length(before.knots.front().t_ns, t_ns);
  const double next = length(t_ns, after.knots.back().t_ns);
  return (*before.drift_ppm * own + *after.drift_ppm * next) / (own + next);
}

// Pieces that begin at or after `from` go, those of `later` from there on come.
template <typename Piece>
void AppendPieces(const std::vector<Piece>& later, int64_t from_ns, int64_t Piece::*begin, int64_t Piece::*value,
                  std::vector<Piece>& pieces) {
  std::erase_if(pieces, [&](const Piece& piece) { return piece.*begin >= from_ns; });
  const Piece* running = nullptr;
  for (const Piece& piece : later) {
    if (piece.*begin <= from_ns) running = &piece;
  }
  if (running != nullptr && (pieces.empty() || pieces.back().*value != running->*value)) {
    pieces.push_back(*running);
    pieces.back().*begin = from_ns;
  }
  std::copy_if(later.begin(), later.end(), std::back_inserter(pieces),
               [&](const Piece& piece) { return piece.*begin > from_ns; });
}

}  // namespace

void ClockModel::Append(const ClockModel& later, AlignedTime from, const std::vector<bool>& seen) {
  LOCKSTEP_CHECK(later.domains_ == domains_);
  for (size_t r = 0; r < biases_.size(); ++r) {
    if (!seen[r] || (biases_[r].empty() && later.biases_[r].empty())) continue;
    if (biases_[r].empty()) biases_[r].emplace_back();
    const std::vector<BiasPiece> none(1);
    AppendPieces(later.biases_[r].empty() ? none : later.biases_[r], later.ToLocal(static_cast<int32_t>(r), from).ns,
                 &BiasPiece::from_ns, &BiasPiece::bias_ns, biases_[r]);
  }
  if (!later.bias_doubts_.empty()) bias_doubts_.resize(domains_.size());
  for (size_t r = 0; r < later.bias_doubts_.size(); ++r) {
    bias_doubts_[r] = std::max(bias_doubts_[r], later.bias_doubts_[r]);
  }
  AppendPairs(later, from);
  ConnectComponents(later);
  for (int32_t d = 0; d < domains(); ++d) AppendClock(later, DomainId{d}, from);
}

void ClockModel::TakeOver(const ClockModel& other, const std::vector<size_t>& ranks) {
  LOCKSTEP_CHECK(other.domains_ == domains_);
  std::set<int32_t> domains;
  for (const size_t r : ranks) {
    domains.insert(domains_[r].value);
    biases_[r] = other.biases_[r];
    if (!bias_doubts_.empty() || !other.bias_doubts_.empty()) {
      SetBiasDoubt(static_cast<int32_t>(r), other.BiasDoubtOf(static_cast<int32_t>(r)));
    }
    if (pairs_.size() < other.pairs_.size()) pairs_.resize(other.pairs_.size());
    if (r < pairs_.size()) pairs_[r] = r < other.pairs_.size() ? other.pairs_[r] : std::vector<PairOfRank>();
  }
  for (const int32_t d : domains) {
    clocks_[static_cast<size_t>(d)] = other.clocks_[static_cast<size_t>(d)];
    domain_pairs_.erase(domain_pairs_.lower_bound({d, INT32_MIN}), domain_pairs_.lower_bound({d + 1, INT32_MIN}));
    domain_pairs_.insert(other.domain_pairs_.lower_bound({d, INT32_MIN}),
                         other.domain_pairs_.lower_bound({d + 1, INT32_MIN}));
  }
}

void ClockModel::MoveComponent(int32_t component, int64_t offset_ns) {
  for (DomainClock& clock : clocks_) {
    if (clock.component != component) continue;
    if (clock.knots.empty()) clock.knots.emplace_back();
    for (ClockKnot& knot : clock.knots) {
      for (int64_t* field : {&knot.offset_ns, &knot.lo_ns, &knot.hi_ns}) *field += offset_ns;
    }
  }
  for (auto& [pair, pieces] : domain_pairs_) {
    if (clocks_[static_cast<size_t>(pair.first)].component != component) continue;
    for (OffsetUncertainty& piece : pieces) {
      if (piece.t_ns != INT64_MIN) piece.t_ns -= offset_ns;
    }
  }
}

void ClockModel::AppendClock(const ClockModel& later, DomainId domain, AlignedTime from) {
  DomainClock& own = clocks_[static_cast<size_t>(domain.value)];
  const DomainClock& next = later.ClockOf(domain);
  int64_t t_ns = from.ns;
  for (int round = 0; round < 3; ++round) t_ns = from.ns + later.OffsetOf(domain, LocalTime{t_ns}).ns;
  const bool alone = next.method == ClockMethod::kNone;
  const bool both = own.method != ClockMethod::kNone && next.method != ClockMethod::kNone;
  own.certified = both ? own.certified && next.certified : own.certified || next.certified;
  own.method = Weaker(own.method, next.method);
  own.instances += next.instances;
  own.record_sd_ns = std::max(own.record_sd_ns, next.record_sd_ns);
  if (!alone && !next.knots.empty()) {
    std::erase_if(own.steps, [&](const ClockStepEvent& step) { return step.t_ns >= t_ns; });
  }
  std::copy_if(next.steps.begin(), next.steps.end(), std::back_inserter(own.steps),
               [&](const ClockStepEvent& step) { return step.t_ns >= t_ns; });
  if (alone || next.knots.empty()) return;  // it shares nothing with others here: it goes on as it went
  if (own.knots.empty() || t_ns <= own.knots.front().t_ns) {
    own.knots = next.knots;
    own.drift_ppm = next.drift_ppm;
    return;
  }
  own.drift_ppm = DriftOf(own, next, t_ns);
  const int64_t before_ns = OffsetOf(domain, LocalTime{t_ns}).ns;
  const ClockKnot last = KnotAt(own.knots, before_ns, t_ns);
  std::erase_if(own.knots, [&](const ClockKnot& knot) { return knot.t_ns >= t_ns; });
  own.knots.push_back(last);
  own.knots.push_back(KnotAt(next.knots, later.OffsetOf(domain, LocalTime{t_ns}).ns, t_ns));
  std::copy_if(next.knots.begin(), next.knots.end(), std::back_inserter(own.knots),
               [&](const ClockKnot& knot) { return knot.t_ns > t_ns; });
}

void ClockModel::AppendPairs(const ClockModel& later, AlignedTime from) {
  for (size_t r = 0; r < later.pairs_.size(); ++r) {
    for (const PairOfRank& pair : later.pairs_[r]) {
      int64_t& own = UncertaintyOf(static_cast<int32_t>(r), pair.other);
      own = std::max(own, pair.uncertainty_ns);
    }
  }
  for (const auto& [pair, pieces] : later.domain_pairs_) {
    AppendPieces(pieces, from.ns, &OffsetUncertainty::t_ns, &OffsetUncertainty::half_width_ns, domain_pairs_[pair]);
  }
}

void ClockModel::ConnectComponents(const ClockModel& later) {
  const auto count = static_cast<size_t>(domains());
  DisjointSets connected(count);
  for (const ClockModel* model : {static_cast<const ClockModel*>(this), &later}) {
    std::map<int32_t, size_t> first;  // domain of each component
    for (size_t d = 0; d < count; ++d) {
      connected.Join(first.emplace(model->clocks_[d].component, d).first->second, d);
    }
  }
  std::map<size_t, int32_t> lowest;
  for (size_t d = 0; d < count; ++d) {
    clocks_[d].component = lowest.emplace(connected.Find(d), static_cast<int32_t>(d)).first->second;
  }
}

}  // namespace lockstep
