#include "tests/support/run_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"

namespace lockstep {
namespace {

class VectorInstanceStream : public InstanceStream {
 public:
  VectorInstanceStream(std::vector<InstanceRow> rows, size_t block) : rows_(std::move(rows)), block_(block) {}

  absl::StatusOr<std::vector<InstanceRow>> Take() override {
    const size_t end = std::min(rows_.size(), at_ + block_);
    std::vector<InstanceRow> out(rows_.begin() + static_cast<int64_t>(at_), rows_.begin() + static_cast<int64_t>(end));
    at_ = end;
    return out;
  }

 private:
  std::vector<InstanceRow> rows_;
  size_t block_;
  size_t at_ = 0;
};

bool EarlierRow(const InstanceRow& a, const InstanceRow& b) {
  return std::tie(a.start_ns, a.stream, a.name) < std::tie(b.start_ns, b.stream, b.name);
}

}  // namespace

VectorInstanceSource::VectorInstanceSource(std::vector<std::vector<InstanceRow>> rows, size_t block)
    : rows_(std::move(rows)), block_(block) {
  for (auto& source : rows_) std::stable_sort(source.begin(), source.end(), EarlierRow);
}

absl::StatusOr<std::unique_ptr<InstanceStream>> VectorInstanceSource::Open(size_t source) {
  return std::make_unique<VectorInstanceStream>(rows_.at(source), block_);
}

SourceBuilder::SourceBuilder(RunBuilder& run, std::string path) : run_(run) {
  SourceContext& c = data_.context;
  c.path = std::move(path);
  c.format = "kineto";
  c.tool_version = "2.6.0";
  c.device = 0;
  c.bucket_ns = int64_t{1} << 20;
  c.slice_ns = int64_t{1} << 30;
  data_.complete = true;
}

SourceBuilder& SourceBuilder::Claim(int32_t rank, RankSource source) {
  data_.context.claims.push_back({rank, source});
  std::stable_sort(data_.context.claims.begin(), data_.context.claims.end(),
                   [](const RankClaim& a, const RankClaim& b) { return a.source < b.source; });
  return *this;
}

SourceBuilder& SourceBuilder::World(int32_t size) {
  data_.context.world_size = size;
  return *this;
}

SourceBuilder& SourceBuilder::Host(std::string host, HostSource source) {
  data_.context.host = std::move(host);
  data_.context.host_source = source;
  return *this;
}

SourceBuilder& SourceBuilder::NoHost() { return Host("", HostSource::kUnknown); }

SourceBuilder& SourceBuilder::Nsys(std::string session, int64_t pid) {
  data_.context.format = "nsys";
  data_.context.session = std::move(session);
  return Pid(pid);
}

SourceBuilder& SourceBuilder::Pid(int64_t pid) {
  data_.context.pid = pid;
  return *this;
}

SourceBuilder& SourceBuilder::Device(int32_t ordinal) {
  data_.context.device = ordinal;
  data_.context.gpu.ordinal = ordinal;
  return *this;
}

SourceBuilder& SourceBuilder::Window(int64_t first_start_ns, int64_t last_end_ns) {
  data_.context.first_start_ns = first_start_ns;
  data_.context.last_end_ns = last_end_ns;
  has_window_ = true;
  return *this;
}

SourceBuilder& SourceBuilder::KernelTime(int64_t ns) {
  data_.context.kernel_time_ns = ns;
  return *this;
}

uint32_t SourceBuilder::AddCommunicator(LocalCommunicator communicator) {
  communicator.id = static_cast<uint32_t>(data_.communicators.size());
  data_.communicators.push_back(std::move(communicator));
  return data_.communicators.back().id;
}

uint32_t SourceBuilder::Group(std::string name, std::vector<int32_t> members, std::string desc) {
  LocalCommunicator c;
  c.known = true;
  c.group_name = std::move(name);
  c.group_desc = std::move(desc);
  c.size = static_cast<int32_t>(members.size());
  c.members = std::move(members);
  return AddCommunicator(std::move(c));
}

uint32_t SourceBuilder::HashGroup(uint64_t hash, int32_t size, int32_t own_rank) {
  LocalCommunicator c;
  c.known = true;
  c.comm_hash = hash;
  c.size = size;
  c.own_rank = own_rank;
  return AddCommunicator(std::move(c));
}

uint32_t SourceBuilder::UnknownGroup() { return AddCommunicator({}); }

void SourceBuilder::Widen(int64_t start_ns, int64_t end_ns) {
  SourceContext& c = data_.context;
  c.first_start_ns = has_window_ ? std::min(c.first_start_ns, start_ns) : start_ns;
  c.last_end_ns = has_window_ ? std::max(c.last_end_ns, end_ns) : end_ns;
  has_window_ = true;
}

InstanceRow& SourceBuilder::Collective(uint32_t group, CollectiveOp op, int64_t start_ns, int64_t duration_ns,
                                       std::string_view name) {
  InstanceRow row;
  row.start_ns = start_ns;
  row.duration_ns = duration_ns;
  row.communicator = group;
  row.op = op;
  row.library = CollectiveLibrary::kNccl;
  row.stream = 7;
  row.name = run_.Name(name);
  rows_.push_back(row);
  Widen(start_ns, start_ns + duration_ns);
  ++data_.context.kernels;
  ++data_.context.collectives;
  data_.context.kernel_time_ns += duration_ns;
  return rows_.back();
}

KernelRow& SourceBuilder::Kernel(std::string_view name, const std::vector<int64_t>& durations_ns) {
  KernelRow row;
  row.name = run_.Name(name);
  row.kind = ClassifyKernel(name);
  row.slices.emplace_back(0, Sketch{});
  for (const int64_t d : durations_ns) row.slices.back().second.Add(d);
  data_.context.kernels += static_cast<int64_t>(durations_ns.size());
  data_.context.kernel_time_ns =
      std::accumulate(durations_ns.begin(), durations_ns.end(), data_.context.kernel_time_ns);
  data_.kernels.push_back(std::move(row));
  return data_.kernels.back();
}

StepRow& SourceBuilder::Step(int64_t number, int64_t window_start_ns, int64_t window_end_ns) {
  StepRow row;
  row.step = number;
  row.name = run_.Name(fmt::format("ProfilerStep#{}", number));
  row.host_start_ns = row.window_start_ns = window_start_ns;
  row.host_end_ns = row.window_end_ns = window_end_ns;
  row.tile.span_ns = window_end_ns - window_start_ns;
  data_.steps.push_back(std::move(row));
  return data_.steps.back();
}

SourceBuilder& RunBuilder::AddRank(int32_t rank) {
  return AddSource(fmt::format("traces/rank{}.json", rank)).Claim(rank).Host("node0").Device(rank).Pid(1000 + rank);
}

SourceBuilder& RunBuilder::AddSource(std::string path) {
  const auto number = static_cast<int64_t>(sources_.size());
  return sources_.emplace_back(*this, std::move(path)).Pid(1000 + number);
}

uint32_t RunBuilder::Name(std::string_view text) {
  const auto at = std::find(names_.begin(), names_.end(), text);
  if (at != names_.end()) return static_cast<uint32_t>(at - names_.begin());
  names_.emplace_back(text);
  return static_cast<uint32_t>(names_.size() - 1);
}

BuiltRun RunBuilder::Build() const {
  std::vector<std::pair<SourceData, std::vector<InstanceRow>>> parts;
  for (const SourceBuilder& source : sources_) {
    SourceData data = source.data_;
    data.instance_count = static_cast<int64_t>(source.rows_.size());
    const SourceContext& c = data.context;
    data.context.source_id = HashBuilder().Add(c.path).Add(c.session).Add(c.pid).Add(c.device).Finish();
    parts.emplace_back(std::move(data), source.rows_);
  }
  std::sort(parts.begin(), parts.end(),
            [](const auto& a, const auto& b) { return a.first.context.source_id < b.first.context.source_id; });
  BuiltRun out;
  out.run.info.name = "built";
  out.run.names = names_;
  std::vector<std::vector<InstanceRow>> rows;
  for (auto& [data, source_rows] : parts) {
    out.run.sources.push_back(std::move(data));
    rows.push_back(std::move(source_rows));
  }
  out.instances = VectorInstanceSource(std::move(rows));
  return out;
}

void InlineExecutor::ParallelFor(size_t n, const std::function<void(size_t)>& fn) {
  for (size_t i = 0; i < n; ++i) fn(reversed_ ? n - 1 - i : i);
}

}  // namespace lockstep
