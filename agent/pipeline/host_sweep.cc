#include "agent/pipeline/host_sweep.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "analysis/base/status_macros.h"

namespace lockstep {
namespace {

// An open collective call of one thread.
struct OpenCall {
  int64_t end_ns = 0;
  MetaId meta = kNoId;
  uint64_t comms_id = 0;
  int64_t seq = kNoSeq;
  bool has_comms_id = false;
};

struct ThreadState {
  std::vector<OpenCall> calls;    // nested, outermost first
  std::vector<OpenCall> grouped;  // calls since ncclGroupStart
  int group_depth = 0;
  int64_t release_end_ns = INT64_MIN;  // end of the ncclGroupEnd that releases `grouped`
};

class HostSweep {
 public:
  HostSweep(RecordCollector& collector, LaunchSorter& launches, std::vector<std::vector<int64_t>>& per_step)
      : collector_(collector), launches_(launches), per_step_(per_step) {
    per_step_.resize(collector.steps().size());
    for (size_t i = 0; i < per_step_.size(); ++i) per_step_[i].assign(collector.steps()[i].size(), 0);
    graph_ordinals_.assign(collector.steps().size(), 0);
  }

  absl::Status Run() {
    HostEvent event;
    uint32_t process = 0;
    while (true) {
      LOCKSTEP_ASSIGN_OR_RETURN(const bool more, collector_.host_events().Next(event));
      if (!more) return absl::OkStatus();
      if (event.process != process) threads_.clear();
      process = event.process;
      LOCKSTEP_RETURN_IF_ERROR(Take(event));
    }
  }

 private:
  absl::Status Take(const HostEvent& event) {
    ThreadState& thread = threads_[event.tid];
    while (!thread.calls.empty() && thread.calls.back().end_ns <= event.start_ns) thread.calls.pop_back();
    if (event.is_api) return TakeLaunch(event, thread);
    if (event.host_kind == HostKind::kCollective) {
      TakeCall(event, thread);
    } else {
      TakeGroup(event, thread);
    }
    return absl::OkStatus();
  }

  static void TakeCall(const HostEvent& event, ThreadState& thread) {
    const OpenCall call{event.end_ns(), event.meta, event.comms_id, event.seq, event.has_comms_id};
    thread.calls.push_back(call);
    if (thread.group_depth > 0) thread.grouped.push_back(call);
  }

  void TakeGroup(const HostEvent& event, ThreadState& thread) {
    if (collector_.interner().NameOf(event.name) == "ncclGroupStart") {
      if (thread.group_depth++ == 0) thread.grouped.clear();
      return;
    }
    // A capture may begin inside a group: an end without a start releases what was seen.
    thread.group_depth = std::max(0, thread.group_depth - 1);
    if (thread.group_depth == 0) thread.release_end_ns = event.end_ns();
  }

  absl::Status TakeLaunch(const HostEvent& event, ThreadState& thread) {
    Launch launch;
    launch.correlation = event.correlation;
    launch.start_ns = event.start_ns;
    launch.end_ns = event.end_ns();
    launch.process = event.process;
    launch.api = event.name;
    launch.kind = event.api_kind;
    launch.step = StepAt(collector_.steps()[event.process], event.start_ns);
    const bool launches_work = event.api_kind == ApiKind::kLaunch || event.api_kind == ApiKind::kGraphLaunch;
    if (launch.step >= 0 && launches_work) ++per_step_[event.process][static_cast<size_t>(launch.step)];
    if (event.api_kind == ApiKind::kGraphLaunch) launch.graph_launch = GraphOrdinal(event);
    if (const OpenCall call = CallAround(event, thread); call.meta != kNoId) {
      launch.meta = call.meta;
      launch.comms_id = call.comms_id;
      launch.has_comms_id = call.has_comms_id;
      launch.seq = call.seq;
    }
    return launches_.Add(launch);
  }

  // A runtime call can hold a nested driver call of the same correlation: one launch.
  int64_t GraphOrdinal(const HostEvent& event) {
    if (event.correlation != last_graph_correlation_ || graph_ordinals_[event.process] == 0) {
      ++graph_ordinals_[event.process];
    }
    last_graph_correlation_ = event.correlation;
    return graph_ordinals_[event.process] - 1;
  }

  OpenCall CallAround(const HostEvent& event, const ThreadState& thread) {
    if (!thread.calls.empty()) return thread.calls.back();
    if (event.start_ns >= thread.release_end_ns || thread.grouped.empty()) return {};
    if (thread.grouped.size() == 1) return thread.grouped.front();
    return Fused(thread.grouped);
  }

  // Several grouped operations run as one kernel: their common communicator, the common operation if there is one
  // (send/receive for point-to-point mixtures), the bytes of all.
  OpenCall Fused(const std::vector<OpenCall>& calls) {
    CollectiveMeta fused = collector_.interner().MetaOf(calls.front().meta);
    bool point_to_point = true;
    bool one_op = true;
    int64_t bytes = kUnknownBytes;
    for (const OpenCall& call : calls) {
      const CollectiveMeta& meta = collector_.interner().MetaOf(call.meta);
      if (meta.comm_hash != fused.comm_hash || meta.group_name != fused.group_name) {
        return {};
      }
      one_op = one_op && meta.op == fused.op;
      point_to_point = point_to_point && IsPointToPoint(meta.op);
      // What is received is counted where it is sent.
      if (meta.op != CollectiveOp::kRecv && meta.bytes >= 0) {
        bytes = std::max<int64_t>(bytes, 0) + meta.bytes;
      }
    }
    fused.bytes = point_to_point || one_op ? bytes : kUnknownBytes;
    if (point_to_point) {
      fused.op = CollectiveOp::kSendRecv;
      fused.peer = -1;
    } else if (!one_op) {
      fused.op = CollectiveOp::kUnknown;
    }
    OpenCall call = calls.front();
    call.meta = collector_.InternMeta(fused);
    return call;
  }

  RecordCollector& collector_;
  LaunchSorter& launches_;
  std::vector<std::vector<int64_t>>& per_step_;
  std::unordered_map<int64_t, ThreadState> threads_;
  std::vector<int64_t> graph_ordinals_;
  uint64_t last_graph_correlation_ = 0;
};

}  // namespace

absl::Status SweepHost(RecordCollector& collector, LaunchSorter& launches,
                       std::vector<std::vector<int64_t>>& per_step) {
  return HostSweep(collector, launches, per_step).Run();
}

}  // namespace lockstep
