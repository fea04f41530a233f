// By how much a rank's own time exceeds that of the peers that are not late. Pure. Units: ns.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/metrics/stragglers/own_time.h"

namespace lockstep {

// The excess of the ranks that are compared with the other members of their communicator, over those of them that are
// not late. A rank whose other members are all late keeps its excess over all of them. Exact where the members have the
// same instances of a unit.
class ExcessBesides {
 public:
  // Borrows both. `late`: ascending. `own`: by rank index.
  ExcessBesides(const std::vector<int32_t>& late, const std::vector<RankOwnTime>& own);

  // NaN: it was not measured there.
  [[nodiscard]] double Of(size_t rank, size_t unit) const;
  [[nodiscard]] OwnParts PartsOf(size_t rank) const;

  // Places of the unit at which the rank is early beyond chance. Where all wait for all at each place, what it gains
  // there is worth nothing at the next one.
  [[nodiscard]] std::vector<size_t> EarlyPlaces(size_t rank) const;
  // Of those that have places (RankOwnTime).
  [[nodiscard]] double At(size_t rank, size_t place, size_t unit) const;
  [[nodiscard]] OwnParts PartsAt(size_t rank, size_t place) const;

 private:
  // Members of a communicator, in a unit or a part.
  struct Members {
    double all = 0;
    double usual = 0;
    double deviation_ns = 0;  // sum of those of the usual ones, from the mean of all
  };
  struct Communicator {
    std::vector<size_t> ranks;
    std::vector<Members> units;
    std::vector<Members> parts;
    std::vector<std::vector<Members>> units_at;  // [place][unit]
    std::vector<std::vector<Members>> parts_at;  // [place][part]
  };

  void AddPlaces(Communicator& communicator) const;
  [[nodiscard]] bool IsLate(size_t rank) const;
  [[nodiscard]] const Communicator* CommunicatorOf(size_t rank) const;
  template <typename Excess>
  [[nodiscard]] Members MembersOf(const Communicator& communicator, const Excess& excess) const;
  [[nodiscard]] double Besides(const Members& members, size_t rank, double excess_ns) const;

  const std::vector<int32_t>& late_;
  const std::vector<RankOwnTime>& own_;
  std::map<int32_t, Communicator> communicators_;  // those in which somebody is late
};

}  // namespace lockstep
