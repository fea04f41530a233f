#include "agent/readers/kineto/event_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/readers/kineto/decimal.h"
#include "agent/readers/kineto/names.h"
#include "analysis/base/time.h"

namespace lockstep::kineto {
namespace {

constexpr int kMicrosecondScale = 3;              // ts and dur are microseconds: 10^3 ns
constexpr int64_t kLongestDeviceNs = kNsPerHour;  // no kernel, copy or synchronisation lasts an hour
constexpr int64_t kLongestHostNs = 24 * kNsPerHour;
constexpr size_t kMaxProcesses = 4096;

std::optional<int64_t> TimeOf(const JsonToken& token) {
  const std::optional<int64_t> ns = ParseScaled(token.text, kMicrosecondScale);
  if (!ns.has_value() || *ns > kMaxAbsTimeNs || *ns < -kMaxAbsTimeNs) return std::nullopt;
  return ns;
}

// Phases of the Chrome trace format that carry nothing for lockstep: metadata, flows, counters, asynchronous events.
bool IsIgnoredPhase(char phase) {
  constexpr std::string_view kIgnored = "MstfCbneSTpFNODPRcv()";
  return kIgnored.find(phase) != std::string_view::npos;
}

JsonToken* MemberOf(RawEvent& e, std::string_view key) {
  switch (key.size()) {
    case 2:
      return key == event::kPhase ? &e.phase : key == event::kTime ? &e.time : nullptr;
    case 3:
      return key == event::kCategory   ? &e.category
             : key == event::kDuration ? &e.duration
             : key == event::kPid      ? &e.pid
             : key == event::kTid      ? &e.tid
                                       : nullptr;
    case 4:
      return key == event::kName ? &e.name : key == event::kArgs ? &e.args : nullptr;
    default:
      return nullptr;
  }
}

std::optional<LaunchShape> ShapeOf(const JsonToken& grid, const JsonToken& block) {
  if (grid.kind != JsonToken::Kind::kArray || block.kind != JsonToken::Kind::kArray) return std::nullopt;
  LaunchShape shape;
  const auto read = [](const JsonToken& list, int32_t(&out)[3]) {
    size_t i = 0;
    JsonScanner(list.text).Array([&](const JsonToken& value) {
      if (i < 3) out[i++] = Narrow(ParseScaled(value.text, 0)).value_or(0);
    });
  };
  read(grid, shape.grid);
  read(block, shape.block);
  return shape;
}

}  // namespace

Scan ScanEvent(JsonScanner& scanner, RawEvent& event) {
  event = RawEvent();
  return scanner.Object([&event](const JsonToken& key, const JsonToken& value) {
    if (JsonToken* const member = MemberOf(event, key.text)) *member = value;
  });
}

void ProcessCounts::Count(std::string_view pid) {
  if (pid != last_text_) {
    last_text_.assign(pid);
    last_ = nullptr;
    const std::optional<int64_t> number = ParseScaled(pid, 0);
    if (!number.has_value() || *number < 0) return;
    if (rows_.size() < kMaxProcesses || rows_.contains(*number)) last_ = &rows_[*number];
  }
  if (last_ != nullptr) ++*last_;
}

int64_t ProcessCounts::MostFrequent() const {
  int64_t best = -1;
  int64_t most = 0;
  for (const auto& [pid, rows] : rows_) {
    if (rows > most) {
      best = pid;
      most = rows;
    }
  }
  return best;
}

EventDecoder::EventDecoder(RecordSink& sink, std::string step_range)
    : sink_(sink), step_range_(std::move(step_range)), labels_(sink) {}

absl::Status EventDecoder::Decode(const RawEvent& event, int64_t offset) {
  ++events_;
  offset_ = offset;
  const std::optional<ProcessLabels::Place> place = labels_.Of(event.pid);
  if (!place) {
    Drop(DropReason::kKeyLimit);
    return absl::OkStatus();
  }
  process_ = place->process;
  pid_number_ = place->number;
  const char phase = event.phase.text.size() == 1 ? event.phase.text[0] : '\0';
  if (phase == 'X') return Complete(event);
  if (phase == 'i' || phase == 'I') return Instant(event);
  if (!IsIgnoredPhase(phase)) Drop(DropReason::kUnknownPhase);
  return absl::OkStatus();
}

absl::Status EventDecoder::Complete(const RawEvent& event) {
  const Category category = Classify(event.category);
  ++(category == Category::kUnknown ? foreign_rows_ : known_rows_);
  if (category == Category::kOther || category == Category::kInstant) return absl::OkStatus();
  // Some writers leave the duration of an instantaneous row out.
  stated_ = {TimeOf(event.time), event.duration.present() ? ParseScaled(event.duration.text, kMicrosecondScale) : 0};
  switch (category) {
    case Category::kKernel:
      return Device(event, DeviceKind::kKernel);
    case Category::kMemcpy:
      return Device(event, DeviceKind::kMemcpy);
    case Category::kMemset:
      return Device(event, DeviceKind::kMemset);
    case Category::kSync:
      return Sync(event);
    case Category::kRuntime:
      return Api(event, false);
    case Category::kDriver:
      return Api(event, true);
    case Category::kOverhead:
      Overhead();
      return absl::OkStatus();
    case Category::kOther:
    case Category::kInstant:
      return absl::OkStatus();
    case Category::kUnknown:
      return event.name.text == name::kCommParams ? Collective(event) : absl::OkStatus();
    case Category::kCpuOp:
    case Category::kUserAnnotation:
    case Category::kHostOther:
      return HostRow(event, category);
  }
  return absl::OkStatus();
}

absl::Status EventDecoder::HostRow(const RawEvent& event, Category category) {
  NoteHostRow();
  const std::string_view name = event.name.text;
  if (name == name::kCommParams) return Collective(event);
  if (category == Category::kHostOther) return absl::OkStatus();
  if (!step_range_.empty()) {
    if (name == step_range_) return Range(event, HostKind::kStep, -1);
  } else if (const std::optional<int64_t> number = StepNumberOf(name); number.has_value()) {
    return Range(event, HostKind::kStep, *number);
  }
  if (category == Category::kUserAnnotation) return Range(event, HostKind::kRange, -1);
  // Operators tell the phases of training: what autograd runs, and in 2021 also the optimizer's step.
  if (name.starts_with(name::kBackward)) return Range(event, HostKind::kRange, -1, name::kBackward);
  if (name.starts_with(name::kOptimizerStep)) return Range(event, HostKind::kRange, -1);
  return absl::OkStatus();
}

absl::Status EventDecoder::Instant(const RawEvent& event) {
  if (event.name.text != name::kMemory || Classify(event.category) != Category::kInstant) return absl::OkStatus();
  ReadArgs(event);
  if (args_.Int(Arg::kMemoryDeviceType).value_or(0) != kGpuDeviceType) return absl::OkStatus();
  const std::optional<int64_t> time = TimeOf(event.time);
  const std::optional<int64_t> bytes = args_.Int(Arg::kMemoryBytes);
  if (!time.has_value() || !bytes.has_value()) {
    Drop(DropReason::kBadNumber);
    return absl::OkStatus();
  }
  AllocationRecord record;
  record.time_ns = *time;
  record.delta_bytes = *bytes;
  record.process = process_;
  record.device = Narrow(args_.Int(Arg::kMemoryDeviceId)).value_or(0);
  return sink_.Allocation(record);
}

absl::Status EventDecoder::Device(const RawEvent& event, DeviceKind kind) {
  const std::optional<Times> times = UsableTimes(kLongestDeviceNs);
  if (!times.has_value()) return absl::OkStatus();
  if (times->start_ns == 0 && times->duration_ns == 0) {
    Drop(DropReason::kZeroTime);
    return absl::OkStatus();
  }
  ReadArgs(event);
  DeviceRecord record;
  record.kind = kind;
  record.start_ns = times->start_ns;
  record.duration_ns = times->duration_ns;
  record.process = process_;
  record.device = DeviceOf();
  record.stream = StreamOf(event);
  record.name = Name(event.name);
  record.external_id = args_.Unsigned(Arg::kExternalId).value_or(0);
  record.graph_node = args_.Unsigned(Arg::kGraphNodeId).value_or(0);
  record.from_graph = record.graph_node != 0 || args_.Unsigned(Arg::kGraphId).value_or(0) != 0;
  SetCorrelation(record);
  SetCollectiveIds(record);
  if (kind == DeviceKind::kKernel) {
    SetLaunchShape(record);
    if (args_.Has(Arg::kCollective)) record.meta = sink_.InternMeta(CollectiveMetaOf(args_));
  } else {
    SetCopy(event, record);
  }
  return sink_.Device(record);
}

absl::Status EventDecoder::Sync(const RawEvent& event) {
  const std::optional<Times> times = UsableTimes(kLongestHostNs);
  if (!times.has_value()) return absl::OkStatus();
  ReadArgs(event);
  SyncRecord record;
  record.start_ns = times->start_ns;
  record.duration_ns = times->duration_ns;
  record.process = process_;
  record.device = DeviceOf();
  record.stream = StreamOf(event);
  record.kind = SyncKindOf(event.name.text);
  if (record.kind == SyncKind::kUnknown) record.kind = SyncKindOf(args_.Token(Arg::kSyncKind).text);
  SetCorrelation(record);
  return sink_.Sync(record);
}

absl::Status EventDecoder::Api(const RawEvent& event, bool is_driver) {
  NoteHostRow();
  owners_[process_].runtime.Count(pid_number_);
  const std::optional<Times> times = UsableTimes(kLongestHostNs);
  if (!times.has_value()) return absl::OkStatus();
  ReadArgs(event);
  ApiRecord record;
  record.start_ns = times->start_ns;
  record.duration_ns = times->duration_ns;
  record.process = process_;
  record.tid = ParseScaled(event.tid.text, 0).value_or(0);
  record.name = Name(event.name);
  record.kind = ApiKindOf(event.name.text);
  record.is_driver = is_driver;
  record.external_id = args_.Unsigned(Arg::kExternalId).value_or(0);
  SetCorrelation(record);
  ++sink_.context().api_rows;
  return sink_.Api(record);
}

// The name of the row is the collective's ("allreduce", "wait", ...), so that rows which launch nothing can be told.
absl::Status EventDecoder::Collective(const RawEvent& event) {
  const std::optional<Times> times = UsableTimes(kLongestHostNs);
  if (!times.has_value()) return absl::OkStatus();
  ReadArgs(event);
  HostRecord record;
  record.kind = HostKind::kCollective;
  record.start_ns = times->start_ns;
  record.duration_ns = times->duration_ns;
  record.process = process_;
  record.tid = ParseScaled(event.tid.text, 0).value_or(0);
  record.name = Name(args_.Has(Arg::kCollective) ? args_.Token(Arg::kCollective) : event.name);
  record.external_id = args_.Unsigned(Arg::kExternalId).value_or(0);
  record.meta = sink_.InternMeta(CollectiveMetaOf(args_));
  SetCollectiveIds(record);
  return sink_.Host(record);
}

absl::Status EventDecoder::Range(const RawEvent& event, HostKind kind, int64_t step_number, std::string_view label) {
  const std::optional<Times> times = UsableTimes(kLongestHostNs);
  if (!times.has_value()) return absl::OkStatus();
  ReadArgs(event);
  HostRecord record;
  record.kind = kind;
  record.start_ns = times->start_ns;
  record.duration_ns = times->duration_ns;
  record.process = process_;
  record.tid = ParseScaled(event.tid.text, 0).value_or(0);
  record.name = label.empty() ? Name(event.name) : sink_.InternName(label);
  record.external_id = args_.Unsigned(Arg::kExternalId).value_or(0);
  record.step_number = step_number;
  return sink_.Host(record);
}

void EventDecoder::Overhead() {
  const std::optional<Times> times = UsableTimes(kLongestHostNs);
  if (!times.has_value()) return;
  int64_t& sum = sink_.context().overhead_ns;
  if (__builtin_add_overflow(sum, times->duration_ns, &sum)) sum = kMaxAbsTimeNs;
}

Category EventDecoder::Classify(const JsonToken& category) {
  if (category.text != last_category_text_) {
    last_category_text_.assign(category.text);
    last_category_ = CategoryOf(category.text);
  }
  return last_category_;
}

std::optional<EventDecoder::Times> EventDecoder::UsableTimes(int64_t longest_ns) {
  const auto& [start, duration] = stated_;
  if (!start.has_value() || !duration.has_value()) {
    Drop(DropReason::kBadNumber);
  } else if (*duration < 0) {
    Drop(DropReason::kNegativeDuration);
  } else if (*duration > longest_ns) {
    Drop(DropReason::kAbsurdDuration);
  } else if (*start < 0 || *start + *duration > kMaxAbsTimeNs) {
    Drop(DropReason::kOutsideWindow);  // no writer goes below its base
  } else {
    return Times{*start, *duration};
  }
  return std::nullopt;
}

void EventDecoder::NoteHostRow() {
  owners_[process_].host.Count(pid_number_);
  const auto& [start, duration] = stated_;
  if (!start.has_value() || *start < 0) return;
  const int64_t length = duration.value_or(0);
  if (length < 0 || length > kLongestHostNs) return;
  const int64_t end = std::min(*start + length, kMaxAbsTimeNs);
  capture_start_ns_ = has_capture_ ? std::min(capture_start_ns_, *start) : *start;
  capture_end_ns_ = has_capture_ ? std::max(capture_end_ns_, end) : end;
  has_capture_ = true;
}

void EventDecoder::ReadArgs(const RawEvent& event) {
  args_.Clear();
  if (event.args.kind != JsonToken::Kind::kObject) return;
  const Scan scan = JsonScanner(event.args.text).Object([this](const JsonToken& key, const JsonToken& value) {
    if (const std::optional<Arg> arg = ArgOf(key.text); arg.has_value()) args_.Set(*arg, value);
  });
  if (scan != Scan::kOk) Drop(DropReason::kBadString);
}

void EventDecoder::SetLaunchShape(DeviceRecord& record) {
  const std::optional<LaunchShape> shape = ShapeOf(args_.Token(Arg::kGrid), args_.Token(Arg::kBlock));
  if (shape.has_value()) record.shape = sink_.InternShape(*shape);
}

void EventDecoder::SetCopy(const RawEvent& event, DeviceRecord& record) {
  const int64_t bytes = args_.Int(Arg::kBytes).value_or(kUnknownBytes);
  record.bytes = bytes < 0 ? kUnknownBytes : bytes;
  if (record.kind == DeviceKind::kMemset) {
    record.target_memory = MemsetTargetOf(event.name.text);
    return;
  }
  const CopyName copy = CopyNameOf(event.name.text);
  record.copy_kind = copy.kind;
  record.source_memory = copy.source;
  record.target_memory = copy.target;
}

template <typename Record>
void EventDecoder::SetCorrelation(Record& record) const {
  // Profilers count from 1: 0 stands for "none".
  record.correlation = args_.Unsigned(Arg::kCorrelation).value_or(0);
  record.has_correlation = record.correlation != 0;
}

template <typename Record>
void EventDecoder::SetCollectiveIds(Record& record) const {
  const int64_t seq = args_.Int(Arg::kSeq).value_or(kNoSeq);
  record.seq = seq < 0 ? kNoSeq : seq;
  const std::optional<uint64_t> comms_id = args_.Unsigned(Arg::kCommsId);
  record.comms_id = comms_id.value_or(0);
  record.has_comms_id = comms_id.has_value();
}

int32_t EventDecoder::DeviceOf() const {
  if (const auto device = Narrow(args_.Int(Arg::kDevice)); device.has_value()) return *device;
  return Narrow(ParseScaled(pid_number_, 0)).value_or(0);
}

int32_t EventDecoder::StreamOf(const RawEvent& event) const {
  if (const auto stream = Narrow(args_.Int(Arg::kStream)); stream.has_value()) return *stream;
  std::string_view tid = event.tid.text;
  if (tid.starts_with(name::kStreamTid)) tid.remove_prefix(name::kStreamTid.size());
  return Narrow(ParseScaled(tid, 0)).value_or(-1);
}

NameId EventDecoder::Name(const JsonToken& token) {
  if (!token.escaped) return sink_.InternName(token.text);
  bool repaired = false;
  const std::string text = Unescape(token.text, repaired);
  if (repaired) Drop(DropReason::kBadString);
  return sink_.InternName(text);
}

void EventDecoder::Finish() {
  FileContext& context = sink_.context();
  context.capture_start_ns = capture_start_ns_;
  context.capture_end_ns = capture_end_ns_;
  for (const auto& [process, owners] : owners_) {
    context.processes[process].pid = (owners.runtime.size() == 0 ? owners.host : owners.runtime).MostFrequent();
    if (owners.runtime.size() < 2) continue;
    context.diagnostics.push_back(fmt::format(
        "{} processes own runtime calls in one trace: merged from several ranks? Analyse the original files instead",
        owners.runtime.size()));
  }
  labels_.Finish(context);
}

}  // namespace lockstep::kineto
