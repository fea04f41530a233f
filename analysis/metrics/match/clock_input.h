// What the joined instances tell about the clocks, as the clock alignment takes it. Internal to the matching.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/metrics/clock_align/clock_align.h"
#include "analysis/metrics/match/collective_rows.h"
#include "analysis/metrics/match/join/instance_join.h"

namespace lockstep {

// Operations of one communicator that bind all members to each other: by their kind, or because their instances share
// common points.
using AllPairs = std::map<CollectiveOp, bool>;

// `clock`: members of one component are compared.
[[nodiscard]] AllPairs FindAllPairs(const CommunicatorJoin& join, const std::vector<RankRows>& rows,
                                    const ClockModel& clock);
[[nodiscard]] bool BindsAllPairs(const AllPairs& all_pairs, const JoinedInstance& joined);

class ClockInputBuilder {
 public:
  ClockInputBuilder(const std::vector<int32_t>& domain, const std::vector<RankRows>& rows);

  // Takes the confident instances of a communicator; of those that the clocks cannot refute one in so many that about
  // `most` are left.
  void Add(size_t communicator, const CommunicatorJoin& join, const AllPairs& all_pairs, size_t most = SIZE_MAX);

  // As ClockInput::most_pair_ends.
  void LimitPairEnds(size_t most) { input_.most_pair_ends = most; }

  [[nodiscard]] const ClockInput& input() const { return input_; }
  // (communicator, position in its join) of an instance of the input.
  [[nodiscard]] std::pair<size_t, size_t> Origin(uint32_t instance) const { return origin_.at(instance); }

 private:
  [[nodiscard]] bool CannotBeRefuted(const MatchedInstance& instance) const;
  [[nodiscard]] std::vector<size_t> Chosen(const CommunicatorJoin& join, size_t most) const;
  void AddOne(size_t communicator, size_t position, const JoinedInstance& joined, ClockRelation relation,
              int32_t first_rank);

  ClockInput input_;
  std::vector<std::pair<size_t, size_t>> origin_;
  std::map<std::tuple<size_t, CollectiveOp, int64_t>, uint32_t> classes_;
};

}  // namespace lockstep
