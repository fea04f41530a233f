#include "analysis/metrics/match/communicators.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/base/hash128.h"
#include "analysis/metrics/match/order_score.h"

namespace lockstep {
namespace {

constexpr size_t kIdDigits = 12;

// One communicator of one source that carries instances.
struct Seed {
  int32_t rank_index = 0;
  const LocalCommunicator* local = nullptr;
  std::vector<uint32_t> rows;
};

struct Draft {
  std::vector<Seed> seeds;       // by rank index
  std::vector<int32_t> members;  // global, ascending
  int32_t size = -1;
  uint64_t hash = 0;
  std::map<int32_t, int32_t> positions;  // position -> global rank
  bool members_complete = false;         // the list is the trace's own
  Membership membership = Membership::kKnown;
};

bool IsKnown(const std::vector<LocalCommunicator>& locals, uint32_t id) {
  return id < locals.size() && locals[id].known;
}

// What the told rows of one stream are of.
struct StreamOwner {
  uint32_t communicator = UINT32_MAX;  // UINT32_MAX: of several
  int64_t told = 0;
  std::set<CollectiveOp> ops;

  void Take(const CollectiveRow& row) {
    communicator = told == 0 || communicator == row.communicator ? row.communicator : UINT32_MAX;
    ++told;
    ops.insert(row.op);
  }
  [[nodiscard]] bool Owns(const CollectiveRow& row) const {
    // One sent or received row says as much as three others: nothing else gives a stream such rows.
    constexpr int64_t kMinTold = 3;
    const bool pairwise = std::any_of(ops.begin(), ops.end(), IsPointToPoint);
    return communicator != UINT32_MAX && (told >= kMinTold || pairwise) &&
           std::any_of(ops.begin(), ops.end(), [&](CollectiveOp op) { return Compatible(op, row.op); });
  }
};

// Frameworks give every group a stream of its own. A kernel about which the trace tells nothing (its call lies before
// the capture; coalesced sends and receives in Kineto) is of the communicator that the rest of its stream is of.
std::map<int32_t, StreamOwner> StreamOwners(const std::vector<LocalCommunicator>& locals,
                                            const std::vector<CollectiveRow>& rows) {
  std::map<int32_t, StreamOwner> out;
  for (const CollectiveRow& row : rows) {
    if (row.stream >= 0 && IsKnown(locals, row.communicator)) out[row.stream].Take(row);
  }
  return out;
}

std::vector<Seed> SeedsOf(const RunData& run, const RankResolution& ranks, const std::vector<RankRows>& rows) {
  std::vector<Seed> seeds;
  static const LocalCommunicator kNothingKnown;
  for (size_t r = 0; r < ranks.ranks.size(); ++r) {
    const auto& locals = run.sources[ranks.ranks[r].source].communicators;
    std::map<uint32_t, std::vector<uint32_t>> by_local;
    const std::map<int32_t, StreamOwner> owners = StreamOwners(locals, rows[r].rows);
    auto last = by_local.end();  // most rows are of the communicator that the one before is of
    for (size_t i = 0; i < rows[r].rows.size(); ++i) {
      const CollectiveRow& row = rows[r].rows[i];
      if (row.duplicate) continue;
      uint32_t id = IsKnown(locals, row.communicator) ? row.communicator : UINT32_MAX;
      const auto owner = id == UINT32_MAX && !owners.empty() ? owners.find(row.stream) : owners.end();
      if (owner != owners.end() && owner->second.Owns(row)) id = owner->second.communicator;
      if (last == by_local.end() || last->first != id) last = by_local.try_emplace(id).first;
      last->second.push_back(static_cast<uint32_t>(i));
    }
    for (auto& [id, indices] : by_local) {
      const LocalCommunicator* local = id == UINT32_MAX ? &kNothingKnown : &locals[id];
      seeds.push_back({static_cast<int32_t>(r), local, std::move(indices)});
    }
  }
  return seeds;
}

// Where the ranks stand in the communicators they know by hash, whether these carry instances or not.
using PositionsByHash = std::map<uint64_t, std::map<int32_t, int32_t>>;

PositionsByHash FindPositions(const RunData& run, const RankResolution& ranks) {
  PositionsByHash out;
  for (const ResolvedRank& rank : ranks.ranks) {
    const SourceData& source = run.sources[rank.source];
    for (const LocalCommunicator& c : source.communicators) {
      if (c.comm_hash != 0 && c.own_rank >= 0) out[c.comm_hash].emplace(c.own_rank, rank.rank);
    }
    for (const GroupConfig& g : source.context.groups) {
      if (g.comm_hash != 0 && g.own_rank >= 0) out[g.comm_hash].emplace(g.own_rank, rank.rank);
    }
  }
  return out;
}

int32_t GlobalRank(const RankResolution& ranks, const Seed& seed) {
  return ranks.ranks[static_cast<size_t>(seed.rank_index)].rank;
}

std::vector<int32_t> RanksOfSeeds(const RankResolution& ranks, const std::vector<Seed>& seeds) {
  std::set<int32_t> out;
  for (const Seed& seed : seeds) out.insert(GlobalRank(ranks, seed));
  return {out.begin(), out.end()};
}

Draft FromHash(const RankResolution& ranks, const PositionsByHash& positions, uint64_t hash, std::vector<Seed> seeds) {
  Draft draft;
  draft.hash = hash;
  for (const Seed& seed : seeds) {
    draft.size = std::max(draft.size, seed.local->size);
    if (!seed.local->members.empty()) draft.members = seed.local->members;
  }
  draft.members_complete = !draft.members.empty();
  if (const auto at = positions.find(hash); at != positions.end()) draft.positions = at->second;
  if (!draft.members_complete) {
    std::set<int32_t> members;
    for (const Seed& seed : seeds) members.insert(GlobalRank(ranks, seed));
    for (const auto& [position, rank] : draft.positions) members.insert(rank);
    draft.members.assign(members.begin(), members.end());
    draft.members_complete = static_cast<int32_t>(members.size()) == draft.size;
  }
  draft.seeds = std::move(seeds);
  return draft;
}

Draft FromMembers(std::vector<int32_t> members, std::vector<Seed> seeds) {
  Draft draft;
  draft.size = static_cast<int32_t>(members.size());
  draft.members = std::move(members);
  draft.members_complete = true;
  draft.seeds = std::move(seeds);
  return draft;
}

// Groups of equal members: one communicator if no rank has two of them, else told apart by name and description.
void SplitByName(const std::vector<int32_t>& members, std::vector<Seed> seeds, std::vector<Draft>& out) {
  std::set<int32_t> seen;
  const bool once =
      std::all_of(seeds.begin(), seeds.end(), [&](const Seed& seed) { return seen.insert(seed.rank_index).second; });
  if (once) {
    out.push_back(FromMembers(members, std::move(seeds)));
    return;
  }
  std::map<std::pair<std::string, std::string>, std::vector<Seed>> by_name;
  for (Seed& seed : seeds) by_name[{seed.local->group_name, seed.local->group_desc}].push_back(std::move(seed));
  for (auto& [name, named] : by_name) out.push_back(FromMembers(members, std::move(named)));
}

// A name without members: every rank of the run if the sizes say so, else assumed to be the ranks that have it.
Draft FromName(const RankResolution& ranks, std::vector<Seed> seeds) {
  Draft draft;
  draft.size = seeds.front().local->size;
  draft.members = RanksOfSeeds(ranks, seeds);
  draft.membership = Membership::kInferred;
  if (draft.size > 0 && static_cast<int32_t>(draft.members.size()) > draft.size) {
    draft.membership = Membership::kUnknown;
    draft.members.clear();
  }
  draft.seeds = std::move(seeds);
  return draft;
}

std::vector<int32_t> WholeWorld(int32_t size) {
  std::vector<int32_t> out(static_cast<size_t>(size));
  for (int32_t r = 0; r < size; ++r) out[static_cast<size_t>(r)] = r;
  return out;
}

// No group at all: every rank of the run together, where the world is known to be exactly them or where they are two.
Draft FromNothing(const RankResolution& ranks, std::vector<Seed> seeds) {
  Draft draft;
  const auto present = static_cast<int32_t>(ranks.ranks.size());
  const bool whole = !LacksPartners(ranks) && (ranks.world_size ? *ranks.world_size == present : present == 2);
  draft.membership = whole ? Membership::kInferred : Membership::kUnknown;
  if (whole) {
    for (const ResolvedRank& rank : ranks.ranks) draft.members.push_back(rank.rank);
    draft.size = present;
  }
  draft.seeds = std::move(seeds);
  return draft;
}

// How often each kind of operation occurs on the lowest rank: what tells two communicators of equal members apart.
using Signature = std::map<std::tuple<CollectiveOp, int64_t>, int64_t>;

Signature SignatureOf(const Draft& draft, const std::vector<RankRows>& rows) {
  Signature out;
  const Seed& seed = draft.seeds.front();
  for (const uint32_t i : seed.rows) {
    const CollectiveRow& row = rows[static_cast<size_t>(seed.rank_index)].rows[i];
    ++out[{row.op, row.bytes}];
  }
  return out;
}

bool CanAbsorb(const Draft& named, const Draft& hashed) {
  const bool subset =
      std::includes(named.members.begin(), named.members.end(), hashed.members.begin(), hashed.members.end());
  if (!subset || named.size != hashed.size) return false;
  for (const Seed& a : named.seeds) {
    for (const Seed& b : hashed.seeds) {
      if (a.rank_index == b.rank_index) return false;
    }
  }
  return true;
}

void Absorb(Draft& named, Draft hashed) {
  named.hash = hashed.hash;
  named.positions = std::move(hashed.positions);
  std::move(hashed.seeds.begin(), hashed.seeds.end(), std::back_inserter(named.seeds));
  std::sort(named.seeds.begin(), named.seeds.end(),
            [](const Seed& a, const Seed& b) { return a.rank_index < b.rank_index; });
}

// Runs of mixed formats: a hash and a member list may be one communicator.
void JoinHashes(std::vector<Draft> hashed, const std::vector<RankRows>& rows, std::vector<Draft>& drafts) {
  const size_t named = drafts.size();
  for (Draft& draft : hashed) {
    std::vector<size_t> candidates;
    for (size_t i = 0; i < named; ++i) {
      if (CanAbsorb(drafts[i], draft)) candidates.push_back(i);
    }
    if (candidates.size() > 1) {
      const Signature signature = SignatureOf(draft, rows);
      std::erase_if(candidates, [&](size_t i) { return SignatureOf(drafts[i], rows) != signature; });
    }
    if (candidates.size() == 1) {
      Absorb(drafts[candidates.front()], std::move(draft));
    } else {
      drafts.push_back(std::move(draft));
    }
  }
}

std::vector<Draft> MakeDrafts(const RunData& run, const RankResolution& ranks, const std::vector<RankRows>& rows) {
  std::map<uint64_t, std::vector<Seed>> by_hash;
  std::map<std::vector<int32_t>, std::vector<Seed>> by_members;
  std::map<std::tuple<std::string, std::string, int32_t>, std::vector<Seed>> by_name;
  std::vector<Seed> unknown;
  for (Seed& seed : SeedsOf(run, ranks, rows)) {
    const LocalCommunicator& c = *seed.local;
    if (!c.known) {
      unknown.push_back(std::move(seed));
    } else if (c.comm_hash != 0) {
      by_hash[c.comm_hash].push_back(std::move(seed));
    } else if (!c.members.empty()) {
      by_members[c.members].push_back(std::move(seed));
    } else if (ranks.world_size && c.size == *ranks.world_size) {
      by_members[WholeWorld(c.size)].push_back(std::move(seed));
    } else {
      by_name[{c.group_name, c.group_desc, c.size}].push_back(std::move(seed));
    }
  }
  std::vector<Draft> drafts;
  for (auto& [members, seeds] : by_members) SplitByName(members, std::move(seeds), drafts);
  const PositionsByHash positions = FindPositions(run, ranks);
  std::vector<Draft> hashed;
  for (auto& [hash, seeds] : by_hash) hashed.push_back(FromHash(ranks, positions, hash, std::move(seeds)));
  JoinHashes(std::move(hashed), rows, drafts);
  for (auto& [name, seeds] : by_name) drafts.push_back(FromName(ranks, std::move(seeds)));
  if (!unknown.empty()) drafts.push_back(FromNothing(ranks, std::move(unknown)));
  return drafts;
}

std::vector<int32_t> RankAtPosition(const Draft& draft) {
  if (draft.positions.empty() || draft.size <= 0 || draft.size > kMaxWorldSize) return {};
  std::vector<int32_t> out(static_cast<size_t>(draft.size), -1);
  // Frameworks make communicators of ascending ranks; what the traces tell themselves overrides that.
  if (static_cast<int32_t>(draft.members.size()) == draft.size) out = draft.members;
  for (const auto& [position, rank] : draft.positions) {
    if (position < draft.size) out[static_cast<size_t>(position)] = rank;
  }
  return out;
}

CommunicatorPlan FinishPlan(Draft draft) {
  CommunicatorPlan plan;
  plan.membership = draft.membership;
  plan.info.inferred = draft.membership != Membership::kKnown;
  plan.info.members = draft.members;
  plan.info.size = draft.members_complete ? static_cast<int32_t>(draft.members.size()) : draft.size;
  plan.rank_at_position = RankAtPosition(draft);
  for (Seed& seed : draft.seeds) {
    if (plan.info.name.empty()) plan.info.name = seed.local->group_name;
    if (plan.info.desc.empty()) plan.info.desc = seed.local->group_desc;
    if (plan.ranks.empty() || plan.ranks.back() != seed.rank_index) {
      plan.ranks.push_back(seed.rank_index);
      plan.rows.emplace_back();
    }
    auto& rows = plan.rows.back();
    if (rows.empty()) {
      rows = std::move(seed.rows);
    } else {
      rows.insert(rows.end(), seed.rows.begin(), seed.rows.end());
    }
  }
  for (auto& rows : plan.rows) {
    if (!std::is_sorted(rows.begin(), rows.end())) std::sort(rows.begin(), rows.end());
  }
  return plan;
}

int64_t FirstStart(const CommunicatorPlan& plan, const std::vector<RankRows>& rows) {
  return rows[static_cast<size_t>(plan.ranks.front())].rows[plan.rows.front().front()].start_ns;
}

// Gives ids to communicators of equal members, known ones first.
void Identify(std::vector<CommunicatorPlan*> equal, const std::vector<RankRows>& rows) {
  std::stable_sort(equal.begin(), equal.end(), [&](const CommunicatorPlan* a, const CommunicatorPlan* b) {
    return std::tuple(a->membership, a->ranks.front(), FirstStart(*a, rows)) <
           std::tuple(b->membership, b->ranks.front(), FirstStart(*b, rows));
  });
  const auto known = std::count_if(equal.begin(), equal.end(),
                                   [](const CommunicatorPlan* plan) { return plan->membership == Membership::kKnown; });
  for (size_t i = 0; i < equal.size(); ++i) {
    std::string discriminator;
    if (static_cast<std::ptrdiff_t>(i) >= known && equal.size() > 1) {
      discriminator = "assumed" + std::to_string(i);
    } else if (known > 1) {
      discriminator = std::to_string(i + 1);
    }
    equal[i]->info.id = CommunicatorId(equal[i]->info.members, discriminator);
  }
}

}  // namespace

std::string CommunicatorId(const std::vector<int32_t>& members, std::string_view discriminator) {
  HashBuilder hash;
  for (const int32_t member : members) hash.Add(int64_t{member});
  return hash.Add(discriminator).Finish().Hex().substr(0, kIdDigits);
}

std::vector<CommunicatorPlan> PlanCommunicators(const RunData& run, const RankResolution& ranks,
                                                const std::vector<RankRows>& rows) {
  std::vector<CommunicatorPlan> plans;
  for (Draft& draft : MakeDrafts(run, ranks, rows)) plans.push_back(FinishPlan(std::move(draft)));
  IdentifyCommunicators(plans, rows);
  return plans;
}

bool MayLackMembers(const CommunicatorPlan& plan, const RankResolution& ranks) {
  const bool told = plan.membership == Membership::kKnown && plan.info.size > 0;
  if (told || (!LacksPartners(ranks) && !ranks.some_without_device_rows)) return false;
  // These work beside the others and take part in something: nothing tells that it is not this.
  if (!ranks.silent_ranks.empty()) return true;
  const auto members = static_cast<int32_t>(plan.ranks.size());
  const bool whole = plan.ranks.size() == ranks.ranks.size();
  if (whole || members == 0 || LeastWorldSize(ranks) % members != 0) return true;
  const auto rank_of = [&](int32_t index) { return ranks.ranks[static_cast<size_t>(index)].rank; };
  const int32_t first = rank_of(plan.ranks.front());
  return first % members != 0 || rank_of(plan.ranks.back()) - first != members - 1;
}

CommunicatorPlan WithComparableEnds(const CommunicatorPlan& plan, const std::vector<RankRows>& rows) {
  CommunicatorPlan out = plan;
  for (size_t m = 0; m < out.ranks.size(); ++m) {
    const std::vector<CollectiveRow>& of_rank = rows[static_cast<size_t>(out.ranks[m])].rows;
    std::erase_if(out.rows[m], [&](uint32_t row) { return !EndsTogether(of_rank[row].op, out.ranks.size()); });
  }
  return out;
}

void IdentifyCommunicators(std::vector<CommunicatorPlan>& plans, const std::vector<RankRows>& rows) {
  std::map<std::vector<int32_t>, std::vector<CommunicatorPlan*>> by_members;
  for (CommunicatorPlan& plan : plans) by_members[plan.info.members].push_back(&plan);
  for (auto& [members, equal] : by_members) Identify(equal, rows);
  std::stable_sort(plans.begin(), plans.end(),
                   [](const CommunicatorPlan& a, const CommunicatorPlan& b) { return a.info.id < b.info.id; });
}

}  // namespace lockstep
