// Builds RunData and its instances in the words of the domain, for tests of metrics and views.
//
//   RunBuilder run;
//   auto& rank0 = run.AddRank(0);                       // a Kineto source of rank 0 on host "node0"
//   const uint32_t world = rank0.Group("0", {0, 1});
//   rank0.Collective(world, CollectiveOp::kAllReduce, 1'000, 500);
//   BuiltRun built = run.Build();
//   MatchRun(built.run, built.instances, ...)
//
// References returned by AddRank and AddSource stay valid as long as the builder.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"
#include "analysis/model/run_data.h"

namespace lockstep {

// Instances kept in vectors, one per source of the run, in order of (start, stream, name).
class VectorInstanceSource : public InstanceSource {
 public:
  VectorInstanceSource() = default;
  explicit VectorInstanceSource(std::vector<std::vector<InstanceRow>> rows, size_t block = 64);
  absl::StatusOr<std::unique_ptr<InstanceStream>> Open(size_t source) override;

  [[nodiscard]] std::vector<std::vector<InstanceRow>>& rows() { return rows_; }

 private:
  std::vector<std::vector<InstanceRow>> rows_;
  size_t block_ = 64;
};

struct BuiltRun {
  RunData run;
  VectorInstanceSource instances;
};

class RunBuilder;

class SourceBuilder {
 public:
  SourceBuilder(RunBuilder& run, std::string path);

  SourceBuilder& Claim(int32_t rank, RankSource source = RankSource::kMetadata);
  SourceBuilder& World(int32_t size);
  SourceBuilder& Host(std::string host, HostSource source = HostSource::kTrace);
  SourceBuilder& NoHost();
  SourceBuilder& Nsys(std::string session, int64_t pid);  // default: Kineto, pid 1000 + number of the source
  SourceBuilder& Pid(int64_t pid);
  SourceBuilder& Device(int32_t ordinal);
  // First start and last end of the device activity; Collective() and Kernel() widen it by themselves.
  SourceBuilder& Window(int64_t first_start_ns, int64_t last_end_ns);
  SourceBuilder& KernelTime(int64_t ns);

  // Communicators as this source knows them; all return the local id that Collective() takes.
  uint32_t Group(std::string name, std::vector<int32_t> members, std::string desc = "");
  uint32_t HashGroup(uint64_t hash, int32_t size, int32_t own_rank);
  uint32_t UnknownGroup();

  // Adds an instance and hands it out for further details (valid until the next call).
  InstanceRow& Collective(uint32_t group, CollectiveOp op, int64_t start_ns, int64_t duration_ns,
                          std::string_view name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  // Adds durations to the sketch of a kernel name (slice 0).
  KernelRow& Kernel(std::string_view name, const std::vector<int64_t>& durations_ns);
  StepRow& Step(int64_t number, int64_t window_start_ns, int64_t window_end_ns);

  [[nodiscard]] SourceContext& context() { return data_.context; }
  [[nodiscard]] SourceData& data() { return data_; }

 private:
  friend class RunBuilder;
  uint32_t AddCommunicator(LocalCommunicator communicator);
  void Widen(int64_t start_ns, int64_t end_ns);

  RunBuilder& run_;
  SourceData data_;
  std::vector<InstanceRow> rows_;
  bool has_window_ = false;
};

class RunBuilder {
 public:
  RunBuilder() = default;
  RunBuilder(const RunBuilder&) = delete;
  RunBuilder& operator=(const RunBuilder&) = delete;

  // A source of that rank by metadata, on host "node0", device = rank, pid 1000 + rank.
  SourceBuilder& AddRank(int32_t rank);
  // A source that claims nothing.
  SourceBuilder& AddSource(std::string path);
  // The n-th one added.
  [[nodiscard]] SourceBuilder& Source(size_t n) { return sources_.at(n); }
  // Index of a name in the run's dictionary.
  uint32_t Name(std::string_view text);

  // A copy of what was added, sources in order of source id (a hash of path, pid, device), rows in order of start.
  [[nodiscard]] BuiltRun Build() const;

 private:
  std::deque<SourceBuilder> sources_;
  std::vector<std::string> names_;
};

// Runs everything in order on the calling thread; `reversed` from the last to the first.
class InlineExecutor : public Executor {
 public:
  explicit InlineExecutor(bool reversed = false) : reversed_(reversed) {}
  void ParallelFor(size_t n, const std::function<void(size_t)>& fn) override;

 private:
  bool reversed_;
};

}  // namespace lockstep
