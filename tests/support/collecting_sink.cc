#include "tests/support/collecting_sink.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace lockstep {

NameId CollectingSink::InternName(std::string_view name) {
  const auto found = name_ids_.find(name);
  if (found != name_ids_.end()) return found->second;
  const auto id = static_cast<NameId>(names.size());
  names.emplace_back(name);
  name_ids_.emplace(names.back(), id);
  return id;
}

ShapeId CollectingSink::InternShape(const LaunchShape& shape) {
  const auto [entry, added] = shape_ids_.try_emplace(shape, static_cast<ShapeId>(shapes.size()));
  if (added) shapes.push_back(shape);
  return entry->second;
}

MetaId CollectingSink::InternMeta(const CollectiveMeta& meta) {
  const auto found = std::find(metas.begin(), metas.end(), meta);
  const auto id = static_cast<MetaId>(found - metas.begin());
  if (found == metas.end()) metas.push_back(meta);
  return id;
}

uint32_t CollectingSink::AddProcess(int64_t pid) {
  auto& processes = context_.processes;
  const auto found =
      std::find_if(processes.begin(), processes.end(), [pid](const ProcessInfo& p) { return p.pid == pid; });
  const auto index = static_cast<uint32_t>(found - processes.begin());
  if (found == processes.end()) {
    ProcessInfo info;
    info.pid = pid;
    processes.push_back(std::move(info));
  }
  return index;
}

absl::Status CollectingSink::Accept() {
  if (fail_after_ >= 0 && records_ >= fail_after_) return failure_;
  ++records_;
  return absl::OkStatus();
}

absl::Status CollectingSink::Device(const DeviceRecord& record) {
  devices.push_back(record);
  return Accept();
}

absl::Status CollectingSink::Api(const ApiRecord& record) {
  apis.push_back(record);
  return Accept();
}

absl::Status CollectingSink::Host(const HostRecord& record) {
  hosts.push_back(record);
  return Accept();
}

absl::Status CollectingSink::Sync(const SyncRecord& record) {
  syncs.push_back(record);
  return Accept();
}

absl::Status CollectingSink::Allocation(const AllocationRecord& record) {
  allocations.push_back(record);
  return Accept();
}

void CollectingSink::Drop(DropReason reason, int64_t place) {
  context_.drops.Add(reason);
  drops.emplace_back(reason, place);
}

std::string_view CollectingSink::NameOf(NameId id) const {
  return id < names.size() ? std::string_view(names[id]) : std::string_view();
}

int64_t CollectingSink::CountOf(DeviceKind kind) const {
  return std::count_if(devices.begin(), devices.end(), [kind](const DeviceRecord& r) { return r.kind == kind; });
}

int64_t CollectingSink::CountOf(HostKind kind) const {
  return std::count_if(hosts.begin(), hosts.end(), [kind](const HostRecord& r) { return r.kind == kind; });
}

void CollectingSink::FailAfter(int64_t fail_after, absl::Status status) {
  fail_after_ = fail_after;
  failure_ = std::move(status);
}

namespace {

std::string Text(const CollectingSink& sink, MetaId id) {
  if (id >= sink.metas.size()) return "-";
  const CollectiveMeta& m = sink.metas[id];
  return fmt::format("[{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}]", m.group_name, m.group_desc, fmt::join(m.members, " "),
                     m.members_elided, m.group_size, m.comm_hash, static_cast<int>(m.op), static_cast<int>(m.dtype),
                     m.bytes, m.peer, m.root);
}

std::string Text(const CollectingSink& sink, ShapeId id, bool) {
  if (id >= sink.shapes.size()) return "-";
  return fmt::format("{}x{}", fmt::join(sink.shapes[id].grid, ","), fmt::join(sink.shapes[id].block, ","));
}

std::string Text(const CollectingSink& sink, const DeviceRecord& r) {
  return fmt::format("device {} {} {} c{}/{} e{} g{}/{} i{}/{} q{} b{} p{} d{} s{} '{}' '{}' {} {} {}{}{}\n",
                     static_cast<int>(r.kind), r.start_ns, r.duration_ns, r.correlation, r.has_correlation,
                     r.external_id, r.graph_node, r.from_graph, r.comms_id, r.has_comms_id, r.seq, r.bytes, r.process,
                     r.device, r.stream, sink.NameOf(r.name), sink.NameOf(r.mangled), Text(sink, r.shape, true),
                     Text(sink, r.meta), static_cast<int>(r.copy_kind), static_cast<int>(r.source_memory),
                     static_cast<int>(r.target_memory));
}

}  // namespace

std::string CollectingSink::Dump() const {
  std::string out;
  for (const DeviceRecord& r : devices) out += Text(*this, r);
  for (const ApiRecord& r : apis) {
    out += fmt::format("api {} {} {} c{}/{} e{} t{} p{} '{}' {}\n", static_cast<int>(r.kind), r.start_ns, r.duration_ns,
                       r.correlation, r.has_correlation, r.external_id, r.tid, r.process, NameOf(r.name), r.is_driver);
  }
  for (const HostRecord& r : hosts) {
    out += fmt::format("host {} {} {} t{} e{} i{}/{} q{} n{} p{} '{}' '{}' {}\n", static_cast<int>(r.kind), r.start_ns,
                       r.duration_ns, r.tid, r.external_id, r.comms_id, r.has_comms_id, r.seq, r.step_number, r.process,
                       NameOf(r.name), NameOf(r.domain), Text(*this, r.meta));
  }
  for (const SyncRecord& r : syncs) {
    out += fmt::format("sync {} {} {} c{}/{} p{} d{} s{}\n", static_cast<int>(r.kind), r.start_ns, r.duration_ns,
                       r.correlation, r.has_correlation, r.process, r.device, r.stream);
  }
  for (const AllocationRecord& r : allocations) {
    out += fmt::format("allocation {} {} p{} d{}\n", r.time_ns, r.delta_bytes, r.process, r.device);
  }
  return out;
}

}  // namespace lockstep
