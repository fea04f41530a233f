// The communicators of a run while its chapters pass by: what a chapter shows is recognised as what was met before, so
// that a communicator keeps its place and its id, and lanes whose members had to be found are found once. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analysis/base/disjoint_sets.h"
#include "analysis/metrics/match/communicators.h"

namespace lockstep {

// Borrows the run and the ranks.
class KnownGroups {
 public:
  KnownGroups(const RunData& run, const RankResolution& ranks) : run_(run), ranks_(ranks) {}

  // Takes the plans of the first chapter as they were joined.
  void Learn(const std::vector<CommunicatorPlan>& plans, const std::vector<RankRows>& rows);
  // The plans of a later chapter, those met before first, in their order and without rows where they have none in it.
  [[nodiscard]] std::vector<CommunicatorPlan> Recognise(std::vector<CommunicatorPlan> fresh,
                                                        const std::vector<RankRows>& rows);
  // Joins rank indices that a communicator connects, known or told by a source but not met yet. One that is told
  // without saying of whom connects all.
  void Connect(DisjointSets& ranks) const;
  // Of these rank indices, which share no communicator with others: those that the other one met since both began
  // alike.
  void TakeOver(const KnownGroups& other, const std::vector<size_t>& ranks);

 private:
  // A rank, and its own number of a communicator, or a stream of it.
  using RankLocal = std::pair<int32_t, uint32_t>;
  using RankStream = std::pair<int32_t, int32_t>;

  [[nodiscard]] std::vector<RankLocal> LocalsOf(const CommunicatorPlan& plan, const std::vector<RankRows>& rows) const;
  [[nodiscard]] uint32_t LocalOf(int32_t rank_index, const CollectiveRow& row) const;
  void TakeFoundLanes(const std::vector<RankRows>& rows, CommunicatorPlan& plan,
                      std::vector<CommunicatorPlan>& out) const;
  [[nodiscard]] uint32_t PlaceOf(CommunicatorPlan& plan, const std::vector<RankRows>& rows);
  void ConnectTold(DisjointSets& ranks) const;

  const RunData& run_;
  const RankResolution& ranks_;
  std::vector<CommunicatorPlan> plans_;  // without rows
  std::map<RankLocal, uint32_t> of_local_;
  std::map<RankStream, uint32_t> of_stream_;  // of plans whose members were found
};

}  // namespace lockstep
