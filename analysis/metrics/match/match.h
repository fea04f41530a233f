// Collective instances joined across ranks, with the confidence of the join.
//
// By id (comms id, else group and sequence number), else by communicator, operation and order, else by kernel names
// alone, with the certificate and the confidence of docs/algorithms/matching.md. The joined instances align the clocks
// of the ranks' domains (clock_align), and where no ids are, the aligned clocks decide the final join.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/metrics/clock_align/clock_model.h"
#include "analysis/metrics/run/analysis_options.h"
#include "analysis/metrics/run/ranks.h"
#include "analysis/model/row_values.h"
#include "analysis/model/run_data.h"

namespace lockstep {

enum class MatchKind : uint8_t { kId = 0, kOrder = 1, kInferred = 2, kAmbiguous = 3, kNone = 4 };
[[nodiscard]] std::string_view Name(MatchKind kind);  // "id" | "order" | "inferred" | "ambiguous" | "none"

// A communicator of the run. id = short hash of (sorted members, discriminator), equal in all trace formats.
struct Communicator {
  std::string id;
  std::string name;  // process group name; "" = none
  std::string desc;
  std::vector<int32_t> members;  // global ranks; empty = unknown
  int32_t size = -1;             // members.size(), or what the trace says when members are unknown
  bool inferred = false;         // membership assumed, not told by the trace
};

struct MatchedMember {
  int32_t rank_index = 0;  // into RankResolution::ranks
  int64_t row = 0;         // ordinal of the instance in its source's stream of all instances (order of start)
  int64_t start_ns = 0;    // aligned, absolute
  int64_t end_ns = 0;
  int64_t arrival_ns = 0;           // a_i: when what this member surely waits for has arrived
  int64_t wait_ns = 0;              // min(a_i, e_i) - s_i >= 0
  int64_t lateness_times_m_ns = 0;  // m * s_i - sum s_j, exact
  int64_t correction_ns = 0;        // local - aligned at the start: start_ns + correction_ns is the trace's own time
  int64_t wait_uncertainty_ns = 0;  // half-width of the 95 % interval of wait_ns; 0 where it waits for nobody
  int32_t awaits = -1;              // rank index whose start is a_i; -1 = itself, or nobody
  bool awaits_certainly = false;    // no other member, nor one without a record, can have been what it waited for
  int64_t latest_arrival_ns = 0;    // until when it may have waited at most, >= a_i; kNeverArrived: nothing tells
};

inline constexpr int64_t kNeverArrived = INT64_MAX;

inline constexpr double kCertainConfidence = 0.99;  // from there on what is joined counts

// A found instance; matched when it has at least two members joined. The words of its arrival (spread, wait, lateness,
// transfer, solo damage) are those of definitions; across clocks (not comparable) they are 0 or -1 and say nothing.
struct MatchedInstance {
  uint32_t communicator = 0;  // index into MatchResult::communicators
  int64_t index = 0;          // 0-based in the communicator by (A, lowest rank)
  int64_t seq = kNoSeq;
  CollectiveOp op = CollectiveOp::kUnknown;
  DataType dtype = DataType::kUnknown;
  CollectiveLibrary library = CollectiveLibrary::kNone;
  int64_t bytes = kUnknownBytes;
  int64_t step = kNoStep;
  MatchKind kind = MatchKind::kNone;
  double confidence = 0;
  bool complete = false;      // all members of the communicator are told, and every one has its record here
  bool lacking = false;       // a member of the communicator, told or likely, has no record here
  bool comparable = false;    // all members lie in one clock component
  bool resolvable = false;    // comparable and spread > uncertainty
  bool last_certain = false;  // nobody else can have been the last one, nor a member without a record
  int64_t spread_ns = 0;
  int64_t uncertainty_ns = -1;  // U of the spread: of the pair (first, last), wider on ties; -1 = not comparable
  int64_t transfer_ns = -1;     // -1 = null
  int64_t shortest_duration_ns = 0;
  int64_t end_spread_ns = 0;
  int64_t solo_damage_ns = 0;
  int32_t first_rank_index = -1;
  int32_t last_rank_index = -1;
  int64_t last_start_ns = 0;           // aligned, of that rank
  std::vector<MatchedMember> members;  // by rank
  bool all_pairs = false;              // every member waits for every other one
  // Of a row that is joined with none: nobody told with whom it could be; others of its communicator are there.
  bool no_group = false;
  bool unmatched = false;
  bool in_sequence = false;  // one of the collectives that every member has in the same order

  [[nodiscard]] bool matched() const { return members.size() >= 2; }
  // Confident and on one clock: what statistics of skew are made of.
  [[nodiscard]] bool usable() const { return matched() && comparable && confidence >= kCertainConfidence; }
};

// What an interval split needs of one instance of one rank, in the order of that source's stream: it waits until
// arrival_ns and transfers from latest_ns on; what it does between them cannot be told.
struct ArrivalOfRow {
  int64_t arrival_ns = 0;  // a_i; meaningful if usable
  bool usable = false;
  bool resolved = false;   // matched confidently, comparable, and U <= wait (or no wait at all)
  bool duplicate = false;  // of a record that was told twice: in no instance
  int32_t instance = -1;   // index into MatchResult::instances
  int64_t latest_ns = 0;   // MatchedMember::latest_arrival_ns, or anything below a_i; meaningful if usable
};

// Where the sequence of a rank's instances broke: from here on its k-th is no longer the others' k-th.
struct SequenceBreak {
  uint32_t communicator = 0;
  int32_t rank_index = -1;
  int64_t at_ns = 0;     // aligned, of the first instance the rank lacks (missing > 0) or has too many (< 0)
  int64_t missing = 0;   // instances that the others have and it has not; negative: extra ones
  bool at_edge = false;  // before its first or after its last instance: its capture is shorter, nothing was lost
};

// Collectives that a rank lacks although the others of its groups recorded them: lost by the tracer, or not joined.
// Only between the rank's own first and last one of that group: a shorter capture has lost nothing.
struct LostCollectives {
  int32_t rank_index = -1;
  int64_t lost = 0;
  int64_t expected = 0;  // confident ones of its groups in its time
  int64_t first_ns = 0;  // aligned: the others' first arrival in the first it lacks
  // A tenth or more: too many for figures of that rank.
  [[nodiscard]] bool IsMuch() const { return lost * 10 >= expected; }
};

// What the matching says of the run as a whole.
struct RunMatch {
  std::vector<Communicator> communicators;  // ordered by id
  ClockModel clock;  // with the final domains: assumptions about hosts are confirmed or split by the matching
  // Of communicators in which anything is joined; by communicator, rank, time; bounded per rank, the counters hold all.
  std::vector<SequenceBreak> breaks;
  // Of the ranks that lack any; by share lost, descending, then rank index. Groups of unknown members are passed over.
  std::vector<LostCollectives> lost;
  // unmatched_instance, ambiguous_instance, no_group, duplicate_record (in no instance); the sum of rank_drops
  DropCounters drops;
  std::vector<DropCounters> rank_drops;  // by rank index
  std::vector<HostSource> host_sources;  // by rank index: kAssumed where an unknown host was confirmed to be one
  bool host_conflict = false;            // ranks of one host name are on different clocks: split
};

struct MatchResult : RunMatch {
  std::vector<MatchedInstance> instances;           // ordered by (communicator, index)
  std::vector<std::vector<ArrivalOfRow>> arrivals;  // [rank index][row]
};

}  // namespace lockstep
