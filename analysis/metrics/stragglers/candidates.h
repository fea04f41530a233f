// Everything that is tested for being late: ranks against their peers, groups of ranks by position, communicators by
// their transfers. One series of excess per unit each. Pure. Units: ns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/metrics/stragglers/own_time.h"
#include "analysis/metrics/stragglers/positions.h"
#include "analysis/metrics/stragglers/stragglers.h"
#include "analysis/metrics/stragglers/transfer_sums.h"

namespace lockstep {

// The smallest effect that counts, in shares of a unit's length.
inline constexpr double kMinEffectRatio = 0.002;
// Times that: who is late by as much is late clearly. Devices differ by less, for good or for a while.
inline constexpr double kClearlyLate = 5;

// Who is known to be late, by which others are measured differently. Rank indices, ascending.
struct KnownLate {
  std::vector<int32_t> ranks;   // nobody is compared with these, where there are others
  std::vector<int32_t> hidden;  // ranks whose communicator's other members are all late: compared with their class

  bool operator==(const KnownLate&) const = default;
};

// Ranks that were compared with their own usual units, as a candidate was, and do not stall: what happened to the
// candidate could have happened to each of them.
struct QuietRanks {
  size_t ranks = 0;
  size_t far_units = 0;  // of all of them together: single units that are far beyond what is usual for them
};

struct Candidate {
  StragglerScope scope = StragglerScope::kRank;
  std::string id;
  std::vector<int32_t> rank_indices;    // ascending
  std::vector<uint32_t> communicators;  // of a transfer; empty: the ranks' own time
  std::vector<double> series;           // excess in the units measured, in order of time
  std::vector<size_t> units;            // of the series' values
  bool with_itself = false;             // nobody does the same work: compared with its own usual units
  QuietRanks quiet;                     // if it is compared with itself
  bool with_members = false;            // compared with the other members of its communicator only
  // A rank and the only other member: mean and standard deviation of their difference as it is. The series leaves out
  // what the other one is late by. 0: not of a pair.
  double pair_mean_ns = 0;
  double pair_deviation_ns = 0;
  double least_noise_ns = 0;  // standard deviation of the noise, where the values that are left out hide it
  double floor_ns = 0;        // minimum effect per unit
  OwnParts parts{};           // mean excess per unit by part
  size_t family = 0;          // candidates of one family are exchangeable when nothing is wrong

  void Add(size_t unit, double excess_ns) {
    units.push_back(unit);
    series.push_back(excess_ns);
  }
  [[nodiscard]] bool is_transfer() const { return !communicators.empty(); }
};

struct CandidateInput {
  const RankResolution& ranks;
  const RunMatch& match;
  const TestUnits& units;
  const std::vector<size_t>& order;  // number of each unit, by which the transfers are summed
  const TransferSums& transfers;
  const std::vector<RankOwnTime>& own;
  const Positions& positions;
  const KnownLate& late;
};

// Ranks first, by rank; then groups of own time (hosts, GPUs of equal place, stages, communicators), then transfers
// (rails, communicators), each by number. Only those with at least two measured units and somebody to compare with.
[[nodiscard]] std::vector<Candidate> BuildCandidates(const CandidateInput& input);

// The series of transfers: rails and communicators.
[[nodiscard]] std::vector<Candidate> TransferCandidates(const CandidateInput& input);

}  // namespace lockstep
