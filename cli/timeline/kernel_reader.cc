#include "cli/timeline/kernel_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/condense/activity.h"
#include "analysis/condense/file_interner.h"
#include "analysis/condense/gap.h"
#include "analysis/condense/step_table.h"
#include "analysis/condense/stream_idle.h"
#include "platform/executor.h"
#include "platform/mutex.h"

namespace lockstep {
namespace {

using perfetto::GapCause;
using perfetto::SliceEvent;
using perfetto::SliceKind;

using WantedSources = std::map<Hash128, size_t>;  // rank indices

std::string_view DirectionOf(CopyKind kind) {
  switch (kind) {
    case CopyKind::kHostToDevice:
    case CopyKind::kHostToArray:
      return "copy host to device";
    case CopyKind::kDeviceToHost:
    case CopyKind::kArrayToHost:
      return "copy device to host";
    case CopyKind::kPeerToPeer:
      return "copy to a peer";
    case CopyKind::kDeviceToDevice:
    case CopyKind::kArrayToArray:
    case CopyKind::kArrayToDevice:
    case CopyKind::kDeviceToArray:
      return "copy on the device";
    default:
      return "copy";
  }
}

// The activities of one file into one sorter.
class KernelConsumer : public ActivityConsumer {
 public:
  KernelConsumer(const RunData& run, const RunEvents& events, const TimelineOptions& asked, const WantedSources& wanted,
                 NameTable& names, EventSorter<SliceEvent>& sorter)
      : run_(run), events_(events), asked_(asked), wanted_(wanted), names_(names), sorter_(sorter) {}

  absl::Status BeginSource(const SourceContext& source, const FileInterner& names,
                           const std::vector<StepRange>& steps) override {
    file_names_ = &names;
    steps_ = &steps;
    ids_.clear();
    communicates_.clear();
    idle_.emplace();
    busy_until_ns_.reset();
    ordinal_ = 0;
    const auto found = wanted_.find(source.source_id);
    rank_.reset();
    if (found != wanted_.end()) rank_ = found->second;
    if (rank_) rows_ = &run_.sources[events_.ranks.ranks[*rank_].source].steps;
    return absl::OkStatus();
  }

  absl::Status Consume(const ActivityRecord& record) override {
    if (!rank_ || record.type == ActivityType::kAllocation) return absl::OkStatus();
    if (record.type == ActivityType::kSync) {
      idle_->Sync(record);
      return absl::OkStatus();
    }
    if (IsOffDevice(record)) return absl::OkStatus();
    LOCKSTEP_RETURN_IF_ERROR(AddGap(record));
    if (record.kind == DeviceKind::kKernel && Communicates(record.name)) return absl::OkStatus();
    return AddActivity(record);
  }

  [[nodiscard]] const perfetto::LengthCounts& lengths() const { return lengths_; }
  [[nodiscard]] int64_t gaps() const { return gaps_; }

 private:
  int64_t Aligned(int64_t local_ns) const {
    return events_.match.clock.Align(static_cast<int32_t>(*rank_), LocalTime{local_ns}).ns;
  }

  bool Communicates(NameId name) {
    if (name == kNoId) return false;
    if (name >= communicates_.size()) communicates_.resize(name + size_t{1});
    std::optional<bool>& known = communicates_[name];
    if (!known) known = file_names_->ClassOf(name).category == Category::kCommunication;
    return *known;
  }

  // By the launch, as the trace tells; else by the device window in which it starts.
  int64_t StepOf(const ActivityRecord& record) const {
    if (record.step >= 0 && static_cast<size_t>(record.step) < steps_->size()) {
      return (*steps_)[static_cast<size_t>(record.step)].number;
    }
    if (record.step != kNoLaunchRow) return kNoStep;
    const auto after = std::upper_bound(rows_->begin(), rows_->end(), record.start_ns,
                                        [](int64_t time, const StepRow& row) { return time < row.window_start_ns; });
    if (after == rows_->begin() || record.start_ns >= std::prev(after)->window_end_ns) return kNoStep;
    return std::prev(after)->step;
  }

  SliceEvent EventAt(int64_t start_ns, int64_t end_ns) {
    SliceEvent event;
    event.start_ns = Aligned(start_ns);
    event.duration_ns = std::max<int64_t>(0, Aligned(end_ns) - event.start_ns);
    event.rank = events_.places[*rank_];
    event.ordinal = ordinal_++;
    return event;
  }

  // As the condenser tells gaps (analysis/condense): where nothing runs between two activities.
  absl::Status AddGap(const ActivityRecord& record) {
    const bool waited = idle_->Start(record);
    const std::optional<int64_t> since_ns = busy_until_ns_;
    busy_until_ns_ = std::max(since_ns.value_or(INT64_MIN), record.end_ns());
    if (!since_ns || record.start_ns <= *since_ns) return absl::OkStatus();
    const Gap gap = ClassifyGap(*since_ns, record.start_ns, record.launch_end_ns, waited);
    LOCKSTEP_RETURN_IF_ERROR(AddPart(gap.begin_ns, gap.host_end_ns, GapCause::kHost, record));
    if (gap.rest == GapRest::kNone) return absl::OkStatus();
    const GapCause cause = gap.rest == GapRest::kLaunch       ? GapCause::kLaunch
                           : gap.rest == GapRest::kDependency ? GapCause::kDependency
                                                              : GapCause::kOther;
    return AddPart(gap.host_end_ns, gap.end_ns, cause, record);
  }

  // Less than a launch takes is no gap that anyone could do something about.
  absl::Status AddPart(int64_t from_ns, int64_t to_ns, GapCause cause, const ActivityRecord& before) {
    constexpr int64_t kLeastGapNs = 10'000;
    if (to_ns - from_ns < kLeastGapNs) return absl::OkStatus();
    SliceEvent event = EventAt(from_ns, to_ns);
    event.step = StepOf(before);
    event.name = static_cast<uint32_t>(cause);
    event.kind = SliceKind::kGap;
    if (!events_.Selects(asked_, event.start_ns, event.start_ns + event.duration_ns, event.step)) {
      return absl::OkStatus();
    }
    ++gaps_;
    return sorter_.Add(event);
  }

  absl::Status AddActivity(const ActivityRecord& record) {
    SliceEvent event = EventAt(record.start_ns, record.end_ns());
    event.step = StepOf(record);
    if (!events_.Selects(asked_, event.start_ns, event.start_ns + event.duration_ns, event.step)) {
      return absl::OkStatus();
    }
    event.bytes = record.bytes;
    event.stream = record.stream;
    Describe(record, event);
    lengths_.Add(event.duration_ns);
    return sorter_.Add(event);
  }

  void Describe(const ActivityRecord& record, SliceEvent& event) {
    switch (record.kind) {
      case DeviceKind::kKernel:
        event.kind = SliceKind::kKernel;
        event.name = NameOf(record.name);
        return;
      case DeviceKind::kMemcpy:
        event.kind = SliceKind::kCopy;
        event.name = names_.Id(DirectionOf(record.copy_kind));
        return;
      case DeviceKind::kMemset:
        event.kind = SliceKind::kMemset;
        event.name = names_.Id("memset");
        return;
      case DeviceKind::kGraphSpan:
        event.kind = SliceKind::kGraph;
        event.name = names_.Id("CUDA graph");
        return;
    }
  }

  uint32_t NameOf(NameId name) {
    if (name == kNoId) return names_.Id("");
    if (name >= ids_.size()) ids_.resize(name + size_t{1}, kNoId);
    if (ids_[name] == kNoId) ids_[name] = names_.Id(file_names_->NameOf(name));
    return ids_[name];
  }

  const RunData& run_;
  const RunEvents& events_;
  const TimelineOptions& asked_;
  const WantedSources& wanted_;
  NameTable& names_;
  EventSorter<SliceEvent>& sorter_;
  // Of the source.
  const FileInterner* file_names_ = nullptr;
  const std::vector<StepRange>* steps_ = nullptr;
  const std::vector<StepRow>* rows_ = nullptr;
  std::optional<size_t> rank_;
  std::vector<uint32_t> ids_;  // by name of the file
  std::vector<std::optional<bool>> communicates_;
  std::optional<StreamIdle> idle_;
  std::optional<int64_t> busy_until_ns_;
  uint32_t ordinal_ = 0;
  perfetto::LengthCounts lengths_;
  int64_t gaps_ = 0;
};

// The work on the files, shared by the threads.
class KernelJob {
 public:
  KernelJob(const RunData& run, const RunEvents& events, const TimelineOptions& asked,
            const std::vector<size_t>& wanted, const KernelReaderOptions& options, NameTable& names,
            const std::stop_token& stop)
      : run_(run),
        events_(events),
        asked_(asked),
        options_(options),
        names_(names),
        stop_(stop),
        jobs_(options.jobs == 0 ? CpuCount() : options.jobs),
        pool_(options.condense.tmp_dir, options.memory_bytes / 2 / static_cast<int64_t>(jobs_)) {
    std::map<std::string, bool> paths;
    for (const size_t rank_index : wanted) {
      const SourceContext& context = run.sources[events.ranks.ranks[rank_index].source].context;
      wanted_.emplace(context.source_id, rank_index);
      paths.emplace(context.path, true);
    }
    for (const auto& [path, is] : paths) files_.push_back(path);
    failures_.resize(files_.size());
  }

  absl::StatusOr<KernelEvents> Run() {
    ThreadPool threads(std::min(jobs_, std::max<size_t>(1, files_.size())));
    threads.ParallelFor(files_.size(), [this](size_t i) { failures_[i] = Read(i); });
    for (const absl::Status& failure : failures_) {
      if (!failure.ok() && !absl::IsCancelled(failure)) return failure;
    }
    if (stop_.stop_requested()) return absl::CancelledError("stopped before all kernels were read");
    const MutexLock lock(mutex_);
    std::sort(result_.unread_files.begin(), result_.unread_files.end());
    result_.sorters = pool_.Take();
    return std::move(result_);
  }

 private:
  absl::Status Read(size_t at) {
    if (stop_.stop_requested()) return absl::CancelledError("stopped");
    CondenseFileOptions options = options_.condense;
    options.sort_memory_bytes = SortShare(options_.memory_bytes / 2, jobs_, options.sort_memory_bytes);
    options.read.progress = [this, at](int64_t done, int64_t total) {
      Tell(at, done, total);
      return !stop_.stop_requested();
    };
    auto sorter = pool_.Borrow();
    KernelConsumer consumer(run_, events_, asked_, wanted_, names_, *sorter);
    const absl::StatusOr<FileReport> report = ReadActivities(files_[at], options, consumer);
    pool_.Return(std::move(sorter));
    LOCKSTEP_RETURN_IF_ERROR(report.status());
    ++done_;
    Tell(at, 1, 1);
    const MutexLock lock(mutex_);
    if (!IsUsable(*report)) result_.unread_files.push_back(fmt::format("{}: {}", files_[at], report->reason));
    result_.lengths.Merge(consumer.lengths());
    result_.gaps += consumer.gaps();
    return absl::OkStatus();
  }

  void Tell(size_t at, int64_t done, int64_t total) const {
    if (!options_.progress) return;
    options_.progress(
        {.files_done = done_.load(), .files = files_.size(), .path = files_[at], .done = done, .total = total});
  }

  const RunData& run_;
  const RunEvents& events_;
  const TimelineOptions& asked_;
  const KernelReaderOptions& options_;
  NameTable& names_;
  const std::stop_token& stop_;
  const size_t jobs_;
  SorterPool<SliceEvent> pool_;
  WantedSources wanted_;
  std::vector<std::string> files_;
  std::vector<absl::Status> failures_;
  std::atomic<size_t> done_{0};
  Mutex mutex_;
  KernelEvents result_ LOCKSTEP_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<KernelEvents> ReadKernels(const RunData& run, const RunEvents& events, const TimelineOptions& asked,
                                         const std::vector<size_t>& wanted, const KernelReaderOptions& options,
                                         NameTable& names, const std::stop_token& stop) {
  return KernelJob(run, events, asked, wanted, options, names, stop).Run();
}

}  // namespace lockstep
