#include "analysis/metrics/replay/replay_party.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "analysis/model/row_values.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

struct TimeRange {
  int64_t from_ns = INT64_MIN;
  int64_t to_ns = INT64_MAX;
};

struct StepRange {
  int64_t first = INT64_MIN;
  int64_t last = INT64_MAX;

  [[nodiscard]] bool IsAll() const { return first == INT64_MIN && last == INT64_MAX; }
  [[nodiscard]] bool Holds(int64_t step) const { return IsAll() || (step >= first && step <= last); }
  [[nodiscard]] int64_t length() const { return last - first + 1; }
};

// What is counted of a rank.
struct CountedRange {
  TimeRange time;
  StepRange steps;
};

bool Holds(const CountedRange& range, int64_t step, int64_t start_ns, int64_t end_ns) {
  return range.steps.Holds(step) && start_ns >= range.time.from_ns && end_ns <= range.time.to_ns;
}

// Steps that a rank's rows make up; of the first and the last of them only the share that lies in the range.
double StepsOf(const std::vector<ArrivalNode>& rows, const CountedRange& range) {
  std::map<int64_t, int64_t> rows_of;
  for (const ArrivalNode& row : rows) {
    if (row.step != kNoStep && Holds(range, row.step, row.start_ns, row.end_ns)) ++rows_of[row.step];
  }
  if (rows_of.size() < 2) return 0;
  std::vector<int64_t> counts;
  for (const auto& [step, count] : rows_of) counts.push_back(count);
  const auto usual = static_cast<double>(UpperMedian(std::move(counts)));
  const auto share = [&](int64_t count) { return std::min(1.0, static_cast<double>(count) / usual); };
  return static_cast<double>(rows_of.size() - 2) + share(rows_of.begin()->second) + share(rows_of.rbegin()->second);
}

// Rows after which the same rank has another one of the same communicator.
std::vector<bool> Followed(const ReplayGraph& graph) {
  std::vector<bool> out(graph.nodes.size());
  for (const ReplayNode& node : graph.nodes) {
    if (node.serial >= 0) out[static_cast<size_t>(node.serial)] = true;
  }
  return out;
}

// What the capture of one rank leaves out of what the others do: before it began, after it ended.
TimeRange CapturedRange(const ReplayGraph& graph, const MatchResult& match, const std::vector<bool>& followed,
                        size_t rank) {
  TimeRange range;
  const auto any_member = [&](const ReplayNode& node, const auto& holds) {
    const auto at = static_cast<size_t>(node.instance);
    return std::any_of(graph.members.begin() + static_cast<int64_t>(graph.member_first[at]),
                       graph.members.begin() + static_cast<int64_t>(graph.member_first[at + 1]), holds);
  };
  const auto meets = [&](const ReplayNode& node) {
    return node.instance >= 0 && !IsSendOrReceive(match.instances[static_cast<size_t>(node.instance)]);
  };
  const auto begin = graph.nodes.begin() + static_cast<int64_t>(graph.first[rank]);
  const auto end = graph.nodes.begin() + static_cast<int64_t>(graph.first[rank + 1]);
  const auto first = std::find_if(begin, end, meets);
  if (first == end) return range;
  const auto last = std::find_if(std::make_reverse_iterator(end), std::make_reverse_iterator(begin), meets);
  if (any_member(*first, [&](int32_t m) { return graph.node(m).serial >= 0; })) range.from_ns = first->start_ns;
  if (any_member(*last, [&](int32_t m) { return followed[static_cast<size_t>(m)]; })) range.to_ns = last->end_ns;
  return range;
}

// Where captures begin and end at different moments: before all are there and after the first has gone nothing can be
// gained, because whom the others wait for is not seen. Not where little is common to all.
TimeRange CommonRange(const ReplayGraph& graph, const MatchResult& match, const std::vector<bool>& followed,
                      const std::vector<size_t>& ranks) {
  TimeRange common;
  int64_t first_ns = INT64_MAX;
  int64_t last_ns = INT64_MIN;
  for (const size_t rank : ranks) {
    const TimeRange own = CapturedRange(graph, match, followed, rank);
    common.from_ns = std::max(common.from_ns, own.from_ns);
    common.to_ns = std::min(common.to_ns, own.to_ns);
    for (size_t n = graph.first[rank]; n < graph.first[rank + 1]; ++n) {
      first_ns = std::min(first_ns, graph.nodes[n].start_ns);
      last_ns = std::max(last_ns, graph.nodes[n].end_ns);
    }
  }
  const int64_t length_ns = std::min(common.to_ns, last_ns) - std::max(common.from_ns, first_ns);
  return length_ns < (last_ns - first_ns) / 2 ? TimeRange{} : common;
}

// Steps of a rank; empty without.
StepRange StepsOfRank(const std::vector<ArrivalNode>& rows) {
  StepRange steps{.first = INT64_MAX, .last = INT64_MIN};
  for (const ArrivalNode& row : rows) {
    if (row.step == kNoStep) continue;
    steps.first = std::min(steps.first, row.step);
    steps.last = std::max(steps.last, row.step);
  }
  return steps;
}

// Steps that all parties have, so that their lengths can be compared: captures of replicas begin and end at different
// steps, and steps differ in length. All, where there is one party only, or little is common.
StepRange CommonSteps(const ArrivalGraph& source, const std::vector<std::vector<size_t>>& parties) {
  StepRange common;
  int64_t longest = 0;
  size_t count = 0;
  for (const std::vector<size_t>& ranks : parties) {
    if (ranks.empty()) continue;
    ++count;
    for (const size_t rank : ranks) {
      const StepRange own = StepsOfRank(source.ranks[rank]);
      if (own.first > own.last) return {};
      longest = std::max(longest, own.length());
      common = {.first = std::max(common.first, own.first), .last = std::min(common.last, own.last)};
    }
  }
  return count < 2 || common.first > common.last || 2 * common.length() < longest ? StepRange{} : common;
}

// The latest end of a rank's nodes before its first one that is counted; -1: there is none.
int32_t LastBefore(const ReplayGraph& graph, size_t rank, int64_t first_start_ns) {
  int32_t before = -1;
  for (size_t n = graph.first[rank]; n < graph.first[rank + 1]; ++n) {
    const ReplayNode& node = graph.nodes[n];
    if (node.end_ns > first_start_ns) continue;
    if (before < 0 || node.end_ns > graph.node(before).end_ns) before = static_cast<int32_t>(n);
  }
  return before;
}

void AddRankToParty(const ArrivalGraph& source, const ReplayGraph& graph, size_t rank, const CountedRange& range,
                    int64_t step_ns, ReplayParty& party) {
  int32_t last = -1;
  int64_t first_start_ns = INT64_MAX;
  for (size_t n = graph.first[rank]; n < graph.first[rank + 1]; ++n) {
    const ReplayNode& node = graph.nodes[n];
    if (!Holds(range, source.ranks[rank][n - graph.first[rank]].step, node.start_ns, node.end_ns)) continue;
    first_start_ns = std::min(first_start_ns, node.start_ns);
    if (last < 0 || node.end_ns > graph.node(last).end_ns) last = static_cast<int32_t>(n);
  }
  if (last < 0) return;
  int64_t covered_ns = graph.node(last).end_ns - first_start_ns;
  if (rank < source.pauses.size()) {
    for (const auto& [begin, end] : source.pauses[rank]) {
      const bool inside = begin >= first_start_ns && end <= graph.node(last).end_ns;
      if (inside) covered_ns -= end - begin;
    }
  }
  const double steps = StepsOf(source.ranks[rank], range);
  party.last.push_back(last);
  // Before all of a party's captures have begun, what is gained counts for nothing: see CommonRange.
  party.before.push_back(range.steps.IsAll() ? -1 : LastBefore(graph, rank, first_start_ns));
  party.covered_ns += covered_ns;
  party.steps += steps > 0 ? steps : static_cast<double>(covered_ns) / static_cast<double>(step_ns);
}

}  // namespace

std::vector<ReplayParty> FindParties(const ArrivalGraph& source, const MatchResult& match, const ReplayGraph& graph,
                                     int64_t step_ns) {
  std::vector<ReplayParty> parties;
  std::vector<std::vector<size_t>> by_first(graph.party.size());
  for (size_t r = 0; r < graph.party.size(); ++r) {
    if (graph.first[r] < graph.first[r + 1]) by_first[graph.party[r]].push_back(r);
  }
  const std::vector<bool> followed = Followed(graph);
  const StepRange steps = CommonSteps(source, by_first);
  for (const std::vector<size_t>& ranks : by_first) {
    if (ranks.empty()) continue;
    const CountedRange range{.time = CommonRange(graph, match, followed, ranks), .steps = steps};
    ReplayParty party;
    for (const size_t r : ranks) AddRankToParty(source, graph, r, range, step_ns, party);
    if (party.steps > 0) parties.push_back(std::move(party));
  }
  return parties;
}

}  // namespace lockstep
