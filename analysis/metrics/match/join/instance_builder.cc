#include "analysis/metrics/match/join/instance_builder.h"

#include <algorithm>

#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

// Two traces of one instance may tell its operation more or less precisely: the more precise word wins.
CollectiveOp MergeOp(CollectiveOp a, CollectiveOp b) {
  if (a == b) return a;
  if (a == CollectiveOp::kUnknown) return b;
  if (b == CollectiveOp::kUnknown) return a;
  if (IsPointToPoint(a) && IsPointToPoint(b)) return CollectiveOp::kSendRecv;
  return a == CollectiveOp::kSendRecv ? b : a;
}

// The common value of those that tell, else nothing.
template <typename T>
T Common(T a, T b, T unknown, bool& conflict) {
  if (a == unknown) return b;
  if (b != unknown && a != b) conflict = true;
  return a;
}

MatchedMember MakeMember(const JoinInput& input, const RowRef& ref) {
  const CollectiveRow& row = RowAt(input, ref);
  MatchedMember member;
  member.rank_index = input.plan.ranks[ref.member];
  member.row = ref.row;
  member.start_ns = row.start_ns;
  member.end_ns = row.end_ns;
  member.arrival_ns = row.start_ns;
  return member;
}

}  // namespace

int32_t ResolvePeer(const JoinInput& input, const RowRef& ref, int32_t peer) {
  if (peer < 0) return -1;
  int32_t global = peer;
  const auto& positions = input.plan.rank_at_position;
  if (input.rows[static_cast<size_t>(input.plan.ranks[ref.member])].nsys && !positions.empty()) {
    if (peer >= static_cast<int32_t>(positions.size())) return -1;
    global = positions[static_cast<size_t>(peer)];
  }
  const auto& ranks = input.ranks.ranks;
  const auto at = std::lower_bound(ranks.begin(), ranks.end(), global,
                                   [](const ResolvedRank& r, int32_t wanted) { return r.rank < wanted; });
  return at != ranks.end() && at->rank == global ? static_cast<int32_t>(at - ranks.begin()) : -1;
}

RowRef RefOf(const JoinInput& input, const MatchedMember& member) {
  const std::vector<int32_t>& ranks = input.plan.ranks;
  const auto at = std::lower_bound(ranks.begin(), ranks.end(), member.rank_index);
  return {static_cast<size_t>(at - ranks.begin()), static_cast<uint32_t>(member.row)};
}

JoinedInstance MakeInstance(const JoinInput& input, std::span<const RowRef> members, MatchKind kind,
                            double confidence) {
  const auto before = [](const RowRef& a, const RowRef& b) { return a.member < b.member; };
  std::vector<RowRef> sorted;
  if (!std::is_sorted(members.begin(), members.end(), before)) {
    sorted.assign(members.begin(), members.end());
    std::sort(sorted.begin(), sorted.end(), before);
    members = sorted;
  }
  JoinedInstance out;
  MatchedInstance& instance = out.instance;
  const CollectiveRow& first = RowAt(input, members.front());
  instance.communicator = input.communicator;
  instance.kind = kind;
  instance.confidence = confidence;
  instance.op = first.op;
  instance.library = first.library;
  instance.step = first.step;
  bool bytes_differ = false;
  bool dtype_differs = false;
  bool seq_differs = false;
  instance.members.reserve(members.size());
  for (const RowRef& ref : members) {
    const CollectiveRow& row = RowAt(input, ref);
    instance.members.push_back(MakeMember(input, ref));
    instance.op = MergeOp(instance.op, row.op);
    instance.bytes = Common(instance.bytes, row.bytes, kUnknownBytes, bytes_differ);
    instance.dtype = Common(instance.dtype, row.dtype, DataType::kUnknown, dtype_differs);
    instance.seq = Common(instance.seq, row.seq, kNoSeq, seq_differs);
    if (row.step != instance.step) instance.step = kNoStep;
    if (out.root == kNoRoot && row.root >= 0) {
      const int32_t root = ResolvePeer(input, ref, row.root);
      out.root = root >= 0 ? root : kRootWithoutTrace;
    }
  }
  if (bytes_differ) instance.bytes = kUnknownBytes;
  if (dtype_differs) instance.dtype = DataType::kUnknown;
  if (seq_differs) instance.seq = kNoSeq;
  return out;
}

}  // namespace lockstep
