#include "analysis/metrics/replay/replay_line.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "analysis/model/instance_row.h"
#include "analysis/model/record_scatter.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

// Own work by what it consists of besides compute.
struct Parts {
  int64_t host_ns = 0;
  int64_t copy_ns = 0;
  int64_t other_ns = 0;  // launch, dependency, rest

  [[nodiscard]] int64_t sum() const { return host_ns + copy_ns + other_ns; }
  friend Parts operator+(const Parts& a, const Parts& b) {
    return {a.host_ns + b.host_ns, a.copy_ns + b.copy_ns, a.other_ns + b.other_ns};
  }
  friend Parts operator-(const Parts& a, const Parts& b) {
    return {a.host_ns - b.host_ns, a.copy_ns - b.copy_ns, a.other_ns - b.other_ns};
  }
  [[nodiscard]] Parts Share(double share) const {
    const auto of = [share](int64_t ns) { return static_cast<int64_t>(static_cast<double>(ns) * share); };
    return {of(host_ns), of(copy_ns), of(other_ns)};
  }
};

// The parts of the pieces, from the segments of the rows: each tells the parts of another stretch, from the end of the
// communicator's row before.
class PartsOfLine {
 public:
  explicit PartsOfLine(const std::vector<ArrivalNode>& rows) : rows_(rows) {}

  // Of the piece of `length_ns` before row k. Rows in order. `most_host_ns`: for how long the host can have held up the
  // device at most.
  Parts Next(size_t k, int64_t length_ns, int64_t most_host_ns) {
    const ArrivalNode& row = rows_[k];
    Parts piece{.host_ns = most_host_ns};
    if (row.segment.begin_ns != kNoTime && row.previous >= 0) {
      const Segment& segment = row.segment;
      // A long dependency on nothing that is known hides work.
      const int64_t dependency_ns = segment.dependency_ns > kLeastWorkNs ? 0 : segment.dependency_ns;
      const Parts since = {segment.host_ns, segment.copy_ns, segment.launch_ns + dependency_ns + segment.rest_ns};
      piece = UpTo(rows_[static_cast<size_t>(row.previous)].work.end_ns) + since - line_;
      piece.host_ns = std::min(piece.host_ns, most_host_ns);
    } else if (length_ns - most_host_ns <= kLeastWorkNs) {
      piece.other_ns = length_ns - most_host_ns;
    }
    int64_t rest = length_ns;
    for (int64_t* part : {&piece.host_ns, &piece.copy_ns, &piece.other_ns}) {
      *part = std::clamp<int64_t>(*part, 0, rest);
      rest -= *part;
    }
    line_ = line_ + piece;
    ends_.push_back({row.work.start_ns, line_});
    return piece;
  }

 private:
  struct PieceEnd {
    int64_t work_ns = 0;
    Parts line;  // of all own work up to it
  };

  // Of all own work up to here, as if the parts of a piece were spread evenly.
  [[nodiscard]] Parts UpTo(int64_t work_ns) const {
    const auto later =
        std::find_if(ends_.rbegin(), ends_.rend(), [&](const PieceEnd& end) { return end.work_ns <= work_ns; }).base();
    if (later == ends_.end()) return line_;
    const PieceEnd before =
        later == ends_.begin() ? PieceEnd{.work_ns = rows_.front().work.start_ns, .line = {}} : *std::prev(later);
    if (work_ns <= before.work_ns) return before.line;
    const auto done = static_cast<double>(work_ns - before.work_ns);
    return before.line + (later->line - before.line).Share(done / static_cast<double>(later->work_ns - before.work_ns));
  }

  const std::vector<ArrivalNode>& rows_;
  std::vector<PieceEnd> ends_;  // in order
  Parts line_;                  // of the last row
};

// The rows whose ends a start may follow from.
class LastEnds {
 public:
  explicit LastEnds(const std::vector<ArrivalNode>& rows) : rows_(rows) {}

  // Row that row k, which is next, started right after; -1: it started when the rank's work had come there. `in_work`:
  // the work goes on between the row before and this one, however short that is. What is on another stream may end
  // just then by chance; what is on the same one holds the row back in any case.
  int64_t Before(size_t k, bool in_work) {
    const ArrivalNode& row = rows_[k];
    std::erase_if(last_, [&](size_t other) { return rows_[other].end_ns < row.start_ns - kStreamOrderNs; });
    int64_t found = -1;
    bool found_in_order = false;
    for (const size_t other : last_) {
      const ArrivalNode& before = rows_[other];
      const bool in_order = before.stream == row.stream && !(before.work.joined && in_work);
      if (before.end_ns > row.start_ns + kRecordScatterNs || !(row.work.stands || in_order)) continue;
      const bool later = found < 0 || before.end_ns > rows_[static_cast<size_t>(found)].end_ns;
      if (!in_order && (found_in_order || !later)) continue;
      found = static_cast<int64_t>(other);
      found_in_order = in_order;
    }
    std::erase_if(last_, [&](size_t other) { return rows_[other].stream == row.stream; });
    if (last_.size() >= kMostStreams) last_.erase(last_.begin());
    last_.push_back(k);
    return found;
  }

 private:
  static constexpr size_t kMostStreams =
      64;  // on which communication runs at once; a hostile trace may have any number

  const std::vector<ArrivalNode>& rows_;
  std::vector<size_t> last_;  // of each stream the row that started last, if it has not ended for long
};

// Builds the nodes of one rank, in order.
class LineBuilder {
 public:
  // `in_work`: rows of operations that hardly ever run beside the rank's work, which goes on from one to the next.
  LineBuilder(const std::vector<ArrivalNode>& rows, const std::vector<bool>& bounds, std::vector<bool> in_work,
              int32_t first, size_t rank)
      : rows_(rows),
        bounds_(bounds),
        in_work_(std::move(in_work)),
        first_(first),
        rank_(static_cast<int32_t>(rank)),
        parts_(rows),
        ends_(rows),
        hidden_(rows.size()) {}

  ReplayNode Next(size_t k) {
    const ArrivalNode& row = rows_[k];
    ReplayNode node;
    node.start_ns = row.start_ns;
    node.end_ns = row.end_ns;
    node.launch_ns = row.launch_start_ns;
    node.instance = static_cast<int32_t>(row.instance);
    node.rank = rank_;
    node.follows = k > 0;
    node.runs_alone = RunsAlone(row);
    if (const int64_t queued = ends_.Before(k, in_work_[k]); queued >= 0) {
      node.queued = NodeOf(queued);
      const auto before = static_cast<size_t>(queued);
      node.place_hidden = hidden_[before] || row.work.start_ns - rows_[before].work.start_ns > kRecordScatterNs;
    }
    hidden_[k] = node.place_hidden;
    const int64_t previous = row.previous;
    if (previous >= 0 && rows_[static_cast<size_t>(previous)].end_ns <= row.start_ns) node.serial = NodeOf(previous);
    if (k == 0 || bounds_[k - 1]) BeginPiece(k);
    node.piece = NodeOf(static_cast<int64_t>(piece_end_));
    node.at_share = ShareOf(row.work.start_ns - piece_from_ns_);
    AddLine(k, node);
    if (bounds_[k]) AddParts(k, node);
    if (row.work.joined) waiting_.emplace(row.end_ns, k);
    return node;
  }

  std::vector<ReplayJoin> TakeJoins() { return std::move(joins_); }

 private:
  [[nodiscard]] int32_t NodeOf(int64_t row) const { return first_ + static_cast<int32_t>(row); }
  [[nodiscard]] float ShareOf(int64_t work_ns) const {
    return piece_ns_ > 0 ? static_cast<float>(static_cast<double>(work_ns) / static_cast<double>(piece_ns_)) : 1;
  }

  void BeginPiece(size_t k) {
    piece_end_ = k;
    while (!bounds_[piece_end_]) ++piece_end_;
    piece_from_ns_ = k == 0 ? rows_[k].work.start_ns : rows_[k - 1].work.start_ns;
    piece_ns_ = std::max<int64_t>(0, rows_[piece_end_].work.start_ns - piece_from_ns_);
    joined_at_ns_ = 0;
  }

  // The line from the start before, with what it waited for meanwhile.
  void AddLine(size_t k, ReplayNode& node) {
    const ArrivalNode& row = rows_[k];
    if (k == 0) line_ns_ = row.start_ns;
    const int64_t to_ns = std::clamp<int64_t>(row.work.start_ns - piece_from_ns_, 0, piece_ns_);
    int64_t done_ns = k == 0 ? to_ns : std::clamp<int64_t>(rows_[k - 1].work.start_ns - piece_from_ns_, 0, to_ns);
    node.join_first = static_cast<int32_t>(joins_.size());
    while (!waiting_.empty() && waiting_.begin()->first <= row.start_ns + kRecordScatterNs) {
      const size_t joined = waiting_.extract(waiting_.begin()).mapped();
      joined_at_ns_ = std::clamp(rows_[joined].work.end_ns - piece_from_ns_, done_ns, to_ns);
      line_ns_ = std::max(line_ns_ + joined_at_ns_ - done_ns, rows_[joined].end_ns);
      done_ns = joined_at_ns_;
      joins_.push_back({NodeOf(static_cast<int64_t>(joined)), ShareOf(done_ns)});
    }
    node.join_count = static_cast<int32_t>(joins_.size()) - node.join_first;
    line_ns_ += to_ns - done_ns;
    node.line_ns = line_ns_;
  }

  void AddParts(size_t k, ReplayNode& node) {
    const Parts parts = parts_.Next(k, piece_ns_, HeldUp(rows_[k], piece_ns_ - joined_at_ns_));
    node.host_ns = parts.host_ns;
    node.device_ns = piece_ns_ - parts.host_ns;
    node.compute_ns = piece_ns_ - parts.sum();
    node.copy_ns = parts.copy_ns;
  }

  // For how long at most the host can have held up the device in the last stretch of own work before this row.
  [[nodiscard]] int64_t HeldUp(const ArrivalNode& row, int64_t stretch_ns) const {
    if (row.launch_end_ns != kNoTime) {
      return std::clamp<int64_t>(row.launch_end_ns - (line_ns_ - stretch_ns), 0, stretch_ns);
    }
    return row.segment.begin_ns == kNoTime ? 0 : stretch_ns;
  }

  const std::vector<ArrivalNode>& rows_;
  const std::vector<bool>& bounds_;
  const std::vector<bool> in_work_;
  const int32_t first_;
  const int32_t rank_;
  PartsOfLine parts_;
  LastEnds ends_;
  std::vector<bool> hidden_;   // by row: ReplayNode::place_hidden
  size_t piece_end_ = 0;       // the row that ends the piece at hand,
  int64_t piece_from_ns_ = 0;  // own work before it
  int64_t piece_ns_ = 0;
  int64_t joined_at_ns_ = 0;                // of the piece, when the line last waited
  int64_t line_ns_ = 0;                     // when the work had come to the start of the row at hand
  std::multimap<int64_t, size_t> waiting_;  // rows that the work waits for and no node has taken, by end
  std::vector<ReplayJoin> joins_;
};

constexpr float kMostlyAlone = 0.5F;  // its rows bound pieces
// The rank's work goes on between its rows. Gradients run beside the backward pass at first and alone at its end, so
// that half of theirs may be alone too, whatever else their communicator does.
constexpr float kNearlyAllAlone = 0.9F;

template <typename IsOne>
std::vector<bool> RowsThat(const std::vector<ArrivalNode>& rows, const MatchResult& match, const IsOne& is_one) {
  std::vector<bool> out;
  out.reserve(rows.size());
  for (const ArrivalNode& row : rows) {
    out.push_back(row.instance >= 0 && is_one(match.instances[static_cast<size_t>(row.instance)]));
  }
  return out;
}

std::vector<bool> InWork(const std::vector<ArrivalNode>& rows, const MatchResult& match, const SharesAlone& alone) {
  return RowsThat(rows, match, [&](const MatchedInstance& instance) {
    return alone.of_operation[SharesAlone::OperationOf(instance)] > kNearlyAllAlone;
  });
}

// Which rows bound pieces of own work. All of the last row's piece have to end somewhere.
std::vector<bool> BoundsOf(const std::vector<ArrivalNode>& rows, const MatchResult& match, const SharesAlone& alone) {
  constexpr int64_t kOneIn =
      4;  // with fewer, a piece would be a good part of a step, and hide where in it work is late
  std::vector<bool> bounds = RowsThat(rows, match, [&](const MatchedInstance& instance) {
    return alone.of_communicator[instance.communicator] > kMostlyAlone;
  });
  int64_t collectives = 0;  // that bound
  for (size_t k = 0; k < rows.size(); ++k) {
    if (rows[k].instance < 0) continue;
    const bool pair = IsSendOrReceive(match.instances[static_cast<size_t>(rows[k].instance)]);
    if (bounds[k] && !pair) ++collectives;
    if (pair) bounds[k] = true;
  }
  if (collectives * kOneIn < std::ssize(bounds)) return std::vector<bool>(rows.size(), true);
  // Between steps the host may do anything, and the first row of a step shows for how long.
  for (size_t k = 1; k < rows.size(); ++k) {
    if (rows[k].step != rows[k - 1].step) bounds[k] = true;
  }
  for (size_t k = bounds.size(); k-- > 0 && !bounds[k];) bounds[k] = true;
  return bounds;
}

}  // namespace

bool RunsAlone(const ArrivalNode& row) { return row.work.end_ns - row.work.start_ns <= kRecordScatterNs; }

SharesAlone MeasureAlone(const ArrivalGraph& source, const MatchResult& match) {
  struct Count {
    int64_t rows = 0;
    int64_t alone = 0;

    [[nodiscard]] float share() const {
      return static_cast<float>(alone) / static_cast<float>(std::max<int64_t>(1, rows));
    }
  };
  std::vector<Count> operations(match.communicators.size() * SharesAlone::kOperations);
  for (const std::vector<ArrivalNode>& rows : source.ranks) {
    for (const ArrivalNode& row : rows) {
      if (row.instance < 0) continue;
      Count& count = operations[SharesAlone::OperationOf(match.instances[static_cast<size_t>(row.instance)])];
      ++count.rows;
      if (RunsAlone(row)) ++count.alone;
    }
  }
  SharesAlone shares;
  for (size_t c = 0; c < match.communicators.size(); ++c) {
    Count of_communicator;
    for (size_t op = c * SharesAlone::kOperations; op < (c + 1) * SharesAlone::kOperations; ++op) {
      of_communicator.rows += operations[op].rows;
      of_communicator.alone += operations[op].alone;
      shares.of_operation.push_back(operations[op].share());
    }
    shares.of_communicator.push_back(of_communicator.share());
  }
  return shares;
}

std::vector<ReplayJoin> AddLine(const std::vector<ArrivalNode>& rows, const MatchResult& match,
                                const SharesAlone& alone, size_t rank, ReplayGraph& graph) {
  const std::vector<bool> bounds = BoundsOf(rows, match, alone);
  LineBuilder line(rows, bounds, InWork(rows, match, alone), static_cast<int32_t>(graph.first[rank]), rank);
  for (size_t k = 0; k < rows.size(); ++k) graph.nodes.Make(graph.first[rank] + k, line.Next(k));
  return line.TakeJoins();
}

}  // namespace lockstep
