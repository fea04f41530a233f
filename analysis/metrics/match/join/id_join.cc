#include "analysis/metrics/match/join/id_join.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

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
bool JoinsAllFormats(const JoinInput& input, const std::vector<KeyedRow>& keyed,
                     const std::vector<JoinedInstance>& joined) {
  const auto is_nsys = [&](int32_t rank_index) { return input.rows[static_cast<size_t>(rank_index)].nsys; };
  std::set<bool> formats;
  for (const KeyedRow& k : keyed) formats.insert(is_nsys(input.plan.ranks[k.ref.member]));
  if (formats.size() < 2) return true;
  return std::any_of(joined.begin(), joined.end(), [&](const JoinedInstance& j) {
    std::set<bool> met;
    for (const MatchedMember& m : j.instance.members) met.insert(is_nsys(m.rank_index));
    return met.size() == 2;
  });
}

// A rank none of whose ids another one has counts differently, unless it has so few that the others may have lost them.
bool JoinsAllRanks(const std::vector<KeyedRow>& keyed, const std::set<size_t>& matched_members) {
  std::map<size_t, int64_t> alone;
  for (const KeyedRow& k : keyed) {
    if (matched_members.count(k.ref.member) == 0) ++alone[k.ref.member];
  }
  return !matched_members.empty() &&
         std::all_of(alone.begin(), alone.end(), [](const auto& e) { return e.second <= kFewRows; });
}

bool CommonPointsHold(const JoinInput& input, const std::vector<JoinedInstance>& joined) {
  std::vector<const MatchedInstance*> binding;
  for (const JoinedInstance& j : joined) {
    if (IsAllPairs(j.instance.op)) binding.push_back(&j.instance);
  }
  return Certify(binding, input.domain, input.rows).rate() >= kMinIdCommonRate;
}

std::optional<IdJoin> TryJoin(const JoinInput& input, const std::vector<RowRef>& rows, IdKind kind,
                              std::vector<ClockEvidence>& clocks) {
  IdJoin out;
  const std::vector<KeyedRow> keyed = KeyRows(input, rows, kind, out.without);
  if (out.without.size() * 2 > rows.size()) return std::nullopt;
  std::set<size_t> matched_members;
  for (size_t i = 0; i < keyed.size();) {
    std::vector<RowRef> members;
    const IdKey key = keyed[i].key;
    for (; i < keyed.size() && keyed[i].key == key; ++i) members.push_back(keyed[i].ref);
    if (!MetadataAgrees(input, members)) return std::nullopt;
    if (members.size() > 1) {
      for (const RowRef& ref : members) matched_members.insert(ref.member);
    }
    out.instances.push_back(MakeInstance(input, std::move(members), MatchKind::kId, 1.0));
  }
  if (!JoinsAllRanks(keyed, matched_members) || !JoinsAllFormats(input, keyed, out.instances)) return std::nullopt;
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
