#include "analysis/metrics/causes/frontier.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "analysis/metrics/arrivals/segment_chain.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

bool IsFrontier(const MatchedInstance& instance) {
  return instance.matched() && instance.all_pairs && instance.complete && instance.confidence >= 0.99;
}

class Frontier {
 public:
  Frontier(const ArrivalGraph& graph, const MatchResult& match, const SectionOf& section_of)
      : graph_(graph), match_(match), section_of_(section_of) {}

  std::vector<FrontierLeads> Run() {
    for (const MatchedInstance& instance : match_.instances) {
      if (IsFrontier(instance)) Advance(instance);
    }
    return std::move(out_);
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

  // Of the member's previous instance of the communicator; -1: none.
  [[nodiscard]] int64_t InstanceBefore(const MatchedMember& m) const {
    const int64_t previous = NodeOf(m.rank_index, m.row).previous;
    return previous < 0 ? -1 : NodeOf(m.rank_index, previous).instance;
  }

  [[nodiscard]] std::optional<int64_t> OwnTime(const MatchedMember& member) const {
    const Segment& segment = NodeOf(member.rank_index, member.row).segment;
    if (segment.begin_ns == kNoTime) return std::nullopt;
    int64_t own = PartsOf(segment);
    for (const OtherCommTile& tile : segment.tiles) own -= WaitInTile(member.rank_index, segment, tile);
    return own;
  }

  void Begin(const MatchedInstance& instance, int64_t section) {
    if (out_.empty() || instance.communicator != communicator_ || own_.size() != instance.members.size()) {
      out_.emplace_back();
      for (const MatchedMember& m : instance.members) out_.back().members.push_back({m.rank_index, 0});
    }
    communicator_ = instance.communicator;
    section_ = section;
    ++out_.back().sections;
    own_.assign(instance.members.size(), 0);
    leader_ = 0;
    total_ = 0;
  }

  void Advance(const MatchedInstance& instance) {
    std::vector<int64_t> own;
    const int64_t before_first = InstanceBefore(instance.members.front());
    for (const MatchedMember& m : instance.members) {
      const std::optional<int64_t> time = OwnTime(m);
      if (InstanceBefore(m) != before_first) return;  // a record between is lost: its wait would count as own time
      if (!time) return;
      own.push_back(*time);
    }
    const int64_t section = section_of_(instance);
    if (instance.communicator != communicator_ || section != section_ || own_.size() != own.size()) {
      Begin(instance, section);
    }
    const int64_t before = own_[leader_];
    const int64_t total_before = total_;
    for (size_t i = 0; i < own.size(); ++i) {
      own_[i] += own[i];
      total_ += own[i];
    }
    leader_ = static_cast<size_t>(std::max_element(own_.begin(), own_.end()) - own_.begin());
    const auto count = static_cast<int64_t>(own_.size());
    out_.back().members[leader_].lead_ns += own_[leader_] - before - (total_ / count - total_before / count);
  }

  const ArrivalGraph& graph_;
  const MatchResult& match_;
  const SectionOf& section_of_;
  uint32_t communicator_ = UINT32_MAX;
  int64_t section_ = kNoStep;
  std::vector<int64_t> own_;  // by member, since the section began
  size_t leader_ = 0;
  int64_t total_ = 0;
  std::vector<FrontierLeads> out_;
};

bool Holds(const std::vector<int32_t>& ascending, int32_t value) {
  return std::binary_search(ascending.begin(), ascending.end(), value);
}

// How much of the leads some members have, and how much they would have if all were alike.
struct LeadShare {
  double lead = 0;
  double all = 0;
  double even = 0;      // part of `all` that would be theirs
  double sections = 0;  // communicators of the same ranks are no independent witnesses: the most of one

  void Add(const FrontierLeads& leads, double lead_ns, double members) {
    double sum = 0;
    for (const FrontierSuspect& m : leads.members) sum += static_cast<double>(m.lead_ns);
    if (sum <= 0) return;
    lead += lead_ns;
    all += sum;
    even += sum * members / static_cast<double>(leads.members.size());
    sections = std::max(sections, static_cast<double>(leads.sections));
  }
  // In standard deviations of who leads a section by chance.
  [[nodiscard]] double Beyond() const {
    if (all <= 0 || sections <= 0) return 0;
    const double fair = even / all;
    const double deviation = std::sqrt(fair * (1 - fair) / sections);
    return deviation > 0 ? (lead / all - fair) / deviation : 0;
  }
};

std::map<int32_t, LeadShare> SharesByRank(const std::vector<FrontierLeads>& leads) {
  std::map<int32_t, LeadShare> shares;
  for (const FrontierLeads& of_communicator : leads) {
    for (const FrontierSuspect& m : of_communicator.members) {
      shares[m.rank_index].Add(of_communicator, static_cast<double>(m.lead_ns), 1);
    }
  }
  return shares;
}

}  // namespace

std::vector<FrontierLeads> MeasureFrontier(const ArrivalGraph& graph, const MatchResult& match,
                                           const SectionOf& section_of) {
  return Frontier(graph, match, section_of).Run();
}

std::string_view Name(FrontierAnswer answer) {
  switch (answer) {
    case FrontierAnswer::kCannotTell:
      return "cannot_tell";
    case FrontierAnswer::kAgrees:
      return "agrees";
    case FrontierAnswer::kDisagrees:
      return "disagrees";
  }
  return "";
}

FrontierAnswer AskFrontier(const std::vector<FrontierLeads>& leads, const std::vector<int32_t>& rank_indices,
                           const std::vector<int32_t>& excused) {
  constexpr double kCertain = 3;
  LeadShare asked;
  std::vector<FrontierLeads> shared;
  for (const FrontierLeads& of_communicator : leads) {
    int64_t lead = 0;
    size_t members = 0;
    for (const FrontierSuspect& m : of_communicator.members) {
      if (!Holds(rank_indices, m.rank_index)) continue;
      lead += m.lead_ns;
      ++members;
    }
    if (members == 0 || members == of_communicator.members.size()) continue;
    asked.Add(of_communicator, static_cast<double>(lead), static_cast<double>(members));
    shared.push_back(of_communicator);
  }
  if (asked.all <= 0) return FrontierAnswer::kCannotTell;
  if (asked.Beyond() >= kCertain) return FrontierAnswer::kAgrees;
  if (asked.Beyond() > 0) return FrontierAnswer::kCannotTell;
  for (const auto& [rank, share] : SharesByRank(shared)) {
    if (Holds(rank_indices, rank) || Holds(excused, rank)) continue;
    if (share.Beyond() >= kCertain) return FrontierAnswer::kDisagrees;
  }
  return FrontierAnswer::kCannotTell;
}

}  // namespace lockstep
