// How stored pieces become a RunData, the same for every backend: merging of equal keys, the run's dictionary, run
// states, order of files. All results are independent of the order in which sources arrived. Pure values; no thread
// rule.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/base/hash128.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/kernel_row.h"
#include "analysis/model/run_data.h"

namespace lockstep {

// Rows with equal keys become one (sketches merged by slice, the 8 longest kept): exact, whatever the cut into batches.
// Kernels come out ordered by name id, the others by first appearance.
[[nodiscard]] std::vector<KernelRow> MergeKernels(std::vector<KernelRow> rows);
// Memory, API and range rows likewise; of launch rows with equal keys, which no agent sends, the first counts.
void MergeSummaries(SourceData* source);

// Moves the tables of earlier batches of a source before what JobStore::LoadRest gave of the later ones; all else of
// `earlier` stays. Names mean the same in both.
void JoinTables(SourceData& earlier, SourceData* rest);
// Leaves communicators and steps alone.
void DropTables(SourceData* source);
// About how many bytes the tables take.
[[nodiscard]] int64_t BytesOfTables(const SourceData& source);

// The distribution of all slices of a row together.
[[nodiscard]] Sketch WholeDistribution(const KernelRow& row);

// The run's dictionary: indices in order of first use, when sources are added in order of their id.
class RunDictionary {
 public:
  uint32_t Intern(const Hash128& hash, const std::string& text);
  [[nodiscard]] std::vector<std::string> Take() { return std::move(texts_); }

 private:
  std::map<Hash128, uint32_t> ids_;
  std::vector<std::string> texts_;
};

// Replaces the stream's name ids by those of the run; `ids` is indexed by the stream's ids. kDataLoss: a row of a
// damaged store refers to a name that is not there.
[[nodiscard]] absl::Status TranslateNames(std::span<const uint32_t> ids, SourceData* source);
[[nodiscard]] absl::Status TranslateNames(std::span<const uint32_t> ids, std::vector<InstanceRow>* rows);

// What decides about the state of a run.
struct SourcePresence {
  std::optional<int32_t> rank;  // best claim
  std::optional<int32_t> world_size;
  bool complete = false;
};
struct RunFacts {
  int32_t expected_ranks = -1;
  bool finished_by_hand = false;
  bool analysed = false;  // the answer for the present content was computed
};
[[nodiscard]] SourcePresence PresenceOf(const SourceContext& context, bool complete);
// Complete: finished by hand, or all sources complete and as many ranks present as are expected (--expect-ranks, else
// the largest world size that a source claims; a source without a claim counts as one rank). Where nobody says how many
// there are, those that came are all; without any it is open.
[[nodiscard]] RunState StateOf(const RunFacts& facts, std::span<const SourcePresence> sources);

// What tells of most open runs that they are, without a look at each source.
struct RunGlance {
  int64_t sources = 0;
  bool all_complete = false;
  int64_t world_size = -1;  // the largest that a source claims, or any less; -1 = none
};
// Never true where StateOf says anything but kOpen.
[[nodiscard]] bool IsPlainlyOpen(const RunFacts& facts, const RunGlance& glance);

// OK, or kFailedPrecondition: a run finished by hand keeps its expected ranks.
[[nodiscard]] absl::Status CheckExpectedRanks(const std::string& run, const RunInfo& stored, int32_t expected_ranks);
// True if the offered context of a known source is to be kept instead of the stored one. The same file with other rank
// claims: the later one. Equal copies of a file: the one whose best claim is more trusted, then the least path, then
// the least host, so that the order of arrival decides nothing.
[[nodiscard]] bool MustReplace(const SourceContext& stored, const SourceContext& offered);

// The refusals that all backends give.
[[nodiscard]] absl::Status NoSuchRun(const std::string& run);
[[nodiscard]] absl::Status NoSuchSource(const std::string& run, const Hash128& source);
[[nodiscard]] absl::Status SequenceHole(const Hash128& source, int64_t sequence, int64_t expected);
[[nodiscard]] absl::Status ConflictingBatch(const Hash128& source, int64_t sequence, const Hash128& stored,
                                            const Hash128& offered);

}  // namespace lockstep
