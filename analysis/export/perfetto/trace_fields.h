// Numbers of the fields and values of Perfetto's messages that lockstep writes. Source: protos/perfetto/trace of
// google/perfetto at ec5d16b1, package perfetto.protos; tests/support/perfetto/trace.proto is the same as a schema,
// with which the tests decode.
#pragma once

#include <cstdint>

namespace lockstep::perfetto::field {

namespace trace {
inline constexpr uint32_t kPacket = 1;
}
namespace packet {
inline constexpr uint32_t kClockSnapshot = 6;
inline constexpr uint32_t kTimestamp = 8;
inline constexpr uint32_t kSequenceId = 10;
inline constexpr uint32_t kTrackEvent = 11;
inline constexpr uint32_t kInternedData = 12;
inline constexpr uint32_t kSequenceFlags = 13;
inline constexpr uint32_t kDefaults = 59;
inline constexpr uint32_t kTrackDescriptor = 60;
inline constexpr uint32_t kTraceAttributes = 126;
}  // namespace packet
namespace defaults {
inline constexpr uint32_t kTimestampClockId = 58;
}
namespace track {
inline constexpr uint32_t kUuid = 1;
inline constexpr uint32_t kName = 2;
inline constexpr uint32_t kProcess = 3;
inline constexpr uint32_t kThread = 4;
inline constexpr uint32_t kParentUuid = 5;
inline constexpr uint32_t kCounter = 8;
inline constexpr uint32_t kChildOrdering = 11;
inline constexpr uint32_t kSiblingOrderRank = 12;
inline constexpr uint32_t kDescription = 14;
inline constexpr uint32_t kProcessOrdering = 19;
inline constexpr uint32_t kThreadOrdering = 20;
}  // namespace track
namespace process {
inline constexpr uint32_t kPid = 1;
inline constexpr uint32_t kSortIndex = 3;
inline constexpr uint32_t kName = 6;
inline constexpr uint32_t kLabels = 8;
}  // namespace process
namespace thread {
inline constexpr uint32_t kPid = 1;
inline constexpr uint32_t kTid = 2;
inline constexpr uint32_t kSortIndex = 3;
inline constexpr uint32_t kName = 5;
}  // namespace thread
namespace counter {
inline constexpr uint32_t kUnit = 3;
inline constexpr uint32_t kUnitName = 6;
inline constexpr uint32_t kShareKey = 7;
}  // namespace counter
namespace event {
inline constexpr uint32_t kCategoryIids = 3;
inline constexpr uint32_t kDebugAnnotations = 4;
inline constexpr uint32_t kType = 9;
inline constexpr uint32_t kNameIid = 10;
inline constexpr uint32_t kTrackUuid = 11;
inline constexpr uint32_t kCounterValue = 30;
inline constexpr uint32_t kFlowIds = 47;
inline constexpr uint32_t kTerminatingFlowIds = 48;
inline constexpr uint32_t kCorrelationId = 52;
}  // namespace event
namespace annotation {
inline constexpr uint32_t kNameIid = 1;
inline constexpr uint32_t kBoolValue = 2;
inline constexpr uint32_t kIntValue = 4;
inline constexpr uint32_t kStringIid = 17;
}  // namespace annotation
namespace interned {
inline constexpr uint32_t kCategories = 1;
inline constexpr uint32_t kEventNames = 2;
inline constexpr uint32_t kAnnotationNames = 3;
inline constexpr uint32_t kAnnotationStrings = 29;
inline constexpr uint32_t kIid = 1;
inline constexpr uint32_t kText = 2;
}  // namespace interned
namespace snapshot {
inline constexpr uint32_t kClocks = 1;
inline constexpr uint32_t kPrimaryClock = 2;
inline constexpr uint32_t kClockId = 1;
inline constexpr uint32_t kClockTime = 2;
}  // namespace snapshot
namespace attributes {
inline constexpr uint32_t kAttribute = 1;
inline constexpr uint32_t kKey = 1;
inline constexpr uint32_t kText = 3;
}  // namespace attributes

// Values.
inline constexpr uint64_t kSliceBegin = 1;
inline constexpr uint64_t kSliceEnd = 2;
inline constexpr uint64_t kCounterSample = 4;
inline constexpr uint64_t kClearedState = 1;  // of sequence_flags
inline constexpr uint64_t kNeedsState = 2;
inline constexpr uint64_t kExplicitOrder = 3;      // of child_ordering
inline constexpr uint64_t kExplicitRootOrder = 1;  // of process_ordering and thread_ordering
inline constexpr uint64_t kUnitNs = 1;
inline constexpr uint64_t kUnitCount = 2;
inline constexpr uint64_t kRealtime = 1;
inline constexpr uint64_t kBoottime = 6;

}  // namespace lockstep::perfetto::field
