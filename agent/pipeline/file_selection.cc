#include "agent/pipeline/file_selection.h"

namespace lockstep {
namespace {

// The time of the process as a whole is that of its first device.
std::pair<int64_t, int64_t> WindowOf(const std::vector<FileSelection::Window>& windows, const std::string& path,
                                     int64_t pid, int32_t device) {
  const FileSelection::Window* chosen = nullptr;
  for (const FileSelection::Window& window : windows) {
    if (window.path != path || window.pid != pid || (device >= 0 && window.device != device)) continue;
    if (chosen == nullptr || window.device < chosen->device) chosen = &window;
  }
  return chosen == nullptr ? std::pair<int64_t, int64_t>() : std::pair(chosen->start_ns, chosen->end_ns);
}

}  // namespace

CondenseSelection SelectionOf(const FileSelection& asked, const std::vector<StepRange>& steps,
                              const FileInterner& names, const std::string& path, int64_t pid, int32_t device,
                              int64_t shift_ns) {
  CondenseSelection selection;
  if (asked.windows) {
    const auto [start, end] = WindowOf(*asked.windows, path, pid, device);
    selection.time_ns = {start + shift_ns, end + shift_ns};
  }
  if (!asked.steps && asked.nvtx.empty()) return selection;
  selection.steps.emplace();
  selection.launched_only = !asked.nvtx.empty();
  for (const StepRange& step : steps) {
    const bool in_steps = !asked.steps || (step.number >= asked.steps->first && step.number <= asked.steps->second);
    const bool named = step.name != kNoId && IsRangeAskedFor(asked.nvtx, names.NameOf(step.name));
    selection.steps->push_back(in_steps && (asked.nvtx.empty() || named));
  }
  return selection;
}

}  // namespace lockstep
