// A RecordSink that keeps everything in vectors, for tests of readers. Names are interned without bound and kept as the
// reader gave them (no UTF-8 repair). Thread rule: one thread.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/readers/record_sink.h"

namespace lockstep {

class CollectingSink : public RecordSink {
 public:
  NameId InternName(std::string_view name) override;
  ShapeId InternShape(const LaunchShape& shape) override;
  MetaId InternMeta(const CollectiveMeta& meta) override;
  uint32_t AddProcess(int64_t pid) override;
  absl::Status Device(const DeviceRecord& record) override;
  absl::Status Api(const ApiRecord& record) override;
  absl::Status Host(const HostRecord& record) override;
  absl::Status Sync(const SyncRecord& record) override;
  absl::Status Allocation(const AllocationRecord& record) override;
  void Drop(DropReason reason, int64_t place) override;
  FileContext& context() override { return context_; }

  // "" for kNoId.
  [[nodiscard]] std::string_view NameOf(NameId id) const;
  [[nodiscard]] int64_t CountOf(DropReason reason) const { return context_.drops.Of(reason); }
  [[nodiscard]] int64_t CountOf(DeviceKind kind) const;
  [[nodiscard]] int64_t CountOf(HostKind kind) const;

  // Every record as text, one a line, in order of arrival, with names and metadata spelled out: equal dumps mean equal
  // readings.
  [[nodiscard]] std::string Dump() const;

  // Record number `fail_after` (counting all kinds from 0) and later ones are answered with this status. For tests of
  // how a reader passes a sink's error on.
  void FailAfter(int64_t fail_after, absl::Status status);

  std::vector<DeviceRecord> devices;
  std::vector<ApiRecord> apis;
  std::vector<HostRecord> hosts;
  std::vector<SyncRecord> syncs;
  std::vector<AllocationRecord> allocations;
  std::vector<std::string> names;
  std::vector<LaunchShape> shapes;
  std::vector<CollectiveMeta> metas;
  std::vector<std::pair<DropReason, int64_t>> drops;  // in order, with their places

 private:
  absl::Status Accept();

  FileContext context_;
  std::map<std::string, NameId, std::less<>> name_ids_;
  std::map<LaunchShape, ShapeId> shape_ids_;
  int64_t records_ = 0;
  int64_t fail_after_ = -1;
  absl::Status failure_;
};

}  // namespace lockstep
