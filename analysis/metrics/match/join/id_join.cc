#include "analysis/metrics/match/join/id_join.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace lockstep {
namespace {

constexpr double kMinIdCommonRate = 0.999;

enum class IdKind { kCommsId, kSequence };

// Operations coalesced under one id keep their order: `occurrence` counts them on each rank.
struct IdKey {
  uint64_t id = 0;
  CollectiveOp op = CollectiveOp::kUnknown;
  uint32_t occurrence = 0;
  friend auto operator<=>(const IdKey&, const IdKey&) = default;
};

struct KeyedRow {
  IdKey key;
  RowRef ref;
};

bool Earlier(const KeyedRow& a, const KeyedRow& b) {
  return std::tie(a.key, a.ref.member, a.ref.row) < std::tie(b.key, b.ref.member, b.ref.row);
}

bool HasId(const CollectiveRow& row, IdKind kind) {
  return kind == IdKind::kCommsId ? row.has_comms_id : row.seq != kNoSeq;
}

IdKey KeyOf(const CollectiveRow& row, IdKind kind) {
  if (kind == IdKind::kCommsId) return {row.comms_id, CollectiveOp::kUnknown, 0};
  return {static_cast<uint64_t>(row.seq), row.op, 0};  // NCCL counts each operation by itself
}

// Sorted by key; rows without an id get keys of their own at the end.
std::vector<KeyedRow> KeyRows(const JoinInput& input, const std::vector<RowRef>& rows, IdKind kind,
                              std::vector<RowRef>& without) {
  std::vector<KeyedRow> keyed;
  for (const RowRef& ref : rows) {
    const CollectiveRow& row = RowAt(input, ref);
    if (HasId(row, kind)) {
      keyed.push_back({KeyOf(row, kind), ref});
    } else {
      without.push_back(ref);
    }
  }
  std::sort(keyed.begin(), keyed.end(), Earlier);
  for (size_t i = 1; i < keyed.size(); ++i) {
    IdKey before = keyed[i - 1].key;
    before.occurrence = 0;
    const bool repeated = keyed[i].ref.member == keyed[i - 1].ref.member && keyed[i].key == before;
    if (repeated) keyed[i].key.occurrence = keyed[i - 1].key.occurrence + 1;
  }
  std::sort(keyed.begin(), keyed.end(), Earlier);
  return keyed;
}

bool SizesMustAgree(CollectiveOp op) {
  return op == CollectiveOp::kAllReduce || op == CollectiveOp::kAllGather || op == CollectiveOp::kReduceScatter ||
         op == CollectiveOp::kAllToAll || op == CollectiveOp::kBroadcast;
}

// Data types and bytes of the members agree where they are told.
bool MetadataAgrees(const JoinInput& input, const std::vector<RowRef>& members) {
  const CollectiveRow& first = RowAt(input, members.front());
  return std::all_of(members.begin(), members.end(), [&](const RowRef& ref) {
    const CollectiveRow& row = RowAt(input, ref);
    const bool dtype = row.dtype == first.dtype || row.dtype == DataType::kUnknown || first.dtype == DataType::kUnknown;
    const bool bytes = row.bytes == first.bytes || row.bytes == kUnknownBytes || first.bytes == kUnknownBytes ||
                       !SizesMustAgree(row.op);
    return dtype && bytes;
  });
}

// Ids of different tools never agree by design: an id that keeps the formats apart joins nothing.
bool JoinsAllFormats(const JoinInput& input, const std::vector<JoinedInstance>& joined) {
  std::set<bool> formats;
  for (const int32_t r : input.plan.ranks) formats.insert(input.rows[static_cast<size_t>(r)].nsys);
  if (formats.size() < 2) return true;
  return std::any_of(joined.begin(), joined.end(), [&](const JoinedInstance& j) {
    std::set<bool> met;
    for (const MatchedMember& m : j.instance.members) met.insert(input.rows[static_cast<size_t>(m.rank_index)].nsys);
    return met.size() == 2;
  });
}

// A rank none of whose ids another one has counts differently.
bool JoinsAllRanks(const std::vector<RowRef>& rows, const std::set<size_t>& matched_members) {
  std::set<size_t> with_rows;
  for (const RowRef& ref : rows) with_rows.insert(ref.member);
  return with_rows == matched_members;
}

bool CommonPointsHold(const JoinInput& input, const std::vector<JoinedInstance>& joined) {
  std::vector<const MatchedInstance*> binding;
  for (const JoinedInstance& j : joined) {
    if (IsAllPairs(j.instance.op)) binding.push_back(&j.instance);
  }
  return Certify(binding, input.domain, input.rows).rate() >= kMinIdCommonRate;
}

std::optional<std::vector<JoinedInstance>> TryJoin(const JoinInput& input, const std::vector<RowRef>& rows,
                                                   IdKind kind) {
  std::vector<RowRef> without;
  const std::vector<KeyedRow> keyed = KeyRows(input, rows, kind, without);
  std::vector<JoinedInstance> joined;
  std::set<size_t> matched_members;
  for (size_t i = 0; i < keyed.size();) {
    std::vector<RowRef> members;
    const IdKey key = keyed[i].key;
    for (; i < keyed.size() && keyed[i].key == key; ++i) members.push_back(keyed[i].ref);
    if (!MetadataAgrees(input, members)) return std::nullopt;
    if (members.size() > 1) {
      for (const RowRef& ref : members) matched_members.insert(ref.member);
    }
    joined.push_back(MakeInstance(input, std::move(members), MatchKind::kId, 1.0));
  }
  // Rows without an id among rows with one: if they were many, order would serve better.
  if (!JoinsAllRanks(rows, matched_members) || without.size() * 2 > rows.size()) return std::nullopt;
  for (const RowRef& ref : without) joined.push_back(MakeInstance(input, {ref}, MatchKind::kNone, 0));
  if (!JoinsAllFormats(input, joined) || !CommonPointsHold(input, joined)) return std::nullopt;
  return joined;
}

}  // namespace

std::optional<std::vector<JoinedInstance>> JoinById(const JoinInput& input, const std::vector<RowRef>& rows) {
  auto joined = TryJoin(input, rows, IdKind::kCommsId);
  return joined ? std::move(joined) : TryJoin(input, rows, IdKind::kSequence);
}

}  // namespace lockstep
