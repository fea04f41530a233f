// Clock domains of the ranks: which of them can be compared in time at all.
//
// A capture session of nsys is one domain. The Kineto files of one host are one; those of unknown hosts given together
// are taken for one host if their device ordinals are pairwise distinct. Such assumptions are tested with the
// collectives that the ranks share (RefineDomains): a host name may be shared by two machines, and unknown hosts may be
// several.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/run/ranks.h"
#include "analysis/model/run_data.h"

namespace lockstep {

enum class DomainBasis : uint8_t {
  kSession = 0,      // one capture session: certain
  kHost = 1,         // Kineto files of one host name: refutable
  kUnknownHost = 2,  // assumed to be one host: to be confirmed
  kAlone = 3,        // a domain of its own
};

struct DomainPlan {
  std::vector<int32_t> domain;     // per rank index, dense, in order of first appearance
  std::vector<DomainBasis> basis;  // per rank index
  std::vector<bool> assumed_host;  // per rank index: unknown host, confirmed to be one with others of its domain
  bool host_conflict = false;      // ranks of one host name were found on different clocks
};

[[nodiscard]] DomainPlan PlanDomains(const RunData& run, const std::vector<ResolvedRank>& ranks);

// What the matched collectives say about two ranks of one planned domain.
struct ClockEvidence {
  int32_t rank_a = 0;  // rank indices
  int32_t rank_b = 0;
  bool one_clock = false;  // common point in >= 99 % of the instances, median end residual <= 50 us; else refuted
};

// Confirms or splits the planned domains. Unknown hosts stay together only if evidence of one clock connects them all
// and none refutes it; ranks of one host name are split into the parts that evidence connects as soon as any refutes
// it.
[[nodiscard]] DomainPlan RefineDomains(const DomainPlan& plan, const std::vector<ClockEvidence>& evidence);

}  // namespace lockstep
