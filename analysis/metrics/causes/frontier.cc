#include "analysis/metrics/causes/frontier.h"

#include <algorithm>
#include <map>
#include <optional>

#include "analysis/metrics/arrivals/segment_chain.h"

namespace lockstep {
namespace {

bool IsFrontier(const MatchedInstance& instance) {
  return instance.matched() && instance.all_pairs && instance.complete && instance.confidence >= 0.99;
}

class Frontier {
 public:
  Frontier(const ArrivalGraph& graph, const MatchResult& match) : graph_(graph), match_(match) {}

  std::vector<FrontierSuspect> Run() {
    for (const MatchedInstance& instance : match_.instances) {
      if (IsFrontier(instance)) Advance(instance);
    }
    std::vector<FrontierSuspect> out;
    for (const auto& [rank, lead] : lead_) out.push_back({rank, lead});
    std::stable_sort(out.begin(), out.end(),
                     [](const FrontierSuspect& a, const FrontierSuspect& b) { return a.lead_ns > b.lead_ns; });
    return out;
  }

 private:
  [[nodiscard]] const ArrivalNode& NodeOf(int32_t rank_index, int64_t row) const {
    return graph_.ranks[static_cast<size_t>(rank_index)][static_cast<size_t>(row)];
  }

  // What of the tile lies before the member's wait in that instance was over, by durations.
  [[nodiscard]] int64_t WaitInTile(int32_t rank_index, const Segment& segment, const OtherCommTile& tile) const {
    const ArrivalNode& node = NodeOf(rank_index, tile.instance);
    if (node.instance < 0) return 0;
    const MatchedInstance& instance = match_.instances[static_cast<size_t>(node.instance)];
    if (!IsFrontier(instance)) return 0;
    const int64_t wait = node.end_ns - node.start_ns - instance.shortest_duration_ns;
    const int64_t begun = segment.begin_ns + tile.offset_ns - node.start_ns;
    return std::clamp<int64_t>(wait - begun, 0, tile.length_ns);
  }

  [[nodiscard]] std::optional<int64_t> OwnTime(const MatchedMember& member) const {
    const Segment& segment = NodeOf(member.rank_index, member.row).segment;
    if (segment.begin_ns == kNoTime) return std::nullopt;
    int64_t own = PartsOf(segment);
    for (const OtherCommTile& tile : segment.tiles) own -= WaitInTile(member.rank_index, segment, tile);
    return own;
  }

  void Begin(const MatchedInstance& instance) {
    communicator_ = instance.communicator;
    step_ = instance.step;
    own_.assign(instance.members.size(), 0);
    leader_ = 0;
    total_ = 0;
  }

  void Advance(const MatchedInstance& instance) {
    if (instance.communicator != communicator_ || instance.step != step_ || own_.size() != instance.members.size()) {
      Begin(instance);
    }
    std::vector<int64_t> own;
    for (const MatchedMember& m : instance.members) {
      const std::optional<int64_t> time = OwnTime(m);
      if (!time) return;
      own.push_back(*time);
    }
    const int64_t before = own_[leader_];
    const int64_t total_before = total_;
    for (size_t i = 0; i < own.size(); ++i) {
      own_[i] += own[i];
      total_ += own[i];
    }
    leader_ = static_cast<size_t>(std::max_element(own_.begin(), own_.end()) - own_.begin());
    const auto count = static_cast<int64_t>(own_.size());
    lead_[instance.members[leader_].rank_index] += own_[leader_] - before - (total_ / count - total_before / count);
  }

  const ArrivalGraph& graph_;
  const MatchResult& match_;
  uint32_t communicator_ = UINT32_MAX;
  int64_t step_ = kNoStep;
  std::vector<int64_t> own_;  // by member, since the step began
  size_t leader_ = 0;
  int64_t total_ = 0;
  std::map<int32_t, int64_t> lead_;
};

}  // namespace

std::vector<FrontierSuspect> FrontierRanking(const ArrivalGraph& graph, const MatchResult& match) {
  return Frontier(graph, match).Run();
}

}  // namespace lockstep
