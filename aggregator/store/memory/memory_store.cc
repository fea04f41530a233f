#include "aggregator/store/memory/memory_store.h"

#include <algorithm>
#include <set>

#include "aggregator/store/memory/run_assembly.h"
#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"
#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"
#include "analysis/model/received_batch.h"
#include "analysis/model/source_extent.h"

namespace lockstep {
namespace {

using InstanceBlocks = std::vector<std::shared_ptr<const InstanceBlock>>;

// Reads the blocks of one source; shared with the store, which never changes them.
class MemoryInstanceStream final : public InstanceStream {
 public:
  MemoryInstanceStream(const InstanceBlocks& blocks, const std::vector<uint32_t>& names, InstancePacking packing,
                       size_t first)
      : blocks_(blocks), names_(names), packing_(std::move(packing)), next_(first) {}

  absl::StatusOr<std::vector<InstanceRow>> Take() override {
    if (next_ == blocks_.size()) return std::vector<InstanceRow>();
    const InstanceBlock& block = *blocks_[next_++];
    std::vector<InstanceRow> rows = block.rows;
    if (!block.packed.empty()) {
      LOCKSTEP_ASSIGN_OR_RETURN(rows, packing_.unpack(block.packed));
    }
    LOCKSTEP_RETURN_IF_ERROR(TranslateNames(names_, &rows));
    return rows;
  }

  [[nodiscard]] InstancePosition Position() const override {
    if (next_ == 0) return {};
    return {static_cast<int64_t>(next_) - 1, blocks_[next_ - 1]->hash};
  }

 private:
  const InstanceBlocks blocks_;
  const std::vector<uint32_t> names_;
  const InstancePacking packing_;
  size_t next_;
};

class MemoryInstanceSource final : public InstanceSource {
 public:
  explicit MemoryInstanceSource(InstancePacking packing) : packing_(std::move(packing)) {}

  // `names`: id of the run by id of the stream.
  void Add(InstanceBlocks blocks, std::vector<uint32_t> names) {
    sources_.emplace_back(std::move(blocks), std::move(names));
  }

  absl::StatusOr<std::unique_ptr<InstanceStream>> Open(size_t source) override {
    LOCKSTEP_CHECK(source < sources_.size());
    const auto& [blocks, names] = sources_[source];
    return std::make_unique<MemoryInstanceStream>(blocks, names, packing_, 0);
  }

  absl::StatusOr<std::unique_ptr<InstanceStream>> OpenBehind(size_t source, const InstancePosition& position) override {
    LOCKSTEP_CHECK(source < sources_.size());
    if (position.number < 0) return Open(source);
    const auto& [blocks, names] = sources_[source];
    const auto last = static_cast<size_t>(position.number);
    if (last >= blocks.size() || blocks[last]->hash != position.content) {
      return absl::FailedPreconditionError("the source has other instances than those that were read");
    }
    return std::make_unique<MemoryInstanceStream>(blocks, names, packing_, last + 1);
  }

 private:
  const InstancePacking packing_;
  std::vector<std::pair<InstanceBlocks, std::vector<uint32_t>>> sources_;
};

template <typename Row>
void AppendAll(std::vector<Row>& into, const std::vector<Row>& from) {
  into.insert(into.end(), from.begin(), from.end());
}

std::vector<uint32_t> InternAll(const std::vector<NameDef>& names, RunDictionary& dictionary) {
  std::vector<uint32_t> ids;
  ids.reserve(names.size());
  for (const NameDef& name : names) ids.push_back(dictionary.Intern(name.hash, name.text));
  return ids;
}

}  // namespace

MemoryStore::Run* MemoryStore::Find(const std::string& run) {
  const auto found = runs_.find(run);
  return found == runs_.end() ? nullptr : &found->second;
}

void MemoryStore::Touch(Run& run) const {
  ++run.revision;
  run.changed_unix_ns = clock_.UnixNs();
}

absl::Status MemoryStore::OpenRun(const std::string& run, int32_t expected_ranks) {
  const MutexLock lock(mutex_);
  if (Find(run) == nullptr) {
    LOCKSTEP_RETURN_IF_ERROR(CheckRuns(limits_, static_cast<int64_t>(runs_.size()) + 1));
  }
  const auto [place, is_new] = runs_.try_emplace(run);
  Run& stored = place->second;
  if (is_new) stored.changed_unix_ns = clock_.UnixNs();
  LOCKSTEP_RETURN_IF_ERROR(CheckExpectedRanks(run, stored.info, expected_ranks));
  if (expected_ranks >= 0) stored.info.expected_ranks = expected_ranks;
  return absl::OkStatus();
}

absl::Status MemoryStore::DropRun(const std::string& run) {
  const MutexLock lock(mutex_);
  runs_.erase(run);
  return absl::OkStatus();
}

absl::Status MemoryStore::FinishRun(const std::string& run) {
  const MutexLock lock(mutex_);
  Run* const stored = Find(run);
  if (stored == nullptr) return NoSuchRun(run);
  stored->info.finished_by_hand = true;
  return absl::OkStatus();
}

absl::Status MemoryStore::SetBaseline(const std::string& name, const std::string& run) {
  LOCKSTEP_RETURN_IF_ERROR(CheckBaselineName(name));
  const MutexLock lock(mutex_);
  Run* const stored = Find(run);
  if (stored == nullptr) return NoSuchRun(run);
  int64_t others = 0;
  for (auto& [other, about] : runs_) {
    std::erase(about.info.baselines, name);
    others += static_cast<int64_t>(about.info.baselines.size());
  }
  LOCKSTEP_RETURN_IF_ERROR(CheckBaselines(others + 1));
  std::vector<std::string>& names = stored->info.baselines;
  names.insert(std::lower_bound(names.begin(), names.end(), name), name);
  return absl::OkStatus();
}

absl::Status MemoryStore::RemoveBaseline(const std::string& name) {
  const MutexLock lock(mutex_);
  for (auto& [run, about] : runs_) {
    if (std::erase(about.info.baselines, name) > 0) return absl::OkStatus();
  }
  return NoSuchBaseline(name);
}

absl::Status MemoryStore::MarkAnalysed(const std::string& run) {
  const MutexLock lock(mutex_);
  Run* const stored = Find(run);
  if (stored == nullptr) return NoSuchRun(run);
  stored->analysed_revision = stored->revision;
  return absl::OkStatus();
}

absl::StatusOr<StoredSource> MemoryStore::PutSource(const std::string& run, const SourceContext& context) {
  const MutexLock lock(mutex_);
  Run* const stored = Find(run);
  if (stored == nullptr) return NoSuchRun(run);
  if (!stored->sources.contains(context.source_id)) {
    LOCKSTEP_RETURN_IF_ERROR(CheckSources(limits_, run, static_cast<int64_t>(stored->sources.size()) + 1));
  }
  const auto [place, is_new] = stored->sources.try_emplace(context.source_id);
  Source& source = place->second;
  if (is_new || MustReplace(source.data.context, context)) {
    source.data.context = context;
    Touch(*stored);
  }
  return StoredSource{context.source_id, source.stream.next_sequence - 1, source.stream.complete};
}

absl::Status MemoryStore::PutBatch(const std::string& run, const Hash128& source_id, const Hash128& hash,
                                   const ReceivedBatch& received) {
  const Batch& batch = received.batch;
  SharedBlock instances = BlockOf(hash, received);
  const MutexLock lock(mutex_);
  Run* const stored = Find(run);
  if (stored == nullptr) return NoSuchRun(run);
  const auto found = stored->sources.find(source_id);
  if (found == stored->sources.end()) return NoSuchSource(run, source_id);
  Source& source = found->second;
  if (batch.sequence >= 0 && batch.sequence < source.stream.next_sequence) {
    const Hash128& known = source.hashes[static_cast<size_t>(batch.sequence)];
    if (known == hash) return absl::OkStatus();
    ++source.conflicts;
    Touch(*stored);
    return ConflictingBatch(source_id, batch.sequence, known, hash);
  }
  if (batch.sequence != source.stream.next_sequence) {
    return SequenceHole(source_id, batch.sequence, source.stream.next_sequence);
  }
  LOCKSTEP_RETURN_IF_ERROR(CheckBatch(source.stream, received));
  LOCKSTEP_RETURN_IF_ERROR(TakeNames(run, *stored, batch));
  source.hashes.push_back(hash);
  const bool was_complete = source.stream.complete;
  source.stream = After(source.stream, received);
  if (source.stream.complete && !was_complete) ++stored->info.complete_sources;
  Append(source, batch, std::move(instances));
  Touch(*stored);
  return absl::OkStatus();
}

absl::Status MemoryStore::TakeNames(const std::string& name, Run& run, const Batch& batch) const {
  std::set<Hash128> fresh;
  for (const NameDef& each : batch.names) {
    if (!run.names.contains(each.hash)) fresh.insert(each.hash);
  }
  LOCKSTEP_RETURN_IF_ERROR(CheckNames(limits_, name, static_cast<int64_t>(run.names.size() + fresh.size())));
  run.names.merge(fresh);
  return absl::OkStatus();
}

MemoryStore::SharedBlock MemoryStore::BlockOf(const Hash128& hash, const ReceivedBatch& received) const {
  if (received.instances.count == 0) return nullptr;
  auto block = std::make_shared<InstanceBlock>();
  block->hash = hash;
  if (packing_.pack) {
    block->packed = packing_.pack(received);
  } else {
    LOCKSTEP_CHECK(received.packed.empty());
    block->rows = received.batch.instances;
  }
  return block;
}

void MemoryStore::Append(Source& source, const Batch& batch, SharedBlock instances) {
  AppendAll(source.names, batch.names);
  SourceData& data = source.data;
  AppendAll(data.communicators, batch.communicators);
  AppendAll(data.steps, batch.steps);
  AppendAll(data.buckets, batch.buckets);
  AppendAll(data.step_kernels, batch.step_kernels);
  AppendAll(data.memory, batch.memory);
  AppendAll(data.apis, batch.apis);
  AppendAll(data.ranges, batch.ranges);
  AppendAll(data.launches, batch.launches);
  AppendAll(data.kernels, batch.kernels);
  if (batch.summary.has_value()) data.summary = *batch.summary;
  if (instances != nullptr) source.instances.push_back(std::move(instances));
  data.instance_count = source.stream.instances;
  data.complete = source.stream.complete;
}

absl::Status MemoryStore::PutFileNote(const std::string& run, const FileNote& note) {
  const MutexLock lock(mutex_);
  Run* const stored = Find(run);
  if (stored == nullptr) return NoSuchRun(run);
  const std::pair place{note.path, note.host};
  const auto found = stored->files.find(place);
  if (found != stored->files.end() && found->second == note) return absl::OkStatus();
  if (found == stored->files.end()) {
    LOCKSTEP_RETURN_IF_ERROR(CheckFiles(limits_, run, static_cast<int64_t>(stored->files.size()) + 1));
  }
  stored->files[place] = note;
  Touch(*stored);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Hash128>> MemoryStore::Lacking(const std::string& run,
                                                          const std::vector<SourceExtent>& extents) {
  const MutexLock lock(mutex_);
  const Run* const stored = Find(run);
  if (stored == nullptr) return NoSuchRun(run);
  std::set<Hash128> notes;
  for (const auto& [place, note] : stored->files) notes.insert(FileNoteId(note));
  std::vector<Hash128> lacking;
  for (const SourceExtent& extent : extents) {
    const auto found = stored->sources.find(extent.id);
    const bool known = found != stored->sources.end();
    if (!(known ? Covers(found->second.stream, extent) : notes.contains(extent.id))) lacking.push_back(extent.id);
  }
  return lacking;
}

absl::Status MemoryStore::PutRanks(const std::string& run, const std::vector<std::pair<Hash128, int32_t>>& ranks) {
  const MutexLock lock(mutex_);
  const Run* const stored = Find(run);
  if (stored == nullptr) return NoSuchRun(run);
  for (const auto& [source, rank] : ranks) {
    if (!stored->sources.contains(source)) return NoSuchSource(run, source);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<Hash128, Hash128>> MemoryStore::ContentHashes(const std::string& run) {
  const MutexLock lock(mutex_);
  const Run* const stored = Find(run);
  if (stored == nullptr) return NoSuchRun(run);
  std::map<Hash128, Hash128> contents;
  for (const auto& [id, source] : stored->sources) {
    ContentHash content;
    for (const Hash128& hash : source.hashes) content.Add(hash);
    contents.emplace(id, content.Finish());
  }
  return contents;
}

absl::StatusOr<std::vector<SourceContext>> MemoryStore::LoadContexts(const std::string& run) {
  const MutexLock lock(mutex_);
  const Run* const stored = Find(run);
  if (stored == nullptr) return NoSuchRun(run);
  std::vector<SourceContext> contexts;
  for (const auto& [id, source] : stored->sources) contexts.push_back(source.data.context);
  return contexts;
}

RunInfo MemoryStore::Describe(const std::string& name, const Run& run) {
  RunInfo info = run.info;
  info.name = name;
  info.revision = run.revision;
  info.changed_unix_ns = run.changed_unix_ns;
  std::vector<SourcePresence> presences;
  for (const auto& [id, source] : run.sources) {
    presences.push_back(PresenceOf(source.data.context, source.stream.complete));
  }
  info.sources = static_cast<int64_t>(run.sources.size());
  const bool analysed = run.analysed_revision == run.revision;
  info.state = StateOf({info.expected_ranks, info.finished_by_hand, analysed}, presences);
  return info;
}

absl::StatusOr<std::vector<RunInfo>> MemoryStore::ListRuns() {
  const MutexLock lock(mutex_);
  std::vector<RunInfo> infos;
  for (const auto& [name, run] : runs_) infos.push_back(Describe(name, run));
  return infos;
}

absl::StatusOr<bool> MemoryStore::IsComplete(const std::string& run) {
  const MutexLock lock(mutex_);
  const Run* const stored = Find(run);
  if (stored == nullptr) return NoSuchRun(run);
  RunGlance glance;
  glance.sources = static_cast<int64_t>(stored->sources.size());
  glance.all_complete = stored->info.complete_sources == glance.sources;
  if (!stored->sources.empty()) {
    glance.world_size = stored->sources.begin()->second.data.context.world_size.value_or(-1);
  }
  if (IsPlainlyOpen({stored->info.expected_ranks, stored->info.finished_by_hand}, glance)) return false;
  return Describe(run, *stored).state != RunState::kOpen;
}

absl::StatusOr<RunContent> MemoryStore::ContentOf(const std::string& run) {
  const MutexLock lock(mutex_);
  const Run* const stored = Find(run);
  if (stored == nullptr) return NoSuchRun(run);
  return RunContent{.revision = stored->revision,
                    .changed_unix_ns = stored->changed_unix_ns,
                    .expected_ranks = stored->info.expected_ranks,
                    .finished_by_hand = stored->info.finished_by_hand};
}

absl::StatusOr<std::vector<RunUsage>> MemoryStore::Usage() {
  const MutexLock lock(mutex_);
  std::vector<RunUsage> usage;
  for (const auto& [name, run] : runs_) {
    RunUsage& entry = usage.emplace_back(
        RunUsage{.info = Describe(name, run), .bytes = sizeof(Run), .changed_unix_ns = run.changed_unix_ns});
    for (const auto& [id, source] : run.sources) {
      entry.bytes += static_cast<int64_t>(sizeof(Source) + source.data.kernels.size() * sizeof(KernelRow));
      for (const SharedBlock& block : source.instances) {
        entry.bytes += static_cast<int64_t>(block->packed.size() + block->rows.size() * sizeof(InstanceRow));
      }
    }
  }
  return usage;
}

absl::StatusOr<LoadedRun> MemoryStore::LoadRun(const std::string& run) {
  const MutexLock lock(mutex_);
  const Run* const stored = Find(run);
  if (stored == nullptr) return NoSuchRun(run);
  LoadedRun loaded;
  loaded.data.info = Describe(run, *stored);
  auto instances = std::make_unique<MemoryInstanceSource>(packing_);
  RunDictionary dictionary;
  for (const auto& [id, source] : stored->sources) {
    std::vector<uint32_t> names = InternAll(source.names, dictionary);
    SourceData& data = loaded.data.sources.emplace_back(source.data);
    data.summary.drops.Add(DropReason::kConflictingBatch, source.conflicts);
    data.kernels = MergeKernels(std::move(data.kernels));
    MergeSummaries(&data);
    LOCKSTEP_RETURN_IF_ERROR(TranslateNames(names, &data));
    instances->Add(source.instances, std::move(names));
  }
  loaded.data.names = dictionary.Take();
  for (const auto& [place, note] : stored->files) loaded.data.files.push_back(note);
  std::sort(loaded.data.files.begin(), loaded.data.files.end(), NoteBefore);
  loaded.instances = std::move(instances);
  return loaded;
}

}  // namespace lockstep
