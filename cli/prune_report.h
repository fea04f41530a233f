// What `lockstep runs --prune` reads and prints.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/model/prune.h"

namespace lockstep {

// "7d", "12h", "30m", "90s" -> ns. kInvalidArgument says what is understood.
absl::StatusOr<int64_t> ParseAge(std::string_view text);
// "10G", "500M", "64K", "123" -> bytes; the units are powers of 1024.
absl::StatusOr<int64_t> ParseByteCount(std::string_view text);

[[nodiscard]] std::string PruneAsText(const std::vector<PruneVerdict>& verdicts, bool dry_run, int64_t now_unix_ns);
// One document, "lockstep.prune/1".
[[nodiscard]] std::string PruneAsJson(const std::vector<PruneVerdict>& verdicts, bool dry_run);

}  // namespace lockstep
