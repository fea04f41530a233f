// The pipeline's RecordSink: interns, checks and sorts what a reader emits. Memory is bounded: records go to external
// sorters, only steps, names and per-name totals are held.
//
// Order of use: the reader calls the RecordSink methods; then Finish() once; then the host events and device records
// are pulled in order. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent/pipeline/external_sorter.h"
#include "agent/pipeline/host_event.h"
#include "agent/pipeline/host_totals.h"
#include "agent/readers/record_sink.h"
#include "analysis/condense/activity.h"
#include "analysis/condense/file_interner.h"
#include "analysis/condense/step_table.h"

namespace lockstep {

struct CollectorOptions {
  std::string tmp_dir;
  int64_t memory_bytes = int64_t{48} << 20;
  // Leave the host totals to whoever walks the host events, which then are all of them: see Count.
  bool totals_later = false;
};

class RecordCollector : public RecordSink {
 public:
  static constexpr size_t kMaxSteps = 32'768;  // of all processes; later ones are counted and mark no step
  static constexpr size_t kMaxSources = 256;
  static constexpr size_t kMaxExternalIds = 262'144;

  explicit RecordCollector(const CollectorOptions& options);

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

  // Sorts, orders the steps (numbering those without a number by their order) and expands elided member lists.
  absl::Status Finish();

  [[nodiscard]] FileInterner& interner() { return interner_; }
  [[nodiscard]] ExternalSorter<HostEvent, HostEventOrder>& host_events() { return host_events_; }
  [[nodiscard]] ExternalSorter<DeviceRecord, DeviceByCorrelation>& devices() { return devices_; }
  [[nodiscard]] ExternalSorter<ActivityRecord, ActivityOrder>& activities() { return activities_; }
  [[nodiscard]] const std::vector<std::vector<StepRange>>& steps() const { return steps_; }  // by process
  [[nodiscard]] StepSource step_source(uint32_t process) const { return step_sources_[process]; }
  // Steps of a process that shows none, found by the rhythm of its device; `by_device`: on the axis of the device's
  // activities, because the launches are not in the trace.
  void SetDetectedSteps(uint32_t process, std::vector<StepRange> steps, bool by_device);
  [[nodiscard]] bool steps_by_device(uint32_t process) const { return steps_by_device_[process]; }
  [[nodiscard]] std::vector<HostTotals>& host_totals() { return host_totals_; }  // by process
  // Adds a call or range to the totals of its process.
  void Count(const HostEvent& event);
  // Sources in order of first sight: (process, device).
  [[nodiscard]] const std::vector<std::pair<uint32_t, int32_t>>& sources() const { return source_keys_; }
  [[nodiscard]] int64_t kernels_of(size_t source) const { return kernels_[source]; }
  // kNoId when there are too many.
  uint32_t SourceIndex(uint32_t process, int32_t device);
  [[nodiscard]] MetaId MetaOfExternalId(uint64_t external_id) const;
  // Span of host-side records on the file's axis; first > last when there are none.
  [[nodiscard]] int64_t host_first_ns() const { return host_first_ns_; }
  [[nodiscard]] int64_t host_last_ns() const { return host_last_ns_; }
  [[nodiscard]] int64_t device_records() const { return devices_.count(); }

 private:
  void SeeHostTime(int64_t start_ns, int64_t duration_ns);
  void AddStep(const HostRecord& record, std::vector<StepRange>& steps);
  absl::Status AddRange(const HostRecord& record);
  void ChooseSteps();
  void OrderSteps();
  void ExpandElidedGroups();

  bool totals_later_;
  FileContext context_;
  FileInterner interner_;
  ExternalSorter<HostEvent, HostEventOrder> host_events_;
  ExternalSorter<DeviceRecord, DeviceByCorrelation> devices_;
  ExternalSorter<ActivityRecord, ActivityOrder> activities_;
  std::unordered_map<int64_t, uint32_t> process_index_;
  std::vector<std::vector<StepRange>> steps_;
  std::vector<std::vector<StepRange>> engine_steps_;  // passes of a serving engine
  std::vector<StepSource> step_sources_;
  std::vector<bool> steps_by_device_;
  size_t step_count_ = 0;
  std::vector<HostTotals> host_totals_;
  std::vector<std::pair<uint32_t, int32_t>> source_keys_;
  std::vector<int64_t> kernels_;  // by source
  std::map<std::pair<uint32_t, int32_t>, uint32_t> source_index_;
  std::unordered_map<uint64_t, MetaId> external_ids_;
  int64_t host_first_ns_ = INT64_MAX;
  int64_t host_last_ns_ = INT64_MIN;
};

}  // namespace lockstep
