#include "analysis/metrics/match/sequence_breaks.h"

#include <algorithm>
#include <map>

namespace lockstep {
namespace {

int64_t StartOf(const MatchedInstance& instance) {
  int64_t start = INT64_MAX;
  for (const MatchedMember& m : instance.members) start = std::min(start, m.start_ns);
  return start;
}

// One rank's way through the instances.
class Follower {
 public:
  Follower(uint32_t communicator, int32_t rank_index) : communicator_(communicator), rank_index_(rank_index) {}

  void Meet(const MatchedInstance& instance, const MatchedMember* own) {
    if (!instance.matched()) {
      if (own != nullptr) Count(own->start_ns, -1);
      return;
    }
    if (own == nullptr) {
      Count(StartOf(instance), 1);
      return;
    }
    Close(!seen_);
    seen_ = true;
  }

  std::vector<SequenceBreak> Finish() {
    Close(true);
    return std::move(out_);
  }

 private:
  void Count(int64_t at_ns, int64_t missing) {
    if (open_.missing != 0 && (open_.missing > 0) != (missing > 0)) Close(!seen_);
    if (open_.missing == 0) open_.at_ns = at_ns;
    open_.missing += missing;
  }

  void Close(bool at_edge) {
    if (open_.missing != 0 && out_.size() < kMaxBreaksPerRank) {
      // An extra row is one wherever it stands.
      out_.push_back({communicator_, rank_index_, open_.at_ns, open_.missing, at_edge && open_.missing > 0});
    }
    open_ = {};
  }

  uint32_t communicator_;
  int32_t rank_index_;
  bool seen_ = false;
  SequenceBreak open_;
  std::vector<SequenceBreak> out_;
};

void Meet(std::map<int32_t, Follower>& followers, const MatchedInstance& instance) {
  size_t next = 0;
  for (auto& [rank, follower] : followers) {
    const auto& members = instance.members;
    while (next < members.size() && members[next].rank_index < rank) ++next;
    const bool own = next < members.size() && members[next].rank_index == rank;
    follower.Meet(instance, own ? &members[next] : nullptr);
  }
}

void FinishFollowers(std::map<int32_t, Follower>& followers, std::vector<SequenceBreak>& out) {
  for (auto& [rank, follower] : followers) {
    const std::vector<SequenceBreak> own = follower.Finish();
    out.insert(out.end(), own.begin(), own.end());
  }
}

}  // namespace

std::vector<SequenceBreak> FindBreaks(uint32_t communicator, const std::vector<int32_t>& ranks,
                                      const std::vector<const MatchedInstance*>& instances) {
  std::map<int32_t, Follower> followers;
  for (const int32_t r : ranks) followers.emplace(r, Follower(communicator, r));
  for (const MatchedInstance* instance : instances) Meet(followers, *instance);
  std::vector<SequenceBreak> out;
  FinishFollowers(followers, out);
  return out;
}

struct BreakFinder::OfCommunicator {
  std::map<int32_t, Follower> followers;
  bool joined = false;  // where nothing is, there is no sequence that could break
};

BreakFinder::BreakFinder() = default;
BreakFinder::BreakFinder(const BreakFinder& other) {
  for (const auto& of : other.communicators_) {
    communicators_.push_back(of == nullptr ? nullptr : std::make_unique<OfCommunicator>(*of));
  }
}
BreakFinder::~BreakFinder() = default;

void BreakFinder::Add(const MatchedInstance& instance) {
  if (communicators_.size() <= instance.communicator) communicators_.resize(instance.communicator + size_t{1});
  std::unique_ptr<OfCommunicator>& of = communicators_[instance.communicator];
  if (of == nullptr) of = std::make_unique<OfCommunicator>();
  of->joined = of->joined || instance.matched();
  if (!instance.in_sequence) return;
  for (const MatchedMember& m : instance.members) {
    of->followers.try_emplace(m.rank_index, Follower(instance.communicator, m.rank_index));
  }
  Meet(of->followers, instance);
}

std::vector<SequenceBreak> BreakFinder::Finish() {
  std::vector<SequenceBreak> out;
  for (const auto& of : communicators_) {
    if (of != nullptr && of->joined) FinishFollowers(of->followers, out);
  }
  return out;
}

}  // namespace lockstep
