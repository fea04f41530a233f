// What a kernel keeps of the range around its launch: the range's name without its numbers (common_range.h). A range
// that marks a step is around everything and says nothing of a kernel. One thread.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "agent/pipeline/record_collector.h"

namespace lockstep {

class RangeNames {
 public:
  // After RecordCollector::Finish. Borrows it.
  explicit RangeNames(RecordCollector& collector);

  // kNoId for kNoId, for the range of a step, and beyond the limit of names.
  [[nodiscard]] NameId Of(NameId range);

 private:
  [[nodiscard]] NameId Find(NameId range);

  RecordCollector& collector_;
  std::unordered_set<std::string> of_steps_;
  std::vector<std::optional<NameId>> known_;  // by the range's own name
};

}  // namespace lockstep
