// What is usual at a place of the program, and how often peers stall: what lengths are compared by (replay_level.h,
// replay_scale.h). Pure. Units: ns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analysis/stats/order_statistic.h"

namespace lockstep {

inline constexpr double kPeerNoiseWidths = 3;
inline constexpr double kRecordResolutionNs = 1'000;

struct ScaledResult {
  int32_t node = 0;
  int64_t length_ns = 0;
};

// What is usual at a place of the program, and from where on a value is an exception to it. Seen by kLeastItems at
// least.
struct UsualAtPlace {
  static constexpr size_t kLeastItems = 8;
  static constexpr double kLeastLonger = 0.25;  // of what is usual
  static constexpr double kFarBeyond = 8;       // robust standard deviations
  static constexpr double kMostOfItems = 0.4;   // beyond it is no exception

  explicit UsualAtPlace(const std::vector<double>& values) : middle(UpperMedian(values)) {
    std::vector<double> distances;
    for (const double value : values) distances.push_back(std::abs(value - middle));
    constexpr double kDeviationOfMedian = 1.4826;
    far = std::max(kLeastLonger * middle, kFarBeyond * kDeviationOfMedian * UpperMedian(std::move(distances)));
    const auto exceptions = std::count_if(values.begin(), values.end(), [&](double it) { return IsException(it); });
    seldom = static_cast<double>(exceptions) <= kMostOfItems * static_cast<double>(values.size());
  }
  [[nodiscard]] bool IsException(double value) const { return value > middle + far; }

  double middle = 0;
  double far = 0;
  bool seldom = false;  // what is beyond that are exceptions
};

// How often one of the peers stalls. One that stalls far more often than the others is late itself, and says nothing of
// them.
class PeerStallCount {
 public:
  // `peers`: beside this one.
  void Add(int32_t rank, double peers) {
    Stalls& of = by_rank_[rank];
    ++of.count;
    of.of_each += 1 / (peers + 1);
    of.of_each_other += 1 / peers;
  }

  [[nodiscard]] double OfAPeer() const {
    double of_each = 0;
    double of_each_other = 0;
    Stalls most;
    for (const auto& [rank, of] : by_rank_) {
      of_each += of.of_each;
      of_each_other += of.of_each_other;
      if (of.count > most.count) most = of;
    }
    const double others = of_each_other - most.of_each_other;
    const bool is_late = most.count > others + kPeerNoiseWidths * (1 + std::sqrt(others));
    return is_late ? others : of_each;
  }

 private:
  struct Stalls {
    double count = 0;
    double of_each = 0;        // for each peer, if they are those of all
    double of_each_other = 0;  // the same if one of them is left out
  };
  std::map<int32_t, Stalls> by_rank_;
};

}  // namespace lockstep
