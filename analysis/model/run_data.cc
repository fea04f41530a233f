#include "analysis/model/run_data.h"

#include <algorithm>
#include <array>

#include "analysis/model/instance_source.h"

namespace lockstep {

std::string_view Name(RunState state) {
  static constexpr std::array kNames = std::to_array<std::string_view>({"open", "complete", "analysed"});
  const auto index = static_cast<size_t>(state);
  return index < kNames.size() ? kNames[index] : std::string_view();
}

size_t ExpectedInstances(const SourceData& source) {
  constexpr int64_t kMost = 1 << 20;
  return static_cast<size_t>(std::clamp<int64_t>(source.instance_count, 0, kMost));
}

size_t ExpectedInstances(const RunData& run, const InstanceSource& instances, size_t source) {
  const int64_t known = instances.RowCount(source);
  return known >= 0 ? static_cast<size_t>(known) : ExpectedInstances(run.sources[source]);
}

}  // namespace lockstep
