#include "analysis/condense/batch_cutter.h"

#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"

namespace lockstep {
namespace {

// Rough sizes on the wire; what matters is that they depend on content only.
constexpr int64_t kRowBytes = 24;
constexpr int64_t kStepBytes = 160;
constexpr int64_t kNameOverhead = 24;

int64_t WireSizeOf(const Sketch& sketch) {
  if (sketch.empty()) return 2;
  return 48 + 4 * static_cast<int64_t>(sketch.entries());
}

constexpr int64_t kSummaryBytes = 48;

}  // namespace

BatchCutter::BatchCutter(const FileInterner& names, std::function<absl::Status(Batch)> emit)
    : names_(names), emit_(std::move(emit)) {}

uint32_t BatchCutter::Name(NameId id) {
  if (id == kNoId) return kNoId;
  const auto [found, is_new] = ids_.emplace(id, static_cast<uint32_t>(ids_.size()));
  if (is_new) {
    NameDef name;
    name.id = found->second;
    name.text = names_.NameOf(id);
    name.hash = HashOf(name.text);
    bytes_ += kNameOverhead + static_cast<int64_t>(name.text.size());
    batch_.names.push_back(std::move(name));
  }
  return found->second;
}

absl::Status BatchCutter::Grow(int64_t bytes) {
  bytes_ += bytes;
  const bool full = batch_.instances.size() >= kMaxInstances || batch_.steps.size() >= kMaxSteps || bytes_ >= kMaxBytes;
  return full ? Cut() : absl::OkStatus();
}

absl::Status BatchCutter::Cut() {
  const int64_t next = batch_.sequence + 1;
  LOCKSTEP_RETURN_IF_ERROR(emit_(std::exchange(batch_, Batch{})));
  batch_.sequence = next;
  bytes_ = 0;
  return absl::OkStatus();
}

absl::Status BatchCutter::Add(InstanceRow row) {
  const auto extra = static_cast<int64_t>(row.cover.size() + row.segment.tiles.size());
  batch_.instances.push_back(std::move(row));
  return Grow(kRowBytes + 6 * extra);
}
absl::Status BatchCutter::Add(StepRow row) {
  batch_.steps.push_back(std::move(row));
  return Grow(kStepBytes);
}
absl::Status BatchCutter::Add(const BucketRow& row) {
  batch_.buckets.push_back(row);
  return Grow(kRowBytes);
}
absl::Status BatchCutter::Add(KernelRow row) {
  int64_t bytes = kStepBytes + static_cast<int64_t>(row.places.size());
  for (const auto& [index, sketch] : row.slices) bytes += 8 + WireSizeOf(sketch);
  batch_.kernels.push_back(std::move(row));
  return Grow(bytes);
}
absl::Status BatchCutter::Add(const StepKernelRow& row) {
  batch_.step_kernels.push_back(row);
  return Grow(kRowBytes);
}
absl::Status BatchCutter::Add(MemoryRow row) {
  const int64_t bytes = WireSizeOf(row.duration) + WireSizeOf(row.bytes) + WireSizeOf(row.bandwidth_bytes_per_s);
  batch_.memory.push_back(std::move(row));
  return Grow(bytes);
}
absl::Status BatchCutter::Add(ApiRow row) {
  const int64_t bytes = WireSizeOf(row.duration) + WireSizeOf(row.launch_delay);
  batch_.apis.push_back(std::move(row));
  return Grow(bytes);
}
absl::Status BatchCutter::Add(RangeRow row) {
  const int64_t bytes = kRowBytes + WireSizeOf(row.duration);
  batch_.ranges.push_back(std::move(row));
  return Grow(bytes);
}
absl::Status BatchCutter::Add(LaunchRow row) {
  batch_.launches.push_back(std::move(row));
  return Grow(kRowBytes + 4 * kSummaryBytes);
}

void BatchCutter::Define(LocalCommunicator communicator) {
  bytes_ += kRowBytes + 2 * static_cast<int64_t>(communicator.members.size());
  batch_.communicators.push_back(std::move(communicator));
}

absl::Status BatchCutter::Finish(SourceSummary summary) {
  batch_.summary = std::move(summary);
  batch_.total_batches = batch_.sequence + 1;
  return emit_(std::move(batch_));
}

}  // namespace lockstep
