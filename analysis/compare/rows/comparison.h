// The document "lockstep.comparison/1": two sides of one or more runs each, and what changed from the base to the new
// side. More time is worse throughout; a change is new minus base. Every number
// belongs to a side, whose runs carry their context.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/report/fields/record.h"

namespace lockstep::report {

inline constexpr std::string_view kComparisonSchema = "lockstep.comparison/1";

// The verdict of a change.
inline constexpr std::string_view kSlowerWord = "slower";
inline constexpr std::string_view kFasterWord = "faster";
inline constexpr std::string_view kSameWord = "same";
inline constexpr std::string_view kUnclearWord = "unclear";
inline constexpr std::string_view kNotEnoughWord = "not_enough_steps";

using OptionalRange = std::optional<std::pair<double, double>>;

struct ComparedRunHead {
  std::string name;
  Count ranks;
  std::optional<Digits> start_unix_ns;
  Count steps;
  Count warm_up_steps;
  std::optional<double> step_time_ns;
  std::vector<std::string> failed_gates;
  Keyed<std::string> context;

  static const Record& Fields();
};

struct ContextDifference {
  std::string key;
  std::optional<std::string> base;
  std::optional<std::string> fresh;
  bool blocks = false;

  static const Record& Fields();
};

struct Comparable {
  std::string verdict;
  std::vector<std::string> reasons;
  std::optional<double> matched_time_ratio;
  std::vector<ContextDifference> differences;

  static const Record& Fields();
};

struct Noise {
  std::string source;
  std::optional<double> ratio;
  Count runs;

  static const Record& Fields();
};

struct ComparisonHeadline {
  std::string verdict;
  std::string sentence;
  std::string sureness;
  std::vector<std::string> details;

  static const Record& Fields();
};

struct MetricChange {
  std::string metric;
  std::string unit;
  std::optional<double> base;
  std::optional<double> fresh;
  std::optional<double> change;
  std::optional<double> change_ratio;
  OptionalRange interval;
  OptionalRange interval_ratio;
  std::optional<double> excluded_ratio;
  std::string verdict;
  std::optional<double> n_eff;
  std::optional<Count> steps_needed;
  std::optional<Count> repeats_needed;

  static const Record& Fields();
};

struct LedgerEntry {
  std::string part;
  std::string kind;
  std::string label;
  std::optional<int32_t> rank;
  int64_t base_ns_per_step = 0;
  int64_t new_ns_per_step = 0;
  int64_t change_ns_per_step = 0;
  OptionalRange interval;

  static const Record& Fields();
};

// What one or more kernels, which are summed, cost a step on the mean rank.
struct KernelSide {
  std::vector<std::string> names;
  double ns_per_step = 0;
  double instances_per_step = 0;
  std::optional<int64_t> p50_ns;
  std::optional<int64_t> p99_ns;
  bool estimated = false;

  static const Record& Fields();
};

struct KernelChange {
  std::optional<KernelSide> base;
  std::optional<KernelSide> fresh;
  std::string match;
  std::string matched_by;
  std::string certainty;
  std::string explanation;
  std::optional<std::string> category;
  std::optional<std::string> family;
  std::string role;
  double change_ns_per_step = 0;
  std::optional<double> change_ratio;
  OptionalRange interval;
  std::string verdict;

  static const Record& Fields();
};

struct FamilyChange {
  std::string family;
  double base_ns_per_step = 0;
  double new_ns_per_step = 0;
  double change_ns_per_step = 0;
  std::optional<double> change_ratio;

  static const Record& Fields();
};

struct RoleChange {
  std::string role;
  double base_ns_per_step = 0;
  double new_ns_per_step = 0;
  double change_ns_per_step = 0;
  std::optional<double> change_ratio;
  std::optional<double> base_ns_per_token;
  std::optional<double> new_ns_per_token;
  std::optional<double> per_token_change_ratio;

  static const Record& Fields();
};

struct CollectiveSide {
  double instances_per_step = 0;
  std::optional<double> wait_p50_ns;
  double wait_ns_per_step = 0;
  std::optional<double> transfer_p50_ns;
  std::optional<double> transfer_p99_ns;
  std::optional<double> bus_bandwidth_gbps;

  static const Record& Fields();
};

struct CollectiveChange {
  std::optional<std::string> op;
  std::optional<std::string> dtype;
  std::optional<Count> bytes;
  Count members;
  std::optional<std::string> desc;
  std::optional<CollectiveSide> base;
  std::optional<CollectiveSide> fresh;
  std::optional<double> transfer_change_ratio;

  static const Record& Fields();
};

struct LateSide {
  double share_of_wait_ratio = 0;
  double confidence = 0;
  std::optional<std::string> cause;
  double wait_ns_per_step = 0;

  static const Record& Fields();
};

struct LateChange {
  std::string scope;
  std::string id;
  std::optional<std::string> host;
  std::optional<LateSide> base;
  std::optional<LateSide> fresh;
  std::string change;

  static const Record& Fields();
};

struct RankSide {
  int32_t rank = 0;
  std::optional<std::string> host;
  std::optional<std::string> gpu_uuid;
  double compute_ns_per_step = 0;
  double exposed_wait_ns_per_step = 0;
  double idle_ns_per_step = 0;
  std::optional<double> caused_wait_ns_per_step;

  static const Record& Fields();
};

struct RankChange {
  RankSide base;
  RankSide fresh;
  double compute_change_ratio = 0;
  std::optional<double> caused_wait_change_ns_per_step;

  static const Record& Fields();
};

struct RankPairing {
  std::string by;
  std::string reason;
  std::vector<RankChange> ranks;
  std::optional<double> efficiency;
  std::optional<std::string> scaling;

  static const Record& Fields();
};

struct HostChange {
  std::string host;
  std::vector<std::string> base_hosts;
  Count ranks;
  double compute_change_ratio = 0;
  std::optional<double> against_others_ratio;
  OptionalRange against_others_interval;
  std::optional<double> caused_wait_change_ns_per_step;

  static const Record& Fields();
};

struct GateResult {
  std::string gate;
  std::string metric;
  std::optional<double> value;
  OptionalRange interval;
  double limit = 0;
  std::string verdict;

  static const Record& Fields();
};

struct ComparisonDocument {
  std::string schema = std::string(kComparisonSchema);
  std::vector<std::string> notices;
  std::vector<ComparedRunHead> base;
  std::vector<ComparedRunHead> fresh;
  Comparable comparable;
  Noise noise;
  ComparisonHeadline headline;
  std::vector<MetricChange> metrics;
  std::vector<LedgerEntry> ledger;
  std::vector<KernelChange> kernels;
  std::vector<FamilyChange> families;
  std::vector<RoleChange> roles;
  std::vector<CollectiveChange> collectives;
  std::vector<LateChange> late;
  RankPairing ranks;
  std::vector<HostChange> hosts;
  std::vector<GateResult> gates;

  static const Record& Fields();
};

}  // namespace lockstep::report
