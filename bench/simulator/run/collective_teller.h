// What one rank's trace tells of its collectives at an id level, form and version, as the readers would understand it.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analysis/condense/activity.h"
#include "analysis/condense/file_interner.h"
#include "analysis/model/source.h"
#include "bench/simulator/nsys/nsys_payload.h"
#include "bench/simulator/run/scenario.h"

namespace lockstep {

struct Telling {
  bool nsys = false;
  bool groups = false;          // membership: c10d's names or NCCL's communicators
  bool operation_only = false;  // of nsys without payloads
  bool sequence = false;        // numbers and operation ids
  bool config = false;          // the list of all groups
  bool data_type = false;
};
[[nodiscard]] Telling TellingOf(const SimulatorOptions& options, TraceForm form);

class CollectiveTeller {
 public:
  // The scenario outlives it.
  CollectiveTeller(const Scenario& scenario, int32_t rank);

  [[nodiscard]] const Telling& telling() const { return telling_; }
  // The groups that the trace lists.
  [[nodiscard]] std::vector<GroupConfig> Groups() const;
  // Fills in the metadata, number and id of a collective's record.
  void Describe(const Activity& activity, const Op& op, const CallNumber& number, FileInterner& names,
                DropCounters& file_drops, ActivityRecord& record);

 private:
  [[nodiscard]] bool IsMade(int32_t group) const;
  [[nodiscard]] const RankGroup& GroupOf(const Op& op) const;
  [[nodiscard]] CollectiveMeta MetaOf(const Op& op, int64_t bytes) const;
  [[nodiscard]] NcclCall FirstCallOf(const RankGroup& group, const Op& op, const CallNumber& number) const;
  void TakePeer(const RankGroup& group, const Op& op, CollectiveMeta& meta) const;

  const Scenario& s_;
  int32_t rank_;
  Telling telling_;
  std::map<std::pair<const Op*, int64_t>, MetaId> metas_;  // by op and bytes
};

}  // namespace lockstep
