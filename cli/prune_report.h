// What `lockstep runs --prune` reads and prints.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/model/prune.h"

namespace lockstep {

[[nodiscard]] std::string PruneAsText(const std::vector<PruneVerdict>& verdicts, bool dry_run, int64_t now_unix_ns);
// One document, "lockstep.prune/1".
[[nodiscard]] std::string PruneAsJson(const std::vector<PruneVerdict>& verdicts, bool dry_run);

}  // namespace lockstep
