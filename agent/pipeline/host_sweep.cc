#include "agent/pipeline/host_sweep.h"

#include <algorithm>
#include <optional>
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

// An open range of one thread.
struct OpenRange {
  int64_t end_ns = 0;
  NameId domain = kNoId;
  NameId name = kNoId;
  Phase phase = Phase::kNone;
  bool counts = true;          // was selected
  int32_t number = kNotAsked;  // RangeProjection's, once something was launched inside
  static constexpr int32_t kNotAsked = -2;
};

struct ThreadState {
  std::vector<OpenRange> ranges;  // nested, outermost first
  std::vector<OpenCall> calls;    // nested, outermost first
  std::vector<OpenCall> grouped;  // calls since ncclGroupStart
  int group_depth = 0;
  std::optional<uint64_t> last_call;   // correlation
  int64_t release_end_ns = INT64_MIN;  // end of the ncclGroupEnd that releases `grouped`
};

class HostSweep {
 public:
  HostSweep(RecordCollector& collector, LaunchSorter& launches, RangeProjection& ranges,
            std::vector<std::vector<HostOfStep>>& per_step, const HostSelection& selection)
      : collector_(collector),
        launches_(launches),
        ranges_(ranges),
        per_step_(per_step),
        selected_(selection.selected) {
    per_step_.resize(collector.steps().size());
    for (size_t i = 0; i < per_step_.size(); ++i) per_step_[i].assign(collector.steps()[i].size(), HostOfStep());
    graph_ordinals_.assign(collector.steps().size(), 0);
    for (uint32_t i = 0; i < per_step_.size(); ++i) {
      const bool named = collector.step_source(i) == StepSource::kRange;
      step_cursors_.emplace_back(collector.steps()[i], named ? selection.named_steps : StepThreads::kAny);
    }
  }

  absl::Status Run() {
    HostEvent event;
    uint32_t process = 0;
    while (true) {
      LOCKSTEP_ASSIGN_OR_RETURN(const bool more, collector_.host_events().Next(event));
      if (!more) return absl::OkStatus();
      if (event.process != process) {
        threads_.clear();
        latest_thread_ = nullptr;
        phases_.clear();
        waits_ = HostWaits();
      }
      process = event.process;
      LOCKSTEP_RETURN_IF_ERROR(Take(event));
    }
  }

 private:
  absl::Status Take(const HostEvent& event) {
    ThreadState& thread = ThreadOf(event.tid);
    while (!thread.calls.empty() && thread.calls.back().end_ns <= event.start_ns) thread.calls.pop_back();
    const int32_t step = step_cursors_[event.process].At(event.start_ns, event.tid);
    const bool counts = selected_.empty() || selected_[event.process].Has(step, event.start_ns);
    if (counts && !selected_.empty()) collector_.Count(event);
    if (event.is_api) {
      if (event.api_kind == ApiKind::kSync) waits_.Add({event.start_ns, event.end_ns()});
      if (!IsNested(event, thread) && step >= 0) {
        CountCall(event.api_kind, event.duration_ns, per_step_[event.process][static_cast<size_t>(step)]);
      }
      const bool launches = event.has_correlation && MayLaunch(event.api_kind);
      return launches ? TakeLaunch(event, step, thread) : absl::OkStatus();
    }
    if (!Surrounds(event.host_kind)) return absl::OkStatus();
    TakeRange(event, counts, thread);
    if (event.meta != kNoId) {
      TakeCall(event, thread);
    } else if (event.is_group_call) {
      TakeGroup(event, thread);
    }
    return absl::OkStatus();
  }

  ThreadState& ThreadOf(int64_t tid) {
    if (latest_thread_ == nullptr || latest_thread_->first != tid) latest_thread_ = &*threads_.try_emplace(tid).first;
    return latest_thread_->second;
  }

  void TakeRange(const HostEvent& event, bool counts, ThreadState& thread) {
    std::vector<OpenRange>& open = thread.ranges;
    while (!open.empty() && open.back().end_ns <= event.start_ns) open.pop_back();
    if (open.size() >= kMaxDepth) std::erase_if(open, [&](const OpenRange& r) { return r.end_ns <= event.start_ns; });
    if (open.size() >= kMaxDepth) open.erase(open.begin());  // never ended, as a push without its pop
    OpenRange range{.end_ns = event.end_ns(), .domain = event.domain, .name = event.name, .counts = counts};
    range.phase = PhaseOf(event.name);
    if (range.phase != Phase::kNone) TakePhase(range);
    open.push_back(range);
  }

  // Only the open phase begun last is ever asked for: what ends no later than a new one is done with.
  void TakePhase(const OpenRange& range) {
    while (!phases_.empty() && phases_.back().end_ns <= range.end_ns) phases_.pop_back();
    if (phases_.size() < kMaxDepth) phases_.push_back(range);
  }

  Phase PhaseOf(NameId name) {
    if (name >= phase_of_name_.size()) phase_of_name_.resize(name + 1);
    std::optional<Phase>& known = phase_of_name_[name];
    if (!known.has_value()) known = PhaseOfRange(collector_.interner().NameOf(name));
    return *known;
  }

  // The innermost phase on the launching thread; else, as when autograd launches for the main thread, the one begun
  // last on any.
  Phase PhaseAt(int64_t t, const ThreadState& thread) {
    for (auto range = thread.ranges.rbegin(); range != thread.ranges.rend(); ++range) {
      if (range->phase != Phase::kNone && range->end_ns > t) return range->phase;
    }
    while (!phases_.empty() && phases_.back().end_ns <= t) phases_.pop_back();
    return phases_.empty() ? Phase::kNone : phases_.back().phase;
  }

  // The number of the innermost range around a launch.
  int32_t RangeAt(const HostEvent& event, ThreadState& thread) {
    int32_t innermost = -1;
    for (size_t i = 0; i < thread.ranges.size(); ++i) {
      OpenRange& range = thread.ranges[i];
      if (range.end_ns <= event.start_ns || !range.counts) continue;
      if (range.number == OpenRange::kNotAsked) Open(event.process, thread.ranges, i);
      if (range.number >= 0) innermost = range.number;
    }
    return innermost;
  }

  static NameId RangeNameAt(int64_t t, const ThreadState& thread) {
    for (auto range = thread.ranges.rbegin(); range != thread.ranges.rend(); ++range) {
      if (range->counts && range->end_ns > t) return range->name;
    }
    return kNoId;
  }

  // Its parent is the innermost range that holds all of it: ranges of one thread may overlap without nesting.
  void Open(uint32_t process, std::vector<OpenRange>& open, size_t place) {
    OpenRange& range = open[place];
    int32_t parent = -1;
    for (size_t i = place; i-- > 0 && parent < 0;) {
      if (open[i].end_ns >= range.end_ns && open[i].number >= 0) parent = open[i].number;
    }
    range.number = ranges_.Open(process, range.domain, range.name, parent);
    if (range.number < 0) collector_.Drop(DropReason::kKeyLimit, -1);
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

  absl::Status TakeLaunch(const HostEvent& event, int32_t step, ThreadState& thread) {
    Launch launch;
    launch.correlation = event.correlation;
    launch.start_ns = event.start_ns;
    launch.end_ns = event.end_ns();
    launch.host_wait = waits_.AtLaunch(event.start_ns);
    launch.tid = event.tid;
    launch.process = event.process;
    launch.api = event.name;
    launch.kind = event.api_kind;
    launch.step = step;
    launch.range = RangeAt(event, thread);
    launch.range_name = RangeNameAt(event.start_ns, thread);
    launch.phase = PhaseAt(event.start_ns, thread);
    if (event.api_kind == ApiKind::kGraphLaunch) launch.graph_launch = GraphOrdinal(event);
    if (const OpenCall call = CallAround(event, thread); call.meta != kNoId) {
      launch.meta = call.meta;
      launch.comms_id = call.comms_id;
      launch.has_comms_id = call.has_comms_id;
      launch.seq = call.seq;
    }
    return launches_.Add(launch);
  }

  // A driver call inside the runtime call of the same correlation: one call.
  static bool IsNested(const HostEvent& event, ThreadState& thread) {
    if (!event.has_correlation) return false;
    const bool nested = thread.last_call == event.correlation;
    thread.last_call = event.correlation;
    return nested;
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
  static constexpr size_t kMaxDepth = 256;

  LaunchSorter& launches_;
  RangeProjection& ranges_;
  std::vector<std::vector<HostOfStep>>& per_step_;
  const std::vector<CondenseSelection>& selected_;
  std::vector<StepCursor> step_cursors_;  // by process
  std::vector<OpenRange> phases_;         // of the process: begun later, ends earlier
  std::vector<std::optional<Phase>> phase_of_name_;
  std::unordered_map<int64_t, ThreadState> threads_;
  std::pair<const int64_t, ThreadState>* latest_thread_ = nullptr;  // of these
  HostWaits waits_;
  std::vector<int64_t> graph_ordinals_;
  uint64_t last_graph_correlation_ = 0;
};

}  // namespace

absl::Status SweepHost(RecordCollector& collector, LaunchSorter& launches, RangeProjection& ranges,
                       std::vector<std::vector<HostOfStep>>& per_step, const HostSelection& selection) {
  return HostSweep(collector, launches, ranges, per_step, selection).Run();
}

}  // namespace lockstep
