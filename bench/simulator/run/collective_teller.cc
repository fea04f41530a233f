#include "bench/simulator/run/collective_teller.h"

#include "bench/simulator/kineto/kineto_style.h"

namespace lockstep {
namespace {

constexpr int32_t kNsysPayloads = 13;  // schema minors from which nsys exports NCCL's payloads ...
constexpr int32_t kNsysJson = 25;      // ... and advanced tracing

}  // namespace

Telling TellingOf(const SimulatorOptions& options, TraceForm form) {
  Telling telling{.nsys = form == TraceForm::kNsys};
  if (telling.nsys) {
    const bool any = options.ids != IdLevel::kNames;
    telling.sequence = options.ids == IdLevel::kFull && options.nsys_schema_minor >= kNsysJson;
    telling.data_type = telling.sequence;
    telling.groups = telling.config = any && options.nsys_schema_minor >= kNsysPayloads;
    telling.operation_only = any && !telling.groups;
    return telling;
  }
  const KinetoStyle style = StyleOf(options);
  telling.groups = telling.data_type = style.collective_args;
  telling.sequence = style.sequence;
  telling.config = style.group_config;
  return telling;
}

CollectiveTeller::CollectiveTeller(const Scenario& scenario, int32_t rank)
    : s_(scenario),
      rank_(rank),
      telling_(TellingOf(scenario.options,
                         FormOfHost(scenario.options, scenario.cluster.ranks[static_cast<size_t>(rank)].host))) {}

// NCCL makes a communicator at its first use.
bool CollectiveTeller::IsMade(int32_t group) const {
  return group != s_.cluster.ranks[static_cast<size_t>(rank_)].world || !s_.cluster.WorldIsParallelGroup();
}

std::vector<GroupConfig> CollectiveTeller::Groups() const {
  std::vector<GroupConfig> groups;
  if (!telling_.config) return groups;
  for (const int32_t index : s_.cluster.GroupsOf(rank_)) {
    const RankGroup& group = s_.cluster.communicators[static_cast<size_t>(index)];
    if (telling_.nsys && !IsMade(index)) continue;
    GroupConfig config;
    config.size = static_cast<int32_t>(group.members.size());
    config.own_rank = s_.cluster.PositionIn(group, rank_);
    if (telling_.nsys) {
      config.comm_hash = group.hash;
    } else {
      config.name = group.name;
      config.desc = group.desc;
      config.members = group.members;
    }
    groups.push_back(std::move(config));
  }
  return groups;
}

void CollectiveTeller::Describe(const Activity& activity, const Op& op, const CallNumber& number, FileInterner& names,
                                DropCounters& file_drops, ActivityRecord& record) {
  if (!telling_.groups && !telling_.operation_only) return;
  // Coalesced calls of c10d put nothing on their kernel.
  if (!telling_.nsys && op.collective == CollectiveOp::kSendRecv) return;
  const int64_t bytes = telling_.operation_only ? kUnknownBytes : BytesOf(s_.run, rank_, activity.step, op);
  auto [known, is_new] = metas_.try_emplace({&op, bytes}, kNoId);
  if (is_new) {
    const CollectiveMeta meta = MetaOf(op, bytes);
    const size_t metas = names.metas();
    known->second = names.Meta(meta, file_drops);
    if (meta.members_elided && names.metas() > metas) file_drops.Add(DropReason::kElidedGroupUnresolved);
  }
  record.meta = known->second;
  if (!telling_.sequence) return;
  const RankGroup& group = GroupOf(op);
  // Advanced tracing numbers no pairwise calls.
  const bool pairwise = IsPairwise(op) || (telling_.nsys && op.collective == CollectiveOp::kAllToAllV);
  if (!telling_.nsys || !pairwise) record.seq = number.seq;
  if (telling_.nsys && op.collective == CollectiveOp::kAllToAllV) return;  // many calls, each without an id
  record.has_comms_id = true;
  record.comms_id = telling_.nsys ? OperationIdOf(group, FirstCallOf(group, op, number))
                                  : CommsIdOf(group, number.seq, IsPairwise(op));
}

// Of a send and a receive in one kernel the one that goes to the higher rank is called first.
NcclCall CollectiveTeller::FirstCallOf(const RankGroup& group, const Op& op, const CallNumber& number) const {
  NcclCall call{.op = op.collective,
                .own_position = s_.cluster.PositionIn(group, rank_),
                .peer = op.send_to >= 0 ? op.send_to : op.receive_from,
                .shared = number.shared};
  if (op.collective == CollectiveOp::kSendRecv) {
    call.op = call.peer > call.own_position ? CollectiveOp::kSend : CollectiveOp::kRecv;
  }
  return call;
}

const RankGroup& CollectiveTeller::GroupOf(const Op& op) const {
  return s_.cluster.communicators[static_cast<size_t>(s_.cluster.CommunicatorOf(rank_, op.group))];
}

CollectiveMeta CollectiveTeller::MetaOf(const Op& op, int64_t bytes) const {
  const RankGroup& group = GroupOf(op);
  CollectiveMeta meta;
  // NCCL makes an uneven exchange of sends and receives.
  meta.op = telling_.nsys && op.collective == CollectiveOp::kAllToAllV ? CollectiveOp::kSendRecv : op.collective;
  meta.bytes = bytes;
  if (telling_.data_type) meta.dtype = op.dtype;
  if (telling_.operation_only) return meta;
  if (telling_.nsys) {
    meta.comm_hash = group.hash;
  } else {
    meta.group_name = group.name;
    meta.group_desc = group.desc;
    meta.group_size = static_cast<int32_t>(group.members.size());
    meta.members_elided = group.members.size() > kListedRanks && !telling_.config;
    if (!meta.members_elided) meta.members = group.members;
  }
  TakePeer(group, op, meta);
  if (telling_.nsys && !telling_.sequence) meta.root = op.root;
  return meta;
}

// Only NCCL's payloads tell roots. Kineto tells the other side's global rank, NCCL its position in the communicator;
// advanced tracing tells neither.
void CollectiveTeller::TakePeer(const RankGroup& group, const Op& op, CollectiveMeta& meta) const {
  const int32_t peer = IsPointToPoint(op.collective) ? PeerOf(s_.run, rank_, op) : -1;
  if (peer < 0 || op.collective == CollectiveOp::kSendRecv || (telling_.nsys && telling_.sequence)) return;
  meta.peer = telling_.nsys ? s_.cluster.PositionIn(group, peer) : peer;
}

}  // namespace lockstep
