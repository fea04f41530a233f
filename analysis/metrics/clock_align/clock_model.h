// The only way from a source's LocalTime to the common axis of its component, with its uncertainty.
//
// aligned = local - offset(domain, local) - bias(device, local). The offset of a clock domain (a capture session) is
// piecewise linear between knots and may jump at a clock step; the bias of a device inside its domain is piecewise
// constant. Domains connected by shared collectives form a component; its reference is the domain of its lowest rank,
// offset 0. Between components nothing is compared. Built by AlignClocks. Units: ns. Thread rule: a plain value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/base/check.h"
#include "analysis/base/time.h"

namespace lockstep {

inline constexpr double kNormal95 = 1.96;  // standard deviations on either side that hold 95 % of normal values

struct DomainId {
  int32_t value = 0;
  friend constexpr auto operator<=>(DomainId, DomainId) = default;
};

// How the offset of a domain was found.
enum class ClockMethod : uint8_t {
  kShared = 0,  // "shared": the reference itself, or its only domain
  kBand = 1,    // "band": centre of two-sided bounds through the network
  kEnds = 2,    // "ends": one-sided; ends are assumed to coincide, coarse
  kUtc = 3,     // "utc": the sources' own claims, nothing shared
  kNone = 4,    // "none": alone, nothing to compare with
};

struct ClockKnot {
  int64_t t_ns = 0;  // LocalTime of the domain
  int64_t offset_ns = 0;
  int64_t lo_ns = 0;  // certified band of the offset against the reference
  int64_t hi_ns = 0;
  int64_t sigma_ns = 0;  // one standard deviation of the offset against the reference
};

struct ClockStepEvent {
  int64_t t_ns = 0;  // LocalTime of the domain before the step
  int64_t size_ns = 0;
};

struct DomainClock {
  int32_t component = 0;
  ClockMethod method = ClockMethod::kNone;
  // Both sides bound the offset at every knot, and at most 1 % of its instances contradicted the rest.
  bool certified = false;
  std::optional<double> drift_ppm;  // against the reference; null when it cannot be determined
  std::vector<ClockKnot> knots;     // ascending in t; empty: offset 0. Two knots of equal t: a jump between them.
  std::vector<ClockStepEvent> steps;
  int64_t instances = 0;     // that bound this domain against others
  int64_t record_sd_ns = 0;  // upper bound of the standard deviation of a single record about its device's clock
};

// From this LocalTime on the device reads bias_ns more than its domain.
struct BiasPiece {
  int64_t from_ns = INT64_MIN;
  int64_t bias_ns = 0;
};

// Half-width of the 95 % interval of the difference of two domains' clocks from this AlignedTime on.
struct OffsetUncertainty {
  int64_t t_ns = INT64_MIN;
  int64_t half_width_ns = 0;
};

class ClockModel {
 public:
  // Uncertainty of comparing any two ranks of one domain without enough shared instances (definitions: 30 us).
  static constexpr int64_t kDefaultPairUncertaintyNs = 30'000;

  void SetDomain(int32_t rank_index, DomainId domain);
  void SetDomainClock(DomainId domain, DomainClock clock);
  void SetBias(int32_t rank_index, std::vector<BiasPiece> pieces);
  // Adds to every piece; a device without pieces gets one.
  void AddBias(int32_t rank_index, int64_t bias_ns);
  // Half-width of the 95 % interval of what the device may read beyond its domain: where its bias could not be measured
  // and those of others of the domain could. It counts in every comparison with another domain.
  void SetBiasDoubt(int32_t rank_index, int64_t half_width_ns);
  // Half-width U of the 95 % interval of a start difference of two ranks of one domain, measured from `instances`
  // matched instances.
  void SetPair(int32_t rank_a, int32_t rank_b, int64_t uncertainty_ns, int64_t instances);
  // Between two domains of one component, clocks alone, piecewise constant and ascending in time; otherwise it follows
  // from the sigmas of their knots.
  void SetDomainPair(DomainId a, DomainId b, std::vector<OffsetUncertainty> pieces);

  // Goes on as `later` from this instant on; of the same ranks and domains. What either connects is connected; what
  // either is unsure of, over the whole of its time, stays unsure. `seen`: by rank index, whether `later` knows
  // anything of its device; else that goes on as it went.
  void Append(const ClockModel& later, AlignedTime from, const std::vector<bool>& seen);
  // Of these rank indices, which share clock domains and components with no others: everything as the other model, of
  // the same ranks and domains, has it.
  void TakeOver(const ClockModel& other, const std::vector<size_t>& ranks);
  // Moves the axis of a component: its times read offset_ns less from now on.
  void MoveComponent(int32_t component, int64_t offset_ns);

  [[nodiscard]] DomainId DomainOf(int32_t rank_index) const {
    LOCKSTEP_CHECK(rank_index >= 0 && static_cast<size_t>(rank_index) < domains_.size());
    return domains_[static_cast<size_t>(rank_index)];
  }
  [[nodiscard]] int32_t ComponentOf(int32_t rank_index) const { return ClockOf(DomainOf(rank_index)).component; }
  [[nodiscard]] int32_t domains() const { return static_cast<int32_t>(clocks_.size()); }
  [[nodiscard]] const DomainClock& ClockOf(DomainId domain) const {
    LOCKSTEP_CHECK(domain.value >= 0 && domain.value < domains());
    return clocks_[static_cast<size_t>(domain.value)];
  }
  [[nodiscard]] int64_t BiasOf(int32_t rank_index, LocalTime time) const;
  [[nodiscard]] int64_t BiasDoubtOf(int32_t rank_index) const {
    return bias_doubts_.empty() ? 0 : bias_doubts_[static_cast<size_t>(rank_index)];
  }

  // local - aligned of a domain, without the biases of its devices.
  [[nodiscard]] Duration OffsetOf(DomainId domain, LocalTime time) const;
  // local - aligned for a rank's device at this local time.
  [[nodiscard]] Duration Correction(int32_t rank_index, LocalTime time) const;
  [[nodiscard]] AlignedTime Align(int32_t rank_index, LocalTime time) const {
    return AlignedTime{time.ns - Correction(rank_index, time).ns};
  }
  // The local time that Align takes to (nearly) this instant; across a jump the side that follows it.
  [[nodiscard]] LocalTime ToLocal(int32_t rank_index, AlignedTime time) const;

  // Half-width of the 95 % interval of the difference of the clocks of the two ranks' devices, the scatter of single
  // records not included, where the ranks lie in different domains; otherwise as PairUncertainty.
  [[nodiscard]] std::optional<Duration> ClockUncertainty(int32_t rank_a, int32_t rank_b,
                                                         AlignedTime at = AlignedTime{}) const;
  // U of comparing two records of the two ranks at about this aligned time: clocks and scatter. Null when the ranks lie
  // in different components.
  [[nodiscard]] std::optional<Duration> PairUncertainty(int32_t rank_a, int32_t rank_b,
                                                        AlignedTime at = AlignedTime{}) const;
  // The same of two ranks of one domain, at any time.
  [[nodiscard]] int64_t InDomainUncertainty(int32_t rank_a, int32_t rank_b) const {
    if (rank_a == rank_b) return 0;
    const auto [lower, other] = std::minmax(rank_a, rank_b);
    if (lower < 0 || static_cast<size_t>(lower) >= pairs_.size()) return kDefaultPairUncertaintyNs;
    const std::vector<PairOfRank>& of_lower = pairs_[static_cast<size_t>(lower)];
    // The ranks of a domain mostly follow each other.
    const auto place = static_cast<size_t>(int64_t{other} - lower - 1);
    if (place < of_lower.size() && of_lower[place].other == other) return of_lower[place].uncertainty_ns;
    return FindPair(of_lower, other);
  }

 private:
  [[nodiscard]] int64_t BetweenDomains(DomainId a, DomainId b, int64_t at_ns) const;

  struct PairOfRank {
    int32_t other = 0;
    int64_t uncertainty_ns = 0;
  };

  [[nodiscard]] static int64_t FindPair(const std::vector<PairOfRank>& of_lower, int32_t other);
  // Of two ranks of one domain; 0 where nothing was set.
  [[nodiscard]] int64_t& UncertaintyOf(int32_t rank_a, int32_t rank_b);

  void AppendClock(const ClockModel& later, DomainId domain, AlignedTime from);
  void AppendPairs(const ClockModel& later, AlignedTime from);
  void ConnectComponents(const ClockModel& later);

  std::vector<DomainId> domains_;    // per rank index
  std::vector<DomainClock> clocks_;  // per domain
  std::vector<std::vector<BiasPiece>> biases_;
  std::vector<int64_t> bias_doubts_;            // per rank index; empty = none
  std::vector<std::vector<PairOfRank>> pairs_;  // by the lower rank, ascending in the other one
  std::map<std::pair<int32_t, int32_t>, std::vector<OffsetUncertainty>> domain_pairs_;
};

}  // namespace lockstep
