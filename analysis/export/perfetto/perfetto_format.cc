#include "analysis/export/perfetto/perfetto_format.h"

#include <algorithm>

#include "analysis/export/perfetto/trace_fields.h"

namespace lockstep::perfetto {
namespace {

constexpr uint64_t kSequence = 1;  // there is only one

// One packet, closed when the object goes.
class Packet {
 public:
  explicit Packet(std::string& out) : proto(out), begin_(proto.Open(field::trace::kPacket)) {}
  ~Packet() { proto.Close(begin_); }
  Packet(const Packet&) = delete;
  Packet& operator=(const Packet&) = delete;

  // Of a packet that needs what was interned before it.
  void OfSequence(int64_t time_ns) {
    proto.Uint(field::packet::kTimestamp, static_cast<uint64_t>(std::max<int64_t>(0, time_ns)));
    proto.Uint(field::packet::kSequenceId, kSequence);
    proto.Uint(field::packet::kSequenceFlags, field::kNeedsState);
  }

  ProtoWriter proto;

 private:
  const size_t begin_;
};

void Intern(uint32_t table, uint64_t iid, std::string_view text, ProtoWriter& proto) {
  const size_t entry = proto.Open(table);
  proto.Uint(field::interned::kIid, iid);
  proto.Text(field::interned::kText, text);
  proto.Close(entry);
}

void AddClock(uint64_t id, uint64_t time, ProtoWriter& proto) {
  const size_t clock = proto.Open(field::snapshot::kClocks);
  proto.Uint(field::snapshot::kClockId, id);
  proto.Uint(field::snapshot::kClockTime, time);
  proto.Close(clock);
}

void AddSnapshot(const Timeline& timeline, std::string& out) {
  Packet packet(out);
  const size_t snapshot = packet.proto.Open(field::packet::kClockSnapshot);
  AddClock(field::kBoottime, 0, packet.proto);
  if (timeline.start_unix_ns > 0) {
    AddClock(field::kRealtime, static_cast<uint64_t>(timeline.start_unix_ns), packet.proto);
  }
  packet.proto.Uint(field::snapshot::kPrimaryClock, field::kBoottime);
  packet.proto.Close(snapshot);
}

// The words that every file uses have numbers from the beginning: their place and one.
void AddFirstPacket(std::string& out) {
  Packet packet(out);
  ProtoWriter& proto = packet.proto;
  proto.Uint(field::packet::kTimestamp, 0);
  proto.Uint(field::packet::kSequenceId, kSequence);
  proto.Uint(field::packet::kSequenceFlags, field::kClearedState | field::kNeedsState);
  const size_t defaults = proto.Open(field::packet::kDefaults);
  proto.Uint(field::defaults::kTimestampClockId, field::kBoottime);
  proto.Close(defaults);
  const size_t interned = proto.Open(field::packet::kInternedData);
  for (size_t i = 0; i < kCategories; ++i) {
    Intern(field::interned::kCategories, i + 1, Name(static_cast<Category>(i)), proto);
  }
  for (size_t i = 0; i < kKeys; ++i) {
    Intern(field::interned::kAnnotationNames, i + 1, Name(static_cast<Key>(i)), proto);
  }
  proto.Close(interned);
}

void AddRoot(std::string& out) {
  Packet packet(out);
  const size_t descriptor = packet.proto.Open(field::packet::kTrackDescriptor);
  packet.proto.Uint(field::track::kUuid, 0);
  packet.proto.Uint(field::track::kProcessOrdering, field::kExplicitRootOrder);
  packet.proto.Uint(field::track::kThreadOrdering, field::kExplicitRootOrder);
  packet.proto.Close(descriptor);
}

void AddAttributes(const Timeline& timeline, std::string& out) {
  Packet packet(out);
  const size_t attributes = packet.proto.Open(field::packet::kTraceAttributes);
  for (const auto& [key, value] : timeline.about) {
    const size_t attribute = packet.proto.Open(field::attributes::kAttribute);
    packet.proto.Text(field::attributes::kKey, key);
    packet.proto.Text(field::attributes::kText, value);
    packet.proto.Close(attribute);
  }
  packet.proto.Close(attributes);
}

void AddCounter(const Track& track, ProtoWriter& proto) {
  const size_t counter = proto.Open(field::track::kCounter);
  if (track.unit == "ns") {
    proto.Uint(field::counter::kUnit, field::kUnitNs);
  } else if (track.unit.empty()) {
    proto.Uint(field::counter::kUnit, field::kUnitCount);
  } else {
    proto.Text(field::counter::kUnitName, track.unit);
  }
  if (track.kind == TrackKind::kLateness) proto.Text(field::counter::kShareKey, "lateness");
  proto.Close(counter);
}

void AddThread(const Track& track, ProtoWriter& proto) {
  const size_t thread = proto.Open(field::track::kThread);
  proto.Int(field::thread::kPid, track.pid);
  proto.Int(field::thread::kTid, track.tid);
  proto.Int(field::thread::kSortIndex, track.place);
  proto.Text(field::thread::kName, track.name);
  proto.Close(thread);
}

void AddAnnotation(const Annotation& annotation, const std::vector<uint32_t>& strings, ProtoWriter& proto) {
  const size_t note = proto.Open(field::event::kDebugAnnotations);
  proto.Uint(field::annotation::kNameIid, static_cast<uint64_t>(annotation.key) + 1);
  switch (annotation.type) {
    case Annotation::Type::kNumber:
      proto.Int(field::annotation::kIntValue, annotation.value);
      break;
    case Annotation::Type::kBool:
      proto.Bool(field::annotation::kBoolValue, annotation.value != 0);
      break;
    case Annotation::Type::kName:
      proto.Uint(field::annotation::kStringIid, strings[static_cast<size_t>(annotation.value)]);
      break;
  }
  proto.Close(note);
}

}  // namespace

void PerfettoFormat::Begin(const Timeline& timeline, std::string& out) {
  timeline_ = &timeline;
  AddSnapshot(timeline, out);
  AddFirstPacket(out);
  if (!timeline.about.empty()) AddAttributes(timeline, out);
  AddRoot(out);
}

void PerfettoFormat::AddProcess(const Track& process, const ExportedRank& about, std::string& out) {
  Packet packet(out);
  ProtoWriter& proto = packet.proto;
  const size_t descriptor = proto.Open(field::packet::kTrackDescriptor);
  proto.Uint(field::track::kUuid, process.uuid);
  const size_t of_process = proto.Open(field::track::kProcess);
  proto.Int(field::process::kPid, process.pid);
  proto.Int(field::process::kSortIndex, process.place);
  proto.Text(field::process::kName, about.name);
  for (const std::string& label : about.labels) proto.Text(field::process::kLabels, label);
  proto.Close(of_process);
  proto.Uint(field::track::kChildOrdering, field::kExplicitOrder);
  proto.Int(field::track::kSiblingOrderRank, process.place);
  if (!about.description.empty()) proto.Text(field::track::kDescription, about.description);
  proto.Close(descriptor);
}

void PerfettoFormat::AddTrack(const Track& track, std::string& out) {
  Packet packet(out);
  ProtoWriter& proto = packet.proto;
  const size_t descriptor = proto.Open(field::packet::kTrackDescriptor);
  proto.Uint(field::track::kUuid, track.uuid);
  proto.Uint(field::track::kParentUuid, track.parent);
  if (track.is_thread) {
    AddThread(track, proto);
  } else {
    proto.Text(field::track::kName, track.name);
  }
  if (track.is_counter) AddCounter(track, proto);
  proto.Uint(field::track::kChildOrdering, field::kExplicitOrder);
  proto.Int(field::track::kSiblingOrderRank, track.place);
  proto.Close(descriptor);
}

bool PerfettoFormat::IsNew(uint32_t name, std::vector<uint32_t>& iids, uint32_t& next) {
  if (name >= iids.size()) iids.resize(std::max<size_t>(name + size_t{1}, iids.size() * 2), 0);
  if (iids[name] != 0) return false;
  iids[name] = next++;
  return true;
}

void PerfettoFormat::InternNames(const Slice& slice, ProtoWriter& proto) {
  size_t interned = 0;  // no message begins there
  const auto add = [&](uint32_t table, uint32_t name, const std::vector<uint32_t>& iids) {
    if (interned == 0) interned = proto.Open(field::packet::kInternedData);
    Intern(table, iids[name], timeline_->names[name], proto);
  };
  if (IsNew(slice.name, event_iids_, next_event_iid_)) add(field::interned::kEventNames, slice.name, event_iids_);
  for (const Annotation& annotation : slice.annotations) {
    if (annotation.type != Annotation::Type::kName) continue;
    const auto name = static_cast<uint32_t>(annotation.value);
    if (IsNew(name, string_iids_, next_string_iid_)) add(field::interned::kAnnotationStrings, name, string_iids_);
  }
  if (interned != 0) proto.Close(interned);
}

void PerfettoFormat::BeginSlice(const Track& track, const Slice& slice, std::string& out) {
  Packet packet(out);
  ProtoWriter& proto = packet.proto;
  packet.OfSequence(slice.start_ns);
  InternNames(slice, proto);
  const size_t event = proto.Open(field::packet::kTrackEvent);
  proto.Uint(field::event::kType, field::kSliceBegin);
  proto.Uint(field::event::kTrackUuid, track.uuid);
  proto.Uint(field::event::kNameIid, event_iids_[slice.name]);
  proto.Uint(field::event::kCategoryIids, static_cast<uint64_t>(slice.category) + 1);
  if (slice.correlation != 0) proto.Uint(field::event::kCorrelationId, slice.correlation);
  for (uint32_t i = 0; i < slice.flows; ++i) proto.Fixed64(field::event::kFlowIds, slice.first_flow + i);
  if (slice.flow_to_here != 0) proto.Fixed64(field::event::kTerminatingFlowIds, slice.flow_to_here);
  for (const Annotation& annotation : slice.annotations) AddAnnotation(annotation, string_iids_, proto);
  proto.Close(event);
}

void PerfettoFormat::EndSlice(const Track& track, int64_t time_ns, std::string& out) {
  Packet packet(out);
  packet.OfSequence(time_ns);
  const size_t event = packet.proto.Open(field::packet::kTrackEvent);
  packet.proto.Uint(field::event::kType, field::kSliceEnd);
  packet.proto.Uint(field::event::kTrackUuid, track.uuid);
  packet.proto.Close(event);
}

void PerfettoFormat::AddSample(const Track& track, int64_t time_ns, int64_t value, std::string& out) {
  Packet packet(out);
  packet.OfSequence(time_ns);
  const size_t event = packet.proto.Open(field::packet::kTrackEvent);
  packet.proto.Uint(field::event::kType, field::kCounterSample);
  packet.proto.Uint(field::event::kTrackUuid, track.uuid);
  packet.proto.Int(field::event::kCounterValue, value);
  packet.proto.Close(event);
}

void PerfettoFormat::End(std::string& /*out*/) {}

}  // namespace lockstep::perfetto
