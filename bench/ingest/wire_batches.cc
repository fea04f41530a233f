#include "bench/ingest/wire_batches.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"
#include "analysis/model/received_batch.h"
#include "proto/batch_codec.h"

namespace lockstep {
namespace {

// Gives the names of a run the dense ids of one source again, in order of first use.
class SourceNames {
 public:
  explicit SourceNames(const std::vector<std::string>& names) : names_(names) {}

  void Translate(Batch& batch) {
    for (InstanceRow& row : batch.instances) {
      const auto [known, is_new] = ids_.try_emplace(row.name, static_cast<uint32_t>(ids_.size()));
      if (is_new) {
        const std::string& text = names_[row.name];
        batch.names.push_back({.id = known->second, .hash = HashOf(text), .text = text});
      }
      row.name = known->second;
    }
  }

 private:
  const std::vector<std::string>& names_;
  std::unordered_map<uint32_t, uint32_t> ids_;
};

}  // namespace

absl::StatusOr<std::vector<WireSource>> WireSourcesOf(LoadedRun& run) {
  std::vector<WireSource> sources;
  for (size_t i = 0; i < run.data.sources.size(); ++i) {
    WireSource source{.context = run.data.sources[i].context};
    SourceNames names(run.data.names);
    LOCKSTEP_ASSIGN_OR_RETURN(const std::unique_ptr<InstanceStream> stream, run.instances->Open(i));
    while (true) {
      Batch batch;
      LOCKSTEP_ASSIGN_OR_RETURN(batch.instances, stream->Take());
      if (batch.instances.empty()) break;
      while (stream->InMidst()) {  // as large as the batch that was stored
        LOCKSTEP_ASSIGN_OR_RETURN(std::vector<InstanceRow> more, stream->Take());
        std::move(more.begin(), more.end(), std::back_inserter(batch.instances));
      }
      batch.sequence = static_cast<int64_t>(source.bodies.size());
      if (batch.sequence == 0) batch.communicators = run.data.sources[i].communicators;
      names.Translate(batch);
      source.instances += static_cast<int64_t>(batch.instances.size());
      source.bodies.push_back(EncodeBatch(batch));
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

absl::Status DecodeAll(const WireSource& source) {
  for (const std::string& body : source.bodies) LOCKSTEP_RETURN_IF_ERROR(DecodeForStore(body).status());
  return absl::OkStatus();
}

absl::Status PutAll(JobStore& store, const WireSource& source, const Hash128& id) {
  SourceContext context = source.context;
  context.source_id = id;
  LOCKSTEP_RETURN_IF_ERROR(store.PutSource("bench", context).status());
  for (const std::string& body : source.bodies) {
    LOCKSTEP_ASSIGN_OR_RETURN(const ReceivedBatch batch, DecodeForStore(body));
    LOCKSTEP_RETURN_IF_ERROR(store.PutBatch("bench", id, HashOf(body), batch));
  }
  return absl::OkStatus();
}

}  // namespace lockstep
