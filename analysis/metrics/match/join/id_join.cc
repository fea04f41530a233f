#include "analysis/metrics/match/join/id_join.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "analysis/metrics/match/join/id_clocks.h"

namespace lockstep {
namespace {

constexpr double kMinIdCommonRate = 0.999;
constexpr int64_t kFewRows = 3;

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
  explicit KeyGroups(size_t expected) { told_.reserve(expected); }

  void Add(const IdKey& key, const RowRef& ref) {
    const auto [at, fresh] = told_.try_emplace(key, Told{.group = keys_.size()});
    Told& told = at->second;
    told.occurrence = !fresh && told.last_member == ref.member ? told.occurrence + 1 : 0;
    told.last_member = ref.member;
    if (fresh) keys_.push_back(key);
    Append(told.occurrence == 0 ? told.group : GroupOf({key.id, key.op, told.occurrence}), ref);
  }

  [[nodiscard]] size_t size() const { return keys_.size(); }

  // use(rows of a group), in order of the keys.
  template <typename Use>
  void ForEach(const Use& use) const {
    const std::vector<size_t> begins = Begins();
    std::vector<RowRef> sorted(rows_.size());
    std::vector<size_t> next = begins;
    for (size_t i = 0; i < rows_.size(); ++i) sorted[next[group_of_row_[i]]++] = rows_[i];
    std::vector<size_t> order(keys_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return keys_[a] < keys_[b]; });
    for (const size_t g : order) use(std::span<const RowRef>(sorted).subspan(begins[g], next[g] - begins[g]));
  }

 private:
  // Of an id and operation, whatever the occurrence.
  struct Told {
    size_t group = 0;  // of its first occurrence
    size_t last_member = SIZE_MAX;
    uint32_t occurrence = 0;
  };

  size_t GroupOf(const IdKey& repeated) {
    const auto [at, fresh] = repeated_.try_emplace(repeated, keys_.size());
    if (fresh) keys_.push_back(repeated);
    return at->second;
  }

  void Append(size_t group, const RowRef& ref) {
    rows_.push_back(ref);
    group_of_row_.push_back(group);
  }

  [[nodiscard]] std::vector<size_t> Begins() const {
    std::vector<size_t> out(keys_.size() + 1);
    for (const size_t g : group_of_row_) ++out[g + 1];
    for (size_t g = 1; g < out.size(); ++g) out[g] += out[g - 1];
    return out;
  }

  absl::flat_hash_map<IdKey, Told> told_;
  absl::flat_hash_map<IdKey, size_t> repeated_;
  std::vector<IdKey> keys_;  // by group
  std::vector<RowRef> rows_;
  std::vector<size_t> group_of_row_;
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
         std::all_of(ids.begin(), ids.end(), [](const MemberIds& m) { return m.matched || m.rows <= kFewRows; });
}

bool CommonPointsHold(const JoinInput& input, const std::vector<JoinedInstance>& joined) {
  std::vector<const MatchedInstance*> binding;
  for (const JoinedInstance& j : joined) {
    if (IsAllPairs(j.instance.op)) binding.push_back(&j.instance);
  }
  return Certify(binding, input.domain, input.rows).rate() >= kMinIdCommonRate;
}

// Rows without an id are put aside.
KeyGroups GroupRows(const JoinInput& input, const std::vector<RowRef>& rows, IdKind kind, std::vector<MemberIds>& ids,
                    std::vector<RowRef>& without) {
  KeyGroups out(rows.size() / input.plan.ranks.size());
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
  groups.ForEach([&](std::span<const RowRef> members) {
    agree = agree && MetadataAgrees(input, members);
    if (!agree) return;
    if (members.size() > 1) {
      for (const RowRef& ref : members) ids[ref.member].matched = true;
    }
    out.instances.push_back(MakeInstance(input, members, MatchKind::kId, 1.0));
  });
  if (!agree || !JoinsAllRanks(ids) || !JoinsAllFormats(input, ids, out.instances)) return std::nullopt;
  if (CommonPointsHold(input, out.instances)) return out;
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
