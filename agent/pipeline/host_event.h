// What the host did: an API call that may have put work on a device, or an annotation. Plain, sorted externally.
#pragma once

#include <cstdint>
#include <tuple>

#include "analysis/condense/host_wait.h"
#include "analysis/condense/phase.h"
#include "analysis/model/trace_record.h"

namespace lockstep {

// What differs between neighbours stands together: record_block.h packs it by groups of sixteen bytes.
struct HostEvent {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  uint64_t correlation = 0;
  NameId name = kNoId;
  uint32_t process = 0;
  int64_t tid = 0;
  uint64_t comms_id = 0;
  int64_t seq = kNoSeq;
  NameId domain = kNoId;  // of a range
  MetaId meta = kNoId;
  bool is_api = false;
  bool is_group_call = false;  // ncclGroupStart, ncclGroupEnd
  ApiKind api_kind = ApiKind::kOther;
  HostKind host_kind = HostKind::kRange;
  bool has_correlation = false;
  bool has_comms_id = false;

  [[nodiscard]] int64_t end_ns() const { return start_ns + duration_ns; }
};

// Calls that never put work on a device need no join: they are only counted in their step.
constexpr bool MayLaunch(ApiKind kind) { return kind != ApiKind::kSync && kind != ApiKind::kAlloc; }

// Ranges that end on another thread than they began on surround nothing on theirs.
constexpr bool Surrounds(HostKind kind) { return kind != HostKind::kStartEnd; }

// By process and time; of two that start together the longer (outer) one first.
struct HostEventOrder {
  bool operator()(const HostEvent& a, const HostEvent& b) const {
    return std::tie(a.process, a.start_ns, b.duration_ns, a.is_api, a.tid, a.correlation, a.name, a.domain) <
           std::tie(b.process, b.start_ns, a.duration_ns, b.is_api, b.tid, b.correlation, b.name, b.domain);
  }
};

// A call that may have put work on a device, with what the host sweep learned about it.
struct Launch {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint64_t correlation = 0;
  uint64_t comms_id = 0;
  int64_t seq = kNoSeq;
  int64_t graph_launch = -1;
  int64_t tid = -1;
  HostWait host_wait;  // the last before this call
  uint32_t process = 0;
  NameId api = kNoId;
  MetaId meta = kNoId;
  int32_t step = -1;
  int32_t range = -1;         // RangeProjection's number of the innermost range around the call
  NameId range_name = kNoId;  // of that range, whatever the limit of numbers
  Phase phase = Phase::kNone;
  ApiKind kind = ApiKind::kOther;
  bool has_comms_id = false;
};

struct LaunchOrder {
  bool operator()(const Launch& a, const Launch& b) const {
    return std::tie(a.process, a.correlation, a.start_ns, b.end_ns) <
           std::tie(b.process, b.correlation, b.start_ns, a.end_ns);
  }
};

struct DeviceByCorrelation {
  bool operator()(const DeviceRecord& a, const DeviceRecord& b) const {
    return std::tie(a.process, a.has_correlation, a.correlation, a.start_ns, a.device, a.stream, a.duration_ns,
                    a.name) <
           std::tie(b.process, b.has_correlation, b.correlation, b.start_ns, b.device, b.stream, b.duration_ns, b.name);
  }
};

}  // namespace lockstep
