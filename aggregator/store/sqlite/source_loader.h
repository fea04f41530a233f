// Reads the tables of one source back, all of them or those of later batches.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aggregator/store/job_store.h"
#include "aggregator/store/sqlite/run_loader.h"
#include "analysis/model/run_data.h"
#include "platform/sqlite.h"

namespace lockstep {

// The dictionary of a run: numbers in order of first use, when sources are asked about in order of their id. Each text
// is read once, however many sources use it. Not thread safe.
class NamesOfRun {
 public:
  [[nodiscard]] static absl::StatusOr<NamesOfRun> Load(Database& db, int64_t run);
  // Of a row id. kDataLoss: there is no such name.
  [[nodiscard]] absl::StatusOr<uint32_t> NumberOf(int64_t id);
  [[nodiscard]] std::vector<std::string> Take() { return std::move(texts_); }

 private:
  struct Name {
    std::string text;  // until it has a number
    uint32_t number = kNoId;
  };
  std::unordered_map<int64_t, Name> names_;  // by row id
  std::vector<std::string> texts_;
};

// What most is to be unpacked of, as it is stored.
struct PackedTables {
  std::vector<std::string> kernels;
  std::vector<std::string> buckets;
  std::vector<std::string> step_kernels;
};

struct LoadedSource {
  int64_t id = 0;
  int64_t conflicts = 0;
  SourceData data;
  LoadedTables tables;
  PackedTables packed;
  std::vector<uint32_t> names;  // id of the run's dictionary by id of the stream
};

class SourceLoader {
 public:
  // `source` is a row id. The database must outlive this.
  SourceLoader(Database& db, int64_t source) : db_(db), source_(source) {}

  // Loads all but what it leaves packed; `loaded` has its context.
  [[nodiscard]] absl::Status Load(RunTables tables, const HadTables& had, LoadedSource* loaded);
  [[nodiscard]] absl::StatusOr<std::vector<uint32_t>> LoadNames(NamesOfRun& names);

 private:
  // Where the source ends, and behind which batch its tables are to be loaded.
  absl::Status FindBegin(const HadTables& had, LoadedSource* loaded);
  absl::Status LoadCommunicators(SourceData* data);
  absl::Status LoadSteps(SourceData* data);
  absl::Status LoadSingleStepKernels(SourceData* data);
  absl::Status LoadBlobs(std::string_view sql, std::initializer_list<int64_t> parameters,
                         std::vector<std::string>* blobs);
  absl::Status LoadSummary(SourceData* data);

  Database& db_;
  const int64_t source_;
  int64_t behind_ = -1;  // the sequence of a batch
};

// The rest of a source's data, with the numbers of the run's dictionary. Needs no database.
[[nodiscard]] absl::Status Unpack(LoadedSource& loaded);

}  // namespace lockstep
