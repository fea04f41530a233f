// What a person restricted, as the pipeline is told for its files, and what that means for one source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/condense/file_interner.h"
#include "analysis/condense/selection.h"
#include "analysis/condense/step_table.h"

namespace lockstep {

// Only the tables that cannot be cut later are restricted: see CondenseSelection.
struct FileSelection {
  // The chosen time on the axis of one source.
  struct Window {
    std::string path;
    int64_t pid = -1;
    int32_t device = -1;
    int64_t start_ns = 0;
    int64_t end_ns = 0;
  };
  std::optional<std::pair<int64_t, int64_t>> steps;  // inclusive
  std::string nvtx;                                  // range name; the steps must be those ranges
  std::optional<std::vector<Window>> windows;        // by source; nothing of a source without one

  [[nodiscard]] bool active() const { return steps.has_value() || !nvtx.empty() || windows.has_value(); }
};

// For one source, times shifted by `shift_ns`; device -1 stands for the process as a whole.
[[nodiscard]] CondenseSelection SelectionOf(const FileSelection& asked, const std::vector<StepRange>& steps,
                                            const FileInterner& names, const std::string& path, int64_t pid,
                                            int32_t device, int64_t shift_ns);

}  // namespace lockstep
