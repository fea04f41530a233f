#include "analysis/metrics/arrivals/arrival_graph.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "analysis/base/executor.h"
#include "analysis/base/few.h"
#include "analysis/base/status_macros.h"
#include "analysis/base/time.h"
#include "analysis/metrics/arrivals/segment_chain.h"
#include "analysis/metrics/match/connected_ranks.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

// The rows of one rank on its own clock, before anything is aligned.
struct LocalRows {
  std::vector<ArrivalNode> nodes;
  std::vector<Few<std::pair<int64_t, int64_t>>> covers;
  std::vector<uint32_t> communicator;  // LocalCommunicator::id
};

// What lies before a stretch of the source's rows is not there to be told of: other work.
void MoveTiles(int64_t first_row, Segment& segment) {
  if (first_row == 0) return;
  for (OtherCommTile& tile : segment.tiles) {
    if (tile.instance < 0 || tile.length_ns < 0 || tile.length_ns > kMaxAbsTimeNs) {
      segment = Segment{};  // damaged
      return;
    }
    tile.instance -= first_row;
    if (tile.instance >= 0) continue;
    segment.other_comm_ns -= tile.length_ns;
    segment.rest_ns += tile.length_ns;
  }
  segment.tiles.EraseIf([](const OtherCommTile& tile) { return tile.instance < 0; });
}

ArrivalNode LocalNode(const InstanceRow& row, int64_t first_row) {
  ArrivalNode node;
  node.start_ns = std::clamp(row.start_ns, -kMaxAbsTimeNs, kMaxAbsTimeNs);
  node.end_ns = node.start_ns + std::clamp<int64_t>(row.duration_ns, 0, kMaxAbsTimeNs);
  node.launch_start_ns = row.launch_start_ns;
  node.launch_end_ns = row.launch_end_ns;
  node.step = row.step;
  node.graph_launch = row.graph_launch;
  node.stream = row.stream;
  node.name = row.name;
  node.segment = row.segment;
  MoveTiles(first_row, node.segment);
  return node;
}

absl::StatusOr<LocalRows> LoadRows(const RunData& run, InstanceSource& instances, size_t source) {
  LocalRows out;
  const size_t expected = ExpectedInstances(run, instances, source);
  out.communicator.reserve(expected);
  out.nodes.reserve(expected);
  out.covers.reserve(expected);
  LOCKSTEP_ASSIGN_OR_RETURN(std::unique_ptr<InstanceStream> stream, instances.Open(source));
  while (true) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::span<const InstanceRow> block, stream->Next());
    if (block.empty()) return out;
    for (const InstanceRow& row : block) {
      out.communicator.push_back(row.communicator);
      out.nodes.push_back(LocalNode(row, instances.FirstRow(source)));
      out.covers.push_back(row.cover);
    }
  }
}

// previous = the rank's last row of the same matched communicator. Of one without others there is no instance.
void LinkPrevious(const MatchResult& match, const std::vector<ArrivalOfRow>& arrivals, LocalRows& rows) {
  std::map<uint32_t, int64_t> last;
  auto at = last.end();
  for (size_t row = 0; row < rows.nodes.size() && row < arrivals.size(); ++row) {
    if (arrivals[row].instance < 0) continue;
    const MatchedInstance& instance = match.instances[static_cast<size_t>(arrivals[row].instance)];
    const uint32_t communicator = instance.communicator;
    if (!instance.matched() && match.communicators[communicator].size < 2) continue;
    rows.nodes[row].instance = arrivals[row].instance;
    if (at == last.end() || at->first != communicator) at = last.try_emplace(communicator, -1).first;
    rows.nodes[row].previous = at->second;
    at->second = static_cast<int64_t>(row);
  }
}

// Drift makes the stretch on the common axis a little longer or shorter than its parts; their longest takes that. What
// a clock step cut out of a stretch, or put into it, is nobody's work: rest.
void FitToAxis(Segment& segment, int64_t length_ns) {
  const int64_t parts = PartsOf(segment);
  const int64_t difference = length_ns - parts;
  int64_t* longest = &segment.rest_ns;
  if (difference >= -parts / 1'000 && difference <= parts / 1'000) {
    for (int64_t* part :
         {&segment.compute_ns, &segment.copy_ns, &segment.host_ns, &segment.launch_ns, &segment.dependency_ns}) {
      if (*part > *longest) longest = part;
    }
  }
  *longest += difference;
}

// By its own time, not by that of its kernel: the kernels of one graph launch stay launched at one instant.
void AlignLaunch(const ClockModel& clock, int32_t rank_index, ArrivalNode& node) {
  if (node.launch_start_ns == kNoTime) return;
  const int64_t correction = clock.Correction(rank_index, LocalTime{node.launch_start_ns}).ns;
  node.launch_start_ns -= correction;
  if (node.launch_end_ns != kNoTime) node.launch_end_ns -= correction;
}

// Whole rows, so that what runs beside them stays where it is in them.
void AlignRows(const ClockModel& clock, int32_t rank_index, std::vector<ArrivalNode>& nodes) {
  for (ArrivalNode& node : nodes) {
    const int64_t correction = clock.Correction(rank_index, LocalTime{node.start_ns}).ns;
    node.start_ns -= correction;
    node.end_ns -= correction;
    AlignLaunch(clock, rank_index, node);
  }
}

// Ends by their own time: a clock drifts by microseconds while a kernel waits, and what the rank starts next follows
// from the kernel's end. A clock that is set back meanwhile leaves a length of 0. `ends_ns`: by row, not aligned.
void AlignEnds(const ClockModel& clock, int32_t rank_index, const std::vector<int64_t>& ends_ns,
               std::vector<ArrivalNode>& nodes) {
  for (size_t row = 0; row < nodes.size(); ++row) {
    ArrivalNode& node = nodes[row];
    const int64_t end_ns = ends_ns[row] - clock.Correction(rank_index, LocalTime{ends_ns[row]}).ns;
    node.end_ns = std::max(node.start_ns, end_ns);
    if (node.segment.begin_ns == kNoTime) continue;
    node.segment.begin_ns = nodes[static_cast<size_t>(node.previous)].end_ns;
    FitToAxis(node.segment, node.start_ns - node.segment.begin_ns);
  }
}

using Pauses = std::vector<std::pair<int64_t, int64_t>>;

// The pauses between steps that lie in [from_ns, to_ns] of the rank's own clock. The result is aligned.
Pauses PausesOf(const SourceData& source, int32_t rank_index, const ClockModel& clock, int64_t from_ns, int64_t to_ns) {
  Pauses out;
  const auto aligned = [&](int64_t local_ns) {
    return local_ns - clock.Correction(rank_index, LocalTime{local_ns}).ns;
  };
  auto step = std::partition_point(source.steps.begin(), source.steps.end(),
                                   [&](const StepRow& row) { return row.window_end_ns < from_ns; });
  for (; step != source.steps.end() && std::next(step) != source.steps.end(); ++step) {
    const int64_t begin = step->window_end_ns;
    const int64_t end = std::next(step)->window_start_ns;
    if (end > to_ns) break;
    if (begin < end) out.emplace_back(aligned(begin), aligned(end));
  }
  return out;
}

struct LoadedRank {
  std::vector<ArrivalNode> nodes;
  Pauses pauses;
};

absl::StatusOr<LoadedRank> LoadRank(const RunData& run, InstanceSource& instances, const RankResolution& ranks,
                                    const MatchResult& match, size_t rank) {
  const size_t source = ranks.ranks[rank].source;
  if (instances.RowCount(source) == 0) return LoadedRank{};
  LOCKSTEP_ASSIGN_OR_RETURN(LocalRows rows, LoadRows(run, instances, source));
  LinkPrevious(match, match.arrivals[rank], rows);
  ChainSegments(rows.communicator, rows.nodes);
  std::vector<int64_t> ends_ns;
  ends_ns.reserve(rows.nodes.size());
  int64_t from_ns = INT64_MAX;
  int64_t to_ns = INT64_MIN;
  for (const ArrivalNode& node : rows.nodes) {
    ends_ns.push_back(node.end_ns);
    from_ns = std::min(from_ns, node.start_ns);
    to_ns = std::max(to_ns, node.end_ns);
  }
  const auto rank_index = static_cast<int32_t>(rank);
  AlignRows(match.clock, rank_index, rows.nodes);
  SetWork(rows.covers, rows.nodes);
  AlignEnds(match.clock, rank_index, ends_ns, rows.nodes);
  return LoadedRank{std::move(rows.nodes), PausesOf(run.sources[source], rank_index, match.clock, from_ns, to_ns)};
}

// Of a rooted operation only where all members but the root waited for it, beyond what the clocks leave open.
bool Ties(const MatchedInstance& instance) {
  if (instance.all_pairs || (!ComesFromRoot(instance.op) && !GoesToRoot(instance.op))) return true;
  if (GoesToRoot(instance.op)) return false;
  const auto waited = std::count_if(instance.members.begin(), instance.members.end(), [](const MatchedMember& member) {
    return member.awaits >= 0 && member.wait_ns > member.wait_uncertainty_ns;
  });
  return std::cmp_greater_equal(waited + 1, instance.members.size());
}

std::vector<bool> TiesOf(const MatchResult& match) {
  std::vector<bool> ties;
  ties.reserve(match.instances.size());
  for (const MatchedInstance& instance : match.instances) ties.push_back(Ties(instance));
  return ties;
}

std::vector<uint32_t> OrderOf(const MatchResult& match, size_t ranks) {
  const std::vector<size_t> connected = ConnectedRanks(match, ranks);
  std::vector<std::tuple<size_t, int64_t, uint32_t>> keys;
  for (size_t i = 0; i < match.instances.size(); ++i) {
    const MatchedInstance& instance = match.instances[i];
    if (!instance.usable()) continue;
    int64_t last = INT64_MIN;
    for (const MatchedMember& m : instance.members) last = std::max(last, m.start_ns);
    const size_t set = connected[static_cast<size_t>(instance.members.front().rank_index)];
    keys.emplace_back(set, last, static_cast<uint32_t>(i));
  }
  std::sort(keys.begin(), keys.end());
  std::vector<uint32_t> order;
  order.reserve(keys.size());
  for (const auto& key : keys) order.push_back(std::get<2>(key));
  return order;
}

}  // namespace

void SetWork(std::span<const Few<std::pair<int64_t, int64_t>>> covers, std::vector<ArrivalNode>& nodes) {
  std::vector<CommunicationRow> rows;
  rows.reserve(nodes.size());
  for (size_t row = 0; row < nodes.size(); ++row) {
    rows.push_back({nodes[row].start_ns, nodes[row].end_ns, {}});
    if (!covers.empty()) rows.back().cover = {covers[row].begin(), covers[row].end()};
  }
  const std::vector<WorkAt> work = WorkLine(rows);
  for (size_t row = 0; row < work.size(); ++row) nodes[row].work = work[row];
}

absl::StatusOr<ArrivalGraph> LoadArrivalGraph(const RunData& run, InstanceSource& instances,
                                              const RankResolution& ranks, const MatchResult& match,
                                              Executor& executor) {
  const size_t count = ranks.ranks.size();
  std::vector<absl::Status> loaded(count);
  ArrivalGraph graph;
  graph.ranks.resize(count);
  graph.pauses.resize(count);
  // The parts that are about all ranks come first, because they take longest.
  executor.ParallelFor(2 + count, [&](size_t part) {
    if (part == 0) {
      graph.order = OrderOf(match, count);
    } else if (part == 1) {
      graph.ties = TiesOf(match);
    } else {
      const size_t r = part - 2;
      absl::StatusOr<LoadedRank> rank = LoadRank(run, instances, ranks, match, r);
      loaded[r] = rank.status();
      if (!rank.ok()) return;
      graph.ranks[r] = std::move(rank->nodes);
      graph.pauses[r] = std::move(rank->pauses);
    }
  });
  for (const absl::Status& status : loaded) LOCKSTEP_RETURN_IF_ERROR(status);
  return graph;
}

}  // namespace lockstep
