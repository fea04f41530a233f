#include "analysis/report/views/views.h"

#include "analysis/report/views/values.h"

namespace lockstep {
namespace {

report::Keyed<report::Count> CountersByReason(const DropCounters& counters) {
  report::Keyed<report::Count> out;
  for (size_t i = 0; i < kDropReasonCount; ++i) {
    if (counters.count[i] != 0) out.emplace_back(kDropReasonNames[i], counters.count[i]);
  }
  return out;
}

}  // namespace

report::Quality QualityView(const ViewInput& input, const Quality& quality) {
  report::Quality view;
  for (const Gate& gate : quality.gates) view.gates.push_back({gate.name, gate.ok, gate.detail, TextIfAny(gate.fix)});
  for (const CountersOfRank& rank : quality.ranks) {
    view.ranks.push_back({input.RankOf(rank.member), CountersByReason(rank.counters)});
  }
  for (const FileNote& file : quality.files) {
    view.files.push_back(
        {file.path, file.status, TextIfAny(file.reason), IdIfAny(file.offset), CountersByReason(file.drops)});
  }
  return view;
}

}  // namespace lockstep
