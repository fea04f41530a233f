#include "analysis/metrics/clock_align/group_clock.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "analysis/base/executor.h"
#include "analysis/metrics/clock_align/event_groups.h"
#include "analysis/metrics/clock_align/latest_start.h"
#include "analysis/metrics/clock_align/line_coverage.h"
#include "analysis/metrics/clock_align/own_durations.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr int kFitRounds = 12;
constexpr double kLeastEndScaleNs = 50;
constexpr double kOwnPositionNs = 3'000;    // position of a domain against one last arriver, where nothing measures it
constexpr double kOwnPositionShare = 0.05;  // ... or this share of the duration
constexpr double kBendAtTenSecondsNs = 150;
constexpr double kFewClusters = 3;  // last arrivers below which their positions are not averaged out
constexpr double kChance = 2;       // the clustered variance may exceed the plain one by so much without meaning
constexpr size_t kMaxClusters = 64;
constexpr double kOwnScatter = 4;  // a domain whose ends scatter so many times as others' is fitted with its own scale
// Of what sets the last arrivers' own durations apart, the share that belongs to their ends and not their starts, and
// the variance that is left in doubt.
constexpr double kEndShare = 1.0;
constexpr double kLeftShare = 0.06;
constexpr double kLeastPosition = 0.003;  // ... and at the least, of instances longer than that
constexpr double kLeastDoubt = 0.05;  // ... of which, beyond that length, this share of the duration is left in doubt
constexpr double kFewInstances = 3;
constexpr double kMostPositionOfTypical = 0.3;
constexpr double kClearLead = 0.5;  // scales of ends by which a start is surely later than another
constexpr double kSettled = 5;      // instances after which a last arriver has half of its full weight

struct Member {
  size_t domain = 0;  // of the group
  const DomainTimes* times = nullptr;
};

struct Instance {
  const DomainEvent* event = nullptr;
  size_t cls = 0;  // of the group
  std::vector<Member> members;
  double common_end = 0;
  size_t last = 0;           // into members
  bool surely_last = false;  // whatever the positions are
  double balance = 1;
};

class GroupFit {
 public:
  GroupFit(const EventGroup& group, const DomainEvents& events, const Knots& knots)
      : knots_(knots), bandwidth_bound_(group.typical_ns > kBandwidthBoundNs) {
    out_.domains = group.domains;
    // Numbered within the group: a run may have a class, and a group, for every two ranks.
    for (const DomainEvent* event : group.events) out_.classes.push_back(event->cls);
    std::sort(out_.classes.begin(), out_.classes.end());
    out_.classes.erase(std::unique(out_.classes.begin(), out_.classes.end()), out_.classes.end());
    for (const DomainEvent* event : group.events) AddInstance(events, *event);
    x_.assign(out_.domains.size(), std::vector<double>(knots.size()));
    position_.assign(x_.size(), 0);
    position_variance_.assign(x_.size(), 0);
  }

  GroupClock Fit() {
    Start();
    for (int round = 0; round < kFitRounds; ++round) {
      FindLast();
      FindCommonEnds();
      MeasureScales();
      FitDomains();
      if (round == 0 && bandwidth_bound_) {
        GuessPositions();
      } else {
        MeasurePositions();
      }
    }
    FindLast();
    FindCommonEnds();
    MeasureVariances();
    for (size_t d = 0; d < x_.size(); ++d) {
      for (double& value : x_[d]) value -= position_[d];
      for (double& variance : out_.variance[d]) variance += position_variance_[d];
    }
    out_.value = x_;
    WidenScales();
    return std::move(out_);
  }

 private:
  void AddInstance(const DomainEvents& events, const DomainEvent& event) {
    Instance instance;
    instance.event = &event;
    for (uint32_t i = 0; i < event.count; ++i) {
      const DomainTimes& times = events.times[event.first + i];
      const auto at = std::lower_bound(out_.domains.begin(), out_.domains.end(), times.domain);
      instance.members.push_back({static_cast<size_t>(at - out_.domains.begin()), &times});
    }
    const auto cls = std::lower_bound(out_.classes.begin(), out_.classes.end(), event.cls);
    instance.cls = static_cast<size_t>(cls - out_.classes.begin());
    instances_.push_back(std::move(instance));
  }

  [[nodiscard]] double Residual(const Instance& k, const Member& m) const {
    return m.times->mean_end - knots_.At(x_[m.domain], k.event->t) - k.common_end;
  }

  // Lines through medians of neighbouring instances: survives wrong records, knows nothing of who was last.
  void Start() {
    constexpr size_t kBin = 9;
    std::vector<std::vector<Sample>> series(x_.size());
    for (Instance& k : instances_) {
      std::vector<double> ends;
      for (const Member& m : k.members) ends.push_back(m.times->mean_end);
      const double middle = Median(std::move(ends));
      for (const Member& m : k.members) series[m.domain].push_back({k.event->t, m.times->mean_end - middle});
    }
    for (size_t d = 0; d < x_.size(); ++d) x_[d] = FitKnots(knots_, MedianBins(series[d], kBin), BendSd());
  }

  // Between knots clocks bend by a fraction of a ppm.
  [[nodiscard]] double BendSd() const { return 1'000 + 4e-7 * knots_.width(); }

  // How far a clock wanders off the line between knots.
  [[nodiscard]] double Bend() const { return kBendAtTenSecondsNs * std::pow(knots_.width() / 10e9, 1.5); }

  void FindLast() {
    std::vector<double> times_last(x_.size());
    for (Instance& k : instances_) {
      const double scale = ScaleOf(k);
      LatestStart with_positions;
      LatestStart by_clocks;
      for (size_t i = 0; i < k.members.size(); ++i) {
        const Member& m = k.members[i];
        if (scale > 0 && HuberWeight(Residual(k, m), scale) <= 0) continue;
        const double start = m.times->last_start - knots_.At(x_[m.domain], k.event->t);
        by_clocks.Add(i, start);
        with_positions.Add(i, start + position_[m.domain]);
      }
      k.last = with_positions.member();
      k.surely_last = k.last == by_clocks.member() && by_clocks.lead() > kClearLead * scale;
      if (!k.event->lacking) ++times_last[k.members[k.last].domain];
    }
    for (Instance& k : instances_) k.balance = 1 / (times_last[k.members[k.last].domain] + kSettled);
    out_.times_last.clear();
    for (double n : times_last) out_.times_last.push_back(std::llround(n));
  }

  // The mean over the members, wrong records left out.
  void FindCommonEnds() {
    std::vector<double> ends;
    for (Instance& k : instances_) {
      ends.clear();
      for (const Member& m : k.members) ends.push_back(m.times->mean_end - knots_.At(x_[m.domain], k.event->t));
      const double middle = Median(ends);
      k.common_end = middle;
      const double scale = ScaleOf(k);
      if (scale == 0) continue;
      double sum = 0;
      double weights = 0;
      for (double e : ends) {
        const double weight = HuberWeight(e - middle, 1.5 * scale);
        sum += weight * (e - middle);
        weights += weight;
      }
      if (weights > 0) k.common_end += sum / weights;
    }
  }

  [[nodiscard]] double ScaleOf(const Instance& k) const {
    return k.cls < out_.class_scale.size() ? out_.class_scale[k.cls] : 0;
  }

  void MeasureScales() {
    std::vector<std::vector<double>> residuals(out_.classes.size());
    for (const Instance& k : instances_) {
      // The mean took one of the members' freedoms.
      const auto n = static_cast<double>(k.members.size());
      const double freedom = std::sqrt(n / (n - 1));
      for (const Member& m : k.members) residuals[k.cls].push_back(freedom * Residual(k, m));
    }
    out_.class_scale.assign(out_.classes.size(), 0);
    for (size_t c = 0; c < out_.classes.size(); ++c) {
      if (!residuals[c].empty()) out_.class_scale[c] = std::max(kLeastEndScaleNs, RobustScale(residuals[c], 0));
    }
    MeasureOwnScatter();
  }

  // Most records of a clock that contradicts itself would else count as wrong, and the few that by chance do not as
  // exact.
  void MeasureOwnScatter() {
    std::vector<std::vector<double>> residuals(x_.size());
    for (const Instance& k : instances_) {
      for (const Member& m : k.members) residuals[m.domain].push_back(Residual(k, m) / out_.class_scale[k.cls]);
    }
    own_scatter_.assign(x_.size(), 1);
    for (size_t d = 0; d < x_.size(); ++d) {
      const double own = RobustScale(residuals[d], 0);
      if (own > kOwnScatter) own_scatter_[d] = own;
    }
  }

  [[nodiscard]] double WeightOf(const Instance& k, const Member& m) const {
    const double scale = out_.class_scale[k.cls] * own_scatter_[m.domain];
    return k.balance / Square(scale) * HuberWeight(Residual(k, m), scale);
  }

  void FitDomains() {
    std::vector<std::vector<WeightedSample>> samples(x_.size());
    double balance = 0;
    for (const Instance& k : instances_) {
      balance += k.balance;
      for (const Member& m : k.members) {
        const double clock = knots_.At(x_[m.domain], k.event->t);
        samples[m.domain].push_back({k.event->t, Residual(k, m) + clock, WeightOf(k, m)});
      }
    }
    // Balanced weights count together as much as the instances do, against the prior.
    const double scale = static_cast<double>(instances_.size()) / balance;
    for (size_t d = 0; d < x_.size(); ++d) {
      for (WeightedSample& s : samples[d]) s.weight *= scale;
      x_[d] = FitKnots(knots_, samples[d], BendSd());
    }
  }

  // By class: how many ends a domain's mean end is usually the mean of. The mean scatters less than a single end does.
  [[nodiscard]] std::vector<double> EndsOfClasses() const {
    std::vector<std::vector<double>> counts(out_.classes.size());
    for (const Instance& k : instances_) {
      for (const Member& m : k.members) counts[k.cls].push_back(m.times->ends);
    }
    std::vector<double> out;
    for (std::vector<double>& of_class : counts) out.push_back(Median(std::move(of_class)));
    return out;
  }

  // Ends of other positions lie farther apart than the noise of a single one.
  void WidenScales() {
    double farthest = 0;
    for (double p : position_) farthest = std::max(farthest, std::abs(p));
    const std::vector<double> ends = EndsOfClasses();
    for (size_t c = 0; c < out_.class_scale.size(); ++c) {
      const double noise = out_.class_scale[c] * std::sqrt(ends[c]);
      if (noise > 0) out_.noise_ns = out_.noise_ns > 0 ? std::min(out_.noise_ns, noise) : noise;
    }
    for (double& scale : out_.class_scale) scale = scale > 0 ? std::hypot(scale, farthest) : 0;
    for (double duration : out_.self_duration) out_.duration_ns = std::max(out_.duration_ns, duration);
  }

  // Clustered by the last arriver, so that positions against it count as what they are: one draw each.
  void MeasureVariances() {
    const size_t n = x_.size();
    const size_t lasts = std::min(n, kMaxClusters);
    const size_t knots = knots_.size();
    std::vector<std::vector<double>> score(n * lasts, std::vector<double>(knots));
    std::vector<std::vector<double>> own(n, std::vector<double>(knots));
    std::vector<std::vector<double>> weight(n, std::vector<double>(knots));
    std::vector<std::vector<LineCoverage>> coverage(n, std::vector<LineCoverage>(knots));  // from each knot to the next
    std::vector<std::vector<double>> per_last(n, std::vector<double>(lasts));
    std::vector<double> durations;
    double longest = 0;
    for (const Instance& k : instances_) {
      const Knots::Place place = knots_.Locate(k.event->t);
      const size_t last = k.members[k.last].domain % lasts;
      durations.push_back(k.members[k.last].times->shortest);
      for (const Member& m : k.members) {
        longest = std::max(longest, m.times->shortest);
        const double w = WeightOf(k, m);
        const double r = Residual(k, m);
        per_last[m.domain][last] += w;
        coverage[m.domain][place.knot].Add(place.share, w);
        for (const auto& [knot, share] :
             {std::pair(place.knot, 1 - place.share), std::pair(place.knot + 1, place.share)}) {
          const double hat = std::clamp(share, 0.0, 1.0);
          score[m.domain * lasts + last][knot] += w * hat * r;
          own[m.domain][knot] += Square(w * hat * r);
          weight[m.domain][knot] += w * hat;
        }
      }
    }
    // A handful of instances fits any clock: only their durations bound what it may be.
    const auto count = static_cast<double>(instances_.size());
    const double few = count > kFewInstances ? count / (count - kFewInstances) : 1;
    const double unproven = count > kFewInstances ? 0 : Square(longest);
    const double unmeasured = std::max(kOwnPositionNs, kOwnPositionShare * Median(std::move(durations)));
    const bool everybody_last =
        std::all_of(out_.times_last.begin(), out_.times_last.end(), [](int64_t times) { return times >= 3; });
    out_.variance.assign(n, std::vector<double>(knots));
    for (size_t d = 0; d < n; ++d) {
      const double sum = std::accumulate(per_last[d].begin(), per_last[d].end(), 0.0);
      double squares = 0;
      for (double w : per_last[d]) squares += w * w;
      const double clusters = squares > 0 ? sum * sum / squares : 1;
      for (size_t j = 0; j < knots; ++j) {
        double clustered = 0;
        for (size_t l = 0; l < lasts; ++l) clustered += Square(score[d * lasts + l][j]);
        const bool balanced = everybody_last || clusters >= kFewClusters;
        const double correction = clusters > 1.5 ? clusters / (clusters - 1) : 1;
        const double stat = std::max(own[d][j], correction * clustered / kChance);
        const double total = std::max(weight[d][j], 1e-30);
        const double before = j > 0 ? coverage[d][j - 1].LineFactor(true) : INFINITY;
        const double line = std::min(before, coverage[d][j].LineFactor(false));
        out_.variance[d][j] = line * few * stat / Square(total) + unproven +
                              (balanced ? 0 : Square(unmeasured / clusters)) + Square(Bend());
      }
    }
  }

  // Who is taken for the last one because of a wrong position waits for the one that is, and so confirms the position:
  // only those count who are last without it, too. Positions of large transfers are larger than most leads.
  OwnDurations OwnDurationsOfLast() {
    std::vector<OwnSample> samples;
    samples.reserve(instances_.size());
    for (const Instance& k : instances_) {
      if (k.event->lacking || (!bandwidth_bound_ && !k.surely_last)) continue;
      const DomainTimes& last = *k.members[k.last].times;
      samples.push_back({k.cls, k.members[k.last].domain, last.mean_end - last.last_start, last.last_known});
    }
    OwnDurations own = MeasureOwnDurations(samples, out_.classes.size(), x_.size(), kLeastEndScaleNs);
    out_.self_duration = own.by_class;
    return own;
  }

  // A first idea of the positions without knowing who was last: how soon after its own start the common end may come,
  // at the least. Each domain is taken to be last equally often.
  void GuessPositions() {
    std::vector<std::vector<double>> times(x_.size());
    for (const Instance& k : instances_) {
      const double scale = ScaleOf(k);
      for (const Member& m : k.members) {
        if (HuberWeight(Residual(k, m), scale) <= 0) continue;
        times[m.domain].push_back(k.common_end - m.times->last_start + knots_.At(x_[m.domain], k.event->t));
      }
    }
    double mean = 0;
    for (size_t d = 0; d < x_.size(); ++d) {
      const size_t at = times[d].size() / (2 * x_.size());
      if (at < 2) {
        position_.assign(x_.size(), 0);
        return;
      }
      position_[d] = OrderStatistic(std::move(times[d]), at);
      mean += position_[d] / static_cast<double>(x_.size());
    }
    for (double& p : position_) p -= mean;
  }

  // What a domain's own duration exceeds the others' by belongs mostly to its end, as far as it stands out of the
  // noise.
  void MeasurePositions() {
    const OwnDurations own = OwnDurationsOfLast();
    std::vector<double> mean(x_.size());
    std::vector<size_t> measured;
    double centre = 0;
    double weights = 0;
    for (size_t d = 0; d < x_.size(); ++d) {
      if (own.weight[d] <= 0) continue;
      mean[d] = own.sum[d] / own.weight[d];
      centre += own.sum[d];
      weights += own.weight[d];
      measured.push_back(d);
    }
    if (weights > 0) centre /= weights;
    const double usual = Square(kUsualPosition * own.typical_ns);
    double real = usual;
    if (measured.size() >= 3) {
      const auto freedom = static_cast<double>(measured.size() - 1);
      const double doubt = freedom / weights * std::sqrt(2 / freedom) / 2;
      real = std::max(RealSpread(mean, own.weight, measured, centre), std::min(usual, doubt));
    }
    if (own.typical_ns > kBandwidthBoundNs) real = std::max(real, Square(kLeastPosition * own.typical_ns));
    const bool mixed = own.mixed || real > Square(kMixedShare * own.typical_ns);
    if (mixed) real = usual;
    for (size_t d = 0; d < x_.size(); ++d) {
      const double trust = own.weight[d] > 0 && !mixed ? real / (real + 1 / own.weight[d]) : 0;
      const double most = kMostPositionOfTypical * own.typical_ns;
      position_[d] = std::clamp(kEndShare * trust * (mean[d] - centre), -most, most);
      position_variance_[d] = (kLeftShare + 1 - trust) * real;
      // Where ends lie farther apart than arrivals do, who was last is a guess, and so is whose duration was measured.
      if (own.typical_ns > kBandwidthBoundNs) position_variance_[d] = Square(kLeastDoubt * own.typical_ns);
    }
  }

  // Variance between the domains beyond what their noise explains: moments, as for random effects.
  static double RealSpread(const std::vector<double>& mean, const std::vector<double>& weight,
                           const std::vector<size_t>& measured, double centre) {
    double total = 0;
    double squares = 0;
    double spread = 0;
    for (size_t d : measured) {
      total += weight[d];
      squares += Square(weight[d]);
      spread += weight[d] * Square(mean[d] - centre);
    }
    const double freedom = static_cast<double>(measured.size()) - 1;
    return std::max(0.0, (spread - freedom) / (total - squares / total));
  }

  const Knots& knots_;
  const bool bandwidth_bound_;
  GroupClock out_;
  std::vector<Instance> instances_;
  std::vector<std::vector<double>> x_;  // clock and position of the end, which the ends alone cannot tell apart
  std::vector<double> own_scatter_;     // per domain of the group: its scale against that of the class
  std::vector<double> position_;        // per domain of the group
  std::vector<double> position_variance_;
};

}  // namespace

std::vector<GroupClock> MeasureGroups(const DomainEvents& events, int32_t component, const Knots& knots,
                                      Executor& executor) {
  const std::vector<EventGroup> groups = GroupsOf(events, component);
  std::vector<GroupClock> out(groups.size());
  executor.ParallelFor(groups.size(), [&](size_t g) { out[g] = GroupFit(groups[g], events, knots).Fit(); });
  return out;
}

}  // namespace lockstep
