#include "bench/simulator/nsys/nsys_nvtx.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analysis/base/status_macros.h"
#include "bench/simulator/engine/exchange.h"
#include "bench/simulator/nsys/nsys_payload.h"
#include "bench/simulator/nsys/nsys_table.h"

namespace lockstep {
namespace {

constexpr int64_t kPushPop = 59;
constexpr int64_t kDomainCreate = 75;
constexpr int64_t kInitBeforeNs = 80'000'000;  // begin of the communicators' making before the first step
constexpr int64_t kInitLengthNs = 15'000'000;
constexpr int64_t kGroupedCallsNs = 240;

struct NvtxRow {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t global_tid = 0;
  int64_t domain = 0;
  std::string text;     // inline text ...
  int64_t text_id = 0;  // ... or a registered string
  std::string binary;
  std::string json;
};

class NvtxExport {
 public:
  NvtxExport(Database& db, const RunDescription& run, const HostCapture& capture, const NsysSession& session,
             NsysStrings& strings)
      : db_(db),
        run_(run),
        capture_(capture),
        session_(session),
        strings_(strings),
        minor_(run.options->nsys_schema_minor) {}

  absl::Status Write() {
    NsysTable table(
        &db_, minor_, "NVTX_EVENTS",
        {"eventId", "start", "end", "eventType", "text", "globalTid", "textId", "domainId", "jsonText", "binaryData"});
    if (tells_groups()) LOCKSTEP_RETURN_IF_ERROR(WriteDomains(table));
    if (has_payloads()) LOCKSTEP_RETURN_IF_ERROR(WriteSchemas());
    std::vector<NvtxRow> rows;
    for (size_t rank = 0; rank < capture_.ranks.size(); ++rank) {
      if (tells_groups()) AddInits(rank, rows);
      LOCKSTEP_RETURN_IF_ERROR(WriteNvtxOf(rank, rows, table));
      rows.clear();
      if (run_.options->host_rows > 0) LOCKSTEP_RETURN_IF_ERROR(WriteFiller(rank, table));
    }
    return absl::OkStatus();
  }

 private:
  [[nodiscard]] int32_t RankOf(size_t index) const { return capture_.first_rank + static_cast<int32_t>(index); }
  [[nodiscard]] int64_t TidOf(size_t index) const { return GlobalTid(ProcessIdOf(*run_.cluster, RankOf(index))); }
  [[nodiscard]] int64_t Local(int64_t unix_ns) const { return unix_ns - session_.utc_epoch_ns; }
  [[nodiscard]] bool tells_groups() const { return run_.options->ids != IdLevel::kNames; }
  [[nodiscard]] bool has_payloads() const { return tells_groups() && minor_ >= 13; }
  [[nodiscard]] bool has_json() const { return run_.options->ids == IdLevel::kFull && minor_ >= 25; }

  absl::Status PutNvtx(NsysTable& table, const NvtxRow& row) {
    const bool registered = row.text_id != 0;
    return table.Row({++event_id_, Local(row.start_ns), Local(row.end_ns), kPushPop,
                      registered ? Cell() : Cell(std::string_view(row.text)), row.global_tid,
                      registered ? Cell(row.text_id) : Cell(), row.domain,
                      row.json.empty() ? Cell() : Cell(std::string_view(row.json)),
                      row.binary.empty() ? Cell() : Cell::Blob(row.binary)});
  }

  absl::Status WriteDomains(NsysTable& table) {
    for (size_t rank = 0; rank < capture_.ranks.size(); ++rank) {
      const int64_t at = CaptureOf(capture_.ranks[rank]).start_ns - kInitBeforeNs - 1'000'000;
      LOCKSTEP_RETURN_IF_ERROR(table.Row({++event_id_, Local(at), Cell(), kDomainCreate, std::string_view("NCCL"),
                                          TidOf(rank), Cell(), kNcclDomain, Cell(), Cell()}));
    }
    return absl::OkStatus();
  }

  // Once for each process, as nsys does.
  absl::Status WriteSchemas() {
    NsysTable schemas(&db_, minor_, "NVTX_PAYLOAD_SCHEMAS",
                      {"domainId", "schemaId", "type", "numEntries", "payloadSize"});
    NsysTable entries(&db_, minor_, "NVTX_PAYLOAD_SCHEMA_ENTRIES",
                      {"domainId", "schemaId", "idx", "type", "name", "offset"});
    for (size_t rank = 0; rank < capture_.ranks.size(); ++rank) {
      for (const PayloadSchema& schema : NcclPayloadSchemas()) {
        LOCKSTEP_RETURN_IF_ERROR(schemas.Row({kNcclDomain, schema.schema_id, int64_t{1},
                                              static_cast<int64_t>(schema.entries.size()), schema.payload_size}));
        int64_t index = 0;
        for (const PayloadEntry& entry : schema.entries) {
          LOCKSTEP_RETURN_IF_ERROR(entries.Row({kNcclDomain, schema.schema_id, index++, entry.type, entry.name,
                                                entry.offset == 0 ? Cell() : Cell(entry.offset)}));
        }
      }
    }
    return absl::OkStatus();
  }

  // World first, then the rank's other communicators.
  void AddInits(size_t index, std::vector<NvtxRow>& rows) {
    const RankPlace& place = run_.cluster->ranks[static_cast<size_t>(RankOf(index))];
    int64_t at = CaptureOf(capture_.ranks[index]).start_ns - kInitBeforeNs;
    for (const int32_t group_index : run_.cluster->GroupsOf(RankOf(index))) {
      const RankGroup& group = run_.cluster->communicators[static_cast<size_t>(group_index)];
      if (group.kind == GroupKind::kWorld && run_.cluster->WorldIsParallelGroup()) continue;
      NvtxRow row = NcclRow(index, kNcclInitRange, at, at + kInitLengthNs);
      if (has_payloads()) row.binary = InitPayload(group, run_.cluster->PositionIn(group, RankOf(index)), place.device);
      rows.push_back(std::move(row));
      at += kInitLengthNs + 1'000'000;
    }
  }

  NvtxRow NcclRow(size_t index, std::string_view name, int64_t start_ns, int64_t end_ns) {
    return {.start_ns = start_ns,
            .end_ns = end_ns,
            .global_tid = TidOf(index),
            .domain = kNcclDomain,
            .text_id = strings_.IdOf(name)};
  }

  // Rows go out step by step, so that not all of them are held at once. `rows`: what comes before the first step.
  absl::Status WriteNvtxOf(size_t index, std::vector<NvtxRow>& rows, NsysTable& table) {
    const RankTimeline& timeline = capture_.ranks[index];
    const std::vector<CallNumber> numbers = CallNumbersOf(run_, RankOf(index), timeline);
    for (const StepSpan& span : timeline.steps) {
      AddStep(index, span, numbers, rows);
      std::stable_sort(rows.begin(), rows.end(),
                       [](const NvtxRow& a, const NvtxRow& b) { return a.start_ns < b.start_ns; });
      for (const NvtxRow& row : rows) LOCKSTEP_RETURN_IF_ERROR(PutNvtx(table, row));
      rows.clear();
    }
    return absl::OkStatus();
  }

  void AddStep(size_t index, const StepSpan& span, const std::vector<CallNumber>& numbers, std::vector<NvtxRow>& rows) {
    const RankTimeline& timeline = capture_.ranks[index];
    const StepOps& step = run_.program->StepOf(span.step, RankOf(index));
    const int64_t tid = TidOf(index);
    if (span.end_ns != 0) {
      rows.push_back({span.start_ns, span.end_ns, tid, 0, fmt::format("ProfilerStep#{}", span.step), 0, "", ""});
    }
    for (const OpRange& range : step.ranges) {
      const auto at = IntervalOf(timeline, span.first_activity + range.first_op, span.first_activity + range.last_op,
                                 kPhaseMarginNs);
      if (at) rows.push_back({at->start_ns, at->end_ns, tid, 0, range.name, 0, "", ""});
    }
    if (!tells_groups()) return;
    for (size_t op = 0; op < step.ops.size(); ++op) {
      const size_t activity = span.first_activity + op;
      if (step.ops[op].kind != OpKind::kCollective || !TellsGroup(step.ops[op])) continue;
      if (HasHostRow(timeline.activities[activity], step.ops[op])) {
        AddCalls(index, activity, step.ops[op], numbers[activity], rows);
      }
    }
  }

  // A collective or pairwise call has a range of its own; calls that become one kernel stand in a group, which launches
  // it where it ends.
  void AddCalls(size_t index, size_t activity, const Op& op, const CallNumber& number, std::vector<NvtxRow>& rows) {
    const int32_t rank = RankOf(index);
    const RankGroup& group =
        run_.cluster->communicators[static_cast<size_t>(run_.cluster->CommunicatorOf(rank, op.group))];
    NcclCall call{.op = op.collective,
                  .dtype = op.dtype,
                  .bytes = BytesOf(run_, rank, capture_.ranks[index].activities[activity].step, op),
                  .own_position = run_.cluster->PositionIn(group, rank),
                  .peer = op.send_to >= 0 ? op.send_to : op.receive_from,
                  .root = op.root,
                  .seq = number.seq,
                  .shared = number.shared};
    const HostInterval around = *IntervalOf(capture_.ranks[index], activity, activity, kInnerMarginNs);
    if (op.collective == CollectiveOp::kAllToAllV) {
      const Exchange exchange(group, op, capture_.ranks[index].activities[activity].step, run_.effects, run_.rng);
      return AddExchange(index, call, exchange, group, around, rows);
    }
    if (op.collective == CollectiveOp::kSendRecv) return AddPair(index, call, group, around, rows);
    rows.push_back(CallRow(index, call, group, around));
  }

  NvtxRow CallRow(size_t index, const NcclCall& call, const RankGroup& group, const HostInterval& at) {
    NvtxRow row = NcclRow(index, NcclRangeOf(call.op), at.start_ns, at.end_ns);
    if (has_json()) {
      row.json = CollectiveJson(call, group);
    } else if (has_payloads()) {
      row.binary = CollectivePayload(call, group);
    }
    return row;
  }

  // Both sides call what goes to the higher rank first.
  void AddPair(size_t index, NcclCall call, const RankGroup& group, const HostInterval& around,
               std::vector<NvtxRow>& rows) {
    const bool up = call.peer > call.own_position;
    const int64_t at = around.start_ns;
    rows.push_back(NcclRow(index, "ncclGroupStart", at - 300, at - 260));
    call.op = up ? CollectiveOp::kSend : CollectiveOp::kRecv;
    rows.push_back(CallRow(index, call, group, {at - 240, at - 140}));
    call.op = up ? CollectiveOp::kRecv : CollectiveOp::kSend;
    rows.push_back(CallRow(index, call, group, {at - 120, at - 20}));
    rows.push_back(NcclRow(index, "ncclGroupEnd", at, around.end_ns));
  }

  // One send and one receive for each peer that gets or gives anything, all in one group.
  void AddExchange(size_t index, NcclCall call, const Exchange& exchange, const RankGroup& group,
                   const HostInterval& around, std::vector<NvtxRow>& rows) {
    const auto own = static_cast<size_t>(call.own_position);
    const int64_t slot = std::max<int64_t>(1, kGroupedCallsNs / static_cast<int64_t>(2 * group.members.size()));
    int64_t at = around.start_ns - kGroupedCallsNs - 60;
    rows.push_back(NcclRow(index, "ncclGroupStart", at - 40, at - 20));
    for (size_t peer = 0; peer < group.members.size(); ++peer) {
      for (const CollectiveOp op : {CollectiveOp::kSend, CollectiveOp::kRecv}) {
        call.op = op;
        call.peer = static_cast<int32_t>(peer);
        call.bytes = op == CollectiveOp::kSend ? exchange.Pair(own, peer) : exchange.Pair(peer, own);
        call.shared = -1;
        if (call.bytes > 0) rows.push_back(CallRow(index, call, group, {at, at + slot}));
        at += slot;
      }
    }
    rows.push_back(NcclRow(index, "ncclGroupEnd", around.start_ns, around.end_ns));
  }

  // The ranges of torch's emit_nvtx inside a launch's dispatch: nothing but volume.
  absl::Status WriteFiller(size_t index, NsysTable& table) {
    const RankTimeline& timeline = capture_.ranks[index];
    const int64_t slot = (kFrameworkMarginNs - 50) / run_.options->host_rows;
    for (size_t i = 0; i < timeline.activities.size(); ++i) {
      const Activity& activity = timeline.activities[i];
      const Op& op = run_.program->StepOf(activity.step, RankOf(index)).ops[activity.op];
      if (op.kind != OpKind::kKernel || !HasHostRow(activity, op)) continue;
      for (int32_t row = 0; row < run_.options->host_rows; ++row) {
        const int64_t start = activity.call_start_ns - kFrameworkMarginNs + 20 + slot * row;
        const int64_t number = static_cast<int64_t>(i) * run_.options->host_rows + row;
        LOCKSTEP_RETURN_IF_ERROR(PutNvtx(table, {start, start + slot / 2, TidOf(index), 0,
                                                 fmt::format("aten::empty, op_id = {}", number), 0, "", ""}));
      }
    }
    return absl::OkStatus();
  }

  Database& db_;
  const RunDescription& run_;
  const HostCapture& capture_;
  const NsysSession& session_;
  NsysStrings& strings_;
  int minor_;
  int64_t event_id_ = 0;
};

}  // namespace

absl::Status WriteNvtxTables(Database& db, const RunDescription& run, const HostCapture& capture,
                             const NsysSession& session, NsysStrings& strings) {
  return NvtxExport(db, run, capture, session, strings).Write();
}

}  // namespace lockstep
