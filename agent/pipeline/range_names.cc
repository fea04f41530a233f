#include "agent/pipeline/range_names.h"

#include "analysis/model/common_range.h"

namespace lockstep {

RangeNames::RangeNames(RecordCollector& collector) : collector_(collector) {
  for (const std::vector<StepRange>& steps : collector.steps()) {
    for (const StepRange& step : steps) {
      if (step.name != kNoId) of_steps_.insert(WithoutNumbers(collector.interner().NameOf(step.name)));
    }
  }
}

NameId RangeNames::Of(NameId range) {
  if (range == kNoId) return kNoId;
  if (range >= known_.size()) known_.resize(range + 1);
  std::optional<NameId>& known = known_[range];
  if (!known.has_value()) known = Find(range);
  return *known;
}

NameId RangeNames::Find(NameId range) {
  const std::string name = WithoutNumbers(collector_.interner().NameOf(range));
  if (name.empty() || of_steps_.contains(name)) return kNoId;
  const NameId id = collector_.InternName(name);
  return id == FileInterner::rest() ? kNoId : id;
}

}  // namespace lockstep
