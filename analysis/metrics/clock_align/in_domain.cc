#include "analysis/metrics/clock_align/in_domain.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

#include "analysis/base/executor.h"
#include "analysis/metrics/clock_align/dense.h"
#include "analysis/metrics/clock_align/group_clock.h"
#include "analysis/metrics/clock_align/pair_ends.h"

namespace lockstep {
namespace {

using RankPair = std::pair<int32_t, int32_t>;  // rank indices, ascending
using PairEnds = std::map<RankPair, std::vector<PairEnd>>;

constexpr int64_t kLeastUncertaintyNs = 1'000;
constexpr double kUnmeasuredBiasNs = 2'000;  // sd of a device bias of which nothing is known
constexpr size_t kMaxPairEnds = 1 << 14;     // a pair's ends are thinned evenly beyond

struct DomainMembers {
  const ClockInstance* instance = nullptr;
  std::vector<const ClockMember*> members;  // of this domain, two or more
};

// Instances that bind comparable ends of at least two ranks of the domain, by domain.
std::vector<std::vector<DomainMembers>> ByDomain(const ClockInput& input, size_t domains) {
  std::vector<std::vector<DomainMembers>> out(domains);
  std::map<int32_t, std::vector<const ClockMember*>> here;
  for (const ClockInstance& instance : input.instances) {
    if (instance.own_ends) continue;
    if (instance.relation != ClockRelation::kAllPairs && instance.members != 2) continue;
    here.clear();
    for (uint32_t m = 0; m < instance.members; ++m) {
      const ClockMember& member = input.members[instance.first_member + m];
      here[input.domain[static_cast<size_t>(member.rank_index)]].push_back(&member);
    }
    for (const auto& [domain, members] : here) {
      if (members.size() >= 2) out[static_cast<size_t>(domain)].push_back({&instance, members});
    }
  }
  return out;
}

// Evenly thinned, in order of time, so that the series of the pairs are.
std::vector<const DomainMembers*> Chosen(const std::vector<DomainMembers>& instances) {
  const size_t stride = 1 + instances.size() / kMaxPairEnds;
  std::vector<const DomainMembers*> out;
  for (size_t i = 0; i < instances.size(); ++i) {
    if (i % stride == 0 || instances.size() <= kMaxPairEnds) out.push_back(&instances[i]);
  }
  std::stable_sort(out.begin(), out.end(), [](const DomainMembers* a, const DomainMembers* b) {
    return a->members.front()->end_ns < b->members.front()->end_ns;
  });
  return out;
}

// Of the ends of one pair, which are met one after the other, so many evenly thinned ones.
class Thinned {
 public:
  void Count() { ++count_; }
  // Whether the next one is of them.
  [[nodiscard]] bool TakesNext(size_t most) {
    const bool takes = count_ <= most || met_ == taken_ * count_ / most;
    ++met_;
    if (takes) ++taken_;
    return takes;
  }
  [[nodiscard]] size_t Room(size_t most) const { return std::min(count_, most); }

 private:
  size_t count_ = 0;
  size_t met_ = 0;
  size_t taken_ = 0;
};

// use(x, y) for each two members, the lower rank first.
template <typename Use>
void ForEachPair(const std::vector<const ClockMember*>& members, const Use& use) {
  for (size_t a = 0; a < members.size(); ++a) {
    for (size_t b = a + 1; b < members.size(); ++b) {
      const bool ordered = members[a]->rank_index < members[b]->rank_index;
      use(ordered ? *members[a] : *members[b], ordered ? *members[b] : *members[a]);
    }
  }
}

// The ends of every pair of the domain: counted first, so that only those that are used are kept.
class PairTable {
 public:
  void Count(const std::vector<const ClockMember*>& members) {
    FindPlaces(members);
    for (const size_t place : places_) pairs_[place].thinned.Count();
  }

  void Add(const DomainMembers& of, size_t most) {
    const bool whole = of.members.size() == of.instance->members;
    int64_t last = INT64_MIN;
    for (const ClockMember* m : of.members) last = std::max(last, m->start_ns);
    FindPlaces(of.members);
    auto place = places_.begin();
    ForEachPair(of.members, [&](const ClockMember& x, const ClockMember& y) {
      OfPair& pair = pairs_[*place++];
      if (!pair.thinned.TakesNext(most)) return;
      if (pair.ends.empty()) pair.ends.reserve(pair.thinned.Room(most));
      const ClockMember& later = x.start_ns > y.start_ns ? x : y;
      pair.ends.push_back({x.end_ns, x.end_ns - y.end_ns, x.start_ns - y.start_ns,
                           std::min(x.end_ns - x.start_ns, y.end_ns - y.start_ns), of.instance->cls,
                           later.start_ns == last, whole ? later.end_ns - later.start_ns : 0});
    });
  }

  [[nodiscard]] PairEnds Take() {
    PairEnds out;
    for (const auto& [pair, place] : place_) out.emplace(pair, std::move(pairs_[place].ends));
    return out;
  }

 private:
  struct OfPair {
    Thinned thinned;
    std::vector<PairEnd> ends;
  };

  // Those of the members' pairs, which mostly are those of the instance before.
  void FindPlaces(const std::vector<const ClockMember*>& members) {
    const auto same_rank = [](const ClockMember* m, int32_t rank) { return m->rank_index == rank; };
    if (std::equal(members.begin(), members.end(), ranks_.begin(), ranks_.end(), same_rank)) return;
    ranks_.clear();
    for (const ClockMember* m : members) ranks_.push_back(m->rank_index);
    places_.clear();
    ForEachPair(members, [&](const ClockMember& x, const ClockMember& y) {
      const auto [at, is_new] = place_.try_emplace(RankPair(x.rank_index, y.rank_index), pairs_.size());
      if (is_new) pairs_.emplace_back();
      places_.push_back(at->second);
    });
  }

  absl::flat_hash_map<RankPair, size_t> place_;
  std::vector<OfPair> pairs_;
  std::vector<int32_t> ranks_;  // of the last members, and the places of their pairs in order of ForEachPair
  std::vector<size_t> places_;
};

PairEnds Collect(const std::vector<DomainMembers>& instances, size_t most) {
  const std::vector<const DomainMembers*> chosen = Chosen(instances);
  PairTable table;
  for (const DomainMembers* of : chosen) table.Count(of->members);
  for (const DomainMembers* of : chosen) table.Add(*of, most);
  return table.Take();
}

struct PairFigure {
  RankPair pair;
  int64_t uncertainty_ns = 0;
  int64_t instances = 0;
};

struct DomainFigures {
  std::vector<PairFigure> pairs;
  std::map<int32_t, std::vector<BiasPiece>> bias;
  std::map<int32_t, double> bias_sd_ns;
  std::map<int32_t, double> jitter_ns;
};

class DomainMeasurement {
 public:
  DomainMeasurement(const ClockInput& input, PairEnds ends) : input_(input), ends_(std::move(ends)) {
    for (const auto& [pair, unused] : ends_) {
      index_.emplace(pair.first, 0);
      index_.emplace(pair.second, 0);
    }
    size_t next = 0;
    for (auto& [rank, index] : index_) {
      index = next++;
      ranks_.push_back(rank);
    }
  }

  DomainFigures Measure() {
    MeasureCentres(ends_);
    FindBreaks();
    std::vector<double> before(ranks_.size());
    bool any = false;
    for (size_t part = 0; part <= breaks_.size(); ++part) {
      const int64_t from = part == 0 ? INT64_MIN : breaks_[part - 1];
      const int64_t to = part == breaks_.size() ? INT64_MAX : breaks_[part];
      if (!breaks_.empty()) MeasureCentres(Between(from, to));
      any = any || Significant();
      if (any) AddPart(from, before);
      AddUncertainties(any ? before : std::vector<double>(ranks_.size()));
    }
    AddSpreads();
    return std::move(out_);
  }

 private:
  [[nodiscard]] int64_t TickOf(const RankPair& pair) const {
    return std::max(input_.tick_ns[static_cast<size_t>(pair.first)], input_.tick_ns[static_cast<size_t>(pair.second)]);
  }

  void MeasureCentres(const PairEnds& ends) {
    centres_.clear();
    for (const auto& [pair, all] : ends) {
      if (!all.empty()) centres_.emplace(pair, CentreOf(all, TickOf(pair)));
    }
    BorrowEffects();
    for (auto& [pair, centre] : centres_) centre.Guess(kUnmeasuredBiasNs * std::sqrt(2.0));
  }

  // A device that is nearly always the last one is measured from that side alone: what the side matters is known from
  // the pairs of the other devices.
  void BorrowEffects() {
    constexpr double kShareInDoubt = 0.25;
    std::vector<double> effects;
    for (const auto& [pair, centre] : centres_) {
      const std::vector<double> of_pair = centre.LastEffects();
      effects.insert(effects.end(), of_pair.begin(), of_pair.end());
    }
    if (effects.size() < PairCentre::kEachSide) return;
    const double effect = Median(effects);
    const double se = RobustScale(effects, effect) / std::sqrt(static_cast<double>(effects.size()));
    const double sd = std::hypot(se, kShareInDoubt * effect);
    for (auto& [pair, centre] : centres_) centre.Borrow(effect, sd);
  }

  [[nodiscard]] PairEnds Between(int64_t from, int64_t to) const {
    PairEnds out;
    for (const auto& [pair, all] : ends_) {
      auto& part = out[pair];
      std::copy_if(all.begin(), all.end(), std::back_inserter(part),
                   [&](const PairEnd& e) { return e.t_ns >= from && e.t_ns < to; });
    }
    return out;
  }

  // Jumps that at least half of the pairs of one device show at about the same time.
  void FindBreaks() {
    std::vector<int64_t> times;
    int64_t span = 0;
    for (const auto& [pair, centre] : centres_) {
      if (!centre.balanced()) continue;
      const int64_t origin = centre.used.front().t_ns;
      span = std::max(span, centre.used.back().t_ns - origin);
      for (const Jump& jump : JumpsOf(centre)) times.push_back(origin + std::llround(jump.t));
    }
    std::sort(times.begin(), times.end());
    const size_t needed = std::max<size_t>(1, (ranks_.size() - 1) / 2);
    for (size_t i = 0; i < times.size();) {
      size_t same = i;
      while (same < times.size() && times[same] - times[i] <= span / 50) ++same;
      if (same - i >= needed) breaks_.push_back(times[i + (same - i) / 2]);
      i = same;
    }
  }

  [[nodiscard]] bool Significant() const {
    return std::any_of(centres_.begin(), centres_.end(), [](const auto& item) {
      const PairCentre& centre = item.second;
      return centre.guessed || (centre.measured() && std::abs(centre.centre_ns) > 3 * centre.se_ns);
    });
  }

  // Least squares over the balanced pairs. Only differences are measured: the first part has mean 0, and from part to
  // part most devices are taken to stay.
  void AddPart(int64_t from, std::vector<double>& bias) {
    constexpr double kModelErrorNs = 100;
    SymmetricMatrix normal(ranks_.size());
    std::vector<double> right(ranks_.size());
    for (const auto& [pair, centre] : centres_) {
      if (!centre.measured()) continue;
      const double weight = 1 / (centre.se_ns * centre.se_ns + kModelErrorNs * kModelErrorNs);
      const size_t a = index_.at(pair.first);
      const size_t b = index_.at(pair.second);
      normal.AddDifference(a, b, weight);
      right[a] += weight * centre.centre_ns;
      right[b] -= weight * centre.centre_ns;
    }
    for (size_t i = 0; i < ranks_.size(); ++i) normal.At(i, i) += 1e-4 / (kModelErrorNs * kModelErrorNs);
    std::vector<double> solved = Cholesky(std::move(normal)).Solve(std::move(right));
    std::vector<double> moved;
    for (size_t i = 0; i < ranks_.size(); ++i) moved.push_back(solved[i] - bias[i]);
    const bool first = out_.bias.empty();
    double shift = Median(moved);
    if (first) {
      shift = 0;
      for (double m : moved) shift += m / static_cast<double>(moved.size());
    }
    for (size_t i = 0; i < ranks_.size(); ++i) {
      bias[i] = solved[i] - shift;
      out_.bias[ranks_[i]].push_back({first ? INT64_MIN : from, std::llround(bias[i])});
    }
  }

  void AddUncertainties(const std::vector<double>& bias) {
    for (const auto& [pair, centre] : centres_) {
      const double expected = bias[index_.at(pair.first)] - bias[index_.at(pair.second)];
      const int64_t tick = TickOf(pair);
      int64_t u = std::max(2 * tick, Percentile95(centre.used, std::llround(expected)));
      const bool corrected = std::abs(expected) > 0;  // from other pairs: their places are in it
      if (corrected || centre.duration_ns > kBandwidthBoundNs) {
        u = std::llround(std::hypot(static_cast<double>(u), centre.position_ns));
      }
      if (centre.measured()) {
        const double left = centre.centre_ns - expected;
        const double fit = 4 * centre.se_ns * centre.se_ns + left * left + centre.position_ns * centre.position_ns;
        u = std::llround(std::sqrt(fit + centre.scatter95_ns * centre.scatter95_ns)) + tick;
        u = std::max(u, kLeastUncertaintyNs);
        jitters_[pair.first].push_back(centre.scale_ns / std::sqrt(2.0));
        jitters_[pair.second].push_back(centre.scale_ns / std::sqrt(2.0));
        errors_[pair.first].push_back(centre.se_ns);
        errors_[pair.second].push_back(centre.se_ns);
      }
      PairFigure& figure = figures_[pair];
      figure.pair = pair;
      figure.uncertainty_ns = std::max(figure.uncertainty_ns, u);
      figure.instances = static_cast<int64_t>(ends_.at(pair).size());
    }
  }

  void AddSpreads() {
    for (const auto& [pair, figure] : figures_) out_.pairs.push_back(figure);
    // The differences of n devices share the noise of each device's ends: with sd s of a difference, the sd of a device
    // against the mean of all is s sqrt((1 - 1 / n) / 2).
    const double against_all = std::sqrt((1 - 1 / static_cast<double>(ranks_.size())) / 2);
    for (int32_t rank : ranks_) {
      const bool measured = errors_.contains(rank);
      out_.bias_sd_ns[rank] = measured ? Median(errors_[rank]) * against_all : kUnmeasuredBiasNs;
      if (jitters_.contains(rank)) {
        out_.jitter_ns[rank] = *std::min_element(jitters_[rank].begin(), jitters_[rank].end());
      }
    }
  }

  const ClockInput& input_;
  PairEnds ends_;
  std::map<int32_t, size_t> index_;
  std::vector<int32_t> ranks_;
  std::map<RankPair, PairCentre> centres_;
  std::vector<int64_t> breaks_;
  std::map<RankPair, PairFigure> figures_;
  std::map<int32_t, std::vector<double>> jitters_;
  std::map<int32_t, std::vector<double>> errors_;
  DomainFigures out_;
};

}  // namespace

int64_t DeviceClocks::BiasOf(int32_t rank_index, int64_t local_ns) const {
  int64_t out = 0;
  for (const BiasPiece& piece : bias[static_cast<size_t>(rank_index)]) {
    if (piece.from_ns <= local_ns) out = piece.bias_ns;
  }
  return out;
}

namespace {

// Devices of which nothing was measured, in domains of which others were.
std::vector<bool> SetApart(const ClockInput& input, const std::vector<double>& bias_sd_ns, size_t domains) {
  std::vector<bool> measured(domains);
  for (size_t r = 0; r < bias_sd_ns.size(); ++r) {
    if (bias_sd_ns[r] < kUnmeasuredBiasNs) measured[static_cast<size_t>(input.domain[r])] = true;
  }
  std::vector<bool> apart;
  for (size_t r = 0; r < bias_sd_ns.size(); ++r) {
    apart.push_back(bias_sd_ns[r] >= kUnmeasuredBiasNs && measured[static_cast<size_t>(input.domain[r])]);
  }
  return apart;
}

}  // namespace

DeviceClocks MeasureInDomain(const ClockInput& input, Executor& executor, ClockModel& model) {
  const size_t ranks = input.domain.size();
  std::vector<int32_t> devices(static_cast<size_t>(model.domains()));
  for (int32_t d : input.domain) ++devices[static_cast<size_t>(d)];
  DeviceClocks out;
  out.bias.resize(ranks);
  out.jitter_ns.resize(ranks);
  for (int32_t d : input.domain) out.bias_sd_ns.push_back(devices[static_cast<size_t>(d)] > 1 ? kUnmeasuredBiasNs : 0);
  const auto by_domain = ByDomain(input, devices.size());
  std::vector<DomainFigures> measured(devices.size());
  executor.ParallelFor(measured.size(), [&](size_t d) {
    measured[d] = DomainMeasurement(input, Collect(by_domain[d], input.most_pair_ends)).Measure();
  });
  for (const DomainFigures& figures : measured) {
    for (const PairFigure& p : figures.pairs) {
      model.SetPair(p.pair.first, p.pair.second, p.uncertainty_ns, p.instances);
    }
    for (const auto& [rank, pieces] : figures.bias) {
      out.bias[static_cast<size_t>(rank)] = pieces;
      model.SetBias(rank, pieces);
    }
    for (const auto& [rank, sd] : figures.bias_sd_ns) out.bias_sd_ns[static_cast<size_t>(rank)] = sd;
    for (const auto& [rank, jitter] : figures.jitter_ns) out.jitter_ns[static_cast<size_t>(rank)] = jitter;
  }
  out.apart = SetApart(input, out.bias_sd_ns, devices.size());
  for (size_t r = 0; r < ranks; ++r) {
    if (out.apart[r]) model.SetBiasDoubt(static_cast<int32_t>(r), std::llround(kNormal95 * kUnmeasuredBiasNs));
  }
  return out;
}

}  // namespace lockstep
