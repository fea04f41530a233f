#include "analysis/metrics/match/join/id_join.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <span>
#include <utility>

#include "analysis/metrics/match/join/id_clocks.h"

namespace lockstep {
namespace {

constexpr double kMinIdCommonRate = 0.999;
constexpr int64_t kFewIdRows = 3;

enum class IdKind { kCommsId, kSequence };

// Operations coalesced under one id keep their order: `occurrence` counts them on each rank.
struct IdKey {
  uint64_t id = 0;
  CollectiveOp op = CollectiveOp::kUnknown;
  uint32_t occurrence = 0;
  friend auto operator<=>(const IdKey&, const IdKey&) = default;
  template <typename Hash>
  friend Hash AbslHashValue(Hash hash, const IdKey& key) {
    return Hash::combine(std::move(hash), key.id, key.op, key.occurrence);
  }
};

bool HasId(const CollectiveRow& row, IdKind kind) {
  return kind == IdKind::kCommsId ? row.has_comms_id : row.seq != kNoSeq;
}

IdKey KeyOf(const CollectiveRow& row, IdKind kind) {
  if (kind == IdKind::kCommsId) return {row.comms_id, CollectiveOp::kUnknown, 0};
  return {static_cast<uint64_t>(row.seq), row.op, 0};  // NCCL counts each operation by itself
}

// Rows of equal keys, found one after the other: those of a member after those of the members before, as they began.
class KeyGroups {
 public:
  KeyGroups(size_t rows, size_t members) {
    told_.reserve(rows / members);
    by_key_.reserve(rows / members);
    rows_.reserve(rows);
    group_of_row_.reserve(rows);
  }

  void Add(const IdKey& key, const RowRef& ref) {
    if (ref.member != member_) {
      member_ = ref.member;
      next_ = 0;
    }
    const size_t group = IsNext(key) ? TakeNext() : Find(key);
    next_ = group + 1;
    rows_.push_back(ref);
    group_of_row_.push_back(group);
  }

  [[nodiscard]] size_t size() const { return groups_.size(); }

  // use(rows of a group, its place by key), as the groups were first met: mostly in order of time.
  template <typename Use>
  void ForEach(const Use& use) const {
    const std::vector<size_t> begins = Begins();
    std::vector<RowRef> sorted(rows_.size());
    std::vector<size_t> next = begins;
    for (size_t i = 0; i < rows_.size(); ++i) sorted[next[group_of_row_[i]]++] = rows_[i];
    const std::vector<size_t> places = Places();
    for (size_t g = 0; g < groups_.size(); ++g) {
      use(std::span<const RowRef>(sorted).subspan(begins[g], next[g] - begins[g]), places[g]);
    }
  }

 private:
  // Of an id and operation, whatever the occurrence.
  struct Told {
    size_t group = 0;  // of its first occurrence
    size_t last_member = SIZE_MAX;
    uint32_t occurrence = 0;

    [[nodiscard]] uint32_t OccurrenceOn(size_t member) const { return last_member == member ? occurrence + 1 : 0; }
  };
  struct Group {
    IdKey key;
    size_t told = 0;
  };

  // Members mostly have the same keys in the same order: whether this one is that after the member's last one.
  [[nodiscard]] bool IsNext(const IdKey& key) const {
    if (next_ >= groups_.size()) return false;
    const Group& group = groups_[next_];
    return group.key.id == key.id && group.key.op == key.op &&
           told_[group.told].OccurrenceOn(member_) == group.key.occurrence;
  }

  size_t TakeNext() {
    Tell(told_[groups_[next_].told]);
    return next_;
  }

  size_t Find(const IdKey& key) {
    const auto [at, fresh] = by_key_.try_emplace(key, told_.size());
    const size_t place = at->second;
    if (fresh) {
      told_.push_back({.group = groups_.size()});
      groups_.push_back({key, place});
    }
    Told& told = told_[place];
    Tell(told);
    return told.occurrence == 0 ? told.group : GroupOf({key.id, key.op, told.occurrence}, place);
  }

  void Tell(Told& told) const {
    told.occurrence = told.OccurrenceOn(member_);
    told.last_member = member_;
  }

  size_t GroupOf(const IdKey& repeated, size_t told) {
    const auto [at, fresh] = repeated_.try_emplace(repeated, groups_.size());
    if (fresh) groups_.push_back({repeated, told});
    return at->second;
  }

  [[nodiscard]] std::vector<size_t> Begins() const {
    std::vector<size_t> out(groups_.size() + 1);
    for (const size_t g : group_of_row_) ++out[g + 1];
    for (size_t g = 1; g < out.size(); ++g) out[g] += out[g - 1];
    return out;
  }

  // By group: its place in order of the keys.
  [[nodiscard]] std::vector<size_t> Places() const {
    std::vector<std::pair<IdKey, size_t>> order;
    order.reserve(groups_.size());
    for (size_t g = 0; g < groups_.size(); ++g) order.emplace_back(groups_[g].key, g);
    std::sort(order.begin(), order.end());
    std::vector<size_t> out(groups_.size());
    for (size_t place = 0; place < order.size(); ++place) out[order[place].second] = place;
    return out;
  }

  std::vector<Told> told_;
  absl::flat_hash_map<IdKey, size_t> by_key_;  // place among told_
  absl::flat_hash_map<IdKey, size_t> repeated_;
  std::vector<Group> groups_;
  std::vector<RowRef> rows_;
  std::vector<size_t> group_of_row_;
  size_t member_ = SIZE_MAX;  // of the row added last
  size_t next_ = 0;           // the group after its
};

bool SizesMustAgree(CollectiveOp op) {
  return op == CollectiveOp::kAllReduce || op == CollectiveOp::kAllGather || op == CollectiveOp::kReduceScatter ||
         op == CollectiveOp::kAllToAll || op == CollectiveOp::kBroadcast;
}

// Data types and bytes of the members agree where they are told.
bool MetadataAgrees(const JoinInput& input, std::span<const RowRef> members) {
  const CollectiveRow& first = RowAt(input, members.front());
  return std::all_of(members.begin(), members.end(), [&](const RowRef& ref) {
    const CollectiveRow& row = RowAt(input, ref);
    const bool dtype = row.dtype == first.dtype || row.dtype == DataType::kUnknown || first.dtype == DataType::kUnknown;
    const bool bytes = row.bytes == first.bytes || row.bytes == kUnknownBytes || first.bytes == kUnknownBytes ||
                       !SizesMustAgree(row.op);
    return dtype && bytes;
  });
}

// Which members have told ids, and which of their rows are joined.
struct MemberIds {
  int64_t rows = 0;
  bool matched = false;
};

bool IsNsys(const JoinInput& input, int32_t rank_index) { return input.rows[static_cast<size_t>(rank_index)].nsys; }

bool JoinsBothFormats(const JoinInput& input, const JoinedInstance& joined) {
  const std::vector<MatchedMember>& members = joined.instance.members;
  return std::any_of(members.begin(), members.end(), [&](const MatchedMember& m) {
    return IsNsys(input, m.rank_index) != IsNsys(input, members.front().rank_index);
  });
}

// Ids of different tools never agree by design: an id that keeps the formats apart joins nothing.
bool JoinsAllFormats(const JoinInput& input, const std::vector<MemberIds>& ids,
                     const std::vector<JoinedInstance>& joined) {
  bool nsys = false;
  bool others = false;
  for (size_t m = 0; m < ids.size(); ++m) {
    if (ids[m].rows > 0) (IsNsys(input, input.plan.ranks[m]) ? nsys : others) = true;
  }
  return !nsys || !others ||
         std::any_of(joined.begin(), joined.end(), [&](const JoinedInstance& j) { return JoinsBothFormats(input, j); });
}

// A rank none of whose ids another one has counts differently, unless it has so few that the others may have lost them.
bool JoinsAllRanks(const std::vector<MemberIds>& ids) {
  return std::any_of(ids.begin(), ids.end(), [](const MemberIds& m) { return m.matched; }) &&
         std::all_of(ids.begin(), ids.end(), [](const MemberIds& m) { return m.matched || m.rows <= kFewIdRows; });
}

bool IdCommonPointsHold(const JoinInput& input, const std::vector<JoinedInstance>& joined) {
  std::vector<const MatchedInstance*> binding;
  for (const JoinedInstance& j : joined) {
    if (IsAllPairs(j.instance.op)) binding.push_back(&j.instance);
  }
  return Certify(binding, input.domain, input.rows).rate() >= kMinIdCommonRate;
}

// Rows without an id are put aside.
KeyGroups GroupRows(const JoinInput& input, const std::vector<RowRef>& rows, IdKind kind, std::vector<MemberIds>& ids,
                    std::vector<RowRef>& without) {
  KeyGroups out(rows.size(), input.plan.ranks.size());
  for (const RowRef& ref : rows) {
    const CollectiveRow& row = RowAt(input, ref);
    if (HasId(row, kind)) {
      out.Add(KeyOf(row, kind), ref);
      ++ids[ref.member].rows;
    } else {
      without.push_back(ref);
    }
  }
  return out;
}

std::optional<IdJoin> TryJoin(const JoinInput& input, const std::vector<RowRef>& rows, IdKind kind,
                              std::vector<ClockEvidence>& clocks) {
  IdJoin out;
  std::vector<MemberIds> ids(input.plan.ranks.size());
  const KeyGroups groups = GroupRows(input, rows, kind, ids, out.without);
  if (out.without.size() * 2 > rows.size()) return std::nullopt;
  bool agree = true;
  out.instances.reserve(groups.size());
  groups.ForEach([&](std::span<const RowRef> members, size_t place) {
    agree = agree && MetadataAgrees(input, members);
    if (!agree) return;
    if (members.size() > 1) {
      for (const RowRef& ref : members) ids[ref.member].matched = true;
    }
    out.instances.push_back(MakeInstance(input, members, MatchKind::kId, 1.0));
    out.instances.back().place = place;
  });
  if (!agree || !JoinsAllRanks(ids) || !JoinsAllFormats(input, ids, out.instances)) return std::nullopt;
  if (IdCommonPointsHold(input, out.instances)) return out;
  const std::vector<ClockEvidence> found = ClocksByIds(input, out.instances);
  clocks.insert(clocks.end(), found.begin(), found.end());
  return std::nullopt;
}

}  // namespace

std::optional<IdJoin> JoinById(const JoinInput& input, const std::vector<RowRef>& rows,
                               std::vector<ClockEvidence>& clocks) {
  auto joined = TryJoin(input, rows, IdKind::kCommsId, clocks);
  return joined || !clocks.empty() ? std::move(joined) : TryJoin(input, rows, IdKind::kSequence, clocks);
}

}  // namespace lockstep
