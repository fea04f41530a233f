#include "analysis/metrics/match/known_groups.h"

#include <algorithm>
#include <set>
#include <string>

namespace lockstep {
namespace {

constexpr uint32_t kToldNothing = UINT32_MAX;

CommunicatorPlan WithoutRows(const CommunicatorPlan& plan) {
  CommunicatorPlan out = plan;
  out.ranks.clear();
  out.rows.clear();
  return out;
}

// Rows of one rank more; several batches of one rank are put in order.
void AddRows(int32_t rank_index, std::vector<uint32_t> rows, CommunicatorPlan& plan) {
  const auto at = std::lower_bound(plan.ranks.begin(), plan.ranks.end(), rank_index);
  const auto place = at - plan.ranks.begin();
  if (at == plan.ranks.end() || *at != rank_index) {
    plan.ranks.insert(at, rank_index);
    plan.rows.insert(plan.rows.begin() + place, std::move(rows));
    return;
  }
  std::vector<uint32_t>& known = plan.rows[static_cast<size_t>(place)];
  if (known.empty()) {
    known = std::move(rows);
    return;
  }
  const bool follow = rows.empty() || known.back() <= rows.front();
  known.insert(known.end(), rows.begin(), rows.end());
  if (!follow) std::sort(known.begin(), known.end());
}

}  // namespace

uint32_t KnownGroups::LocalOf(int32_t rank_index, const CollectiveRow& row) const {
  const auto& locals = run_.sources[ranks_.ranks[static_cast<size_t>(rank_index)].source].communicators;
  return row.communicator < locals.size() && locals[row.communicator].known ? row.communicator : kToldNothing;
}

std::vector<KnownGroups::RankLocal> KnownGroups::LocalsOf(const CommunicatorPlan& plan,
                                                          const std::vector<RankRows>& rows) const {
  std::vector<RankLocal> told;
  std::vector<RankLocal> untold;
  for (size_t m = 0; m < plan.ranks.size(); ++m) {
    std::set<uint32_t> seen;
    uint32_t last = kToldNothing - 1;
    for (const uint32_t i : plan.rows[m]) {
      const uint32_t local = LocalOf(plan.ranks[m], rows[static_cast<size_t>(plan.ranks[m])].rows[i]);
      if (local == last || !seen.insert(local).second) continue;
      last = local;
      (local == kToldNothing ? untold : told).emplace_back(plan.ranks[m], local);
    }
  }
  // Untold rows beside told ones were given to them by their stream.
  return told.empty() ? untold : told;
}

void KnownGroups::Learn(const std::vector<CommunicatorPlan>& plans, const std::vector<RankRows>& rows) {
  std::set<RankStream> shared;
  for (size_t c = 0; c < plans.size(); ++c) {
    const CommunicatorPlan& plan = plans[c];
    const auto place = static_cast<uint32_t>(c);
    plans_.push_back(WithoutRows(plan));
    if (!plan.discovered) {
      for (const RankLocal& local : LocalsOf(plan, rows)) of_local_.emplace(local, place);
      continue;
    }
    for (size_t m = 0; m < plan.ranks.size(); ++m) {
      for (const uint32_t i : plan.rows[m]) {
        const int32_t stream = rows[static_cast<size_t>(plan.ranks[m])].rows[i].stream;
        const auto [at, added] = of_stream_.emplace(RankStream(plan.ranks[m], stream), place);
        if (at->second != place) shared.insert(at->first);
      }
    }
  }
  for (const RankStream& stream : shared) of_stream_.erase(stream);
}

// Moves the rows of lanes whose communicator was found to it.
void KnownGroups::TakeFoundLanes(const std::vector<RankRows>& rows, CommunicatorPlan& plan,
                                 std::vector<CommunicatorPlan>& out) const {
  for (size_t m = 0; m < plan.ranks.size(); ++m) {
    const int32_t rank = plan.ranks[m];
    std::map<uint32_t, std::vector<uint32_t>> found;
    std::vector<uint32_t> rest;
    std::map<int32_t, std::vector<uint32_t>*> of_stream;
    std::pair<int32_t, std::vector<uint32_t>*> last = {0, nullptr};  // most rows are of the stream of the one before
    for (const uint32_t i : plan.rows[m]) {
      const int32_t stream = rows[static_cast<size_t>(rank)].rows[i].stream;
      if (last.second == nullptr || last.first != stream) {
        const auto [at, added] = of_stream.try_emplace(stream, nullptr);
        if (added) {
          const auto known = of_stream_.find({rank, stream});
          at->second = known == of_stream_.end() ? &rest : &found[known->second];
        }
        last = *at;
      }
      last.second->push_back(i);
    }
    for (auto& [place, its] : found) AddRows(rank, std::move(its), out[place]);
    plan.rows[m] = std::move(rest);
  }
  CommunicatorPlan left = WithoutRows(plan);
  for (size_t m = 0; m < plan.ranks.size(); ++m) {
    if (!plan.rows[m].empty()) AddRows(plan.ranks[m], std::move(plan.rows[m]), left);
  }
  plan = std::move(left);
}

// Of a plan that has rows; a new one is given the next place.
uint32_t KnownGroups::PlaceOf(CommunicatorPlan& plan, const std::vector<RankRows>& rows) {
  const std::vector<RankLocal> locals = LocalsOf(plan, rows);
  std::map<uint32_t, size_t> votes;
  for (const RankLocal& local : locals) {
    const auto at = of_local_.find(local);
    if (at != of_local_.end()) ++votes[at->second];
  }
  const auto most =
      std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  auto place = static_cast<uint32_t>(plans_.size());
  if (most != votes.end()) {
    place = most->first;
  } else {
    const auto equal = std::count_if(plans_.begin(), plans_.end(), [&](const CommunicatorPlan& known) {
      return known.info.members == plan.info.members;
    });
    if (equal > 0) plan.info.id = CommunicatorId(plan.info.members, std::to_string(equal + 1));
    plans_.push_back(WithoutRows(plan));
  }
  for (const RankLocal& local : locals) of_local_.emplace(local, place);
  return place;
}

std::vector<CommunicatorPlan> KnownGroups::Recognise(std::vector<CommunicatorPlan> fresh,
                                                     const std::vector<RankRows>& rows) {
  std::vector<CommunicatorPlan> out = plans_;
  for (CommunicatorPlan& plan : fresh) {
    if (plan.membership != Membership::kKnown) TakeFoundLanes(rows, plan, out);
    if (plan.ranks.empty()) continue;
    const uint32_t place = PlaceOf(plan, rows);
    if (place >= out.size()) out.push_back(plans_[place]);
    for (size_t m = 0; m < plan.ranks.size(); ++m) AddRows(plan.ranks[m], std::move(plan.rows[m]), out[place]);
  }
  return out;
}

void KnownGroups::Connect(DisjointSets& ranks) const {
  std::vector<int32_t> first(plans_.size(), -1);  // rank of each
  const auto join = [&](uint32_t place, int32_t rank) {
    if (first[place] < 0) first[place] = rank;
    ranks.Join(static_cast<size_t>(first[place]), static_cast<size_t>(rank));
  };
  for (const auto& [local, place] : of_local_) join(place, local.first);
  for (const auto& [stream, place] : of_stream_) join(place, stream.first);
  ConnectTold(ranks);
}

void KnownGroups::TakeOver(const KnownGroups& other, const std::vector<size_t>& ranks) {
  std::map<uint32_t, uint32_t> place_of;  // here, of those there
  for (const size_t r : ranks) {
    const auto rank = static_cast<int32_t>(r);
    const auto end = other.of_local_.lower_bound({rank + 1, 0});
    for (auto at = other.of_local_.lower_bound({rank, 0}); at != end; ++at) {
      if (of_local_.contains(at->first)) continue;
      const auto [place, is_new] = place_of.emplace(at->second, static_cast<uint32_t>(plans_.size()));
      const bool began_alike =
          at->second < plans_.size() && plans_[at->second].info.id == other.plans_[at->second].info.id;
      if (began_alike) place->second = at->second;
      if (is_new && !began_alike) plans_.push_back(other.plans_[at->second]);
      of_local_.emplace(at->first, place->second);
    }
  }
}

void KnownGroups::ConnectTold(DisjointSets& ranks) const {
  std::map<int32_t, size_t> of_number;
  for (size_t r = 0; r < ranks_.ranks.size(); ++r) of_number.emplace(ranks_.ranks[r].rank, r);
  std::map<uint64_t, size_t> of_hash;
  for (size_t r = 0; r < ranks_.ranks.size(); ++r) {
    for (const LocalCommunicator& told : run_.sources[ranks_.ranks[r].source].communicators) {
      if (!told.known) continue;
      for (const int32_t number : told.members) {
        const auto member = of_number.find(number);
        if (member != of_number.end()) ranks.Join(r, member->second);
      }
      if (!told.members.empty()) continue;
      if (told.comm_hash != 0) {
        ranks.Join(of_hash.emplace(told.comm_hash, r).first->second, r);
      } else if (!of_local_.contains({static_cast<int32_t>(r), told.id})) {
        for (size_t other = 0; other < ranks_.ranks.size(); ++other) ranks.Join(r, other);
        return;
      }
    }
  }
}

}  // namespace lockstep
