#include "analysis/metrics/arrivals/segment_chain.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "analysis/base/time.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/row_values.h"
#include "analysis/stats/sketch.h"

namespace lockstep {
namespace {

bool IsLength(int64_t ns) { return ns >= 0 && ns <= kMaxAbsTimeNs; }

bool TilesFit(const Segment& segment, int64_t length_ns, size_t rows) {
  int64_t position = 0;
  int64_t sum = 0;
  for (const OtherCommTile& tile : segment.tiles) {
    if (tile.instance < 0 || tile.instance >= static_cast<int64_t>(rows)) return false;
    if (tile.offset_ns < position || !IsLength(tile.length_ns)) return false;
    if (tile.offset_ns > length_ns || tile.length_ns > length_ns - tile.offset_ns) return false;
    position = tile.offset_ns + tile.length_ns;
    sum += tile.length_ns;
  }
  return sum == segment.other_comm_ns;
}

// A store may hold anything: only what tiles exactly is believed.
bool Fits(const Segment& segment, int64_t start_ns, size_t rows) {
  if (segment.begin_ns == kNoTime) return false;
  int128 sum = 0;
  for (const int64_t part : {segment.compute_ns, segment.copy_ns, segment.other_comm_ns, segment.host_ns,
                             segment.launch_ns, segment.dependency_ns, segment.rest_ns}) {
    if (!IsLength(part)) return false;
    sum += part;
  }
  if (int128{segment.begin_ns} + sum != start_ns) return false;
  return TilesFit(segment, start_ns - segment.begin_ns, rows);
}

// For every row the earlier row of its source's communicator that ended last: where its segment begins. -1: none.
std::vector<int64_t> BoundOfRow(const std::vector<uint32_t>& communicator, const std::vector<ArrivalNode>& nodes) {
  std::vector<int64_t> bound(nodes.size(), -1);
  std::unordered_map<uint32_t, int64_t> last;
  auto at = last.end();
  for (size_t row = 0; row < nodes.size(); ++row) {
    if (at == last.end() || at->first != communicator[row]) at = last.try_emplace(communicator[row], -1).first;
    bound[row] = at->second;
    if (bound[row] < 0 || nodes[row].end_ns >= nodes[static_cast<size_t>(bound[row])].end_ns) {
      at->second = static_cast<int64_t>(row);
    }
  }
  return bound;
}

void AddParts(const Segment& from, int64_t begin_ns, Segment& into) {
  into.compute_ns += from.compute_ns;
  into.copy_ns += from.copy_ns;
  into.other_comm_ns += from.other_comm_ns;
  into.host_ns += from.host_ns;
  into.launch_ns += from.launch_ns;
  into.dependency_ns += from.dependency_ns;
  into.rest_ns += from.rest_ns;
  for (auto tile = from.tiles.rbegin(); tile != from.tiles.rend(); ++tile) {
    into.tiles.push_back({tile->instance, from.begin_ns + tile->offset_ns - begin_ns, tile->length_ns});
  }
}

class Chain {
 public:
  Chain(const std::vector<ArrivalNode>& nodes, const std::vector<int64_t>& bound) : nodes_(nodes), bound_(bound) {}

  // The stretch from begin_ns to the row's start; begin_ns kNoTime if the chain does not reach back to it.
  [[nodiscard]] Segment From(int64_t begin_ns, size_t row) const {
    Segment out;
    out.begin_ns = begin_ns;
    out.second_slack_ns = nodes_[row].segment.second_slack_ns;
    int64_t reached = nodes_[row].start_ns;
    while (reached > begin_ns) {
      const Segment& own = nodes_[row].segment;
      if (own.begin_ns != kNoTime && own.begin_ns >= begin_ns && reached == nodes_[row].start_ns) {
        AddParts(own, begin_ns, out);
        reached = own.begin_ns;
      }
      if (reached <= begin_ns) break;
      if (bound_[row] < 0) return {};
      const size_t before = static_cast<size_t>(bound_[row]);
      const int64_t from = std::max(nodes_[before].start_ns, begin_ns);
      if (from >= reached || nodes_[before].end_ns < reached) return {};
      out.tiles.push_back({bound_[row], from - begin_ns, reached - from});
      out.other_comm_ns += reached - from;
      reached = from;
      row = before;
    }
    std::reverse(out.tiles.begin(), out.tiles.end());
    return out;
  }

 private:
  const std::vector<ArrivalNode>& nodes_;
  const std::vector<int64_t>& bound_;
};

}  // namespace

int64_t PartsOf(const Segment& s) {
  return s.compute_ns + s.copy_ns + s.other_comm_ns + s.host_ns + s.launch_ns + s.dependency_ns + s.rest_ns;
}

void ChainSegments(const std::vector<uint32_t>& communicator, std::vector<ArrivalNode>& nodes) {
  for (ArrivalNode& node : nodes) {
    if (!Fits(node.segment, node.start_ns, nodes.size())) node.segment = Segment{};
  }
  const std::vector<int64_t> bound = BoundOfRow(communicator, nodes);
  const Chain chain(nodes, bound);
  std::vector<std::pair<size_t, Segment>> changed;
  for (size_t row = 0; row < nodes.size(); ++row) {
    const ArrivalNode& node = nodes[row];
    if (node.previous < 0) {
      if (node.segment.begin_ns != kNoTime) changed.emplace_back(row, Segment{});
      continue;
    }
    const int64_t begin = nodes[static_cast<size_t>(node.previous)].end_ns;
    if (node.segment.begin_ns != begin)
      changed.emplace_back(row, begin <= node.start_ns ? chain.From(begin, row) : Segment{});
  }
  for (auto& [row, segment] : changed) nodes[row].segment = std::move(segment);
}

}  // namespace lockstep
