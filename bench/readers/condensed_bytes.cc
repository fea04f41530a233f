#include "bench/readers/condensed_bytes.h"

#include <fmt/format.h>

#include <utility>

#include "agent/pipeline/condense_file.h"
#include "analysis/base/status_macros.h"
#include "analysis/model/batch.h"
#include "proto/batch_codec.h"

namespace lockstep {
namespace {

int64_t EncodedBytes(const Batch& batch) { return static_cast<int64_t>(EncodeBatch(batch).size()); }

// What each table of a batch takes on the wire: the bytes of a batch of nothing else, less those of an empty one.
void AddBytesByTable(Batch& batch, std::map<std::string, int64_t>& out) {
  const int64_t empty = EncodedBytes({});
  const auto add = [&](const char* name, auto Batch::*table) {
    Batch alone;
    std::swap(alone.*table, batch.*table);
    out[name] += EncodedBytes(alone) - empty;
    std::swap(alone.*table, batch.*table);
  };
  add("names", &Batch::names);
  add("communicators", &Batch::communicators);
  add("instances", &Batch::instances);
  add("steps", &Batch::steps);
  add("buckets", &Batch::buckets);
  add("kernels", &Batch::kernels);
  add("step_kernels", &Batch::step_kernels);
  add("memory", &Batch::memory);
  add("apis", &Batch::apis);
  add("ranges", &Batch::ranges);
  add("launches", &Batch::launches);
  add("summary", &Batch::summary);
}

class Counter : public BatchConsumer {
 public:
  explicit Counter(bool encodes) : encodes_(encodes) {}

  absl::Status BeginSource(const SourceContext& source) override {
    counted_.kernels += source.kernels;
    return absl::OkStatus();
  }
  absl::Status Consume(const SourceContext& /*source*/, Batch batch) override {
    ++counted_.batches;
    if (!encodes_) return absl::OkStatus();
    counted_.wire_bytes += EncodedBytes(batch);
    AddBytesByTable(batch, counted_.bytes_by_table);
    return absl::OkStatus();
  }
  [[nodiscard]] const Condensed& counted() const { return counted_; }

 private:
  const bool encodes_;
  Condensed counted_;
};

}  // namespace

absl::StatusOr<Condensed> Condense(const std::string& path, const std::string& tmp, bool encodes) {
  CondenseFileOptions options;
  options.tmp_dir = tmp;
  Counter counter(encodes);
  LOCKSTEP_ASSIGN_OR_RETURN(const FileReport report, CondenseFile(path, options, counter));
  if (report.status != "used") {
    return absl::InvalidArgumentError(fmt::format("{}: {}: {}", path, report.status, report.reason));
  }
  Condensed counted = counter.counted();
  counted.drops = report.drops.Lost();
  return counted;
}

}  // namespace lockstep
