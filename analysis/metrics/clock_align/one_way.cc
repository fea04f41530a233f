#include "analysis/metrics/clock_align/one_way.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "analysis/base/executor.h"

namespace lockstep {
namespace {

constexpr size_t kFewestTight = 3;
constexpr double kAsymmetryShare = 0.015;  // of the transfer time, one direction against the other
constexpr double kLeastAsymmetryNs = 300;
constexpr double kLeastTransferScaleNs = 50;

struct Passage {
  double t = 0;
  bool forward = false;  // from a to b
  double sender_start = 0;
  double receiver_start = 0;
  double receiver_end = 0;
  double ends = 0;  // of a less b
  // Bound of a - b from this direction: upper from backward passages, lower from forward ones.
  [[nodiscard]] double Bound() const { return forward ? sender_start - receiver_end : receiver_end - sender_start; }
};

class PairFit {
 public:
  PairFit(std::vector<Passage> passages, const Knots& knots) : knots_(knots), passages_(std::move(passages)) {}

  PairClock Fit() {
    PairClock out;
    std::optional<std::vector<double>> x = Start();
    if (!x) return FromEnds();
    for (int round = 0; round < 4; ++round) {
      x = Refine(*x, out);
      if (!x) return FromEnds();
    }
    out.value = std::move(*x);
    out.two_sided = true;
    return out;
  }

 private:
  // Bounds of either side as they usually are: medians of a few neighbours, of their tighter half. Wrong records and
  // late receivers do not reach these, and what drifts within the few cancels between the sides.
  std::optional<std::vector<double>> Start() const {
    std::optional<std::vector<double>> forward = UsualBounds(true);
    const std::optional<std::vector<double>> backward = UsualBounds(false);
    if (!forward || !backward) return std::nullopt;
    for (size_t j = 0; j < forward->size(); ++j) (*forward)[j] = ((*forward)[j] + (*backward)[j]) / 2;
    return forward;
  }

  [[nodiscard]] std::optional<std::vector<double>> UsualBounds(bool forward) const {
    constexpr size_t kFew = 9;
    std::vector<Sample> bounds;
    for (const Passage& p : passages_) {
      if (p.forward == forward) bounds.push_back({p.t, p.Bound()});
    }
    if (bounds.size() < kFewestTight) return std::nullopt;
    std::vector<WeightedSample> levels;
    std::vector<Sample> few;
    const size_t parts = std::max<size_t>(1, bounds.size() / kFew);
    for (size_t part = 0; part < parts; ++part) {
      few.assign(bounds.begin() + static_cast<std::ptrdiff_t>(part * bounds.size() / parts),
                 bounds.begin() + static_cast<std::ptrdiff_t>((part + 1) * bounds.size() / parts));
      const double t = (few.front().t + few.back().t) / 2;
      const auto tight = few.begin() + static_cast<std::ptrdiff_t>(few.size() / 4);
      std::nth_element(few.begin(), tight, few.end(),
                       [&](const Sample& a, const Sample& b) { return forward ? a.y > b.y : a.y < b.y; });
      levels.push_back({t, tight->y, 1e-8});
    }
    return FitKnots(knots_, levels, 1'000 + 4e-7 * knots_.width());
  }

  struct Tight {
    std::vector<const Passage*> passages;
    std::vector<double> transfers;  // receiver's end less sender's start, by the clocks as known
    double middle = 0;
    double scale = 0;
  };

  Tight TightOf(const std::vector<double>& x, bool forward) const {
    Tight out;
    for (const Passage& p : passages_) {
      if (p.forward != forward) continue;
      const double clock = knots_.At(x, p.t);
      const double sender_late = p.sender_start - p.receiver_start + (forward ? -clock : clock);
      if (sender_late < 0) continue;
      out.passages.push_back(&p);
      out.transfers.push_back(forward ? clock - p.Bound() : p.Bound() - clock);
    }
    out.middle = Median(out.transfers);
    out.scale = std::max(kLeastTransferScaleNs, RobustScale(out.transfers, out.middle));
    return out;
  }

  std::optional<std::vector<double>> Refine(const std::vector<double>& x, PairClock& out) const {
    const Tight forward = TightOf(x, true);
    const Tight backward = TightOf(x, false);
    if (std::min(forward.passages.size(), backward.passages.size()) < kFewestTight) return std::nullopt;
    const double transfer = (forward.middle + backward.middle) / 2;
    std::vector<WeightedSample> samples;
    std::vector<double> weight(knots_.size());
    std::vector<double> score(knots_.size());
    const double both = static_cast<double>(forward.passages.size() + backward.passages.size());
    for (const Tight* tight : {&forward, &backward}) {
      const double balance = both / 2 / static_cast<double>(tight->passages.size());
      for (size_t i = 0; i < tight->passages.size(); ++i) {
        const Passage& p = *tight->passages[i];
        const double off = tight->transfers[i] - transfer;
        const double clock = knots_.At(x, p.t);
        const double sway = tight->transfers[i] - tight->middle;
        const double w = balance * HuberWeight(sway, tight->scale) / (tight->scale * tight->scale);
        samples.push_back({p.t, clock + (p.forward ? -off : off), w});
        const Knots::Place place = knots_.Locate(p.t);
        for (const auto& [knot, share] :
             {std::pair(place.knot, 1 - place.share), std::pair(place.knot + 1, place.share)}) {
          const double hat = std::clamp(share, 0.0, 1.0);
          weight[knot] += w * hat;
          score[knot] += w * hat * w * hat * sway * sway;
        }
      }
    }
    const double asymmetry = std::max(kLeastAsymmetryNs, kAsymmetryShare * transfer) / 2;
    out.variance.clear();
    for (size_t j = 0; j < knots_.size(); ++j) {
      const double total = std::max(weight[j], 1e-30);
      out.variance.push_back(3 * score[j] / (total * total) + asymmetry * asymmetry);
    }
    return FitKnots(knots_, samples, 1'000 + 4e-7 * knots_.width());
  }

  // One direction alone bounds from one side: all that is left is that ends lie near each other.
  PairClock FromEnds() const {
    std::vector<Sample> ends;
    std::vector<double> durations;
    for (const Passage& p : passages_) {
      ends.push_back({p.t, p.ends});
      durations.push_back(std::abs(p.receiver_end - p.receiver_start));
    }
    PairClock out;
    out.value = FitKnots(knots_, MedianBins(ends, 9), 1'000 + 4e-7 * knots_.width());
    std::vector<double> distances;
    for (const Sample& s : ends) distances.push_back(s.y - knots_.At(out.value, s.t));
    const double sd = std::max({3'000.0, RobustScale(distances, 0), 0.5 * Median(std::move(durations))});
    out.variance.assign(knots_.size(), sd * sd);
    return out;
  }

  const Knots& knots_;
  std::vector<Passage> passages_;
};

std::map<DomainPair, std::vector<Passage>> PassagesOf(const DomainEvents& events, int32_t component) {
  std::map<DomainPair, std::vector<Passage>> out;
  for (const DomainEvent& event : events.events) {
    if (event.relation == ClockRelation::kAllPairs) continue;
    const DomainTimes& root = events.times[event.first];
    if (events.component[static_cast<size_t>(root.domain)] != component) continue;
    for (uint32_t i = 1; i < event.count; ++i) {
      const DomainTimes& other = events.times[event.first + i];
      const bool root_sends = event.relation == ClockRelation::kOneWay;
      const DomainTimes& sender = root_sends ? root : other;
      const DomainTimes& receiver = root_sends ? other : root;
      const bool forward = sender.domain < receiver.domain;
      const DomainTimes& a = forward ? sender : receiver;
      const DomainTimes& b = forward ? receiver : sender;
      out[{a.domain, b.domain}].push_back(
          {event.t, forward, sender.last_start, receiver.last_start, receiver.first_end, a.mean_end - b.mean_end});
    }
  }
  return out;
}

}  // namespace

std::vector<PairClock> MeasurePairs(const DomainEvents& events, int32_t component, const Knots& knots,
                                    Executor& executor) {
  std::vector<std::pair<DomainPair, std::vector<Passage>>> pairs;
  for (auto& [pair, passages] : PassagesOf(events, component)) pairs.emplace_back(pair, std::move(passages));
  std::vector<PairClock> out(pairs.size());
  executor.ParallelFor(pairs.size(), [&](size_t i) {
    out[i] = PairFit(std::move(pairs[i].second), knots).Fit();
    out[i].a = pairs[i].first.first;
    out[i].b = pairs[i].first.second;
  });
  return out;
}

}  // namespace lockstep
