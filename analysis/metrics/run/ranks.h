// Which global rank each source is, on which host and in which clock domain: ResolveRanks, one pure function for
// analyze and aggregator alike.
//
// Precedence (interface.md): rank map > trace metadata > MPI > NCCL init > environment > file name > assumed.
// A process is one rank on its main device (most kernel time); a further device that takes part in its collectives is a
// rank of its own (process_devices.h), which keeps only a claim that differs from the first device's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/metrics/run/analysis_options.h"
#include "analysis/model/run_data.h"

namespace lockstep {

struct ResolvedRank {
  size_t source = 0;  // index into RunData::sources
  int32_t rank = -1;
  RankSource rank_source = RankSource::kAssumed;
  std::string host;  // "" = unknown
  HostSource host_source = HostSource::kUnknown;
  int32_t domain =
      0;  // clock domain before matching, dense, ordered by lowest rank; MatchResult::clock has the final one
  int32_t capture = 0;
};

// The recordings of a run that has several, one after the other.
struct RunCaptures {
  struct One {
    int32_t ranks = 0;     // that have it
    int64_t start_ns = 0;  // as the traces claim
    int64_t end_ns = 0;
  };
  std::vector<One> all;  // in order of time
  int32_t chosen = 0;
  bool asked = false;  // by --capture; else it is the last one that most ranks have
};

// A source that repeats another one, or has nothing of a device: nothing is lost without it.
struct LeftOutSource {
  size_t source = 0;
  std::string reason;
};

// A source that is not analysed although it may hold something, and why.
struct RefusedSource {
  size_t source = 0;
  int32_t rank = -1;
  DropReason reason = DropReason::kDuplicateRank;
  std::string detail;
};

struct RankResolution {
  std::vector<ResolvedRank> ranks;  // by rank; the analysis speaks of indices into this list
  std::vector<RefusedSource> refused;
  std::vector<LeftOutSource> left_out;
  std::optional<RunCaptures> captures;  // set if the run has several
  std::optional<int32_t> world_size;
  // Of the world (where its size is not stated: below the highest rank), or of which there are traces but none that is
  // analysed; ascending.
  std::vector<int32_t> missing_ranks;
  bool some_without_device_rows = false;  // of `ranks`: what they did, and with whom, is not known
  // Of `ranks`: they ran kernels but have no record of any collective, while others have many. Either these records
  // are lost (a file that was cut, say), or they are in CUDA graphs traced as a whole, or the ranks take part in none.
  // Ascending.
  std::vector<int32_t> silent_ranks;
  // More than 0: the windows of the traces are so far apart, and they are one run only because together they are all
  // ranks of their world, or because the person says so.
  int64_t clocks_apart_ns = 0;
  int32_t assumed = 0;
  // More than one group: these files are several runs (contradicting world sizes, no common time, ...): nothing is
  // analysed, exit 2. Each group lists sources.
  std::vector<std::vector<size_t>> groups;
  std::string groups_reason;
  bool host_conflict = false;  // two machines with one name were split: known after matching, see MatchResult
  // What was odd about the claims of rank and world size (contradictions that were settled by precedence), for people.
  std::vector<std::string> notes;
};

// World sizes beyond this are taken for damage and ignored.
inline constexpr int32_t kMaxWorldSize = 1 << 20;

// Whether a group that no trace tells may have members that are not seen in it.
[[nodiscard]] inline bool LacksPartners(const RankResolution& ranks) {
  return !ranks.missing_ranks.empty() || !ranks.silent_ranks.empty();
}

// Ranks of the world, as stated; else as many as the numbers of the present and the missing ones show.
[[nodiscard]] int32_t LeastWorldSize(const RankResolution& ranks);

[[nodiscard]] RankResolution ResolveRanks(const RunData& run, const AnalysisOptions& options);

}  // namespace lockstep
