// Runs whose every nanosecond is known: ranks work, and meet in collectives that end for all when the last one has come
// and the transfer is over. Told to RunBuilder with the segments that a condenser would give.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/metrics/arrivals/arrival_graph.h"
#include "analysis/metrics/arrivals/lateness.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/row_values.h"
#include "tests/unit/analysis/metrics/matched_run.h"

namespace lockstep {

class TimelineRun {
 public:
  TimelineRun(int32_t ranks, std::vector<std::vector<int32_t>> groups, int32_t ranks_per_host = 1'000)
      : groups_(std::move(groups)), ranks_per_host_(ranks_per_host), ranks_(static_cast<size_t>(ranks)) {
    for (Rank& rank : ranks_) rank.now = kStart;
  }

  // The rank spends this long; kCompute, kCopy, kHost, kLaunch, kDependency or kRest.
  void Work(int32_t rank, int64_t ns, LatenessPart part = LatenessPart::kCompute) {
    Rank& r = At(rank);
    if (ns > 0) r.pieces.push_back({part, -1, r.now, r.now + ns});
    r.now += ns;
  }
  void WorkAll(int64_t ns) {
    for (size_t r = 0; r < ranks_.size(); ++r) Work(static_cast<int32_t>(r), ns);
  }

  // The ranks of a group meet. A rank in `lost` takes part, but its record is missing.
  void Meet(size_t group, int64_t transfer_ns, int32_t lost = -1) {
    Meet(CollectiveOp::kAllReduce, group, transfer_ns, -1, lost);
  }
  // The root waits for all; the others go on when they have sent.
  void Reduce(size_t group, int64_t transfer_ns, int32_t root) {
    Meet(CollectiveOp::kReduce, group, transfer_ns, root, -1);
  }
  void SetStep(int64_t step) { step_ = step; }

  // Clocks of hosts differ by offset_ns from one to the next.
  void Tell(RunBuilder& builder, int64_t offset_ns = 0) const {
    for (size_t i = 0; i < ranks_.size(); ++i) {
      const auto rank = static_cast<int32_t>(i);
      const int32_t host = rank / ranks_per_host_;
      SourceBuilder& source = builder.AddRank(rank);
      source.World(static_cast<int32_t>(ranks_.size())).Host("host" + std::to_string(host));
      std::map<size_t, uint32_t> local;
      for (const auto& [group, told] : ranks_[i].rows) {
        if (!local.contains(group)) local[group] = source.Group("group" + std::to_string(group), groups_[group]);
        InstanceRow& row = source.Collective(local[group], told.op, told.start_ns, told.duration_ns);
        const InstanceRow named = row;
        row = told;
        row.communicator = named.communicator;
        row.name = named.name;
        row.op = named.op;
        row.dtype = DataType::kFloat32;
        row.library = named.library;
        row.start_ns += offset_ns * host;
        if (row.segment.begin_ns != kNoTime) row.segment.begin_ns += offset_ns * host;
      }
    }
  }

 private:
  static constexpr int64_t kStart = 1'700'000'000'000'000'000;

  struct Piece {
    LatenessPart part = LatenessPart::kCompute;
    int64_t row = -1;  // of a collective
    int64_t start_ns = 0;
    int64_t end_ns = 0;
  };
  struct Rank {
    int64_t now = 0;
    std::vector<Piece> pieces;
    std::vector<std::pair<size_t, InstanceRow>> rows;
    std::map<size_t, int64_t> last_end;
  };
  void Meet(CollectiveOp op, size_t group, int64_t transfer_ns, int32_t root, int32_t lost) {
    int64_t last = 0;
    for (const int32_t rank : groups_[group]) last = std::max(last, At(rank).now);
    ++meetings_;
    for (const int32_t rank : groups_[group]) {
      Rank& r = At(rank);
      const int64_t start = r.now;
      r.now = (root < 0 || rank == root ? last : start) + transfer_ns;
      if (rank == lost) {
        r.pieces.push_back({LatenessPart::kRest, -1, start, r.now});
        continue;
      }
      InstanceRow row;
      row.op = op;
      row.root = root;
      row.start_ns = start;
      row.duration_ns = r.now - start;
      row.step = step_;
      row.seq = meetings_;
      row.comms_id = static_cast<uint64_t>(meetings_);
      row.has_comms_id = true;
      row.bytes = 4'096;
      row.segment = SegmentOf(r, group, start);
      r.pieces.push_back({LatenessPart::kWait, static_cast<int64_t>(r.rows.size()), start, r.now});
      r.last_end[group] = r.now;
      r.rows.emplace_back(group, row);
    }
  }
  Rank& At(int32_t rank) { return ranks_[static_cast<size_t>(rank)]; }

  static int64_t& PartOf(Segment& segment, LatenessPart part) {
    switch (part) {
      case LatenessPart::kCompute:
        return segment.compute_ns;
      case LatenessPart::kCopy:
        return segment.copy_ns;
      case LatenessPart::kHost:
        return segment.host_ns;
      case LatenessPart::kLaunch:
        return segment.launch_ns;
      case LatenessPart::kDependency:
        return segment.dependency_ns;
      default:
        return segment.rest_ns;
    }
  }

  static Segment SegmentOf(const Rank& rank, size_t group, int64_t start_ns) {
    Segment segment;
    const auto last = rank.last_end.find(group);
    if (last == rank.last_end.end()) return segment;
    segment.begin_ns = last->second;
    for (const Piece& piece : rank.pieces) {
      if (piece.start_ns < segment.begin_ns || piece.start_ns >= start_ns) continue;
      const int64_t length = piece.end_ns - piece.start_ns;
      if (piece.row < 0) {
        PartOf(segment, piece.part) += length;
      } else {
        segment.other_comm_ns += length;
        segment.tiles.push_back({piece.row, piece.start_ns - segment.begin_ns, length});
      }
    }
    return segment;
  }

  std::vector<std::vector<int32_t>> groups_;
  int32_t ranks_per_host_ = 1'000;
  std::vector<Rank> ranks_;
  int64_t step_ = kNoStep;
  int64_t meetings_ = 0;
};

struct GraphedRun {
  MatchedRun matched;
  ArrivalGraph graph;
};

inline GraphedRun MakeGraph(const TimelineRun& timeline, int64_t offset_ns = 0, bool reversed = false) {
  RunBuilder builder;
  timeline.Tell(builder, offset_ns);
  GraphedRun out{Match(builder, reversed), {}};
  InlineExecutor executor(reversed);
  auto graph = LoadArrivalGraph(out.matched.built.run, out.matched.built.instances, out.matched.ranks,
                                out.matched.match, executor);
  if (graph.ok()) out.graph = *std::move(graph);
  return out;
}

}  // namespace lockstep
