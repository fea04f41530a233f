#include "agent/pipeline/condense_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "agent/pipeline/host_sweep.h"
#include "agent/pipeline/launch_join.h"
#include "agent/pipeline/nsys_export.h"
#include "agent/pipeline/range_projection.h"
#include "agent/pipeline/record_collector.h"
#include "agent/pipeline/source_identity.h"
#include "agent/pipeline/step_detection.h"
#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"
#include "analysis/condense/condenser.h"
#include "analysis/model/batch.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

constexpr size_t kLargestNames = 32;

bool StopsTheWork(const absl::Status& status) {
  return status.code() == absl::StatusCode::kCancelled || status.code() == absl::StatusCode::kResourceExhausted;
}

// A reader's records, sorted and joined, turned into the sources of one file.
class FileCondenser {
 public:
  FileCondenser(const std::string& path, const CondenseFileOptions& options, BatchConsumer& consumer)
      : FileCondenser(path, options, &consumer, nullptr) {}
  FileCondenser(const std::string& path, const CondenseFileOptions& options, ActivityConsumer& consumer)
      : FileCondenser(path, options, nullptr, &consumer) {}

  // Reads `content`: the file itself, or what was exported from it.
  absl::StatusOr<FileReport> Run(const TraceFormat& format, const std::string& content) {
    report_.path = path_;
    report_.format = std::string(format.name);
    collector_.interner().SetCommunication(options_.communication);
    absl::StatusOr<ReadResult> read = format.create()->Read(content, options_.read, collector_);
    if (!read.ok()) {
      if (StopsTheWork(read.status())) return read.status();
      report_.status = "refused";
      report_.reason = std::string(read.status().message());
      return report_;
    }
    LOCKSTEP_ASSIGN_OR_RETURN(fingerprint_, FingerprintOf(path_));
    LOCKSTEP_RETURN_IF_ERROR(SortAndJoin());
    LOCKSTEP_RETURN_IF_ERROR(CondenseSources());
    report_.status = read->outcome == ReadOutcome::kWhole ? "used" : "partial";
    report_.reason = read->reason;
    report_.offset = read->damage_offset;
    report_.drops = collector_.context().drops;
    return report_;
  }

 private:
  // One of the consumers is null.
  FileCondenser(const std::string& path, const CondenseFileOptions& options, BatchConsumer* batches,
                ActivityConsumer* activities)
      : path_(path),
        options_(options),
        batches_(batches),
        activities_(activities),
        collector_({options.tmp_dir, options.sort_memory_bytes, options.selection.active()}) {}

  FileContext& file() { return collector_.context(); }

  absl::Status SortAndJoin() {
    if (file().processes.empty()) collector_.AddProcess(-1);
    LOCKSTEP_RETURN_IF_ERROR(collector_.Finish());
    LOCKSTEP_RETURN_IF_ERROR(DetectSteps(collector_));
    base_ns_ = file().has_base ? std::clamp(file().base_unix_ns, int64_t{0}, kMaxBaseNs) : 0;
    LaunchSorter launches(options_.tmp_dir, options_.sort_memory_bytes / 4);
    RangeProjection ranges;
    LOCKSTEP_RETURN_IF_ERROR(SweepHost(collector_, launches, ranges, host_by_step_, HostSelected()));
    LOCKSTEP_RETURN_IF_ERROR(launches.Finish());
    LOCKSTEP_ASSIGN_OR_RETURN(join_, JoinLaunches(collector_, launches, ranges));
    ranges.Finish(collector_.host_totals());
    return collector_.activities().Finish();
  }

  HostSelection HostSelected() {
    HostSelection selection;
    if (!options_.selection.nvtx.empty()) selection.named_steps = StepThreads::kOwn;
    for (uint32_t i = 0; options_.selection.active() && i < file().processes.size(); ++i) {
      selection.selected.push_back(Selection(i, -1, -base_ns_));
    }
    return selection;
  }

  CondenseSelection Selection(uint32_t process, int32_t device, int64_t shift_ns) {
    return SelectionOf(options_.selection, collector_.steps()[process], collector_.interner(), path_,
                       file().processes[process].pid, device, shift_ns);
  }

  // The activities come by source; a source that shows only synchronisation rows or none is passed over.
  absl::Status CondenseSources() {
    ChooseMainSources();
    ActivityRecord record;
    LOCKSTEP_ASSIGN_OR_RETURN(bool more, collector_.activities().Next(record));
    while (more) {
      const uint32_t source = record.source;
      if (join_.sources[source].activities() > 0) {
        LOCKSTEP_RETURN_IF_ERROR(CondenseOne(source, record, more));
      } else {
        while (more && record.source == source) {
          LOCKSTEP_ASSIGN_OR_RETURN(more, collector_.activities().Next(record));
        }
      }
    }
    return report_.sources == 0 ? CondenseEmpty() : absl::OkStatus();
  }

  // Host-side rows and file-level counters stand in one source of each process: the one with most kernel time.
  void ChooseMainSources() {
    main_source_.assign(file().processes.size(), kNoId);
    for (uint32_t i = 0; i < join_.sources.size(); ++i) {
      const SourceStats& stats = join_.sources[i];
      if (stats.activities() == 0) continue;
      uint32_t& main = main_source_[collector_.sources()[i].first];
      if (main == kNoId || IsMoreMain(i, main)) main = i;
      if (first_main_ == kNoId || IsMoreMain(i, first_main_)) first_main_ = i;
    }
  }

  [[nodiscard]] bool IsMoreMain(uint32_t a, uint32_t b) const {
    const auto key = [&](uint32_t i) { return std::pair(-join_.sources[i].kernel_time_ns, collector_.sources()[i]); };
    return key(a) < key(b);
  }

  absl::Status CondenseOne(uint32_t source, ActivityRecord& record, bool& more) {
    const auto [process, device] = collector_.sources()[source];
    const SourceStats& stats = join_.sources[source];
    const SourceContext context = ContextOf(process, device, stats);
    const std::vector<StepRange> steps = StepsOf(process);
    if (activities_ != nullptr) return PassOn(context, steps, record, more);
    LOCKSTEP_RETURN_IF_ERROR(batches_->BeginSource(context));
    ++report_.sources;
    Condenser condenser(
        CondenseInput{context, collector_.interner(), steps, host_by_step_[process], LargestNames(stats),
                      Selection(process, device, 0), ActivitiesByStep(stats, steps.size())},
        [&](Batch batch) { return batches_->Consume(context, std::move(batch)); });
    while (more && record.source == source) {
      Shift(record);
      LOCKSTEP_RETURN_IF_ERROR(condenser.Add(record));
      LOCKSTEP_ASSIGN_OR_RETURN(more, collector_.activities().Next(record));
    }
    DropCounters drops = stats.drops;
    if (source == first_main_) drops.Merge(file().drops);
    return condenser.Finish(source == main_source_[process] ? HostRowsOf(process) : HostRows{}, drops);
  }

  absl::Status PassOn(const SourceContext& context, const std::vector<StepRange>& steps, ActivityRecord& record,
                      bool& more) {
    LOCKSTEP_RETURN_IF_ERROR(activities_->BeginSource(context, collector_.interner(), steps));
    ++report_.sources;
    for (const uint32_t source = record.source; more && record.source == source;) {
      Shift(record);
      LOCKSTEP_RETURN_IF_ERROR(activities_->Consume(record));
      LOCKSTEP_ASSIGN_OR_RETURN(more, collector_.activities().Next(record));
    }
    return absl::OkStatus();
  }

  static std::vector<uint32_t> ActivitiesByStep(const SourceStats& stats, size_t steps) {
    std::vector<uint32_t> counts = stats.activities_by_step;
    counts.resize(steps, 0);
    return counts;
  }

  // A trace without any device activity still tells its rank, its host and what is wrong with the capture.
  absl::Status CondenseEmpty() {
    const SourceContext context = ContextOf(0, -1, SourceStats{});
    const std::vector<StepRange> steps;
    ++report_.sources;
    if (activities_ != nullptr) return activities_->BeginSource(context, collector_.interner(), steps);
    LOCKSTEP_RETURN_IF_ERROR(batches_->BeginSource(context));
    Condenser condenser(CondenseInput{context, collector_.interner(), steps, {}, {}, {}},
                        [&](Batch batch) { return batches_->Consume(context, std::move(batch)); });
    return condenser.Finish(HostRowsOf(0), file().drops);
  }

  void Shift(ActivityRecord& record) const {
    record.start_ns += base_ns_;
    if (record.launch_start_ns == kNoTime) return;
    record.launch_start_ns += base_ns_;
    record.launch_end_ns += base_ns_;
    if (record.host_wait.from_ns == kNoTime) return;
    record.host_wait.from_ns += base_ns_;
    record.host_wait.until_ns += base_ns_;
  }

  [[nodiscard]] std::vector<StepRange> StepsOf(uint32_t process) const {
    std::vector<StepRange> steps = collector_.steps()[process];
    for (StepRange& step : steps) {
      step.start_ns += base_ns_;
      step.end_ns += base_ns_;
    }
    return steps;
  }

  [[nodiscard]] std::vector<NameId> LargestNames(const SourceStats& stats) {
    std::vector<std::pair<int64_t, NameId>> order;
    for (const auto& [name, time] : stats.time_by_name) {
      if (name != kNoId) order.emplace_back(time, name);
    }
    std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
      if (a.first != b.first) return a.first > b.first;
      return collector_.interner().NameOf(a.second) < collector_.interner().NameOf(b.second);
    });
    if (order.size() > kLargestNames) order.resize(kLargestNames);
    std::vector<NameId> names;
    for (const auto& [time, name] : order) names.push_back(name);
    return names;
  }

  [[nodiscard]] HostRows HostRowsOf(uint32_t process) {
    HostTotals& totals = collector_.host_totals()[process];
    HostRows rows{totals.Calls(), totals.Ranges()};
    std::erase_if(rows.apis, [](const ApiRow& row) { return row.name == kNoId; });
    return rows;
  }

  SourceContext ContextOf(uint32_t process_index, int32_t device, const SourceStats& stats) {
    const ProcessInfo& process = file().processes[process_index];
    SourceContext context;
    context.path = path_;
    context.format = file().format;
    context.tool_version = file().tool_version;
    context.schema_version = file().schema_version;
    context.pid = process.pid;
    context.device = device;
    context.world_size = process.world_size;
    context.groups = process.groups;
    context.versions = file().versions;
    context.options = file().options;
    // Keys of our own say how we condensed; what a file says under them is not believed.
    std::erase_if(context.options, [](const auto& option) { return option.first.starts_with("lockstep."); });
    if (options_.selection.active()) context.options.emplace(kSelectedTables, "");
    if (!options_.read.step_range.empty()) context.options.emplace(kStepRange, options_.read.step_range);
    context.diagnostics = file().diagnostics;
    AddRunContext(context);
    context.session = file().session;
    context.processes_in_file = static_cast<int32_t>(file().processes.size());
    FillIdentity(process, device, context);
    FillTimes(stats, context);
    FillCounts(process_index, stats, context);
    context.source_id = SourceIdOf(context, process_index);
    return context;
  }

  // A context file that cannot be read is a warning of the source; its trace is good.
  void AddRunContext(SourceContext& context) const {
    const absl::StatusOr<ContextByKey> of_folder = ContextOfFolder(path_);
    ContextByKey all = options_.context;
    if (of_folder.ok()) all.insert(of_folder->begin(), of_folder->end());
    if (!of_folder.ok()) context.diagnostics.emplace_back(of_folder.status().message());
    for (const auto& [key, value] : all) context.options[std::string(kRunContext) + key] = value;
  }

  void FillIdentity(const ProcessInfo& process, int32_t device, SourceContext& context) {
    context.claims = process.claims;
    const bool one_process = file().processes.size() <= 1;
    if (const auto rank = RankInFileName(path_); rank && one_process) {
      context.claims.push_back({*rank, RankSource::kFileName});
    }
    if (!file().host.empty()) {
      context.host = file().host;
      context.host_source = HostSource::kTrace;
    } else if (const auto host = HostInFileName(path_, process.pid)) {
      context.host = *host;
      context.host_source = HostSource::kFileName;
    } else if (!options_.host.empty()) {
      context.host = options_.host;
      context.host_source = HostSource::kOption;
    }
    if (const RankMapRow* row = FindInRankMap(options_.rank_map, path_, process.pid, device)) {
      context.claims.insert(context.claims.begin(), {row->rank, RankSource::kRankMap});
      if (!row->host.empty()) {
        context.host = row->host;
        context.host_source = HostSource::kRankMap;
      }
    }
    std::stable_sort(context.claims.begin(), context.claims.end(),
                     [](const RankClaim& a, const RankClaim& b) { return a.source < b.source; });
    context.gpu.ordinal = device;
    for (const DeviceInfo& info : file().devices) {
      if (info.ordinal == device && (info.pid < 0 || info.pid == process.pid)) context.gpu = info;
    }
  }

  void FillTimes(const SourceStats& stats, SourceContext& context) {
    context.base_unix_ns = base_ns_;
    context.capture_start_ns = file().capture_start_ns + base_ns_;
    context.capture_end_ns = file().capture_end_ns + base_ns_;
    if (stats.first_start_ns <= stats.last_end_ns) {
      context.first_start_ns = stats.first_start_ns + base_ns_;
      context.last_end_ns = stats.last_end_ns + base_ns_;
    } else {
      context.first_start_ns = context.last_end_ns = context.capture_start_ns;
    }
    const int64_t window = context.last_end_ns - context.first_start_ns;
    context.slice_ns = SliceWidth(window);
    context.bucket_ns = BucketWidth(window);
  }

  void FillCounts(uint32_t process, const SourceStats& stats, SourceContext& context) {
    context.kernels = stats.kernels;
    context.collectives = stats.collectives;
    context.memcpys = stats.memcpys;
    context.memsets = stats.memsets;
    context.graph_spans = stats.graph_spans;
    context.graph_kernels = stats.graph_kernels;
    context.kernel_time_ns = stats.kernel_time_ns;
    context.api_rows = file().api_rows;
    context.overhead_ns = file().overhead_ns;
    // The nsys reader counts over the whole file itself; for the other formats the join knows.
    context.opaque_graph_launches =
        std::max(file().processes.size() == 1 ? file().opaque_graph_launches : 0, join_.opaque_graph_launches[process]);
    context.step_source = collector_.step_source(process);
    context.classifier_version = kClassifierVersion;
    context.condense_version = kCondenseVersion;
  }

  [[nodiscard]] Hash128 SourceIdOf(const SourceContext& context, uint32_t process_index) {
    HashBuilder hash;
    hash.Add(fingerprint_.Bytes()).Add(context.pid).Add(int64_t{context.device});
    hash.Add(context.base_unix_ns).Add(context.tool_version).Add(context.schema_version);
    hash.Add(context.kernels).Add(context.memcpys).Add(context.memsets).Add(context.graph_spans).Add(context.api_rows);
    // Ranks of several containers, or of several hosts, in one merged file may have one number.
    const std::vector<ProcessInfo>& processes = file().processes;
    const auto before = std::count_if(processes.begin(), processes.begin() + process_index,
                                      [&](const ProcessInfo& it) { return it.pid == context.pid; });
    if (before > 0) hash.Add(int64_t{before});
    return hash.Finish();
  }

  static constexpr int64_t kMaxBaseNs = int64_t{1} << 61;

  const std::string& path_;
  const CondenseFileOptions& options_;
  BatchConsumer* const batches_;
  ActivityConsumer* const activities_;
  RecordCollector collector_;
  FileReport report_;
  Hash128 fingerprint_;
  JoinResult join_;
  std::vector<std::vector<HostOfStep>> host_by_step_;
  std::vector<uint32_t> main_source_;
  uint32_t first_main_ = kNoId;
  int64_t base_ns_ = 0;
};

// With whichever consumer.
template <typename Consumer>
absl::StatusOr<FileReport> ReadFile(const std::string& path, const CondenseFileOptions& options, Consumer& consumer) {
  FileReport report;
  report.path = path;
  report.status = "refused";
  std::optional<NsysExport> exported;
  if (IsNsysReport(path)) {
    absl::StatusOr<NsysExport> made = NsysExport::Make(path, options.tmp_dir);
    if (!made.ok()) {
      report.reason = std::string(made.status().message());
      return report;
    }
    exported.emplace(*std::move(made));
  }
  const std::string& content = exported ? exported->path() : path;
  const Detection detection = DetectFormat(content);
  if (detection.verdict == FileVerdict::kTrace) {
    return FileCondenser(path, options, consumer).Run(*detection.format, content);
  }
  if (detection.verdict == FileVerdict::kNotATrace) {
    report.status = "skipped";
  }
  report.reason = detection.reason;
  return report;
}

}  // namespace

absl::StatusOr<FileReport> CondenseFile(const std::string& path, const CondenseFileOptions& options,
                                        BatchConsumer& consumer) {
  return ReadFile(path, options, consumer);
}

absl::StatusOr<FileReport> ReadActivities(const std::string& path, const CondenseFileOptions& options,
                                          ActivityConsumer& consumer) {
  return ReadFile(path, options, consumer);
}

}  // namespace lockstep
