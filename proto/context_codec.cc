#include "proto/context_codec.h"

#include <algorithm>
#include <limits>

#include "analysis/base/utf8.h"
#include "proto/column_codec.h"
#include "proto/column_reader.h"

namespace lockstep {
namespace {

using codec::CheckRange;
using codec::kTimeLimits;
using codec::Limits;

constexpr int32_t kMaxInt32 = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxCount = int64_t{1} << 60;
constexpr size_t kMaxContextGroups = 1 << 16;
constexpr size_t kMaxMembers = 1 << 20;
constexpr Limits kCount = {0, kMaxCount};

// Plain numbers of the context that go across as they are.
struct ContextNumber {
  std::string_view name;
  int64_t SourceContext::*field;
  int64_t (v1::SourceContext::*get)() const;
  void (v1::SourceContext::*set)(int64_t);
  Limits limits;
};
#define LOCKSTEP_CONTEXT_NUMBER(field, limits) \
  ContextNumber { #field, &SourceContext::field, &v1::SourceContext::field, &v1::SourceContext::set_##field, limits }
constexpr ContextNumber kContextNumbers[] = {
    LOCKSTEP_CONTEXT_NUMBER(base_unix_ns, kTimeLimits),
    LOCKSTEP_CONTEXT_NUMBER(capture_start_ns, kTimeLimits),
    LOCKSTEP_CONTEXT_NUMBER(capture_end_ns, kTimeLimits),
    LOCKSTEP_CONTEXT_NUMBER(first_start_ns, kTimeLimits),
    LOCKSTEP_CONTEXT_NUMBER(last_end_ns, kTimeLimits),
    LOCKSTEP_CONTEXT_NUMBER(kernels, kCount),
    LOCKSTEP_CONTEXT_NUMBER(collectives, kCount),
    LOCKSTEP_CONTEXT_NUMBER(memcpys, kCount),
    LOCKSTEP_CONTEXT_NUMBER(memsets, kCount),
    LOCKSTEP_CONTEXT_NUMBER(graph_spans, kCount),
    LOCKSTEP_CONTEXT_NUMBER(graph_kernels, kCount),
    LOCKSTEP_CONTEXT_NUMBER(kernel_time_ns, (Limits{0, codec::kAnyMax})),
    LOCKSTEP_CONTEXT_NUMBER(api_rows, kCount),
    LOCKSTEP_CONTEXT_NUMBER(opaque_graph_launches, kCount),
    LOCKSTEP_CONTEXT_NUMBER(overhead_ns, (Limits{0, codec::kAnyMax})),
    LOCKSTEP_CONTEXT_NUMBER(slice_ns, kCount),
    LOCKSTEP_CONTEXT_NUMBER(bucket_ns, kCount),
};
#undef LOCKSTEP_CONTEXT_NUMBER

void PutNamedValues(const std::map<std::string, std::string>& values,
                    google::protobuf::RepeatedPtrField<v1::NamedValue>* out) {
  for (const auto& [name, value] : values) {
    v1::NamedValue* entry = out->Add();
    entry->set_name(RepairUtf8(name));
    entry->set_value(RepairUtf8(value));
  }
}

std::map<std::string, std::string> GetNamedValues(const google::protobuf::RepeatedPtrField<v1::NamedValue>& in) {
  std::map<std::string, std::string> values;
  for (const v1::NamedValue& entry : in) values.emplace(entry.name(), entry.value());
  return values;
}

void PutDevice(const DeviceInfo& device, v1::DeviceInfo* out) {
  out->set_ordinal(device.ordinal);
  if (device.pid >= 0) out->set_pid(device.pid);
  out->set_name(RepairUtf8(device.name));
  out->set_uuid(RepairUtf8(device.uuid));
  out->set_pci_bus(RepairUtf8(device.pci_bus));
  if (device.sm_count >= 0) out->set_sm_count(device.sm_count);
  if (device.memory_bandwidth_bytes_per_s >= 0) {
    out->set_memory_bandwidth_bytes_per_s(device.memory_bandwidth_bytes_per_s);
  }
}

DeviceInfo GetDevice(const v1::DeviceInfo& in) {
  DeviceInfo device;
  device.ordinal = in.ordinal();
  device.pid = in.has_pid() ? in.pid() : -1;
  device.name = in.name();
  device.uuid = in.uuid();
  device.pci_bus = in.pci_bus();
  device.sm_count = in.has_sm_count() ? in.sm_count() : -1;
  device.memory_bandwidth_bytes_per_s = in.has_memory_bandwidth_bytes_per_s() ? in.memory_bandwidth_bytes_per_s() : -1;
  return device;
}

absl::Status GetClaims(const v1::SourceContext& in, SourceContext* out) {
  for (const v1::RankClaim& entry : in.claims()) {
    RankClaim claim;
    claim.rank = entry.rank();
    LOCKSTEP_RETURN_IF_ERROR(CheckRange("claims.rank", claim.rank, {0, kMaxInt32}));
    LOCKSTEP_RETURN_IF_ERROR(codec::GetEnum("claims.source", entry.source(), RankSource::kAssumed, &claim.source));
    out->claims.push_back(claim);
  }
  if (in.has_world_size()) {
    LOCKSTEP_RETURN_IF_ERROR(CheckRange("world_size", in.world_size(), {1, kMaxInt32}));
    out->world_size = in.world_size();
  }
  LOCKSTEP_RETURN_IF_ERROR(codec::GetEnum("step_source", in.step_source(), StepSource::kEngine, &out->step_source));
  return codec::GetEnum("host_source", in.host_source(), HostSource::kUnknown, &out->host_source);
}

absl::Status GetIdentity(const v1::SourceContext& in, SourceContext* out) {
  out->source_id = Hash128::FromBytes(in.source_id());
  if (in.source_id().size() != 16 || out->source_id == Hash128()) {
    return absl::InvalidArgumentError(
        fmt::format("source_id: {} bytes, must be 16 that are not all zero", in.source_id().size()));
  }
  out->path = in.path();
  out->format = in.format();
  out->tool_version = in.tool_version();
  out->schema_version = in.schema_version();
  out->host = in.host();
  out->session = in.session();
  out->pid = in.has_pid() ? in.pid() : -1;
  out->device = in.has_device() ? in.device() : -1;
  return GetClaims(in, out);
}

absl::Status GetContextNumbers(const v1::SourceContext& in, SourceContext* out) {
  for (const ContextNumber& number : kContextNumbers) {
    const int64_t value = (in.*number.get)();
    LOCKSTEP_RETURN_IF_ERROR(CheckRange(number.name, value, number.limits));
    out->*number.field = value;
  }
  out->processes_in_file = in.processes_in_file();
  out->classifier_version = in.classifier_version();
  out->condense_version = in.condense_version();
  return CheckRange("processes_in_file", out->processes_in_file, {0, kMaxInt32});
}

}  // namespace

void ToProto(const GroupConfig& group, v1::GroupConfig* out) {
  out->set_name(RepairUtf8(group.name));
  out->set_desc(RepairUtf8(group.desc));
  const std::vector<int64_t> members(group.members.begin(), group.members.end());
  codec::PutDeltas(members, out->mutable_members());
  if (group.size >= 0) out->set_size(group.size);
  out->set_comm_hash(group.comm_hash);
  if (group.own_rank >= 0) out->set_own_rank(group.own_rank);
}

absl::StatusOr<GroupConfig> FromProto(const v1::GroupConfig& in) {
  GroupConfig group;
  const auto count = static_cast<size_t>(in.members_size());
  LOCKSTEP_RETURN_IF_ERROR(CheckRange("group members", in.members_size(), {0, kMaxMembers}));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<int64_t> members,
                            codec::GetColumn("group members", in.members(), count, 0, {0, kMaxInt32}));
  group.members.reserve(count);
  for (const int64_t member : members) group.members.push_back(static_cast<int32_t>(member));
  if (!std::is_sorted(group.members.begin(), group.members.end())) {
    return absl::InvalidArgumentError(fmt::format("group members of '{}': not ascending", in.name()));
  }
  group.name = in.name();
  group.desc = in.desc();
  group.size = in.has_size() ? in.size() : -1;
  group.comm_hash = in.comm_hash();
  group.own_rank = in.has_own_rank() ? in.own_rank() : -1;
  LOCKSTEP_RETURN_IF_ERROR(CheckRange("group size", group.size, {-1, kMaxInt32}));
  LOCKSTEP_RETURN_IF_ERROR(CheckRange("group own_rank", group.own_rank, {-1, kMaxInt32}));
  return group;
}

void ToProto(const DropCounters& drops, google::protobuf::RepeatedPtrField<v1::DropCount>* out) {
  for (size_t i = 0; i < kDropReasonCount; ++i) {
    if (drops.count[i] <= 0) continue;
    v1::DropCount* entry = out->Add();
    entry->set_reason(std::string(kDropReasonNames[i]));
    entry->set_count(drops.count[i]);
  }
}

absl::StatusOr<DropCounters> FromProto(const google::protobuf::RepeatedPtrField<v1::DropCount>& in) {
  DropCounters drops;
  for (const v1::DropCount& entry : in) {
    const auto* const known = std::find(kDropReasonNames.begin(), kDropReasonNames.end(), entry.reason());
    if (known == kDropReasonNames.end()) {
      return absl::InvalidArgumentError(
          fmt::format("drops: reason '{}' is not in this version's catalogue; update the aggregator", entry.reason()));
    }
    int64_t& count = drops.count[static_cast<size_t>(known - kDropReasonNames.begin())];
    LOCKSTEP_RETURN_IF_ERROR(CheckRange("drops.count", entry.count(), {0, kMaxCount - count}));
    count += entry.count();
  }
  return drops;
}

void ToProto(const FileNote& note, v1::FileNote* out) {
  out->set_path(RepairUtf8(note.path));
  out->set_format(RepairUtf8(note.format));
  out->set_status(RepairUtf8(note.status));
  out->set_reason(RepairUtf8(note.reason));
  out->set_offset(note.offset);
  ToProto(note.drops, out->mutable_drops());
  out->set_host(RepairUtf8(note.host));
}

absl::StatusOr<FileNote> FromProto(const v1::FileNote& in) {
  static constexpr std::string_view kStatuses[] = {"used", "partial", "skipped", "refused"};
  if (std::find(std::begin(kStatuses), std::end(kStatuses), in.status()) == std::end(kStatuses)) {
    return absl::InvalidArgumentError(
        fmt::format("file note of {}: status '{}' is none of used, partial, skipped, refused", in.path(), in.status()));
  }
  FileNote note;
  note.path = in.path();
  note.format = in.format();
  note.status = in.status();
  note.reason = in.reason();
  note.offset = in.offset();
  note.host = in.host();
  LOCKSTEP_RETURN_IF_ERROR(CheckRange("file note offset", note.offset, {-1, codec::kAnyMax}));
  LOCKSTEP_ASSIGN_OR_RETURN(note.drops, FromProto(in.drops()));
  return note;
}

void ToProto(const SourceContext& context, v1::SourceContext* out) {
  out->set_source_id(context.source_id.Bytes());
  out->set_path(RepairUtf8(context.path));
  out->set_format(RepairUtf8(context.format));
  out->set_tool_version(RepairUtf8(context.tool_version));
  out->set_schema_version(RepairUtf8(context.schema_version));
  if (context.pid >= 0) out->set_pid(context.pid);
  if (context.device >= 0) out->set_device(context.device);
  for (const RankClaim& claim : context.claims) {
    v1::RankClaim* entry = out->add_claims();
    entry->set_rank(claim.rank);
    entry->set_source(static_cast<uint32_t>(claim.source));
  }
  if (context.world_size.has_value()) out->set_world_size(*context.world_size);
  out->set_host(RepairUtf8(context.host));
  out->set_host_source(static_cast<uint32_t>(context.host_source));
  out->set_step_source(static_cast<uint32_t>(context.step_source));
  out->set_session(RepairUtf8(context.session));
  PutDevice(context.gpu, out->mutable_gpu());
  PutNamedValues(context.versions, out->mutable_versions());
  PutNamedValues(context.options, out->mutable_options());
  for (const GroupConfig& group : context.groups) ToProto(group, out->add_groups());
  for (const std::string& line : context.diagnostics) out->add_diagnostics(RepairUtf8(line));
  for (const ContextNumber& number : kContextNumbers) (out->*number.set)(context.*number.field);
  out->set_processes_in_file(context.processes_in_file);
  out->set_classifier_version(context.classifier_version);
  out->set_condense_version(context.condense_version);
}

absl::StatusOr<SourceContext> FromProto(const v1::SourceContext& in) {
  SourceContext context;
  LOCKSTEP_RETURN_IF_ERROR(GetIdentity(in, &context));
  LOCKSTEP_RETURN_IF_ERROR(GetContextNumbers(in, &context));
  context.gpu = GetDevice(in.gpu());
  context.versions = GetNamedValues(in.versions());
  context.options = GetNamedValues(in.options());
  LOCKSTEP_RETURN_IF_ERROR(CheckRange("groups", in.groups_size(), {0, kMaxContextGroups}));
  for (const v1::GroupConfig& entry : in.groups()) {
    LOCKSTEP_ASSIGN_OR_RETURN(GroupConfig group, FromProto(entry));
    context.groups.push_back(std::move(group));
  }
  context.diagnostics.assign(in.diagnostics().begin(), in.diagnostics().end());
  return context;
}

}  // namespace lockstep
