// Any bytes as the file of a store: refused with a reason, or opened and read to the end; what it still takes it gives
// back. No view, trigger or virtual table of a stranger runs.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "aggregator/store/sqlite/sqlite_store.h"
#include "analysis/base/check.h"
#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"
#include "analysis/model/received_batch.h"

namespace lockstep {
namespace {

constexpr size_t kMaxRunsRead = 4;

// In memory: files of a disk would be synchronised thousands of times a second.
class StoreFile {
 public:
  StoreFile() {
    const bool has_memory = ::access("/dev/shm", W_OK) == 0;
    std::string folder = std::string(has_memory ? "/dev/shm" : "/tmp") + "/store-fuzzer-XXXXXX";
    LOCKSTEP_CHECK(::mkdtemp(folder.data()) != nullptr);
    folder_ = folder;
  }
  ~StoreFile() {
    Remove();
    ::rmdir(folder_.c_str());
  }
  StoreFile(const StoreFile&) = delete;
  StoreFile& operator=(const StoreFile&) = delete;

  void Write(std::string_view bytes) const {
    Remove();
    std::FILE* file = std::fopen(path().c_str(), "wb");
    LOCKSTEP_CHECK(file != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size());
    std::fclose(file);
  }
  [[nodiscard]] std::string path() const { return folder_ + "/store"; }

 private:
  void Remove() const {
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) std::remove((path() + suffix).c_str());
  }

  std::string folder_;
};

template <typename Value>
bool IsGood(const absl::StatusOr<Value>& answer) {
  LOCKSTEP_CHECK(answer.ok() || !answer.status().message().empty());
  return answer.ok();
}

void ReadInstances(InstanceSource& instances, const RunData& run) {
  for (size_t source = 0; source < run.sources.size(); ++source) {
    auto stream = instances.Open(source);
    if (!IsGood(stream)) return;
    bool more = true;
    while (more) {
      const auto block = (*stream)->Next();
      more = IsGood(block) && !block->empty();
      if (more) {
        for (const InstanceRow& row : *block) LOCKSTEP_CHECK(row.name < run.names.size());
      }
    }
  }
}

void ReadAll(SqliteStore& store) {
  const auto runs = store.ListRuns();
  if (!IsGood(runs)) return;
  for (size_t i = 0; i < runs->size() && i < kMaxRunsRead; ++i) {
    auto loaded = store.LoadRun((*runs)[i].name);
    if (IsGood(loaded)) ReadInstances(*loaded->instances, loaded->data);
  }
  IsGood(store.Usage());
}

void WriteSome(SqliteStore& store) {
  if (!store.OpenRun("new", 2).ok()) return;
  SourceContext context;
  context.source_id = {1, 2};
  const auto before = store.PutSource("new", context);
  if (!IsGood(before)) return;
  Batch batch;
  batch.sequence = before->last_sequence + 1;
  if (!store.PutBatch("new", context.source_id, {3, 4}, batch).ok()) return;
  const auto after = store.PutSource("new", context);
  if (IsGood(after)) LOCKSTEP_CHECK(after->last_sequence >= batch.sequence);
}

void Try(std::string_view bytes) {
  static const StoreFile kFile;
  kFile.Write(bytes);
  auto store = SqliteStore::Open(kFile.path());
  if (!IsGood(store)) return;
  ReadAll(**store);
  WriteSome(**store);
  ReadAll(**store);
}

}  // namespace
}  // namespace lockstep

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::Try(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
