#include "analysis/metrics/clock_align/own_durations.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/metrics/clock_align/robust.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr double kMixedNs = 3'000;  // shorter differences are noise

using DurationsByDomain = std::map<size_t, std::vector<double>>;

bool IsOneIn(size_t part, size_t whole) {
  constexpr size_t kOneIn = 10;  // more than by damaged records
  return kOneIn * part >= whole;
}

// The domains whose own durations lie apart from those of all others, which the median of all but them decides.
class ApartFromOthers {
 public:
  ApartFromOthers(const DurationsByDomain& by_domain, double apart_ns) : by_domain_(by_domain), apart_ns_(apart_ns) {
    for (const auto& [domain, durations] : by_domain) sorted_.insert(sorted_.end(), durations.begin(), durations.end());
    std::sort(sorted_.begin(), sorted_.end());
  }

  // Whether they were the last in instances of several sizes, and not equally often in each: then some durations of one
  // lie where those of the others do. A position shifts all of them.
  [[nodiscard]] bool MixSizes() const {
    return by_domain_.size() > 1 && std::any_of(by_domain_.begin(), by_domain_.end(), [&](const auto& of_domain) {
             const double own = Median(of_domain.second);
             return !IsSurelyNear(own, of_domain.second.size()) && MixesWithOthers(of_domain.first, own);
           });
  }

 private:
  // Without `count` of them the median lies between neighbours of the middle: for most domains that is enough.
  [[nodiscard]] bool IsSurelyNear(double own, size_t count) const {
    const size_t middle = sorted_.size() / 2;
    const double low = sorted_[middle - std::min(middle, count + 1)];
    const double high = sorted_[std::min(sorted_.size() - 1, middle + count + 1)];
    return std::max(std::abs(own - low), std::abs(own - high)) <= apart_ns_;
  }

  [[nodiscard]] bool MixesWithOthers(size_t domain, double own) const {
    std::vector<double> others;
    for (const auto& [other, durations] : by_domain_) {
      if (other != domain) others.insert(others.end(), durations.begin(), durations.end());
    }
    const double their = Median(others);
    if (std::abs(own - their) <= apart_ns_) return false;
    const auto nearer_to_theirs = [&](double d) { return std::abs(d - their) < std::abs(d - own); };
    const std::vector<double>& durations = by_domain_.at(domain);
    const auto strays = std::count_if(durations.begin(), durations.end(), nearer_to_theirs);
    const auto at_home = std::count_if(others.begin(), others.end(), nearer_to_theirs);
    return IsOneIn(static_cast<size_t>(strays), durations.size()) ||
           IsOneIn(others.size() - static_cast<size_t>(at_home), others.size());
  }

  const DurationsByDomain& by_domain_;
  double apart_ns_;
  std::vector<double> sorted_;
};

// About its own domain's middle, where that is known.
double ScaleOf(const DurationsByDomain& by_domain, const std::vector<double>& all, double usual, double least_ns) {
  constexpr size_t kFew = 3;
  std::vector<double> about;
  for (const auto& [domain, durations] : by_domain) {
    if (durations.size() < kFew) continue;
    const double own = Median(durations);
    for (const double d : durations) about.push_back(d - own);
  }
  return std::max(least_ns, about.empty() ? RobustScale(all, usual) : RobustScale(about, 0));
}

void AddClass(const DurationsByDomain& by_domain, const std::vector<double>& all, double least_scale_ns, size_t cls,
              OwnDurations& out) {
  const double usual = Median(all);
  out.by_class[cls] = usual;
  out.typical_ns = std::max(out.typical_ns, usual);
  const double scale = ScaleOf(by_domain, all, usual, least_scale_ns);
  const double apart = std::max(kMixedNs, kMixedShare * usual);
  out.mixed = out.mixed || scale > apart || ApartFromOthers(by_domain, apart).MixSizes();
  for (const auto& [domain, durations] : by_domain) {
    const double weight = static_cast<double>(durations.size()) / Square(kMedianToMean * scale);
    out.sum[domain] += weight * (Median(durations) - usual);
    out.weight[domain] += weight;
  }
}

}  // namespace

OwnDurations MeasureOwnDurations(const std::vector<OwnSample>& samples, size_t classes, size_t domains,
                                 double least_scale_ns) {
  std::vector<DurationsByDomain> by_class(classes);
  std::vector<std::vector<double>> all(classes);
  for (const OwnSample& sample : samples) {
    all[sample.cls].push_back(sample.duration_ns);
    if (sample.known) by_class[sample.cls][sample.domain].push_back(sample.duration_ns);
  }
  OwnDurations out{std::vector<double>(classes), std::vector<double>(domains), std::vector<double>(domains), 0, false};
  for (size_t c = 0; c < classes; ++c) {
    if (!all[c].empty()) AddClass(by_class[c], all[c], least_scale_ns, c, out);
  }
  return out;
}

}  // namespace lockstep
