// One nsys export for each host, holding its ranks as processes: one nsys around the launcher of the ranks.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "analysis/base/hash128.h"
#include "analysis/base/status_macros.h"
#include "bench/simulator/nsys/nsys_nvtx.h"
#include "bench/simulator/nsys/nsys_strings.h"
#include "bench/simulator/nsys/nsys_table.h"
#include "bench/simulator/nsys/nsys_target_info.h"
#include "bench/simulator/run/output_file.h"
#include "bench/simulator/run/trace_writer.h"
#include "platform/sqlite.h"

namespace lockstep {
namespace {

constexpr int64_t kNsysContext = 1;
constexpr int64_t kGraph = 3;
constexpr int64_t kNoEvent = 4'294'967'295;

// A row still to be written: an activity of one of the host's ranks.
struct RowRef {
  int64_t time_ns = 0;
  uint32_t rank = 0;  // index into HostCapture::ranks
  uint32_t activity = 0;
};

class HostExport {
 public:
  HostExport(const RunDescription& run, const HostCapture& capture, Database* db)
      : run_(run), capture_(capture), db_(*db), minor_(run.options->nsys_schema_minor) {
    session_.utc_epoch_ns = SessionStartOf(run, capture.host);
    int64_t last = 0;
    for (const RankTimeline& timeline : capture.ranks) last = std::max(last, CaptureOf(timeline).end_ns);
    session_.duration_ns = last + 5'000'000 - session_.utc_epoch_ns;
  }

  absl::Status Write() {
    LOCKSTEP_RETURN_IF_ERROR(
        db_.Execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE"));
    LOCKSTEP_RETURN_IF_ERROR(db_.Execute("BEGIN"));
    LOCKSTEP_RETURN_IF_ERROR(WriteTargetInfo(db_, run_, capture_, session_));
    LOCKSTEP_RETURN_IF_ERROR(WriteRuntime());
    LOCKSTEP_RETURN_IF_ERROR(WriteSynchronization());
    LOCKSTEP_RETURN_IF_ERROR(WriteEvents());
    LOCKSTEP_RETURN_IF_ERROR(WriteCopies());
    LOCKSTEP_RETURN_IF_ERROR(WriteSets());
    LOCKSTEP_RETURN_IF_ERROR(WriteKernels());
    LOCKSTEP_RETURN_IF_ERROR(WriteGraphs());
    LOCKSTEP_RETURN_IF_ERROR(WriteNvtxTables(db_, run_, capture_, session_, strings_));
    LOCKSTEP_RETURN_IF_ERROR(WriteThreadNames());
    LOCKSTEP_RETURN_IF_ERROR(strings_.Write(db_, minor_));
    return db_.Execute("COMMIT");
  }

 private:
  [[nodiscard]] int32_t RankOf(size_t index) const { return capture_.first_rank + static_cast<int32_t>(index); }
  [[nodiscard]] int64_t PidOf(size_t index) const { return ProcessIdOf(*run_.cluster, RankOf(index)); }
  [[nodiscard]] int64_t DeviceOf(size_t index) const {
    return run_.cluster->ranks[static_cast<size_t>(RankOf(index))].device;
  }
  [[nodiscard]] const Op& OpOf(size_t index, const Activity& activity) const {
    return run_.program->StepOf(activity.step, RankOf(index)).ops[activity.op];
  }
  [[nodiscard]] const Activity& At(const RowRef& row) const {
    return capture_.ranks[row.rank].activities[row.activity];
  }
  [[nodiscard]] const Op& OpOf(const RowRef& row) const { return OpOf(row.rank, At(row)); }
  [[nodiscard]] int64_t Local(int64_t unix_ns) const { return unix_ns - session_.utc_epoch_ns; }

  // Activities of all ranks that pass, by the time that `time` gives.
  template <typename Passes, typename Time>
  [[nodiscard]] std::vector<RowRef> Rows(Passes passes, Time time) const {
    std::vector<RowRef> rows;
    for (size_t rank = 0; rank < capture_.ranks.size(); ++rank) {
      const std::vector<Activity>& activities = capture_.ranks[rank].activities;
      for (size_t i = 0; i < activities.size(); ++i) {
        if (!passes(activities[i], OpOf(rank, activities[i]))) continue;
        rows.push_back({time(activities[i]), static_cast<uint32_t>(rank), static_cast<uint32_t>(i)});
      }
    }
    std::stable_sort(rows.begin(), rows.end(), [](const RowRef& a, const RowRef& b) { return a.time_ns < b.time_ns; });
    return rows;
  }
  [[nodiscard]] bool opaque_graphs() const { return run_.options->files.opaque_graphs; }
  [[nodiscard]] std::vector<RowRef> DeviceRows(OpKind first, OpKind second) const {
    return Rows(
        [=, opaque = opaque_graphs()](const Activity& activity, const Op& op) {
          if (opaque && op.in_graph) return false;
          return (op.kind == first || op.kind == second) && HasDeviceRow(activity, op);
        },
        [](const Activity& a) { return a.start_ns; });
  }
  template <typename Passes>
  [[nodiscard]] std::vector<RowRef> Calls(Passes passes) const {
    return Rows([&](const Activity& activity, const Op& op) { return HasHostRow(activity, op) && passes(op.kind); },
                [](const Activity& a) { return a.call_start_ns; });
  }

  absl::Status WriteRuntime() {
    NsysTable table(&db_, minor_, "CUPTI_ACTIVITY_KIND_RUNTIME",
                    {"start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue"});
    for (const RowRef& row : Calls([](OpKind) { return true; })) {
      const Activity& activity = At(row);
      LOCKSTEP_RETURN_IF_ERROR(
          table.Row({Local(activity.call_start_ns), Local(activity.call_end_ns), int64_t{0}, GlobalTid(PidOf(row.rank)),
                     Correlation(row), strings_.IdOf(CallOf(OpOf(row).kind).nsys_name), int64_t{0}}));
    }
    return absl::OkStatus();
  }

  // Of the call that launched it.
  [[nodiscard]] int64_t Correlation(const RowRef& row) const {
    return static_cast<int64_t>(CorrelationOf(LaunchOf(row.activity, At(row), OpOf(row))));
  }

  absl::Status WriteSynchronization() {
    NsysTable table(&db_, minor_, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                    {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "syncType",
                     "eventId", "eventSyncId"});
    const auto synchronises = [](OpKind kind) { return kind == OpKind::kStreamWait || kind == OpKind::kStreamSync; };
    for (const RowRef& row : Calls(synchronises)) {
      const Activity& activity = At(row);
      const bool wait = OpOf(row).kind == OpKind::kStreamWait;
      LOCKSTEP_RETURN_IF_ERROR(
          table.Row({Local(activity.call_start_ns), Local(activity.call_end_ns), DeviceOf(row.rank), kNsysContext,
                     int64_t{StreamNumber(OpOf(row).stream)}, Correlation(row), GlobalPid(PidOf(row.rank)),
                     int64_t{wait ? 2 : 3}, wait ? int64_t{40} : kNoEvent, wait ? Correlation(row) - 1 : int64_t{0}}));
    }
    return absl::OkStatus();
  }

  absl::Status WriteEvents() {
    NsysTable table(
        &db_, minor_, "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
        {"timestamp", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "eventId", "eventSyncId"});
    for (const RowRef& row : Calls([](OpKind kind) { return kind == OpKind::kEventRecord; })) {
      LOCKSTEP_RETURN_IF_ERROR(
          table.Row({int64_t{0}, DeviceOf(row.rank), kNsysContext, int64_t{StreamNumber(OpOf(row).stream)},
                     Correlation(row), GlobalPid(PidOf(row.rank)), int64_t{40}, Correlation(row)}));
    }
    return absl::OkStatus();
  }

  // ENUM_CUDA_MEM_KIND.
  static int64_t CodeOf(MemoryKind memory) {
    return memory == MemoryKind::kPageable ? 0 : memory == MemoryKind::kPinned ? 1 : 2;
  }

  absl::Status WriteCopies() {
    NsysTable table(&db_, minor_, "CUPTI_ACTIVITY_KIND_MEMCPY",
                    {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "bytes",
                     "copyKind", "srcKind", "dstKind", "copyCount"});
    for (const RowRef& row : DeviceRows(OpKind::kMemcpy, OpKind::kMemcpy)) {
      const Activity& activity = At(row);
      const Op& op = OpOf(row);
      LOCKSTEP_RETURN_IF_ERROR(table.Row({Local(activity.start_ns), Local(activity.end_ns), DeviceOf(row.rank),
                                          kNsysContext, int64_t{StreamNumber(op.stream)}, Correlation(row),
                                          GlobalPid(PidOf(row.rank)), op.bytes, static_cast<int64_t>(op.copy),
                                          CodeOf(SourceMemoryOf(op)), CodeOf(TargetMemoryOf(op)), int64_t{1}}));
    }
    return absl::OkStatus();
  }

  absl::Status WriteSets() {
    NsysTable table(&db_, minor_, "CUPTI_ACTIVITY_KIND_MEMSET",
                    {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "value",
                     "bytes", "memKind"});
    for (const RowRef& row : DeviceRows(OpKind::kMemset, OpKind::kMemset)) {
      const Activity& activity = At(row);
      LOCKSTEP_RETURN_IF_ERROR(table.Row({Local(activity.start_ns), Local(activity.end_ns), DeviceOf(row.rank),
                                          kNsysContext, int64_t{StreamNumber(OpOf(row).stream)}, Correlation(row),
                                          GlobalPid(PidOf(row.rank)), int64_t{0}, OpOf(row).bytes, int64_t{2}}));
    }
    return absl::OkStatus();
  }

  // Not the real mangling, which no reader takes apart, but one name for each demangled one.
  static std::string MangledName(const KernelShape& kernel) {
    if (kernel.name == kernel.short_name) return kernel.name;
    return fmt::format("_Z{}{}I{:08x}E", kernel.short_name.size(), kernel.short_name, HashOf(kernel.name).low >> 32);
  }

  absl::Status WriteKernels() {
    NsysTable table(&db_, minor_, "CUPTI_ACTIVITY_KIND_KERNEL",
                    {"start",
                     "end",
                     "deviceId",
                     "contextId",
                     "streamId",
                     "correlationId",
                     "globalPid",
                     "demangledName",
                     "shortName",
                     "mangledName",
                     "launchType",
                     "cacheConfig",
                     "registersPerThread",
                     "gridX",
                     "gridY",
                     "gridZ",
                     "blockX",
                     "blockY",
                     "blockZ",
                     "dynamicSharedMemory",
                     "gridId",
                     "sharedMemoryExecuted",
                     "graphNodeId",
                     "graphId"});
    for (const RowRef& row : DeviceRows(OpKind::kKernel, OpKind::kCollective)) {
      const Activity& activity = At(row);
      const Op& op = OpOf(row);
      const KernelShape& kernel = run_.program->kernels()[op.kernel];
      const auto& [grid, block] = ShapeOf(run_, RankOf(row.rank), activity.step, op);
      LOCKSTEP_RETURN_IF_ERROR(table.Row({Local(activity.start_ns),
                                          Local(activity.end_ns),
                                          DeviceOf(row.rank),
                                          kNsysContext,
                                          int64_t{StreamNumber(op.stream)},
                                          Correlation(row),
                                          GlobalPid(PidOf(row.rank)),
                                          strings_.IdOf(kernel.name),
                                          strings_.IdOf(kernel.short_name),
                                          strings_.IdOf(MangledName(kernel)),
                                          int64_t{1},
                                          int64_t{1},
                                          int64_t{kernel.registers},
                                          int64_t{grid[0]},
                                          int64_t{grid[1]},
                                          int64_t{grid[2]},
                                          int64_t{block[0]},
                                          int64_t{block[1]},
                                          int64_t{block[2]},
                                          int64_t{kernel.shared_memory},
                                          Correlation(row),
                                          int64_t{kernel.shared_memory},
                                          op.in_graph ? Cell(GraphNode(activity, op)) : Cell(),
                                          op.in_graph ? Cell(kGraph) : Cell()}));
    }
    return absl::OkStatus();
  }

  // Nodes of the executable graph, numbered from one.
  static int64_t GraphNode(const Activity& activity, const Op& op) {
    return (kGraph << 32) + static_cast<int64_t>(activity.op - op.first_of_call);
  }

  // Of opaque graphs: one span for each launch.
  absl::Status WriteGraphs() {
    NsysTable table(
        &db_, minor_, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
        {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "graphId", "graphExecId"});
    if (!opaque_graphs()) return absl::OkStatus();
    for (const RowRef& row : Calls([](OpKind kind) { return kind == OpKind::kGraphLaunch; })) {
      const HostInterval span = SpanOfGraph(row);
      if (span.end_ns == 0) continue;
      LOCKSTEP_RETURN_IF_ERROR(table.Row({Local(span.start_ns), Local(span.end_ns), DeviceOf(row.rank), kNsysContext,
                                          int64_t{StreamNumber(Stream::kCompute)}, Correlation(row),
                                          GlobalPid(PidOf(row.rank)), kGraph, kGraph + 1}));
    }
    return absl::OkStatus();
  }

  // From the first start to the last end of what this launch replays; zero if nothing of it was recorded.
  [[nodiscard]] HostInterval SpanOfGraph(const RowRef& launch) const {
    const std::vector<Activity>& activities = capture_.ranks[launch.rank].activities;
    HostInterval span;
    for (size_t i = launch.activity + 1; i < activities.size() && OpOf(launch.rank, activities[i]).in_graph; ++i) {
      if (activities[i].end_ns == 0) continue;
      span.start_ns = span.end_ns == 0 ? activities[i].start_ns : std::min(span.start_ns, activities[i].start_ns);
      span.end_ns = std::max(span.end_ns, activities[i].end_ns);
    }
    return span;
  }

  absl::Status WriteThreadNames() {
    NsysTable table(&db_, minor_, "ThreadNames", {"nameId", "priority", "globalTid"});
    for (size_t rank = 0; rank < capture_.ranks.size(); ++rank) {
      LOCKSTEP_RETURN_IF_ERROR(table.Row({strings_.IdOf("python3"), int64_t{20}, GlobalTid(PidOf(rank))}));
    }
    return absl::OkStatus();
  }

  const RunDescription& run_;
  const HostCapture& capture_;
  Database& db_;
  int minor_;
  NsysSession session_;
  NsysStrings strings_;
};

class NsysWriter : public TraceWriter {
 public:
  explicit NsysWriter(const RunDescription& run) : run_(run) {}

  absl::StatusOr<std::vector<WrittenFile>> Write(const HostCapture& capture, const std::string& folder) override {
    WrittenFile file;
    for (size_t i = 0; i < capture.ranks.size(); ++i)
      file.ranks.push_back(capture.first_rank + static_cast<int32_t>(i));
    file.name = file.ranks.size() == 1 ? fmt::format("rank{}.sqlite", file.ranks.front())
                                       : fmt::format("rank{}-{}.sqlite", file.ranks.front(), file.ranks.back());
    const std::string path = folder + "/" + file.name;
    const std::string part = path + ".tmp";
    const absl::Status status = WriteDatabase(capture, part);
    if (!status.ok()) {
      std::remove(part.c_str());
      return status;
    }
    if (std::rename(part.c_str(), path.c_str()) != 0) return FileError("cannot write", path, errno);
    return std::vector<WrittenFile>{file};
  }

 private:
  absl::Status WriteDatabase(const HostCapture& capture, const std::string& path) {
    LOCKSTEP_ASSIGN_OR_RETURN(Database db, Database::Open(path, Database::Mode::kReadWriteCreate));
    return HostExport(run_, capture, &db).Write();
  }

  const RunDescription& run_;
};

}  // namespace

std::unique_ptr<TraceWriter> MakeNsysWriter(const RunDescription& run) { return std::make_unique<NsysWriter>(run); }

}  // namespace lockstep
