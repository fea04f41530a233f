// Counts the collectives that ranks lack (LostCollectives) while the chapters of a run pass by. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/metrics/match/match.h"
#include "analysis/metrics/run/ranks.h"

namespace lockstep {

// Fed with the instances of each communicator in their order. Borrows the ranks.
class LostCollectivesCount {
 public:
  explicit LostCollectivesCount(const RankResolution& ranks);
  // Instances that are not joined with confidence say nothing.
  void Add(const MatchedInstance& instance, const Communicator& communicator);
  // As RunMatch::lost.
  [[nodiscard]] std::vector<LostCollectives> Finish(const std::vector<Communicator>& communicators) const;

 private:
  // Positions among the confident instances of a communicator.
  struct Span {
    int64_t first = -1;
    int64_t last = -1;
    void Add(int64_t position);
    void Add(const Span& other);
  };
  struct Missing {
    int64_t lost = 0;
    int64_t first_ns = 0;
    void Add(const Missing& other);
  };
  struct OfRank {
    Span joined;      // incomplete ones
    Missing missing;  // before its last one
    Missing pending;  // since
  };
  struct OfCommunicator {
    int64_t instances = 0;
    Span complete;
    std::map<int32_t, OfRank> ranks;  // by rank index; of communicators that were incomplete once
  };

  void AddIncomplete(const MatchedInstance& instance, const Communicator& communicator, OfCommunicator& of);
  static void CloseGaps(OfCommunicator& of);

  std::map<int32_t, int32_t> index_of_;  // rank -> rank index
  std::vector<OfCommunicator> communicators_;
};

}  // namespace lockstep
