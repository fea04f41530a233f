#include "analysis/metrics/clock_align/record_scatter.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>

#include "analysis/base/executor.h"
#include "analysis/metrics/clock_align/robust.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr size_t kFewestEndsOfDevice = 8;  // ends of a device in a class
constexpr size_t kMaxInstances = 1 << 12;  // of a class, evenly thinned beyond
constexpr double kShare = 0.8;             // of the ends that are looked at
constexpr double kShareSigmas = 1.2816;    // that many standard deviations hold it, were they normal
constexpr double kUsualTimes = 3;
constexpr double kLeastNs = 2'000;  // less never stands out
constexpr double kExplainedShare = 0.3;
constexpr double kExplainedNs = 5'000;

struct ClassEnds {
  std::map<int32_t, std::vector<double>> off;  // by rank index: end less the instance's middle one
  std::vector<double> shortest;                // duration, by instance
};

struct Scatter {
  double about_median = 0;
  double about_clock = 0;
};

double Quantile(std::vector<double> distances) {
  const auto rank = static_cast<size_t>(std::ceil(kShare * static_cast<double>(distances.size())));
  return OrderStatistic(std::move(distances), rank - 1) / kShareSigmas;
}

double ScatterAbout(const std::vector<double>& off, double centre) {
  std::vector<double> distances;
  distances.reserve(off.size());
  for (double o : off) distances.push_back(std::abs(o - centre));
  return Quantile(std::move(distances));
}

void AddInstance(const ClockInput& input, const ClockInstance& instance, const ClockModel& model, ClassEnds& out) {
  std::vector<double> ends;
  double shortest = INFINITY;
  const ClockMember* members = &input.members[instance.first_member];
  const int64_t origin = members[0].end_ns - model.Correction(members[0].rank_index, LocalTime{members[0].start_ns}).ns;
  for (uint32_t m = 0; m < instance.members; ++m) {
    const ClockMember& member = members[m];
    const int64_t end = member.end_ns - model.Correction(member.rank_index, LocalTime{member.start_ns}).ns;
    ends.push_back(static_cast<double>(end - origin));
    shortest = std::min(shortest, static_cast<double>(member.end_ns - member.start_ns));
  }
  const double middle = Median(ends);
  // The middle took one of the members' freedoms.
  const double freedom = std::sqrt(static_cast<double>(ends.size()) / static_cast<double>(ends.size() - 1));
  for (size_t m = 0; m < ends.size(); ++m) out.off[members[m].rank_index].push_back(freedom * (ends[m] - middle));
  out.shortest.push_back(shortest);
}

// Usable instances of each class, in the order of the classes; thinned.
std::vector<std::vector<const ClockInstance*>> ByClass(const ClockInput& input) {
  std::map<uint32_t, std::vector<const ClockInstance*>> classes;
  for (const ClockInstance& instance : input.instances) {
    const bool usable = instance.relation == ClockRelation::kAllPairs && !instance.own_ends && instance.members >= 2;
    if (usable) classes[instance.cls].push_back(&instance);
  }
  std::vector<std::vector<const ClockInstance*>> out;
  for (const auto& [cls, all] : classes) {
    const size_t stride = 1 + all.size() / kMaxInstances;
    std::vector<const ClockInstance*>& chosen = out.emplace_back();
    for (size_t i = 0; i < all.size(); i += stride) chosen.push_back(all[i]);
  }
  return out;
}

ClassEnds EndsOf(const ClockInput& input, const std::vector<const ClockInstance*>& instances, const ClockModel& model) {
  ClassEnds out;
  for (const ClockInstance* instance : instances) AddInstance(input, *instance, model, out);
  return out;
}

std::map<int32_t, Scatter> ScattersOf(const ClassEnds& ends) {
  std::map<int32_t, Scatter> out;
  for (const auto& [rank, off] : ends.off) {
    if (off.size() >= kFewestEndsOfDevice) out[rank] = {ScatterAbout(off, Median(off)), ScatterAbout(off, 0)};
  }
  return out;
}

double LimitOf(const std::map<int32_t, Scatter>& scatters, double duration) {
  std::vector<double> all;
  for (const auto& [rank, scatter] : scatters) all.push_back(scatter.about_median);
  const double against_others = std::max(kLeastNs, kUsualTimes * Median(std::move(all)));
  return std::min(against_others, kExplainedNs + kExplainedShare * duration);
}

}  // namespace

std::vector<double> ExcessScatter(const ClockInput& input, const ClockModel& model, Executor& executor) {
  struct OfClass {
    std::map<int32_t, Scatter> scatters;
    double limit = 0;
  };
  const std::vector<std::vector<const ClockInstance*>> by_class = ByClass(input);
  std::vector<OfClass> classes(by_class.size());
  executor.ParallelFor(classes.size(), [&](size_t c) {
    const ClassEnds ends = EndsOf(input, by_class[c], model);
    classes[c].scatters = ScattersOf(ends);
    classes[c].limit = LimitOf(classes[c].scatters, Median(ends.shortest));
  });
  // What a record is off its clock shows in every class: the quietest one bounds it.
  std::map<int32_t, double> least;
  std::vector<double> out(input.domain.size());
  std::vector<bool> stands_out(input.domain.size());
  for (const OfClass& of_class : classes) {
    for (const auto& [rank, scatter] : of_class.scatters) {
      const double size = std::max(scatter.about_median, scatter.about_clock);
      const auto [at, added] = least.emplace(rank, size);
      if (!added) at->second = std::min(at->second, size);
      if (scatter.about_median > of_class.limit) stands_out[static_cast<size_t>(rank)] = true;
    }
  }
  for (const auto& [rank, size] : least) {
    const auto r = static_cast<size_t>(rank);
    if (stands_out[r] && size > kLeastNs) out[r] = size;
  }
  return out;
}

}  // namespace lockstep
